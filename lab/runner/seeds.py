"""The seed documents: what each published, which case here is the same experiment, and what differs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from workloads import dispatcher

from runner import catalog
from runner.catalog import Params
from runner.suites import PLAIN, case_key

# Which threads a case has: the document's own one, or the most of the run.
ONE, MOST = "one", "most"


@dataclass(frozen=True)
class Term:
    """A figure of one case: `floor` is that of the hand-written row in the same case, whatever the runtime."""

    workload: str
    params: Params
    threads: str = MOST
    floor: bool = False
    # One of those that a row has beside its time; None: the time of an item.
    figure: str | None = None
    # In this dress alone; None: in the one that takes the least time.
    dress: str | None = None

    @property
    def label(self) -> str:
        """In words, behind the workload's name."""
        threads = ", one thread" if self.threads == ONE else ""
        figure = f", {self.figure}" if self.figure else ""
        dress = f", {self.dress}" if self.dress not in (None, PLAIN) else ""
        return f"{catalog.short_label(self.params)}{threads}{figure}{dress}{', the floor' if self.floor else ''}"


@dataclass(frozen=True)
class Experiment:
    """A line of a document's table. Its figure here is the term's, or the difference of two, times `factor`, in ns."""

    name: str
    published: str
    term: Term
    minus: Term | None = None
    factor: float = 1.0
    # It is about the whole process's CPU in place of the time.
    cpu: bool = False
    # In place of `minus` for a runtime of another compiler than the floor's: its row of these calculations alone.
    alone: Term | None = None

    @property
    def here(self) -> str:
        """Which case it is in this lab."""
        less = "" if self.minus is None else f", less {self.minus.workload} {self.minus.label}"
        return f"{self.term.workload} {self.term.label}{less}{', CPU' if self.cpu else ''}"


@dataclass(frozen=True)
class Table:
    """One table of a document."""

    title: str
    experiments: tuple[Experiment, ...]
    # What differs from the document, and why.
    differs: str


@dataclass(frozen=True)
class Elsewhere:
    """What has no row: why, or where it is."""

    name: str
    reason: str


@dataclass(frozen=True)
class Document:
    key: str
    title: str
    machine: str
    # One sentence: what its figures are.
    why: str
    tables: tuple[Table, ...]
    elsewhere: tuple[Elsewhere, ...] = field(default=())


def case(workload: str, threads: str = MOST, /, **params: Any) -> Term:
    return Term(workload, params, threads)


def floor_of(term: Term) -> Term:
    return Term(term.workload, term.params, term.threads, floor=True)


def _millions(count: int) -> str:
    return f"{count:,}".replace(",", " ")


def _noop(resource: str, count: int) -> Term:
    return case("fork_noop", resource=resource, count=count)


def _pool(mode: str, count: int) -> Term:
    return case("fork_pool", mode=mode, count=count)


def _pipeline(concurrency: int, depth: int) -> Term:
    return case("pipeline", concurrency=concurrency, depth=depth, items=1_000)


_MONOTONIC = ((100_000, "97.6 ns"), (500_000, "121.6 ns"), (1_000_000, "114.6 ns"), (3_000_000, "135.5 ns"),
              (5_000_000, "159.4 ns"), (7_000_000, "147.5 ns"), (10_000_000, "194.5 ns"))

CREATION = Document("000", "Coflux performance validation", "16 x 3.99 GHz, x64",
    "Each frame takes new memory of the resource, so what the kernel does for a page that nobody touched before is a part of a "
    "fork; of the two tables one leaves it out and one has it.", (
    Table("One fork that is created, run inline, awaited and destroyed, on a monotonic resource", tuple(
        Experiment(f"BM_Pmr_ForkCreation/{count}", published, _noop("monotonic", count)) for count, published in _MONOTONIC),
        "The document divides CPU time of a clock that coroutines paused and resumed; here one clock runs around the whole loop. "
        "The pages of the resource were touched before, as by the shipped program, which fills them with zeroes."),
    Table("The same on pages that nobody touched before", tuple(
        Experiment(f"BM_Pmr_ForkCreation/{count}", published, _noop("fresh", count)) for count, published in _MONOTONIC),
        "The document's text has the resource begin in memory that was only allocated, and forks beyond its gigabyte go to such "
        "memory, too. Each page of 4 KiB is made by the kernel when a frame is first written to it."),
))

