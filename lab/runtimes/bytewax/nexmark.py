"""Nexmark's queries as dataflows.

Queries without state work on a batch at once. State is scattered by its key to a few partitions, or gathered to one where
a window asks for the best of all. A part of a batch comes with the time that the batch ends at, by which state is given up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Any

import bytewax.operators as op
from bytewax.dataflow import Stream
from events import Auction, Bid, Event, Person, events
from flows import ALL, PARTITIONS, Row, Step, run, stateful

BATCH = 1_000
WINDOW = GAP = 10_000
STEP = 2_000
PANES = WINDOW // STEP

KEYS = [str(partition) for partition in range(PARTITIONS)]
# A partition's share of a batch: the time that the batch ends at, and its items.
Part = tuple[int, list[Any]]


def scattered(up: Stream[Event], wanted: Callable[[list[Event]], Iterable[tuple[int, Any]]]) -> Stream[tuple[str, Part]]:
    """Each item goes to the partition of its key."""
    def parts(batch: list[Event]) -> list[tuple[str, Part]]:
        of: list[list[Any]] = [[] for _ in KEYS]
        for key, item in wanted(batch):
            of[key % PARTITIONS].append(item)
        now = batch[-1].time
        return [(key, (now, part)) for key, part in zip(KEYS, of, strict=True)]

    return op.flat_map_batch("scatter", up, parts)


def gathered(up: Stream[Event], reduced: Callable[[list[Bid]], Any]) -> Stream[tuple[str, tuple[int, Any]]]:
    """A batch's bids, reduced, all to one partition."""
    return op.flat_map_batch("gather", up, lambda batch: [(ALL, (batch[-1].time, reduced(bids_of(batch))))])


def bids_of(batch: list[Event]) -> list[Bid]:
    return [each for each in batch if type(each) is Bid]


def begin(time: int) -> int:
    return time - time % WINDOW


def q0(up: Stream[Event]) -> Stream[Row]:
    return op.flat_map_batch("bids", up, bids_of)


def q1(up: Stream[Event]) -> Stream[Row]:
    return op.flat_map_batch(
        "in_euros", up, lambda batch: [(b.auction, b.bidder, 908 * b.price, b.time, b.extra_size) for b in bids_of(batch)])


def q2(up: Stream[Event]) -> Stream[Row]:
    return op.flat_map_batch("chosen", up, lambda batch: [(b.auction, b.price) for b in bids_of(batch) if b.auction % 123 == 0])


class LocalSellers(Step):
    def __init__(self) -> None:
        # None is one who is not wanted.
        self._people: dict[int, Person | None] = {}
        self._waiting: dict[int, list[int]] = {}

    def take(self, value: Part) -> Iterable[Row]:
        for each in value[1]:
            if type(each) is Person:
                is_wanted = each.state in ("OR", "ID", "CA")
                self._people[each.id] = each if is_wanted else None
                waiting = self._waiting.pop(each.id, ())
                if is_wanted:
                    yield from ((each.name, each.city, each.state, auction) for auction in waiting)
            elif each.seller not in self._people:
                self._waiting.setdefault(each.seller, []).append(each.id)
            elif seller := self._people[each.seller]:
                yield seller.name, seller.city, seller.state, each.id


def people_and_auctions(batch: list[Event]) -> list[tuple[int, Event]]:
    """By the person and the seller."""
    return [(each.id if type(each) is Person else each.seller, each) for each in batch if type(each) is not Bid]


def q3(up: Stream[Event]) -> Stream[Row]:
    def wanted(batch: list[Event]) -> Iterable[tuple[int, Event]]:
        return (pair for pair in people_and_auctions(batch) if type(pair[1]) is Person or pair[1].category == 10)

    return stateful("sellers", scattered(up, wanted), LocalSellers)


