"""stream_scenarios as dataflows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import bytewax.operators as op
from bytewax.dataflow import Stream
from flows import ALL, Row, Step, run, stateful

CUSTOMERS = 1_000
LEAST_AMOUNT = 100
ROWS = 100
HOUR = 3_600
# How long after an order its customer may pay for it.
HALF_HOUR = 1_800


class Order(NamedTuple):
    number: int
    customer: int
    # In seconds.
    time: int
    amount: int


class Payment(NamedTuple):
    number: int
    customer: int
    time: int


def orders(count: int) -> list[Order]:
    return [Order(i, i % CUSTOMERS, i, 150 + i % 100) for i in range(count)]


def payments(count: int) -> list[Payment]:
    return [Payment(i, i * 7 % CUSTOMERS, i) for i in range(count)]


def by_customer(up: Stream[Any], partitions: int, name: str = "by_customer") -> Any:
    """To each partition what a batch has for it, with the time that the batch ends at."""
    keys = [str(partition) for partition in range(partitions)]

    def parts(batch: list[Any]) -> list[tuple[str, tuple[int, list[Any]]]]:
        of: list[list[Any]] = [[] for _ in keys]
        for item in batch:
            of[item.customer % partitions].append(item)
        return [(key, (batch[-1].time, part)) for key, part in zip(keys, of, strict=True)]

    return op.flat_map_batch(name, up, parts)


class LastAmounts(Step):
    def __init__(self) -> None:
        self._amounts: deque[int] = deque(maxlen=ROWS)
        self._sum = 0

    def take(self, value: list[Order]) -> Iterable[Row]:
        for order in value:
            if len(self._amounts) == ROWS:
                self._sum -= self._amounts[0]
            self._amounts.append(order.amount)
            self._sum += order.amount
            yield order.number, self._sum


class Group(Step):
    def __init__(self) -> None:
        self._tallies: dict[int, tuple[int, int]] = {}

    def take(self, value: tuple[int, list[Order]]) -> Iterable[Row]:
        tallies = self._tallies
        for order in value[1]:
            count, total = tallies.get(order.customer, (0, 0))
            tallies[order.customer] = count + 1, total + order.amount
        return ()

    def end(self) -> Iterable[Row]:
        return [(customer, *tally) for customer, tally in self._tallies.items()]


class Windows(Step):
    def __init__(self, with_changes: bool) -> None:
        self._with_changes = with_changes
        # By their begin.
        self._open: dict[int, dict[int, tuple[int, int]]] = {}

    def take(self, value: tuple[int, list[Order]]) -> Iterable[Row]:
        now, part = value
        changes = []
        for order in part:
            begin = order.time - order.time % HOUR
            tallies = self._open.setdefault(begin, {})
            count, total = tallies.get(order.customer, (0, 0))
            tallies[order.customer] = count + 1, total + order.amount
            changes.append((order.customer, begin, count + 1, total + order.amount))
        closed = self._close([begin for begin in self._open if begin + HOUR <= now])
        return changes if self._with_changes else closed

    def end(self) -> Iterable[Row]:
        return [] if self._with_changes else self._close(list(self._open))

    def _close(self, ended: list[int]) -> list[Row]:
        return [(customer, begin, *tally) for begin in ended for customer, tally in self._open.pop(begin).items()]


class Paid(Step):
    """Each side is in the order of time, and one may be ahead of the other."""

    def __init__(self) -> None:
        # Of a customer, what may still meet something of the other side.
        self._orders: dict[int, deque[Order]] = {}
        self._payments: dict[int, deque[Payment]] = {}
        self._orders_until = self._payments_until = 0

    def take(self, value: tuple[int, list[Any]]) -> Iterable[Row]:
        return [row for each in value[1] for row in (self._order(each) if type(each) is Order else self._payment(each))]

    def _order(self, order: Order) -> list[Row]:
        self._orders_until = order.time
        payments = self._payments.get(order.customer, ())
        while payments and payments[0].time < order.time:
            payments.popleft()
        if order.time + HALF_HOUR >= self._payments_until:
            self._orders.setdefault(order.customer, deque()).append(order)
        return [(order.number, each.number, order.amount) for each in payments if each.time <= order.time + HALF_HOUR]

    def _payment(self, payment: Payment) -> list[Row]:
        self._payments_until = payment.time
        orders = self._orders.get(payment.customer, ())
        while orders and orders[0].time + HALF_HOUR < payment.time:
            orders.popleft()
        if payment.time >= self._orders_until:
            self._payments.setdefault(payment.customer, deque()).append(payment)
        return [(each.number, payment.number, each.amount) for each in orders if each.time <= payment.time]


def joined(partitions: int) -> Callable[[Stream[Order], Stream[Payment]], Stream[Row]]:
    return lambda orders, payments: stateful("paid", op.merge(
        "both", by_customer(orders, partitions, "orders"), by_customer(payments, partitions, "payments")), Paid)


def filtered(up: Stream[Order]) -> Stream[Row]:
    return op.flat_map_batch(
        "filter", up, lambda batch: [(o.number, o.customer, o.amount) for o in batch if o.amount > LEAST_AMOUNT])


def rows(up: Stream[Order]) -> Stream[Row]:
    return stateful("rows", op.flat_map_batch("all", up, lambda batch: [(ALL, batch)]), LastAmounts)


def scenario(name: str, partitions: int) -> Callable[..., Stream[Row]]:
    by_key = {"group": Group, "tumbling": lambda: Windows(with_changes=False), "changes": lambda: Windows(with_changes=True)}
    if name in by_key:
        return lambda up: stateful(name, by_customer(up, partitions), by_key[name])
    return {"filter": filtered, "rows": rows, "join": joined(partitions)}[name]


SCENARIOS = ("filter", "rows", "group", "tumbling", "changes", "join")


def pass_of(params: dict[str, Any], workers: int) -> Callable[[], int]:
    """Makes the orders, and the payments; each call is a pass."""
    inputs: list[list[Any]] = [orders(params["records"])]
    if params["scenario"] == "join":
        inputs.append(payments(params["records"]))
    build = scenario(params["scenario"], params["partitions"])
    return lambda: run(params["scenario"], inputs, params["batch"], build, workers)
