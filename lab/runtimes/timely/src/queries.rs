//! Nexmark's queries as dataflows. What is kept by a key is exchanged by it, so that the dataflows are right on any number
//! of workers; a time of theirs is a tenth of a second, and what depends on the order of events waits until its time has
//! passed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use timely::dataflow::channels::pact::{Exchange, Pipeline};
use timely::dataflow::operators::generic::operator::source;
use timely::dataflow::operators::{Filter, FrontierNotificator, Map, Operator};
use timely::dataflow::{Scope, Stream};

use crate::events::{Auction, Bid, Event, Person};
use crate::rows::{Number, RowSum, Text};

const WINDOW: u64 = 10_000;
const STEP: u64 = 2_000;
const GAP: u64 = 10_000;
const PANES: u64 = WINDOW / STEP;
/// Milliseconds of one time of the dataflow.
pub const SLICE: u64 = 100;

fn begin(time: u64) -> u64 {
    time - time % WINDOW
}

/// The last slice before this time, which ends a window.
fn last_slice_before(end: u64) -> u64 {
    end / SLICE - 1
}

/// The events, in order, a slice at a time.
pub fn from_memory<G: Scope<Timestamp = u64>>(scope: &G, events: Arc<Vec<Event>>) -> Stream<G, Event> {
    source(scope, "Memory", |capability, info| {
        let activator = scope.activator_for(&info.address[..]);
        let mut capability = Some(capability);
        let mut next = 0;
        move |output| {
            let Some(first) = events.get(next) else {
                capability = None;
                return;
            };
            let slice = first.time() / SLICE;
            let end = (slice + 1) * SLICE;
            let count = events[next..].iter().take_while(|event| event.time() < end).count();
            let held = capability.as_mut().expect("there are events left");
            held.downgrade(&slice);
            output.session(held).give_iterator(events[next..next + count].iter().copied());
            next += count;
            activator.activate();
        }
    })
}

pub trait Kinds<G: Scope<Timestamp = u64>> {
    fn bids(&self) -> Stream<G, Bid>;
    fn auctions(&self) -> Stream<G, Auction>;
    fn people(&self) -> Stream<G, Person>;
}

impl<G: Scope<Timestamp = u64>> Kinds<G> for Stream<G, Event> {
    fn bids(&self) -> Stream<G, Bid> {
        self.flat_map(|event| if let Event::Bid(bid) = event { Some(bid) } else { None })
    }

    fn auctions(&self) -> Stream<G, Auction> {
        self.flat_map(|event| if let Event::Auction(auction) = event { Some(auction) } else { None })
    }

    fn people(&self) -> Stream<G, Person> {
        self.flat_map(|event| if let Event::Person(person) = event { Some(person) } else { None })
    }
}

/// Each result goes to `row`.
fn sink<G: Scope<Timestamp = u64>, D: timely::Data>(stream: &Stream<G, D>, mut row: impl FnMut(&D) + 'static) {
    let mut buffer = Vec::new();
    stream.sink(Pipeline, "Rows", move |input| {
        while let Some((_, data)) = input.next() {
            data.swap(&mut buffer);
            buffer.drain(..).for_each(|result| row(&result));
        }
    });
}

pub fn q0<G: Scope<Timestamp = u64>>(events: &Stream<G, Event>, rows: RowSum) {
    sink(&events.bids(), move |b| {
        rows.add(&[Number(b.auction), Number(b.bidder), Number(b.price), Number(b.time), Number(b.extra_size)])
    });
}

pub fn q1<G: Scope<Timestamp = u64>>(events: &Stream<G, Event>, rows: RowSum) {
    sink(&events.bids().map(|bid| Bid { price: bid.price * 908, ..bid }), move |b| {
        rows.add(&[Number(b.auction), Number(b.bidder), Number(b.price), Number(b.time), Number(b.extra_size)])
    });
}

