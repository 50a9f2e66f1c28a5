"""What a partitioned stream job does with orders: a projection, a window of rows, groups, windows of time, and a join."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from workloads.answers import mismatch, word
from workloads.headline import TIME, Headline

NAME = "stream_scenarios"
DESCRIPTION = ("Orders of 1000 customers go through a job of eight partitions, in batches of 100: a filter and a projection, a "
               "window of 100 rows, a group for each customer, windows of an hour, those with a result for each change, and a join "
               "with payments of the next half hour.")
ITEM = "one order"
HEADLINE = Headline(TIME, "a job is there to get records through")
THREADS = None

# The document has no figures of them.
SEED: list[dict[str, Any]] = []

PARTITIONS = 8
BATCH = 100
CUSTOMERS = 1_000
ROWS = 100
HOUR = 3_600
# How long after an order its customer may pay for it.
HALF_HOUR = 1_800
# Payment j is of customer 7 j; 7 times 143 is 1, modulo the customers.
PAYER, PAYER_INVERSE = 7, 143


def _rows_of_filter(orders: Any) -> list[Any]:
    """Order, customer, amount; all amounts are more than 100."""
    return [orders, orders % CUSTOMERS, _amount(orders)]


def _rows_of_rows(orders: Any) -> list[Any]:
    """Order, sum of the last 100 amounts."""
    sums = _amount(orders).cumsum()
    sums[ROWS:] -= sums[:-ROWS].copy()
    return [orders, sums]


def _rows_of_group(orders: Any) -> list[Any]:
    """Customer, how many, sum. A customer's amounts are all the same."""
    customers = orders[:CUSTOMERS]
    counts = (len(orders) - 1 - customers) // CUSTOMERS + 1
    return [customers, counts, counts * _amount(customers)]


def _rows_of_changes(orders: Any) -> list[Any]:
    """Customer, begin of the window, how many so far, sum so far. Order i comes after i seconds."""
    begins = orders // HOUR * HOUR
    counts = (orders - begins) // CUSTOMERS + 1
    return [orders % CUSTOMERS, begins, counts, counts * _amount(orders)]


def _rows_of_tumbling(orders: Any) -> list[Any]:
    """The last change of each customer and window."""
    ends = (orders // HOUR + 1) * HOUR
    is_last = orders + CUSTOMERS >= ends.clip(max=len(orders))
    return [column[is_last] for column in _rows_of_changes(orders)]


def _rows_of_join(orders: Any) -> list[Any]:
    """Order, payment, amount of the order. Payment j, too, comes after j seconds, and there are as many as orders."""
    import numpy
    first = orders + (PAYER_INVERSE * orders - orders) % CUSTOMERS
    payments = numpy.concatenate([first + later for later in range(0, HALF_HOUR + 1, CUSTOMERS)])
    paid = numpy.resize(orders, len(payments))
    is_pair = (payments <= paid + HALF_HOUR) & (payments < len(orders))
    return [paid[is_pair], payments[is_pair], _amount(paid[is_pair])]


SCENARIOS: dict[str, Callable[[Any], list[Any]]] = {
    "filter": _rows_of_filter, "rows": _rows_of_rows, "group": _rows_of_group, "tumbling": _rows_of_tumbling,
    "changes": _rows_of_changes, "join": _rows_of_join}


def _cases(records: int) -> list[dict[str, Any]]:
    return [{"scenario": scenario, "records": records, "batch": BATCH, "partitions": PARTITIONS} for scenario in SCENARIOS]


def cases(size: str) -> list[dict[str, Any]]:
    return _cases({"smoke": 1_000, "base": 5_000, "large": 1_000_000}[size])


# The cases of the suite quick.
QUICK = cases("base")[2:3]


def items(params: dict[str, Any], threads: int) -> int:
    return params["records"]


def _amount(orders: Any) -> Any:
    return 150 + orders % 100


def sum_of_hashes(columns: list[Any]) -> int:
    """That of lab/runtimes/common/nexmark/rows.hpp."""
    import numpy
    hashes = numpy.full(len(columns[0]), 0x9E37_79B9_7F4A_7C15, dtype=numpy.uint64)
    for column in columns:
        hashes ^= column.astype(numpy.uint64)
        hashes *= numpy.uint64(0xBF58_476D_1CE4_E5B9)
        hashes ^= hashes >> numpy.uint64(32)
    return int(hashes.sum(dtype=numpy.uint64))


@cache
def _answer(scenario: str, records: int) -> int:
    # Here, because --list must work before it is installed.
    import numpy
    return sum_of_hashes(SCENARIOS[scenario](numpy.arange(records, dtype=numpy.int64)))


def expected(params: dict[str, Any], threads: int) -> str:
    return word(_answer(params["scenario"], params["records"]))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
