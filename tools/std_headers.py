#!/usr/bin/python3
"""Lists which headers of the standard library each public header pulls in: its own, and those of the headers that it
includes.

    tools/std_headers.py                    a line for each public header
    tools/std_headers.py --why functional   for each that pulls it in, through which headers
    tools/std_headers.py --check            the list; fails if a header of LEAN pulls in one of DEAR

What <vector> and its like include themselves is not followed: that is the standard library's own business.
"""

from __future__ import annotations

import argparse
import sys
from collections import deque
from pathlib import Path

import check_layers
import docstrings
import tree

# Each takes longer to parse than all that the library has below its combinators.
DEAR = frozenset({
    "algorithm", "chrono", "condition_variable", "functional", "future", "iostream", "map", "memory", "mutex", "random",
    "ranges", "regex", "shared_mutex", "sstream", "stop_token", "thread", "unordered_map",
})
# The headers of forks, primitives and channels do without them ...
LEAN = frozenset({"base", "channel", "core", "memory", "sync"})
# ... but for these, whose names they need: header -> why.
NEEDED = {
    ("coflux/base/thread.hpp", "condition_variable"): "the seam for threads",
    ("coflux/base/thread.hpp", "mutex"): "the seam for threads",
    ("coflux/base/thread.hpp", "thread"): "the seam for threads",
    ("coflux/channel/select.hpp", "ranges"): "a range of handles is no case",
    ("coflux/channel/select_range.hpp", "ranges"): "its cases are ranges",
    ("coflux/core/deadline.hpp", "chrono"): "a deadline is a time_point",
    ("coflux/core/make_environment.hpp", "chrono"): "a deadline is a time_point",
    ("coflux/core/make_fork.hpp", "functional"): "a reference_wrapper is refused; std::invoke",
    ("coflux/core/this_coroutine.hpp", "chrono"): "a deadline is a time_point",
    ("coflux/sync/condition_variable.hpp", "chrono"): "wait_for() takes a duration",
    ("coflux/sync/once.hpp", "functional"): "std::invoke",
}


def include_graph(root: Path) -> dict[str, tuple[list[str], list[str]]]:
    """The files of ours that each header of include/ includes, and the others."""
    files = {str(path) for path in tree.sources(root, "include")}
    graph = {}
    for file in sorted(files):
        ours, others = [], []
        for include in check_layers.includes((root / file).read_text(encoding="utf-8")):
            target = check_layers.resolve(file, include, files)
            (others if target is None else ours).append(include.name if target is None else target)
        graph[file] = (ours, others)
    return graph


def paths(graph: dict[str, tuple[list[str], list[str]]], header: str) -> dict[str, list[str]]:
    """Each foreign header that `header` pulls in, with a shortest way to it through ours."""
    found: dict[str, list[str]] = {}
    ways = {header: [header]}
    queue = deque([header])
    while queue:
        file = queue.popleft()
        ours, others = graph.get(file, ([], []))
        for name in others:
            found.setdefault(name, ways[file])
        for target in ours:
            if target not in ways:
                ways[target] = [*ways[file], target]
                queue.append(target)
    return found


def short(file: str) -> str:
    return file.removeprefix("include/")


def report(root: Path) -> list[str]:
    graph = include_graph(root)
    lines = []
    for header in map(str, docstrings.headers(root)):
        found = paths(graph, header)
        own = sorted(name for name, way in found.items() if len(way) == 1)
        through = sorted(name for name, way in found.items() if len(way) > 1)
        lines.append(f"{short(header)}: {len(found)}: {' '.join(own)}" + (f" | {' '.join(through)}" if through else ""))
    return lines


def problems(root: Path) -> list[str]:
    graph = include_graph(root)
    found = []
    needed = set()
    for header in map(str, docstrings.headers(root)):
        name = short(header)
        if name.split("/")[1] not in LEAN:
            continue
        for dear, way in sorted(paths(graph, header).items()):
            if dear not in DEAR:
                continue
            needed.add((name, dear))
            if (name, dear) not in NEEDED:
                found.append(f"{name} pulls in <{dear}>: {' -> '.join(map(short, way))}")
    found += [f"{header} does without <{dear}>: take it out of NEEDED" for header, dear in sorted(NEEDED.keys() - needed)
              if (root / "include" / header).exists()]
    return found


def reasons(root: Path, name: str) -> list[str]:
    graph = include_graph(root)
    lines = []
    for header in map(str, docstrings.headers(root)):
        way = paths(graph, header).get(name)
        if way is not None:
            lines.append(" -> ".join([*map(short, way), f"<{name}>"]))
    return lines


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=tree.ROOT)
    parser.add_argument("--why", metavar="HEADER", help="through which headers HEADER is pulled in")
    parser.add_argument("--check", action="store_true", help="fail if a header of LEAN pulls in one of DEAR")
    options = parser.parse_args(arguments)
    if options.why is None:
        print("public header: how many: its own | through headers of ours")
    lines = reasons(options.root, options.why) if options.why else report(options.root)
    for line in lines:
        print(line)
    print(f"std_headers: {len(lines)} public headers" + (f" pull in <{options.why}>" if options.why else ""))
    wrong = problems(options.root) if options.check else []
    for line in wrong:
        print(f"std_headers: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
