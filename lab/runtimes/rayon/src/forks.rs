//! Forks that do next to nothing: awaited at once, or joined as a burst.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Clone, Copy)]
pub enum Mode {
    Immediate,
    Final,
}

/// A burst of tasks, each with a place for its result: a spawn has no handle.
pub fn spawn_join(count: u64) -> u64 {
    let results: Vec<AtomicU64> = (0..count).map(|_| AtomicU64::new(0)).collect();
    rayon::scope(|scope| {
        for (number, result) in (0..count).zip(&results) {
            scope.spawn(move |_| result.store(number, Relaxed));
        }
    });
    results.into_iter().map(AtomicU64::into_inner).sum()
}

/// Forks one after the other, each in a scope of its own that ends with it.
fn immediate(forks: u64) -> u64 {
    let mut sum = 0u64;
    for i in 0..forks {
        let mut result = 0;
        rayon::scope(|scope| scope.spawn(|_| result = i));
        sum += result;
    }
    sum
}

/// The same by joins: the fork runs in its maker's place, and nothing beside it may be taken.
fn immediate_joins(forks: u64) -> u64 {
    (0..forks).map(|i| rayon::join(|| black_box(i), || ()).0).sum()
}

/// A burst as a tree of joins, the leaves of which are the forks.
fn by_halves(first: u64, count: u64) -> u64 {
    if count < 2 {
        return if count == 1 { black_box(first) } else { 0 };
    }
    let half = count / 2;
    let (left, right) = rayon::join(|| by_halves(first, half), || by_halves(first + half, count - half));
    left + right
}

/// A sub-task for each thread, which makes its share of the forks.
pub fn fork_pool(mode: Mode, sub_tasks: u64, forks: u64, expert: bool) -> u64 {
    let results: Vec<AtomicU64> = (0..sub_tasks).map(|_| AtomicU64::new(0)).collect();
    rayon::scope(|scope| {
        for result in &results {
            scope.spawn(move |_| {
                let sum = match (mode, expert) {
                    (Mode::Immediate, false) => immediate(forks),
                    (Mode::Immediate, true) => immediate_joins(forks),
                    (Mode::Final, false) => spawn_join(forks),
                    (Mode::Final, true) => by_halves(0, forks),
                };
                result.store(sum, Relaxed);
            });
        }
    });
    results.into_iter().map(AtomicU64::into_inner).sum()
}
