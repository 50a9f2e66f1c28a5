"""The command line: scripts/lab without its building."""

from __future__ import annotations

import argparse
import difflib
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import NoReturn

from workloads.headline import MEMORY

from runner import allocators, catalog, execute, listing, locks, paths
from runner.allocators import ALLOCATORS
from runner.catalog import SIZES
from runner.runtimes import RUNTIMES
from runner.suites import ALL, MOST_THREADS, RECOMMENDED, SUITES, Case, plan
from runner.state import FILE as STATE_FILE
from runner.state import Row, State, StateError, WriteError

ALL_RIGHT = 0
NOT_RIGHT = 1
BAD_ARGUMENTS = 2
# What --check-args says when there is nothing to measure, so nothing to build: --help, --list and --publish.
NOTHING_TO_MEASURE = 3
NOT_WRITTEN = 4
BUSY = 5
INTERRUPTED = 130

DEFAULT_SUITE = "quick"
# scripts/lab builds them, and reads the option itself.
WITH = ("seastar",)


class Parser(argparse.ArgumentParser):
    """Says what is allowed where something is not."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_ARGUMENTS, f"{self.prog}: {message}\n{self.format_usage()}"
                                 f"suites: {', '.join(SUITES)}\nsizes: {', '.join(SIZES)}\n"
                                 f"workloads: {', '.join(catalog.all_workloads())}\nruntimes: {', '.join(RUNTIMES)}\n")


def positive(text: str) -> int:
    """An argparse type."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not allowed: it must be a whole number of at least 1")
    return value


def one_of(names: Iterable[str]) -> Callable[[str], str]:
    """An argparse type beside `choices`, which refuses what is unlike any name."""
    def checked(text: str) -> str:
        near = difflib.get_close_matches(text, names, 1)
        if near and near[0] != text:
            raise argparse.ArgumentTypeError(f"there is no {text!r}; did you mean {near[0]!r}?")
        return text
    return checked


def make_parser() -> Parser:
    # Its own --help, because --check-args must be able to see it without printing.
    parser = Parser(prog="scripts/lab", add_help=False, allow_abbrev=False,
                    description="Runs the workloads on Coflux and on other runtimes, checks every answer and writes a "
                                "report.",
                    epilog="Exit status: 0 all that ran was right; 1 a row is wrong, failed or out of time; "
                           "2 bad arguments; 4 the results could not be written; 5 another run measures on this machine or "
                           "writes there; 130 interrupted, to be continued with --resume.")
    purposes = "; ".join(f"{name}: {each.purpose}" for name, each in SUITES.items())
    parser.add_argument("--suite", choices=SUITES, help=f"{purposes} (default: {DEFAULT_SUITE})")
    parser.add_argument("--workload", type=one_of(catalog.all_workloads()), choices=catalog.all_workloads(), nargs="+",
                        action="extend", metavar="W", help="only these workloads: %(choices)s")
    parser.add_argument("--runtime", type=one_of(RUNTIMES), choices=RUNTIMES, nargs="+",
                        action="extend", metavar="R", help="only these runtimes: %(choices)s")
    parser.add_argument("--size", choices=SIZES, help="the sizes of the cases, in place of the suite's")
    parser.add_argument("--reps", type=positive, metavar="N", help="repetitions of each row, in place of the suite's")
    parser.add_argument("--threads", type=positive, nargs="+", action="extend", metavar="N",
                        help="threads of the workloads that do not fix them, each number a row of its own (default: the "
                             "number of CPUs)")
    parser.add_argument("--allocator", choices=(RECOMMENDED, ALL, *ALLOCATORS), nargs="+", action="extend", metavar="A",
                        help="what stands for malloc, in place of the suite's choice: %(choices)s")
    parser.add_argument("--with", choices=WITH, nargs="+", action="extend", metavar="R", dest="with_",
                        help="also build these runtimes, which take a root of Debian sid: %(choices)s. It is made by "
                             "debootstrap, once, in the user's cache folder; needs root's rights")
    parser.add_argument("--out", type=Path, metavar="DIR",
                        help="where results go (default: build/lab/results/<UTC time>)")
    parser.add_argument("--list", action="store_true", help="print suites, workloads and runtimes, and measure nothing")
    parser.add_argument("--resume", type=Path, metavar="DIR", help="go on with an interrupted run, with its arguments")
    parser.add_argument("--retry-failed", action="store_true",
                        help="with --resume: measure the rows again that were wrong, failed or out of time")
    parser.add_argument("--compare", type=Path, metavar="OLD",
                        help="also compare with an older run, by its directory or a file of lab/results; with --resume "
                             "of a complete run, do only that")
    parser.add_argument("--publish", type=Path, metavar="DIR",
                        help="keep the results of a complete run and write the pages and the picture of docs/bench from the "
                             "newest of each machine; with a file of lab/results write the pages alone; measure nothing")
    parser.add_argument("--help", "-h", action="store_true", help="print this and measure nothing")
    parser.add_argument("--check-args", action="store_true", help=argparse.SUPPRESS)
    return parser


