//! How long things were on their way, for percentiles. Of all passes but the warm-ups, as in the C++ adapters.

use std::sync::Mutex;

use serde_json::{json, Value};

static WAITS: Mutex<Vec<u64>> = Mutex::new(Vec::new());

fn waits() -> std::sync::MutexGuard<'static, Vec<u64>> {
    WAITS.lock().expect("a task panicked")
}

/// Adds what one pass measured.
pub fn record(ns: &[u64]) {
    waits().extend_from_slice(ns);
}

/// What was measured so far was a warm-up.
pub fn clear() {
    waits().clear();
}

/// The figures of the protocol, or nothing where nothing was recorded.
pub fn figures() -> Option<Value> {
    let mut all = waits();
    all.sort_unstable();
    let percentile = |thousandths: usize| all[(all.len() * thousandths).div_ceil(1000).max(1) - 1];
    (!all.is_empty()).then(|| {
        json!({
            "p50_ns": percentile(500),
            "p99_ns": percentile(990),
            "p999_ns": percentile(999),
            "max_ns": percentile(1000),
        })
    })
}
