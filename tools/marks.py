"""The marks in the code that mutants name, and what a mutant does to a marked statement.

A mark is a comment alone on its line, `// [deque.push]`. Its statement begins with the next code and ends with its `;`,
or before the `{` of its block; where a function stands on one line, it is the statement within. An operation is a call
on an atomic that says its order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

FOLDERS = ("include", "src")
MARK = re.compile(r"^ *// \[(\w+(?:\.\w+)*)\]$", re.MULTILINE)
COMMENT = re.compile(r"""(//[^\n]*|/\*.*?\*/)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'""", re.DOTALL)
OPENS_BLOCK = re.compile(r"(?:^|\)|\]\]|\b(?:else|do|try|const|noexcept|override))\s*$")
CONDITION = re.compile(r"(?:if|while) *\(|return ")
OPERATION = re.compile(r"\b(?:\w+(?:\([^()]*\)|\[[^\[\]]*\])*(?:::|\.|->))+"
                       r"(?:load|store|exchange|fetch_\w+|compare_exchange_(?:weak|strong))\(")
ORDER = re.compile(r"\bmemory_order_(\w+)")


class Misfit(Exception):
    """A mutant that does not fit its mark; it says why."""


def all_marks(root: Path) -> Iterator[tuple[str, str]]:
    """Each mark with its file, also where two have one name."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.[hc]pp")):
            for mark in MARK.finditer(path.read_text(encoding="utf-8")):
                yield mark[1], path.relative_to(root).as_posix()


@lru_cache
def without_comments(text: str) -> str:
    """The code, each character at its place."""
    return COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]) if found[1] else found[0], text)


def closing(code: str, opening: int) -> int:
    """Where the bracket closes that opens there."""
    depth = 0
    for at in range(opening, len(code)):
        depth += (code[at] in "([{") - (code[at] in ")]}")
        if depth == 0:
            return at
    raise Misfit("a bracket that does not close")


@dataclass(frozen=True)
class Span:
    begin: int
    end: int


def statement_at(code: str, begin: int) -> Span:
    begin += len(code[begin:]) - len(code[begin:].lstrip())
    at = begin
    while at < len(code):
        if code[at] == ";":
            return Span(begin, at + 1)
        if code[at] == "}":
            break
        if code[at] == "{" and OPENS_BLOCK.search(code[begin:at]):
            block = code[at + 1:closing(code, at)]
            is_one_line = block.strip() and "\n" not in block
            return statement_at(code, at + 1) if is_one_line else Span(begin, at)
        at = closing(code, at) + 1 if code[at] in "([{" else at + 1
    raise Misfit("no statement")


def statement_of(text: str, name: str) -> Span:
    mark = next((found for found in MARK.finditer(text) if found[1] == name), None)
    if mark is None:
        raise Misfit(f"no mark {name}")
    return statement_at(without_comments(text), mark.end())


def operation_of(text: str, statement: Span, which: int) -> tuple[int, list[re.Match[str]]]:
    """Where the operation of that number begins, and its orders: of success, of failure."""
    code = without_comments(text)
    found = []
    for call in OPERATION.finditer(code, statement.begin, statement.end):
        orders = list(ORDER.finditer(code, call.end(), closing(code, call.end() - 1)))
        if orders:
            found.append((call.start(), orders))
    if not 1 <= which <= len(found):
        raise Misfit(f"its statement has {len(found)} operations with an order")
    return found[which - 1]


def with_orders(text: str, statement: Span, which: int, success: str, failure: str) -> str:
    _, orders = operation_of(text, statement, which)
    if failure and len(orders) < 2:
        raise Misfit("its operation has no order of failure")
    for order, name in reversed(list(zip(orders, (success, failure)))):
        if name:
            text = text[:order.start(1)] + name + text[order.end(1):]
    return text


def with_condition(text: str, statement: Span, value: str) -> str:
    code = without_comments(text)[:statement.end]
    found = CONDITION.match(code, statement.begin)
    if found is None:
        raise Misfit("its statement has no condition")
    end = code.rindex(";") if found[0] == "return " else closing(code, found.end() - 1)
    return text[:found.end()] + value + text[end:]


def with_part(text: str, statement: Span, part: str, replacement: str) -> str:
    """Blanks of the part stand for any blanks, and lines may break there."""
    pattern = r"\s+".join(re.escape(word) for word in part.split())
    found = list(re.compile(pattern).finditer(without_comments(text), statement.begin, statement.end))
    if len(found) != 1:
        raise Misfit(f"its text occurs {len(found)} times in its statement")
    return text[:found[0].start()] + replacement + text[found[0].end():]


def deleted(text: str, statement: Span) -> str:
    if text[statement.end - 1] != ";":
        raise Misfit("its statement opens a block: give its condition")
    return text[:statement.begin] + ";" + text[statement.end:]


def replaced(text: str, statement: Span, replacement: str) -> str:
    """`@` in the replacement stands for the statement as it is."""
    as_it_is = without_comments(text)[statement.begin:statement.end]
    return text[:statement.begin] + replacement.replace("@", as_it_is) + text[statement.end:]


def moved(text: str, statement: Span, before: str) -> str:
    """A statement that opens a block takes the block along."""
    code, there = without_comments(text), statement_of(text, before).begin
    end = statement.end if code[statement.end - 1] == ";" else closing(code, statement.end) + 1
    if statement.begin <= there < end:
        raise Misfit(f"{before} stands in what moves")
    piece = text[statement.begin:end] + "\n"
    if there < statement.begin:
        return text[:there] + piece + text[there:statement.begin] + text[end:]
    return text[:statement.begin] + text[end:there] + piece + text[there:]
