//! Batches and records on their way: a coordinator, partitions and their receivers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{mpsc, Mutex};
use tokio::task::{spawn, yield_now};
use tokio::time::sleep;

use crate::channels::OrderedSum;
use crate::latencies;
use crate::measure::{Measured, Stopwatch};
use crate::workloads::{join, sum_of, YieldByWake};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Receiver {
    Yields,
    Polls,
    Parks,
}

/// The numbers of a request for partition_receiver.
#[derive(Clone, Copy)]
pub struct Partition {
    pub receiver: Receiver,
    pub batches: u64,
    pub yields: u64,
    pub gap: Duration,
}

struct Dispatched {
    number: u64,
    sent: Instant,
}

async fn pause(work: Partition) {
    if work.gap.is_zero() {
        yield_now().await;
    } else {
        sleep(work.gap).await;
    }
}

async fn dispatch(to: mpsc::UnboundedSender<Dispatched>, work: Partition) {
    for number in 1..=work.batches {
        pause(work).await;
        to.send(Dispatched { number, sent: Instant::now() }).ok().expect("the receiver is gone before the end");
    }
}

/// The next batch, by the idiom of the receiver.
async fn next(from: &mut mpsc::UnboundedReceiver<Dispatched>, work: Partition) -> Option<Dispatched> {
    if work.receiver != Receiver::Polls {
        return from.recv().await;
    }
    loop {
        match from.try_recv() {
            Ok(batch) => return Some(batch),
            Err(TryRecvError::Empty) => yield_now().await,
            Err(TryRecvError::Disconnected) => return None,
        }
    }
}

/// What a receiver has at its end: the answer, and how long each batch was on its way.
type Received = (u64, Vec<u64>);

async fn receive(mut from: mpsc::UnboundedReceiver<Dispatched>, work: Partition) -> Received {
    let mut sum = OrderedSum::default();
    let mut waits = Vec::with_capacity(work.batches as usize);
    while let Some(batch) = next(&mut from, work).await {
        waits.push(batch.sent.elapsed().as_nanos() as u64);
        for _ in 0..work.yields {
            yield_now().await;
        }
        sum.add(batch.number);
    }
    (sum.sum, waits)
}

/// All that wait are received at once, and a yield is the task's own wake.
async fn receive_many(mut from: mpsc::UnboundedReceiver<Dispatched>, work: Partition) -> Received {
    let mut sum = OrderedSum::default();
    let mut waits = Vec::with_capacity(work.batches as usize);
    let mut batches = Vec::with_capacity(MOST_BATCHES_WAITING);
    loop {
        while work.receiver == Receiver::Polls && from.is_empty() && !from.is_closed() {
            YieldByWake::default().await;
        }
        if from.recv_many(&mut batches, MOST_BATCHES_WAITING).await == 0 {
            return (sum.sum, waits);
        }
        waits.extend(batches.iter().map(|batch| batch.sent.elapsed().as_nanos() as u64));
        for batch in batches.drain(..) {
            for _ in 0..work.yields {
                YieldByWake::default().await;
            }
            sum.add(batch.number);
        }
    }
}

pub async fn partition_receiver(work: Partition, expert: bool) -> Measured {
    let watch = Stopwatch::start();
    let (to, from) = mpsc::unbounded_channel();
    let coordinator = spawn(dispatch(to, work));
    let receiver = if expert { spawn(receive_many(from, work)) } else { spawn(receive(from, work)) };
    join(coordinator).await;
    let (sum, waits) = join(receiver).await;
    let measured = watch.stop();
    latencies::record(&waits);
    measured.answer(sum)
}

/// The next batch through the crate kanal, by the idiom of the receiver.
async fn next_through_kanal(from: &kanal::AsyncReceiver<Dispatched>, work: Partition) -> Option<Dispatched> {
    while work.receiver == Receiver::Polls {
        match from.try_recv() {
            Ok(Some(batch)) => return Some(batch),
            Ok(None) => YieldByWake::default().await,
            Err(_) => return None,
        }
    }
    from.recv().await.ok()
}

