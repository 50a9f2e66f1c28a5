#!/usr/bin/python3
"""Proves that one program does not compile, and that the compiler says why in one readable sentence.

The first lines of a case are comments:

    // expect: <text>           the first line of the compiler's output that contains "error:" must contain <text>
    // expect-warning: <text>   the same, and the case is compiled with -Werror=unused-result

Several of them must all stand in that one line. Lines between `#ifdef COFLUX_GOOD` and `#endif` are the case's good twin:
with -DCOFLUX_GOOD the case must compile, which good_twins.py proves of all cases at once.

It runs once for each case, so it goes without modules that take longer to load than a case takes to compile.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

SHOWN_LINES = 12
DIRECTIVE = re.compile(r"//\s*(expect|expect-warning):\s*(\S.*?)\s*$")


class Case:
    def __init__(self, text: str) -> None:
        self.expected: list[str] = []
        self.discards = False
        for line in text.splitlines():
            if not line.startswith("//"):
                break
            if match := DIRECTIVE.match(line):
                self.discards = self.discards or match[1] == "expect-warning"
                self.expected.append(match[2])


def run_compiler(command: list[str]) -> tuple[bool, list[str]]:
    """Whether it compiles, and what the compiler says."""
    # The C locale keeps the compiler's quotation marks ASCII.
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          env={**os.environ, "LC_ALL": "C"}, check=False)
    return done.returncode == 0, done.stdout.splitlines()


def failure(source: str, command: list[str]) -> str | None:
    """What is wrong with the case, or None."""
    with open(source, encoding="utf-8") as file:
        case = Case(file.read())
    if not case.expected:
        return f"{source}: its first lines hold no '// expect: <text>'"

    # No code is made of a wrong program. Where the compiler did not refuse one without making code, this would say that
    # it compiles.
    flags = ["-std=c++20", "-fdiagnostics-color=never", "-fmax-errors=1", "-fsyntax-only"]
    if case.discards:
        flags.append("-Werror=unused-result")
    compiled, lines = run_compiler([*command, *flags, source])
    expectation = "\n".join(f"expected in the first error: {text}" for text in case.expected)
    if compiled:
        return f"{source}: it compiles\n{expectation}"
    error = next((line for line in lines if "error:" in line), None)
    if error is None or not all(text in error for text in case.expected):
        shown = "\n".join(f"    {line}" for line in lines[:SHOWN_LINES])
        return f"{source}: the first error is another\n{expectation}\ngot: {error}\nthe compiler's first lines:\n{shown}"
    return None


def main(arguments: list[str]) -> int:
    if len(arguments) < 2:
        print("usage: run_case.py SOURCE COMPILER [ARGUMENT]...", file=sys.stderr)
        return 2
    source, *command = arguments
    problem = failure(source, command)
    print(problem or f"{os.path.basename(source)}: refused with the expected sentence")
    return 0 if problem is None else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
