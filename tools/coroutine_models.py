"""Builds and runs the models of coroutines for tools/mutate.py.

Their sources are the library's, so a mutant is compiled only where a file that it changes is included; the orders that
a run can take for weaker ones (COFLUX_MODEL_WEAKEN, docs/design/coroutine_models.md) need no compilation.
"""

from __future__ import annotations

import concurrent.futures
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import compiling

FOLDER = "test/model/coroutines"
INCLUDES = [f"-I{FOLDER}/seam", "-Iinclude", "-Isrc"]
LISTING = "6000"  # interleavings after which the operations that a model executes are known
SITE = re.compile(r"^site (\S+) (\d+) (\d+) (success|failure) ", re.MULTILINE)


def is_one(model: str) -> bool:
    return model.startswith("coroutines/")


def sources(root: Path) -> list[str]:
    """What every model of coroutines is linked with, as its CMakeLists.txt says."""
    listed = re.search(r"set\(primitive_sources([^)]*)\)", (root / FOLDER / "CMakeLists.txt").read_text(encoding="utf-8"))
    assert listed is not None
    core = sorted(str(path.relative_to(root)) for path in (root / "src/core").rglob("*.cpp"))
    support = ["test/model/support/model.cpp", f"{FOLDER}/support/model_memory.cpp", f"{FOLDER}/support/model_stack.cpp"]
    return core + [f"src/{name}" for name in listed[1].split()] + support


class Unchanged:
    """Objects and programs of the tree as it is, made when they are first needed, for all jobs."""

    def __init__(self, root: Path, place: Path, compiler: str, flags: list[str]) -> None:
        aligned = ["-fcoro-aligned-allocation"] if "clang" in Path(compiler).name else []
        self.root, self.place, self.command = root, place, [compiler, *flags, *aligned, *INCLUDES]
        self.locks: dict[str, threading.Lock] = {}
        self.lock = threading.Lock()
        self.sites: dict[str, set[tuple[str, ...]]] = {}
        place.mkdir()

    def once(self, name: str) -> threading.Lock:
        with self.lock:
            return self.locks.setdefault(name, threading.Lock())

    def object(self, source: str) -> Path:
        made = self.place / (source.replace("/", "_") + ".o")
        with self.once(source):
            if not made.exists():
                error = self.compile(self.root, source, made)
                if error:
                    sys.exit(f"mutate: {source} does not compile: {error}")
        return made

    def compile(self, tree: Path, source: str, made: Path) -> str:
        """What was wrong, or nothing. The files that it includes stand beside the object."""
        built = compiling.compiled([*self.command, "-MMD", "-c", source, "-o", str(made)], tree)
        return (built.stderr.strip().splitlines() or ["?"])[0] if built.returncode != 0 else ""

    def depends(self, source: str, on: str) -> bool:
        included = self.object(source).with_suffix(".d").read_text(encoding="utf-8").split()
        return any(os.path.normpath(name) == on for name in included)

    def link(self, objects: list[Path], program: Path) -> None:
        compiling.compiled([self.command[0], *map(str, objects), "-o", str(program)], self.place).check_returncode()

    def all_sources(self, model: str) -> list[str]:
        return [f"test/model/{model}_model.cpp", *sources(self.root)]

    def program(self, model: str) -> Path:
        made = self.place / Path(model).name
        with self.once("program " + model):
            if not made.exists():
                self.link([self.object(source) for source in self.all_sources(model)], made)
        return made

    def executes(self, model: str, site: tuple[str, ...]) -> bool:
        """Whether the model comes to the operation at (file, line, column, part)."""
        program = self.program(model)
        with self.once("sites " + model):
            if model not in self.sites:
                listed = subprocess.run([program, "--iterations", LISTING], env=dict(os.environ, COFLUX_MODEL_SITES="1"), check=False,
                                        capture_output=True, text=True, timeout=300)
                if listed.returncode != 0:
                    sys.exit(f"mutate: model {model} fails as it is:\n{listed.stdout}")
                self.sites[model] = {(os.path.normpath(file), *rest) for file, *rest in SITE.findall(listed.stdout)}
        return site in self.sites[model]

    def changed_program(self, tree: Path, model: str, file: str, made: Path) -> str:
        """The model with the tree's own version of `file`; what was wrong, or nothing."""
        objects = []
        for source in self.all_sources(model):
            object_file = self.object(source)
            if self.depends(source, file):
                object_file = tree / f"changed_{object_file.name}"
                error = self.compile(tree, source, object_file)
                if error:
                    return error
            objects.append(object_file)
        self.link(objects, made)
        return ""

    def prepare(self, models: set[str], jobs: int) -> None:
        """Compiles what the models need, on all jobs."""
        needed = sorted({source for model in models for source in self.all_sources(model)})
        with concurrent.futures.ThreadPoolExecutor(jobs) as threads:
            list(threads.map(self.object, needed))
