//! Nexmark's events, as lab/runtimes/common/nexmark makes them; the texts that no query looks at are left out.

use abomonation::Abomonation;

const FIRST_NAMES: [&str; 11] =
    ["Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"];
const LAST_NAMES: [&str; 9] = ["Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"];
const CITIES: [&str; 10] =
    ["Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne"];
const STATES: [&str; 6] = ["AZ", "CA", "ID", "OR", "WA", "WY"];

/// Of the first event, in milliseconds since 1970: 2015-07-15.
pub const BASE_TIME: u64 = 1_436_918_400_000;
const DELAY_US: u64 = 100;
const AUCTIONS_IN_FLIGHT: u64 = 100;
const ACTIVE_PEOPLE: u64 = 1_000;
/// Ids that nothing has yet.
const LEAD: u64 = 10;
const FIRST_ID: u64 = 1_000;

#[derive(Clone, Copy)]
pub struct Person {
    pub id: u64,
    pub time: u64,
    first_name: u8,
    last_name: u8,
    city: u8,
    state: u8,
}

#[derive(Clone, Copy)]
pub struct Auction {
    pub id: u64,
    pub seller: u64,
    pub category: u64,
    pub time: u64,
    pub expires: u64,
}

#[derive(Clone, Copy)]
pub struct Bid {
    pub auction: u64,
    pub bidder: u64,
    pub price: u64,
    pub time: u64,
    pub extra_size: u64,
}

#[derive(Clone, Copy)]
pub enum Event {
    Person(Person),
    Auction(Auction),
    Bid(Bid),
}

// Between processes they would go as their bytes.
impl Abomonation for Person {}
impl Abomonation for Auction {}
impl Abomonation for Bid {}

impl Person {
    pub fn name(&self) -> String {
        format!("{} {}", FIRST_NAMES[self.first_name as usize], LAST_NAMES[self.last_name as usize])
    }

    pub fn city(&self) -> &'static str {
        CITIES[self.city as usize]
    }

    pub fn state(&self) -> &'static str {
        STATES[self.state as usize]
    }
}

impl Event {
    pub fn time(&self) -> u64 {
        match self {
            Self::Person(person) => person.time,
            Self::Auction(auction) => auction.time,
            Self::Bid(bid) => bid.time,
        }
    }
}

/// java.util.Random.
struct JavaRandom(u64);

impl JavaRandom {
    const MULTIPLIER: u64 = 0x5_DEEC_E66D;
    const MASK: u64 = (1 << 48) - 1;

    fn new(seed: u64) -> Self {
        Self((seed ^ Self::MULTIPLIER) & Self::MASK)
    }

    fn next(&mut self, bits: u32) -> u64 {
        self.0 = self.0.wrapping_mul(Self::MULTIPLIER).wrapping_add(0xB) & Self::MASK;
        self.0 >> (48 - bits)
    }

    fn below(&mut self, bound: u64) -> u64 {
        let mut drawn = self.next(31);
        if bound.is_power_of_two() {
            return (bound * drawn) >> 31;
        }
        while drawn - drawn % bound + (bound - 1) > 0x7FFF_FFFF {
            drawn = self.next(31);
        }
        drawn % bound
    }

    fn price(&mut self) -> u64 {
        let fraction = ((self.next(26) << 27) | self.next(27)) as f64 / (1u64 << 53) as f64;
        (10f64.powf(fraction * 6.0) * 100.0 + 0.5) as u64
    }

    fn skip_text(&mut self, most: u64) {
        for _ in 0..3 + self.below(most - 3) {
            if self.below(13) != 0 {
                self.below(26);
            }
        }
    }
}

fn last_person(number: u64) -> u64 {
    number / 50
}

/// Of the events up to an auction or a bid.
fn last_auction(number: u64) -> u64 {
    number / 50 * 3 + (number % 50 - 1).min(2)
}

fn some_person(random: &mut JavaRandom, number: u64) -> u64 {
    let people = last_person(number) + 1;
    let active = people.min(ACTIVE_PEOPLE);
    people - active + random.below(active + LEAD)
}

fn some_auction(random: &mut JavaRandom, number: u64) -> u64 {
    let last = last_auction(number);
    let first = last.saturating_sub(AUCTIONS_IN_FLIGHT);
    first + random.below(last - first + 1 + LEAD)
}

fn time_of(number: u64) -> u64 {
    BASE_TIME + number * DELAY_US / 1_000
}

fn person(random: &mut JavaRandom, number: u64) -> Person {
    let (first_name, last_name) = (random.below(11) as u8, random.below(9) as u8);
    random.skip_text(7);
    random.skip_text(5);
    for _ in 0..4 {
        random.below(10_000);
    }
    let (city, state) = (random.below(10) as u8, random.below(6) as u8);
    Person { id: FIRST_ID + last_person(number), time: time_of(number), first_name, last_name, city, state }
}

fn auction(random: &mut JavaRandom, number: u64) -> Auction {
    let time = time_of(number);
    let hot = random.below(4) > 0;
    let seller = if hot { last_person(number) / 100 * 100 } else { some_person(random, number) };
    let category = 10 + random.below(5);
    random.price();
    let horizon = time_of(number + AUCTIONS_IN_FLIGHT * 50 / 3) - time;
    let expires = time + 1 + random.below((2 * horizon).max(1));
    Auction { id: FIRST_ID + last_auction(number), seller: FIRST_ID + seller, category, time, expires }
}

fn bid(random: &mut JavaRandom, number: u64) -> Bid {
    let hot = random.below(2) > 0;
    let auction = if hot { last_auction(number) / 100 * 100 } else { some_auction(random, number) };
    let hot = random.below(4) > 0;
    let bidder = if hot { last_person(number) / 100 * 100 + 1 } else { some_person(random, number) };
    let price = random.price();
    // 68 bytes are missing on average, give or take 14.
    let extra_size = 68 - 14 + random.below(28);
    Bid { auction: FIRST_ID + auction, bidder: FIRST_ID + bidder, price, time: time_of(number), extra_size }
}

pub fn events(count: u64) -> Vec<Event> {
    let event = |number: u64| {
        let random = &mut JavaRandom::new(number);
        match number % 50 {
            0 => Event::Person(person(random, number)),
            1..=3 => Event::Auction(auction(random, number)),
            _ => Event::Bid(bid(random, number)),
        }
    };
    (0..count).map(event).collect()
}
