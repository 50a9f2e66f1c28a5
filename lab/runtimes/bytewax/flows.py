"""The ends of all dataflows of the adapter: the items of a list, in batches, and the sum of the hashes of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from functools import cache
from typing import Any, TypeVar

import bytewax.operators as op
import numpy as np
from bytewax.dataflow import Dataflow, Stream
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.operators import KeyedStream, StatefulBatchLogic
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import cluster_main

Item = TypeVar("Item")
Row = tuple[int | str, ...]
# The state of one step, by which partition: what Bytewax calls a key, since a call for each key of the data would cost
# more than all else.
PARTITIONS = 8
ALL = "all"


class _ListPartition(StatefulSourcePartition[Item, int]):
    def __init__(self, items: list[Item], batch: int, begin: int) -> None:
        self._items, self._batch, self._next = items, batch, begin

    def next_batch(self) -> list[Item]:
        batch = self._items[self._next:self._next + self._batch]
        if not batch:
            raise StopIteration
        self._next += len(batch)
        return batch

    def snapshot(self) -> int:
        return self._next


class ListSource(FixedPartitionedSource[Item, int]):
    """One partition: it gives the items in their order."""

    def __init__(self, items: list[Item], batch: int) -> None:
        self._items, self._batch = items, batch

    def list_parts(self) -> list[str]:
        return ["list"]

    def build_part(self, step_id: str, for_part: str, resume_state: int | None) -> _ListPartition[Item]:
        return _ListPartition(self._items, self._batch, resume_state or 0)


@cache
def _fnv_1a(text: str) -> int:
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def _numbers(column: Sequence[int | str]) -> np.ndarray:
    is_text = isinstance(column[0], str)
    return np.array([_fnv_1a(text) for text in column] if is_text else column, dtype=np.uint64)


def _sum_of_hashes(rows: list[Row]) -> int:
    """That of lab/runtimes/common/nexmark/rows.hpp."""
    hashes = np.full(len(rows), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for column in zip(*rows, strict=True):
        hashes ^= _numbers(column)
        hashes *= np.uint64(0xBF58476D1CE4E5B9)
        hashes ^= hashes >> np.uint64(32)
    return int(hashes.sum())


class _SumPartition(StatelessSinkPartition[Row]):
    def __init__(self, sums: list[int]) -> None:
        self._sums = sums

    def write_batch(self, items: list[Row]) -> None:
        self._sums.append(_sum_of_hashes(items))


class SumSink(DynamicSink[Row]):
    """Each worker has a partition of its own, and the sums of all are in one list."""

    def __init__(self) -> None:
        self._sums: list[int] = []

    def build(self, step_id: str, worker_index: int, worker_count: int) -> _SumPartition:
        return _SumPartition(self._sums)

    def value(self) -> int:
        return sum(self._sums) % (1 << 64)


class Step(StatefulBatchLogic[Any, Any, Any]):
    """The state of a partition. A value is what a batch of the source has for it."""

    def take(self, value: Any) -> Iterable[Any]:
        """The results that follow from the value."""
        raise NotImplementedError

    def end(self) -> Iterable[Any]:
        """The results that follow when there is no value any more."""
        return ()

    def on_batch(self, values: list[Any]) -> tuple[Iterable[Any], bool]:
        return [row for value in values for row in self.take(value)], self.RETAIN

    def on_eof(self) -> tuple[Iterable[Any], bool]:
        return self.end(), self.RETAIN

    def snapshot(self) -> None:
        """Asked for at the end of each epoch, and kept nowhere: no dataflow of the lab recovers."""


def stateful(name: str, up: KeyedStream[Any], step: Callable[[], Step]) -> Stream[Any]:
    return op.key_rm(f"{name}_rows", op.stateful_batch(name, up, lambda _: step()))


def run(name: str, inputs: list[list[Any]], batch: int, build: Callable[..., Stream[Row]], workers: int) -> int:
    """A source for each of the inputs. Workers are threads. Returns the sum of the hashes of all rows."""
    flow, sink = Dataflow(name), SumSink()
    sources = [op.input(f"in_{number}", flow, ListSource(items, batch)) for number, items in enumerate(inputs)]
    op.output("out", build(*sources), sink)
    cluster_main(flow, [], 0, worker_count_per_proc=workers, epoch_interval=timedelta(seconds=10))
    return sink.value()
