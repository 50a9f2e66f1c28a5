//! Tasks that compute on one cache, wait, and compute on it again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::Future;
use std::rc::Rc;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};
use tokio::task::{spawn, spawn_local, LocalSet};
use tokio::time::sleep;

use crate::measure::{Measured, Stopwatch};
use crate::workloads::join;

const COUNTERS: u64 = 10;
const FIRST_VALUE: u64 = 10_000;

/// The numbers of a request.
#[derive(Clone, Copy)]
pub struct Work {
    pub rounds: u64,
    pub tasks: u64,
    pub wait: Duration,
}

/// Ten counters that are strings, by keys that are strings.
#[derive(Default)]
struct Cache {
    values: HashMap<String, String>,
}

impl Cache {
    /// As the seed document's benchmark has it: two look-ups and one copy for each counter.
    fn calc(&mut self) {
        for counter in 0..COUNTERS {
            let key = key(counter);
            let value = self.values.get(&key).cloned().unwrap_or_default();
            let before = if value.is_empty() { FIRST_VALUE } else { value.parse().expect("a counter is no number") };
            self.values.insert(key, (before + 1).to_string());
        }
    }

    fn answer(&self) -> u64 {
        let value = |counter| self.values.get(&key(counter)).and_then(|text| text.parse::<u64>().ok());
        (0..COUNTERS).map(|counter| (counter + 1) * value(counter).unwrap_or_default()).sum()
    }
}

fn key(counter: u64) -> String {
    "hello".to_string() + &counter.to_string()
}

/// The floor of what is written in Rust: another map and another hash than those of C++.
pub async fn compute_alone(work: Work) -> Measured {
    let watch = Stopwatch::start();
    let mut sum = 0;
    for _ in 0..work.rounds {
        let mut cache = Cache::default();
        for _ in 0..work.tasks {
            cache.calc();
            cache.calc();
        }
        sum += cache.answer();
    }
    watch.stop().answer(sum)
}

/// A lock that no task keeps while it awaits is one of the standard library, as Tokio's documentation has it.
async fn locked_round(work: Work) -> u64 {
    let cache = Arc::new(Mutex::new(Cache::default()));
    let calc = |cache: &Mutex<Cache>| cache.lock().expect("a task panicked").calc();
    let tasks: Vec<_> = (0..work.tasks)
        .map(|_| {
            let cache = Arc::clone(&cache);
            spawn(async move {
                calc(&cache);
                sleep(work.wait).await;
                calc(&cache);
            })
        })
        .collect();
    for task in tasks {
        join(task).await;
    }
    let answer = cache.lock().expect("a task panicked").answer();
    answer
}

pub async fn under_a_mutex(work: Work) -> Measured {
    let watch = Stopwatch::start();
    let mut sum = 0;
    for _ in 0..work.rounds {
        sum += locked_round(work).await;
    }
    watch.stop().answer(sum)
}

/// On a `LocalSet`, whose tasks are on one thread and need no lock.
async fn local_round(work: Work) -> u64 {
    let cache = Rc::new(RefCell::new(Cache::default()));
    let tasks: Vec<_> = (0..work.tasks)
        .map(|_| {
            let cache = Rc::clone(&cache);
            spawn_local(async move {
                cache.borrow_mut().calc();
                sleep(work.wait).await;
                cache.borrow_mut().calc();
            })
        })
        .collect();
    for task in tasks {
        join(task).await;
    }
    let answer = cache.borrow().answer();
    answer
}

/// Spawns the body too: the root of `block_on` is polled outside the set.
fn run_local<T: 'static>(rt: &Runtime, body: impl Future<Output = T> + 'static) -> T {
    let set = LocalSet::new();
    set.block_on(rt, async move { join(spawn_local(body)).await })
}

pub fn on_one_thread(rt: &Runtime, work: Work) -> Measured {
    run_local(rt, async move {
        let watch = Stopwatch::start();
        let mut sum = 0;
        for _ in 0..work.rounds {
            sum += local_round(work).await;
        }
        watch.stop().answer(sum)
    })
}

/// Those that the process may use: the mask of its main thread before that is pinned, and the same again in the next
/// repetition.
fn usable_cpus() -> &'static [usize] {
    static CPUS: OnceLock<Vec<usize>> = OnceLock::new();
    CPUS.get_or_init(|| {
        // SAFETY: a cpu_set_t is plain data for which all zeroes is valid, and sched_getaffinity only writes to it.
        unsafe {
            let mut usable: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(0, std::mem::size_of_val(&usable), &mut usable);
            (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &usable)).collect()
        }
    })
}

/// Linux may leave two threads together on one CPU for longer than a repetition takes. Does nothing where it refuses.
fn pin_this_thread(cpu: usize) {
    // SAFETY: as above; the call only reads the set.
    unsafe {
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut one);
        libc::sched_setaffinity(0, std::mem::size_of_val(&one), &one);
    }
}

/// A current-thread runtime on a thread of its own, which runs the rounds that it is sent.
struct Shard {
    rounds: UnboundedSender<Work>,
    answers: UnboundedReceiver<u64>,
}

impl Shard {
    fn new(cpu: usize) -> Self {
        let (rounds, mut sent) = unbounded_channel();
        let (answer, answers) = unbounded_channel();
        thread::spawn(move || {
            pin_this_thread(cpu);
            let rt = Builder::new_current_thread().enable_time().build().expect("no runtime for a shard");
            run_local(&rt, async move {
                while let Some(work) = sent.recv().await {
                    answer.send(local_round(work).await).expect("no task waits for the answer of a shard");
                }
            });
        });
        Self { rounds, answers }
    }
}

/// The first shard is the runtime of the caller, and the others begin before the clock does.
pub fn on_shards(rt: &Runtime, shards: u64, work: Work) -> Measured {
    let cpus = usable_cpus();
    let cpu_of = |shard: u64| cpus[shard as usize % cpus.len()];
    let mut others: Vec<_> = (1..shards).map(|shard| Shard::new(cpu_of(shard))).collect();
    pin_this_thread(cpu_of(0));
    run_local(rt, async move {
        let watch = Stopwatch::start();
        let mut sum = 0;
        for _ in 0..work.rounds {
            for shard in &others {
                shard.rounds.send(work).expect("a shard has ended");
            }
            sum += local_round(work).await;
            for shard in &mut others {
                sum += shard.answers.recv().await.expect("a shard has ended");
            }
        }
        watch.stop().answer(sum)
    })
}
