//! The idioms: how a Tokio user spawns, awaits and yields. Every number comes from the parameters.

use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::task::{spawn, yield_now, JoinHandle};

use crate::measure::{Measured, Stopwatch};

#[derive(Clone, Copy)]
pub enum Mode {
    Immediate,
    Final,
}

/// A task of this adapter cannot be cancelled and does not panic, so its handle always has a value.
pub async fn join<T>(handle: JoinHandle<T>) -> T {
    handle.await.expect("a task ended without a value")
}

pub async fn sum_of(handles: Vec<JoinHandle<u64>>) -> u64 {
    let mut sum = 0u64;
    for handle in handles {
        sum = sum.wrapping_add(join(handle).await);
    }
    sum
}

pub async fn call_overhead(calls: u64) -> Measured {
    async fn next(x: u64) -> u64 {
        black_box(x).wrapping_add(1)
    }
    let watch = Stopwatch::start();
    let mut x = 0u64;
    for _ in 0..calls {
        x = next(black_box(x)).await;
    }
    watch.stop().answer(x)
}

/// A child in its parent's task. Boxed, and out of line: what the compiler sees through is no child, but a loop.
#[inline(never)]
fn child_in_place(i: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move { black_box(i) })
}

pub async fn fork_pool(mode: Mode, sub_tasks: u64, forks: u64, expert: bool) -> Measured {
    let watch = Stopwatch::start();
    let tasks = (0..sub_tasks)
        .map(|_| match mode {
            Mode::Immediate if expert => spawn(async move {
                let mut sum = 0u64;
                for i in 0..forks {
                    sum = sum.wrapping_add(child_in_place(i).await);
                }
                sum
            }),
            Mode::Immediate => spawn(async move {
                let mut sum = 0u64;
                for i in 0..forks {
                    sum = sum.wrapping_add(join(spawn(async move { i })).await);
                }
                sum
            }),
            Mode::Final => spawn(async move { sum_of((0..forks).map(|i| spawn(async move { i })).collect()).await }),
        })
        .collect();
    let sum = sum_of(tasks).await;
    watch.stop().answer(sum)
}

pub async fn spawn_join(count: u64) -> Measured {
    let mut handles = Vec::with_capacity(count as usize);
    let watch = Stopwatch::start();
    for i in 0..count {
        handles.push(spawn(async move { i }));
    }
    let sum = sum_of(handles).await;
    watch.stop().answer(sum)
}

/// Recursion through a JoinHandle, whose type is known: a stage needs no box of its own.
fn spawn_stage(depth: u64) -> JoinHandle<u64> {
    spawn(async move {
        match depth {
            1 => 1,
            _ => 1 + join(spawn_stage(depth - 1)).await,
        }
    })
}

pub async fn pipeline(concurrency: u64, depth: u64, items: u64) -> Measured {
    pipeline_of(concurrency, items, move || async move { join(spawn_stage(depth)).await }).await
}

/// A stage that is part of its caller's task. Boxed, as an async function that awaits itself must be.
fn stage_in_place(depth: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move {
        match depth {
            1 => 1,
            _ => 1 + stage_in_place(depth - 1).await,
        }
    })
}

pub async fn pipeline_expert(concurrency: u64, depth: u64, items: u64) -> Measured {
    pipeline_of(concurrency, items, move || stage_in_place(depth)).await
}

async fn pipeline_of<Chain, Stage>(concurrency: u64, items: u64, chain: Chain) -> Measured
where
    Chain: Fn() -> Stage + Copy + Send + 'static,
    Stage: Future<Output = u64> + Send,
{
    let watch = Stopwatch::start();
    let tasks = (0..concurrency)
        .map(|_| {
            spawn(async move {
                let mut total = 0;
                for _ in 0..items {
                    total += chain().await;
                }
                total
            })
        })
        .collect();
    let total = sum_of(tasks).await;
    watch.stop().answer(total)
}

/// What shows that the yields let others run: each task yields until all have begun, which with a yield that does
/// nothing never happens where there are more tasks than threads. Then the answer is 0.
struct RollCall {
    tasks: u64,
    present: AtomicU64,
    given_up: Instant,
}

