//! The command line of an adapter: `describe`, or `run` with one workload and its parameters.

use serde_json::{Map, Value};

pub const USAGE: &str = "usage: lab_rayon describe\n       \
                         lab_rayon run --workload W --params JSON --threads N [--warmup K] [--least-ms M] [--dress plain|expert]";

/// As in all adapters.
const MOST_THREADS: u64 = 1024;

pub struct UsageError(pub String);

pub struct Request {
    pub workload: String,
    pub threads: u64,
    pub expert: bool,
    pub warmup: u64,
    /// The work is done again until its timed parts together are as long as this.
    pub least_ms: u64,
    params: Map<String, Value>,
}

impl Request {
    pub fn integer(&self, name: &str) -> Result<u64, UsageError> {
        let value = self.params.get(name).and_then(Value::as_u64);
        value.ok_or_else(|| UsageError(format!("--params needs the non-negative integer {name}")))
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
    Describe,
    Run(Request),
}

pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Command, UsageError> {
    let (mut command, mut workload, mut params, mut threads) = (None, None, None, None);
    let (mut warmup, mut least_ms, mut expert) = (1, 0, false);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| UsageError(format!("{argument} needs a value")));
        match argument.as_str() {
            "-h" | "--help" => return Ok(Command::Help),
            "describe" | "run" if command.is_none() => command = Some(argument),
            "--workload" => workload = Some(value()?),
            "--params" => params = Some(parse_params(&value()?)?),
            "--threads" => threads = Some(parse_number(&argument, &value()?, 1..=MOST_THREADS)?),
            "--warmup" => warmup = parse_number(&argument, &value()?, 0..=u64::MAX)?,
            "--least-ms" => least_ms = parse_number(&argument, &value()?, 0..=u64::MAX)?,
            "--dress" => match value()?.as_str() {
                "plain" => expert = false,
                "expert" => expert = true,
                other => return Err(UsageError(format!("unknown dress {other}; allowed: plain, expert"))),
            },
            _ => return Err(UsageError(format!("unknown argument {argument}"))),
        }
    }
    let required = |name: &str| UsageError(format!("{name} is required"));
    match command.as_deref() {
        Some("describe") => Ok(Command::Describe),
        Some(_) => Ok(Command::Run(Request {
            workload: workload.ok_or_else(|| required("--workload"))?,
            threads: threads.ok_or_else(|| required("--threads"))?,
            expert,
            warmup,
            least_ms,
            params: params.ok_or_else(|| required("--params"))?,
        })),
        None => Err(required("a command")),
    }
}

fn parse_params(text: &str) -> Result<Map<String, Value>, UsageError> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        _ => Err(UsageError(format!("--params is not a JSON object: {text}"))),
    }
}

fn parse_number(name: &str, text: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64, UsageError> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| UsageError(format!("{name} {text} is not from {} to {}", range.start(), range.end())))
}
