//! Channels and locks between tasks: `tokio::sync`.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::Arc;

use tokio::sync::{mpsc, Mutex};
use tokio::task::{spawn, yield_now};

use crate::measure::{Measured, Stopwatch};
use crate::workloads::{join, sum_of};

/// The answer of a channel that keeps the order of the numbers 1, 2, 3, ...: the k-th received counts k times, so any
/// other order, a loss or a duplicate gives another sum.
#[derive(Default)]
pub struct OrderedSum {
    position: u64,
    pub sum: u64,
}

impl OrderedSum {
    pub fn add(&mut self, received: u64) {
        self.position += 1;
        self.sum = self.sum.wrapping_add(self.position.wrapping_mul(received));
    }
}

async fn send_numbers(to: mpsc::Sender<u64>, first: u64, last: u64) {
    for i in first..=last {
        to.send(i).await.expect("the receiver is gone before the end");
    }
}

pub async fn channel_spsc(count: u64, capacity: u64) -> Measured {
    let watch = Stopwatch::start();
    let (to, mut from) = mpsc::channel(capacity as usize);
    let producer = spawn(send_numbers(to, 1, count));
    let consumer = spawn(async move {
        let mut sum = OrderedSum::default();
        while let Some(value) = from.recv().await {
            sum.add(value);
        }
        sum.sum
    });
    join(producer).await;
    let sum = join(consumer).await;
    watch.stop().answer(sum)
}

/// By the crate kanal. With a capacity of 0 a send ends when its value was taken.
async fn one_to_one_through_kanal(count: u64, capacity: u64) -> Measured {
    let watch = Stopwatch::start();
    let (to, from) = kanal::bounded_async(capacity as usize);
    let producer = spawn(send_through_kanal(to, 1, count));
    let consumer = spawn(async move {
        let mut sum = OrderedSum::default();
        while let Ok(value) = from.recv().await {
            sum.add(value);
        }
        sum.sum
    });
    join(producer).await;
    let sum = join(consumer).await;
    watch.stop().answer(sum)
}

pub async fn channel_spsc_expert(count: u64, capacity: u64) -> Measured {
    one_to_one_through_kanal(count, capacity).await
}

pub async fn channel_rendezvous(count: u64) -> Measured {
    one_to_one_through_kanal(count, 0).await
}

/// Tokio's channel has one receiver; consumers that share it take turns under a lock.
pub async fn channel_mpmc(count: u64, capacity: u64, producers: u64, consumers: u64) -> Measured {
    let each = count / producers;
    let watch = Stopwatch::start();
    let (to, from) = mpsc::channel(capacity as usize);
    let from = Arc::new(Mutex::new(from));
    for p in 0..producers {
        spawn(send_numbers(to.clone(), p * each + 1, (p + 1) * each));
    }
    // The channel is closed when the last sender is gone.
    drop(to);
    let receivers = (0..consumers)
        .map(|_| {
            let from = Arc::clone(&from);
            spawn(async move {
                let mut sum = 0u64;
                loop {
                    // A statement of its own: the lock is free again before the value is used.
                    let received = from.lock().await.recv().await;
                    let Some(value) = received else { break sum };
                    sum = sum.wrapping_add(value);
                }
            })
        })
        .collect();
    let sum = sum_of(receivers).await;
    watch.stop().answer(sum)
}

/// Stages in a row, each of which waits at its channel for the one before it. One value at a time, so that all of them
/// wait.
async fn chain(depth: u64, values: u64) -> u64 {
    let (first, mut last) = mpsc::channel(1);
    for _ in 0..depth {
        let (to, next) = mpsc::channel(1);
        let mut from = std::mem::replace(&mut last, next);
        spawn(async move {
            while let Some(value) = from.recv().await {
                to.send(value + 1).await.expect("the next stage is gone before the end");
            }
        });
    }
    let mut sum = 0u64;
    for i in 0..values {
        first.send(i).await.expect("the first stage is gone before the end");
        sum += last.recv().await.expect("the last stage is gone before the end");
    }
    // Each stage ends when the one before has.
    drop(first);
    while last.recv().await.is_some() {}
    sum
}

pub async fn suspend_chain(chains: u64, depth: u64, values: u64) -> Measured {
    let watch = Stopwatch::start();
    let sum = sum_of((0..chains).map(|_| spawn(chain(depth, values))).collect()).await;
    watch.stop().answer(sum)
}

