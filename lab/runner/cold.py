"""From the start of a process to its first answer, of each adapter that is built: `PYTHONPATH=lab python3 -m runner.cold`.
The answer is that of a task which starts one other and awaits it. The time has the loading of the program, its command
line, the making of the runtime, and the answer as a line of text."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Iterator

from workloads import spawn_join

from runner import allocators, stats
from runner.paths import build_dir
from runner.runtimes import RUNTIMES, Runtime

PARAMS = {"count": 1}
THREADS = 2
ROUNDS = 21


class ColdError(Exception):
    """Why an adapter has no figure."""


def asked(runtime: Runtime, build: Path) -> list[str]:
    """The command line: one task, no warm-up, one pass."""
    return [*runtime.command(build, "run"), "--workload", spawn_join.NAME, "--params", json.dumps(PARAMS),
            "--threads", str(THREADS), "--warmup", "0", "--least-ms", "0"]


def first_answer(command: list[str], environment: dict[str, str]) -> float:
    """Seconds until the first byte of the answer is there. Raises ColdError where that is none, or a wrong one."""
    reads, writes = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, writes, 1), (os.POSIX_SPAWN_CLOSE, reads)]
    began = time.perf_counter()
    try:
        process = os.posix_spawn(command[0], command, environment, file_actions=actions)
    except OSError as error:
        os.close(reads)
        os.close(writes)
        raise ColdError(str(error)) from error
    os.close(writes)
    with os.fdopen(reads, "rb") as answer:
        text = answer.read(1)
        took = time.perf_counter() - began
        text += answer.read()
    _, status = os.waitpid(process, 0)
    if status != 0:
        raise ColdError(f"ended with status {os.waitstatus_to_exitcode(status)}")
    _check(text)
    return took


def _check(text: bytes) -> None:
    try:
        said = json.loads(text)
    except ValueError:
        raise ColdError(f"printed {text[:60]!r}") from None
    if "unsupported" in said:
        raise ColdError(str(said["unsupported"]))
    if (wrong := spawn_join.check(str(said.get("answer")), PARAMS, THREADS)) is not None:
        raise ColdError(wrong)


def measured(build: Path, rounds: int) -> Iterator[tuple[Runtime, list[float] | ColdError]]:
    """All adapters in turn, again and again, so that each round is of one state of the machine. The first one loads the
    program from the disk, and is not counted."""
    built = [each for each in RUNTIMES.values() if spawn_join.NAME in (each.only or (spawn_join.NAME,)) and each.unavailable(build) is None]
    samples: dict[str, list[float] | ColdError] = {each.name: [] for each in built}
    for number in range(rounds + 1):
        for each in built:
            known = samples[each.name]
            if isinstance(known, ColdError):
                continue
            try:
                took = first_answer(asked(each, build), allocators.environment(allocators.recommended(each.name)))
            except ColdError as error:
                samples[each.name] = error
                continue
            if number:
                known.append(took)
    for each in built:
        yield each, samples[each.name]


def table(build: Path, rounds: int) -> Iterator[str]:
    yield f"ms from the start of a process to its first answer, medians of {rounds} in turn; the size of the program, in KiB"
    for runtime, found in measured(build, rounds):
        if isinstance(found, ColdError):
            yield f"{runtime.name:14} {'':6}  {found}"
            continue
        summary = stats.summarize([1_000 * each for each in found])
        between = "" if summary.interval is None else f"{summary.interval.low:.2f} to {summary.interval.high:.2f}"
        size = (build / runtime.executable).stat().st_size // 1_024
        yield f"{runtime.name:14} {summary.median:6.2f}  {between:16} {size:8,}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="runner.cold", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"how often each is started (default {ROUNDS})")
    rounds = parser.parse_args().rounds
    if rounds < 1:
        parser.error("--rounds is at least 1")
    for line in table(build_dir(), rounds):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
