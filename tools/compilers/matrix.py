#!/usr/bin/python3
"""Builds and tests Coflux with each compiler that it takes: `scripts/matrix`. What a row is, matrix.toml says.

A row runs in the root that has its compiler (scripts/root), in a build tree of its own. What it found is recorded in
results.json, from which the table of docs/compilers.md is written.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import tree  # noqa: E402

ROWS = HERE / "matrix.toml"
RESULTS = HERE / "results.json"
PAGE = tree.ROOT / "docs/compilers.md"
BEGIN, END = "<!-- scripts/matrix writes this table -->", "<!-- end of the table -->"
# The folders of unit tests in which a compiler can break something that the others' tests do not see.
FOLDERS = ("base", "channel", "combine", "core", "executor", "generator", "laws", "memory", "sync", "time")
# Tests of another machine are emulated: those of what differs there.
EMULATED = ("base", "channel", "core", "executor", "memory", "sync", "time")
SUMMARY = re.compile(r"(\d+)% tests passed, (\d+) tests? failed out of (\d+)")
# One processor's threads take turns with others', and an emulator is slow.
JOBS = str(os.cpu_count() or 1)


@dataclass(frozen=True)
class Row:
    name: str
    root: str
    compiler: str
    standard: int
    level: str
    library: str = "libstdc++"
    lto: bool = False
    emulator: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """GoogleTest is there for libstdc++ alone."""
        if self.emulator:
            return ("unit",)
        return ("examples",) if self.library == "libc++" else ("unit", "examples")

    @property
    def tree(self) -> Path:
        return tree.ROOT / "build/matrix" / self.name


def rows() -> dict[str, Row]:
    return {name: Row(name=name, **row) for name, row in tomllib.loads(ROWS.read_text(encoding="utf-8")).items()}


def configuration(row: Row) -> list[str]:
    """The arguments of cmake."""
    flags = ["-stdlib=libc++"] if row.library == "libc++" else []
    link = []
    if row.lto:
        flags.append("-flto")
        link += ["-fuse-ld=lld-" + row.compiler.rpartition("-")[2]] if "clang" in row.compiler else []
    options = {
        "CMAKE_BUILD_TYPE": "Release", "CMAKE_CXX_COMPILER": row.compiler, "CMAKE_CXX_STANDARD": str(row.standard),
        "CMAKE_CXX_FLAGS": " ".join(flags), "CMAKE_CXX_FLAGS_RELEASE": f"{row.level} -DNDEBUG",
        "CMAKE_EXE_LINKER_FLAGS": " ".join(link), "COFLUX_UNITY": "ON", "COFLUX_UNITE_TESTS": "8",
        "COFLUX_UNIT_FOLDERS": ";".join(EMULATED if row.emulator else FOLDERS), "COFLUX_TEST_PARTS": "4",
        "COFLUX_PRECOMPILE_PROGRAMS": "OFF" if row.lto else "ON",
        "COFLUX_BUILD_TESTS": "ON" if "unit" in row.labels else "OFF",
        "COFLUX_BUILD_EXAMPLES": "ON" if "examples" in row.labels else "OFF",
        "COFLUX_WITH_KAFKA": "OFF", "COFLUX_WITH_ROCKSDB": "OFF", "COFLUX_WITH_INSPECTOR": "OFF"}
    if row.emulator:
        options |= {"CMAKE_SYSTEM_NAME": "Linux", "CMAKE_SYSTEM_PROCESSOR": row.compiler.partition("-")[0],
                    "CMAKE_CROSSCOMPILING_EMULATOR": row.emulator, "COFLUX_GTEST_SOURCE": "/usr/src/googletest",
                    "COFLUX_WITH_TLS": "OFF", "COFLUX_WITH_STREAM_PROGRAM": "OFF"}
    return [f"-D{name}={value}" for name, value in options.items()]


def run(log: Path, *command: str | Path) -> bool:
    """Appends what the command says to the log."""
    with log.open("a", encoding="utf-8") as said:
        print("$", *command, file=said, flush=True)
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, check=False).returncode == 0


def test(row: Row) -> dict[str, object]:
    """Builds and tests the row on this machine. Returns what is recorded."""
    log = row.tree.with_suffix(".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    begun = time.monotonic()
    found: dict[str, object] = {"version": version(row.compiler), "tests": 0, "failed": 0, "says": ""}
    targets = [word for label in row.labels for word in ("--target", f"coflux_{label}")]
    steps = {"it is not configured": ("cmake", "-G", "Ninja", "-S", tree.ROOT, "-B", row.tree, *configuration(row)),
             "it does not compile": ("cmake", "--build", row.tree, "--parallel", JOBS, *targets)}
    for failure, step in steps.items():
        if not run(log, *step):
            return found | {"says": failure, "seconds": round(time.monotonic() - begun)}
    passed = run(log, "ctest", "--test-dir", row.tree, "--parallel", JOBS, "--output-on-failure",
                 "--label-regex", f"^({'|'.join(row.labels)})$")
    counts = SUMMARY.findall(log.read_text(encoding="utf-8", errors="replace"))
    if counts:
        found |= {"tests": int(counts[-1][2]), "failed": int(counts[-1][1])}
    if not passed:
        found["says"] = "tests fail" if counts else "no test ran"
    return found | {"seconds": round(time.monotonic() - begun)}


def version(compiler: str) -> str:
    """As a reader knows it: "g++ 13.3.0"."""
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
    number = re.search(r"\d+\.\d+\.\d+", said)
    name = "clang" if "clang" in compiler else "g++"
    return f"{name} {number[0]}" if number else f"{compiler}, which is not there"


def commit() -> str:
    git = ["git", "-c", f"safe.directory={tree.ROOT}", "-C", str(tree.ROOT)]
    head = subprocess.run([*git, "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    changed = subprocess.run([*git, "status", "--porcelain", "--", "include", "src", "test", "examples"],
                             capture_output=True, text=True, check=False).stdout
    return f"{head} and changes" if changed else head


def recorded() -> dict[str, dict[str, object]]:
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}


def record(name: str, found: dict[str, object]) -> None:
    all_found = recorded() | {name: found}
    RESULTS.write_text(json.dumps({each: all_found[each] for each in rows() if each in all_found}, indent=1) + "\n", encoding="utf-8")


def table() -> str:
    """The table of docs/compilers.md, from what is recorded."""
    lines = ["| compiler | standard library | C++ | flags | tests | date | commit |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for name, found in recorded().items():
        row = rows()[name]
        flags = row.level + (" -flto" if row.lto else "")
        machine = f", for {row.compiler.partition('-')[0]} under {row.emulator.partition(';')[0]}" if row.emulator else ""
        tests = found["says"] or f"{found['tests']} pass"
        if found["failed"]:
            tests = f"{found['failed']} of {found['tests']} fail"
        lines.append(f"| {found['version']}{machine} | {row.library} | {row.standard} | `{flags}` | {tests} | {found['date']} "
                     f"| {found['commit']} |")
    return "\n".join(lines)


def page_with_table(page: str) -> str:
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def problems() -> list[str]:
    """What is wrong with the results and their page."""
    unknown = [f"{RESULTS.relative_to(tree.ROOT)}: {name} is no row of {ROWS.name}" for name in recorded() if name not in rows()]
    if unknown:
        return unknown
    page = PAGE.read_text(encoding="utf-8")
    return [] if page == page_with_table(page) else [f"{PAGE.relative_to(tree.ROOT)}: its table is not that of the results: scripts/matrix --write"]


def run_row(row: Row, keep: bool) -> bool:
    print(f"scripts/matrix: {row.name}: log: {row.tree.with_suffix('.log')}", flush=True)
    if row.root == "here":
        found = test(row)
    else:
        told = subprocess.run([tree.ROOT / "scripts/root", row.root, "--", "scripts/matrix", "--inside", row.name],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
        if told.returncode != 0:
            print(f"scripts/matrix: {row.name}: there is no root {row.root}", file=sys.stderr)
            return False
        found = json.loads(told.stdout.splitlines()[-1])
    found |= {"date": time.strftime("%Y-%m-%d", time.gmtime()), "commit": commit()}
    if keep:
        record(row.name, found)
    passed = f"{found['tests'] - found['failed']} of {found['tests']} tests pass"
    print(f"scripts/matrix: {row.name}: {found['version']}: {found['says'] + '; ' if found['says'] else ''}{passed}; "
          f"{found['seconds']} s", flush=True)
    return not found["says"]


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="scripts/matrix", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Builds Coflux with the compilers of some rows, or of all, and runs the tests: some minutes a row. The roots\n"
                    "that have the compilers are made first (scripts/root). All rows run, whatever fails.",
        epilog="rows:\n" + "\n".join(
            f"  {row.name:16} {row.compiler}, {row.library}, C++{row.standard}, {row.level}{' with LTO' if row.lto else ''}"
            for row in rows().values()))
    parser.add_argument("--record", action="store_true", help="keep what is found in tools/compilers/results.json, and write the table")
    parser.add_argument("--write", action="store_true", help="only write the table of docs/compilers.md anew")
    parser.add_argument("--check", action="store_true", help="only check that the table is that of the results")
    parser.add_argument("--inside", metavar="ROW", choices=rows(), help=argparse.SUPPRESS)
    parser.add_argument("row", nargs="*", metavar="ROW")
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.row if name not in rows()]:
        parser.error(f"unknown row '{unknown[0]}' (allowed: {', '.join(rows())})")
    if chosen.inside:
        print(json.dumps(test(rows()[chosen.inside])))
        return 0
    if chosen.check:
        found = problems()
        print(*found, sep="\n", end="\n" if found else "")
        return 1 if found else 0
    passed = True
    if not chosen.write:
        for name in chosen.row or rows():
            passed &= run_row(rows()[name], chosen.record)
    if chosen.write or chosen.record:
        PAGE.write_text(page_with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
