#!/usr/bin/python3
"""Proves that the good twin of each case compiles, so that a case fails for the reason that it states and not for a typing
mistake.

    test/compile_fail/good_twins.py --out FILE --from LIST -- COMPILER [ARGUMENT]...

It writes all twins to one source, FILE, each in a namespace of its own behind its includes, and compiles that: most of a
compilation is what all of them share. Errors name the case and its line. LIST names a case on each line.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

TWIN = re.compile(r"^\s*#\s*if(?:n?def\s+COFLUX_GOOD\b|.*\bdefined\b.*\bCOFLUX_GOOD\b)", re.MULTILINE)
INCLUDE = re.compile(r"^\s*#\s*include\b")


def twin(source: Path) -> str:
    text = source.read_text(encoding="utf-8")
    if not TWIN.search(text):
        return ""
    lines = text.splitlines()
    head = 1 + max((number for number, line in enumerate(lines) if INCLUDE.match(line)), default=-1)
    return "\n".join([
        f'#line 1 "{source}"', *lines[:head],
        "#pragma GCC diagnostic push",
        # A case may be about a warning. Then its twin has none.
        *(['#pragma GCC diagnostic error "-Wunused-result"'] if "// expect-warning:" in text else []),
        f'namespace case_{source.stem} {{',
        f'#line {head + 1} "{source}"', *lines[head:],
        "}",
        "#pragma GCC diagnostic pop", ""])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--from", dest="cases", type=Path, required=True, metavar="LIST")
    parser.add_argument("compiler", nargs="+")
    options = parser.parse_args(arguments)

    twins = [text for case in options.cases.read_text(encoding="utf-8").split() if (text := twin(Path(case)))]
    options.out.write_text("".join(twins), encoding="utf-8")
    # To an object file: -fsyntax-only leaves static_asserts in coroutine bodies unchecked.
    done = subprocess.run([*options.compiler, "-std=c++20", "-DCOFLUX_GOOD", "-c", "-o", f"{options.out}.o", options.out],
                          check=False)
    if done.returncode != 0:
        print("a good twin (-DCOFLUX_GOOD) does not compile")
        return 1
    print(f"{len(twins)} good twins compile")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