pub fn q2<G: Scope<Timestamp = u64>>(events: &Stream<G, Event>, rows: RowSum) {
    sink(&events.bids().filter(|bid| bid.auction % 123 == 0), move |b| rows.add(&[Number(b.auction), Number(b.price)]));
}

pub fn q3<G: Scope<Timestamp = u64>>(events: &Stream<G, Event>, rows: RowSum) {
    let auctions = events.auctions().filter(|auction| auction.category == 10);
    let people = events.people();
    let mut known: FxHashMap<u64, Option<Person>> = FxHashMap::default();
    let mut waiting: FxHashMap<u64, Vec<u64>> = FxHashMap::default();
    let (by_seller, by_id) = (Exchange::new(|a: &Auction| a.seller), Exchange::new(|p: &Person| p.id));
    let found = auctions.binary(&people, by_seller, by_id, "Sellers", |_, _| {
        let (mut of_auctions, mut of_people) = (Vec::new(), Vec::new());
        move |auctions, people, output| {
            while let Some((time, data)) = people.next() {
                data.swap(&mut of_people);
                let mut session = output.session(&time);
                for person in of_people.drain(..) {
                    let wanted = matches!(person.state(), "OR" | "ID" | "CA");
                    known.insert(person.id, wanted.then_some(person));
                    let auctions = waiting.remove(&person.id).unwrap_or_default();
                    if wanted {
                        session.give_iterator(auctions.into_iter().map(|auction| (person, auction)));
                    }
                }
            }
            while let Some((time, data)) = auctions.next() {
                data.swap(&mut of_auctions);
                let mut session = output.session(&time);
                for auction in of_auctions.drain(..) {
                    match known.get(&auction.seller) {
                        Some(Some(person)) => session.give((*person, auction.id)),
                        Some(None) => {}
                        None => waiting.entry(auction.seller).or_default().push(auction.id),
                    }
                }
            }
        }
    });
    sink(&found, move |(person, auction)| {
        rows.add(&[Text(&person.name()), Text(person.city()), Text(person.state()), Number(*auction)])
    });
}

/// The category and the highest bid of each auction that had one, once it has expired.
fn closed_auctions<G: Scope<Timestamp = u64>>(events: &Stream<G, Event>) -> Stream<G, (u64, u64)> {
    let (by_id, by_auction) = (Exchange::new(|a: &Auction| a.id), Exchange::new(|b: &Bid| b.auction));
    events.auctions().binary_frontier(&events.bids(), by_id, by_auction, "Close", |_, _| {
        let mut notificator = FrontierNotificator::new();
        let (mut of_auctions, mut of_bids) = (Vec::new(), Vec::new());
        // By slice: an auction and its bids come through different inputs.
        let mut auctions_of: FxHashMap<u64, Vec<Auction>> = FxHashMap::default();
        let mut bids_of: FxHashMap<u64, Vec<Bid>> = FxHashMap::default();
        let mut open: FxHashMap<u64, (Auction, u64)> = FxHashMap::default();
        let mut expiries = BinaryHeap::new();
        move |auctions, bids, output| {
            while let Some((time, data)) = auctions.next() {
                data.swap(&mut of_auctions);
                let slice = *time.time();
                let of = auctions_of.entry(slice).or_insert_with(|| {
                    notificator.notify_at(time.delayed(&slice));
                    Vec::new()
                });
                of.append(&mut of_auctions);
            }
            while let Some((time, data)) = bids.next() {
                data.swap(&mut of_bids);
                let slice = *time.time();
                let of = bids_of.entry(slice).or_insert_with(|| {
                    notificator.notify_at(time.delayed(&slice));
                    Vec::new()
                });
                of.append(&mut of_bids);
            }
            notificator.for_each(&[auctions.frontier(), bids.frontier()], |time, notificator| {
                let slice = *time.time();
                for auction in auctions_of.remove(&slice).unwrap_or_default() {
                    open.insert(auction.id, (auction, 0));
                    let last = (auction.expires / SLICE).max(slice);
                    expiries.push(Reverse((last, auction.id)));
                    if last > slice {
                        notificator.notify_at(time.delayed(&last));
                    }
                }
                for bid in bids_of.remove(&slice).unwrap_or_default() {
                    if let Some((auction, highest)) = open.get_mut(&bid.auction) {
                        if (auction.time..=auction.expires).contains(&bid.time) {
                            *highest = bid.price.max(*highest);
                        }
                    }
                }
                let mut session = output.session(&time);
                while matches!(expiries.peek(), Some(Reverse((last, _))) if *last <= slice) {
                    let Reverse((_, id)) = expiries.pop().expect("just seen");
                    let (auction, highest) = open.remove(&id).expect("an auction expires once");
                    if highest > 0 {
                        session.give((auction.category, highest));
                    }
                }
            });
        }
    })
}

