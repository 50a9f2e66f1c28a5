#!/usr/bin/python3
"""Holds the sizes of files, and that each public header has a test of its name.

The limits and the exceptions, each with its reason, stand in tools/layers.toml.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from pathlib import Path, PurePosixPath

import tree


def line_count(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def size_findings(root: Path, limits: dict[str, int]) -> tuple[list[str], list[str]]:
    """Errors and notices on the length of files."""
    errors, notices = [], []
    for path in tree.sources(root, "include", "src"):
        count = line_count(root / path)
        if count > limits["error_lines"]:
            errors.append(f"{path}:{count}: {count} lines, the limit is {limits['error_lines']}")
        elif count > limits["notice_lines"]:
            notices.append(f"{path}: {count} lines, more than {limits['notice_lines']}")
    for path in tree.sources(root, "examples"):
        count = line_count(root / path)
        if count > limits["example_lines"]:
            errors.append(f"{path}:{count}: {count} lines, the limit of an example is {limits['example_lines']}")
    return errors, notices


def test_of(header: PurePosixPath) -> PurePosixPath:
    """include/coflux/<layer>/[…/]x.hpp is tested by test/unit/<layer>/[…/]x_test.cpp."""
    inside = header.relative_to("include/coflux")
    return PurePosixPath("test/unit") / inside.with_name(inside.stem + "_test.cpp")


def test_errors(root: Path, untested: dict[str, str]) -> list[str]:
    """Headers without a test, and exceptions that except nothing."""
    errors = []
    public = [PurePosixPath(path) for path in tree.sources(root, "include") if path.suffix == ".hpp"]
    own_test = {str(path): (root / test_of(path)).exists()
                for path in public if len(path.parts) > 3 and "detail" not in path.parts}
    for header, tested in own_test.items():
        if not tested and header not in untested:
            errors.append(f"{header}:1: no {test_of(PurePosixPath(header))}")
    for header, reason in untested.items():
        if own_test.get(header, True):
            errors.append(f"tools/layers.toml: [untested] names {header}, which has a test or is no public header")
        if not reason.strip():
            errors.append(f"tools/layers.toml: [untested] gives no reason for {header}")
    return errors


def check(root: Path, data: dict) -> tuple[list[str], list[str]]:
    errors, notices = size_findings(root, data["limits"])
    return errors + test_errors(root, data["untested"]), notices


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=tree.ROOT)
    root = parser.parse_args(arguments).root
    errors, notices = check(root, tomllib.loads((tree.ROOT / "tools/layers.toml").read_text(encoding="utf-8")))
    for notice in notices:
        print(f"notice: {notice}")
    for error in errors:
        print(error)
    print(f"limits: {len(errors)} violations, {len(notices)} notices")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
