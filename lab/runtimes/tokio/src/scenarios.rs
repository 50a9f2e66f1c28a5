//! stream_scenarios: a reader, a task a partition that owns its state, and a sink, with bounded channels between.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;
use tokio::sync::mpsc;
use tokio::task::spawn;

use crate::joins;
use crate::measure::{Measured, Stopwatch};
use crate::records::{partition_of, MOST_BATCHES_WAITING};
use crate::workloads::join;

pub const CUSTOMERS: i64 = 1_000;
const LEAST_AMOUNT: i64 = 100;
const WINDOW_ROWS: usize = 100;
const WINDOW_SECONDS: i64 = 3_600;

#[derive(Clone, Copy)]
pub enum Scenario {
    Filter,
    Rows,
    Group,
    Tumbling,
    Changes,
    Join,
}

pub const SCENARIOS: [(&str, Scenario); 6] = [
    ("filter", Scenario::Filter),
    ("rows", Scenario::Rows),
    ("group", Scenario::Group),
    ("tumbling", Scenario::Tumbling),
    ("changes", Scenario::Changes),
    ("join", Scenario::Join),
];

/// The numbers of a request.
#[derive(Clone, Copy)]
pub struct Work {
    pub records: u64,
    pub batch: usize,
    pub partitions: u64,
}

#[derive(Clone, Copy)]
pub struct Order {
    pub number: i64,
    pub customer: i64,
    /// In seconds.
    pub time: i64,
    pub amount: i64,
}

fn orders(count: u64) -> Vec<Order> {
    let order = |i: i64| Order { number: i, customer: i % CUSTOMERS, time: i, amount: 150 + i % 100 };
    (0..count as i64).map(order).collect()
}

/// What the rows of an answer are added up to: lab/runtimes/common/nexmark/rows.hpp.
fn hash_of(row: &[i64]) -> u64 {
    row.iter().fold(0x9E37_79B9_7F4A_7C15, |hash, field| {
        let mixed = (hash ^ *field as u64).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed ^ mixed >> 32
    })
}

fn sum_of_hashes<const FIELDS: usize>(rows: &[[i64; FIELDS]]) -> u64 {
    rows.iter().fold(0, |sum, row| sum.wrapping_add(hash_of(row)))
}

/// What a partition does, with state of its own.
trait Step<const FIELDS: usize>: Send + 'static {
    fn take(&mut self, order: &Order, rows: &mut Vec<[i64; FIELDS]>);
    /// No order that is earlier than `now` comes any more.
    fn advance(&mut self, _now: i64, _rows: &mut Vec<[i64; FIELDS]>) {}
}

#[derive(Default)]
struct LastAmounts {
    amounts: VecDeque<i64>,
    sum: i64,
}

impl Step<2> for LastAmounts {
    fn take(&mut self, order: &Order, rows: &mut Vec<[i64; 2]>) {
        if self.amounts.len() == WINDOW_ROWS {
            self.sum -= self.amounts.pop_front().unwrap_or_default();
        }
        self.amounts.push_back(order.amount);
        self.sum += order.amount;
        rows.push([order.number, self.sum]);
    }
}

#[derive(Clone, Copy, Default)]
struct Tally {
    count: i64,
    sum: i64,
}

impl Tally {
    fn add(&mut self, amount: i64) {
        self.count += 1;
        self.sum += amount;
    }
}

#[derive(Default)]
struct Group(FxHashMap<i64, Tally>);

impl Step<3> for Group {
    fn take(&mut self, order: &Order, _rows: &mut Vec<[i64; 3]>) {
        self.0.entry(order.customer).or_default().add(order.amount);
    }

    fn advance(&mut self, now: i64, rows: &mut Vec<[i64; 3]>) {
        if now == i64::MAX {
            rows.extend(self.0.drain().map(|(customer, tally)| [customer, tally.count, tally.sum]));
        }
    }
}

struct Windows {
    /// By their begin.
    open: BTreeMap<i64, FxHashMap<i64, Tally>>,
    with_changes: bool,
}

impl Windows {
    fn new(with_changes: bool) -> Self {
        Self { open: BTreeMap::new(), with_changes }
    }
}

impl Step<4> for Windows {
    fn take(&mut self, order: &Order, rows: &mut Vec<[i64; 4]>) {
        let begin = order.time - order.time % WINDOW_SECONDS;
        let tally = self.open.entry(begin).or_default().entry(order.customer).or_default();
        tally.add(order.amount);
        if self.with_changes {
            rows.push([order.customer, begin, tally.count, tally.sum]);
        }
    }

    fn advance(&mut self, now: i64, rows: &mut Vec<[i64; 4]>) {
        while let Some(first) = self.open.first_entry().filter(|first| *first.key() <= now - WINDOW_SECONDS) {
            let (begin, customers) = first.remove_entry();
            if !self.with_changes {
                rows.extend(customers.iter().map(|(customer, tally)| [*customer, begin, tally.count, tally.sum]));
            }
        }
    }
}

