//! The rows of I/O, which are a build of their own: the feature `io` brings Tokio's I/O driver.

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::{block_in_place, yield_now};

use crate::arguments::{Flavor, Request, UsageError};
use crate::echo::{self, Transport, TRANSPORTS};
use crate::fairness::compute_for;
use crate::limits;
use crate::measure::Measured;
use crate::servers::{Figures, FileWork, SocketWork, UnderLoad};

/// What Tokio or the system cannot do with these parameters, and why.
pub fn unsupported(request: &Request) -> Result<Option<String>, UsageError> {
    Ok(match request.workload.as_str() {
        "echo" if request.choice("transport", &TRANSPORTS)? == Transport::SharedMemory => {
            Some("Tokio has nothing for memory that processes share: the reference is bare".into())
        }
        "echo_many" | "echo_pool" => limits::too_few_descriptors(request.integer("connections")?),
        _ => None,
    })
}

/// What a row keeps over all passes.
pub enum Kept {
    Echo(echo::Session),
    Load(UnderLoad),
    File(FileWork),
    Nothing,
}

/// The options of `lab_load` that are parameters of the workload.
fn load_options(request: &Request, names: &[&str]) -> Result<Vec<String>, UsageError> {
    let mut options = vec!["--warmup".into(), request.warmup.to_string()];
    for name in names {
        options.extend([format!("--{}", name.replace('_', "-")), request.integer(name)?.to_string()]);
    }
    Ok(options)
}

/// A task of the runtime that computes for `step` at a time, until the runtime ends; none where that is 0.
fn compute_beside(rt: &Runtime, step: Duration, says_so: bool) {
    if step.is_zero() {
        return;
    }
    rt.spawn(async move {
        loop {
            if says_so {
                block_in_place(|| compute_for(step));
            } else {
                compute_for(step);
            }
            yield_now().await;
        }
    });
}

impl Kept {
    pub fn new(rt: &Runtime, request: &Request) -> Result<Self, Box<dyn Error>> {
        let load = |churn, names| -> Result<Self, Box<dyn Error>> {
            let connections = if churn { 0 } else { request.integer("connections")? };
            Ok(Self::Load(UnderLoad::new(rt, churn, connections, load_options(request, names)?)?))
        };
        match request.workload.as_str() {
            "accept_churn" => load(true, &["connections", "in_flight"]),
            "echo_many" | "echo_pool" => {
                if request.workload == "echo_pool" {
                    compute_beside(rt, Duration::from_micros(request.integer("compute_us")?), request.expert);
                }
                load(false, &["connections", "requests", "bytes", "rate"])
            }
            "echo" => {
                let transport = request.choice("transport", &TRANSPORTS)?;
                let processes = request.integer("processes")?;
                Ok(Self::Echo(echo::Session::new(rt, transport, request.flavor.name(), processes)?))
            }
            "file_read" => {
                let random = request.choice("pattern", &[("random", true), ("sequential", false)])?;
                let (bytes, mebibytes) = (request.integer("bytes")?, request.integer("file_mib")?);
                if bytes < 8 || bytes % 8 != 0 || mebibytes << 20 < bytes {
                    let message = "--params needs bytes, whole words and not more than the file has";
                    return Err(UsageError(message.into()).into());
                }
                Ok(Self::File(FileWork::new(bytes, mebibytes, request.integer("reads")?, random)?))
            }
            _ => Ok(Self::Nothing),
        }
    }

    pub fn pass(&mut self, rt: &Runtime, request: &Request) -> Result<Measured, Box<dyn Error>> {
        Ok(match self {
            Self::Echo(session) => session.pass(rt, request.integer("rounds")?)?,
            Self::Load(load) => load.pass(rt)?,
            Self::File(work) if request.expert => rt.block_on(rt.spawn(work.clone().by_blocking()))??,
            Self::File(work) => rt.block_on(rt.spawn(work.clone().by_file()))??,
            Self::Nothing => {
                let connections = request.integer("connections")?;
                let work = SocketWork {
                    connections,
                    requests: request.integer("requests")?.checked_div(connections).unwrap_or_default(),
                    request_bytes: request.integer("request_bytes")? as usize,
                    response_bytes: request.integer("response_bytes")? as usize,
                };
                match request.flavor {
                    Flavor::MultiThread => work.on_one(rt)?,
                    Flavor::CurrentThread => work.on_two(rt)?,
                }
            }
        })
    }

    pub fn figures(&self) -> Option<&Figures> {
        match self {
            Self::Load(load) => Some(&load.figures),
            _ => None,
        }
    }
}

fn serve_echo(flavor: &str, transport: &str, who: &str) -> Result<(), Box<dyn Error>> {
    let found = TRANSPORTS.iter().find(|(name, _)| *name == transport);
    let (_, transport) = found.ok_or_else(|| UsageError(format!("unknown transport {transport}")))?;
    let mut builder = if flavor == Flavor::CurrentThread.name() {
        Builder::new_current_thread()
    } else {
        let mut several = Builder::new_multi_thread();
        several.worker_threads(1);
        several
    };
    Ok(echo::serve_alone(&builder.enable_io().build()?, *transport, who)?)
}

/// Where this process is the server of a row of echo with two processes (`lab_tokio serve-echo RUNTIME TRANSPORT WHO`):
/// serves, and returns how that ended.
pub fn served(arguments: impl Iterator<Item = String>) -> Option<ExitCode> {
    let words: Vec<String> = arguments.skip(1).collect();
    let [command, flavor, transport, who] = words.as_slice() else { return None };
    if command != echo::SERVER_COMMAND {
        return None;
    }
    Some(match serve_echo(flavor, transport, who) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lab_tokio: the server: {error}");
            ExitCode::FAILURE
        }
    })
}
