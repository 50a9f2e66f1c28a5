"""Builds the programs of simulated I/O and stream jobs, and unit tests, for tools/mutate.py.

They are linked with the libraries of a build: a source of the library that a mutant changes is compiled and comes
before them, so that its definitions count; a header that it changes counts for the program. A model `unit/F/T` is the
file of tests test/unit/F/T.cpp, for what no simulation can play; src/F, which the build may lack, is compiled with it.
"""

from __future__ import annotations

from pathlib import Path

import compiling

SEEDS = 1000  # a fault must be found within so many
LIBRARIES = ["testing_network", "testing", "stream", "io", "runtime", "core"]
INCLUDES = ["-Itest", "-Iinclude", "-Isrc"]
SUPPORT = "test/simulation/options.cpp"
# What the folders of unit tests are linked with besides.
NEEDS = {"kafka": ["-lrdkafka"]}


def is_unit_test(model: str) -> bool:
    return model.startswith("unit/")


def is_one(model: str) -> bool:
    return model.startswith(("io/", "stream/")) or is_unit_test(model)


def source_of(model: str) -> str:
    return f"test/{model}.cpp" if is_unit_test(model) else f"test/model/{model}_model.cpp"


def missing(libraries: Path) -> str:
    """What the build lacks, or nothing."""
    names = [f"libcoflux_{name}.a" for name in LIBRARIES if not (libraries / f"libcoflux_{name}.a").is_file()]
    return f"{libraries} has no {names[0]}: build it, or name another build with --libraries" if names else ""


class Programs:
    """In one copy of the tree; what is not of models is compiled from `root`, whose other tests the copy lacks."""

    def __init__(self, root: Path, place: Path, libraries: Path, compiler: str, flags: list[str]) -> None:
        aligned = ["-fcoro-aligned-allocation"] if "clang" in Path(compiler).name else []
        self.root, self.place, self.libraries = root, place, libraries
        self.command = [compiler, *flags, *aligned, *INCLUDES, f"-I{root / 'test'}"]

    def compile(self, source: str, made: str) -> str:
        built = compiling.compiled([*self.command, "-c", source, "-o", made], self.place)
        return (built.stderr.strip().splitlines() or ["?"])[0] if built.returncode != 0 else ""

    def once(self, source: str, made: str) -> str:
        return "" if (self.place / made).exists() else self.compile(source, made)

    def build(self, model: str, file: str) -> str:
        """Makes `program` where `file` is changed; what was wrong, or nothing."""
        program, whole = str(self.root / source_of(model)), model.replace("/", "_") + ".o"
        if is_unit_test(model):
            # A header counts for the tests, and for each source of the library that includes it.
            changed = "io_changed_program.o" if file.endswith(".hpp") else whole
            error = self.compile(program, changed) if file.endswith(".hpp") else self.once(program, whole)
            return error or self.compile(self.united(model, file), "io_changed.o") or self.link(
                ["io_changed.o", changed], ["-lgtest_main", "-lgtest", *NEEDS.get(model.split("/")[1], [])])
        objects = [whole, "io_support.o"]
        error = self.once(str(self.root / SUPPORT), "io_support.o")
        if not error and file.endswith(".hpp"):
            objects[0] = "io_changed_program.o"
            error = self.compile(program, objects[0])
        elif not error:
            objects.insert(0, "io_changed.o")
            error = self.once(program, whole) or self.compile(file, "io_changed.o")
        return error or self.link(objects, [])

    def united(self, model: str, file: str) -> str:
        """In one: all sources of the library that the tests are of, and those that see the change."""
        sources = set((self.place / "src" / model.split("/")[1]).glob("*.cpp"))
        if file.endswith(".cpp"):
            sources.add(self.place / file)
        else:
            header = file.removeprefix("src/").removeprefix("include/")
            sources |= {each for each in (self.place / "src").rglob("*.cpp")
                        if header in each.read_text(encoding="utf-8")}
        text = "".join(f'#include "{source}"\n' for source in sorted(sources))
        (self.place / "united.cpp").write_text(text, encoding="utf-8")
        return "united.cpp"

    def link(self, objects: list[str], others: list[str]) -> str:
        archives = [str(self.libraries / f"libcoflux_{name}.a") for name in LIBRARIES]
        linked = compiling.compiled([self.command[0], *objects, *archives, *others, "-pthread", "-o", "program"], self.place)
        return (linked.stderr.strip().splitlines() or ["?"])[-1] if linked.returncode != 0 else ""
