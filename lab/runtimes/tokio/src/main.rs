//! The lab's adapter for Tokio. One binary, two runtimes: `--runtime tokio` is the multi-thread scheduler with exactly
//! `--threads` workers, `--runtime tokio_ct` the current-thread one. The protocol is in lab/runtimes/common/README.md.

mod arguments;
mod cachecalc;
mod channels;
mod costs;
mod dispatcher;
#[cfg(feature = "io")]
mod echo;
mod fairness;
#[cfg(feature = "io")]
mod io;
mod joins;
mod latencies;
mod limits;
mod matrices;
mod measure;
mod outside;
mod records;
mod scenarios;
#[cfg(feature = "io")]
mod servers;
mod timers;
mod trees;
mod unbalanced;
mod uts;
mod workloads;

use std::process::ExitCode;
use std::time::Duration;

use serde_json::{json, Map, Value};
use tokio::runtime::{Builder, Runtime};

use arguments::{Command, Flavor, Request, UsageError};
use dispatcher::Dispatched;
use measure::{malloc_name, peak_rss_bytes, rss_bytes, Measured};
use records::Receiver;
use scenarios::SCENARIOS;
use uts::Tree;
use workloads::Mode;

const ALLOCATOR: &str = "malloc";
const NO_INLINE_FORK: &str =
    "no inline fork: a spawned task always goes through the scheduler, and an awaited async fn is part of its \
                              caller (measured as call_overhead); neither takes a memory resource";

const RENDEZVOUS: &str =
    concat!("the crate kanal ", env!("LAB_KANAL_VERSION"), ", of capacity 0; that of tokio::sync::mpsc is 1 at least");

const PROGRAMS_OF_OTHERS: &str = "the document's programs for other runtimes; Tokio's stand under cachecalc";

const NO_STREAMS: &str = "no stream engine: its part in a query would be the loop that bare has";

const NO_FRAME: &str = "a future is a value of its caller's: it has no frame that is created and destroyed";

