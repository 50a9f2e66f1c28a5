//! A job that nothing awaits, beside a task that spawns and awaits.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::task::spawn;

use crate::measure::{Measured, Stopwatch};
use crate::workloads::join;

/// How long the maker makes children for one job.
const PATIENCE: Duration = Duration::from_secs(2);
/// After which a job of the kind Timer is due.
const DELAY: Duration = Duration::from_millis(1);

/// What the job of a round waits for.
#[derive(Clone, Copy, PartialEq)]
pub enum Waits {
    Fork,
    Timer,
    Injected,
}

pub const WAITS: [(&str, Waits); 3] = [("fork", Waits::Fork), ("timer", Waits::Timer), ("injected", Waits::Injected)];

/// All that a child does.
pub fn compute_for(step: Duration) {
    if step.is_zero() {
        return;
    }
    let began = Instant::now();
    while began.elapsed() < step {}
}

/// What the job and the maker of a round share.
#[derive(Default)]
struct Round {
    waited_ns: AtomicU64,
    is_early: AtomicBool,
    begun: AtomicBool, // true: the job runs or has run; stays so
}

impl Round {
    /// All that the background job does.
    fn begin_job(&self, due: Instant) {
        let now = Instant::now();
        self.is_early.store(now < due, Ordering::Relaxed); // both published by begun
        self.waited_ns.store(now.saturating_duration_since(due).as_nanos() as u64, Ordering::Relaxed);
        self.begun.store(true, Ordering::SeqCst);
    }

    fn has_begun(&self) -> bool {
        self.begun.load(Ordering::SeqCst)
    }
}

/// How long the job waited; None where it began before it was due, or not before the maker gave up.
async fn wait_of_a_job(waits: Waits, step: Duration, outsider: &mpsc::Sender<Arc<Round>>) -> Option<u64> {
    let gives_up = Instant::now() + PATIENCE;
    let round = Arc::new(Round::default());
    let job = round.clone();
    let background = match waits {
        Waits::Fork => {
            let due = Instant::now();
            Some(spawn(async move { job.begin_job(due) }))
        }
        Waits::Timer => Some(spawn(async move {
            let due = Instant::now() + DELAY;
            tokio::time::sleep(DELAY).await;
            job.begin_job(due)
        })),
        Waits::Injected => {
            outsider.send(job).expect("it ends behind the rounds");
            None
        }
    };
    let mut children = 0u64;
    while !round.has_begun() {
        children += 1;
        // A reading of the clock can be as dear as a child, so that most children go without.
        if children % 64 == 0 && Instant::now() >= gives_up {
            break;
        }
        join(spawn(async move { compute_for(step) })).await;
    }
    let in_time = round.has_begun();
    if let Some(background) = background {
        join(background).await;
    }
    (in_time && !round.is_early.load(Ordering::Relaxed)).then(|| round.waited_ns.load(Ordering::Relaxed))
}

pub async fn fairness(waits: Waits, jobs: u64, step_us: u64) -> Measured {
    let step = Duration::from_micros(step_us);
    let (outsider, asked) = mpsc::channel::<Arc<Round>>();
    let runtime = Handle::current();
    let outside = thread::spawn(move || {
        for round in asked {
            let due = Instant::now();
            runtime.spawn(async move { round.begin_job(due) });
        }
    });
    let mut all = Vec::with_capacity(jobs as usize);
    let watch = Stopwatch::start();
    while (all.len() as u64) < jobs {
        let Some(waited) = wait_of_a_job(waits, step, &outsider).await else { break };
        all.push(waited);
    }
    let measured = watch.stop();
    drop(outsider);
    outside.join().expect("it does not panic");
    measured.answer(all.len() as u64).items_took(all)
}
