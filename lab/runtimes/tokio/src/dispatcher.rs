//! The programs of the document on Tokio's dispatcher, as its author wrote them.

use std::collections::HashMap;
use std::hint::{black_box, spin_loop};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};
use tokio::task::{spawn, yield_now};
use tokio::time::sleep;

use crate::arguments::{Flavor, Request, UsageError};
use crate::channels::OrderedSum;
use crate::measure::{Measured, Stopwatch};
use crate::records::{Batch, Engine, Work};
use crate::workloads::{join, sum_of};

/// Before each batch the coordinator sleeps as long, and a receiver that sleeps looks again after as long.
const GAP: Duration = Duration::from_micros(100);
const NAP: Duration = Duration::from_micros(10);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Program {
    Spawn,
    Throughput,
    Channel,
    Yields,
    Partition,
    Spins,
    Sleeps,
    Clone,
}

const PROGRAMS: [(&str, Program); 8] = [
    ("spawn", Program::Spawn),
    ("throughput", Program::Throughput),
    ("channel", Program::Channel),
    ("yields", Program::Yields),
    ("partition", Program::Partition),
    ("spins", Program::Spins),
    ("sleeps", Program::Sleeps),
    ("clone", Program::Clone),
];

/// The numbers of a request.
#[derive(Clone, Copy)]
pub struct Dispatched {
    program: Program,
    count: u64,
    /// The records of a batch; in throughput, the tasks between two yields. None: 0.
    batch: u64,
    /// After each record; in partition, after each batch.
    yields: u64,
    records: Work,
}

impl Dispatched {
    pub fn of(request: &Request) -> Result<Self, UsageError> {
        let program = request.choice("program", &PROGRAMS)?;
        let (count, batch) = (request.integer("count")?, request.integer("batch")?);
        if count == 0 || batch == 0 && !matches!(program, Program::Spawn | Program::Clone) {
            return Err(UsageError("count and batch of dispatcher are at least 1".into()));
        }
        let records = Work { records: count, batch, partitions: 1, steps: request.integer("steps")? };
        Ok(Self { program, count, batch, yields: request.integer("yields")?, records })
    }

    /// What one of the two schedulers cannot do, and why.
    pub fn unsupported(&self, request: &Request) -> Option<&'static str> {
        let single = matches!(request.flavor, Flavor::CurrentThread);
        match self.program {
            Program::Spins if single || request.threads < 2 => {
                Some("who spins on the only thread keeps the coordinator from it")
            }
            Program::Clone if !single => Some("no scheduler is in it: tokio_ct has it"),
            _ => None,
        }
    }

    fn yields_after(&self, task: u64) -> bool {
        self.batch != 0 && (task + 1) % self.batch == 0
    }
}

pub async fn run(work: Dispatched) -> Measured {
    match work.program {
        Program::Spawn | Program::Throughput => spawn_and_join(work).await,
        Program::Channel => through_a_channel(work).await,
        Program::Yields => yield_often(work).await,
        Program::Partition | Program::Spins | Program::Sleeps => receive_records(work).await,
        Program::Clone => copies(work.count),
    }
}

fn each(took: Duration, count: u64) -> f64 {
    took.as_nanos() as f64 / count as f64
}

async fn spawn_and_join(work: Dispatched) -> Measured {
    let mut handles = Vec::new();
    let watch = Stopwatch::start();
    let began = Instant::now();
    for i in 0..work.count {
        handles.push(spawn(async move { i }));
        if work.yields_after(i) {
            yield_now().await;
        }
    }
    let spawned = began.elapsed();
    let joins = Instant::now();
    let sum = sum_of(handles).await;
    let joined = joins.elapsed();
    let measured = watch.stop().answer(sum);
    measured.figure("spawn_ns", each(spawned, work.count)).figure("join_ns", each(joined, work.count))
}

