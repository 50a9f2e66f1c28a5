//! The lab's adapter for Rayon: fork and join. The protocol is in lab/runtimes/common/README.md.

mod arguments;
#[path = "../../timely/src/measure.rs"]
mod measure;
mod trees;

use std::process::ExitCode;

use rayon::{ThreadPool, ThreadPoolBuilder};
use serde_json::{json, Value};

use arguments::{Command, Request, UsageError};
use measure::{malloc_name, peak_rss_bytes, Measured, Stopwatch};

/// One of the workloads: how it is written, and in its other dress.
const WORKLOADS: [(&str, &[&str], &str, Option<&str>); 4] = [
    ("fib", &["n"], "join of fib(n-1) and fib(n-2)", None),
    (
        "nqueens",
        &["n"],
        "a parallel iterator over the boards of the next column",
        Some("a spawn for each board, in a scope"),
    ),
    ("skynet", &["depth"], "a parallel iterator over ten children", Some("joins of halves of the ten")),
    ("spawn_join", &["count"], "a spawn for each task, in a scope", None),
];

fn describe() -> Value {
    let workloads: serde_json::Map<String, Value> = WORKLOADS
        .iter()
        .map(|(name, params, note, expert)| {
            let mut said = json!({"supported": true, "params": params, "note": note});
            if let Some(expert) = expert {
                said["dresses"] = json!({"plain": note, "expert": expert});
            }
            (name.to_string(), said)
        })
        .collect();
    json!({
        "runtime": "rayon",
        "version": env!("LAB_RAYON_VERSION"),
        "compiler": env!("LAB_COMPILER"),
        "flags": env!("LAB_FLAGS"),
        "allocator": "malloc",
        "workloads": workloads,
    })
}

/// The work of a pass, and how many items it has.
type Work = (Box<dyn Fn() -> u64 + Sync>, u64);

fn work_of(request: &Request) -> Result<Work, UsageError> {
    let expert = request.expert;
    Ok(match request.workload.as_str() {
        "fib" => {
            let n = request.integer("n")?;
            (Box::new(move || trees::fib(n)), trees::calls_of_fib(n))
        }
        "nqueens" => {
            let n = request.integer("n")?;
            if !(1..=14).contains(&n) {
                return Err(UsageError("n of nqueens is from 1 to 14".into()));
            }
            (Box::new(move || trees::nqueens(n as usize, expert)), trees::boards(n as usize))
        }
        "skynet" => {
            let depth = request.integer("depth")? as u32;
            let nodes = (0..=depth).map(|level| 10u64.pow(level)).sum();
            (Box::new(move || trees::skynet(0, 10u64.pow(depth), expert)), nodes)
        }
        "spawn_join" => {
            let count = request.integer("count")?;
            (Box::new(move || trees::spawn_join(count)), count)
        }
        other => {
            let allowed: Vec<&str> = WORKLOADS.iter().map(|(name, ..)| *name).collect();
            return Err(UsageError(format!("unknown workload {other}; allowed: {}", allowed.join(", "))));
        }
    })
}

/// From within the pool, as the other adapters' roots are tasks of theirs.
fn pass(pool: &ThreadPool, work: &(dyn Fn() -> u64 + Sync)) -> Measured {
    pool.install(|| {
        let watch = Stopwatch::start();
        let answer = work();
        watch.stop(answer)
    })
}

/// The warm-ups, and then as many passes as are asked for.
fn run(request: &Request) -> Result<Value, UsageError> {
    let (work, items) = work_of(request)?;
    let has_expert = WORKLOADS.iter().any(|(name, _, _, expert)| *name == request.workload && expert.is_some());
    if request.expert && !has_expert {
        return Err(UsageError(format!("{} has no dress expert", request.workload)));
    }
    let pool = ThreadPoolBuilder::new().num_threads(request.threads as usize).build();
    let pool = pool.map_err(|error| UsageError(format!("no pool of {} threads: {error}", request.threads)))?;
    for _ in 0..request.warmup {
        pass(&pool, &work);
    }
    let mut sums = pass(&pool, &work);
    let mut answer = sums.answer.to_string();
    let mut passes = 1;
    while sums.wall_ns < request.least_ms * 1_000_000 {
        let next = pass(&pool, &work);
        passes += 1;
        if next.answer != sums.answer && !answer.contains("then") {
            answer = format!("{answer}, then {} in pass {passes}", next.answer);
        }
        sums.add(&next);
    }
    Ok(json!({
        "answer": answer,
        "wall_ns": sums.wall_ns,
        "cpu_ns": sums.cpu_ns,
        "passes": passes,
        "peak_rss_bytes": peak_rss_bytes(),
        "allocator": "malloc",
        "malloc": malloc_name(),
        "items_done": items * passes,
    }))
}

fn main() -> ExitCode {
    let said = arguments::parse(std::env::args().skip(1)).and_then(|command| match command {
        Command::Help => Ok(arguments::USAGE.to_string()),
        Command::Describe => Ok(describe().to_string()),
        Command::Run(request) => run(&request).map(|out| out.to_string()),
    });
    match said {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(UsageError(message)) => {
            eprintln!("lab_rayon: {message}\n{}", arguments::USAGE);
            ExitCode::from(2)
        }
    }
}
