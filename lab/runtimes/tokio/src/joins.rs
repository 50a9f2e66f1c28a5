//! The join of stream_scenarios: a reader for each side, and a task a partition that keeps both sides of its customers.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use tokio::sync::mpsc;
use tokio::task::spawn;

use crate::records::{partition_of, MOST_BATCHES_WAITING};
use crate::scenarios::{add_up, Order, Work, CUSTOMERS};
use crate::workloads::join;

/// How long after an order its customer may pay for it, in seconds.
const PAY_SECONDS: i64 = 1_800;

#[derive(Clone, Copy)]
pub struct Payment {
    number: i64,
    customer: i64,
    time: i64,
}

pub fn payments(count: u64) -> Vec<Payment> {
    (0..count as i64).map(|i| Payment { number: i, customer: i * 7 % CUSTOMERS, time: i }).collect()
}

enum Part {
    Orders(Vec<Order>),
    Payments(Vec<Payment>),
}

/// What may still meet something of the other side.
#[derive(Default)]
struct Customer {
    orders: VecDeque<Order>,
    payments: VecDeque<Payment>,
}

#[derive(Default)]
struct Sides {
    customers: FxHashMap<i64, Customer>,
    /// How far each side has come.
    orders_until: i64,
    payments_until: i64,
}

impl Sides {
    fn order(&mut self, order: Order, rows: &mut Vec<[i64; 3]>) {
        self.orders_until = order.time;
        let customer = self.customers.entry(order.customer).or_default();
        while customer.payments.front().is_some_and(|payment| payment.time < order.time) {
            customer.payments.pop_front();
        }
        let meets = customer.payments.iter().take_while(|payment| payment.time <= order.time + PAY_SECONDS);
        rows.extend(meets.map(|payment| [order.number, payment.number, order.amount]));
        if order.time + PAY_SECONDS >= self.payments_until {
            customer.orders.push_back(order);
        }
    }

    fn payment(&mut self, payment: Payment, rows: &mut Vec<[i64; 3]>) {
        self.payments_until = payment.time;
        let customer = self.customers.entry(payment.customer).or_default();
        while customer.orders.front().is_some_and(|order| order.time + PAY_SECONDS < payment.time) {
            customer.orders.pop_front();
        }
        let meets = customer.orders.iter().take_while(|order| order.time <= payment.time);
        rows.extend(meets.map(|order| [order.number, payment.number, order.amount]));
        if payment.time >= self.orders_until {
            customer.payments.push_back(payment);
        }
    }
}

async fn process(mut from: mpsc::Receiver<Part>, to: mpsc::Sender<Vec<[i64; 3]>>) {
    let mut sides = Sides::default();
    let mut parts = Vec::with_capacity(MOST_BATCHES_WAITING);
    while from.recv_many(&mut parts, MOST_BATCHES_WAITING).await != 0 {
        let mut rows = Vec::new();
        for part in parts.drain(..) {
            match part {
                Part::Orders(orders) => orders.into_iter().for_each(|order| sides.order(order, &mut rows)),
                Part::Payments(payments) => payments.into_iter().for_each(|payment| sides.payment(payment, &mut rows)),
            }
        }
        if !rows.is_empty() {
            to.send(rows).await.expect("the sink is gone before the end");
        }
    }
}

async fn send(to: &mpsc::Sender<Part>, part: Part) {
    to.send(part).await.expect("a partition is gone before the end");
}

/// One side: a partition's items wait until they are a whole batch.
async fn route<Item: Copy>(
    items: Vec<Item>,
    batch: usize,
    customer: impl Fn(&Item) -> i64,
    part: impl Fn(Vec<Item>) -> Part,
    to: Vec<mpsc::Sender<Part>>,
) {
    let room = || Vec::with_capacity(batch);
    let mut parts: Vec<Vec<Item>> = to.iter().map(|_| room()).collect();
    for item in items {
        let partition = partition_of(customer(&item) as u64, to.len() as u64);
        parts[partition].push(item);
        if parts[partition].len() == batch {
            send(&to[partition], part(std::mem::replace(&mut parts[partition], room()))).await;
        }
    }
    for (sender, rest) in to.iter().zip(parts) {
        send(sender, part(rest)).await;
    }
}

pub async fn job(orders: Vec<Order>, payments: Vec<Payment>, work: Work) -> u64 {
    let (to_sink, from_partitions) = mpsc::channel(MOST_BATCHES_WAITING);
    let sink = spawn(add_up(from_partitions));
    let mut senders = Vec::new();
    for _ in 0..work.partitions {
        let (to, from) = mpsc::channel(MOST_BATCHES_WAITING);
        spawn(process(from, to_sink.clone()));
        senders.push(to);
    }
    drop(to_sink);
    let to_all = senders.clone();
    spawn(async move { route(orders, work.batch, |order| order.customer, Part::Orders, to_all).await });
    route(payments, work.batch, |payment| payment.customer, Part::Payments, senders).await;
    join(sink).await
}
