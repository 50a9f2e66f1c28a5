//! The clocks: the same intervals as the C++ adapters measure.

use std::collections::BTreeMap;
use std::time::Instant;

/// Answer, wall and process CPU of one repetition.
pub struct Measured {
    pub answer: u64,
    pub wall_ns: u64,
    pub cpu_ns: u64,
    /// From start to stop: `wall_ns` is another time where it is measured how long each item took.
    pub elapsed_ns: u64,
    /// Of each item. Where there are any, their percentiles are figures.
    pub waits: Vec<u64>,
    /// What else was measured, by name.
    pub figures: BTreeMap<&'static str, f64>,
}

/// Wall and process CPU of what lies between `start` and `stop`.
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

    /// The answer may still be open here.
    pub fn stop(self) -> Measured {
        let wall_ns = self.began.elapsed().as_nanos() as u64;
        let stopped = cpu_of(libc::CLOCK_THREAD_CPUTIME_ID);
        account(&self.clocks);
        let used = process_cpu_ns();
        let accounting = cpu_of(libc::CLOCK_THREAD_CPUTIME_ID) - stopped;
        // process_cpu_ns() is in microseconds.
        let cpu_ns = used.saturating_sub(self.cpu_began_ns + accounting);
        Measured { answer: 0, wall_ns, cpu_ns, elapsed_ns: wall_ns, waits: Vec::new(), figures: BTreeMap::new() }
    }
}

impl Measured {
    pub fn answer(self, answer: u64) -> Self {
        Self { answer, ..self }
    }

    /// How long each item took, in nanoseconds: wall is the sum of these.
    pub fn items_took(self, waits: Vec<u64>) -> Self {
        Self { wall_ns: waits.iter().sum(), waits, ..self }
    }

    pub fn figure(mut self, name: &'static str, value: f64) -> Self {
        self.figures.insert(name, value);
        self
    }

    /// Adds a further pass.
    pub fn add(&mut self, next: Measured) {
        self.wall_ns += next.wall_ns;
        self.cpu_ns += next.cpu_ns;
        self.elapsed_ns += next.elapsed_ns;
        self.waits.extend(next.waits);
        self.figures = next.figures;
    }

    /// The figures, with the percentiles of the waits.
    pub fn all_figures(&self) -> BTreeMap<&'static str, f64> {
        let mut figures = self.figures.clone();
        let mut sorted = self.waits.clone();
        sorted.sort_unstable();
        if let Some(longest) = sorted.last() {
            for (name, share) in [("p50_ns", 0.5), ("p99_ns", 0.99), ("p999_ns", 0.999)] {
                // The least that is not below so large a share of all.
                let at = (share * sorted.len() as f64).ceil() as usize - 1;
                figures.insert(name, sorted[at] as f64);
            }
            figures.insert("max_ns", *longest as f64);
        }
        figures
    }
}

/// What of the process's memory is in RAM now. The counters of /proc/self/statm lag behind.
pub fn rss_bytes() -> u64 {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let rss = rollup.lines().find_map(|line| line.strip_prefix("Rss:"));
    let kilobytes = rss.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.expect("/proc/self/smaps_rollup does not say what is in memory") * 1024
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
