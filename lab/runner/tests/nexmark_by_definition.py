"""Nexmark's events and the answers of its queries, by their definitions and slowly: what the C++ ones are held against."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Any, Iterator

Event = dict[str, Any]
Row = tuple[int | str, ...]

QUERIES = ("q0", "q1", "q2", "q3", "q4", "q5", "q7", "q8", "q11", "q13")

MASK_48, MASK_64 = 2 ** 48 - 1, 2 ** 64 - 1

CITIES = ("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne")
FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")

BASE_TIME = 1_436_918_400_000
DELAY_US = 100
WINDOW = GAP = 10_000
STEP = 2_000


class JavaRandom:
    """java.util.Random, as its documentation defines it."""

    def __init__(self, seed: int) -> None:
        self._seed = (seed ^ 0x5DEECE66D) & MASK_48

    def _next(self, bits: int) -> int:
        self._seed = (self._seed * 0x5DEECE66D + 0xB) & MASK_48
        value = self._seed >> (48 - bits)
        return value - (1 << bits) if bits == 32 and value >> 31 else value

    def next_int(self) -> int:
        return self._next(32)

    def next_below(self, bound: int) -> int:
        if bound & -bound == bound:
            return (bound * self._next(31)) >> 31
        while True:
            bits = self._next(31)
            value = bits % bound
            # In Java the sum overflows an int, and is negative.
            if bits - value + (bound - 1) < 2 ** 31:
                return value

    def next_double(self) -> float:
        return ((self._next(26) << 27) + self._next(27)) / (1 << 53)


def round_half_up(value: float) -> int:
    return math.floor(value + 0.5)


def price(random: JavaRandom) -> int:
    return round_half_up(math.pow(10.0, random.next_double() * 6.0) * 100.0)


def string(random: JavaRandom, most: int) -> str:
    length = 3 + random.next_below(most - 3)
    return "".join(" " if random.next_below(13) == 0 else chr(ord("a") + random.next_below(26)) for _ in range(length)).strip()


def exact_string(random: JavaRandom, length: int) -> str:
    letters, drawn, left = [], 0, 0
    for _ in range(length):
        if left == 0:
            drawn, left = random.next_int(), 6
        # Java's division goes towards zero.
        letters.append(chr(ord("a") + int(math.fmod(drawn, 26))))
        drawn, left = int(drawn / 26), left - 1
    return "".join(letters)


def extra(random: JavaRandom, size: int, mean: int) -> str:
    if size > mean:
        return ""
    missing = mean - size
    delta = round_half_up(missing * 0.2)
    return exact_string(random, missing - delta + (random.next_below(2 * delta) if delta else 0))


def last_person(number: int) -> int:
    epoch, _ = divmod(number, 50)
    return epoch


def last_auction(number: int) -> int:
    epoch, offset = divmod(number, 50)
    if offset < 1:
        return (epoch - 1) * 3 + 2
    return epoch * 3 + (2 if offset >= 4 else offset - 1)


def some_person(random: JavaRandom, number: int) -> int:
    people = last_person(number) + 1
    active = min(people, 1_000)
    return people - active + random.next_below(active + 10)


def some_auction(random: JavaRandom, number: int) -> int:
    last = last_auction(number)
    least = max(last - 100, 0)
    return least + random.next_below(last - least + 1 + 10)


def time_of(number: int) -> int:
    return BASE_TIME + number * DELAY_US // 1_000


def event(number: int) -> Event:
    random, time = JavaRandom(number), time_of(number)
    if number % 50 == 0:
        name = f"{FIRST_NAMES[random.next_below(11)]} {LAST_NAMES[random.next_below(9)]}"
        email = f"{string(random, 7)}@{string(random, 5)}.com"
        card = " ".join(f"{random.next_below(10_000):04}" for _ in range(4))
        city, state = CITIES[random.next_below(10)], STATES[random.next_below(6)]
        size = 8 + sum(map(len, (name, email, card, city, state)))
        return {"kind": "person", "id": 1_000 + last_person(number), "name": name, "email": email, "credit_card": card, "city": city,
                "state": state, "time": time, "extra": extra(random, size, 200)}
    if number % 50 < 4:
        seller = last_person(number) // 100 * 100 if random.next_below(4) > 0 else some_person(random, number)
        category, initial_bid = 10 + random.next_below(5), price(random)
        horizon = time_of(number + 100 * 50 // 3) - time
        expires = time + 1 + random.next_below(max(horizon * 2, 1))
        item, description = string(random, 20), string(random, 100)
        reserve = initial_bid + price(random)
        return {"kind": "auction", "id": 1_000 + last_auction(number), "item": item, "description": description,
                "initial_bid": initial_bid, "reserve": reserve, "time": time, "expires": expires, "seller": 1_000 + seller,
                "category": category, "extra": extra(random, 48 + len(item) + len(description), 500)}
    auction = last_auction(number) // 100 * 100 if random.next_below(2) > 0 else some_auction(random, number)
    bidder = last_person(number) // 100 * 100 + 1 if random.next_below(4) > 0 else some_person(random, number)
    return {"kind": "bid", "auction": 1_000 + auction, "bidder": 1_000 + bidder, "price": price(random), "time": time,
            "extra": extra(random, 32, 100)}


def begin(time: int) -> int:
    return time // WINDOW * WINDOW


class Answers:
    """The answers of the queries, each a method of its name."""

    def __init__(self, events: list[Event]) -> None:
        self._people = [each for each in events if each["kind"] == "person"]
        self._auctions = [each for each in events if each["kind"] == "auction"]
        self._bids = [each for each in events if each["kind"] == "bid"]

    def q0(self) -> Iterator[Row]:
        return ((b["auction"], b["bidder"], b["price"], b["time"], len(b["extra"])) for b in self._bids)

    def q1(self) -> Iterator[Row]:
        return ((b["auction"], b["bidder"], 908 * b["price"], b["time"], len(b["extra"])) for b in self._bids)

    def q2(self) -> Iterator[Row]:
        return ((b["auction"], b["price"]) for b in self._bids if b["auction"] % 123 == 0)

    def q3(self) -> Iterator[Row]:
        return ((p["name"], p["city"], p["state"], a["id"]) for p in self._people for a in self._auctions
                if a["seller"] == p["id"] and a["category"] == 10 and p["state"] in ("OR", "ID", "CA"))

    def q4(self) -> Iterator[Row]:
        prices, highest = defaultdict(list), defaultdict(list)
        for b in self._bids:
            prices[b["auction"]].append((b["time"], b["price"]))
        for a in self._auctions:
            during = [of for time, of in prices[a["id"]] if a["time"] <= time <= a["expires"]]
            if during:
                highest[a["category"]].append(max(during))
        return ((category, sum(of) // len(of)) for category, of in highest.items())

    def q5(self) -> Iterator[Row]:
        times = [b["time"] for b in self._bids]
        for end in range(begin(min(times)) + STEP, max(times) + WINDOW + 1, STEP):
            counts = Counter(b["auction"] for b in self._bids if end - WINDOW <= b["time"] < end)
            most = max(counts.values(), default=0)
            yield from ((end, auction, count) for auction, count in counts.items() if count == most)

    def q7(self) -> Iterator[Row]:
        windows = defaultdict(list)
        for b in self._bids:
            windows[begin(b["time"])].append(b)
        for of in windows.values():
            most = max(b["price"] for b in of)
            yield from ((b["auction"], b["price"], b["bidder"], b["time"], len(b["extra"])) for b in of if b["price"] == most)

    def q8(self) -> Iterator[Row]:
        sellers = {(begin(a["time"]), a["seller"]) for a in self._auctions}
        return ((p["id"], p["name"], begin(p["time"])) for p in self._people if (begin(p["time"]), p["id"]) in sellers)

    def q11(self) -> Iterator[Row]:
        sessions: dict[int, list[list[int]]] = defaultdict(list)
        for b in sorted(self._bids, key=lambda each: each["time"]):
            of = sessions[b["bidder"]]
            if not of or b["time"] - of[-1][-1] >= GAP:
                of.append([])
            of[-1].append(b["time"])
        return ((bidder, len(times), times[0], times[-1] + GAP) for bidder, of in sessions.items() for times in of)

    def q13(self) -> Iterator[Row]:
        return ((b["auction"], b["bidder"], b["price"], b["time"], str(b["auction"] % 10_000)) for b in self._bids)


def fnv_1a(text: str) -> int:
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & MASK_64
    return value


def checksum(rows: Iterator[Row]) -> int:
    """The sum of a hash of each row, so that their order does not count."""
    total = 0
    for row in rows:
        value = 0x9E3779B97F4A7C15
        for field in row:
            value = ((value ^ (fnv_1a(field) if isinstance(field, str) else field)) * 0xBF58476D1CE4E5B9) & MASK_64
            value ^= value >> 32
        total += value
    return total & MASK_64


def answers(events: int) -> dict[str, int]:
    """The answers of all queries, over the first so many events."""
    asked = Answers([event(number) for number in range(events)])
    return {query: checksum(getattr(asked, query)()) for query in QUERIES}
