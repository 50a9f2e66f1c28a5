#!/usr/bin/python3
"""Runs one example: it must exit with 0 and, where the file of expected output exists, print exactly that."""

from __future__ import annotations

import argparse
import difflib
import subprocess
import sys
from pathlib import Path


def problem(program: Path, expected: Path) -> str | None:
    done = subprocess.run([program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    printed = done.stdout.decode("utf-8", errors="replace")
    if done.returncode != 0:
        return f"{program.name} exited with {done.returncode}; it printed:\n{printed}"
    if not expected.exists():
        return None
    wanted = expected.read_text(encoding="utf-8")
    if printed == wanted:
        return None
    difference = difflib.unified_diff(wanted.splitlines(True), printed.splitlines(True), expected.name, "printed")
    return f"{program.name} printed something else:\n{''.join(difference)}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--expected", type=Path, required=True)
    parser.add_argument("program", type=Path)
    options = parser.parse_args(arguments)
    text = problem(options.program, options.expected)
    if text is not None:
        print(text)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