FORKS = Document("001", "Coflux benchmarks (Chinese)", "AMD Ryzen 9 7940H, 8 cores, Windows, MSVC",
    "Its forks go through one lock of a pool of memory that all threads share, and through a queue; here a frame is its thread's "
    "own, and a fork that nobody took runs where it is awaited.", (
    Table("Core cost: forks on a pool resource, on one thread", tuple(
        Experiment(f"BM_PmrPool_ForkCreationAndDestruction/{count}", "256 ns" if count == 100_000 else "", _noop("pool", count))
        for count, _ in _MONOTONIC),
        "The document destroys all forks together at the end; here each is awaited and destroyed before the next."),
    Table("M:N: forks of a pool's tasks", tuple(
        Experiment(f"{name}/{count}", "513 ns" if (mode, count) == ("immediate", 1_000_000) else "", _pool(mode, count))
        for mode, name in (("immediate", "each awaited at once"), ("final", "all joined at the end"))
        for count, _ in _MONOTONIC),
        "The document has as many threads as the CPU, here as the run; it does not say which of the two its figure is."),
    Table("Pipelines: C tasks, each runs 1000 chains of D nested awaited forks", tuple(
        Experiment(f"C={c}, D={d}", "4.67 us" if (c, d) == (8, 5) else "", _pipeline(c, d))
        for c, d in ((1, 5), (4, 10), (8, 10), (16, 10), (8, 5), (8, 20))),
        "The shipped program reads a closure after its end; here the depth is a parameter. A figure is a chain's, over all tasks."),
    Table("Derived", (
        Experiment("net cost of scheduling: M:N less noop, 1 000 000 forks", "257 ns", _pool("immediate", 1_000_000),
                   _noop("pool", 1_000_000)),
        Experiment("net cost of scheduling, CPU of all threads", "", _pool("immediate", 1_000_000),
                   _noop("pool", 1_000_000), cpu=True),
        Experiment("a further stage: (D=20 less D=5) / 15, C=8", "1000 ns", _pipeline(8, 20), _pipeline(8, 5), factor=1 / 15),
        Experiment("a further stage, CPU of all threads", "", _pipeline(8, 20), _pipeline(8, 5), factor=1 / 15, cpu=True)),
        "The document subtracts the time of one thread from that of all divided by the forks, so what several threads do at once "
        "hides cost; the lines for CPU do not. Differences are taken round by round."),
))


def _cache(idiom: str, wait: int) -> Term:
    return case("cachecalc", idiom=idiom, rounds=100, tasks=1_000, wait_us=wait)


def _variant(variant: str, wait: int) -> Term:
    rounds = 100 if variant.startswith(("boost_", "folly_", "seastar_")) else 2
    return case("cachecalc_variants", variant=variant, rounds=rounds, tasks=1_000, wait_us=wait)


