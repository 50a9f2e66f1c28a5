#!/usr/bin/python3
"""Lists the docstrings of public headers whose sections are not one a line, in the house's order (CONTRIBUTING.md,
"Docstrings").

    tools/docstrings.py            the list; with --strict it fails where there is one
    tools/docstrings.py --fix      writes them so; with names of files only these
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import tree

SECTIONS = ("Shapes", "Units", "Returns", "Resumes", "Errors", "Stops", "Threads", "Costs", "Pre", "Lifetime", "Source", "Example")
# Words that some docstrings use beside those, and the section that they belong to.
NEAR = {"Ownership": "Shapes", "Fair": "Resumes"}
WIDTH = 120
NAMES = "|".join(SECTIONS + tuple(NEAR))
LABEL = re.compile(rf"(?:^|(?<=[.;:!?)`] ))((?:{NAMES})(?:(?:, | and )(?:{NAMES}))*): ")
COMMENT = re.compile(r"^[ \t]*///(?!/)<? ?(.*)$")
PARAGRAPH = re.compile(r"^(?:[*-] |\||  )")  # a line that stands for itself: an element of a list, a row of a table


@dataclass
class Docstring:
    """The text, in paragraphs, and the sections with the names that they have in common."""
    text: list[str] = field(default_factory=list)
    sections: list[tuple[tuple[str, ...], str]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.text or self.sections)

    def ordered(self) -> list[tuple[tuple[str, ...], str]]:
        """The sections in the house's order, whatever the header's."""
        return sorted(self.sections, key=lambda section: rank(section[0][0]))


def rank(name: str) -> int:
    return SECTIONS.index(NEAR.get(name, name))


def lines_of(comment: str) -> list[str]:
    """The text of a comment of `///` lines; what stands between two of them, such as a plain comment, is left out."""
    return [match[1].rstrip() for line in comment.splitlines() if (match := COMMENT.match(line))]


def parse(comment: str) -> Docstring:
    doc = Docstring()
    open_paragraph = False  # the last of what there is, be it text or a section, goes on
    for line in lines_of(comment):
        if not line:
            open_paragraph = False
            continue
        at = 0
        pieces: list[tuple[tuple[str, ...] | None, str]] = []
        names: tuple[str, ...] | None = None
        for label in LABEL.finditer(line):
            if label.start() or names:
                pieces.append((names, line[at:label.start()].rstrip()))
            names, at = tuple(re.split(", | and ", label[1])), label.end()
        pieces.append((names, line[at:]))
        for names, text in pieces:
            if names:
                doc.sections.append((names, text))
            elif open_paragraph and doc.sections:
                last, before = doc.sections[-1]
                doc.sections[-1] = (last, f"{before} {text}")
            elif open_paragraph and doc.text and not PARAGRAPH.match(text):
                doc.text[-1] += f" {text}"
            elif doc.sections:
                last, before = doc.sections[-1]
                doc.sections[-1] = (last, f"{before}\n\n{text}")
            else:
                doc.text.append(text)
            open_paragraph = True
    return doc


def comments(text: str) -> list[tuple[int, str]]:
    """The docstrings of a file, each with the number of its first line."""
    found: list[tuple[int, list[str]]] = []
    before = False
    for number, line in enumerate(text.splitlines(), start=1):
        is_comment = bool(COMMENT.match(line))
        if is_comment and before:
            found[-1][1].append(line)
        elif is_comment:
            found.append((number, [line]))
        before = is_comment
    return [(number, "\n".join(lines)) for number, lines in found]


def order_problems(first_line: int, comment: str) -> list[tuple[int, str]]:
    problems = []
    last = ""
    for number, line in enumerate(lines_of(comment), start=first_line):
        for label in LABEL.finditer(line):
            name = label[1].split(",")[0].split(" and ")[0]
            if label.start():
                problems.append((number, f"{name} is not at the beginning of a line"))
            if name in NEAR:
                problems.append((number, f"{name} is no section"))
            if last and rank(name) < rank(last):
                problems.append((number, f"{name} comes behind {last}"))
            last = name
    return problems


def written(comment: str) -> str:
    """The docstring with its sections in order, one a line; of those with one name, the texts one after the other."""
    first = comment.splitlines()[0]
    start = first[:len(first) - len(first.lstrip())] + "///"
    doc = parse(comment)
    sections: dict[tuple[str, ...], str] = {}
    for names, text in doc.ordered():
        known = tuple(NEAR.get(name, name) for name in names)
        sections[known] = f"{sections[known]} {text[:1].upper()}{text[1:]}" if known in sections else text
    paragraphs = [*doc.text]
    if doc.text and sections and "" in lines_of(comment):
        paragraphs.append("")
    paragraphs += [f"{', '.join(names)}: {text}" for names, text in sections.items()]
    lines: list[str] = []
    for number, paragraph in enumerate(paragraphs):
        if number and number < len(doc.text):
            lines.append(start)
        for piece_number, piece in enumerate(paragraph.split("\n\n")):
            lines += [start] if piece_number else []
            lines += textwrap.wrap(piece, WIDTH, initial_indent=f"{start} ", subsequent_indent=f"{start} ",
                                   break_long_words=False, break_on_hyphens=False) or [start]
    return "\n".join(lines)


def fixed(text: str) -> str:
    """The header with its docstrings in order; those with lists or drawings are left as they are."""
    lines = text.split("\n")
    for first_line, comment in reversed(comments(text)):
        if order_problems(first_line, comment) and not any(PARAGRAPH.match(line) for line in lines_of(comment)):
            lines[first_line - 1:first_line - 1 + comment.count("\n") + 1] = written(comment).split("\n")
    return "\n".join(lines)


def headers(root: Path) -> list[Path]:
    """The public headers, relative to root."""
    return [path for path in tree.sources(root, "include") if path.suffix == ".hpp" and "detail" not in path.parts]


def problems(root: Path, files: list[Path]) -> list[str]:
    found = []
    for path in files:
        for first_line, comment in comments((root / path).read_text(encoding="utf-8")):
            found += [f"{path}:{number}: {problem}" for number, problem in order_problems(first_line, comment)]
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=tree.ROOT)
    parser.add_argument("--strict", action="store_true", help="fail where there are any")
    parser.add_argument("--fix", action="store_true", help="put them in order")
    parser.add_argument("files", type=Path, nargs="*", help="headers, instead of all")
    options = parser.parse_args(arguments)
    files = [file.resolve().relative_to(options.root.resolve()) for file in options.files] or headers(options.root)
    for file in files if options.fix else []:
        text = (options.root / file).read_text(encoding="utf-8")
        if (new := fixed(text)) != text:
            (options.root / file).write_text(new, encoding="utf-8")
    found = problems(options.root, files)
    for problem in found:
        print(problem)
    print(f"docstrings: {len(found)} not in order")
    return 1 if found and options.strict else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
