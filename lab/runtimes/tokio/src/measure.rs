//! The clocks: the same intervals as the C++ adapters measure.

use std::time::Instant;

/// Answer, wall and process CPU of one repetition.
#[derive(Clone, Copy)]
pub struct Measured {
    pub answer: u64,
    pub wall_ns: u64,
    pub cpu_ns: u64,
}

/// Wall and process CPU of what lies between `start` and `stop`.
pub struct Stopwatch {
    began: Instant,
    cpu_began_ns: u64,
}

impl Stopwatch {
    pub fn start() -> Self {
        let cpu_began_ns = process_cpu_ns();
        Self { began: Instant::now(), cpu_began_ns }
    }

    /// The answer may still be open here: a phase ends before the sum is known.
    pub fn stop(self) -> Measured {
        let wall_ns = self.began.elapsed().as_nanos() as u64;
        Measured { answer: 0, wall_ns, cpu_ns: process_cpu_ns() - self.cpu_began_ns }
    }
}

impl Measured {
    pub fn answer(self, answer: u64) -> Self {
        Self { answer, ..self }
    }
}

/// Which malloc this process has: what is preloaded is mapped.
pub fn malloc_name() -> &'static str {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    ["tcmalloc", "mimalloc"].into_iter().find(|name| maps.contains(&format!("/lib{name}"))).unwrap_or("glibc")
}

#[cfg(feature = "io")]
/// An error that a message is wrong, or another side that is not as it must be.
pub fn wrong(what: impl Into<String>) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::Other, what.into())
}

fn usage() -> libc::rusage {
    // SAFETY: rusage is plain data for which all zeroes is valid, and getrusage only writes to it.
    unsafe {
        let mut used = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut used);
        used
    }
}

fn process_cpu_ns() -> u64 {
    let used = usage();
    let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
    ns(used.ru_utime) + ns(used.ru_stime)
}

/// VmHWM first: ru_maxrss survives exec(), so a child of a large runner would report the runner's memory as its own.
pub fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let high_water = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    high_water.unwrap_or_else(|| usage().ru_maxrss as u64) * 1024
}
