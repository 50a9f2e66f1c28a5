#!/usr/bin/python3
"""Proves that one program does not compile, and that the compiler says why in one readable sentence.

The first lines of a case are comments:

    // expect: <text>           the first line of the compiler's output that contains "error:" must contain <text>
    // expect-warning: <text>   the same, and the case is compiled with -Werror=unused-result

Several of them must all stand in that one line. Lines between `#ifdef COFLUX_GOOD` and `#endif` are the case's good twin:
with -DCOFLUX_GOOD the case must compile, which proves that it fails for the stated reason and not for a typing mistake.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

SHOWN_LINES = 12
DIRECTIVE = re.compile(r"//\s*(expect|expect-warning):\s*(\S.*?)\s*$")
TWIN = re.compile(r"^\s*#\s*if(?:n?def\s+COFLUX_GOOD\b|.*\bdefined\b.*\bCOFLUX_GOOD\b)", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    expected: tuple[str, ...]
    discards: bool
    has_twin: bool


def parse(text: str) -> Case:
    expected: list[str] = []
    discards = False
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        if match := DIRECTIVE.match(line):
            discards = discards or match[1] == "expect-warning"
            expected.append(match[2])
    return Case(tuple(expected), discards, TWIN.search(text) is not None)


def compile_case(compiler: str, includes: list[str], source: Path, flags: list[str]) -> tuple[bool, list[str]]:
    """Compiles to an object file: -fsyntax-only leaves static_asserts in coroutine bodies unchecked."""
    with tempfile.TemporaryDirectory() as folder:
        command = [compiler, "-std=c++20", "-fdiagnostics-color=never", *flags]
        command += [f"-I{include}" for include in includes]
        command += ["-c", "-o", os.path.join(folder, "case.o"), str(source)]
        # The C locale keeps the compiler's quotation marks ASCII.
        done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                              env={**os.environ, "LC_ALL": "C"}, check=False)
    return done.returncode == 0, (done.stderr + done.stdout).splitlines()


def first_error(lines: list[str]) -> str | None:
    return next((line for line in lines if "error:" in line), None)


def failure(case: Case, compiler: str, includes: list[str], source: Path, prelude: str | None = None) -> str | None:
    """What is wrong with the case, or None."""
    if not case.expected:
        return f"{source}: its first lines hold no '// expect: <text>'"
    flags = ["-include", prelude] if prelude else []
    if case.discards:
        flags.append("-Werror=unused-result")

    compiled, lines = compile_case(compiler, includes, source, flags)
    expectation = "\n".join(f"expected in the first error: {text}" for text in case.expected)
    shown = "\n".join(f"    {line}" for line in lines[:SHOWN_LINES])
    if compiled:
        return f"{source}: it compiles\n{expectation}"
    error = first_error(lines)
    if error is None or not all(text in error for text in case.expected):
        return f"{source}: the first error is another\n{expectation}\ngot: {error}\nthe compiler's first lines:\n{shown}"

    if case.has_twin:
        compiled, lines = compile_case(compiler, includes, source, [*flags, "-DCOFLUX_GOOD"])
        if not compiled:
            shown = "\n".join(f"    {line}" for line in lines[:SHOWN_LINES])
            return f"{source}: its good twin (-DCOFLUX_GOOD) does not compile\nthe compiler's first lines:\n{shown}"
    return None


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", action="append", default=[], metavar="DIR")
    parser.add_argument("--prelude", metavar="HEADER", help="include it first; its precompiled form is taken if there is one")
    parser.add_argument("source", type=Path)
    options = parser.parse_args(arguments)

    case = parse(options.source.read_text(encoding="utf-8"))
    problem = failure(case, options.compiler, options.include, options.source, options.prelude)
    if problem is not None:
        print(problem)
        return 1
    twin = "; the good twin compiles" if case.has_twin else ""
    print(f"{options.source.name}: refused with the expected sentence{twin}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
