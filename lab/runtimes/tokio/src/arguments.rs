//! The command line of an adapter: `describe`, or `run` with one workload and its parameters.

use std::fmt;

use serde_json::{Map, Value};

pub const USAGE: &str = "usage: lab_tokio describe --runtime tokio|tokio_ct\n       \
                         lab_tokio run --runtime tokio|tokio_ct --workload W --params JSON --threads N\n       \
                         \x20   [--warmup K] [--least-ms M] [--dress plain|expert|kanal|debug]";

/// More threads than this are refused: each is a stack, and a slip of the finger would take the machine down.
const MOST_THREADS: u64 = 1024;

#[derive(Debug)]
pub struct UsageError(pub String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{USAGE}", self.0)
    }
}

impl std::error::Error for UsageError {}

#[derive(Clone, Copy)]
pub enum Flavor {
    MultiThread,
    CurrentThread,
}

impl Flavor {
    pub fn name(self) -> &'static str {
        match self {
            Self::MultiThread => "tokio",
            Self::CurrentThread => "tokio_ct",
        }
    }
}

pub struct Request {
    pub flavor: Flavor,
    pub workload: String,
    pub threads: u64,
    pub warmup: u64,
    /// The work is done again until its timed parts together are as long as this.
    pub least_ms: u64,
    /// As Tokio's experts would write it, in place of as its users do.
    pub expert: bool,
    /// As an expert would on the channels of the crate kanal.
    pub kanal: bool,
    /// In a debug build.
    pub debug: bool,
    params: Map<String, Value>,
}

impl Request {
    pub fn integer(&self, name: &str) -> Result<u64, UsageError> {
        let value = self.params.get(name).and_then(Value::as_u64);
        value.ok_or_else(|| UsageError(format!("--params needs the non-negative integer {name}")))
    }

    /// The threads of the runtime: where the workload chooses them itself its parameter workers.
    pub fn workers(&self) -> Result<u64, UsageError> {
        if !matches!(self.workload.as_str(), "outside_wake" | "oversubscribed") {
            return Ok(self.threads);
        }
        let workers = self.integer("workers")?;
        if !(1..=MOST_THREADS).contains(&workers) {
            return Err(UsageError(format!("workers = {workers} is not from 1 to {MOST_THREADS}")));
        }
        Ok(workers)
    }

    pub fn choice<T: Copy>(&self, name: &str, allowed: &[(&str, T)]) -> Result<T, UsageError> {
        let text = self.params.get(name).and_then(Value::as_str).unwrap_or_default();
        let found = allowed.iter().find(|(word, _)| *word == text);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let words: Vec<&str> = allowed.iter().map(|(word, _)| *word).collect();
            UsageError(format!("--params needs {name}, one of: {}", words.join(", ")))
        })
    }
}

pub enum Command {
    Help,
    Describe(Flavor),
    Run(Request),
}

pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Command, UsageError> {
    let mut command = None;
    let mut flavor = None;
    let mut workload = None;
    let mut params = None;
    let mut threads = None;
    let mut warmup = 1;
    let mut least_ms = 0;
    let (mut expert, mut kanal, mut debug) = (false, false, false);
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| UsageError(format!("{argument} needs a value")));
        match argument.as_str() {
            "-h" | "--help" => return Ok(Command::Help),
            "describe" | "run" if command.is_none() => command = Some(argument),
            "--runtime" => flavor = Some(parse_flavor(&value()?)?),
            "--workload" => workload = Some(value()?),
            "--params" => params = Some(parse_params(&value()?)?),
            "--threads" => threads = Some(parse_threads(&value()?)?),
            "--warmup" => warmup = parse_number(&value()?, 0)?,
            "--least-ms" => least_ms = parse_number(&value()?, 0)?,
            "--dress" => (expert, kanal, debug) = parse_dress(&value()?)?,
            _ => return Err(UsageError(format!("unknown argument {argument}"))),
        }
    }
    let flavor = flavor.ok_or_else(|| UsageError("--runtime is required".into()))?;
    match command.as_deref() {
        Some("describe") => Ok(Command::Describe(flavor)),
        Some(_) => Ok(Command::Run(Request {
            flavor,
            workload: workload.ok_or_else(|| UsageError("--workload is required".into()))?,
            params: params.ok_or_else(|| UsageError("--params is required".into()))?,
            threads: threads.ok_or_else(|| UsageError("--threads is required".into()))?,
            warmup,
            least_ms,
            expert,
            kanal,
            debug,
        })),
        None => Err(UsageError("a command is required".into())),
    }
}

fn parse_flavor(name: &str) -> Result<Flavor, UsageError> {
    match name {
        "tokio" => Ok(Flavor::MultiThread),
        "tokio_ct" => Ok(Flavor::CurrentThread),
        _ => Err(UsageError(format!("unknown runtime {name}; allowed: tokio, tokio_ct"))),
    }
}

fn parse_params(text: &str) -> Result<Map<String, Value>, UsageError> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        _ => Err(UsageError(format!("--params is not a JSON object: {text}"))),
    }
}

/// Whether it is the expert's, the one of kanal, or the debug build's.
fn parse_dress(name: &str) -> Result<(bool, bool, bool), UsageError> {
    match name {
        "plain" => Ok((false, false, false)),
        "expert" => Ok((true, false, false)),
        "kanal" => Ok((false, true, false)),
        "debug" => Ok((false, false, true)),
        _ => Err(UsageError(format!("unknown dress {name}; allowed: plain, expert, kanal, debug"))),
    }
}

fn parse_threads(text: &str) -> Result<u64, UsageError> {
    let threads = parse_number(text, 1)?;
    if threads > MOST_THREADS {
        return Err(UsageError(format!("{threads} threads are more than {MOST_THREADS}")));
    }
    Ok(threads)
}

fn parse_number(text: &str, least: u64) -> Result<u64, UsageError> {
    let number = text.parse().ok().filter(|number| *number >= least);
    number.ok_or_else(|| UsageError(format!("{text} is not a number of at least {least}")))
}
