"""What else the machine did while a repetition ran: others' CPU, stolen time, pressure, runnable threads."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass, replace
from pathlib import Path

PROC = Path("/proc")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
# Beyond these a repetition counts as measured under load.
OTHERS_LIMIT = 0.10
STOLEN_LIMIT = 0.05
# So much slower than the fastest of the run, and the host gives the CPUs to others without saying so.
SLOW_FACTOR = 1.3
# The kernel counts in ticks: in a short repetition a few of them are no load.
LEAST_SECONDS = 0.05
# How long the machine is watched before a run.
WINDOW_SECONDS = 0.5


@dataclass(frozen=True)
class Load:
    """The machine beside one repetition. None is what this kernel does not tell."""

    # Load average and runnable threads when it began, the runner not counted.
    load1: float | None
    runnable: int | None
    # The share of all CPUs that other processes had, and that the host gave to others.
    others: float | None
    stolen: float | None
    # The share of the time in which some thread of the machine waited for a CPU; the repetition's own threads count.
    pressure: float | None
    under_load: bool
    # How long a multiplication took that waits for the one before, ns, just before the repetition.
    multiply_ns: float | None = None

    def disturbance(self, fastest_ns: float | None) -> tuple[bool, float]:
        """For choosing the quieter of two repetitions of a run: whether it was under load, then the shares that were
        lost of the CPUs and of their speed. What is not known counts as lost."""
        slower = None if not self.multiply_ns or not fastest_ns else max(0.0, 1 - fastest_ns / self.multiply_ns)
        unprobed = fastest_ns is not None and self.multiply_ns is None
        lost = sum(1.0 if share is None else share for share in (self.others, self.stolen, slower))
        return self.under_load or unprobed, lost

    def text(self) -> str:
        """The words of a run's busy line."""
        said = [f"{name} {100 * value:.0f} % of the CPUs" for name, value in
                (("other processes take", self.others), ("the host takes", self.stolen)) if value is not None]
        said += [] if self.load1 is None else [f"load {self.load1:.2f}"]
        said += [] if self.runnable is None else [f"{self.runnable} runnable threads"]
        return ", ".join(said)


@dataclass(frozen=True)
class Moment:
    """The counters of the machine at one time."""

    wall: float
    # Seconds since the boot, all CPUs together.
    busy: float | None
    stolen: float | None
    pressure: float | None
    load1: float | None
    runnable: int | None
    # The CPU of the runner and of those of its children that have ended.
    own: float


def moment() -> Moment:
    """Now."""
    busy, stolen = _times(_read("stat"))
    load1, runnable = _average(_read("loadavg"))
    return Moment(time.monotonic(), busy, stolen, _pressure(_read("pressure/cpu")), load1, runnable, _own())


def between(began: Moment, ended: Moment, cpus: int) -> Load:
    """What the others did meanwhile."""
    wall = max(ended.wall - began.wall, 1e-9)
    own = ended.own - began.own
    others = stolen = pressure = None
    if began.busy is not None and ended.busy is not None:
        others = max(0.0, ended.busy - began.busy - own) / (wall * cpus)
    if began.stolen is not None and ended.stolen is not None:
        stolen = max(0.0, ended.stolen - began.stolen) / (wall * cpus)
    if began.pressure is not None and ended.pressure is not None:
        pressure = max(0.0, ended.pressure - began.pressure) / wall
    heavy = any(share is not None and share > limit and share * wall * cpus >= LEAST_SECONDS
                for share, limit in ((others, OTHERS_LIMIT), (stolen, STOLEN_LIMIT)))
    return Load(began.load1, began.runnable, _rounded(others), _rounded(stolen), _rounded(pressure), heavy)


def with_speed(beside: Load, multiply_ns: float | None, fastest_ns: float | None) -> Load:
    """Also says how fast the CPUs were: slow ones are a load, too."""
    slow = multiply_ns is not None and fastest_ns is not None and multiply_ns > SLOW_FACTOR * fastest_ns
    return replace(beside, multiply_ns=multiply_ns, under_load=beside.under_load or slow)


def watch(seconds: float | None = None) -> Load:
    """The machine while the runner does nothing."""
    began = moment()
    time.sleep(WINDOW_SECONDS if seconds is None else seconds)
    return between(began, moment(), cpu_count())


def cpu_count() -> int:
    return os.cpu_count() or 1


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 4)


def _read(name: str) -> str:
    try:
        return (PROC / name).read_text(encoding="utf-8")
    except OSError:
        return ""


def _own() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _times(stat: str) -> tuple[float | None, float | None]:
    """The first line: cpu user nice system idle iowait irq softirq steal guest guest_nice; guests are in user and nice
    already."""
    fields = stat.partition("\n")[0].split()
    if len(fields) < 9 or fields[0] != "cpu":
        return None, None
    user, nice, system, _idle, _iowait, irq, softirq, stolen = (int(each) / TICKS_PER_SECOND for each in fields[1:9])
    return user + nice + system + irq + softirq, stolen


def _average(loadavg: str) -> tuple[float | None, int | None]:
    """0.61 0.55 0.49 3/412 12345: the runner itself is one of the runnable."""
    fields = loadavg.split()
    if len(fields) < 4:
        return None, None
    return float(fields[0]), max(0, int(fields[3].partition("/")[0]) - 1)


def _pressure(text: str) -> float | None:
    """some avg10=0.00 avg60=0.00 avg300=0.00 total=123456, in microseconds."""
    for line in text.splitlines():
        if line.startswith("some "):
            return int(line.rpartition("total=")[2]) / 1e6
    return None
