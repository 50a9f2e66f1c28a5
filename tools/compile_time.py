#!/usr/bin/python3
"""Measures what a compiler needs for a program, in turns: seconds of processor time and the most memory.

    tools/compile_time.py                          five coroutines with coflux.hpp beside one of Boost.Asio, -O2
    tools/compile_time.py --beside OLD             the same, and headers alone, beside those of another checkout

Prints the medians. docs/bench/compile_time.md has them with the machine.
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import sys
import tempfile
from pathlib import Path

import tree

PROGRAMS = Path("bench/compile_time")
HEADERS = ("coflux/core/fork.hpp", "coflux/coflux.hpp")


def compiled(command: list[str]) -> tuple[float, float]:
    """Processor seconds and MiB of a compiler and its children. Exits where it fails."""
    child = os.posix_spawnp(command[0], command, os.environ)
    _, status, used = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"tools/compile_time.py: failed: {shlex.join(command)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def commands(compiler: str, old: Path | None, scratch: Path) -> dict[str, list[str]]:
    """What is compiled, by name."""
    base = [compiler, "-std=c++20"]
    new = f"-I{tree.ROOT / 'include'}"
    program = ["-O2", "-c", "-o", str(scratch / "program.o")]
    named = {"five coroutines, coflux.hpp, -O2": [*base, new, *program, str(tree.ROOT / PROGRAMS / "five_coroutines.cpp")],
             "one coroutine, boost/asio.hpp, -O2": [*base, *program, str(tree.ROOT / PROGRAMS / "one_asio_coroutine.cpp")]}
    for header in HEADERS:
        source = scratch / f"{Path(header).stem}.cpp"
        source.write_text(f"#include <{header}>\n", encoding="utf-8")
        named[f"{header}, -fsyntax-only"] = [*base, new, "-fsyntax-only", str(source)]
        if old is not None:
            named[f"{header}, -fsyntax-only, {old}"] = [*base, f"-I{old / 'include'}", "-fsyntax-only", str(source)]
    return named


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="clang++-19", help="default: clang++-19")
    parser.add_argument("--turns", type=int, default=7, help="how often each is compiled (default: 7)")
    parser.add_argument("--beside", type=Path, metavar="OLD", help="another checkout, whose headers are compiled, too")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        named = commands(asked.compiler, asked.beside, Path(scratch))
        figures = {name: [] for name in named}
        for _ in range(asked.turns):
            for name, command in named.items():
                figures[name].append(compiled(command))
    for name, runs in figures.items():
        seconds, memory = (statistics.median(values) for values in zip(*runs))
        print(f"{name}: {seconds:.2f} s, {memory:.0f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
