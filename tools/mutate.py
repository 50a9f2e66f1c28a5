#!/usr/bin/python3
"""Weakens the lock-free cores, the coroutines' protocols and I/O one place at a time, and sees that a model finds each
weakness.

The mutants are in test/model/mutants*.toml. Each names the mark of a statement in the code (tools/marks.py) and the
model that must fail, and says one thing of the statement:

    order = "relaxed"     takes the place of the operation's order, that of success for a CAS
    failure = "relaxed"   takes the place of the order of a CAS that fails; both may change at once
    delete = true         deletes it
    condition = "false"   takes the place of the condition of an if or a while, or of what is returned
    before = "some.mark"  moves it in front of that mark's statement, with the block that it opens
    replace = "x = 0; @"  takes its place, where @ is the statement as it was
    find, replace         one text in it takes the place of another

`operation = 2` names another operation of the statement than the first. Models of coroutines take a weaker order in the
run, without a compilation.

A mutant with `equivalent = "reason"` changes nothing that the C++ memory model can show; one with
`beyond = "reason"` is wrong by the standard in a way that Relacy does not explore: of both the model must pass, or the
reason is wrong. Each is applied to a copy of the tree; only its model is built and run. Models of I/O are programs in
simulation, linked with the libraries of a build (--libraries), and each fault must be found within a thousand seeds. A
model `unit/F/T` is a file of unit tests, its scenario a filter of GoogleTest: one must fail, or not end.
docs/design/models.md says more.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

import compiling
import coroutine_models
import io_models
import marks
import tree

DATA = "test/model"
FLAGS = ["-std=c++20", "-O1", "-g0", "-w"]
INCLUDES = ["-Itest/model/seam", "-Iinclude", "-Isrc"]
TEST_SECONDS = 60.0  # unit tests that take one or two
TESTS_RUN = re.compile(r"^\[==========\] (\d+) tests? from", re.MULTILINE)
FAILED_TEST = re.compile(r"^\[  FAILED  \] ([\w.]+)", re.MULTILINE)
FINDING = re.compile(r"^(\w+): (.*) in (interleaving|run) (\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    name: str
    mark: str
    model: str
    order: str = ""
    failure: str = ""
    operation: int = 1
    delete: bool = False
    condition: str = ""
    before: str = ""
    find: str = ""
    replace: str | None = None
    equivalent: str = ""
    beyond: str = ""
    scenario: str = ""  # the only one to run, for what is rare in all others
    longer: int = 1  # so many times the interleavings, for what is rare
    fault: str = ""  # its name in the list of planted faults
    seam: str = ""  # another seam than test/model/seam
    sources: str = ""  # further sources of its model's program

    @property
    def survives(self) -> bool:
        return bool(self.equivalent or self.beyond)

    @property
    def weakens(self) -> bool:
        """Whether its model takes a weaker order in the run."""
        return coroutine_models.is_one(self.model) and bool(self.order or self.failure)

    def applied_to(self, text: str) -> str:
        """The file of its mark with the mutant in it."""
        asked = [self.order or self.failure, self.delete, self.condition, self.before, self.replace is not None]
        if sum(map(bool, asked)) != 1 or self.find and self.replace is None:
            raise marks.Misfit("does not say one thing of its statement")
        statement = marks.statement_of(text, self.mark)
        if self.order or self.failure:
            return marks.with_orders(text, statement, self.operation, self.order, self.failure)
        if self.delete:
            return marks.deleted(text, statement)
        if self.condition:
            return marks.with_condition(text, statement, self.condition)
        if self.before:
            return marks.moved(text, statement, self.before)
        if self.find:
            return marks.with_part(text, statement, self.find, self.replace)
        return marks.replaced(text, statement, self.replace)

    def weakening(self, text: str) -> tuple[str, str, str, str]:
        """Line and column of the operation, as clang counts them; which of its orders, and what that becomes."""
        at, _ = marks.operation_of(text, marks.statement_of(text, self.mark), self.operation)
        line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        return str(line), str(column), "success" if self.order else "failure", self.order or self.failure


@dataclass(frozen=True)
class Result:
    mutant: Mutant
    verdict: str  # caught, survived, broken, not compiled (the compiler did not end)
    detail: str
    seconds: float

    @property
    def as_expected(self) -> bool:
        return self.verdict == ("survived" if self.mutant.survives else "caught")


def load(root: Path) -> list[Mutant]:
    mutants: list[Mutant] = []
    for path in sorted((root / DATA).glob("mutants*.toml")):
        mutants += [Mutant(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]]
    return mutants


def misfit(root: Path, file: str, mutant: Mutant) -> str:
    """Why the mutant does not fit its file, or nothing."""
    text = (root / file).read_text(encoding="utf-8")
    try:
        changed = mutant.applied_to(text)
    except marks.Misfit as why:
        return str(why)
    if marks.without_comments(changed).split() == marks.without_comments(text).split():
        return "changes nothing"
    return "weakens two orders in one run" if mutant.weakens and mutant.order and mutant.failure else ""


def data_problems(root: Path, mutants: list[Mutant]) -> list[str]:
    """What is wrong with the data and with the marks: without building anything."""
    names, found = [mutant.name for mutant in mutants], list(marks.all_marks(root))
    problems = [f"{name}: two mutants of this name" for name in sorted(set(names)) if names.count(name) > 1]
    files = dict(found)
    used = {mark for mutant in mutants for mark in (mutant.mark, mutant.before)}
    for mark, file in found:
        if files[mark] != file or found.count((mark, file)) > 1:
            problems.append(f"{file}: another mark is named {mark}")
        if mark not in used:
            problems.append(f"{file}: no mutant names the mark {mark}")
    for mutant in mutants:
        why = misfit(root, files[mutant.mark], mutant) if mutant.mark in files else f"no mark {mutant.mark}"
        if why:
            problems.append(f"{mutant.name}: {why}")
        program = io_models.source_of(mutant.model)
        if not (root / program).is_file():
            problems.append(f"{mutant.name}: no model {mutant.model}")
        if mutant.equivalent and mutant.beyond:
            problems.append(f"{mutant.name}: either equivalent or beyond")
    return problems


class Copy:
    """A copy of the tree in which one mutant at a time is built and run."""

    def __init__(self, root: Path, place: Path, coroutines: coroutine_models.Unchanged, compiler: str, iterations: int,
                 seed: int, libraries: Path) -> None:
        self.simulated = io_models.Programs(root, place, libraries, compiler, FLAGS)
        self.place, self.coroutines, self.files = place, coroutines, dict(marks.all_marks(root))
        self.compiler, self.iterations, self.seed = compiler, iterations, seed
        for folder in ("include", "src", DATA):
            shutil.copytree(root / folder, place / folder)

    def run(self, command: list[str], limit: float, weakening: str = "") -> subprocess.CompletedProcess[str]:
        environment = dict(os.environ, COFLUX_MODEL_WEAKEN=weakening) if weakening else None
        return subprocess.run(command, cwd=self.place, env=environment, check=False, capture_output=True, text=True, errors="replace",
                              timeout=limit)

    def includes(self, seam: str) -> list[str]:
        return ([f"-I{seam}"] if seam else []) + INCLUDES

    def precompiled(self) -> list[str]:
        """Relacy and the standard headers, parsed once: the larger part of a model's compilation."""
        header, made = f"{DATA}/support/relacy.hpp", f"{DATA}/support/relacy.hpp.gch"
        if not (self.place / made).exists():
            built = compiling.compiled([self.compiler, *FLAGS, *INCLUDES, "-x", "c++-header", header, "-o", made], self.place)
            if built.returncode != 0:
                sys.exit(f"mutate: {header} does not compile:\n{built.stderr}")
        return ["-include", header]

    def support(self, seam: str) -> str:
        """The models' main, compiled once."""
        made = f"main{len(seam)}.o"
        if not (self.place / made).exists():
            source = f"{DATA}/support/model.cpp"
            built = compiling.compiled([self.compiler, *FLAGS, *self.includes(seam), "-c", source, "-o", made], self.place)
            if built.returncode != 0:
                sys.exit(f"mutate: the models' main does not compile:\n{built.stderr}")
        return made

    def build(self, mutant: Mutant) -> str:
        """Makes `program`; what was wrong, or nothing."""
        file = self.files[mutant.mark]
        if io_models.is_one(mutant.model):
            return self.simulated.build(mutant.model, file)
        if coroutine_models.is_one(mutant.model):
            return self.coroutines.changed_program(self.place, mutant.model, file, self.place / "program")
        sources = [f"{DATA}/{mutant.model}_model.cpp", *mutant.sources.split(), self.support(mutant.seam)]
        built = compiling.compiled([self.compiler, *FLAGS, *self.includes(mutant.seam), *self.precompiled(), *sources, "-o", "program"],
                                   self.place)
        return built.stderr.strip().splitlines()[0] if built.returncode != 0 else ""

    def verdict(self, mutant: Mutant, text: str) -> tuple[str, str]:
        program, weakening, iterations = "./program", "", self.iterations * mutant.longer
        if coroutine_models.is_one(mutant.model):
            iterations = max(1, iterations // 15)  # each is that much longer
        if mutant.weakens:
            file = self.files[mutant.mark]
            line, column, part, order = mutant.weakening(text)
            if not self.coroutines.executes(mutant.model, (file, line, column, part)):
                return "broken", f"{mutant.model} executes no such operation at {file}:{line}:{column}"
            program = str(self.coroutines.program(mutant.model))
            weakening = f"{Path(file).name} {line} {column} {part} {order}"
        else:
            error = self.build(mutant)
            if error:
                return "broken", "does not compile: " + error
        if io_models.is_unit_test(mutant.model):
            return self.verdict_of_tests(mutant)
        try:
            only = ["--only", mutant.scenario] if mutant.scenario else []
            how_many = ["--iterations", str(iterations)]
            if io_models.is_one(mutant.model):
                iterations = io_models.SEEDS
                how_many = ["--seeds", str(iterations)]
            ran = self.run([program, *how_many, "--seed", str(self.seed), *only], 300, weakening)
        except subprocess.TimeoutExpired:
            return "broken", "ran for five minutes"
        if ran.returncode == 0:
            return "survived", f"{iterations} {'seeds' if io_models.is_one(mutant.model) else 'interleavings'}"
        found = FINDING.search(ran.stdout)
        if found is not None:
            return "caught", f"{found[1]}, {found[3]} {found[4]}: {found[2]}"
        if ran.returncode in (-6, -11):
            return "caught", f"the program dies with signal {-ran.returncode}"
        return "broken", f"status {ran.returncode}: {(ran.stdout + ran.stderr).strip()[-200:]}"

    def verdict_of_tests(self, mutant: Mutant) -> tuple[str, str]:
        try:
            ran = self.run(["./program", "--gtest_brief=1", f"--gtest_filter={mutant.scenario or '*'}"], TEST_SECONDS)
        except subprocess.TimeoutExpired:
            return "caught", f"does not end in {TEST_SECONDS:.0f} s"
        count = TESTS_RUN.search(ran.stdout)
        if ran.returncode == 0:
            return ("survived", f"{count[1]} tests") if count is not None and count[1] != "0" else ("broken", "no such test")
        failed = FAILED_TEST.search(ran.stdout)
        return "caught", f"{failed[1]} fails" if failed is not None else f"the program ends with status {ran.returncode}"

    def judge(self, mutant: Mutant) -> Result:
        begun = time.monotonic()
        path = self.place / self.files[mutant.mark]
        text = path.read_text(encoding="utf-8")
        if not mutant.weakens:
            path.write_text(mutant.applied_to(text), encoding="utf-8")
        try:
            verdict, detail = self.verdict(mutant, text)
        except compiling.TookTooLong as why:
            verdict, detail = "not compiled", str(why)
        finally:
            path.write_text(text, encoding="utf-8")
        return Result(mutant, verdict, detail, time.monotonic() - begun)


def judge_all(root: Path, mutants: list[Mutant], options: argparse.Namespace) -> list[Result]:
    """Each job has its copy; a line for each mutant as it is done."""
    with tempfile.TemporaryDirectory(prefix="coflux_mutants_") as scratch:
        coroutines = coroutine_models.Unchanged(root, Path(scratch) / "coroutines", options.compiler, FLAGS)
        coroutines.prepare({m.model for m in mutants if coroutine_models.is_one(m.model)}, options.jobs)
        copies = [Copy(root, Path(scratch) / str(job), coroutines, options.compiler, options.iterations, options.seed,
                       options.libraries)
                  for job in range(options.jobs)]

        def work(job: int) -> list[Result]:
            results = []
            for mutant in mutants[job::options.jobs]:
                results.append(copies[job].judge(mutant))
                print_result(results[-1])
            return results

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as threads:
            return [result for part in threads.map(work, range(options.jobs)) for result in part]


def print_result(result: Result) -> None:
    mark = "ok  " if result.as_expected else "FAIL"
    kind = "equivalent" if result.mutant.equivalent else "beyond" if result.mutant.beyond else "must be caught"
    print(f"{mark} {result.mutant.name:44} {kind:14} {result.verdict}: {result.detail} ({result.seconds:.1f} s)", flush=True)


def record(options: argparse.Namespace, results: list[Result], whole: bool, seconds: float) -> None:
    passed = all(result.as_expected for result in results)
    caught = sum(result.verdict == "caught" for result in results)
    if options.report:
        what = "mutants of the lock-free cores, of the coroutines' protocols and of I/O" + ("" if whole else ", a sample")
        options.report.write_text(json.dumps({
            "rung": "L3", "name": "mutants", "what": what, "count": len(results), "seconds": round(seconds, 1),
            "result": "pass" if passed else "fail", "seed": options.seed}) + "\n", encoding="utf-8")
    if options.results:
        user = resource.getrusage(resource.RUSAGE_CHILDREN)
        options.results.write_text(json.dumps({
            "compiler": Path(options.compiler).name, "iterations": options.iterations, "seed": options.seed, "count": len(results),
            "caught": caught, "equivalent": sum(bool(r.mutant.equivalent) for r in results),
            "beyond": sum(bool(r.mutant.beyond) for r in results), "seconds": round(seconds, 1),
            "cpu_seconds": round(user.ru_utime + user.ru_stime, 1), "result": "pass" if passed else "fail",
            "mutants": [{"name": r.mutant.name, "model": r.mutant.model, "verdict": r.verdict, "detail": r.detail}
                        for r in sorted(results, key=lambda r: r.mutant.name)]}, indent=1) + "\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=tree.ROOT)
    parser.add_argument("--list", action="store_true", help="the mutants, and what is expected of each")
    parser.add_argument("--check", action="store_true", help="only that mutants and marks fit each other")
    parser.add_argument("--only", metavar="NAME", help="mutants whose name contains NAME")
    parser.add_argument("--model", metavar="NAME", help="mutants of one model, or of a folder of models")
    parser.add_argument("--sample", type=int, metavar="N", help="N of them, chosen by the seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--iterations", type=int, default=300_000, help="random interleavings of each (default 300000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--libraries", type=lambda named: Path(named).resolve(), metavar="DIR",
                        default=tree.ROOT / "build/clang-release",
                        help="where the libraries are that models of I/O are linked with (default build/clang-release)")
    parser.add_argument("--compiler", default=os.environ.get("COFLUX_CXX") or shutil.which("clang++-19") or "g++")
    parser.add_argument("--report", type=Path, metavar="FILE", help="one JSON object for the ladder")
    parser.add_argument("--results", type=Path, metavar="FILE", help="each mutant's verdict, as JSON")
    options = parser.parse_args(arguments)

    mutants = load(options.root)
    problems = data_problems(options.root, mutants)
    for problem in problems:
        print(problem)
    if problems or options.check:
        print(f"mutants: {len(mutants)}, {len(problems)} problems")
        return 1 if problems else 0
    chosen = [m for m in mutants if (options.only or "") in m.name and options.model in (None, m.model, m.model.partition("/")[0])]
    if options.sample is not None and options.sample < len(chosen):
        chosen = random.Random(options.seed).sample(chosen, options.sample)
    if options.list:
        for m in chosen:
            print(f"{m.name:44} {m.model:20} " + (f"equivalent: {m.equivalent}" if m.equivalent else
                                                  f"beyond Relacy: {m.beyond}" if m.beyond else "must be caught"))
        return 0
    if not chosen:
        print("no such mutant")
        return 2
    lacks = io_models.missing(options.libraries) if any(io_models.is_one(m.model) for m in chosen) else ""
    if lacks:
        print(f"mutate: {lacks}")
        return 2
    begun = time.monotonic()
    try:
        results = judge_all(options.root, chosen, options)
    except compiling.TookTooLong as why:
        print(f"mutate: {why}")
        return 2
    seconds = time.monotonic() - begun
    wrong = [result for result in results if not result.as_expected]
    for result in wrong:
        print(f"not as expected: {result.mutant.name}: {result.verdict}: {result.detail}")
    caught = sum(result.verdict == "caught" for result in results)
    print(f"mutants: {len(results)}, {caught} caught, {sum(r.mutant.survives for r in results)} listed as equivalent or beyond, "
          f"{len(wrong)} not as expected, {seconds:.0f} s")
    record(options, results, len(results) == len(mutants), seconds)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