def main(arguments: list[str]) -> int:
    """Returns the exit status; bad arguments leave by SystemExit with status 2, as argparse does."""
    parser = make_parser()
    chosen = parser.parse_args(arguments)
    if chosen.help or chosen.list:
        if chosen.check_args:
            return NOTHING_TO_MEASURE
        print(listing.text(paths.build_dir()) if chosen.list else parser.format_help(), end="")
        return ALL_RIGHT
    if chosen.publish:
        return NOTHING_TO_MEASURE if chosen.check_args else published(parser, chosen.publish)
    if chosen.retry_failed and not chosen.resume:
        parser.error("--retry-failed needs --resume DIR: it measures rows of that run again")
    state, directory = resumed(parser, chosen) if chosen.resume else planned(parser, chosen)
    if chosen.compare is not None and not (chosen.compare.is_file() or (chosen.compare / "results.json").is_file()):
        parser.error(f"--compare needs the directory of a complete run, or a file of lab/results, and {chosen.compare} "
                     "has no results.json")
    problem = unwritable(directory)
    if problem is not None:
        parser.error(problem)
    if chosen.check_args:
        # scripts/lab builds these.
        measured = {row.runtime for row in state.rows}
        print(*(name for name in RUNTIMES if name in measured))
        return ALL_RIGHT if SUITES[state.suite].waits else free_machine()
    # numpy, matplotlib and jinja2 may only be there after scripts/setup, which runs after --check-args.
    from runner import run
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    asked = run.Asked(chosen.compare, chosen.resume is not None, chosen.retry_failed)
    try:
        return run.run(state, directory, asked)
    except KeyboardInterrupt:
        print(f"\ninterrupted; go on with: scripts/lab --resume {paths.shown(directory)}", file=sys.stderr)
        return INTERRUPTED
    except run.RunError as error:
        parser.error(str(error))
    except locks.Busy as error:
        print(f"scripts/lab: {error}", file=sys.stderr)
        return BUSY
    except WriteError as error:
        print(f"scripts/lab: {error}; what was saved before is whole, go on with: scripts/lab --resume "
              f"{paths.shown(directory)}", file=sys.stderr)
        return NOT_WRITTEN


def published(parser: Parser, source: Path) -> int:
    """What a result file says goes into the documentation."""
    from runner import publish
    try:
        kept = publish.store(source)
        changed = publish.publish()
    except publish.PublishError as error:
        parser.error(str(error))
    for path in (kept, *changed):
        print(paths.shown(path))
    return ALL_RIGHT


def free_machine() -> int:
    """Before a build: it would disturb the one that measures."""
    measuring = locks.holder()
    if measuring is None:
        return ALL_RIGHT
    print(f"scripts/lab: another run of the lab measures on this machine ({measuring}); two at once would measure each other",
          file=sys.stderr)
    return BUSY


