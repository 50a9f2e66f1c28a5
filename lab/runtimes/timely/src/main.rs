//! The lab's adapter for Timely Dataflow: Nexmark on one worker. The protocol is in lab/runtimes/common/README.md.

mod arguments;
mod events;
mod measure;
mod queries;
mod rows;

use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{json, Value};

use arguments::{Command, Request, UsageError};
use events::Event;
use measure::{malloc_name, peak_rss_bytes, Measured, Stopwatch};
use rows::RowSum;

const NEXMARK: &str = "nexmark";

fn describe() -> Value {
    json!({
        "runtime": "timely",
        "version": env!("LAB_TIMELY_VERSION"),
        "compiler": env!("LAB_COMPILER"),
        "flags": env!("LAB_FLAGS"),
        "allocator": "malloc",
        "workloads": {NEXMARK: {
            "supported": true,
            "params": ["query", "events"],
            "note": "one worker, whatever --threads says; a time of the dataflow is a tenth of a second",
        }},
    })
}

macro_rules! queries {
    ($($name:ident),*) => {
        const QUERIES: &[&str] = &[$(stringify!($name)),*];

        fn build<G>(query: &str, events: &timely::dataflow::Stream<G, Event>, rows: RowSum)
        where
            G: timely::dataflow::Scope<Timestamp = u64>,
        {
            match query {
                $(stringify!($name) => queries::$name(events, rows),)*
                _ => unreachable!("the request was checked"),
            }
        }
    };
}

queries!(q0, q1, q2, q3, q4, q5, q7, q8, q11, q13);

fn pass(query: String, events: Arc<Vec<Event>>) -> Measured {
    timely::execute_directly(move |worker| {
        let rows = RowSum::default();
        let watch = Stopwatch::start();
        worker.dataflow(|scope| build(&query, &queries::from_memory(scope, events), rows.clone()));
        while worker.step() {}
        watch.stop(rows.value())
    })
}

/// The warm-ups, and then as many passes as are asked for.
fn run(request: &Request) -> Result<Value, UsageError> {
    if request.workload != NEXMARK {
        return Err(UsageError(format!("unknown workload {}; allowed: {NEXMARK}", request.workload)));
    }
    let query = request.choice("query", QUERIES)?;
    let count = request.integer("events")?;
    let events = Arc::new(events::events(count));
    let next = || pass(query.clone(), events.clone());
    for _ in 0..request.warmup {
        next();
    }
    let mut sums = next();
    let mut answer = sums.answer.to_string();
    let mut passes = 1;
    while sums.wall_ns < request.least_ms * 1_000_000 {
        let other = next();
        passes += 1;
        if other.answer != sums.answer && !answer.contains("then") {
            answer = format!("{answer}, then {} in pass {passes}", other.answer);
        }
        sums.add(&other);
    }
    Ok(json!({
        "answer": answer,
        "wall_ns": sums.wall_ns,
        "cpu_ns": sums.cpu_ns,
        "passes": passes,
        "peak_rss_bytes": peak_rss_bytes(),
        "allocator": "malloc",
        "malloc": malloc_name(),
        "items_done": count * passes,
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
            eprintln!("lab_timely: {message}\n{}", arguments::USAGE);
            ExitCode::from(2)
        }
    }
}
