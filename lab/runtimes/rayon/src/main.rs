//! The lab's adapter for Rayon: fork and join. The protocol is in lab/runtimes/common/README.md.

mod arguments;
mod forks;
#[path = "../../tokio/src/matrices.rs"]
mod matrices;
#[path = "../../timely/src/measure.rs"]
mod measure;
mod trees;
#[path = "../../tokio/src/uts.rs"]
mod uts;

use std::process::ExitCode;

use rayon::{ThreadPool, ThreadPoolBuilder};
use serde_json::{json, Value};

use arguments::{Command, Request, UsageError};
use forks::Mode;
use measure::{malloc_name, peak_rss_bytes, Measured, Stopwatch};
use uts::Tree;

/// One of the workloads: how it is written, and in its other dress.
const WORKLOADS: [(&str, &[&str], &str, Option<&str>); 7] = [
    ("fib", &["n"], "join of fib(n-1) and fib(n-2)", None),
    (
        "fork_pool",
        &["mode", "count"],
        "immediate: a scope with one spawn; final: a spawn for each fork, in a scope",
        Some("immediate: a join with nothing; final: joins of halves"),
    ),
    ("matmul", &["n"], "joins of two pairs of parts, twice", None),
    (
        "nqueens",
        &["n"],
        "a parallel iterator over the boards of the next column",
        Some("a spawn for each board, in a scope"),
    ),
    ("skynet", &["depth"], "a parallel iterator over ten children", Some("joins of halves of the ten")),
    ("spawn_join", &["count"], "a spawn for each task, in a scope", None),
    ("unbalanced", &["tree"], "a parallel iterator over the children", Some("joins of halves of the children")),
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

/// The work of a pass, which ends the clock itself, and how many items it has.
type Work = (Box<dyn Fn(Stopwatch) -> Measured + Sync>, u64);

/// All of the work is timed.
fn timed(work: impl Fn() -> u64 + Sync + 'static) -> Box<dyn Fn(Stopwatch) -> Measured + Sync> {
    Box::new(move |watch| {
        let answer = work();
        watch.stop(answer)
    })
}

fn work_of(request: &Request) -> Result<Work, UsageError> {
    let expert = request.expert;
    Ok(match request.workload.as_str() {
        "fib" => {
            let n = request.integer("n")?;
            (timed(move || trees::fib(n)), trees::calls_of_fib(n))
        }
        "fork_pool" => {
            let mode = request.choice("mode", &[("immediate", Mode::Immediate), ("final", Mode::Final)])?;
            let (sub_tasks, forks) = (request.threads, request.integer("count")? / request.threads);
            (timed(move || forks::fork_pool(mode, sub_tasks, forks, expert)), sub_tasks * forks)
        }
        "matmul" => {
            let n = matrices::matrix_size(request.integer("n")?)?;
            (Box::new(move |watch| trees::matmul(n, watch)), (n as u64 / 32).pow(3))
        }
        "nqueens" => {
            let n = request.integer("n")?;
            if !(1..=14).contains(&n) {
                return Err(UsageError("n of nqueens is from 1 to 14".into()));
            }
            (timed(move || trees::nqueens(n as usize, expert)), trees::boards(n as usize))
        }
        "skynet" => {
            let depth = request.integer("depth")? as u32;
            let nodes = (0..=depth).map(|level| 10u64.pow(level)).sum();
            (timed(move || trees::skynet(0, 10u64.pow(depth), expert)), nodes)
        }
        "spawn_join" => {
            let count = request.integer("count")?;
            (timed(move || forks::spawn_join(count)), count)
        }
        "unbalanced" => {
            let tree = Tree::of(request)?;
            (timed(move || trees::unbalanced(&tree, &tree.root(), expert)), tree.nodes)
        }
        other => {
            let allowed: Vec<&str> = WORKLOADS.iter().map(|(name, ..)| *name).collect();
            return Err(UsageError(format!("unknown workload {other}; allowed: {}", allowed.join(", "))));
        }
    })
}

/// From within the pool, as the other adapters' roots are tasks of theirs.
fn pass(pool: &ThreadPool, work: &(dyn Fn(Stopwatch) -> Measured + Sync)) -> Measured {
    pool.install(|| work(Stopwatch::start()))
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
