"""Builds the programs of simulated I/O and stream jobs for tools/mutate.py.

They are linked with the libraries of a build: a source of the library that a mutant changes is compiled and comes
before them, so that its definitions count; a header that it changes counts for the program.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

SEEDS = 1000  # a fault must be found within so many
LIBRARIES = ["testing_network", "testing", "stream", "io", "runtime", "core"]
INCLUDES = ["-Itest", "-Iinclude", "-Isrc"]
SUPPORT = "test/simulation/options.cpp"


def is_one(model: str) -> bool:
    return model.startswith(("io/", "stream/"))


def missing(libraries: Path) -> str:
    """What the build lacks, or nothing."""
    names = [f"libcoflux_{name}.a" for name in LIBRARIES if not (libraries / f"libcoflux_{name}.a").is_file()]
    return f"{libraries} has no {names[0]}: build it, or name another build with --libraries" if names else ""


class Programs:
    """In one copy of the tree; `support` is compiled from `root`, whose test/simulation the copy lacks."""

    def __init__(self, root: Path, place: Path, libraries: Path, compiler: str, flags: list[str]) -> None:
        aligned = ["-fcoro-aligned-allocation"] if "clang" in Path(compiler).name else []
        self.root, self.place, self.libraries = root, place, libraries
        self.command = [compiler, *flags, *aligned, *INCLUDES, f"-I{root / 'test'}"]

    def compile(self, source: str, made: str) -> str:
        built = subprocess.run([*self.command, "-c", source, "-o", made], cwd=self.place, check=False, capture_output=True, text=True,
                               timeout=300)
        return (built.stderr.strip().splitlines() or ["?"])[0] if built.returncode != 0 else ""

    def once(self, source: str, made: str) -> str:
        return "" if (self.place / made).exists() else self.compile(source, made)

    def build(self, model: str, file: str) -> str:
        """Makes `program` where `file` is changed; what was wrong, or nothing."""
        whole = model.replace("/", "_") + ".o"
        program, objects = f"test/model/{model}_model.cpp", [whole, "io_support.o"]
        error = self.once(str(self.root / SUPPORT), "io_support.o")
        if not error and file.endswith(".hpp"):
            objects[0] = "io_changed_program.o"
            error = self.compile(program, objects[0])
        elif not error:
            objects.insert(0, "io_changed.o")
            error = self.once(program, whole) or self.compile(file, "io_changed.o")
        if error:
            return error
        archives = [str(self.libraries / f"libcoflux_{name}.a") for name in LIBRARIES]
        linked = subprocess.run([self.command[0], *objects, *archives, "-pthread", "-o", "program"], cwd=self.place, check=False,
                                capture_output=True, text=True, timeout=300)
        return (linked.stderr.strip().splitlines() or ["?"])[-1] if linked.returncode != 0 else ""
