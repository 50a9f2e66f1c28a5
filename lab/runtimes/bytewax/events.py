"""Nexmark's events, as lab/runtimes/common/nexmark makes them; the texts that no query looks at are left out.

Event n has the draws of java.util.Random of seed n, so those of all events of a kind are drawn at once.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
CITIES = ("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne")
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")

# Of the first event, in milliseconds since 1970: 2015-07-15.
BASE_TIME = 1_436_918_400_000
DELAY_US = 100
# Of 50 events one is a person and three are auctions.
ROUND = 50
AUCTIONS_IN_FLIGHT = 100
ACTIVE_PEOPLE = 1_000
# Ids that nothing has yet.
LEAD = 10
FIRST_ID = 1_000

Numbers = NDArray[np.int64]


class Person(NamedTuple):
    id: int
    name: str
    city: str
    state: str
    time: int


class Auction(NamedTuple):
    id: int
    seller: int
    category: int
    time: int
    expires: int


class Bid(NamedTuple):
    auction: int
    bidder: int
    price: int
    time: int
    extra_size: int


Event = Person | Auction | Bid


class Randoms:
    """A java.util.Random for each of some seeds."""

    MULTIPLIER, MASK = 0x5DEECE66D, (1 << 48) - 1

    def __init__(self, seeds: Numbers) -> None:
        self._state = (seeds ^ self.MULTIPLIER) & self.MASK

    def _next(self, bits: int, which: NDArray[np.bool_] | slice = slice(None)) -> Numbers:
        # An overflow is above the 48 bits that count.
        self._state[which] = (self._state[which] * self.MULTIPLIER + 0xB) & self.MASK
        return self._state[which] >> (48 - bits)

    def below(self, bound: int | Numbers, which: NDArray[np.bool_] | slice = slice(None)) -> Numbers:
        """A number less than the bound, of all or of some."""
        drawn = self._next(31, which)
        bounds = np.broadcast_to(np.asarray(bound, dtype=np.int64), drawn.shape)
        is_power = bounds & (bounds - 1) == 0
        result = np.where(is_power, (bounds * drawn) >> 31, drawn % bounds)
        again = ~is_power & (drawn - result + (bounds - 1) >= 1 << 31)
        if again.any():
            others = np.zeros(self._state.shape, dtype=bool)
            others[np.arange(len(others))[which][again]] = True
            result[again] = self.below(bounds[again], others)
        return result

    def prices(self) -> list[int]:
        fractions = ((self._next(26) << 27) + self._next(27)) / (1 << 53)
        # Not numpy's power, whose last bit is another.
        return [int(math.pow(10.0, fraction * 6.0) * 100.0 + 0.5) for fraction in fractions.tolist()]

    def skip_text(self, most: int) -> None:
        lengths = 3 + self.below(most - 3)
        for position in range(most):
            is_in = lengths > position
            is_letter = is_in.copy()
            is_letter[is_in] = self.below(13, is_in) != 0
            self.below(26, is_letter)


def _last_person(numbers: Numbers) -> Numbers:
    return numbers // ROUND


def _last_auction(numbers: Numbers) -> Numbers:
    """Of the events up to an auction or a bid."""
    return numbers // ROUND * 3 + np.minimum(numbers % ROUND - 1, 2)


def _time(numbers: Numbers) -> Numbers:
    return BASE_TIME + numbers * DELAY_US // 1_000


def _hot_or_some(randoms: Randoms, one_in: int, hot: Numbers, first: Numbers, count: Numbers) -> Numbers:
    """The hot one, but of one in so many any of `count` from the first on."""
    is_hot = randoms.below(one_in) > 0
    chosen = hot.copy()
    chosen[~is_hot] = first[~is_hot] + randoms.below(count[~is_hot], ~is_hot)
    return FIRST_ID + chosen


def _person(randoms: Randoms, numbers: Numbers, one_in: int, hot: Numbers) -> Numbers:
    people = _last_person(numbers) + 1
    active = np.minimum(people, ACTIVE_PEOPLE)
    return _hot_or_some(randoms, one_in, hot, people - active, active + LEAD)


def _people(numbers: Numbers) -> list[Event]:
    randoms = Randoms(numbers)
    first, last = randoms.below(len(FIRST_NAMES)), randoms.below(len(LAST_NAMES))
    randoms.skip_text(7)
    randoms.skip_text(5)
    for _ in range(4):
        randoms.below(10_000)
    cities, states = randoms.below(len(CITIES)), randoms.below(len(STATES))
    ids = FIRST_ID + _last_person(numbers)
    return [Person(of, f"{FIRST_NAMES[first]} {LAST_NAMES[last]}", CITIES[city], STATES[state], time)
            for of, first, last, city, state, time in
            zip(*(column.tolist() for column in (ids, first, last, cities, states, _time(numbers))), strict=True)]


def _auctions(numbers: Numbers) -> list[Event]:
    randoms, times = Randoms(numbers), _time(numbers)
    sellers = _person(randoms, numbers, 4, _last_person(numbers) // 100 * 100)
    categories = 10 + randoms.below(5)
    randoms.prices()
    horizons = _time(numbers + AUCTIONS_IN_FLIGHT * ROUND // 3) - times
    expiries = times + 1 + randoms.below(np.maximum(2 * horizons, 1))
    columns = (FIRST_ID + _last_auction(numbers), sellers, categories, times, expiries)
    return list(map(Auction, *(column.tolist() for column in columns)))


def _bids(numbers: Numbers) -> list[Event]:
    randoms, last = Randoms(numbers), _last_auction(numbers)
    first = np.maximum(last - AUCTIONS_IN_FLIGHT, 0)
    auctions = _hot_or_some(randoms, 2, last // 100 * 100, first, last - first + 1 + LEAD)
    bidders = _person(randoms, numbers, 4, _last_person(numbers) // 100 * 100 + 1)
    prices = randoms.prices()
    # 68 bytes are missing on average, give or take 14.
    sizes = 68 - 14 + randoms.below(28)
    return list(map(Bid, auctions.tolist(), bidders.tolist(), prices, _time(numbers).tolist(), sizes.tolist()))


def events(count: int) -> list[Event]:
    numbers = np.arange(count, dtype=np.int64)
    kinds = numbers % ROUND
    people, auctions, bids = (iter(make(numbers[which])) for make, which in
                              ((_people, kinds == 0), (_auctions, (kinds > 0) & (kinds < 4)), (_bids, kinds >= 4)))
    return [next(people if kind == 0 else auctions if kind < 4 else bids) for kind in kinds.tolist()]