pub fn q4<G: Scope<Timestamp = u64>>(events: &Stream<G, Event>, rows: RowSum) {
    let by_category = Exchange::new(|closed: &(u64, u64)| closed.0);
    let means = closed_auctions(events).unary_frontier(by_category, "Mean", |capability, _| {
        let mut capability = Some(capability);
        let mut buffer = Vec::new();
        let mut sums: FxHashMap<u64, (u64, u64)> = FxHashMap::default();
        move |input, output| {
            while let Some((_, data)) = input.next() {
                data.swap(&mut buffer);
                for (category, price) in buffer.drain(..) {
                    let (sum, count) = sums.entry(category).or_default();
                    *sum += price;
                    *count += 1;
                }
            }
            if input.frontier().is_empty() {
                if let Some(end) = capability.take() {
                    output
                        .session(&end)
                        .give_iterator(sums.drain().map(|(category, (sum, count))| (category, sum / count)));
                }
            }
        }
    });
    sink(&means, move |(category, mean)| rows.add(&[Number(*category), Number(*mean)]));
}

/// Of each window those with the most: first of each worker, then of all.
fn most<G: Scope<Timestamp = u64>, D: timely::ExchangeData>(
    stream: &Stream<G, (u64, u64, D)>,
    name: &str,
) -> Stream<G, (u64, u64, D)> {
    let by_window = Exchange::new(|each: &(u64, u64, D)| each.0);
    stream.unary_frontier(by_window, name, |_, _| {
        let mut notificator = FrontierNotificator::new();
        let mut buffer = Vec::new();
        let mut windows: FxHashMap<u64, Vec<(u64, u64, D)>> = FxHashMap::default();
        move |input, output| {
            while let Some((time, data)) = input.next() {
                data.swap(&mut buffer);
                for (window, value, what) in buffer.drain(..) {
                    let best = windows.entry(window).or_default();
                    let known = best.first().map_or(0, |(_, most, _)| *most);
                    if value > known {
                        best.clear();
                    }
                    if value >= known {
                        best.push((window, value, what));
                    }
                }
                notificator.notify_at(time.retain());
            }
            notificator.for_each(&[input.frontier()], |time, _| {
                // All results of a window have the time of its end.
                let mut session = output.session(&time);
                let ended: Vec<u64> =
                    windows.keys().copied().filter(|window| last_slice_before(*window) <= *time.time()).collect();
                for window in ended {
                    session.give_iterator(windows.remove(&window).expect("just seen").into_iter());
                }
            });
        }
    })
}

