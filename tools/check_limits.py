#!/usr/bin/python3
"""Holds the sizes of files, of folders of sources and of the functions of the core, and that each public header has a test of
its name.

The limits and the exceptions, each with its reason, are in tools/layers.toml.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections import Counter
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


def folder_findings(root: Path, limits: dict[str, int]) -> list[str]:
    """Folders of `src` with more files than the limit."""
    counts = Counter(path.parent for path in tree.sources(root, "src"))
    return [f"{folder}:1: {count} files, the limit of a folder is {limits['folder_files']}"
            for folder, count in sorted(counts.items()) if count > limits["folder_files"]]


# The parts of a file's text that are no code: comments, strings, characters, directives of the preprocessor.
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z])\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.S | re.M)
SCOPE = re.compile(r"(?:^|\s)(?:namespace|class|struct|union|enum|extern)\b")
TEMPLATE = re.compile(r"template\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>")


def without_parentheses(text: str) -> str:
    while (shorter := re.sub(r"\([^()]*\)", "", text)) != text:
        text = shorter
    return text


def functions(text: str) -> list[tuple[int, int]]:
    """The first line of each function that is defined in `text`, and how many it has."""
    code = NOT_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    found: list[tuple[int, int]] = []
    depth = 0  # of braces in the function around this place; 0: no function is around it
    begins = 0  # where the present declaration begins
    for at in re.finditer(r"[{};]", code):
        if depth == 0 and at[0] == "{":
            declaration = code[begins : at.start()]
            if "(" in declaration and not SCOPE.search(without_parentheses(TEMPLATE.sub("", declaration))):
                depth = 1
                begins += len(declaration) - len(declaration.lstrip())
                continue
        elif depth > 0 and at[0] != ";":
            depth += 1 if at[0] == "{" else -1
            if depth == 0:
                first = code.count("\n", 0, begins) + 1
                found.append((first, code.count("\n", 0, at.start()) + 2 - first))
        if depth == 0:
            begins = at.end()
    return found


def core_findings(root: Path, limits: dict[str, int]) -> list[str]:
    """The functions of the core have a limit of their own: it is what a reader of the library begins with."""
    errors = []
    for path in tree.sources(root, "include", "src"):
        if not str(path).startswith(("include/coflux/core/", "src/core/")):
            continue
        text = (root / path).read_text(encoding="utf-8")
        errors += [f"{path}:{first}: a function of {lines} lines, the limit is {limits['core_function_lines']}"
                   for first, lines in functions(text) if lines > limits["core_function_lines"]]
    return errors


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
    errors += folder_findings(root, data["limits"]) + core_findings(root, data["limits"]) + test_errors(root, data["untested"])
    return errors, notices


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
