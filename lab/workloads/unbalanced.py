"""The trees of the Unbalanced Tree Search benchmark."""

from __future__ import annotations

import hashlib
import math
from functools import cache
from typing import Any, Iterator

from workloads.answers import mismatch, word
from workloads.headline import TIME, Headline

NAME = "unbalanced"
DESCRIPTION = ("A tree whose shape no node knows before it has made it: a node is a SHA-1 digest, the digest says how many children "
               "it has, and each child is the digest of its parent's and its number. Every node is a task, and the root counts all.")
ITEM = "one node"
HEADLINE = Headline(TIME, "the tree is wanted soon, and how work spreads decides it")
THREADS = None

# Not in a seed document.
SEED: list[dict[str, Any]] = []

# The two that are named as in the suite are published with their node counts; small and medium are T1
# with leaves at depths 4 and 8.
NODES = {"small": 944, "medium": 257_042, "T1": 4_130_071, "T3": 4_112_897}
CASES = {"smoke": ("small",), "base": ("medium",), "large": ("T1", "T3")}

# Geometric with a fixed shape: the seed of the root, its expected children, and the depth of the leaves.
GEOMETRIC = {"small": (19, 4.0, 4), "medium": (19, 4.0, 8), "T1": (19, 4.0, 10)}
# Binomial: the seed of the root, its children, and what every other node has with what probability.
BINOMIAL = {"T3": (42, 2_000, 8, 0.124875)}


def cases(size: str) -> list[dict[str, Any]]:
    return [{"tree": tree} for tree in CASES[size]]


def items(params: dict[str, Any], threads: int) -> int:
    return NODES[params["tree"]]


def expected(params: dict[str, Any], threads: int) -> str:
    return word(NODES[params["tree"]])


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))


def count_nodes(tree: str) -> int:
    """By the published definition, node by node: seconds for the trees with a name."""
    return sum(1 for _ in _walk(tree))


def _walk(tree: str) -> Iterator[int]:
    seed = (GEOMETRIC.get(tree) or BINOMIAL[tree])[0]
    root = hashlib.sha1(bytes(16) + seed.to_bytes(4, "big")).digest()
    left = [(root, 0)]
    while left:
        node, depth = left.pop()
        yield depth
        left += [(hashlib.sha1(node + child.to_bytes(4, "big")).digest(), depth + 1)
                 for child in range(children_of(tree, node, depth))]


def children_of(tree: str, node: bytes, depth: int) -> int:
    share = (int.from_bytes(node[16:], "big") & 0x7FFFFFFF) / 2.0 ** 31
    if tree in GEOMETRIC:
        _, expected_children, leaves_at = GEOMETRIC[tree]
        if depth >= leaves_at:
            return 0
        return min(math.floor(math.log(1 - share) / _log_of_none(expected_children)), 100)
    _, of_the_root, children, probability = BINOMIAL[tree]
    if depth == 0:
        return of_the_root
    return children if share < probability else 0


@cache
def _log_of_none(expected_children: float) -> float:
    return math.log(1 - 1 / (1 + expected_children))
