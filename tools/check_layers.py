#!/usr/bin/python3
"""Proves from the #include lines that includes go down only, in a circle never, and to the operating system in few
places.

The layers and the exceptions are in tools/layers.toml, the reasons in ARCHITECTURE.md.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

import tree

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
BLOCK_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
PUBLIC = "include/coflux"


@dataclass(frozen=True)
class Include:
    line: int
    name: str
    quoted: bool


@dataclass(frozen=True)
class Rules:
    layers: dict[str, int]
    same_layer: dict[str, list[str]]
    thread_free_up_to: int
    thread_headers: list[str]
    thread_seam: str
    not_bound_by_threads: list[str]
    os_headers: list[str]
    os_folders: list[str]

    @staticmethod
    def load(data: dict) -> Rules:
        return Rules(
            layers={**data["layers"], **data["top_headers"]},
            same_layer=data["same_layer"],
            thread_free_up_to=data["threads"]["free_up_to_layer"],
            thread_headers=data["threads"]["headers"],
            thread_seam=data["threads"]["seam"],
            not_bound_by_threads=data["threads"]["not_bound"],
            os_headers=data["operating_system"]["headers"],
            os_folders=data["operating_system"]["folders"])


def includes(text: str) -> list[Include]:
    """The include lines of a file, those in block comments left out."""
    text = BLOCK_COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    return [Include(text.count("\n", 0, match.start()) + 1, match[2], match[1] == '"') for match in INCLUDE.finditer(text)]


def below(file: str, folders: list[str]) -> bool:
    return any(file.startswith(folder + "/") for folder in folders)


def place(file: str) -> str | None:
    """The name under which layers.toml knows a file: its folder, or the file itself where it stands in
    include/coflux/."""
    for root in (PUBLIC, "src"):
        if file.startswith(root + "/"):
            return file.removeprefix(root + "/").split("/")[0]
    return None


def resolve(file: str, include: Include, known: set[str]) -> str | None:
    """The file of this repository that an include names, or None. A file that is missing still has a folder."""
    candidates = [f"include/{include.name}", f"src/{include.name}"]
    if include.quoted:
        folder = PurePosixPath(file).parent
        while include.name.startswith("../"):
            include = Include(include.line, include.name.removeprefix("../"), True)
            folder = folder.parent
        candidates.insert(0, str(folder / include.name))
    found = next((candidate for candidate in candidates if candidate in known), None)
    if found is None and include.name.startswith("coflux/"):
        return f"include/{include.name}"
    return found


def bound_by_threads(rules: Rules, file: str) -> bool:
    return rules.layers[place(file)] <= rules.thread_free_up_to and not below(file, rules.not_bound_by_threads)


def layer_problem(rules: Rules, file: str, target: str) -> str | None:
    source_place, target_place = place(file), place(target)
    if target_place is None:
        return f"{target} is outside include/coflux and src"
    if target_place not in rules.layers:
        return f"{target_place} has no layer in tools/layers.toml"
    if file.startswith("include/") and target.startswith("src/"):
        return f"a public header includes {target}, which is not installed"
    if target == rules.thread_seam and file.startswith("include/") and bound_by_threads(rules, file):
        return f"the thread seam in a header of layer {rules.layers[source_place]}: only sources include it so far down"
    if source_place == target_place:
        return None
    source_layer, target_layer = rules.layers[source_place], rules.layers[target_place]
    if target_layer > source_layer:
        return f"upward include: {source_place} (layer {source_layer}) includes {target_place} (layer {target_layer})"
    if target_layer == source_layer and target_place not in rules.same_layer.get(source_place, []):
        return f"sideways include: {source_place} and {target_place} are both of layer {source_layer}"
    return None


def system_problem(rules: Rules, file: str, name: str) -> str | None:
    if name in rules.thread_headers and file != rules.thread_seam and bound_by_threads(rules, file):
        return (f"<{name}> in layer {rules.layers[place(file)]}: "
                f"layers up to {rules.thread_free_up_to} know no thread and no stream")
    if any(fnmatchcase(name, pattern) for pattern in rules.os_headers) and not below(file, rules.os_folders):
        return f"header of the operating system <{name}>: only below {', '.join(rules.os_folders)}"
    return None


def cycles(edges: dict[str, list[tuple[str, int]]]) -> list[str]:
    """One message for each include that closes a circle."""
    problems: list[str] = []
    state: dict[str, str] = {}

    def visit(file: str, path: list[tuple[str, int]]) -> None:
        state[file] = "open"
        for target, line in edges.get(file, []):
            here = [*path, (file, line)]
            if state.get(target) == "open":
                circle = here[[name for name, _ in here].index(target):]
                way = " -> ".join(f"{name}:{at}" for name, at in circle)
                problems.append(f"{file}:{line}: include cycle: {way} -> {target}")
            elif target not in state:
                visit(target, here)
        state[file] = "done"

    for file in sorted(edges):
        if file not in state:
            visit(file, [])
    return problems


def check(root: Path, rules: Rules) -> list[str]:
    files = [path.as_posix() for path in tree.sources(root, "include", "src")]
    known = set(files)
    problems: list[str] = []
    edges: dict[str, list[tuple[str, int]]] = {}
    for file in files:
        if place(file) not in rules.layers:
            problems.append(f"{file}:1: {place(file)} has no layer in tools/layers.toml")
            continue
        edges[file] = []
        for include in includes((root / file).read_text(encoding="utf-8")):
            target = resolve(file, include, known)
            if target is None:
                problem = system_problem(rules, file, include.name)
            else:
                problem = layer_problem(rules, file, target)
                edges[file].append((target, include.line))
            if problem is not None:
                problems.append(f"{file}:{include.line}: {problem}")
    return problems + cycles(edges)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=tree.ROOT)
    root = parser.parse_args(arguments).root
    rules = Rules.load(tomllib.loads((tree.ROOT / "tools/layers.toml").read_text(encoding="utf-8")))
    problems = check(root, rules)
    for problem in problems:
        print(problem)
    print(f"layers: {len(problems)} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