pub fn q5<G: Scope<Timestamp = u64>>(events: &Stream<G, Event>, rows: RowSum) {
    let by_auction = Exchange::new(|(auction, _): &(u64, u64)| *auction);
    // An auction and the pane that it is counted in are all that goes on.
    let counted = events.bids().map(|bid| (bid.auction, bid.time / STEP));
    let local = counted.unary_frontier(by_auction, "Count", |_, _| {
        let mut notificator = FrontierNotificator::new();
        let mut buffer = Vec::new();
        let mut panes: FxHashMap<u64, FxHashMap<u64, u64>> = FxHashMap::default();
        let mut sums: FxHashMap<u64, u64> = FxHashMap::default();
        move |input, output| {
            while let Some((time, data)) = input.next() {
                data.swap(&mut buffer);
                for (auction, pane) in buffer.drain(..) {
                    let counts = panes.entry(pane).or_insert_with(|| {
                        // The windows that it is a part of.
                        for ahead in 1..=PANES {
                            let end = last_slice_before((pane + ahead) * STEP);
                            notificator.notify_at(time.delayed(&end));
                        }
                        FxHashMap::default()
                    });
                    *counts.entry(auction).or_default() += 1;
                }
            }
            notificator.for_each(&[input.frontier()], |time, _| {
                let end = (*time.time() + 1) * SLICE;
                let last = end / STEP;
                sums.clear();
                for pane in last - PANES..last {
                    for (auction, count) in panes.get(&pane).into_iter().flatten() {
                        *sums.entry(*auction).or_default() += count;
                    }
                }
                panes.remove(&(last - PANES));
                let highest = sums.values().copied().max().unwrap_or(0);
                let best = sums.iter().filter(|(_, count)| **count == highest);
                output.session(&time).give_iterator(best.map(|(auction, count)| (end, *count, *auction)));
            });
        }
    });
    sink(&most(&local, "Most"), move |(end, count, auction)| {
        rows.add(&[Number(*end), Number(*auction), Number(*count)])
    });
}

pub fn q7<G: Scope<Timestamp = u64>>(events: &Stream<G, Event>, rows: RowSum) {
    let local = events.bids().unary_frontier(Pipeline, "Highest", |_, _| {
        let mut notificator = FrontierNotificator::new();
        let mut buffer: Vec<Bid> = Vec::new();
        let mut windows: FxHashMap<u64, Vec<Bid>> = FxHashMap::default();
        move |input, output| {
            while let Some((time, data)) = input.next() {
                data.swap(&mut buffer);
                for bid in buffer.drain(..) {
                    let end = begin(bid.time) + WINDOW;
                    let best = windows.entry(end).or_insert_with(|| {
                        notificator.notify_at(time.delayed(&last_slice_before(end)));
                        Vec::new()
                    });
                    let known = best.first().map_or(0, |first| first.price);
                    if bid.price > known {
                        best.clear();
                    }
                    if bid.price >= known {
                        best.push(bid);
                    }
                }
            }
            notificator.for_each(&[input.frontier()], |time, _| {
                let end = (*time.time() + 1) * SLICE;
                let best = windows.remove(&end).unwrap_or_default();
                let results = best.into_iter().map(|b| (end, b.price, (b.auction, b.bidder, b.time, b.extra_size)));
                output.session(&time).give_iterator(results);
            });
        }
    });
    sink(&most(&local, "Highest of all"), move |(_, price, (auction, bidder, time, extra_size))| {
        rows.add(&[Number(*auction), Number(*price), Number(*bidder), Number(*time), Number(*extra_size)])
    });
}

#[derive(Default)]
struct Newcomers {
    people: FxHashMap<u64, Person>,
    sellers: FxHashSet<u64>,
}

