//! Tasks that compute or wait one after the other.

use std::hint::black_box;
use std::time::{Duration, Instant};

use tokio::task::spawn;
use tokio::time::sleep;

use crate::measure::{Measured, Stopwatch};
use crate::workloads::sum_of;

fn fib_of(x: f64) -> f64 {
    if x <= 1.0 {
        x
    } else {
        fib_of(x - 1.0) + fib_of(x - 2.0)
    }
}

pub async fn fib_tasks(n: u64, tasks: u64) -> Measured {
    let watch = Stopwatch::start();
    let tasks = (0..tasks).map(|_| spawn(async move { fib_of(black_box(n) as f64) as u64 })).collect();
    let sum = sum_of(tasks).await;
    watch.stop().answer(sum)
}

pub async fn wait(count: u64, length_us: u64) -> Measured {
    let length = Duration::from_micros(length_us);
    let watch = Stopwatch::start();
    let mut sum = 0;
    for _ in 0..count {
        let began = Instant::now();
        sleep(length).await;
        // A wait that was too short adds nothing.
        if began.elapsed() >= length {
            sum += length_us;
        }
    }
    watch.stop().answer(sum)
}