/// The same through the crate kanal.
async fn chain_through_kanal(depth: u64, values: u64) -> u64 {
    let (first, mut last) = kanal::bounded_async(1);
    for _ in 0..depth {
        let (to, next) = kanal::bounded_async(1);
        let from = std::mem::replace(&mut last, next);
        spawn(async move {
            while let Ok(value) = from.recv().await {
                to.send(value + 1).await.expect("the next stage is gone before the end");
            }
        });
    }
    let mut sum = 0u64;
    for i in 0..values {
        first.send(i).await.expect("the first stage is gone before the end");
        sum += last.recv().await.expect("the last stage is gone before the end");
    }
    // Each stage ends when the one before has.
    drop(first);
    while last.recv().await.is_ok() {}
    sum
}

pub async fn suspend_chain_expert(chains: u64, depth: u64, values: u64) -> Measured {
    let watch = Stopwatch::start();
    let sum = sum_of((0..chains).map(|_| spawn(chain_through_kanal(depth, values))).collect()).await;
    watch.stop().answer(sum)
}

async fn send_through_kanal(to: kanal::AsyncSender<u64>, first: u64, last: u64) {
    for i in first..=last {
        to.send(i).await.expect("the receivers are gone before the end");
    }
}

/// The crate kanal has what Tokio has not: a bounded channel of several receivers.
pub async fn channel_mpmc_expert(count: u64, capacity: u64, producers: u64, consumers: u64) -> Measured {
    let each = count / producers;
    let watch = Stopwatch::start();
    let (to, from) = kanal::bounded_async(capacity as usize);
    for p in 0..producers {
        spawn(send_through_kanal(to.clone(), p * each + 1, (p + 1) * each));
    }
    // The channel is closed when the last sender is gone; what is buffered is received before that is told.
    drop(to);
    let receivers = (0..consumers)
        .map(|_| {
            let from = from.clone();
            spawn(async move {
                let mut sum = 0u64;
                while let Ok(value) = from.recv().await {
                    sum = sum.wrapping_add(value);
                }
                sum
            })
        })
        .collect();
    let sum = sum_of(receivers).await;
    watch.stop().answer(sum)
}

async fn send_batches(to: mpsc::UnboundedSender<Vec<u64>>, batches: u64, batch: u64) {
    for b in 0..batches {
        let numbers = (b * batch + 1..=(b + 1) * batch).collect();
        to.send(numbers).expect("the receiver is gone before the end");
        // As the other adapters whose send does not wait: the queue stays short, and the vectors warm.
        if b % 64 == 63 {
            tokio::task::yield_now().await;
        }
    }
}

/// All batches that wait are received at once.
pub async fn mpsc_batches_expert(batches: u64, batch: u64) -> Measured {
    let watch = Stopwatch::start();
    let (to, mut from) = mpsc::unbounded_channel();
    let producer = spawn(send_batches(to, batches, batch));
    let consumer = spawn(async move {
        let mut sum = OrderedSum::default();
        let mut received: Vec<Vec<u64>> = Vec::with_capacity(64);
        while from.recv_many(&mut received, 64).await != 0 {
            received.drain(..).for_each(|numbers| sum.add(numbers.iter().sum()));
        }
        sum.sum
    });
    join(producer).await;
    let sum = join(consumer).await;
    watch.stop().answer(sum)
}

pub async fn mpsc_batches(batches: u64, batch: u64) -> Measured {
    let watch = Stopwatch::start();
    let (to, mut from) = mpsc::unbounded_channel();
    let producer = spawn(send_batches(to, batches, batch));
    let consumer = spawn(async move {
        let mut sum = OrderedSum::default();
        while let Some(numbers) = from.recv().await {
            sum.add(numbers.iter().sum());
        }
        sum.sum
    });
    join(producer).await;
    let sum = join(consumer).await;
    watch.stop().answer(sum)
}

/// Tokio's mutex is fair: the task that unlocks it with others waiting hands it over and queues again behind them.
pub async fn mutex_handoff(tasks: u64, locks: u64) -> Measured {
    let watch = Stopwatch::start();
    let counter = Arc::new(Mutex::new(0u64));
    let present = Arc::new(AtomicU64::new(0));
    let handles = (0..tasks)
        .map(|_| {
            let counter = Arc::clone(&counter);
            let present = Arc::clone(&present);
            spawn(async move {
                present.fetch_add(1, SeqCst);
                for i in 0..locks {
                    let mut held = counter.lock().await;
                    let before = *held;
                    // The first time, until all have come for the lock: a queue that is never empty keeps itself up.
                    while i == 0 && present.load(SeqCst) < tasks {
                        yield_now().await;
                    }
                    *held = before + 1;
                }
                locks
            })
        })
        .collect();
    sum_of(handles).await;
    let measured = watch.stop();
    let counted = *counter.lock().await;
    measured.answer(counted)
}
