"""The queries of nexmark over events that are read: from a file of lines, or from a topic of Kafka."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from workloads import nexmark
from workloads.headline import TIME, Headline
from workloads.provided import KAFKA, NotProvided, broker_of_run, call, folder_of_run

NAME = "nexmark_source"
DESCRIPTION = ("The queries of nexmark over events that are read: lines of a file (file), or messages of a topic of Kafka with one "
               "partition (kafka). An event is a text of some 130 bytes, which is read within the clock.")
ITEM = nexmark.ITEM
HEADLINE = Headline(TIME, "queries are compared by how many events they take in a second, as by their authors")
# A worker; what reads files or is librdkafka's, and the broker, have the other CPU.
THREADS = 1
THREADS_BESIDE = 1
# It needs a broker, which takes seconds to begin.
BY_NAME = True
RUNTIMES = ("bare", "coflux")

# Not in a seed document.
SEED: list[dict[str, Any]] = []


def cases(size: str) -> list[dict[str, Any]]:
    return [{"source": source, **params} for source in ("file", "kafka") for params in nexmark.cases(size)]


QUICK = [{"source": source, "query": query, "events": nexmark.EVENTS["base"]}
         for source, query in (("file", "q1"), ("kafka", "q1"), ("kafka", "q4"))]

items = nexmark.items
expected = nexmark.expected
check = nexmark.check


def provide(params: dict[str, Any], build: Path) -> dict[str, str] | str:
    """What an adapter finds in its environment: the file, or a broker and the topic. Or why there is none."""
    try:
        if params["source"] == "file":
            return {"LAB_NEXMARK_FILE": str(_file(build, params["events"]))}
        # The topic first: a broker of programs that are not built is not begun.
        return {"LAB_KAFKA_TOPIC": _topic(build, params["events"]), "LAB_KAFKA_BROKER": broker_of_run(build).address}
    except NotProvided as problem:
        return str(problem)


def _filler(build: Path, name: str, remedy: str) -> Path:
    fill = build / "bin" / name
    if not fill.is_file():
        raise NotProvided(f"{name} is not built: {remedy}")
    return fill


@cache
def _file(build: Path, events: int) -> Path:
    fill = _filler(build, "lab_nexmark_fill", "scripts/lab builds it")
    file = Path(folder_of_run(build, "nexmark")) / f"events-{events}"
    call(fill, file, events)
    return file


@cache
def _topic(build: Path, events: int) -> str:
    """The name of one that has the lines of the file."""
    fill = _filler(build, "lab_kafka_fill", "install librdkafka-dev")
    lines = _file(build, events)
    name = f"nexmark-{events}"
    call(KAFKA, "topic", name, 1, "--data", broker_of_run(build).data)
    call(fill, broker_of_run(build).address, name, lines)
    return name