enum Ability {
    Supported,
    /// With what to know about the idiom.
    Noted(&'static str),
    /// And why.
    Unsupported(&'static str),
}

use Ability::{Noted, Supported, Unsupported};

/// Workload, its parameters, and whether Tokio can do it.
const WORKLOADS: [(&str, &[&str], Ability); 42] = [
    ("accept_churn", &["connections", "in_flight"], Noted("tokio::net, a task a connection")),
    (
        "cachecalc",
        &["idiom", "rounds", "tasks", "wait_us"],
        Noted("mutex: a std::sync::Mutex; worker: a LocalSet, on tokio_ct; tokio::time::sleep has ticks of 1 ms"),
    ),
    (
        "cachecalc_sharded",
        &["shards", "rounds", "tasks", "wait_us"],
        Noted("a LocalSet on a current-thread runtime and a thread a shard; tokio::time::sleep has ticks of 1 ms"),
    ),
    ("cachecalc_variants", &["variant", "rounds", "tasks", "wait_us"], Unsupported(PROGRAMS_OF_OTHERS)),
    ("call_overhead", &["calls"], Supported),
    (
        "channel_mpmc",
        &["count", "capacity", "producers", "consumers"],
        Noted("tokio::sync::mpsc, whose one receiver the consumers share under a tokio::sync::Mutex"),
    ),
    ("channel_rendezvous", &["count"], Noted(RENDEZVOUS)),
    ("channel_spsc", &["count", "capacity"], Noted("tokio::sync::mpsc")),
    ("coroutine_costs", &["step", "count", "live"], Unsupported(NO_FRAME)),
    (
        "dispatcher",
        &["program", "count", "batch", "yields", "steps"],
        Noted("the document's programs, in a spawned task; tokio::time::sleep has ticks of 1 ms"),
    ),
    ("echo", &["transport", "processes", "rounds"], Noted("tokio::net; two tasks")),
    ("echo_many", &["connections", "mode", "requests", "bytes", "rate"], Noted("tokio::net, a task a connection")),
    (
        "echo_pool",
        &["workers", "compute_us", "connections", "mode", "requests", "bytes", "rate"],
        Noted("tokio::net, a task a connection; one that computes, and yield_now"),
    ),
    ("fairness", &["waits", "jobs", "step_us"], Noted("tokio::time::sleep has ticks of 1 ms, and rounds up")),
    ("fib", &["n"], Supported),
    ("fib_tasks", &["shape", "n", "tasks"], Noted("a spawned task each")),
    (
        "file_read",
        &["bytes", "file_mib", "reads", "pattern"],
        Noted("tokio::fs::File, whose seek and read are each done by a thread that may wait"),
    ),
    ("fork_noop", &["resource", "count"], Unsupported(NO_INLINE_FORK)),
    ("fork_pool", &["mode", "count"], Supported),
    ("idle_tasks", &["count", "sleep_ms"], Noted("tokio::time::sleep; its wheel has ticks of 1 ms and rounds up")),
    ("inject", &["producers", "count"], Noted("Runtime::spawn, the handle dropped")),
    (
        "io_socket",
        &["connections", "requests", "request_bytes", "response_bytes"],
        Noted("tokio::net; tokio: both sides in one scheduler; tokio_ct: a scheduler of one thread for each side"),
    ),
    ("latency_under_load", &["load_percent", "work_us", "count"], Noted("Runtime::spawn, the handle dropped")),
    ("matmul", &["n"], Noted("the tasks share C by an Arc, and write to it through UnsafeCell")),
    ("memory_after", &["count", "idle_ms"], Supported),
    ("mpsc_batches", &["batches", "batch"], Noted("tokio::sync::mpsc, unbounded")),
    ("mutex_handoff", &["tasks", "locks"], Noted("tokio::sync::Mutex, which is fair")),
    ("nexmark", &["query", "events"], Unsupported(NO_STREAMS)),
    ("nqueens", &["n"], Supported),
    ("outside_wake", &["workers", "cpus", "gap_us", "requests"], Noted("Runtime::spawn, and block_on of the handle")),
    ("oversubscribed", &["idiom", "workers", "count"], Noted("as channel_mpmc and spawn_join")),
    (
        "partition_receiver",
        &["receiver", "gap_us", "batches", "yields"],
        Noted("tokio::sync::mpsc, unbounded; tokio::time::sleep has ticks of 1 ms"),
    ),
    ("pipeline", &["concurrency", "depth", "items"], Supported),
    (
        "record_path",
        &["path", "records", "batch", "partitions", "steps"],
        Noted("tokio::sync::mpsc to each partition; shared: a tokio::sync::Mutex, taken for each record"),
    ),
    ("skynet", &["depth"], Supported),
    ("spawn_join", &["count"], Supported),
    (
        "stream_scenarios",
        &["scenario", "records", "batch", "partitions"],
        Noted("a reader, a task a partition and a sink, with tokio::sync::mpsc of whole batches between"),
    ),
    ("suspend_chain", &["chains", "depth", "values"], Noted("tokio::sync::mpsc")),
    (
        "timer_storm",
        &["count", "shortest_us", "longest_us"],
        Noted("tokio::time::sleep; its wheel has ticks of 1 ms and rounds up"),
    ),
    ("unbalanced", &["tree"], Supported),
    ("wait", &["idiom", "count", "wait_us"], Noted("tokio::time::sleep has ticks of 1 ms and rounds up")),
    ("yield", &["tasks", "yields"], Supported),
];

/// The workloads that Tokio's experts would write in another way, and which.
const EXPERTS: [(&str, &str); 16] = [
    (
        "channel_mpmc",
        concat!("the crate kanal ", env!("LAB_KANAL_VERSION"), ", a bounded channel of several receivers"),
    ),
    ("channel_spsc", concat!("the crate kanal ", env!("LAB_KANAL_VERSION"), ", a bounded channel")),
    ("echo_pool", "what computes does it in block_in_place: another thread takes the worker's place"),
    ("file_read", "spawn_blocking of a read at a place: one hand-over a read"),
    ("fork_pool", "immediate: a boxed child is awaited in place, and not spawned; final: as plain"),
    ("matmul", "spawn of three products; the fourth is awaited in place"),
    ("mpsc_batches", "recv_many"),
    ("nqueens", "spawn of each safe row but the last, which is awaited in place"),
    ("oversubscribed", concat!("channel: the crate kanal ", env!("LAB_KANAL_VERSION"), "; fork: as plain")),
    ("partition_receiver", "recv_many; a yield is a future that wakes its own task and is pending once"),
    ("pipeline", "a stage is awaited in place, and not spawned"),
    (
        "record_path",
        "recv_many; a partition's records go on as whole batches; shared: a std::sync::Mutex, taken for each record",
    ),
    ("skynet", "spawn of nine children; the tenth is awaited in place"),
    ("suspend_chain", concat!("the crate kanal ", env!("LAB_KANAL_VERSION"), ", bounded channels")),
    ("unbalanced", "spawn of each child but the last, which is awaited in place"),
    ("yield", "a future that wakes its own task and is pending once"),
];

/// The one that the document measured in a debug build, which it then is, too.
const DEBUG: &str = "dispatcher";

/// Those of which an expert may choose the channels, too.
const KANAL: [&str; 2] = ["partition_receiver", "record_path"];

fn expert_note(workload: &str) -> Option<&'static str> {
    EXPERTS.iter().find(|(name, _)| *name == workload).map(|(_, note)| *note)
}

#[derive(Clone, Copy)]
enum Idiom {
    Compute,
    Worker,
    Strand,
    Mutex,
}

const IDIOMS: [(&str, Idiom); 4] =
    [("compute", Idiom::Compute), ("worker", Idiom::Worker), ("strand", Idiom::Strand), ("mutex", Idiom::Mutex)];

#[derive(Clone, Copy)]
enum Crowd {
    Channel,
    Fork,
}

const CROWDS: [(&str, Crowd); 2] = [("channel", Crowd::Channel), ("fork", Crowd::Fork)];
/// And as many receivers.
const SENDERS: u64 = 4;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Path {
    Plain,
    Direct,
    Coordinator,
    Shared,
}

const PATHS: [(&str, Path); 4] =
    [("plain", Path::Plain), ("direct", Path::Direct), ("coordinator", Path::Coordinator), ("shared", Path::Shared)];

const RECEIVERS: [(&str, Receiver); 3] =
    [("yields", Receiver::Yields), ("polls", Receiver::Polls), ("parks", Receiver::Parks)];

/// What one of the two schedulers cannot do with these parameters, and why.
fn unsupported(request: &Request) -> Result<Option<&'static str>, UsageError> {
    let single = matches!(request.flavor, Flavor::CurrentThread);
    Ok(match request.workload.as_str() {
        "cachecalc" => match request.choice("idiom", &IDIOMS)? {
            Idiom::Compute | Idiom::Worker if !single => Some("that is the scheduler of one thread: tokio_ct"),
            Idiom::Mutex if single => Some("on one thread nothing need be locked out: idiom worker"),
            Idiom::Strand => Some("Tokio has no strand: a task goes to any worker, and a LocalSet is one thread's"),
            _ => None,
        },
        "inject" | "latency_under_load" | "outside_wake" if single => Some(
            "a current-thread runtime has no thread of its own: its tasks run while a thread blocks on it, and here the \
             threads outside have other things to do",
        ),
        "dispatcher" => Dispatched::of(request)?.unsupported(request),
        "echo_pool" if single => Some("a pool is asked for: with one thread it is echo_many"),
        "oversubscribed" if single => Some("it has one thread, however many are asked for"),
        "cachecalc_sharded" if !single => Some("a shard is a scheduler of one thread: tokio_ct"),
        "fib_tasks" => {
            let others = [
                ("sequential", false),
                ("thread", false),
                ("held_thread", false),
                ("generator", false),
                ("coroutine", true),
            ];
            (!request.choice("shape", &others)?).then_some("nothing of Tokio is in it: bare has it, std the threads")
        }
        "wait" => {
            let devzero = request.choice("idiom", &[("timer", false), ("devzero", true)])?;
            devzero.then_some("std has it: the thread reads, and nothing of a runtime is in it")
        }
        _ => None,
    })
}

