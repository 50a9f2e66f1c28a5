#!/usr/bin/python3
"""Prints the files that coverage is worst in, from gcovr's JSON summary, and fails below the given percentages."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

WORST = 15


def percent(part: int, whole: int) -> float:
    return 100.0 if whole == 0 else 100.0 * part / whole


def table(files: list[dict]) -> list[str]:
    """The files with most that did not run, lines and branches together."""
    def missing(file: dict) -> int:
        return file["line_total"] - file["line_covered"] + file["branch_total"] - file["branch_covered"]

    rows = [f"{'lines':>14} {'branches':>14}  file"]
    for file in sorted(files, key=lambda file: (-missing(file), file["filename"]))[:WORST]:
        if missing(file) == 0:
            break
        lines = f"{file['line_covered']}/{file['line_total']}"
        branches = f"{file['branch_covered']}/{file['branch_total']}"
        rows.append(f"{lines:>14} {branches:>14}  {file['filename']}")
    return rows


def problems(summary: dict, lines: float, branches: float) -> list[str]:
    found = []
    if summary["line_total"] == 0:
        return ["nothing was measured"]
    for name, least in (("line", lines), ("branch", branches)):
        reached = percent(summary[f"{name}_covered"], summary[f"{name}_total"])
        if reached < least:
            found.append(f"{name} coverage is {reached:.1f} %, less than {least:g} %")
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=float, required=True)
    parser.add_argument("--branches", type=float, required=True)
    parser.add_argument("summary", type=Path)
    options = parser.parse_args(arguments)
    summary = json.loads(options.summary.read_text(encoding="utf-8"))
    for row in table(summary["files"]):
        print(row)
    for name in ("line", "branch"):
        covered, total = summary[f"{name}_covered"], summary[f"{name}_total"]
        print(f"coverage: {name} {covered} of {total}, {percent(covered, total):.1f} %")
    found = problems(summary, options.lines, options.branches)
    for problem in found:
        print(f"coverage: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
