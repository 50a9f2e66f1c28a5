#!/usr/bin/python3
"""Checks what no file may say, and that the programs of the README and the tour are those that ctest compiles and runs.

No mark of unfinished work without the number of an issue, no host name of a package registry (a mirror must be able to
take its place), no path of a developer's machine, and in the library no std::noop_coroutine(), whose handles cannot be
compared. A sentence of a comment or a page begins with its subject: not with
"Of", "What" or "For a"; and nothing "stands" where it is. Each relative link of a page leads to a file and a heading.
The examples are numbered once, from 01 on.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import tree

# Assembled from parts, so that this file passes its own check.
MARKS = re.compile(r"\b(" + "|".join(("TO" "DO", "FIX" "ME", "X" "XX", "HA" "CK")) + r")\b")
ISSUE = re.compile(r"#\d+")
REGISTRIES = re.compile(r"(?<![\w-])(" + "|".join(re.escape(".".join(parts)) for parts in (
    ("crates", "io"), ("pypi", "org"), ("pythonhosted", "org"), ("deb", "debian", "org"), ("security", "debian", "org"),
    ("snapshot", "debian", "org"), ("archive", "ubuntu", "com"), ("registry", "npmjs", "org"), ("proxy", "golang", "org"),
    ("center", "conan", "io"), ("center2", "conan", "io"))) + r")(?![\w-])", re.IGNORECASE)
MACHINE_PATH = re.compile(r"(?:^|(?<=[\s\"'`(=:]))/(?:work|root)(?=/|$|[\s\"'`)])")
LIBRARY = ("include/", "src/")
NOOP = re.compile(r"^(?!\s*//).*\bnoop_coroutine\(\)")

# Sentences that hide their subject. A number of words would be right after "For" ("For example").
TURNED = re.compile(r"(?:^|(?<=[.:;!?)] ))(?:Of|What|For (?:a|an|all|each|it|that|the(?! same)|them|themselves|these|this|those|what))\b(?! is\?)")
STANDS = re.compile(r"\bstands?\b(?! still|\()")
COMMENT = re.compile(r"(?:^|\s)//[/<]*(?!\s?expect: )\s?(.*)$")  # not the message that a case of compile_fail expects
NAMES = re.compile(r"`[^`]*`|\[[\w.]+\]")  # code, and the marks of models
PROSE = (".hpp", ".cpp", ".md")
PROSE_FOLDERS = ("include", "src", "test", "examples", "docs", "bench", "lab", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")

README = "README.md"
FIRST_EXAMPLE = "examples/01_hello.cpp"
TOUR = "docs/tour"
PROGRAMS = ("examples", "lab/runtimes/coflux")  # what the tour quotes
LINK = re.compile(r"\]\((?!\w+:)([^)\s]+)\)")
CPP_BLOCK = re.compile(rb"^```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def line_problems(file: str, line: str) -> list[str]:
    problems = []
    if (mark := MARKS.search(line)) and not ISSUE.search(line):
        problems.append(f"{mark[0]} without the number of an issue (#12)")
    # A lock file names its registry in a format that is not ours to choose.
    if not file.endswith(".lock") and (host := REGISTRIES.search(line)):
        problems.append(f"host name of a package registry: {host[0]}")
    if path := MACHINE_PATH.search(line):
        problems.append(f"path of one machine: {path[0]}")
    if file.startswith(LIBRARY) and NOOP.search(line):
        problems.append("std::noop_coroutine(), where detail::no_coroutine() is the same handle at each call")
    return problems


def text_problems(root: Path) -> list[str]:
    problems = []
    for path in tree.files(root):
        try:
            text = (root / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            problems += [f"{path}:{number}: {problem}" for problem in line_problems(str(path), line)]
    return problems


def said_in(file: str, text: str) -> list[str]:
    """Line by line what a reader reads: the comments of a source; a page without its code, headings and tables."""
    if not file.endswith(".md"):
        return [NAMES.sub("``", found[1]) if (found := COMMENT.search(line)) else "" for line in text.splitlines()]
    lines, in_code = [], False
    for line in text.splitlines():
        in_code ^= line.lstrip().startswith("```")
        left_out = in_code or line.startswith(("#", "|", "    ", "```"))
        lines.append("" if left_out else NAMES.sub("``", line).lstrip("* "))
    return lines


def prose_problems(root: Path) -> list[str]:
    problems = []
    for path in tree.files(root):
        if path.parts[0] not in PROSE_FOLDERS or path.suffix not in PROSE:
            continue
        for number, said in enumerate(said_in(str(path), (root / path).read_text(encoding="utf-8")), start=1):
            problems += [f"{path}:{number}: the subject is not first: {found[0]} …" for found in TURNED.finditer(said)]
            problems += [f"{path}:{number}: \"{found[0]}\" in place of a plain word" for found in STANDS.finditer(said)]
    return problems


def anchors(text: str) -> set[str]:
    """The headings of a page as a link names them."""
    names = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)]
    return set(names)


def link_problems(root: Path) -> list[str]:
    problems = []
    for path in (path for path in tree.files(root) if path.suffix == ".md"):
        for number, line in enumerate((root / path).read_text(encoding="utf-8").splitlines(), start=1):
            for link in LINK.findall(re.sub(r"`[^`]*`", "", line)):
                name, _, anchor = link.partition("#")
                target = (root / path).parent / name if name else root / path
                if not target.exists():
                    problems.append(f"{path}:{number}: no such file: {link}")
                elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text(encoding="utf-8")):
                    problems.append(f"{path}:{number}: no such heading: {link}")
    return problems


def example_problems(root: Path) -> list[str]:
    numbers = sorted(path.name[:2] for path in (root / "examples").glob("[0-9][0-9]_*.cpp"))
    wanted = [f"{number:02}" for number in range(1, len(numbers) + 1)]
    return [] if numbers == wanted else [f"examples: not numbered once, from 01 on: {', '.join(sorted(set(numbers) ^ set(wanted)))}"]


def readme_problems(root: Path) -> list[str]:
    readme, example = root / README, root / FIRST_EXAMPLE
    missing = [name for name, path in ((README, readme), (FIRST_EXAMPLE, example)) if not path.is_file()]
    if missing:
        return [f"{name}:1: does not exist" for name in missing]
    text = readme.read_bytes()
    block = CPP_BLOCK.search(text)
    if block is None:
        return [f"{README}:1: no ```cpp block"]
    if block[1] != example.read_bytes():
        line = text.count(b"\n", 0, block.start()) + 1
        return [f"{README}:{line}: the first ```cpp block is not {FIRST_EXAMPLE}, byte for byte"]
    return []


def stripped_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


def tour_problems(root: Path) -> list[str]:
    """The blocks of the tour, each of which must be in a program, in whatever indentation."""
    programs = [stripped_lines((root / path).read_text(encoding="utf-8"))
                for path in tree.sources(root, *(folder.split("/")[0] for folder in PROGRAMS))
                if str(path).startswith(PROGRAMS)]
    problems = []
    for page in sorted((root / TOUR).glob("*.md")):
        text = page.read_bytes()
        for block in CPP_BLOCK.finditer(text):
            lines = stripped_lines(block[1].decode())
            if not any(lines == program[i:i + len(lines)] for program in programs for i in range(len(program))):
                line = text.count(b"\n", 0, block.start()) + 1
                problems.append(f"{page.relative_to(root)}:{line}: this block is in no file of {' or '.join(PROGRAMS)}")
    return problems


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=tree.ROOT)
    root = parser.parse_args(arguments).root
    problems = text_problems(root) + prose_problems(root) + link_problems(root) + example_problems(root) + readme_problems(root) + tour_problems(root)
    for problem in problems:
        print(problem)
    print(f"text: {len(problems)} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
