//! A spawned task that nothing awaits, beside a task that spawns and awaits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::spawn;

use crate::measure::{Measured, Stopwatch};
use crate::workloads::join;

/// How long the maker makes children for one job.
const PATIENCE: Duration = Duration::from_secs(2);

/// All that a child does.
pub fn compute_for(step: Duration) {
    if step.is_zero() {
        return;
    }
    let began = Instant::now();
    while began.elapsed() < step {}
}

/// Whether the job began before the maker gave up.
async fn is_fair(step: Duration) -> bool {
    let gives_up = Instant::now() + PATIENCE;
    let begun = Arc::new(AtomicBool::new(false)); // true: the job runs or has run; stays so
    let background = spawn({
        let begun = begun.clone();
        async move { begun.store(true, Ordering::SeqCst) }
    });
    let mut children = 0u64;
    while !begun.load(Ordering::SeqCst) {
        children += 1;
        // A reading of the clock can be as dear as a child, so that most children go without.
        if children % 64 == 0 && Instant::now() >= gives_up {
            break;
        }
        join(spawn(async move { compute_for(step) })).await;
    }
    let fair = begun.load(Ordering::SeqCst);
    join(background).await;
    fair
}

pub async fn fairness(jobs: u64, step_us: u64) -> Measured {
    let step = Duration::from_micros(step_us);
    let watch = Stopwatch::start();
    let mut fair = 0;
    while fair < jobs && is_fair(step).await {
        fair += 1;
    }
    watch.stop().answer(fair)
}
