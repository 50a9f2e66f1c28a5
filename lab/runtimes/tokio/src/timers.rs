//! Timers: `tokio::time`, a wheel with ticks of one millisecond.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::spawn;
use tokio::time::sleep;

use crate::measure::{rss_bytes, Measured, Stopwatch};
use crate::workloads::sum_of;

/// How long sleeper `i` sleeps. The stride is a prime, so that neighbours sleep for different times and every time
/// occurs.
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

/// How often the maker looks whether all sleep.
const LOOK: Duration = Duration::from_millis(1);

#[derive(Default)]
struct Sleepers {
    asleep: AtomicU64,
    woken: AtomicU64,
}

pub async fn idle_tasks(count: u64, length: Duration) -> Measured {
    let all = Arc::new(Sleepers::default());
    let rss_before = rss_bytes();
    let watch = Stopwatch::start();
    let mut sleepers = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let all = Arc::clone(&all);
        sleepers.push(spawn(async move {
            all.asleep.fetch_add(1, Relaxed);
            let began = Instant::now();
            sleep(length).await;
            all.woken.fetch_add(1, Relaxed);
            // A sleeper that woke early adds nothing.
            u64::from(began.elapsed() >= length)
        }));
    }
    while all.asleep.load(Relaxed) < count {
        sleep(LOOK).await;
    }
    let measured = watch.stop();
    let bytes = rss_bytes().saturating_sub(rss_before);
    let none_had_woken = all.woken.load(Relaxed) == 0;
    let sum = sum_of(sleepers).await;
    let answer = if none_had_woken { sum } else { 0 };
    measured.answer(answer).figure("bytes_each", bytes as f64 / count as f64)
}