def unwritable(directory: Path) -> str | None:
    """Why nothing can be written there, or None. Leaves nothing behind."""
    place = directory.resolve()
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        return f"{directory} is no directory: {place} is a file"
    if not os.access(place, os.W_OK | os.X_OK) or os.statvfs(place).f_flag & os.ST_RDONLY:
        return f"{directory} cannot be written: {place} is read-only for this user"
    try:
        # No permission tells what a file system refuses to every user, root among them.
        os.rmdir(tempfile.mkdtemp(dir=place))
    except OSError as error:
        return f"cannot make {directory}: {error.strerror}"
    return None


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def planned(parser: Parser, chosen: argparse.Namespace) -> tuple[State, Path]:
    """A new run. The machine is described when it starts."""
    suite = chosen.suite or DEFAULT_SUITE
    sizes = (chosen.size,) if chosen.size else SUITES[suite].sizes
    known = catalog.all_workloads()
    workloads = [known[name] for name in known if name in chosen.workload] if chosen.workload else catalog.of_suites()
    names = [name for name in RUNTIMES if not chosen.runtime or name in chosen.runtime]
    cpus = len(execute.cpus_for(1 << 16))
    threads = list(dict.fromkeys(chosen.threads or [cpus]))
    if max(threads) > cpus:
        parser.error(f"--threads {max(threads)} is more than the {cpus} CPUs that this process may use; a thread that shares "
                     "its CPU measures the scheduler of the system")
    if max(threads) > MOST_THREADS:
        parser.error(f"--threads {max(threads)} is more than {MOST_THREADS}, which is the most that an adapter takes")
    cases = plan(workloads, sizes, *threads,
                 picks=SUITES[suite].picks_cases and not chosen.workload and not chosen.size)
    if chosen.reps:
        cases = [replace(case, at_most=None) for case in cases]
    without = set(chosen.workload or ()) - {case.workload for case in cases}
    if without:
        parser.error(f"the suite {suite} has no case of {', '.join(sorted(without))}; "
                     f"--size {'|'.join(SIZES)} chooses others")
    directory = chosen.out or paths.new_run_dir()
    if (directory / STATE_FILE).exists():
        parser.error(f"{directory} already holds a run: continue it with --resume {directory}, or choose another --out")
    rows = [Row(case, name, malloc=malloc) for case in cases for name in names if takes_part(name, known[case.workload])
            for malloc in (chosen_mallocs(chosen.allocator, name) if chosen.allocator else mallocs_of(case, name, suite))]
    if not rows:
        parser.error(f"{', '.join(names)} has no part in {', '.join(workload.NAME for workload in workloads)}")
    repetitions = chosen.reps or SUITES[suite].repetitions
    narrowed = [f"--{name}" for name in ("workload", "runtime", "size") if getattr(chosen, name)]
    narrowed += ["--reps"] if repetitions < SUITES[suite].repetitions else []
    return State(suite, repetitions, {}, rows, narrowed=narrowed), directory


def takes_part(runtime: str, workload: catalog.Workload) -> bool:
    """Whether there is a row of it, measured or not."""
    return runtime in getattr(workload, "RUNTIMES", RUNTIMES) and workload.NAME in (RUNTIMES[runtime].only or (workload.NAME,))


def mallocs_of(case: Case, runtime: str, suite: str) -> list[str]:
    """Its recommended one; and where the verdict is by memory all that there are, since one gives back what another
    keeps."""
    by_memory = case.headline is not None and case.headline["figure"] in MEMORY and SUITES[suite].least_ms > 0
    wanted = [name for name in ALLOCATORS if allocators.unavailable(name) is None] if by_memory else [RECOMMENDED]
    return chosen_mallocs(wanted, runtime)


def chosen_mallocs(words: list[str], runtime: str) -> list[str]:
    """The allocators of a runtime, its recommended one first where it is among them."""
    best = allocators.recommended(runtime)
    names = [name for word in words for name in
             ([best] if word == RECOMMENDED else ALLOCATORS if word == ALL else [word])]
    return allocators.usable(runtime, names)


def resumed(parser: Parser, chosen: argparse.Namespace) -> tuple[State, Path]:
    """The run of a directory, with the arguments that it was started with."""
    others = [f"--{name}" for name in ("suite", "workload", "runtime", "size", "reps", "threads", "allocator", "out")
              if getattr(chosen, name) is not None]
    if others:
        parser.error(f"--resume goes on with the arguments of its run, so {', '.join(others)} is not allowed beside "
                     "it; allowed: --compare, --retry-failed")
    try:
        state = State.load(chosen.resume)
    except StateError as error:
        parser.error(str(error))
    unknown = {row.runtime for row in state.rows} - set(RUNTIMES) | \
              {row.case.workload for row in state.rows} - set(catalog.all_workloads())
    if unknown:
        parser.error(f"{chosen.resume} was started with what this version of the lab does not have: "
                     f"{', '.join(sorted(unknown))}")
    return state, chosen.resume
