#!/usr/bin/python3
"""Writes one source of several test files, each in a namespace of its own, so that they can use the same names.

    test/unit/unite.py --out FILE --from FOLDER SOURCE...

FOLDER is where the compiler will stand: diagnostics name each file relative to it, in every clone alike. A test file
has one unnamed namespace, closed by a line `}  // namespace`.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

OPENED = re.compile(r"^namespace \{$", re.MULTILINE)
CLOSED = re.compile(r"^\}  // namespace$", re.MULTILINE)


def part(source: Path, folder: Path) -> str:
    text = source.read_text(encoding="utf-8")
    # On one line each, so that the lines' numbers stay.
    text, opened = OPENED.subn(f"namespace {source.stem}_cpp {{ namespace {{", text)
    text, closed = CLOSED.subn("}}  // namespace", text)
    if (opened, closed) != (1, 1):
        sys.exit(f"{source}: a test file has one unnamed namespace, opened by 'namespace {{' and closed by '}}  // namespace'")
    return f'#line 1 "{os.path.relpath(source, folder)}"\n{text}\n'


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--from", dest="folder", type=Path, required=True)
    options.add_argument("sources", type=Path, nargs="+")
    given = options.parse_args()
    given.out.write_text("".join(part(source, given.folder) for source in given.sources), encoding="utf-8")


if __name__ == "__main__":
    main()