/// What a reader sends to a partition.
struct Part {
    orders: Vec<Order>,
    /// No order of a later part is earlier.
    now: i64,
}

async fn process<const FIELDS: usize>(
    mut from: mpsc::Receiver<Part>,
    mut step: impl Step<FIELDS>,
    to: mpsc::Sender<Vec<[i64; FIELDS]>>,
) {
    let mut parts = Vec::with_capacity(MOST_BATCHES_WAITING);
    while from.recv_many(&mut parts, MOST_BATCHES_WAITING).await != 0 {
        let mut rows = Vec::new();
        for part in parts.drain(..) {
            for order in &part.orders {
                step.take(order, &mut rows);
            }
            step.advance(part.now, &mut rows);
        }
        if !rows.is_empty() {
            to.send(rows).await.expect("the sink is gone before the end");
        }
    }
}

pub async fn add_up<const FIELDS: usize>(mut from: mpsc::Receiver<Vec<[i64; FIELDS]>>) -> u64 {
    let mut batches = Vec::with_capacity(MOST_BATCHES_WAITING);
    let mut sum = 0u64;
    while from.recv_many(&mut batches, MOST_BATCHES_WAITING).await != 0 {
        sum = batches.drain(..).fold(sum, |sum, rows| sum.wrapping_add(sum_of_hashes(&rows)));
    }
    sum
}

async fn send(to: &mpsc::Sender<Part>, orders: Vec<Order>, now: i64) {
    to.send(Part { orders, now }).await.expect("a partition is gone before the end");
}

/// A partition's orders wait until they are a whole batch: so many fewer sends and wakes.
async fn route(orders: &[Order], work: Work, to: Vec<mpsc::Sender<Part>>) {
    let room = || Vec::with_capacity(work.batch);
    let mut parts: Vec<Vec<Order>> = to.iter().map(|_| room()).collect();
    for order in orders {
        let partition = partition_of(order.customer as u64, to.len() as u64);
        parts[partition].push(*order);
        if parts[partition].len() == work.batch {
            send(&to[partition], std::mem::replace(&mut parts[partition], room()), order.time).await;
        }
    }
    for (sender, part) in to.iter().zip(parts) {
        send(sender, part, i64::MAX).await;
    }
}

/// All go through one partition, in order.
async fn pass_on(orders: &[Order], work: Work, to: mpsc::Sender<Part>) {
    for batch in orders.chunks(work.batch) {
        send(&to, batch.to_vec(), batch[batch.len() - 1].time).await;
    }
    send(&to, Vec::new(), i64::MAX).await;
}

async fn job<const FIELDS: usize, S: Step<FIELDS>>(orders: &[Order], work: Work, step: impl Fn() -> S) -> u64 {
    let (to_sink, from_partitions) = mpsc::channel(MOST_BATCHES_WAITING);
    let sink = spawn(add_up(from_partitions));
    let mut senders = Vec::new();
    for _ in 0..work.partitions {
        let (to, from) = mpsc::channel(MOST_BATCHES_WAITING);
        spawn(process(from, step(), to_sink.clone()));
        senders.push(to);
    }
    drop(to_sink);
    if work.partitions == 1 {
        pass_on(orders, work, senders.remove(0)).await;
    } else {
        route(orders, work, senders).await;
    }
    join(sink).await
}

/// A filter keeps nothing and moves nothing: the reader has it, and the sink.
fn filter(orders: &[Order], work: Work) -> u64 {
    let mut rows = Vec::with_capacity(work.batch);
    let mut sum = 0u64;
    for batch in orders.chunks(work.batch) {
        let large = batch.iter().filter(|order| order.amount > LEAST_AMOUNT);
        rows.extend(large.map(|order| [order.number, order.customer, order.amount]));
        sum = sum.wrapping_add(sum_of_hashes(&rows));
        rows.clear();
    }
    sum
}

pub async fn stream_scenarios(what: Scenario, work: Work) -> Measured {
    let orders = orders(work.records);
    let payments = if matches!(what, Scenario::Join) { joins::payments(work.records) } else { Vec::new() };
    let watch = Stopwatch::start();
    let sum = match what {
        Scenario::Filter => filter(&orders, work),
        // One window has all orders, so one partition.
        Scenario::Rows => job(&orders, Work { partitions: 1, ..work }, LastAmounts::default).await,
        Scenario::Group => job(&orders, work, Group::default).await,
        Scenario::Tumbling => job(&orders, work, || Windows::new(false)).await,
        Scenario::Changes => job(&orders, work, || Windows::new(true)).await,
        Scenario::Join => joins::job(orders, payments, work).await,
    };
    watch.stop().answer(sum)
}
