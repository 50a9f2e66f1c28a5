"""The pages of the reference, from what tools/reference.py has read."""

from __future__ import annotations

import os
import re
import subprocess
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import docstrings

CLANG_FORMAT = "clang-format-19"
WIDTH = 120
SEPARATOR = "// ----"
WRITTEN = "<!-- Written by tools/reference.py from the header. -->"
EXAMPLE = re.compile(r"(examples/\S+\.cpp)")
CODE_SPAN = re.compile(r"(`[^`]*`)")
SIMPLE = ("variable", "value")  # one line each

INDEX_TEXT = """# Reference

One page for each public header, with what users may name in it. `tools/reference.py` writes them from the headers.

* Sections have the order of the house: what template parameters and arguments must be, units, what is returned, where
  the coroutine resumes, errors, what a stop does, threads, costs, preconditions, lifetimes, source, an example.
* `co_await` → `X` is what an await of the result gives. The result itself is awaited in the expression that makes it and
  has no name for users; it is written `auto`. In templates, `T` stands for the type of a value, and `A` and `B` for those
  of two forks that were given.
* What a stop can lose at each operation, and what allocates nothing, is in [promises.md](docs/promises.md).

| header | |
| --- | --- |
"""


@dataclass
class Entry:
    """A name that users may write; overloads are one."""
    name: str
    kind: str
    signatures: list[str] = field(default_factory=list)
    docs: list[docstrings.Docstring] = field(default_factory=list)  # one for each signature
    gives: list[str] = field(default_factory=list)  # the same: what an await gives, or nothing
    notes: list[str] = field(default_factory=list)
    members: list[Entry] = field(default_factory=list)

    def all(self) -> list[Entry]:
        return [self, *(below for member in self.members for below in member.all())]


def escaped(text: str) -> str:
    """Markdown that says what the comment says: outside of code nothing is markup."""
    pieces = CODE_SPAN.split(text)
    return "".join(piece if piece.startswith("`") else re.sub(r"([<*])", r"\\\1", piece) for piece in pieces)


def code_of(signatures: list[str]) -> str:
    return "```cpp\n" + "\n".join(signatures) + "\n```\n"


def text_of(doc: docstrings.Docstring) -> str:
    parts = [wrapped(escaped(paragraph)) for paragraph in doc.text]
    sections = [wrapped(f"* **{', '.join(names)}:** {linked(names, escaped(text))}") for names, text in doc.ordered()]
    return "\n\n".join([*parts, "\n".join(sections)] if sections else parts) + ("\n" if parts or sections else "")


def wrapped(text: str) -> str:
    indent = "  " if text.startswith("* ") else ""
    paragraphs = text.split("\n\n")
    return "\n\n".join("\n".join(textwrap.wrap(
        paragraph, WIDTH, initial_indent=indent if at else "", subsequent_indent=indent, break_long_words=False, break_on_hyphens=False))
        for at, paragraph in enumerate(paragraphs))


def linked(names: tuple[str, ...], text: str) -> str:
    """The example as a link: it is a file that ctest compiles and runs."""
    if names != ("Example",):
        return text
    return EXAMPLE.sub(r"[\1](\1)", text)


def examples(entry: Entry) -> list[str]:
    """The files that its docstrings name; ctest compiles and runs them."""
    texts = (text for doc in entry.docs for names, text in doc.sections if names == ("Example",))
    return [match[1] for text in texts for match in EXAMPLE.finditer(text)]


def entry_lines(entry: Entry, level: int) -> list[str]:
    name = entry.name if level == 2 else re.sub(r"^.*::", "", entry.name)
    lines = [f"{'#' * level} `{name}`\n" if "(" not in name else f"{'#' * level} {name.strip('()').capitalize()}\n"]
    at = 0
    while at < len(entry.signatures):
        end = at + 1  # overloads without a docstring belong to the one before
        while end < len(entry.signatures) and not entry.docs[end] and entry.gives[end] in ("", entry.gives[at]):
            end += 1
        lines.append(code_of(entry.signatures[at:end]))
        if entry.gives[at]:
            lines.append("`co_await` → " + ("nothing" if entry.gives[at] == "nothing" else f"`{entry.gives[at]}`") + "\n")
        if text := text_of(entry.docs[at]):
            lines.append(text)
        at = end
    lines += [" ".join(entry.notes) + "\n"] if entry.notes else []
    simple = [member for member in entry.members if member.kind in SIMPLE]
    if simple:
        lines.append("\n".join(simple_line(member) for member in simple) + "\n")
    for member in entry.members:
        if member.kind not in SIMPLE:
            lines += entry_lines(member, min(level + 1, 6))
    return lines


def simple_line(entry: Entry) -> str:
    code = entry.signatures[0].rstrip(";") if entry.signatures else entry.name
    doc = entry.docs[0]
    text = " ".join([*(escaped(p) for p in doc.text), *(f"{', '.join(n)}: {escaped(t)}" for n, t in doc.ordered())])
    return wrapped(f"* `{code}`" + (f": {text}" if text else ""))


def first_comment(text: str) -> str:
    """What the header says of itself in its first lines."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("// "):
            break
        lines.append(line.removeprefix("// "))
    return " ".join(lines)


def formatted(root: Path, entries: list[Entry]) -> None:
    """All signatures as clang-format writes them."""
    every = [(entry, at) for entry in entries for at in range(len(entry.signatures))]
    text = f"\n{SEPARATOR}\n".join(
        entry.signatures[at] + ("" if entry.signatures[at].endswith(";") or entry.kind == "macro" else ";") for entry, at in every)
    done = subprocess.run([CLANG_FORMAT, "--style=file", "--assume-filename", root / "include/reference.hpp"], input=text.encode(),
                          capture_output=True, check=True).stdout.decode()
    for (entry, at), signature in zip(every, done.split(f"\n{SEPARATOR}\n"), strict=True):
        entry.signatures[at] = signature.strip("\n")


def pages(root: Path, out: Path, headers: dict[str, list[Entry]]) -> dict[str, str]:
    """By their paths below `out`, whose links lead into `root`."""
    up = os.path.relpath(root, out)
    shown = {header: entries for header, entries in sorted(headers.items()) if entries}
    formatted(root, [below for entries in shown.values() for entry in entries for below in entry.all()])
    made = {}
    rows = []
    for header, entries in shown.items():
        inside = header.removeprefix("include/coflux/")
        says = first_comment((root / header).read_text(encoding="utf-8"))
        says = re.sub(r"^[\w, ]+: ", "", says)
        lines = [f"{WRITTEN}\n", f"# `coflux/{inside}`\n", wrapped(escaped(says[:1].upper() + says[1:])) + "\n"]
        for entry in entries:
            lines += entry_lines(entry, 2)
        page = inside.removesuffix(".hpp") + ".md"
        made[page] = "\n".join(lines).replace("](examples/", f"]({'../' * page.count('/')}{up}/examples/")
        names = ", ".join(dict.fromkeys(f"`{entry.name}`" for entry in entries))
        rows.append(f"| [{inside}]({page}) | {names} |")
    made["README.md"] = INDEX_TEXT.replace("](docs/", f"]({up}/docs/") + "\n".join(rows) + "\n"
    return made
