//! The lab's adapter for Tokio. One binary, two runtimes: `--runtime tokio` is the multi-thread scheduler with exactly
//! `--threads` workers, `--runtime tokio_ct` the current-thread one. The protocol is in lab/runtimes/common/README.md.

mod arguments;
mod limits;
mod measure;
mod workloads;

use std::process::ExitCode;

use serde_json::{json, Map, Value};
use tokio::runtime::{Builder, Runtime};

use arguments::{Command, Flavor, Request, UsageError};
use measure::{peak_rss_bytes, Measured};
use workloads::{Mode, Phase};

const ALLOCATOR: &str = "glibc malloc";
const NO_INLINE_FORK: &str =
    "no inline fork: a spawned task always goes through the scheduler, and an awaited async fn is part of its \
                              caller (measured as call_overhead); neither takes a memory resource";

/// Workload, its parameters, and why it is not supported, if so.
const WORKLOADS: [(&str, &[&str], Option<&str>); 8] = [
    ("call_overhead", &["calls"], None),
    ("fib", &["n"], None),
    ("fork_noop", &["resource", "count"], Some(NO_INLINE_FORK)),
    ("fork_pool", &["mode", "count"], None),
    ("pipeline", &["concurrency", "depth", "items"], None),
    ("skynet", &["depth"], None),
    ("spawn_join", &["count", "phase"], None),
    ("yield", &["tasks", "yields"], None),
];

fn describe(flavor: Flavor) -> Value {
    let workloads: Map<String, Value> = WORKLOADS
        .iter()
        .map(|(name, params, unsupported)| {
            let said = match unsupported {
                Some(reason) => json!({"supported": false, "reason": reason}),
                None => json!({"supported": true, "params": params}),
            };
            (name.to_string(), said)
        })
        .collect();
    json!({
        "runtime": flavor.name(),
        "version": env!("LAB_TOKIO_VERSION"),
        "compiler": env!("LAB_COMPILER"),
        "flags": env!("LAB_FLAGS"),
        "allocator": ALLOCATOR,
        "workloads": workloads,
    })
}

fn runtime(flavor: Flavor, threads: u64) -> std::io::Result<Runtime> {
    match flavor {
        Flavor::MultiThread => Builder::new_multi_thread().worker_threads(threads as usize).build(),
        Flavor::CurrentThread => Builder::new_current_thread().build(),
    }
}

/// One repetition. The body is spawned, never the root of block_on: that root is polled outside the scheduler.
fn repetition(rt: &Runtime, request: &Request) -> Result<Measured, UsageError> {
    let integer = |name| request.integer(name);
    let task = match request.workload.as_str() {
        "call_overhead" => rt.spawn(workloads::call_overhead(integer("calls")?)),
        "fib" => rt.spawn(workloads::fib(integer("n")?)),
        "fork_pool" => {
            let mode = request.choice("mode", &[("immediate", Mode::Immediate), ("final", Mode::Final)])?;
            rt.spawn(workloads::fork_pool(mode, request.threads, integer("count")? / request.threads))
        }
        "pipeline" => rt.spawn(workloads::pipeline(integer("concurrency")?, integer("depth")?, integer("items")?)),
        "skynet" => rt.spawn(workloads::skynet(integer("depth")?)),
        "spawn_join" => {
            let phases = [("spawn", Phase::Spawn), ("join", Phase::Join), ("total", Phase::Total)];
            rt.spawn(workloads::spawn_join(integer("count")?, request.choice("phase", &phases)?))
        }
        "yield" => rt.spawn(workloads::yields(integer("tasks")?, integer("yields")?)),
        other => return Err(UsageError(format!("workload {other} has no function"))),
    };
    Ok(rt.block_on(task).expect("the root task ended without a value"))
}

/// How many items one repetition does; the runner states the same definition a second time and compares.
fn items(request: &Request) -> Result<u64, UsageError> {
    let integer = |name| request.integer(name);
    Ok(match request.workload.as_str() {
        "call_overhead" => integer("calls")?,
        "fib" => limits::fib_calls(integer("n")?),
        "fork_pool" => integer("count")? / request.threads * request.threads,
        "pipeline" => integer("concurrency")? * integer("items")?,
        "skynet" => (0..=integer("depth")?).map(|level| 10u64.pow(level as u32)).sum(),
        "yield" => integer("tasks")? * integer("yields")?,
        _ => integer("count")?,
    })
}

fn run(request: &Request) -> Result<Value, Box<dyn std::error::Error>> {
    let Some((_, _, unsupported)) = WORKLOADS.iter().find(|(name, ..)| *name == request.workload) else {
        let allowed: Vec<&str> = WORKLOADS.iter().map(|(name, ..)| *name).collect();
        let message = format!("unknown workload {}; allowed: {}", request.workload, allowed.join(", "));
        return Err(UsageError(message).into());
    };
    if let Some(reason) = unsupported {
        return Ok(json!({"unsupported": reason}));
    }
    if let Some(reason) = limits::out_of_memory(request)? {
        return Ok(json!({"unsupported": reason}));
    }
    let rt = runtime(request.flavor, request.threads)?;
    for _ in 0..request.warmup {
        repetition(&rt, request)?;
    }
    let measured = repetition(&rt, request)?;
    Ok(json!({
        "answer": measured.answer.to_string(),
        "wall_ns": measured.wall_ns,
        "cpu_ns": measured.cpu_ns,
        "peak_rss_bytes": peak_rss_bytes(),
        "allocator": ALLOCATOR,
        "items_done": items(request)?,
    }))
}

fn main() -> ExitCode {
    let said = arguments::parse(std::env::args().skip(1)).map_err(Into::into).and_then(|command| match command {
        Command::Help => Ok(arguments::USAGE.to_string()),
        Command::Describe(flavor) => Ok(describe(flavor).to_string()),
        Command::Run(request) => run(&request).map(|out| out.to_string()),
    });
    match said {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("lab_tokio: {error}");
            ExitCode::from(if error.is::<UsageError>() { 2 } else { 1 })
        }
    }
}