pub fn q8<G: Scope<Timestamp = u64>>(events: &Stream<G, Event>, rows: RowSum) {
    let (by_seller, by_id) = (Exchange::new(|a: &(u64, u64)| a.0), Exchange::new(|p: &Person| p.id));
    let sellers = events.auctions().map(|auction| (auction.seller, begin(auction.time)));
    let found = sellers.binary_frontier(&events.people(), by_seller, by_id, "New sellers", |_, _| {
        let mut notificator = FrontierNotificator::new();
        let (mut of_sellers, mut of_people) = (Vec::new(), Vec::new());
        let mut windows: FxHashMap<u64, Newcomers> = FxHashMap::default();
        move |sellers, people, output| {
            while let Some((time, data)) = sellers.next() {
                data.swap(&mut of_sellers);
                let mut session = output.session(&time);
                for (seller, window) in of_sellers.drain(..) {
                    let of = windows.entry(window).or_insert_with(|| {
                        notificator.notify_at(time.delayed(&last_slice_before(window + WINDOW)));
                        Newcomers::default()
                    });
                    if of.sellers.insert(seller) {
                        session.give_iterator(of.people.get(&seller).copied().into_iter());
                    }
                }
            }
            while let Some((time, data)) = people.next() {
                data.swap(&mut of_people);
                let mut session = output.session(&time);
                for person in of_people.drain(..) {
                    let window = begin(person.time);
                    let of = windows.entry(window).or_insert_with(|| {
                        notificator.notify_at(time.delayed(&last_slice_before(window + WINDOW)));
                        Newcomers::default()
                    });
                    of.people.insert(person.id, person);
                    if of.sellers.contains(&person.id) {
                        session.give(person);
                    }
                }
            }
            notificator.for_each(&[sellers.frontier(), people.frontier()], |time, _| {
                windows.remove(&begin(*time.time() * SLICE));
            });
        }
    });
    sink(&found, move |p| rows.add(&[Number(p.id), Text(&p.name()), Number(begin(p.time))]));
}

#[derive(Clone, Copy)]
struct Session {
    bidder: u64,
    bids: u64,
    first: u64,
    last: u64,
}

pub fn q11<G: Scope<Timestamp = u64>>(events: &Stream<G, Event>, rows: RowSum) {
    let by_bidder = Exchange::new(|(bidder, _): &(u64, u64)| *bidder);
    let sessions = events.bids().map(|bid| (bid.bidder, bid.time)).unary_frontier(by_bidder, "Sessions", |_, _| {
        let mut notificator = FrontierNotificator::new();
        let mut buffer = Vec::new();
        let mut bids_of: FxHashMap<u64, Vec<(u64, u64)>> = FxHashMap::default();
        let mut open: FxHashMap<u64, Session> = FxHashMap::default();
        let mut next_sweep = 0;
        move |input, output| {
            while let Some((time, data)) = input.next() {
                data.swap(&mut buffer);
                let slice = *time.time();
                let of = bids_of.entry(slice).or_insert_with(|| {
                    notificator.notify_at(time.delayed(&slice));
                    // By then each session of this slice has ended, or has gone on.
                    notificator.notify_at(time.delayed(&(slice + GAP / SLICE)));
                    Vec::new()
                });
                of.append(&mut buffer);
            }
            let is_end = input.frontier().is_empty();
            notificator.for_each(&[input.frontier()], |time, _| {
                let slice = *time.time();
                let mut session = output.session(&time);
                let mut bids = bids_of.remove(&slice).unwrap_or_default();
                bids.sort_by_key(|(_, time)| *time);
                for (bidder, time) in bids {
                    let known = open.entry(bidder).or_insert(Session { bidder, bids: 0, first: time, last: time });
                    if time - known.last >= GAP {
                        session.give(*known);
                        *known = Session { bidder, bids: 0, first: time, last: time };
                    }
                    known.bids += 1;
                    known.last = time;
                }
                if slice >= next_sweep || is_end {
                    let now = (slice + 1) * SLICE;
                    open.retain(|_, known| {
                        let goes_on = known.last + GAP > now;
                        if !goes_on {
                            session.give(*known);
                        }
                        goes_on
                    });
                    next_sweep = slice + 10;
                }
            });
        }
    });
    sink(&sessions, move |s| rows.add(&[Number(s.bidder), Number(s.bids), Number(s.first), Number(s.last + GAP)]));
}

pub fn q13<G: Scope<Timestamp = u64>>(events: &Stream<G, Event>, rows: RowSum) {
    let side_input: Arc<Vec<String>> = Arc::new((0..10_000).map(|key: u64| key.to_string()).collect());
    let joined = events.bids().map(|bid| (bid, (bid.auction % 10_000) as usize));
    sink(&joined, move |(b, key)| {
        rows.add(&[Number(b.auction), Number(b.bidder), Number(b.price), Number(b.time), Text(&side_input[*key])])
    });
}
