#!/usr/bin/python3
"""Runs a compiler, and writes beside the precompiled header FILE that it makes a FILE.sum of what went into it.

    cmake/precompile.py --root=FOLDER COMPILER ARGUMENT...

ccache takes the sum for the header (CCACHE_PCH_EXTSUM), which names its checkout where clang wrote it; the sum is the
same in each checkout FOLDER of the same sources, and in each build tree, where the compiler runs.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path


def value_of(option: str, arguments: list[str]) -> Path:
    return Path(arguments[arguments.index(option) + 1])


def sum_of(root: str, arguments: list[str]) -> str:
    """A hash of the compiler, its arguments and the files that it read."""
    total = hashlib.sha256()
    version = subprocess.run([arguments[0], "--version"], capture_output=True, text=True, check=True).stdout
    _, read = value_of("-MF", arguments).read_text(encoding="utf-8").replace("\\\n", " ").split(":", 1)
    for part in (version, *arguments, *read.split()):
        total.update(part.replace(os.getcwd(), "").replace(root, "").encode() + b"\0")
    for file in read.split():
        text = Path(file).read_bytes().replace(os.getcwd().encode(), b"").replace(root.encode(), b"")
        total.update(hashlib.sha256(text).digest())
    return total.hexdigest()


def main() -> int:
    root = sys.argv[1].removeprefix("--root=")
    arguments = sys.argv[2:]
    status = subprocess.run(arguments, check=False).returncode
    if status == 0 and "-o" in arguments and value_of("-o", arguments).suffix == ".pch":
        value_of("-o", arguments).with_suffix(".pch.sum").write_text(sum_of(root, arguments) + "\n", encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
