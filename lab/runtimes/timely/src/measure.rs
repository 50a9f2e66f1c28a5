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
    clocks: Vec<libc::clockid_t>,
}

impl Stopwatch {
    pub fn start() -> Self {
        let clocks = clocks_of_threads();
        account(&clocks);
        let cpu_began_ns = process_cpu_ns();
        Self { began: Instant::now(), cpu_began_ns, clocks }
    }

    pub fn stop(self, answer: u64) -> Measured {
        let wall_ns = self.began.elapsed().as_nanos() as u64;
        let stopped = cpu_of(libc::CLOCK_THREAD_CPUTIME_ID);
        account(&self.clocks);
        let used = process_cpu_ns();
        let accounting = cpu_of(libc::CLOCK_THREAD_CPUTIME_ID) - stopped;
        // process_cpu_ns() is in microseconds.
        let cpu_ns = used.saturating_sub(self.cpu_began_ns + accounting);
        Measured { answer, wall_ns, cpu_ns }
    }
}

/// Which malloc this process has: what is preloaded is mapped.
pub fn malloc_name() -> &'static str {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    ["tcmalloc", "mimalloc"].into_iter().find(|name| maps.contains(&format!("/lib{name}"))).unwrap_or("glibc")
}

/// The clocks of the threads that are there. The kernel accounts for a thread when it leaves its processor, at a tick, and
/// when its clock is read: without that its CPU counts where the next tick is.
fn clocks_of_threads() -> Vec<libc::clockid_t> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let numbers = tasks.filter_map(|task| task.file_name().to_str()?.parse::<libc::clockid_t>().ok());
    numbers.map(|number| !number << 3 | 6).collect()
}

fn cpu_of(clock: libc::clockid_t) -> u64 {
    let mut used = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime only writes to `used`; a thread that has ended is an error.
    unsafe { libc::clock_gettime(clock, &mut used) };
    used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64
}

fn account(clocks: &[libc::clockid_t]) {
    for clock in clocks {
        cpu_of(*clock);
    }
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
