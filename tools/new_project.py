#!/usr/bin/python3
"""Makes a project that uses Coflux: `scripts/new`. It is a copy of tools/new_project with its own name."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from pathlib import Path

import tree

TEMPLATE = tree.ROOT / "tools/new_project"
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# They are targets of the template, of Coflux or of CMake.
TAKEN = re.compile(r"coflux\w*|echo_test|test|all|install|clean|help|edit_cache|rebuild_cache")


def compiler() -> str:
    """The first one on this machine that Coflux takes, by name; g++ where there is none."""
    return next((name for name in ("clang++-19", "g++-14", "clang++-18") if shutil.which(name)), "g++")


def make(folder: Path, coflux: Path) -> None:
    """Raises OSError."""
    values = {"@NAME@": folder.name, "@COFLUX@": str(coflux), "@COMPILER@": compiler()}
    for source in sorted(path for path in TEMPLATE.rglob("*") if path.is_file()):
        text = source.read_text(encoding="utf-8")
        for mark, value in values.items():
            text = text.replace(mark, value)
        target = folder / source.relative_to(TEMPLATE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="scripts/new", usage="scripts/new FOLDER", description="Makes a project that uses Coflux in a new folder: a program whose main function is a "
        "coroutine, a test on a simulated network, CMake, and a file for CI. Its README says how it is built.")
    parser.add_argument("folder", metavar="FOLDER", type=Path, nargs="*", help="the new folder; its last part is the project's name")
    chosen = parser.parse_args()
    if len(chosen.folder) != 1:
        parser.error("it takes one FOLDER")
    folder = chosen.folder[0].absolute()
    if not NAME.fullmatch(folder.name) or TAKEN.fullmatch(folder.name):
        parser.error(f"'{folder.name}' is no name of a project: letters, digits and _, none that CMake or Coflux has taken")
    if folder.exists():
        parser.error(f"{folder} is there already")
    try:
        make(folder, tree.ROOT)
    except OSError as error:
        print(f"scripts/new: {error}", file=sys.stderr)
        return 1
    print(f"scripts/new: made {folder}; its README.md says how it is built")
    return 0


if __name__ == "__main__":
    sys.exit(main())
