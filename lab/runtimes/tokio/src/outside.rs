//! What threads start that are not of the runtime: requests, floods, and arrivals at their own times.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use crate::fairness::compute_for;
use crate::measure::{Measured, Stopwatch};
use crate::workloads::join;

/// Keeps this thread, and those that it makes from now on, on the first `cpus` of those that the process may use.
pub fn stay_on(cpus: u64) -> std::io::Result<()> {
    // SAFETY: cpu_set_t is plain data, and both calls get its size.
    unsafe {
        let mut usable: libc::cpu_set_t = std::mem::zeroed();
        let size = std::mem::size_of_val(&usable);
        if libc::sched_getaffinity(0, size, &mut usable) == 0 {
            let mut kept = 0;
            for cpu in 0..libc::CPU_SETSIZE as usize {
                if libc::CPU_ISSET(cpu, &usable) {
                    kept += 1;
                    if kept > cpus {
                        libc::CPU_CLR(cpu, &mut usable);
                    }
                }
            }
            if libc::sched_setaffinity(0, size, &usable) == 0 {
                return Ok(());
            }
        }
    }
    Err(std::io::Error::last_os_error())
}

pub fn outside_wake(rt: &Runtime, requests: u64, gap: Duration) -> Measured {
    let mut waits = Vec::with_capacity(requests as usize);
    let mut sum = 0u64;
    let watch = Stopwatch::start();
    for i in 0..requests {
        let began = Instant::now();
        sum = sum.wrapping_add(rt.block_on(join(rt.spawn(async move { i + 1 }))));
        waits.push(began.elapsed().as_nanos() as u64);
        if !gap.is_zero() {
            thread::sleep(gap);
        }
    }
    watch.stop().answer(sum).items_took(waits)
}

/// Blocks one thread until another says that all is done.
#[derive(Default)]
struct Done {
    done: Mutex<bool>,
    changed: Condvar,
}

impl Done {
    fn tell(&self) {
        *self.done.lock().expect("nothing panics with it") = true;
        self.changed.notify_one();
    }

    fn wait(&self) {
        let done = self.done.lock().expect("nothing panics with it");
        drop(self.changed.wait_while(done, |done| !*done).expect("nothing panics with it"));
    }
}

/// A line of its own for what the tasks of one thread write.
#[repr(align(64))]
struct Part {
    sum: AtomicU64,
    left: AtomicU64,
}

struct Injection {
    parts: Vec<Part>,
    running: AtomicU64,
    done: Done,
}

impl Injection {
    /// All that a task does.
    fn ran(&self, producer: usize, number: u64) {
        let part = &self.parts[producer];
        part.sum.fetch_add(number, Ordering::Relaxed); // published by the decrement
        if part.left.fetch_sub(1, Ordering::AcqRel) == 1 && self.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.done.tell();
        }
    }
}

pub fn inject(rt: &Runtime, producers: u64, count: u64) -> Measured {
    let each = count / producers;
    let parts = (0..producers).map(|_| Part { sum: AtomicU64::new(0), left: AtomicU64::new(each) }).collect();
    let all = Arc::new(Injection { parts, running: AtomicU64::new(producers), done: Done::default() });
    let begin = Barrier::new(producers as usize + 1);
    let watch = thread::scope(|scope| {
        for producer in 0..producers {
            let (all, begin) = (&all, &begin);
            scope.spawn(move || {
                begin.wait();
                for i in 1..=each {
                    let all = Arc::clone(all);
                    rt.spawn(async move { all.ran(producer as usize, producer * each + i) });
                }
            });
        }
        let watch = Stopwatch::start();
        begin.wait();
        watch
    });
    all.done.wait();
    let measured = watch.stop();
    measured.answer(all.parts.iter().map(|part| part.sum.load(Ordering::SeqCst)).fold(0, u64::wrapping_add))
}

/// splitmix64: the same arrivals in all adapters.
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// When the tasks are to begin, from the start on.
fn arrivals(threads: u64, load_percent: u64, work: Duration, count: u64) -> Vec<Duration> {
    let gap = work.as_nanos() as f64 / threads as f64 * 100.0 / load_percent as f64;
    let mut state = 17;
    let mut at = 0.0;
    let next = |_| {
        let share = (next_random(&mut state) >> 11) as f64 / 9_007_199_254_740_992.0;
        at -= gap * (1.0 - share).ln();
        Duration::from_nanos(at as u64)
    };
    (0..count).map(next).collect()
}

struct OpenLoop {
    began: Instant,
    intended: Vec<Duration>,
    waits: Vec<AtomicU64>,
    left: AtomicU64,
    done: Done,
}

pub fn latency_under_load(rt: &Runtime, threads: u64, load_percent: u64, work: Duration, count: u64) -> Measured {
    let intended = arrivals(threads, load_percent, work, count);
    // A thread's sleep may otherwise be 50 us too long.
    // SAFETY: it changes the calling thread alone.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
    let waits = (0..count).map(|_| AtomicU64::new(0)).collect();
    let watch = Stopwatch::start();
    let all = Arc::new(OpenLoop {
        began: Instant::now(),
        intended,
        waits,
        left: AtomicU64::new(count),
        done: Done::default(),
    });
    for number in 0..count as usize {
        // It sleeps and does not look: it would take a CPU from the workers.
        let ahead = all.intended[number].saturating_sub(all.began.elapsed());
        if !ahead.is_zero() {
            thread::sleep(ahead);
        }
        let all = Arc::clone(&all);
        rt.spawn(async move {
            compute_for(work);
            let wait = all.began.elapsed() - all.intended[number];
            all.waits[number].store(wait.as_nanos() as u64, Ordering::Relaxed);
            if all.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                all.done.tell();
            }
        });
    }
    all.done.wait();
    let measured = watch.stop();
    let waits: Vec<u64> = all.waits.iter().map(|wait| wait.load(Ordering::Relaxed)).collect();
    // None can be done sooner than its work takes.
    let least = work.as_nanos() as u64;
    let sum = waits.iter().zip(1..).filter(|(wait, _)| **wait >= least).map(|(_, number)| number).sum();
    measured.answer(sum).items_took(waits)
}