pub async fn partition_receiver_through_kanal(work: Partition) -> Measured {
    let watch = Stopwatch::start();
    let (to, from) = kanal::unbounded_async();
    let coordinator = spawn(async move {
        for number in 1..=work.batches {
            pause(work).await;
            let batch = Dispatched { number, sent: Instant::now() };
            to.send(batch).await.ok().expect("the receiver is gone before the end");
        }
    });
    let receiver = spawn(async move {
        let mut sum = OrderedSum::default();
        let mut waits = Vec::with_capacity(work.batches as usize);
        while let Some(batch) = next_through_kanal(&from, work).await {
            waits.push(batch.sent.elapsed().as_nanos() as u64);
            for _ in 0..work.yields {
                YieldByWake::default().await;
            }
            sum.add(batch.number);
        }
        (sum.sum, waits)
    });
    join(coordinator).await;
    let (sum, waits) = join(receiver).await;
    let measured = watch.stop();
    latencies::record(&waits);
    measured.answer(sum)
}

/// The numbers of a request for record_path.
#[derive(Clone, Copy)]
pub struct Work {
    pub records: u64,
    pub batch: u64,
    pub partitions: u64,
    pub steps: u64,
}

pub type Batch = Vec<u64>;

impl Work {
    pub fn batches(self) -> u64 {
        self.records.div_ceil(self.batch)
    }

    /// What the reader gives as number `index`, counted from 0.
    pub fn read(self, index: u64) -> Batch {
        let first = index * self.batch;
        (first + 1..=(first + self.batch).min(self.records)).collect()
    }
}

/// By FNV-1a over the bytes of a record's number, or of its key.
pub fn partition_of(key: u64, partitions: u64) -> usize {
    let hash = key
        .to_le_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    (hash % partitions) as usize
}

/// What makes a result of each record, some 5 us for 4 000 steps.
pub struct Engine {
    steps: u64,
    pub sum: u64,
}

impl Engine {
    pub fn new(work: Work) -> Self {
        Self { steps: work.steps, sum: 0 }
    }

    pub fn process(&mut self, record: u64) {
        let mut value = record;
        for _ in 0..self.steps {
            value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            value ^= value >> 29;
        }
        self.sum = self.sum.wrapping_add(value);
    }
}

pub async fn plain(work: Work) -> Measured {
    let watch = Stopwatch::start();
    let mut engine = Engine::new(work);
    for index in 0..work.batches() {
        for record in work.read(index) {
            engine.process(record);
        }
    }
    watch.stop().answer(engine.sum)
}

/// Batches that a receiver has not begun with hold their reader up.
pub const MOST_BATCHES_WAITING: usize = 16;

async fn process_own(mut from: mpsc::Receiver<Batch>, work: Work) -> u64 {
    let mut engine = Engine::new(work);
    while let Some(batch) = from.recv().await {
        for record in batch {
            engine.process(record);
        }
    }
    engine.sum
}

async fn process_shared(mut from: mpsc::Receiver<Batch>, shared: Arc<Mutex<Engine>>) -> u64 {
    while let Some(batch) = from.recv().await {
        for record in batch {
            shared.lock().await.process(record);
        }
    }
    0
}

async fn route(to: Vec<mpsc::Sender<Batch>>, work: Work) {
    for index in 0..work.batches() {
        let mut parts = vec![Batch::new(); to.len()];
        for record in work.read(index) {
            parts[partition_of(record, work.partitions)].push(record);
        }
        for (sender, part) in to.iter().zip(parts) {
            if !part.is_empty() {
                sender.send(part).await.expect("a receiver is gone before the end");
            }
        }
    }
}

/// One partition is the direct path.
pub async fn partitions(work: Work, shares: bool) -> Measured {
    let watch = Stopwatch::start();
    let shared = Arc::new(Mutex::new(Engine::new(work)));
    let mut senders = Vec::new();
    let mut receivers = Vec::new();
    for _ in 0..work.partitions {
        let (to, from) = mpsc::channel(MOST_BATCHES_WAITING);
        senders.push(to);
        receivers.push(if shares {
            spawn(process_shared(from, Arc::clone(&shared)))
        } else {
            spawn(process_own(from, work))
        });
    }
    join(spawn(route(senders, work))).await;
    let sum = sum_of(receivers).await;
    let shared = shared.lock().await.sum;
    watch.stop().answer(sum.wrapping_add(shared))
}

async fn process_many(mut from: mpsc::Receiver<Batch>, mut process: impl FnMut(u64)) {
    let mut batches = Vec::with_capacity(MOST_BATCHES_WAITING);
    while from.recv_many(&mut batches, MOST_BATCHES_WAITING).await != 0 {
        batches.drain(..).flatten().for_each(&mut process);
    }
}

