//! Timers: `tokio::time`, a wheel with ticks of one millisecond.

use std::time::{Duration, Instant};

use tokio::task::spawn;
use tokio::time::sleep;

use crate::measure::{Measured, Stopwatch};
use crate::workloads::sum_of;

/// How long sleeper `i` sleeps. The stride is a prime, so that neighbours sleep for different times and every time occurs.
fn length_us(i: u64, shortest_us: u64, longest_us: u64) -> u64 {
    const STRIDE: u64 = 7_919;
    shortest_us + i * STRIDE % (longest_us - shortest_us + 1)
}

pub async fn timer_storm(count: u64, shortest_us: u64, longest_us: u64) -> Measured {
    let watch = Stopwatch::start();
    let sleepers = (0..count)
        .map(|i| {
            let us = length_us(i, shortest_us, longest_us);
            spawn(async move {
                let length = Duration::from_micros(us);
                let began = Instant::now();
                sleep(length).await;
                // A sleeper that woke early adds nothing.
                if began.elapsed() < length {
                    0
                } else {
                    us
                }
            })
        })
        .collect();
    let sum = sum_of(sleepers).await;
    watch.stop().answer(sum)
}
