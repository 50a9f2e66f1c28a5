"""The lab's adapter for Bytewax. The protocol is in lab/runtimes/common/README.md."""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import platform
import resource
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import nexmark
import scenarios

# As in all adapters.
MOST_THREADS = 1_024
ALLOCATOR = "malloc"

# The parameters: numbers, or the words that are allowed; what makes a pass of them; a note.
WORKLOADS: dict[str, tuple[dict[str, Any], Callable[[dict[str, Any], int], Callable[[], int]], str]] = {
    "nexmark": ({"query": nexmark.QUERIES, "events": int}, nexmark.pass_of, "a worker is a thread, and all have one interpreter"),
    "stream_scenarios": ({"scenario": scenarios.SCENARIOS, "records": int, "batch": int, "partitions": int}, scenarios.pass_of,
                         "a worker is a thread, and all have one interpreter"),
}
# The parameter that says how many items a pass does.
ITEMS = {"nexmark": "events", "stream_scenarios": "records"}


class UsageError(Exception):
    """A command line that is wrong, and why."""


def describe() -> dict[str, Any]:
    return {
        "runtime": "bytewax",
        "version": version("bytewax"),
        "compiler": f"{platform.python_implementation()} {platform.python_version()}",
        "flags": "",
        "allocator": ALLOCATOR,
        "workloads": {name: {"supported": True, "params": list(params), "note": note} for name, (params, _, note) in WORKLOADS.items()},
    }


def checked(workload: str, params: Any) -> dict[str, Any]:
    if workload not in WORKLOADS:
        raise UsageError(f"unknown workload {workload}; allowed: {', '.join(WORKLOADS)}")
    for name, allowed in WORKLOADS[workload][0].items():
        value = params.get(name)
        if allowed is int and (not isinstance(value, int) or value < 1):
            raise UsageError(f"--params needs the positive integer {name}")
        if allowed is not int and value not in allowed:
            raise UsageError(f"--params needs {name}, one of: {', '.join(allowed)}")
    return params


def malloc_name() -> str:
    """Which malloc this process has: what is preloaded is mapped."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    return next((name for name in ("tcmalloc", "mimalloc") if f"/lib{name}" in maps), "glibc")


def peak_rss_bytes() -> int:
    """VmHWM: ru_maxrss survives exec(), so a child of a large runner would report the runner's memory as its own."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) * 1024


def cpu_ns() -> int:
    # The kernel accounts for a thread when it leaves its processor, at a tick, and when its clock is read.
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            time.clock_gettime(~int(task.name) << 3 | 6)
    used = resource.getrusage(resource.RUSAGE_SELF)
    return round((used.ru_utime + used.ru_stime) * 1e9)


def run(workload: str, params: dict[str, Any], workers: int, warmup: int, least_ms: int) -> dict[str, Any]:
    one_pass = WORKLOADS[workload][1](params, workers)
    # No collection of a pass looks at what is here before it.
    gc.collect()
    gc.freeze()
    for _ in range(warmup):
        one_pass()
    answers, wall, cpu = [], 0, 0
    while not answers or wall < least_ms * 1_000_000:
        cpu_began, began = cpu_ns(), time.monotonic_ns()
        answers.append(one_pass())
        wall += time.monotonic_ns() - began
        cpu += cpu_ns() - cpu_began
    others = [f", then {answer} in pass {number}" for number, answer in enumerate(answers, 1) if answer != answers[0]]
    return {
        "answer": "".join([str(answers[0]), *others[:1]]),
        "wall_ns": wall,
        "cpu_ns": cpu,
        "passes": len(answers),
        "peak_rss_bytes": peak_rss_bytes(),
        "allocator": ALLOCATOR,
        "malloc": malloc_name(),
        "items_done": params[ITEMS[workload]] * len(answers),
    }


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="lab_bytewax")
    commands = made.add_subparsers(dest="command", required=True)
    commands.add_parser("describe")
    measured = commands.add_parser("run")
    measured.add_argument("--workload", required=True)
    measured.add_argument("--params", required=True)
    measured.add_argument("--threads", required=True, type=int)
    measured.add_argument("--warmup", default=1, type=int)
    measured.add_argument("--least-ms", default=0, type=int)
    measured.add_argument("--dress", default="plain", choices=["plain"])
    return made


def request(asked: argparse.Namespace) -> dict[str, Any]:
    if not 1 <= asked.threads <= MOST_THREADS:
        raise UsageError(f"--threads {asked.threads} is not from 1 to {MOST_THREADS}")
    try:
        params = json.loads(asked.params)
    except json.JSONDecodeError:
        params = None
    if not isinstance(params, dict):
        raise UsageError(f"--params is not a JSON object: {asked.params}")
    return checked(asked.workload, params)


def main() -> int:
    asked = parser().parse_args()
    try:
        said = describe() if asked.command == "describe" else run(
            asked.workload, request(asked), asked.threads, max(asked.warmup, 0), asked.least_ms)
    except UsageError as error:
        print(f"lab_bytewax: {error}", file=sys.stderr)
        return 2
    print(json.dumps(said))
    return 0


if __name__ == "__main__":
    sys.exit(main())
