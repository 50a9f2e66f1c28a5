//! The clocks: the same intervals as the C++ adapters measure.

use std::time::Instant;

/// Answer, wall and process CPU of one pass, or the sums of several.
pub struct Measured {
    pub answer: u64,
    pub wall_ns: u64,
    pub cpu_ns: u64,
}

impl Measured {
    pub fn add(&mut self, next: &Measured) {
        self.wall_ns += next.wall_ns;
        self.cpu_ns += next.cpu_ns;
    }
}

pub struct Stopwatch {
    began: Instant,
    cpu_began_ns: u64,
}

impl Stopwatch {
    pub fn start() -> Self {
        let cpu_began_ns = process_cpu_ns();
        Self { began: Instant::now(), cpu_began_ns }
    }

    pub fn stop(self, answer: u64) -> Measured {
        let wall_ns = self.began.elapsed().as_nanos() as u64;
        Measured { answer, wall_ns, cpu_ns: process_cpu_ns() - self.cpu_began_ns }
    }
}

/// Which malloc this process has: what is preloaded is mapped.
pub fn malloc_name() -> &'static str {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    ["tcmalloc", "mimalloc"].into_iter().find(|name| maps.contains(&format!("/lib{name}"))).unwrap_or("glibc")
}

fn process_cpu_ns() -> u64 {
    // SAFETY: rusage is plain data for which all zeroes is valid, and getrusage only writes to it.
    let used = unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut used);
        used
    };
    let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
    ns(used.ru_utime) + ns(used.ru_stime)
}

/// VmHWM: ru_maxrss survives exec(), so a child of a large runner would report the runner's memory as its own.
pub fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.expect("/proc/self/status has VmHWM") * 1024
}
