"""A stream job on Kafka: records of 100 bytes are counted by their key, or copied to another topic."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from workloads.answers import mismatch, word
from workloads.headline import TIME, Headline
from workloads.provided import KAFKA, Broker, NotProvided, broker_of_run, call
from workloads.stream_scenarios import sum_of_hashes

NAME = "kafka_job"
DESCRIPTION = ("Records of 100 bytes in a topic of four partitions go through a job on Kafka: they are counted by their key (count), or "
               "copied to another topic with a commit each 100 ms, at least once (copy) or exactly once (copy_once).")
ITEM = "one record"
HEADLINE = Headline(TIME, "a job is there to get records through")
# A worker; librdkafka's threads and the broker have the other CPU.
THREADS = 1
THREADS_BESIDE = 1
# It needs a broker, which takes seconds to begin.
BY_NAME = True
RUNTIMES = ("bare", "coflux", "kafka_streams")

# Not in a seed document.
SEED: list[dict[str, Any]] = []

KEYS = 10_000
STRIDE = 7_919
AMOUNTS = 1_000
COMMIT_MS = 100
PARTITIONS = 4
RECORDS = {"smoke": (20_000, 20_000), "base": (2_000_000, 500_000), "large": (10_000_000, 2_000_000)}


def _case(job: str, records: int) -> dict[str, Any]:
    return {"job": job, "records": records, "keys": KEYS, "commit_ms": 0 if job == "count" else COMMIT_MS}


def cases(size: str) -> list[dict[str, Any]]:
    counted, copied = RECORDS[size]
    return [_case("count", counted), _case("copy", copied), _case("copy_once", copied)]


def items(params: dict[str, Any], threads: int) -> int:
    return params["records"]


@cache
def _answer(job: str, records: int, keys: int) -> int:
    # Here, because --list must work before it is installed.
    import numpy
    numbers = numpy.arange(records, dtype=numpy.int64)
    of, amounts = numbers * STRIDE % keys, numbers % AMOUNTS + 1
    if job != "count":
        return sum_of_hashes([of, numbers, 2 * amounts])
    counts = numpy.bincount(of, minlength=keys)
    sums = numpy.bincount(of, weights=amounts, minlength=keys).astype(numpy.int64)
    has_some = counts > 0
    return sum_of_hashes([numpy.flatnonzero(has_some), counts[has_some], sums[has_some]])


def expected(params: dict[str, Any], threads: int) -> str:
    return word(_answer(params["job"], params["records"], params["keys"]))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))


def provide(params: dict[str, Any], build: Path) -> dict[str, str] | str:
    """What an adapter finds in its environment: a broker, and the topic that has the records. Or why there is none."""
    records, keys = params["records"], params["keys"]
    try:
        broker = broker_of_run(build)
        return {"LAB_KAFKA_BROKER": broker.address, "LAB_KAFKA_TOPIC": _topic(broker, build, records, keys)}
    except NotProvided as problem:
        return str(problem)


@cache
def _topic(broker: Broker, build: Path, records: int, keys: int) -> str:
    """The name of one that has the records."""
    fill = build / "bin" / "lab_kafka_fill"
    if not fill.is_file():
        raise NotProvided("lab_kafka_fill is not built: install librdkafka-dev")
    name = f"records-{records}-{keys}"
    call(KAFKA, "topic", name, PARTITIONS, "--data", broker.data)
    call(fill, broker.address, name, records, keys)
    return name