impl RollCall {
    fn new(tasks: u64) -> Arc<Self> {
        let given_up = Instant::now() + Duration::from_secs(5);
        Arc::new(Self { tasks, present: AtomicU64::new(0), given_up })
    }

    fn come(&self) {
        self.present.fetch_add(1, Relaxed);
    }

    fn complete(&self) -> bool {
        self.present.load(Relaxed) == self.tasks
    }

    fn waits(&self) -> bool {
        !self.complete() && Instant::now() < self.given_up
    }
}

pub async fn yields(tasks: u64, yields: u64) -> Measured {
    let roll = RollCall::new(tasks);
    let watch = Stopwatch::start();
    let tasks = (0..tasks)
        .map(|_| {
            let roll = Arc::clone(&roll);
            spawn(async move {
                roll.come();
                while roll.waits() {
                    yield_now().await;
                }
                let mut done = 0;
                while done < yields {
                    yield_now().await;
                    done += 1;
                }
                if roll.complete() {
                    done
                } else {
                    0
                }
            })
        })
        .collect();
    let done = sum_of(tasks).await;
    watch.stop().answer(done)
}

/// What `yield_now` does less of: it is put off until the scheduler has looked at its drivers; a task that wakes itself
/// goes to the back of the queue at once.
#[derive(Default)]
pub struct YieldByWake {
    yielded: bool,
}

impl Future for YieldByWake {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

pub async fn yields_expert(tasks: u64, yields: u64) -> Measured {
    let roll = RollCall::new(tasks);
    let watch = Stopwatch::start();
    let tasks = (0..tasks)
        .map(|_| {
            let roll = Arc::clone(&roll);
            spawn(async move {
                roll.come();
                while roll.waits() {
                    YieldByWake::default().await;
                }
                let mut done = 0;
                while done < yields {
                    YieldByWake::default().await;
                    done += 1;
                }
                if roll.complete() {
                    done
                } else {
                    0
                }
            })
        })
        .collect();
    let done = sum_of(tasks).await;
    watch.stop().answer(done)
}

async fn fib_of(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let forked = spawn_fib(n - 1);
    let second = fib_inline(n - 2).await;
    second + join(forked).await
}

/// With its type spelled out, so that fib_of needs no proof about itself to be Send.
fn spawn_fib(n: u64) -> JoinHandle<u64> {
    spawn(fib_of(n))
}

/// An async function that awaits itself needs a box: its state would otherwise contain itself.
fn fib_inline(n: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(fib_of(n))
}

pub async fn fib(n: u64) -> Measured {
    let watch = Stopwatch::start();
    let answer = fib_of(n).await;
    watch.stop().answer(answer)
}

fn spawn_node(first: u64, leaves: u64) -> JoinHandle<u64> {
    spawn(async move {
        if leaves == 1 {
            return first;
        }
        let share = leaves / 10;
        let children: [JoinHandle<u64>; 10] = std::array::from_fn(|i| spawn_node(first + i as u64 * share, share));
        let mut sum = 0;
        for child in children {
            sum += join(child).await;
        }
        sum
    })
}

/// Nine children are spawned, and the tenth is awaited in place: a parent would only wait. The youngest is joined
/// first: by then the others have mostly ended, and wake nobody.
async fn node_with_an_inline_child(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let share = leaves / 10;
    let children: [JoinHandle<u64>; 9] = std::array::from_fn(|i| spawn_lean_node(first + i as u64 * share, share));
    let mut sum = lean_node_inline(first + 9 * share, share).await;
    for child in children.into_iter().rev() {
        sum += join(child).await;
    }
    sum
}

fn spawn_lean_node(first: u64, leaves: u64) -> JoinHandle<u64> {
    spawn(node_with_an_inline_child(first, leaves))
}

fn lean_node_inline(first: u64, leaves: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(node_with_an_inline_child(first, leaves))
}

pub async fn skynet_expert(depth: u64) -> Measured {
    let watch = Stopwatch::start();
    let answer = join(spawn_lean_node(0, 10u64.pow(depth as u32))).await;
    watch.stop().answer(answer)
}

pub async fn skynet(depth: u64) -> Measured {
    let watch = Stopwatch::start();
    let answer = join(spawn_node(0, 10u64.pow(depth as u32))).await;
    watch.stop().answer(answer)
}
