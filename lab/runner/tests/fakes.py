"""A build tree of fake runtimes, and the runner's command line called in it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import stat
import sys
import tempfile
import unittest
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from runner import catalog, cli, execute, locks, stats
from runner.load import Load
from runner.paths import BUILD_VARIABLE, LAB
from runner.runtimes import RUNTIMES

# One that scripts/setup installs.
COMPILER = shutil.which("clang++-19") or shutil.which("g++")
QUIET = Load(load1=0.25, runnable=0, others=0.01, stolen=0.0, pressure=0.02, under_load=False)
BUSY = Load(load1=7.5, runnable=5, others=0.61, stolen=0.0, pressure=0.9, under_load=True)

# An adapter whose behaviour a test chooses. It answers right unless told otherwise and writes down each `run`. Hundreds
# of them run, so python starts without what is installed (-S, -E), and loads one workload and no more.
ADAPTER = '''#!{python} -SE
import importlib, json, os, sys
sys.path.insert(0, {lab!r})
modules = {modules!r}
behaviour = {behaviour!r}
arguments = sys.argv[2:]
options = dict(zip(arguments[0::2], arguments[1::2]))
name = options.get("--runtime", {name!r})
if sys.argv[1] == "describe":
    if behaviour.get("describe") == "crash":
        sys.exit("no library")
    lacking = behaviour.get("lacking", {{}})
    dresses = behaviour.get("dresses", {{}})
    able = {{w: {{"supported": False, "reason": lacking[w]}} if w in lacking
            else {{"supported": True, "dresses": {{"plain": "", **{{each: "" for each in dresses.get(w, [])}}}}}}
            for w in modules}}
    print(json.dumps({{"runtime": name, "version": "1.2", "compiler": "fake 1", "flags": "-O3", "allocator": "malloc",
                      "workloads": able}}))
    sys.exit(0)
workload = importlib.import_module(modules[options["--workload"]])
params, threads = json.loads(options["--params"]), int(options["--threads"])
calls = {calls!r}
dress = options.get("--dress", "plain")
line = json.dumps([name if dress == "plain" else name + " " + dress, workload.NAME, params, threads])
before = open(calls).read().splitlines().count(line) if os.path.exists(calls) else 0
with open(calls, "a") as file:
    file.write(line + "\\n")
does = behaviour.get("run", "right")
if not behaviour.get("after", 0) <= before < behaviour.get("until", 1 << 30):
    does = "right"
if does == "crash":
    sys.exit("assertion x == y failed")
if does == "die":
    import signal
    os.kill(os.getpid(), signal.SIGSEGV)
if does == "hang":
    import signal
    signal.pause()
if does in ("leave behind", "hang with a child"):
    # A session of its own or not, it has stdout and stderr of this process.
    import signal, subprocess
    own = does == "hang with a child"
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"], start_new_session=own)
    if own:
        signal.pause()
if does == "interrupt":
    import signal
    os.kill(os.getppid(), signal.SIGTERM)
    signal.pause()
if does == "babble":
    print("hello")
    sys.exit(0)
if does == "unsupported":
    print(json.dumps({{"unsupported": "no such resource"}}))
    sys.exit(0)
items = workload.items(params, threads)
answer = workload.expected(params, threads)
passes = behaviour.get("passes", 1)
if "ms_a_pass" in behaviour:
    passes = max(1, int(options["--least-ms"]) // behaviour["ms_a_pass"])
outlier = behaviour.get("outliers", {{}}).get(before, 1)
wall = round(items * behaviour.get(dress, behaviour.get("ns", 10)) * (1 + 0.01 * before) * outlier) * passes
said = {{"answer": "7" if does == "wrong" else answer, "wall_ns": 0 if does == "instant" else wall, "cpu_ns": 2 * wall,
        "peak_rss_bytes": 1 << 20, "allocator": "fake malloc", "items_done": items * passes - (does == "short"),
        "passes": passes, **({{"cpu_ns": passes * behaviour["cpu_a_pass"]}} if "cpu_a_pass" in behaviour else {{}}), **behaviour.get("says", {{}})}}
print(json.dumps(said))
'''

# Prints the numbers of a file in turn.
PROBE = '''#!{python} -SE
import os, sys
values, used = ({speeds!r}, {used!r} + "-alone") if len(sys.argv) == 2 else ({values!r}, {used!r})
with open(used, "a") as file:
    file.write("x")
print(values[(os.path.getsize(used) - 1) % len(values)])
'''


@dataclass(frozen=True)
class Called:
    """What a call of the command line did."""

    status: int
    stdout: str
    stderr: str


class LabTest(unittest.TestCase):
    """A test with a build tree of its own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        self.build = self.root / "build"
        self.calls_file = self.root / "calls"
        self.out = self.root / "out"
        # A machine of its own, which is quiet and has no allocator but glibc's: the runner beside this test is not in
        # its way.
        self.enterContext(mock.patch.dict(os.environ, {BUILD_VARIABLE: str(self.build), locks.VARIABLE: str(self.root)}))
        self.enterContext(mock.patch("runner.load.WINDOW_SECONDS", 0.0))
        # Limits that only a hang reaches, however busy the machine is.
        self.enterContext(mock.patch("runner.session.DESCRIBE_TIMEOUT_SECONDS", 600.0))
        self.enterContext(mock.patch("runner.probe.TIMEOUT_SECONDS", 600.0))
        self.enterContext(mock.patch("runner.load.between", return_value=QUIET))
        # No fake has much CPU to count.
        self.enterContext(mock.patch("runner.session.LEAST_CPU_NS", 0))
        self.libraries: dict[str, str] = {}
        self.enterContext(mock.patch("runner.allocators.library", side_effect=self.libraries.get))
        # Two CPUs as far as the plan goes, whatever the machine has; the process itself stays on one that exists.
        first = execute.cpus_for(1)[0]
        self.enterContext(mock.patch("runner.execute.cpus_for", side_effect=lambda threads: [first] * min(threads, 2)))

    def fake(self, name: str, **behaviour: Any) -> None:
        """Puts a fake executable where the runner looks for the runtime."""
        modules = {name: workload.__name__ for name, workload in catalog.all_workloads().items()}
        self._install(RUNTIMES[name].executable, ADAPTER.format(python=sys.executable, lab=str(LAB), name=name, modules=modules,
                                                                behaviour=behaviour, calls=str(self.calls_file)))

    def fake_probe(self, *values: float, speeds: tuple[float, ...] = (1.0,)) -> None:
        self._install("bin/lab_probe", PROBE.format(python=sys.executable, values=values, speeds=speeds,
                                                    used=str(self.root / "probed")))

    def lab(self, *arguments: str) -> Called:
        """The command line in this process."""
        stdout, stderr = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            try:
                status = cli.main(list(arguments))
            except SystemExit as leaving:
                status = leaving.code
        return Called(status, stdout.getvalue(), stderr.getvalue())

    def measure(self, *arguments: str) -> Called:
        """A short run into self.out."""
        return self.lab("--size", "smoke", "--out", str(self.out), *arguments)

    def results(self) -> dict[str, Any]:
        return json.loads((self.out / "results.json").read_text(encoding="utf-8"))

    def rows(self) -> list[dict[str, Any]]:
        return self.results()["rows"]

    def row(self, runtime: str) -> dict[str, Any]:
        """The only row of a runtime."""
        (row,) = (row for row in self.rows() if row["runtime"] == runtime)
        return row

    def calls(self) -> list[list[Any]]:
        """Every `run` of a fake, in order: runtime, workload, params, threads."""
        if not self.calls_file.exists():
            return []
        return [json.loads(line) for line in self.calls_file.read_text(encoding="utf-8").splitlines()]

    def _install(self, name: str, text: str) -> None:
        path = self.build / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)