fn describe(flavor: Flavor) -> Value {
    let workloads: Map<String, Value> = WORKLOADS
        .iter()
        .map(|(name, params, ability)| {
            let mut said = match ability {
                Supported => json!({"supported": true, "params": params}),
                Noted(note) => json!({"supported": true, "params": params, "note": note}),
                Unsupported(reason) => json!({"supported": false, "reason": reason}),
            };
            if let Some(note) = expert_note(name) {
                said["dresses"] = json!({"plain": said["note"].as_str().unwrap_or_default(), "expert": note});
                if KANAL.contains(name) {
                    said["dresses"]["kanal"] =
                        json!(concat!("the channels of the crate kanal ", env!("LAB_KANAL_VERSION")));
                }
            }
            if *name == DEBUG {
                said["dresses"] =
                    json!({"plain": said["note"].as_str().unwrap_or_default(), "debug": "a debug build, as the document's"});
            }
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

/// The time driver runs where the workload has timers, and nowhere else.
fn runtime(request: &Request) -> Result<Runtime, Box<dyn std::error::Error>> {
    let mut builder = match request.flavor {
        Flavor::MultiThread => Builder::new_multi_thread(),
        Flavor::CurrentThread => Builder::new_current_thread(),
    };
    if let Flavor::MultiThread = request.flavor {
        builder.worker_threads(request.workers()? as usize);
    }
    if matches!(
        request.workload.as_str(),
        "timer_storm"
            | "cachecalc"
            | "cachecalc_sharded"
            | "dispatcher"
            | "fairness"
            | "idle_tasks"
            | "partition_receiver"
            | "wait"
    ) {
        builder.enable_time();
    }
    #[cfg(feature = "io")]
    builder.enable_io();
    Ok(builder.build()?)
}

/// The rows of I/O.
fn is_io(workload: &str) -> bool {
    matches!(workload, "accept_churn" | "echo" | "echo_many" | "echo_pool" | "file_read" | "io_socket")
}

/// One repetition. The body is spawned, never the root of block_on: that root is polled outside the scheduler.
fn repetition(rt: &Runtime, request: &Request) -> Result<Measured, UsageError> {
    let integer = |name| request.integer(name);
    let work = || -> Result<cachecalc::Work, UsageError> {
        let wait = Duration::from_micros(integer("wait_us")?);
        Ok(cachecalc::Work { rounds: integer("rounds")?, tasks: integer("tasks")?, wait })
    };
    let task = match request.workload.as_str() {
        "cachecalc" => match request.choice("idiom", &IDIOMS)? {
            Idiom::Compute => rt.spawn(cachecalc::compute_alone(work()?)),
            Idiom::Worker => return Ok(cachecalc::on_one_thread(rt, work()?)),
            Idiom::Strand | Idiom::Mutex => rt.spawn(cachecalc::under_a_mutex(work()?)),
        },
        "cachecalc_sharded" => return Ok(cachecalc::on_shards(rt, integer("shards")?, work()?)),
        "call_overhead" => rt.spawn(workloads::call_overhead(integer("calls")?)),
        "channel_mpmc" => {
            let (producers, consumers) = (integer("producers")?, integer("consumers")?);
            let (count, capacity) = (integer("count")?, integer("capacity")?);
            if request.expert {
                rt.spawn(channels::channel_mpmc_expert(count, capacity, producers, consumers))
            } else {
                rt.spawn(channels::channel_mpmc(count, capacity, producers, consumers))
            }
        }
        "channel_rendezvous" => rt.spawn(channels::channel_rendezvous(integer("count")?)),
        "channel_spsc" if request.expert => {
            rt.spawn(channels::channel_spsc_expert(integer("count")?, integer("capacity")?))
        }
        "channel_spsc" => rt.spawn(channels::channel_spsc(integer("count")?, integer("capacity")?)),
        "dispatcher" => rt.spawn(dispatcher::run(Dispatched::of(request)?)),
        "fairness" => {
            let waits = request.choice("waits", &fairness::WAITS)?;
            rt.spawn(fairness::fairness(waits, integer("jobs")?, integer("step_us")?))
        }
        "fib" => rt.spawn(workloads::fib(integer("n")?)),
        "fib_tasks" => rt.spawn(costs::fib_tasks(integer("n")?, integer("tasks")?)),
        "fork_pool" => {
            let mode = request.choice("mode", &[("immediate", Mode::Immediate), ("final", Mode::Final)])?;
            let forks = integer("count")? / request.threads;
            rt.spawn(workloads::fork_pool(mode, request.threads, forks, request.expert))
        }
        "idle_tasks" => rt.spawn(timers::idle_tasks(integer("count")?, Duration::from_millis(integer("sleep_ms")?))),
        "inject" => return Ok(outside::inject(rt, integer("producers")?, integer("count")?)),
        "latency_under_load" => {
            let (load, work) = (integer("load_percent")?, Duration::from_micros(integer("work_us")?));
            return Ok(outside::latency_under_load(rt, request.threads, load, work, integer("count")?));
        }
        "matmul" => rt.spawn(trees::matmul(matrices::matrix_size(integer("n")?)?, request.expert)),
        "memory_after" => {
            return Ok(memory_after(rt, integer("count")?, Duration::from_millis(integer("idle_ms")?)));
        }
        "mpsc_batches" if request.expert => {
            rt.spawn(channels::mpsc_batches_expert(integer("batches")?, integer("batch")?))
        }
        "mpsc_batches" => rt.spawn(channels::mpsc_batches(integer("batches")?, integer("batch")?)),
        "mutex_handoff" => rt.spawn(channels::mutex_handoff(integer("tasks")?, integer("locks")?)),
        "nqueens" => rt.spawn(trees::nqueens(integer("n")?, request.expert)),
        "outside_wake" => {
            let gap = Duration::from_micros(integer("gap_us")?);
            return Ok(outside::outside_wake(rt, integer("requests")?, gap));
        }
        "oversubscribed" => {
            let count = integer("count")?;
            match (request.choice("idiom", &CROWDS)?, request.expert) {
                (Crowd::Fork, _) => rt.spawn(workloads::spawn_join(count)),
                (Crowd::Channel, false) => rt.spawn(channels::channel_mpmc(count, 16, SENDERS, SENDERS)),
                (Crowd::Channel, true) => rt.spawn(channels::channel_mpmc_expert(count, 16, SENDERS, SENDERS)),
            }
        }
        "partition_receiver" => {
            let work = records::Partition {
                receiver: request.choice("receiver", &RECEIVERS)?,
                batches: integer("batches")?,
                yields: integer("yields")?,
                gap: Duration::from_micros(integer("gap_us")?),
            };
            if request.kanal {
                rt.spawn(records::partition_receiver_through_kanal(work))
            } else {
                rt.spawn(records::partition_receiver(work, request.expert))
            }
        }
        "pipeline" if request.expert => {
            rt.spawn(workloads::pipeline_expert(integer("concurrency")?, integer("depth")?, integer("items")?))
        }
        "pipeline" => rt.spawn(workloads::pipeline(integer("concurrency")?, integer("depth")?, integer("items")?)),
        "record_path" => {
            let (path, partitions) = (request.choice("path", &PATHS)?, integer("partitions")?);
            let (records, batch, steps) = (integer("records")?, integer("batch")?.max(1), integer("steps")?);
            let partitions = if path == Path::Direct { 1 } else { partitions };
            let work = records::Work { records, batch, partitions, steps };
            match path {
                Path::Plain => rt.spawn(records::plain(work)),
                _ if request.kanal => rt.spawn(records::partitions_through_kanal(work, path == Path::Shared)),
                _ if request.expert => rt.spawn(records::partitions_expert(work, path == Path::Shared)),
                _ => rt.spawn(records::partitions(work, path == Path::Shared)),
            }
        }
        "skynet" if request.expert => rt.spawn(workloads::skynet_expert(integer("depth")?)),
        "skynet" => rt.spawn(workloads::skynet(integer("depth")?)),
        "spawn_join" => rt.spawn(workloads::spawn_join(integer("count")?)),
        "stream_scenarios" => {
            let what = request.choice("scenario", &SCENARIOS)?;
            let (records, partitions) = (integer("records")?, integer("partitions")?.max(1));
            let work = scenarios::Work { records, batch: integer("batch")?.max(1) as usize, partitions };
            rt.spawn(scenarios::stream_scenarios(what, work))
        }
        "suspend_chain" if request.expert => {
            rt.spawn(channels::suspend_chain_expert(integer("chains")?, integer("depth")?, integer("values")?))
        }
        "suspend_chain" => rt.spawn(channels::suspend_chain(integer("chains")?, integer("depth")?, integer("values")?)),
        "timer_storm" => {
            rt.spawn(timers::timer_storm(integer("count")?, integer("shortest_us")?, integer("longest_us")?))
        }
        "unbalanced" => rt.spawn(unbalanced::unbalanced(Tree::of(request)?, request.expert)),
        "wait" => rt.spawn(costs::wait(integer("count")?, integer("wait_us")?)),
        "yield" if request.expert => rt.spawn(workloads::yields_expert(integer("tasks")?, integer("yields")?)),
        "yield" => rt.spawn(workloads::yields(integer("tasks")?, integer("yields")?)),
        other => return Err(UsageError(format!("workload {other} has no function"))),
    };
    Ok(rt.block_on(task).expect("the root task ended without a value"))
}

/// How many items one repetition does; the runner states the same definition a second time and compares.
fn items(request: &Request) -> Result<u64, UsageError> {
    let integer = |name| request.integer(name);
    Ok(match request.workload.as_str() {
        "cachecalc" => integer("rounds")? * integer("tasks")?,
        "cachecalc_sharded" => integer("shards")? * integer("rounds")? * integer("tasks")?,
        "accept_churn" => integer("connections")?,
        "call_overhead" => integer("calls")?,
        "dispatcher" => integer("count")?,
        "echo" => integer("rounds")?,
        "echo_many" | "echo_pool" => integer("requests")?,
        "file_read" => integer("reads")?,
        "io_socket" => {
            let connections = integer("connections")?;
            integer("requests")?.checked_div(connections).unwrap_or_default() * connections
        }
        "channel_mpmc" => integer("count")? / integer("producers")? * integer("producers")?,
        "fairness" => integer("jobs")?,
        "fib" => limits::fib_calls(integer("n")?),
        "fib_tasks" => integer("tasks")?,
        "fork_pool" => integer("count")? / request.threads * request.threads,
        "matmul" => (integer("n")? / 32).pow(3),
        "inject" => integer("count")? / integer("producers")? * integer("producers")?,
        "mpsc_batches" => integer("batches")? * integer("batch")?,
        "mutex_handoff" => integer("tasks")? * integer("locks")?,
        "nqueens" => limits::nqueens_boards(integer("n")?)?,
        "outside_wake" => integer("requests")?,
        "oversubscribed" => match request.choice("idiom", &CROWDS)? {
            Crowd::Channel => integer("count")? / SENDERS * SENDERS,
            Crowd::Fork => integer("count")?,
        },
        "partition_receiver" => integer("batches")?,
        "pipeline" => integer("concurrency")? * integer("items")?,
        "record_path" | "stream_scenarios" => integer("records")?,
        "skynet" => (0..=integer("depth")?).map(|level| 10u64.pow(level as u32)).sum(),
        "suspend_chain" => integer("chains")? * integer("depth")? * integer("values")?,
        "unbalanced" => Tree::of(request)?.nodes,
        "yield" => integer("tasks")? * integer("yields")?,
        _ => integer("count")?,
    })
}

fn run(request: &Request) -> Result<Value, Box<dyn std::error::Error>> {
    let Some((_, _, ability)) = WORKLOADS.iter().find(|(name, ..)| *name == request.workload) else {
        let allowed: Vec<&str> = WORKLOADS.iter().map(|(name, ..)| *name).collect();
        let message = format!("unknown workload {}; allowed: {}", request.workload, allowed.join(", "));
        return Err(UsageError(message).into());
    };
    if let Unsupported(reason) = ability {
        return Ok(json!({"unsupported": reason}));
    }
    if let Some(reason) = limits::out_of_memory(request)? {
        return Ok(json!({"unsupported": reason}));
    }
    if let Some(reason) = unsupported(request)? {
        return Ok(json!({"unsupported": reason}));
    }
    if request.expert && expert_note(&request.workload).is_none() {
        return Err(UsageError(format!("{} has no dress expert", request.workload)).into());
    }
    if request.kanal && !KANAL.contains(&request.workload.as_str()) {
        return Err(UsageError(format!("{} has no dress kanal", request.workload)).into());
    }
    if request.debug && request.workload != DEBUG {
        return Err(UsageError(format!("{} has no dress debug", request.workload)).into());
    }
    if request.debug && !cfg!(debug_assertions) {
        return Err(go_on_as("../debug/lab_tokio"));
    }
    if request.workload == "outside_wake" {
        outside::stay_on(request.integer("cpus")?)?;
    }
    if is_io(&request.workload) {
        return run_io(request);
    }
    let rt = runtime(request)?;
    // Where memory is measured, a pass before would leave its own.
    let cold = matches!(request.workload.as_str(), "idle_tasks" | "memory_after");
    measure(request, if cold { (0, 0) } else { (request.warmup, request.least_ms) }, || Ok(repetition(&rt, request)?))
}

#[cfg(feature = "io")]
fn run_io(request: &Request) -> Result<Value, Box<dyn std::error::Error>> {
    if let Some(reason) = io::unsupported(request)? {
        return Ok(json!({"unsupported": reason}));
    }
    let rt = runtime(request)?;
    let mut kept = io::Kept::new(&rt, request)?;
    let mut said = measure(request, (request.warmup, request.least_ms), || kept.pass(&rt, request))?;
    if let Some(figures) = kept.figures() {
        said["figures"] = json!(figures);
    }
    Ok(said)
}

/// Never compiled into one binary with the others: with the I/O driver in it they are dearer. Goes on as that other
/// binary.
#[cfg(not(feature = "io"))]
fn run_io(_request: &Request) -> Result<Value, Box<dyn std::error::Error>> {
    Err(go_on_as("../io/release/lab_tokio"))
}

/// Another build of this adapter, beside this one. Returns only why it could not.
fn go_on_as(other: &str) -> Box<dyn std::error::Error> {
    use std::os::unix::process::CommandExt;
    match std::env::current_exe() {
        Ok(this) => {
            let other = this.with_file_name(other);
            let error = std::process::Command::new(&other).args(std::env::args_os().skip(1)).exec();
            format!("cannot start {}: {error}", other.display()).into()
        }
        Err(error) => error.into(),
    }
}

/// The warm-ups, and then as many passes as are asked for: what a run prints.
fn measure(
    request: &Request,
    (warmup, least_ms): (u64, u64),
    mut pass: impl FnMut() -> Result<Measured, Box<dyn std::error::Error>>,
) -> Result<Value, Box<dyn std::error::Error>> {
    for _ in 0..warmup {
        pass()?;
    }
    latencies::clear();
    let mut sums = pass()?;
    let mut answer = sums.answer.to_string();
    let mut passes = 1;
    while sums.elapsed_ns < least_ms * 1_000_000 {
        let next = pass()?;
        passes += 1;
        if next.answer != sums.answer && !answer.contains("then") {
            answer = format!("{answer}, then {} in pass {passes}", next.answer);
        }
        sums.add(next);
    }
    let mut said = json!({
        "answer": answer,
        "wall_ns": sums.wall_ns,
        "cpu_ns": sums.cpu_ns,
        "passes": passes,
        "peak_rss_bytes": peak_rss_bytes(),
        "allocator": ALLOCATOR,
        "malloc": malloc_name(),
        "items_done": items(request)? * passes,
    });
    let figures = sums.all_figures();
    if !figures.is_empty() {
        said["figures"] = json!(figures);
    }
    if let Some(figures) = latencies::figures() {
        said["figures"] = figures;
    }
    Ok(said)
}

/// What a burst leaves, at once and after the runtime was idle.
fn memory_after(rt: &Runtime, count: u64, idle: Duration) -> Measured {
    let before = rss_bytes();
    let kept = || rss_bytes().saturating_sub(before) as f64;
    let measured = rt.block_on(rt.spawn(workloads::spawn_join(count))).expect("the root task ended without a value");
    let measured = measured.figure("kept_bytes", kept());
    std::thread::sleep(idle);
    measured.figure("kept_when_idle_bytes", kept())
}

fn main() -> ExitCode {
    #[cfg(feature = "io")]
    if let Some(status) = io::served(std::env::args()) {
        return status;
    }
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
