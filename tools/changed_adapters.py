#!/usr/bin/python3
"""Names the runtimes that the lab's smoke run of CI measures: Coflux, the two that need no library, and each whose adapter
changed since the commit of the reliability run on record, which measured all. All of them where that commit is not
known, or where something changed that adapters share. A change of comments alone, or of a page, is none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import tree

RECORD = "test/reliability/results.json"
# They build in seconds, and are what every figure is compared with.
ALWAYS = ("bare", "std", "coflux")
# The same adapter as another one.
TWINS = {"bare": ("bare", "bare_gcc"), "tokio": ("tokio", "tokio_ct")}
ADAPTERS = "lab/runtimes/"
# What builds or asks an adapter.
SHARED = ("lab/CMakeLists.txt", "lab/runner/", "lab/workloads/", "lab/schema/", f"{ADAPTERS}common/", "scripts/lab", "scripts/setup")
# Parts of those that no adapter sees.
APART = ("lab/runner/tests/", "lab/runner/templates/")
# A line of a comment, in each language of an adapter. "#include" is none.
COMMENT = r"^[[:space:]]*(//|# )"


def changed_since(root: Path, commit: str) -> list[str] | None:
    """The files, relative to the root; None where git does not know the commit, or there is no git."""
    try:
        said = subprocess.run(["git", "-c", f"safe.directory={root}", "-C", str(root), "diff", "--numstat", "--no-renames",
                               f"--ignore-matching-lines={COMMENT}", commit, "--"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    if said.returncode != 0:
        return None
    lines = (line.split("\t") for line in said.stdout.splitlines())
    return [name for added, removed, name in lines if (added, removed) != ("0", "0") and not name.endswith(".md")]


def to_measure(changed: list[str] | None, known: list[str]) -> list[str]:
    """Those of the runtimes `known`."""
    if changed is None or any(file.startswith(SHARED) and not file.startswith(APART) for file in changed):
        return known
    folders = {file.removeprefix(ADAPTERS).split("/")[0] for file in changed if file.startswith(ADAPTERS)}
    chosen = {*ALWAYS, *(name for folder in folders for name in TWINS.get(folder, (folder,)))}
    return [name for name in known if name in chosen]


def main() -> int:
    sys.path.insert(0, str(tree.ROOT / "lab"))
    from runner.runtimes import RUNTIMES
    commit = json.loads((tree.ROOT / RECORD).read_text(encoding="utf-8"))["commit"]
    print(*to_measure(changed_since(tree.ROOT, commit), list(RUNTIMES)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
