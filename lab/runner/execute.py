"""One process of one runtime: start it pinned, wait for it, and judge what it printed."""

from __future__ import annotations

import json
import math
import os
import re
import select
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field
from functools import partial
from typing import IO, Any

from runner import allocators
from runner.catalog import Workload
from runner.paths import build_dir
from runner.suites import Case

STDERR_TAIL = 400
# Where the adapters find the client of the workloads that have one for all.
LOAD_VARIABLE = "LAB_LOAD"
# An adapter prints one object; of more than this nothing is read.
OUTPUT_LIMIT = 1 << 20
# What an adapter may name a figure of its own; one in nanoseconds ends in _ns.
FIGURE_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


@dataclass(frozen=True)
class Finished:
    """A process that ended, or that was ended because its time was up."""

    exit_status: int
    stdout: str
    stderr: str
    timed_out: bool = False
    # It ended and what it had started did not.
    left_behind: bool = False


@dataclass(frozen=True)
class Contender:
    """The contender: an executable in one of its dresses, with one malloc. Dresses are the adapter's to name."""

    command: tuple[str, ...]
    dress: str = "plain"
    malloc: str = allocators.GLIBC


@dataclass(frozen=True)
class Measured:
    """The figures of one repetition whose answer is right: the sums over its passes."""

    wall_ns: int
    cpu_ns: int
    peak_rss_bytes: int
    allocator: str
    passes: int
    # What else the adapter measured, over all passes: p99_ns and the like.
    figures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class NoNumber:
    """A repetition that gave no figure, and why."""

    status: str
    reason: str


def cpus_for(threads: int) -> list[int]:
    """The first `threads` CPUs that this process may use; a runtime's main thread shares them with its workers."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[:max(threads, 1)]


def cpus_of(case: Case, workload: Workload) -> list[int]:
    """Those of a repetition: one for each worker, and for each thread beside them that the workload has, where there are so many."""
    return cpus_for(case.threads + getattr(workload, "THREADS_BESIDE", 0))


def call(command: list[str], cpus: list[int], timeout_seconds: float, env: dict[str, str] | None = None) -> Finished:
    """Runs a command on the given CPUs. Raises OSError where it cannot be started."""
    # Files and no pipes: a pipe ends when the last process that has it ends, and that may be a grandchild that hangs.
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        # A session of its own: Ctrl-C reaches the runner alone, and whatever the process started dies with it.
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, env=env,
                                   start_new_session=True, preexec_fn=partial(os.sched_setaffinity, 0, cpus))
        timed_out = False
        try:
            timed_out = not _ends_within(process, timeout_seconds)
        finally:
            # What it has started would disturb the next repetition.
            left_behind = _kill(process)
            process.wait()
        return Finished(process.returncode, _text(stdout), _text(stderr), timed_out, left_behind and not timed_out)


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Waits until the kernel tells of the end. Popen.wait() with a timeout looks ever more rarely, at last each 50 ms:
    that is only for systems without pidfds."""
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True
    try:
        if not select.select([handle], [], [], seconds)[0]:
            return False
    finally:
        os.close(handle)
    process.wait()
    return True


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(OUTPUT_LIMIT).decode(errors="replace")


def _kill(process: subprocess.Popen[bytes]) -> bool:
    """Ends the process and all that it started. Returns whether there was any."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def failure(finished: Finished) -> str:
    """Why a process counts as failed: how it ended and the last it said."""
    if finished.exit_status < 0:
        ended = f"killed by {signal.Signals(-finished.exit_status).name}"
    else:
        ended = f"exit status {finished.exit_status}"
    tail = finished.stderr.strip()[-STDERR_TAIL:]
    return f"{ended}: {tail}" if tail else f"{ended}, nothing on stderr"


def parse_object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def describe(command: list[str], timeout_seconds: float) -> dict[str, Any] | NoNumber:
    """What an adapter says of itself; a failure of `describe` is the failure of all its rows."""
    try:
        finished = call(command, cpus_for(1), timeout_seconds)
    except OSError as error:
        return NoNumber("failed", f"describe: {error}")
    if finished.timed_out:
        return NoNumber("timeout", f"describe: no answer within {timeout_seconds:g} s")
    if finished.exit_status != 0:
        return NoNumber("failed", f"describe: {failure(finished)}")
    said = parse_object(finished.stdout)
    if said is None or not isinstance(said.get("workloads"), dict):
        return NoNumber("failed", f"describe: not the object of the protocol: {finished.stdout[:STDERR_TAIL]!r}")
    return said


def measure(contender: Contender, case: Case, workload: Workload, least_ms: int) -> Measured | NoNumber:
    """One repetition: a process that warms up, measures for at least `least_ms` and answers."""
    arguments = ["--workload", case.workload, "--params", json.dumps(case.params), "--threads", str(case.threads),
                 "--dress", contender.dress, "--least-ms", str(least_ms)]
    provide = getattr(workload, "provide", None)
    provided = provide(case.params, build_dir()) if provide else {}
    if isinstance(provided, str):
        return NoNumber("unsupported", provided)
    try:
        finished = call([*contender.command, *arguments], cpus_of(case, workload), case.timeout_seconds,
                        allocators.environment(contender.malloc) | provided | {LOAD_VARIABLE: str(build_dir() / "bin" / "lab_load")})
    except OSError as error:
        return NoNumber("failed", str(error))
    if finished.timed_out:
        return NoNumber("timeout", f"not finished after {case.timeout_seconds:g} s")
    if finished.exit_status != 0:
        return NoNumber("failed", failure(finished))
    if finished.left_behind:
        return NoNumber("failed", "it ended and left a process of its own behind, which was killed")
    return judge(finished.stdout, case, workload, contender.malloc)


def judge(stdout: str, case: Case, workload: Workload, malloc: str = allocators.GLIBC) -> Measured | NoNumber:
    """Checks what a repetition printed; only a right answer for the whole of the work has figures."""
    said = parse_object(stdout)
    if said is None:
        return NoNumber("failed", f"printed no JSON object: {stdout[:STDERR_TAIL]!r}")
    if "unsupported" in said:
        return NoNumber("unsupported", str(said["unsupported"]))
    figures = {name: said.get(name) for name in ("wall_ns", "cpu_ns", "peak_rss_bytes", "items_done")}
    figures["passes"] = said.get("passes", 1)
    for name, value in figures.items():
        if type(value) is not int or value < (1 if name in ("wall_ns", "passes") else 0):
            return NoNumber("failed", f"printed {name} = {value!r}")
    extra = said.get("figures", {})
    if not isinstance(extra, dict) or not all(_is_figure(name, value) for name, value in extra.items()):
        return NoNumber("failed", f"printed figures = {extra!r}")
    problem = workload.check(str(said.get("answer")), case.params, case.threads)
    if problem is not None:
        return NoNumber("wrong", problem)
    items = workload.items(case.params, case.threads) * figures["passes"]
    if figures["items_done"] != items:
        return NoNumber("wrong", f"{figures['items_done']} items were done, the workload has {items}")
    if said.get("malloc", malloc) != malloc:
        return NoNumber("failed", f"it was to run with the malloc of {malloc} and ran with that of {said['malloc']}")
    return Measured(figures["wall_ns"], figures["cpu_ns"], figures["peak_rss_bytes"], str(said.get("allocator", "")),
                    figures["passes"], {name: float(value) for name, value in extra.items()})


def _is_figure(name: str, value: Any) -> bool:
    return FIGURE_NAME.fullmatch(name) is not None and type(value) in (int, float) and math.isfinite(value) and value >= 0