async fn process_own_many(from: mpsc::Receiver<Batch>, work: Work) -> u64 {
    let mut engine = Engine::new(work);
    process_many(from, |record| engine.process(record)).await;
    engine.sum
}

/// No task keeps the lock over a wait, so it is the system's.
async fn process_shared_many(from: mpsc::Receiver<Batch>, shared: Arc<std::sync::Mutex<Engine>>) -> u64 {
    process_many(from, |record| shared.lock().expect("a task panicked").process(record)).await;
    0
}

async fn send(to: &mpsc::Sender<Batch>, batch: Batch) {
    to.send(batch).await.expect("a receiver is gone before the end");
}

async fn send_to_one(to: mpsc::Sender<Batch>, work: Work) {
    for index in 0..work.batches() {
        send(&to, work.read(index)).await;
    }
}

/// A partition's records wait until they are a whole batch: so many fewer sends and wakes.
async fn route_whole(to: Vec<mpsc::Sender<Batch>>, work: Work) {
    let room = || Batch::with_capacity(work.batch as usize);
    let mut parts: Vec<Batch> = to.iter().map(|_| room()).collect();
    for record in (0..work.batches()).flat_map(|index| work.read(index)) {
        let partition = partition_of(record, work.partitions);
        parts[partition].push(record);
        if parts[partition].len() as u64 == work.batch {
            send(&to[partition], std::mem::replace(&mut parts[partition], room())).await;
        }
    }
    for (sender, part) in to.iter().zip(parts).filter(|(_, part)| !part.is_empty()) {
        send(sender, part).await;
    }
}

/// One partition is the direct path, which has nothing to route.
pub async fn partitions_expert(work: Work, shares: bool) -> Measured {
    let watch = Stopwatch::start();
    let shared = Arc::new(std::sync::Mutex::new(Engine::new(work)));
    let mut senders = Vec::new();
    let mut receivers = Vec::new();
    for _ in 0..work.partitions {
        let (to, from) = mpsc::channel(MOST_BATCHES_WAITING);
        senders.push(to);
        receivers.push(if shares {
            spawn(process_shared_many(from, Arc::clone(&shared)))
        } else {
            spawn(process_own_many(from, work))
        });
    }
    if work.partitions == 1 {
        send_to_one(senders.remove(0), work).await;
    } else {
        route_whole(senders, work).await;
    }
    let sum = sum_of(receivers).await;
    let shared = shared.lock().expect("a task panicked").sum;
    watch.stop().answer(sum.wrapping_add(shared))
}

/// The expert's way through the crate kanal, which has no recv_many.
pub async fn partitions_through_kanal(work: Work, shares: bool) -> Measured {
    let watch = Stopwatch::start();
    let shared = Arc::new(std::sync::Mutex::new(Engine::new(work)));
    let mut senders = Vec::new();
    let mut receivers = Vec::new();
    for _ in 0..work.partitions {
        let (to, from) = kanal::bounded_async::<Batch>(MOST_BATCHES_WAITING);
        senders.push(to);
        let shared = shares.then(|| Arc::clone(&shared));
        receivers.push(spawn(async move {
            let mut engine = Engine::new(work);
            while let Ok(batch) = from.recv().await {
                for record in batch {
                    match &shared {
                        Some(shared) => shared.lock().expect("a task panicked").process(record),
                        None => engine.process(record),
                    }
                }
            }
            engine.sum
        }));
    }
    join(spawn(async move {
        let room = || Batch::with_capacity(work.batch as usize);
        let mut parts: Vec<Batch> = senders.iter().map(|_| room()).collect();
        for record in (0..work.batches()).flat_map(|index| work.read(index)) {
            let partition = partition_of(record, work.partitions);
            parts[partition].push(record);
            if parts[partition].len() as u64 == work.batch {
                let whole = std::mem::replace(&mut parts[partition], room());
                senders[partition].send(whole).await.expect("a receiver is gone before the end");
            }
        }
        for (sender, part) in senders.iter().zip(parts).filter(|(_, part)| !part.is_empty()) {
            sender.send(part).await.expect("a receiver is gone before the end");
        }
    }))
    .await;
    let sum = sum_of(receivers).await;
    let shared = shared.lock().expect("a task panicked").sum;
    watch.stop().answer(sum.wrapping_add(shared))
}