def _sharded(wait: int, shards: int = 2) -> Term:
    return case("cachecalc_sharded", shards=shards, rounds=100 if shards == 2 else 20, tasks=1_000 // shards, wait_us=wait)


# Linux, in a container with four CPUs, and macOS; wall time of an iteration, 8 and 64 us.
_PROGRAMS = (
    ("BM_cachecalc", "serial", ("10.1 ms (macOS 13.1)", "66.2 ms (67.7)")),
    ("BM_cachecalc_mutex", "mutex", ("4.50 ms (7.30)", "21.0 ms (13.7)")),
    ("BM_cachecalc_async", "async", ("14.5 ms (11.3)", "30.9 ms (19.0)")),
    ("BM_cachecalc_simple_threadpool_class", "simple_threadpool", ("5.91 ms (8.46)", "23.7 ms (13.1)")),
    ("BM_cachecalc_boost_threadpool", "boost_threadpool", ("2.58 ms (2.17)", "2.33 ms (2.06)")),
    ("BM_cachecalc_boost_coroutine", "boost_coroutine", ("3.32 ms (2.93)", "3.31 ms (2.82)")),
    ("BM_cachecalc_boost_coroutine_strand", "boost_coroutine_strand", ("1.83 ms (2.11)", "1.84 ms (2.09)")),
    ("BM_cachecalc_boost_coroutine_io_context", "boost_coroutine_io_context", ("1.68 ms (2.03)", "1.68 ms (1.98)")),
    ("BM_cachecalc_folly_future_parallel", "folly_future", ("2.36 ms (2.53)", "2.34 ms (2.48)")),
    ("BM_cachecalc_folly_parallel", "folly_coroutine", ("3.00 ms (2.90)", "2.95 ms (2.93)")),
    ("BM_SeastarHash", "seastar_hash", ("1.25 ms", "1.31 ms")),
)
_IDIOMS = (("one worker", "worker"), ("pool and strand", "strand"), ("pool and mutex", "mutex"))


def _all_caches() -> list[tuple[str, int, str, Term]]:
    """Name, delay, what was published, and the case, of all programs."""
    found = [(name, wait, published, _variant(variant, wait))
             for name, variant, texts in _PROGRAMS for wait, published in zip((8, 64), texts)]
    found += [(name, wait, "", _cache(idiom, wait)) for name, idiom in _IDIOMS for wait in (8, 64)]
    found += [("BM_SeastarShardedCacheParallel: four caches, a quarter of the tasks each", wait, published, _sharded(wait, 4))
              for wait, published in ((8, "0.759 ms"), (64, "0.773 ms"))]
    return found + [("sharded: two caches, half of the tasks each", wait, "", _sharded(wait)) for wait in (8, 64)]


def _over_floor(name: str, term: Term) -> Experiment:
    """What a program adds to what its compiler makes of the calculations alone."""
    alone = None if term.workload == "cachecalc_sharded" else _cache("compute", term.params["wait_us"])
    return Experiment(name, "", term, floor_of(term), alone=alone)


def _echo(transport: str, processes: int) -> Term:
    return case("echo", transport=transport, processes=processes, rounds=1_000)


_WAYS = (("TCP", "tcp"), ("UDP", "udp"), ("local stream", "unix"), ("local datagrams", "unix_datagram"), ("pipes", "pipe"),
         ("shared memory, spinning", "shm_spin"), ("shared memory, semaphores", "shm_sem"))
_ROUND_TRIPS = {("tcp", 1): "9.0 us", ("tcp", 2): "67 us", ("shm_sem", 1): "0.5 us", ("shm_sem", 2): "40 us"}

CACHE = Document("002", "EvaluateIPC", "Apple M2: a Linux container with 4 CPUs, and macOS",
    "An iteration is a millisecond of calculations, one after the other by contract, and what a thousand tasks and timers add to "
    "them; rows that burn a core in their wait are as long as their waits.", (
    Table("Waits", tuple(
        Experiment(f"{name}/{wait}", published, case("wait", idiom=idiom, count=200, wait_us=wait))
        for name, idiom, texts in (("BM_sleep", "timer", ("86.0 us (macOS 13.0)", "155 us (85.0)")),
                                   ("BM_sleep_devzero", "devzero", ("9.03 us (11.5)", "65.2 us (66.3)")))
        for wait, published in zip((8, 64), texts)),
        "A wait by the system's sleep_for is its timer slack of 50 us longer; Tokio's timer has ticks of a millisecond; Coflux and "
        "Asio have timers of their own in the kernel or in a loop, of which the row says how near they come."),
    Table("1000 tasks on one cache: time of an iteration", (
        Experiment("BM_cachecalc_only: the compute floor", "1.03 ms (macOS 1.38)", _cache("compute", 8), factor=1_000),
        *(Experiment(f"{name}/{wait}", published, term, factor=1_000) for name, wait, published, term in _all_caches())),
        "The document's programs for the standard library burn a core in their wait and those for the others do not, so the two kinds "
        "are not one contest. All keys are checked in the timed part, as there. Rows without a published figure are this lab's idioms."),
    Table("What a task adds to the compute floor, time", tuple(
        _over_floor(f"{name}/{wait}", term) for name, wait, _, term in _all_caches()),
        "The floor is measured in the same rounds, so the difference is taken round by round. Go, Tokio and Seastar have compilers of "
        "their own, and the first two another map, hash and string: what they add is over their own row of the calculations alone. "
        "The sharded floor has two caches on two CPUs, and is the same for all: Seastar's row looks better for it, Go's worse."),
    Table("CPU of the whole process an iteration", (
        Experiment("BM_cachecalc_only", "1.03 ms (main thread)", _cache("compute", 8), factor=1_000, cpu=True),
        *(Experiment(f"{name}/{wait}", "", term, factor=1_000, cpu=True) for name, wait, _, term in _all_caches())),
        "The document's CPU is the main thread's alone, which is no cost where others work; so it is not beside these."),
    Table("ipcperf: a message of 19 bytes there and another one back", tuple(
        Experiment(f"{name}, {where}", _ROUND_TRIPS.get((transport, processes), ""), _echo(transport, processes))
        for processes, where in ((1, "same process"), (2, "two processes")) for name, transport in _WAYS),
        "The programs count round trips a second, on a Linux VM and without optimisation; here is the time of one. TCP is their "
        "epoll. Their shared memory by spinning has 7 to 9.5 million a second, ZeroMQ over TCP 5000. A round trip within one "
        "process is one thread that takes turns; shared memory is the floor's alone there, a call of itself."),
), (
    Elsewhere("ipcperf: select, kqueue", "TCP by another call of the system; the document's UDP by select is a second TCP"),
    Elsewhere("ipcperf: mmap and memcpy", "as shared memory by spinning"),
    Elsewhere("ipcperf: multicast", "one way, a throughput"),
))


def _both(name: str, published: str, workload: str, factor: float = 1.0, cpu: bool = False, **params: Any) -> list[Experiment]:
    """On one thread, as the document, and on a pool."""
    return [Experiment(f"{name}, {where}", published if threads == ONE else "", Term(workload, params, threads), factor=factor, cpu=cpu)
            for threads, where in ((ONE, "one thread"), (MOST, "pool"))]


def _dispatched(receiver: str, gap: int) -> dict[str, Any]:
    return {"receiver": receiver, "gap_us": gap, "batches": 100, "yields": 50 if receiver == "yields" else 0}


def _record(path: str) -> Term:
    return case("record_path", path=path, records=10_000, batch=100, partitions=8, steps=4_000)


_PATHS = (("direct receiver", "direct", "26 to 30 us"), ("V2: coordinator, 8 partitions", "coordinator", "60 us"),
          ("shared engine", "shared", "10 to 15 us (estimate)"))

_LETTER = {params["program"]: params for params in dispatcher.SEED}


def _program(name: str, published: str, program: str, figure: str | None = None, factor: float = 1.0) -> list[Experiment]:
    """In a debug build on one thread, as published, and in a release build on one and on a pool."""
    params = _LETTER[program]
    return [Experiment(f"{name}, {where}", text, Term("dispatcher", params, threads, figure=figure, dress=dress), factor=factor)
            for dress, threads, where, text in (("debug", ONE, "debug, one thread", published), (PLAIN, ONE, "one thread", ""),
                                                ("debug", MOST, "debug, pool", ""), (PLAIN, MOST, "pool", ""))]


DISPATCH = Document("003", "Tokio task dispatcher overhead", "not said; a debug build on one thread",
    "The published microseconds are those of a debug build, of two system calls in each yield, and of a timer with ticks of a "
    "millisecond.", (
    Table("The programs to the letter", tuple([
        *_program("spawn, 10 000 tasks", "0.317 us", "spawn", "spawn_ns"),
        *_program("join, 10 000 tasks", "0.689 us", "spawn", "join_ns"),
        *_program("spawn, 50 000 tasks with a yield after each 100th", "0.540 us", "throughput", "spawn_ns"),
        *_program("join, 50 000 tasks with a yield after each 100th", "0.365 us", "throughput", "join_ns"),
        *_program("a number sent, 100 batches of 100", "0.034 us", "channel", "send_ns"),
        *_program("a number received, 100 batches of 100", "0.004 us", "channel", "receive_ns"),
        *_program("a batch there and back", "3.750 us", "channel", "batch_ns"),
        *_program("a record: 5 us of work and 50 yields", "62.48 us", "yields"),
        *_program("a record of a partition: 5 us of work; batches of 100, 100 us apart, 50 yields after each", "13.42 us", "partition"),
        *_program("the same, and the receiver spins while there is none", "below 1 us (estimate, without work)", "spins"),
        *_program("the same, and the receiver sleeps 10 us while there is none", "10 us (estimate, without work)", "sleeps"),
        *_program("the copy of a record", "0.34 us", "clone"),
        Experiment("a sleep of 10 us", "10 us at least", case("wait", idiom="timer", count=200, wait_us=10))]),
        "The document's clocks run in the tasks: on one thread a task runs in the join, and a channel's sender ends before its "
        "receiver begins, so that the two ends are made and drained without a wait. Where forks run at once, or beside their maker, "
        "what is left for the join is luck. Its text has 5 us of work in a record, which its programs leave out. A batch of its "
        "partition is one number that stands for 100 records; here the records are there and processed."),
    Table("Spawn and join", tuple([
        *_both("round trip, 10 000 tasks", "1.006 us", "spawn_join", count=10_000),
        *_both("round trip, 50 000 tasks", "0.905 us", "spawn_join", count=50_000)]),
        "All runtimes, in a release build: the phases are above. The document's test of 50 000 yields after each 100th task."),
    Table("Channel, yields and calls", tuple([
        *_both("an item through mpsc, 100 batches of 100", "0.038 us", "mpsc_batches", batches=100, batch=100),
        *_both("a yield, 5000 of one task", "1.30 us", "yield", tasks=1, yields=5_000),
        *_both("a record: 50 yields, 100 batches of 100", "62.48 us", "yield", factor=50, tasks=1, yields=500_000),
        *_both("a record: 20 yields, 8 partitions of 1000", "73.71 us", "yield", factor=20, tasks=8, yields=20_000),
        *_both("a lock that nobody else wants", "0.06 us", "mutex_handoff", tasks=1, locks=100_000),
        Experiment("an asynchronous call", "0.013 us", case("call_overhead", calls=100_000))]),
        "Most of the published yield is Tokio's I/O driver: an epoll_wait and an eventfd write for each yield of the root future. The "
        "lab's Tokio has no driver and yields in a spawned task. The published 27 x speed-up divided milliseconds by seconds. The "
        "document's synchronous loop, 0.006 us, is the call of std."),
    Table("Partition receiver: a batch", tuple([
        *_both("50 yields after each batch, gap of 100 us", "1342 us", "partition_receiver", **_dispatched("yields", 100)),
        *_both("50 yields after each batch, no gap", "", "partition_receiver", **_dispatched("yields", 0)),
        *_both("looks and yields while empty, gap of 100 us", "", "partition_receiver", **_dispatched("polls", 100)),
        *_both("looks and yields while empty, no gap", "", "partition_receiver", **_dispatched("polls", 0)),
        *_both("parks, gap of 100 us", "", "partition_receiver", **_dispatched("parks", 100)),
        *_both("parks, no gap", "", "partition_receiver", **_dispatched("parks", 0)),
        *_both("looks and yields, gap of 100 us: CPU", "", "partition_receiver", cpu=True, **_dispatched("polls", 100)),
        *_both("parks, gap of 100 us: CPU", "", "partition_receiver", cpu=True, **_dispatched("parks", 100))]),
        "The published batch is Tokio's timer wheel: a sleep of 100 us takes one to two ticks of a millisecond. Yields have less than two "
        "in a hundred of it. The details of partition_receiver have p50 and p99 of a batch on its way."),
    Table("The way of a record with 5 us of work in it", (
        Experiment("V1: a plain loop", "5 to 6 us", _record("plain")),
        *(Experiment(name, published, _record(path)) for name, path, published in _PATHS),
        *(Experiment(f"{name}: added, CPU of all threads", "", _record(path), _record("plain"), cpu=True) for name, path, _ in _PATHS)),
        "The published figures are of a debug build or estimates, with 50 to 60 polls by yield in each record. Here a receiver parks. "
        "On several CPUs partitions work beside each other, so the time may fall below the plain loop's; what a path adds is in the CPU."),
))


def _fib(shape: str, threads: str = MOST) -> Term:
    return case("fib_tasks", threads, shape=shape, n=25, tasks=1_000)


def _step(step: str) -> Term:
    return case("coroutine_costs", step=step, count=1_000 if step == "thread" else 1_000_000, live=1_000)


COROUTINES = Document("004", "Coroutine and thread", "128 CPUs and one, 2.8 GHz; clang 21 / g++ 11.4",
    "The published steps of a coroutine are readings of the clock, the threads' creation is a thousand threads that spin, and the "
    "two compilers differ by how far they inline fib into itself.", (
    Table("1000 tasks that each compute fib(25): a task", tuple(
        Experiment(f"{name}, {where}", published, _fib(shape, threads))
        for threads, where, texts in ((MOST, "all CPUs", ("0.463 / 121.7 us", "", "479 / 346 us", "315 / 117 us", "315 / 117 us")),
                                      (ONE, "one CPU", ("0.460 / 122.6 us", "", "12 382 / 11 856 us", "316 / 117 us", "315 / 116 us")))
        for (name, shape), published in zip((("sequential", "sequential"), ("a thread a task", "thread"),
                                             ("a thread a task, held until all are made", "held_thread"),
                                             ("a coroutine a task", "coroutine"), ("generator with co_yield", "generator")), texts)),
        "clang computed one fib in place of 1000 in the sequential row, because it saw that all are the same; here it cannot. The "
        "document's threads spin until all are made, which is most of their figure. A runtime's coroutine may use all CPUs; bare's is the "
        "document's, one after the other. bare_gcc is the same program by g++."),
    Table("The threads that are held: a thread's creation, and its computation and join", tuple(
        Experiment(f"{name}, {where}", published, Term("fib_tasks", _fib("held_thread").params, threads, figure=figure))
        for threads, where, texts in ((MOST, "all CPUs", ("423.6 / 284.1 us", "18.7 / 16.7 us")),
                                      (ONE, "one CPU", ("12 034 / 11 716 us", "327 / 340 us")))
        for name, figure, published in zip(("creation", "computation and join"), ("creation_ns", "compute_ns"), texts)),
        "Those that are made give way in a loop until the last one is there, and so they take the CPUs from their maker: the more "
        "CPUs, the less. Between the two figures the program sleeps for 10 ms, which the time of a task above has in it."),
    Table("The steps of a life", (
        Experiment("the document's clock: mfence, rdtsc", "", _step("rdtsc")),
        Experiment("std::chrono::steady_clock::now()", "", _step("clock")),
        Experiment("operator new and delete of 48 bytes", "", _step("allocate")),
        Experiment("creation, 1000 alive", "17.9 / 17.9 ns", _step("create_live")),
        Experiment("destruction, 1000 alive", "31.4 / 33.9 ns", _step("destroy_live")),
        Experiment("creation and destruction", "", _step("create_destroy")),
        Experiment("creation and destruction, frame from a list", "", _step("create_destroy_pooled")),
        Experiment("creation, run to its end, destruction", "", _step("create_run_destroy")),
        Experiment("switch to a coroutine and back", "33.9 / 38.2 ns", _step("switch")),
        Experiment("co_yield to the reader and back", "41.4 / 37.5 ns", _step("co_yield")),
        Experiment("std::thread, created and joined", "423 593 / 284 072 ns (creation, 1000 that spin)", _step("thread"))),
        "The document read its clock around single steps, so each of its figures is one or two readings of the clock and a little more; "
        "its creation ends before and begins after the allocation. Here a million steps are in one interval."),
))

DOCUMENTS = (CREATION, FORKS, CACHE, DISPATCH, COROUTINES)


def compared_with(workload: str, params: Params) -> str:
    """A name that two cases share if a document takes the difference of their figures; their threads may differ."""
    key = case_key(workload, params, 0)
    return _compared().get(key, key)


@cache
def _compared() -> dict[str, str]:
    found: dict[str, str] = {}
    for experiment in (each for document in DOCUMENTS for table in document.tables for each in table.experiments):
        if experiment.minus is not None:
            over, under = (case_key(term.workload, term.params, 0) for term in (experiment.term, experiment.minus))
            name = found.get(under, under)
            found = {key: name if known == found.get(over) else known for key, known in found.items()} | {over: name, under: name}
    return found