def result_row(runtime: str, samples: list[float], **fields: Any) -> dict[str, Any]:
    """A row of results.json with a figure, or without one where samples is empty."""
    ok = bool(samples)
    row = {"workload": "fib", "params": {"n": 18}, "runtime": runtime, "dress": "plain", "malloc": "glibc",
           "recommended": True, "version": "1", "compiler": "c", "flags": "f", "allocator": "a", "threads": 2,
           "status": "ok" if ok else "failed", "reason": None if ok else "it broke", "verified": ok, "items": 1,
           "unit": "ns/item", "n": len(samples), "samples": samples, **_figures("", samples),
           "cpu_samples": [], **_figures("cpu_", []), "passes": [1] * len(samples), "timed_ms": 120.0 if ok else None,
           "peak_rss_bytes": 1 if ok else None, "line_round_trip_ns": None, "loads": [None] * len(samples), "discarded": 0}
    row |= fields
    if ok and "cpu_samples" not in fields:
        row["cpu_samples"] = [None] * len(samples)
    elif ok:
        row |= _figures("cpu_", row["cpu_samples"])
    return row


def _figures(prefix: str, samples: list[float]) -> dict[str, float | None]:
    names = [prefix + name for name in ("median", "mad", "ci_low", "ci_high", "coverage")]
    if not samples:
        return dict.fromkeys(names)
    summary = stats.summarize(samples)
    found = summary.interval
    return dict(zip(names, (summary.median, summary.mad, found and found.low, found and found.high, found and found.coverage)))


def near(runtime: str, median: float, n: int = 9, **fields: Any) -> dict[str, Any]:
    """A row of n repetitions within one percent of each other, in no order that another row shares."""
    spread = [0.01 * ((5 * i + len(runtime)) % n - n // 2) / max(1, n // 2) for i in range(n)]
    return result_row(runtime, [median * (1 + each) for each in spread], **fields)


MACHINE = {"cpu_model": "a CPU", "cores": 2, "kernel": "Linux 6", "distribution": "Debian", "memory_bytes": 1 << 30,
           "governor": None, "compilers": {}, "date_utc": "2026-01-01T00:00:00Z", "git_commit": None, "git_dirty": None,
           "coflux_version": "0.1.0"}


def results_of(*rows: dict[str, Any], **machine: Any) -> dict[str, Any]:
    return {"schema": 2, "machine": MACHINE | machine, "suite": "quick", "notes": [],
            "busy": {"at_start": None, "repetitions": 0, "under_load": 0, "discarded": 0}, "rows": list(rows)}
