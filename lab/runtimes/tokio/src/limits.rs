//! What a run may ask of the machine.

use crate::arguments::{Flavor, Request, UsageError};
use crate::uts::Tree;

/// Why this request would take more memory than the machine can spare, if so: a queue that holds a whole tree at once
/// would otherwise take the machine down with it instead of leaving a row that says why.
pub fn out_of_memory(request: &Request) -> Result<Option<String>, UsageError> {
    let bytes = tree_bytes(request)?;
    let available = available_bytes();
    // A quarter stays free for everything else.
    if available.map_or(true, |available| bytes <= u128::from(available) * 3 / 4) {
        return Ok(None);
    }
    let gigabytes = |bytes: u128| bytes / 1_000_000_000;
    Ok(Some(format!(
        "the tree in Tokio's queues would take about {} GB of memory, and {} GB are available",
        gigabytes(bytes),
        gigabytes(available.unwrap_or_default().into())
    )))
}

/// Measured: the queues are first in, first out, so a scheduler holds much of a tree at once. Several workers hold
/// less, because each runs the task it made last next.
fn tree_bytes(request: &Request) -> Result<u128, UsageError> {
    let (bytes_per_leaf, bytes_per_fib_call, bytes_per_board) = match request.flavor {
        Flavor::MultiThread => (200, 12, 60),
        Flavor::CurrentThread => (600, 120, 420),
    };
    Ok(match request.workload.as_str() {
        "skynet" => bytes_per_leaf * 10u128.pow(request.integer("depth")? as u32),
        "fib" => bytes_per_fib_call * u128::from(fib_calls(request.integer("n")?)),
        "unbalanced" => bytes_per_leaf * u128::from(Tree::of(request)?.nodes),
        "nqueens" => bytes_per_board * u128::from(nqueens_boards(request.integer("n")?)?),
        _ => 0,
    })
}

#[cfg(feature = "io")]
/// Why the system has too few descriptors for so many connections, if so. Raises the soft limit.
pub fn too_few_descriptors(connections: u64) -> Option<String> {
    const OTHERS: u64 = 100; // what the process and its runtime have beside
                             // SAFETY: an rlimit is plain data for which all zeroes is valid; the calls read and write
                             // nothing else.
    let allowed = unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur
    };
    (allowed < connections + OTHERS).then(|| format!("the system allows {allowed} descriptors (RLIMIT_NOFILE)"))
}

pub fn fib_calls(n: u64) -> u64 {
    (0..n).fold((1, 1), |(calls, next), _| (next, 1 + calls + next)).0
}

/// The boards of 1 to 14 columns that the search for n queens comes by, the empty one included.
pub fn nqueens_boards(n: u64) -> Result<u64, UsageError> {
    const BOARDS: [u64; 14] =
        [2, 3, 6, 17, 54, 153, 552, 2_057, 8_394, 35_539, 166_926, 856_189, 4_674_890, 27_358_553];
    let boards = n.checked_sub(1).and_then(|i| BOARDS.get(i as usize)).copied();
    boards.ok_or_else(|| UsageError("the boards of nqueens have 1 to 14 columns".into()))
}

fn available_bytes() -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kilobytes = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(kilobytes.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}
