#!/usr/bin/python3
"""Checks that every C++ file is as clang-format 19 writes it; with --fix, rewrites those that are not."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import tree

# One version for all: another one formats differently.
FORMATTER = "clang-format-19"
FOLDERS = ("include", "src", "test", "examples", "bench", "lab", "tools")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=tree.ROOT)
    parser.add_argument("--fix", action="store_true", help="rewrite the files in place")
    options = parser.parse_args(arguments)
    if shutil.which(FORMATTER) is None:
        print(f"{FORMATTER} is missing: install the package {FORMATTER}, or run scripts/setup")
        return 1
    files = tree.sources(options.root, *FOLDERS)
    if not files:
        print("format: no C++ files found")
        return 1
    mode = ["-i"] if options.fix else ["--dry-run", "-Werror"]
    done = subprocess.run([FORMATTER, "--style=file", *mode, *files], cwd=options.root, check=False)
    if done.returncode != 0:
        print("format: run tools/check_format.py --fix")
        return 1
    print(f"format: {len(files)} files {'rewritten' if options.fix else 'are as they should be'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
