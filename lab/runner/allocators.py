"""The allocators that take the place of malloc in a measured process: an axis of a run, beside runtimes and dresses."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from runner.runtimes import OWN, RUNTIMES

PRELOAD = "LD_PRELOAD"
# Where the loader's own libraries are; the first is Debian's.
FOLDERS = ("/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")


@dataclass(frozen=True)
class Allocator:
    """One malloc."""

    name: str
    # None: what the process has anyway.
    library: str | None
    # What to install where the library is missing.
    package: str = ""


GLIBC = "glibc"
ALLOCATORS: dict[str, Allocator] = {allocator.name: allocator for allocator in (
    Allocator(GLIBC, None),
    Allocator("tcmalloc", "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
    Allocator("mimalloc", "libmimalloc.so.2", "libmimalloc2.0"),
)}
# Not to be chosen: a runtime that allocates by itself has this one and no other.
OWN_ALLOCATOR = Allocator(OWN, None)


def _known(name: str) -> Allocator:
    return OWN_ALLOCATOR if name == OWN else ALLOCATORS[name]


def library(name: str) -> str | None:
    """The path to preload; None for what needs none and where the library is missing."""
    wanted = _known(name).library
    return None if wanted is None else _find(wanted)


@cache
def _find(wanted: str) -> str | None:
    found = (path for folder in FOLDERS for path in sorted(Path("/").glob(f"{folder[1:]}/{wanted}")))
    return next((str(path) for path in found), None)


def unavailable(name: str) -> str | None:
    """Why no process can run with it, or None."""
    allocator = _known(name)
    if allocator.library is None or library(name) is not None:
        return None
    return f"no {allocator.library}: install {allocator.package}"


def recommended(runtime: str) -> str:
    """The allocator of the main verdict: what the runtime's experts would take, or glibc's where that is missing."""
    wanted = RUNTIMES[runtime].allocator
    return GLIBC if unavailable(wanted) else wanted


def usable(runtime: str, names: list[str]) -> list[str]:
    """The allocators asked for that the runtime can have, its recommended one first: one of its own is the
    only one it has."""
    if RUNTIMES[runtime].allocator == OWN:
        return [OWN]
    best = recommended(runtime)
    return sorted(dict.fromkeys(names), key=lambda name: name != best)


def environment(name: str) -> dict[str, str]:
    """The environment of a process that shall run with it, without what the user preloads into everything."""
    others = {key: value for key, value in os.environ.items() if key != PRELOAD}
    path = library(name)
    return others | ({PRELOAD: path} if path else {})
