"""The runtimes: which executable speaks for each, and what to install where there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path


@dataclass(frozen=True)
class Runtime:
    """One contender."""

    name: str
    # Below the build directory.
    executable: str
    # What to do where the executable is missing.
    remedy: str
    # Comes after `describe` or `run`.
    arguments: tuple[str, ...] = ()
    # Hand-written code without a library: what is possible, not a rival to beat.
    floor: bool = False
    # One that runs on a single thread whatever --threads says.
    note: str = field(default="")
    # Executables that this one goes on as for some of the workloads: also of what is measured.
    others: tuple[str, ...] = ()
    # The runtime whose row `compute` of cachecalc its compiler made, where that is another compiler than the floor's.
    computes: str | None = None
    # The workloads that it has, where it is made for these alone: it has no row of others.
    only: tuple[str, ...] = ()
    # What its experts take for malloc; the main verdict uses it. allocators.py has the names.
    allocator: str = "glibc"

    def command(self, build: Path, verb: str) -> list[str]:
        return [str(build / self.executable), verb, *self.arguments]

    def digest(self, build: Path) -> str:
        """Another one where any of what is measured was built anew."""
        present = [path for path in (build / name for name in (self.executable, *self.others)) if path.is_file()]
        return sha256(b"".join(sha256(path.read_bytes()).digest() for path in present)).hexdigest()

    def unavailable(self, build: Path) -> str | None:
        """Why this runtime cannot be run, or None. Where scripts/lab knows more than the remedy, it leaves a file."""
        executable = build / self.executable
        told = build / "unavailable" / executable.name
        if told.is_file():
            return told.read_text(encoding="utf-8").strip()
        return None if executable.is_file() else self.remedy


NOT_BUILT = "not built: scripts/lab builds it from lab/runtimes/"
CARGO = "install cargo-web (cargo 1.71 or newer)"
# The same adapter with Tokio's I/O driver in it, which the other rows shall not have; and in a debug build.
TOKIO_OTHERS = ("cargo/io/release/lab_tokio", "cargo/debug/lab_tokio")
FOLLY = "no Folly where CMake looks: build and install it, and name its prefix in the environment variable CMAKE_PREFIX_PATH"
GO = "install golang-go (Go 1.19 or newer)"
# Fork-join coroutines that Debian does not package.
UNPACKAGED = "not packaged: install it from {} to a prefix, and name that in the environment's CMAKE_PREFIX_PATH"
# The allocator for all that allocate by malloc: up to 2.2 times less CPU an item than with glibc's, and a tie with
# mimalloc but for Asio's nqueens (lab/README.md). Coflux's frames come from its own pool; blocks that the workloads
# allocate do not.
BEST = "tcmalloc"
SEASTAR = "not built: scripts/lab --with seastar, as root, makes a root of Debian sid and builds it there (3 minutes, 230 MB)"
# The allocator of a runtime that never calls malloc, or is it: a preloaded one would be loaded, and not used.
OWN = "own"
JAVA = "install default-jdk-headless and maven"
# The baseline of every ratio.
COFLUX = "coflux"

RUNTIMES: dict[str, Runtime] = {runtime.name: runtime for runtime in (
    Runtime("bare", "bin/lab_bare", f"{NOT_BUILT}bare", floor=True,
            note="hand-written coroutines without a library: the floor, not a contender"),
    Runtime("std", "bin/lab_std", f"{NOT_BUILT}std"),
    Runtime(COFLUX, "bin/lab_coflux", f"{NOT_BUILT}coflux", allocator=BEST),
    Runtime("asio", "bin/lab_asio", "install libboost1.81-dev", allocator=BEST),
    Runtime("tbb", "bin/lab_tbb", "install libtbb-dev", allocator=BEST),
    Runtime("libfork", "bin/lab_libfork", UNPACKAGED.format("github.com/ConorWilliams/libfork"), allocator=BEST,
            note="fork and join alone, with continuation stealing"),
    Runtime("toomanycooks", "bin/lab_toomanycooks", UNPACKAGED.format("github.com/tzcnt/TooManyCooks"), allocator=BEST,
            note="its adapter has the rows of fork and join"),
    Runtime("moodycamel", "bin/lab_moodycamel", "install libconcurrentqueue-dev", allocator=BEST,
            note="a queue between threads of the system, not a runtime: channels only"),
    Runtime("tokio", "cargo/release/lab_tokio", CARGO, ("--runtime", "tokio"), others=TOKIO_OTHERS, computes="tokio_ct", allocator=BEST),
    Runtime("tokio_ct", "cargo/release/lab_tokio", CARGO, ("--runtime", "tokio_ct"), others=TOKIO_OTHERS, computes="tokio_ct",
            allocator=BEST, note="Tokio's current-thread scheduler: one thread, whatever the row's threads"),
    Runtime("rayon", "cargo/rayon/release/lab_rayon", CARGO, allocator=BEST, 
            only=("fib", "fork_pool", "matmul", "nqueens", "skynet", "spawn_join", "unbalanced"),
            note="fork and join alone, of threads that block in a join and work meanwhile"),
    Runtime("folly", "bin/lab_folly", FOLLY, allocator=BEST),
    Runtime("libevent", "bin/lab_libevent", "install libevent-dev", allocator=BEST,
            note="callbacks for I/O, not a runtime for tasks: rows of I/O only"),
    Runtime("zeromq", "bin/lab_zeromq", "install libzmq3-dev", allocator=BEST,
            note="messages between threads and processes: echo only; a thread of its own beside the row's"),
    Runtime("go", "bin/lab_go", GO, computes="go", allocator=OWN,
            note="its memory is its own and collected: nothing stands for a malloc that it never calls"),
    Runtime("seastar", "bin/lab_seastar", SEASTAR, computes="seastar", allocator=OWN,
            note="a thread and a part of the memory for each shard; it stands for malloc, so nothing can stand for it"),
    Runtime("timely", "cargo/timely/release/lab_timely", CARGO, allocator=BEST,
            note="dataflows of streams, not a runtime for tasks: nexmark only, on one worker"),
    Runtime("bytewax", "bin/lab_bytewax", f"{NOT_BUILT}bytewax", only=("nexmark", "stream_scenarios"),
            others=tuple(f"bytewax/{each}.py" for each in ("adapter", "events", "flows", "nexmark", "scenarios")),
            note="dataflows in Python; workers are threads of one interpreter"),
    Runtime("kafka_streams", "bin/lab_kafka_streams", JAVA, others=("kafka_streams/adapter.jar",), only=("kafka_job",), allocator=OWN,
            note="jobs on Kafka alone; its heap is its own and collected"),
    Runtime("bare_gcc", "bin/lab_bare_gcc", "install g++", floor=True, computes="bare_gcc", only=("coroutine_costs", "fib_tasks"),
            note="the hand-written coroutines and the threads of bare and std, by g++"),
)}