class HighestBids(Step):
    """The category and the highest bid of each auction that had one, once it has expired."""

    def __init__(self) -> None:
        self._open: dict[int, Auction] = {}
        self._highest: dict[int, int] = {}
        self._expiries: list[tuple[int, int]] = []
        self._early: dict[int, list[Bid]] = {}
        self._last = 0

    def take(self, value: Part) -> Iterable[tuple[int, int]]:
        now, part = value
        for each in part:
            if type(each) is Auction:
                self._open[each.id] = each
                self._last = each.id
                heappush(self._expiries, (each.expires, each.id))
                for bid in self._early.pop(each.id, ()):
                    self._bid(each, bid)
            elif each.auction in self._open:
                self._bid(self._open[each.auction], each)
            elif each.auction > self._last:
                self._early.setdefault(each.auction, []).append(each)
        return self._close(now)

    def end(self) -> Iterable[tuple[int, int]]:
        return self._close(None)

    def _bid(self, auction: Auction, bid: Bid) -> None:
        if auction.time <= bid.time <= auction.expires and bid.price > self._highest.get(auction.id, 0):
            self._highest[auction.id] = bid.price

    def _close(self, now: int | None) -> list[tuple[int, int]]:
        closed = []
        while self._expiries and (now is None or self._expiries[0][0] < now):
            auction = self._open.pop(heappop(self._expiries)[1])
            if auction.id in self._highest:
                closed.append((auction.category, self._highest.pop(auction.id)))
        return closed