async fn through_a_channel(work: Dispatched) -> Measured {
    let (to, mut from) = unbounded_channel::<Vec<u64>>();
    let batches = work.count / work.batch;
    let watch = Stopwatch::start();
    let sender = spawn(async move {
        let began = Instant::now();
        for index in 0..batches {
            to.send(work.records.read(index)).expect("the receiver is gone before the end");
        }
        began.elapsed()
    });
    let receiver = spawn(async move {
        let began = Instant::now();
        let mut sum = OrderedSum::default();
        while let Some(numbers) = from.recv().await {
            sum.add(numbers.iter().sum());
        }
        (began.elapsed(), sum.sum)
    });
    let sent = join(sender).await;
    let (received, sum) = join(receiver).await;
    let measured = watch.stop().answer(sum);
    let ends = measured.figure("send_ns", each(sent, work.count)).figure("receive_ns", each(received, work.count));
    ends.figure("batch_ns", each(sent + received, batches))
}

async fn yield_often(work: Dispatched) -> Measured {
    let watch = Stopwatch::start();
    let mut engine = Engine::new(work.records);
    for index in 0..work.records.batches() {
        for record in work.records.read(index) {
            engine.process(record);
            for _ in 0..work.yields {
                yield_now().await;
            }
        }
    }
    watch.stop().answer(engine.sum)
}

async fn coordinate(to: UnboundedSender<Batch>, work: Work) {
    for index in 0..work.batches() {
        sleep(GAP).await;
        to.send(work.read(index)).expect("the receiver is gone before the end");
    }
}

async fn park(mut from: UnboundedReceiver<Batch>, work: Dispatched) -> u64 {
    let mut engine = Engine::new(work.records);
    while let Some(batch) = from.recv().await {
        batch.into_iter().for_each(|record| engine.process(record));
        for _ in 0..work.yields {
            yield_now().await;
        }
    }
    engine.sum
}

/// Looks into the queue, and while that is empty spins or sleeps.
async fn look(mut from: UnboundedReceiver<Batch>, work: Dispatched) -> u64 {
    let mut engine = Engine::new(work.records);
    let mut received = 0;
    while received < work.records.batches() {
        if let Ok(batch) = from.try_recv() {
            batch.into_iter().for_each(|record| engine.process(record));
            received += 1;
        } else if work.program == Program::Spins {
            spin_loop();
        } else {
            sleep(NAP).await;
        }
    }
    engine.sum
}

async fn receive_records(work: Dispatched) -> Measured {
    let (to, from) = unbounded_channel();
    let watch = Stopwatch::start();
    let coordinator = spawn(coordinate(to, work.records));
    let receiver = if work.program == Program::Partition { spawn(park(from, work)) } else { spawn(look(from, work)) };
    join(coordinator).await;
    let sum = join(receiver).await;
    watch.stop().answer(sum)
}

/// A field's value. A copy is all that is made of most.
#[allow(dead_code)]
#[derive(Clone)]
enum Field {
    Integer(i64),
    Float(f64),
    Text(String),
}

/// A record as the document's program has it: fields and headers by name.
#[allow(dead_code)]
#[derive(Clone)]
struct Record {
    fields: HashMap<String, Field>,
    headers: HashMap<String, String>,
    timestamp: i64,
    offset: i64,
    partition: i32,
}

fn copies(count: u64) -> Measured {
    let fields = [
        ("order_id", Field::Integer(1)),
        ("customer_id", Field::Integer(1)),
        ("date", Field::Text("2026-01-01".into())),
        ("amount", Field::Integer(150)),
    ];
    let record = Record {
        fields: fields.into_iter().map(|(name, value)| (name.to_string(), value)).collect(),
        headers: HashMap::new(),
        timestamp: 0,
        offset: 0,
        partition: 0,
    };
    let watch = Stopwatch::start();
    let mut sum = 0;
    for _ in 0..count {
        let copy = black_box(&record).clone();
        if let Some(Field::Integer(amount)) = copy.fields.get("amount") {
            sum += *amount as u64;
        }
    }
    watch.stop().answer(sum)
}