class Mean(Step):
    def __init__(self) -> None:
        self._sums: dict[int, int] = {}
        self._counts: Counter[int] = Counter()

    def take(self, value: tuple[int, int]) -> Iterable[Row]:
        category, price = value
        self._sums[category] = self._sums.get(category, 0) + price
        self._counts[category] += 1
        return ()

    def end(self) -> Iterable[Row]:
        return [(category, total // self._counts[category]) for category, total in self._sums.items()]


def q4(up: Stream[Event]) -> Stream[Row]:
    def wanted(batch: list[Event]) -> Iterable[tuple[int, Event]]:
        for each in batch:
            if type(each) is Bid:
                yield each.auction, each
            elif type(each) is Auction:
                yield each.id, each

    closed = stateful("highest", scattered(up, wanted), HighestBids)
    return stateful("mean", op.key_on("by_category", closed, lambda of: str(of[0])), Mean)


class MostBids(Step):
    def __init__(self) -> None:
        self._panes: dict[int, Counter[int]] = {}
        # The pane that the next window to end begins with.
        self._next: int | None = None

    def take(self, value: tuple[int, Counter[tuple[int, int]]]) -> Iterable[Row]:
        now, counts = value
        for (pane, auction), count in counts.items():
            self._panes.setdefault(pane, Counter())[auction] += count
        if self._next is None and self._panes:
            self._next = min(self._panes) - PANES + 1
        return self._close(now // STEP)

    def end(self) -> Iterable[Row]:
        return self._close(max(self._panes, default=0) + PANES)

    def _close(self, pane: int) -> list[Row]:
        """The windows that have no place for this pane."""
        closed: list[Row] = []
        while self._next is not None and self._next + PANES <= pane:
            sums: Counter[int] = Counter()
            for part in range(self._next, self._next + PANES):
                sums.update(self._panes.get(part, {}))
            most = max(sums.values(), default=0)
            window_end = (self._next + PANES) * STEP
            closed.extend((window_end, auction, count) for auction, count in sums.items() if count == most)
            self._panes.pop(self._next, None)
            self._next += 1
        return closed


def q5(up: Stream[Event]) -> Stream[Row]:
    return stateful("most", gathered(up, lambda bids: Counter([(b.time // STEP, b.auction) for b in bids])), MostBids)


def highest_of(bids: list[Bid]) -> dict[int, list[Bid]]:
    """Of each window, with their like."""
    best: dict[int, list[Bid]] = {}
    for bid in bids:
        of = best.setdefault(begin(bid.time), [bid])
        if bid.price > of[0].price:
            best[begin(bid.time)] = [bid]
        elif bid.price == of[0].price and bid is not of[0]:
            of.append(bid)
    return best


class Highest(Step):
    def __init__(self) -> None:
        self._best: dict[int, list[Bid]] = {}

    def take(self, value: tuple[int, dict[int, list[Bid]]]) -> Iterable[Row]:
        now, best = value
        for window, bids in best.items():
            known = self._best.setdefault(window, [])
            if known and bids[0].price < known[0].price:
                continue
            self._best[window] = known + bids if known and bids[0].price == known[0].price else bids
        return self._close([window for window in self._best if window + WINDOW <= now])

    def end(self) -> Iterable[Row]:
        return self._close(list(self._best))

    def _close(self, ended: list[int]) -> list[Row]:
        return [(b.auction, b.price, b.bidder, b.time, b.extra_size) for window in ended for b in self._best.pop(window)]


def q7(up: Stream[Event]) -> Stream[Row]:
    return stateful("highest", gathered(up, highest_of), Highest)


class Newcomers(Step):
    def __init__(self) -> None:
        # By the begin of a window.
        self._people: dict[int, dict[int, Person]] = {}
        self._sellers: dict[int, set[int]] = {}

    def take(self, value: Part) -> Iterable[Row]:
        now, part = value
        for each in part:
            window = begin(each.time)
            people, sellers = self._people.setdefault(window, {}), self._sellers.setdefault(window, set())
            if type(each) is Person:
                people[each.id] = each
                found = each if each.id in sellers else None
            else:
                found = None if each.seller in sellers else people.get(each.seller)
                sellers.add(each.seller)
            if found:
                yield found.id, found.name, window
        for window in [window for window in self._people if window + WINDOW <= now]:
            del self._people[window], self._sellers[window]


def q8(up: Stream[Event]) -> Stream[Row]:
    return stateful("newcomers", scattered(up, people_and_auctions), Newcomers)


class Sessions(Step):
    def __init__(self) -> None:
        # Of a bidder: how many, the first time and the last one.
        self._open: dict[int, tuple[int, int, int]] = {}
        self._next_sweep = 0

    def take(self, value: Part) -> Iterable[Row]:
        now, part = value
        ended: list[Row] = []
        for bidder, time in part:
            count, first, last = self._open.get(bidder, (0, time, time))
            if time - last >= GAP:
                ended.append((bidder, count, first, last + GAP))
                count, first = 0, time
            self._open[bidder] = count + 1, first, time
        if now >= self._next_sweep:
            self._next_sweep = now + GAP // 10
            ended += self._close([bidder for bidder, (_, _, last) in self._open.items() if last + GAP <= now])
        return ended

    def end(self) -> Iterable[Row]:
        return self._close(list(self._open))

    def _close(self, ended: list[int]) -> list[Row]:
        sessions = ((bidder, *self._open.pop(bidder)) for bidder in ended)
        return [(bidder, count, first, last + GAP) for bidder, count, first, last in sessions]


def q11(up: Stream[Event]) -> Stream[Row]:
    return stateful("sessions", scattered(up, lambda batch: ((b.bidder, (b.bidder, b.time)) for b in bids_of(batch))), Sessions)


def q13(up: Stream[Event]) -> Stream[Row]:
    values = [str(key) for key in range(10_000)]
    return op.flat_map_batch(
        "join", up, lambda batch: [(b.auction, b.bidder, b.price, b.time, values[b.auction % 10_000]) for b in bids_of(batch)])


BUILDS = {build.__name__: build for build in (q0, q1, q2, q3, q4, q5, q7, q8, q11, q13)}
QUERIES = tuple(BUILDS)


def pass_of(params: dict[str, Any], workers: int) -> Callable[[], int]:
    """Makes the events; each call is a pass."""
    items, query = events(params["events"]), params["query"]
    return lambda: run(query, [items], BATCH, BUILDS[query], workers)
