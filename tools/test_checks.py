#!/usr/bin/python3
"""Plants one fault after the other and sees that the check finds it: a check that cannot fail is a defect."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest
import unittest.mock
from pathlib import Path

import changed_adapters
import check_format
import check_layers
import check_limits
import check_text
import compiling
import coverage
import docstrings
import instructions
import mutate
import reliability
import std_headers
import tree

DATA = tomllib.loads((tree.ROOT / "tools/layers.toml").read_text(encoding="utf-8"))


def load(path: str):
    """A script that stands outside tools/, as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, tree.ROOT / path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class PlantedTree(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def plant(self, file: str, *lines: str) -> Path:
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return path


class ChangedAdapters(PlantedTree):
    KNOWN = ["bare", "std", "coflux", "asio", "tokio", "tokio_ct", "go"]

    def measured(self, *changed: str) -> list[str]:
        return changed_adapters.to_measure(list(changed), self.KNOWN)

    def test_what_needs_no_library_is_measured_always(self) -> None:
        self.assertEqual(self.measured("src/core/fork.cpp", "lab/runner/tests/test_cli.py", "lab/README.md"), ["bare", "std", "coflux"])

    def test_an_adapter_that_changed_is_measured_with_its_twin(self) -> None:
        self.assertEqual(self.measured("lab/runtimes/tokio/src/main.rs"), ["bare", "std", "coflux", "tokio", "tokio_ct"])

    def test_what_adapters_share_changes_all(self) -> None:
        for file in ("lab/runtimes/common/main.cpp", "lab/runner/execute.py", "lab/workloads/fib.py", "scripts/setup", "lab/CMakeLists.txt"):
            self.assertEqual(self.measured(file), self.KNOWN)

    def test_a_comment_or_a_page_is_no_change(self) -> None:
        def git(*arguments: str) -> None:
            subprocess.run(["git", "-C", str(self.root), "-c", "user.name=x", "-c", "user.email=x", *arguments], check=True,
                           capture_output=True)

        git("init")
        files = {"code.cpp": "#include <a>", "only_comment.cpp": "int a;", "page.md": "a", "adapter.py": "a = 1", "gone.rs": "fn a() {}"}
        for file, line in files.items():
            self.plant(file, "// a", "# a", line)
        git("add", ".")
        git("commit", "--message=a")
        self.plant("code.cpp", "// b", "# b", "#include <b>")
        self.plant("only_comment.cpp", "  // b", "  // c", "# b", "int a;")
        self.plant("page.md", "b")
        self.plant("adapter.py", "// a", "# b", "a = 2")
        (self.root / "gone.rs").unlink()
        self.assertEqual(changed_adapters.changed_since(self.root, "HEAD"), ["adapter.py", "code.cpp", "gone.rs"])

    def test_without_a_known_commit_all_are_measured(self) -> None:
        self.assertIsNone(changed_adapters.changed_since(tree.ROOT, "0" * 40))
        self.assertEqual(changed_adapters.to_measure(None, self.KNOWN), self.KNOWN)


class Layers(PlantedTree):
    def problems(self) -> list[str]:
        return check_layers.check(self.root, check_layers.Rules.load(DATA))

    def assert_only(self, start: str, rule: str) -> None:
        problems = self.problems()
        self.assertEqual(len(problems), 1, problems)
        self.assertTrue(problems[0].startswith(start), problems[0])
        self.assertIn(rule, problems[0])

    def test_downward_includes_are_right(self) -> None:
        self.plant("include/coflux/version.hpp")
        self.plant("include/coflux/base/config.hpp", "#include <coflux/version.hpp>", "#include <atomic>")
        self.plant("include/coflux/core/task.hpp", "#include <coflux/base/config.hpp>")
        self.plant("include/coflux/scope/scope.hpp", "#include <coflux/core/task.hpp>")
        self.plant("include/coflux/combine/all.hpp", "#include <coflux/scope/scope.hpp>")
        self.plant("include/coflux/executor/pool.hpp", "#include <coflux/core/task.hpp>", "#include <thread>")
        self.plant("include/coflux/coflux.hpp", "#include <coflux/executor/pool.hpp>")
        self.plant("src/os/cpu.hpp")
        self.plant("src/os/cpu.cpp", '#include "cpu.hpp"', "#include <sched.h>", "#include <thread>")
        self.plant("src/executor/pool.cpp", "#include <coflux/executor/pool.hpp>", '#include "os/cpu.hpp"')
        self.assertEqual(self.problems(), [])

    def test_upward_include(self) -> None:
        self.plant("include/coflux/executor/pool.hpp")
        self.plant("include/coflux/core/task.hpp", "#pragma once", "#include <coflux/executor/pool.hpp>")
        self.assert_only("include/coflux/core/task.hpp:2:", "upward include: core (layer 2) includes executor (layer 5)")

    def test_upward_include_of_a_missing_header(self) -> None:
        self.plant("src/core/task.cpp", "#include <coflux/executor/pool.hpp>")
        self.assert_only("src/core/task.cpp:1:", "upward include")

    def test_sideways_include(self) -> None:
        self.plant("include/coflux/sync/mutex.hpp")
        self.plant("include/coflux/channel/channel.hpp", "#include <coflux/sync/mutex.hpp>")
        self.assert_only("include/coflux/channel/channel.hpp:1:", "sideways include: channel and sync")

    def test_the_exception_from_sideways_goes_one_way(self) -> None:
        self.plant("include/coflux/combine/all.hpp")
        self.plant("include/coflux/scope/scope.hpp", "#include <coflux/combine/all.hpp>")
        self.assert_only("include/coflux/scope/scope.hpp:1:", "sideways include: scope and combine")

    def test_cycle(self) -> None:
        self.plant("include/coflux/core/a.hpp", "#include <coflux/core/b.hpp>")
        self.plant("include/coflux/core/b.hpp", "#include <coflux/core/c.hpp>")
        self.plant("include/coflux/core/c.hpp", "", '#include "a.hpp"')
        self.assert_only("include/coflux/core/c.hpp:2:", "include cycle: include/coflux/core/a.hpp:1 -> ")

    def test_operating_system_header_in_a_public_header(self) -> None:
        self.plant("include/coflux/io/socket.hpp", "#include <sys/socket.h>")
        self.assert_only("include/coflux/io/socket.hpp:1:", "header of the operating system <sys/socket.h>")

    def test_operating_system_header_in_an_ordinary_source(self) -> None:
        self.plant("src/executor/pool.cpp", "// why", "#include <pthread.h>")
        self.assert_only("src/executor/pool.cpp:2:", "header of the operating system <pthread.h>")

    def test_thread_header_in_a_low_layer(self) -> None:
        self.plant("src/core/task.cpp", "#  include <mutex>")
        self.assert_only("src/core/task.cpp:1:", "<mutex> in layer 2")

    def test_stream_header_in_a_low_layer(self) -> None:
        self.plant("include/coflux/sync/mutex.hpp", "#include <iostream>")
        self.assert_only("include/coflux/sync/mutex.hpp:1:", "<iostream> in layer 3")

    def test_thread_seam_in_a_low_header_but_not_in_its_source(self) -> None:
        self.plant("include/coflux/base/thread.hpp", "#include <thread>")
        self.plant("src/core/task.cpp", "#include <coflux/base/thread.hpp>")
        self.plant("include/coflux/core/task.hpp", "#include <coflux/base/thread.hpp>")
        self.assert_only("include/coflux/core/task.hpp:1:", "the thread seam in a header of layer 2")

    def test_private_header_in_a_public_one(self) -> None:
        self.plant("src/executor/queue.hpp")
        self.plant("include/coflux/executor/pool.hpp", '#include "executor/queue.hpp"')
        self.assert_only("include/coflux/executor/pool.hpp:1:", "which is not installed")

    def test_folder_without_a_layer(self) -> None:
        self.plant("include/coflux/misc/misc.hpp")
        self.assert_only("include/coflux/misc/misc.hpp:1:", "misc has no layer")

    def test_includes_in_comments_do_not_count(self) -> None:
        self.plant("include/coflux/core/task.hpp", "/* so:", "#include <thread>", "*/", "// #include <thread>")
        self.assertEqual(self.problems(), [])


class Limits(PlantedTree):
    HEADER, TEST = "include/coflux/base/x.hpp", "test/unit/base/x_test.cpp"

    def check(self, **untested: str) -> tuple[list[str], list[str]]:
        return check_limits.check(self.root, {"limits": DATA["limits"], "untested": untested.get("untested", {})})

    def test_a_long_file_is_a_notice_and_a_longer_one_an_error(self) -> None:
        self.plant("src/base/limit.cpp", *["//"] * 450)
        self.assertEqual(self.check(), ([], []))
        self.plant("src/base/limit.cpp", *["//"] * 800)
        self.assertEqual(self.check(), ([], ["src/base/limit.cpp: 800 lines, more than 450"]))
        self.plant("src/base/limit.cpp", *["//"] * 801)
        self.assertEqual(self.check(), (["src/base/limit.cpp:801: 801 lines, the limit is 800"], []))

    def test_a_folder_of_sources_with_many_files(self) -> None:
        for number in range(25):
            self.plant(f"src/base/file_{number}.cpp")
            self.plant(f"src/base/detail/file_{number}.cpp")
        self.assertEqual(self.check()[0], [])
        self.plant("src/base/one_more.hpp")
        self.assertEqual(self.check()[0], ["src/base:1: 26 files, the limit of a folder is 25"])

    def test_a_long_function_of_the_core(self) -> None:
        def planted(lines: int) -> list[str]:
            body = ["    for (;;) {  // }", '        call("{");', *["        call();"] * (lines - 5), "    }", "}"]
            return ["namespace x {", "template <typename T = struct_of<int>>", "    requires(ok<T>)", "class c : public base<int(int)> {", "    int a{0};",
                    "};", "", "c::c(int a) noexcept {", *body, "}"]
        self.plant("src/core/limit.cpp", *planted(50))
        self.assertEqual(self.check()[0], [])
        self.plant("src/core/limit.cpp", *planted(51))
        self.assertEqual(self.check()[0], ["src/core/limit.cpp:8: a function of 51 lines, the limit is 50"])
        self.plant("src/sync/limit.cpp", *planted(51))
        self.assertEqual(len(self.check()[0]), 1)

    def test_a_long_example(self) -> None:
        self.plant("examples/01_hello.cpp", *["//"] * 80)
        self.assertEqual(self.check(), ([], []))
        self.plant("examples/01_hello.cpp", *["//"] * 81)
        self.assertEqual(len(self.check()[0]), 1)

    def test_a_header_without_its_test(self) -> None:
        self.plant(self.HEADER)
        self.assertEqual(self.check()[0], [f"{self.HEADER}:1: no {self.TEST}"])
        self.assertEqual(self.check(untested={self.HEADER: "only macros"})[0], [])
        self.plant(self.TEST)
        self.assertEqual(self.check()[0], [])

    def test_exceptions_that_except_nothing(self) -> None:
        self.plant(self.HEADER)
        self.plant(self.TEST)
        self.assertIn("which has a test", self.check(untested={self.HEADER: "why"})[0][0])
        self.assertIn("is no public header", self.check(untested={"include/coflux/base/gone.hpp": "why"})[0][0])

    def test_an_exception_needs_a_reason(self) -> None:
        self.plant(self.HEADER)
        self.assertIn("gives no reason", self.check(untested={self.HEADER: " "})[0][0])

    def test_details_and_the_top_folder_need_no_test(self) -> None:
        self.plant("include/coflux/base/detail/x.hpp")
        self.plant("include/coflux/coflux.hpp")
        self.assertEqual(self.check(), ([], []))


class Text(PlantedTree):
    def problems(self) -> list[str]:
        return check_text.text_problems(self.root)

    def test_a_mark_needs_an_issue(self) -> None:
        mark = "TO" "DO"
        self.plant("src/a.cpp", f"// {mark}: later")
        self.assertEqual(self.problems(), [f"src/a.cpp:1: {mark} without the number of an issue (#12)"])
        self.plant("src/a.cpp", f"// {mark} #12: later")
        self.assertEqual(self.problems(), [])

    def test_a_registry_host(self) -> None:
        host = ".".join(("static", "crates", "io"))
        self.plant("lab/Cargo.lock", host)
        self.assertEqual(self.problems(), [])
        self.plant("scripts/setup", f"curl https://{host}/x")
        self.assertIn("scripts/setup:1: host name of a package registry", self.problems()[0])

    def test_a_path_of_one_machine(self) -> None:
        path = "/" + "work"
        for line in (f"cd {path}/main", f'"{path}"', f"`{path}/x`"):
            self.plant("docs/a.md", "fine", line)
            self.assertEqual(self.problems(), [f"docs/a.md:2: path of one machine: {path}"], line)
        for line in ("lab/workloads", f"lab{path}", f"{path}loads/x"):
            self.plant("docs/a.md", line)
            self.assertEqual(self.problems(), [], line)

    def test_a_handle_that_cannot_be_compared(self) -> None:
        said = "std::noop_coroutine(), where detail::no_coroutine() is the same handle at each call"
        self.plant("src/a.cpp", "return std::noop_coroutine();")
        self.assertEqual(self.problems(), [f"src/a.cpp:1: {said}"])
        self.plant("src/a.cpp", "// std::noop_coroutine() may give another one")
        self.plant("examples/a.cpp", "std::noop_coroutine();")
        self.assertEqual(self.problems(), [])

    def test_a_block_of_the_tour(self) -> None:
        self.plant("examples/02_more.cpp", "int main() {", "    int a = 1;", "    int b = 2;", "}")
        page = ("# x", "", "```cpp", "int a = 1;", "int b = 2;", "```", "```go", "a := 1", "```")
        self.plant("docs/tour/01-first.md", *page)
        self.assertEqual(check_text.tour_problems(self.root), [])
        self.plant("docs/tour/01-first.md", *page, "```cpp", "int b = 2;", "int a = 1;", "```")
        self.assertEqual(check_text.tour_problems(self.root),
                         ["docs/tour/01-first.md:10: this block is in no file of examples or lab/runtimes/coflux"])

    def test_a_sentence_that_hides_its_subject(self) -> None:
        turned = ("Of a crowd no other is woken.", "For themselves: they are bound late.", "It waits. What is due runs.",
                  "It stands there.")
        for comment in turned:
            self.plant("include/coflux/new/a.hpp", f"int a;  // {comment}", "// Out of line: inlining would pin it. For example.")
            self.assertEqual(len(check_text.prose_problems(self.root)), 1, comment)
            self.plant("include/coflux/new/a.hpp", f"print(\"{comment}\");")
            self.assertEqual(check_text.prose_problems(self.root), [], comment)
        self.plant("docs/new/a.md", "# What is there", "| What | Of a |", "```", "// Of a", "```", "* Of a list.", "`What` is code.")
        self.assertEqual(check_text.prose_problems(self.root), ["docs/new/a.md:6: the subject is not first: Of …"])

    def test_a_dead_link(self) -> None:
        self.plant("docs/b.md", "# The `start` of it", "text")
        self.plant("docs/a.md", "[one](b.md#the-start-of-it) [two](https://example.com/x) [three](#none-here) `[x](y)`", "[four](c.md)",
                   "[five](b.md#the-end)")
        self.assertEqual(check_text.link_problems(self.root), [
            "docs/a.md:1: no such heading: #none-here", "docs/a.md:2: no such file: c.md", "docs/a.md:3: no such heading: b.md#the-end"])

    def test_examples_have_each_number_once(self) -> None:
        for names, said in ((("01_a", "02_b"), []), (("01_a", "03_b"), ["02, 03"]), (("01_a", "01_b"), ["02"])):
            for file in (self.root / "examples").glob("*"):
                file.unlink()
            for name in names:
                self.plant(f"examples/{name}.cpp", "int main() {}")
            self.assertEqual(check_text.example_problems(self.root), [f"examples: not numbered once, from 01 on: {each}" for each in said])

    def test_the_readme_block(self) -> None:
        self.assertEqual(len(check_text.readme_problems(self.root)), 2)
        self.plant("examples/01_hello.cpp", "int main() {}")
        self.plant("README.md", "# x", "no block")
        self.assertEqual(check_text.readme_problems(self.root), ["README.md:1: no ```cpp block"])
        self.plant("README.md", "# x", "```sh", "x", "```", "```cpp", "int main() {}", "```", "```cpp", "other", "```")
        self.assertEqual(check_text.readme_problems(self.root), [])
        self.plant("README.md", "# x", "```cpp", "int main()  {}", "```")
        self.assertIn("README.md:2: the first ```cpp block is not", check_text.readme_problems(self.root)[0])


class Reliability(PlantedTree):
    def setUp(self) -> None:
        super().setUp()
        self.plant("docs/promises.md", "## The laws", "| law | promise |", "| --- | --- |", "| 1 Structure | A scope waits. |",
                   "## How things end", "* An error wins over a stop, even", "  if it comes later.")
        self.held = ['["The laws"]', '"1 Structure" = ["unit.laws.law_01.*"]',
                     '["How things end"]', '"An error wins" = "not tried"']
        self.plant("test/reliability/promises.toml", *self.held)
        self.plant("test/reliability/planted_faults.toml")
        self.plant("test/reliability/results.json", '{"presets": {}, "coverage": {}, "programs": [], "steps": []}')
        self.plant("test/unit/laws/law_01_test.cpp", "TEST(law_01, a_scope_waits) {")
        self.plant("docs/reliability.md", "# By hand", reliability.BEGIN, reliability.END, "the end")
        self.plant("README.md", reliability.BEGIN, reliability.END)
        self.write()

    def write(self) -> None:
        reliability.main(["--root", str(self.root), "write"])

    def assert_only(self, what: str) -> None:
        problems = reliability.problems(self.root)
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(what, problems[0])

    def test_a_promise_with_its_test(self) -> None:
        self.assertEqual(reliability.problems(self.root), [])
        page = (self.root / "docs/reliability.md").read_text(encoding="utf-8")
        self.assertIn("| 1 Structure | `unit.laws.law_01.*` |", page)
        self.assertIn("* An error wins over a stop, even if it comes later: not tried.", page)
        self.assertTrue(page.startswith("# By hand\n") and page.endswith("the end\n"))

    def test_a_promise_without_a_test(self) -> None:
        with (self.root / "docs/promises.md").open("a", encoding="utf-8") as page:
            page.write("* A new promise.\n")
        self.assert_only("no test is named for: A new promise.")

    def test_a_test_that_is_gone(self) -> None:
        self.plant("test/unit/laws/law_01_test.cpp", "TEST(law_02, something_else) {")
        self.assert_only("no test is called unit.laws.law_01.*")

    def test_a_promise_that_is_gone(self) -> None:
        self.plant("test/reliability/promises.toml", *self.held, '"What was promised once" = "no reason"')
        self.assert_only("0 promises under")

    def test_an_exception_without_a_reason(self) -> None:
        self.plant("test/reliability/promises.toml", *self.held[:-1], '"An error wins" = ""')
        self.assert_only("no reason for: An error wins")

    def test_a_page_that_is_not_what_its_data_say(self) -> None:
        text = (self.root / "docs/promises.md").read_text(encoding="utf-8")
        self.plant("docs/promises.md", text.replace("A scope waits.", "No scope waits.").replace("An error wins", "An error wins always"))
        self.assert_only("is not what its data say")
        self.write()
        self.assertEqual(reliability.problems(self.root), [])

    def test_a_planted_fault_that_one_rung_finds(self) -> None:
        self.plant("test/reliability/planted_faults.toml", "[[fault]]", 'what = "a double steal"',
                   'found_by = [{rung = "L3", by = "a model", after = "1 s"}, {rung = "L3", by = "another", after = "1 s"}]')
        self.assert_only("fewer than two rungs find: a double steal")

    def test_what_a_run_counted(self) -> None:
        self.plant("figures/ctest-dev.unit.xml", "<testsuite>", '<testcase name="unit.a.b" time="0.5" status="run"/>',
                   '<testcase name="example.01" time="0.25" status="fail"/>', "</testsuite>")
        self.plant("figures/ctest-dev.model.xml", "<testsuite>", '<testcase name="model.x" time="1" status="run"/>', "</testsuite>")
        self.plant("figures/L3_x.json", '{"rung": "L3", "name": "x", "what": "y", "count": 5, "seconds": 1, "result": "pass"}')
        self.plant("figures/steps.txt", "test 12")
        reliability.main(["--root", str(self.root), "collect", "--from", str(self.root / "figures"), "--record"])
        page = (self.root / "docs/reliability.md").read_text(encoding="utf-8")
        self.assertIn("| `dev` | 1 | 1 | 1 | 1 | 1.8 |", page)
        self.assertIn("| L3 | x | y | 5 runs | 1.0 |  | pass |", page)
        readme = (self.root / "README.md").read_text(encoding="utf-8")
        self.assertIn(": 1 unit tests in 1 builds; 5 runs.", readme)
        self.assertEqual(reliability.problems(self.root), [])
        self.plant("figures/L3_y.json", '{"rung": "L3"}')
        with self.assertRaises(SystemExit):
            reliability.collect(self.root / "figures", self.root)


class Instructions(PlantedTree):
    """With a valgrind that writes what it is told to."""

    KEY = f"clang 19, {platform.machine()}"

    def setUp(self) -> None:
        super().setUp()
        self.plant("docs/bench/fork_join_steps.md", "# By hand", instructions.BEGIN, instructions.END, "the end")
        (self.root / "bench").mkdir()
        self.program = self.plant("build/coflux_fork_join_steps")
        self.environment = {"PATH": f"{self.root}/bin:{os.environ['PATH']}"}
        self.counted(push=[(700, 50), (1400, 100)], wide=[(3100, 20), (6100, 40)])

    def counted(self, more_stores: int = 0, **steps: list[tuple[int, int]]) -> None:
        """The instructions and the operations of each step's last two runs; those that warm up cost more. Three tenths
        are loads; a fifth are stores, and so many more for each operation."""
        runs = [(name, more + count, operations) for name, two in steps.items() for more in (10000, 0) for count, operations in two]
        script = ["#!/bin/sh", 'if [ "$1" = --version ]; then echo valgrind-3.1; exit; fi',
                  'for argument; do case "$argument" in --callgrind-out-file=*) out="${argument#*=}";; esac; done',
                  "printf 'clang\\tDebian Clang 19.1.7 (3+b1)\\n'"]
        for index, (name, count, operations) in enumerate(runs, start=1):
            costs = f"{count} {count * 3 // 10} {count // 5 + more_stores * operations}"
            script += [f"printf '{name}\\t{operations}\\tan operation\\n'",
                       f'printf "events: Ir Dr Dw\\nsummary: {costs}\\nfn=(1) f\\n+3 {costs}\\n" >"$out.{index}-02"',
                       f'echo "summary: 5" >"$out.{index}-01"']
        self.plant("bin/valgrind", *script).chmod(0o755)

    def count(self, *options: str) -> tuple[int, str]:
        printed = io.StringIO()
        with unittest.mock.patch.dict(os.environ, self.environment), contextlib.redirect_stdout(printed):
            status = instructions.main(["--root", str(self.root), "count", "--program", str(self.program), *options])
        return status, printed.getvalue()

    def recorded(self) -> dict:
        return instructions.load_record(self.root)["compilers"][self.KEY]

    def test_what_is_spent_once_cancels(self) -> None:
        self.assertEqual(self.count("--record")[0], 0)
        self.assertEqual(self.recorded(), {"version": "19.1.7", "valgrind": "3.1", "instructions": {"push": 14.0, "wide": 150.0},
                                          "accesses": {"push": 7.0, "wide": 75.0}})

    def test_without_a_record_it_fails(self) -> None:
        status, printed = self.count()
        self.assertEqual(status, 1)
        self.assertIn(f"no instructions are recorded for {self.KEY}", printed)

    def test_the_same_again(self) -> None:
        self.count("--record")
        status, printed = self.count("--out", str(self.root / "out.json"))
        self.assertEqual(status, 0, printed)
        self.assertRegex(printed, r"push +14\.0 +14\.0 +\+0\.0 +7\.0 +7\.0 +\+0\.0\n")
        out = json.loads((self.root / "out.json").read_text(encoding="utf-8"))
        self.assertEqual((out["result"], out["steps"][0]), ("pass", {
            "step": "push", "instructions": 14.0, "accesses": 7.0, "recorded": {"instructions": 14.0, "accesses": 7.0}}))

    def test_one_instruction_more_in_a_small_step(self) -> None:
        self.count("--record")
        self.counted(push=[(750, 50), (1500, 100)], wide=[(3100, 20), (6100, 40)])
        status, printed = self.count("--out", str(self.root / "out.json"))
        self.assertEqual(status, 1)
        self.assertIn("instructions: push grew from 14 to 15 instructions\n", printed)
        self.assertNotIn("wide grew", printed)
        self.assertEqual(json.loads((self.root / "out.json").read_text(encoding="utf-8"))["result"], "fail")
        self.assertEqual(self.recorded()["instructions"]["push"], 14.0)

    def test_one_store_more_in_a_small_step(self) -> None:
        self.count("--record")
        self.counted(push=[(700, 50), (1400, 100)], wide=[(3100, 20), (6100, 40)], more_stores=1)
        status, printed = self.count()
        self.assertEqual(status, 1)
        self.assertIn("instructions: push grew from 7 to 8 accesses\n", printed)
        self.assertNotIn("grew from 14", printed)
        self.assertNotIn("wide grew", printed)

    def test_the_tolerance(self) -> None:
        for before, now, grew in ((10, 10.5, False), (10, 10.6, True), (200, 204, False), (200, 204.1, True), (200, 100, False)):
            self.assertEqual(instructions.grew(now, before), grew, (before, now))

    def test_a_new_step_and_one_that_is_gone(self) -> None:
        self.count("--record")
        self.counted(pull=[(700, 50), (1400, 100)], wide=[(3100, 20), (6100, 40)])
        status, printed = self.count()
        self.assertEqual(status, 1)
        self.assertIn("pull is not recorded", printed)
        self.assertIn("push is recorded, and not counted", printed)

    def test_a_second_compiler_leaves_the_first(self) -> None:
        self.count("--record")
        path = self.root / "bin/valgrind"
        path.write_text(path.read_text(encoding="utf-8").replace("clang\\tDebian Clang 19.1.7 (3+b1)", "g++\\t14.2.0"), encoding="utf-8")
        self.assertEqual(self.count()[0], 1)
        self.assertEqual(self.count("--record")[0], 0)
        self.assertEqual(list(instructions.load_record(self.root)["compilers"]), [self.KEY, f"g++ 14, {platform.machine()}"])

    def test_what_cannot_be_counted(self) -> None:
        self.counted(push=[(700, 50)])
        with self.assertRaisesRegex(SystemExit, "and 2 runs"):
            self.count()
        self.counted(push=[(700, 100), (1400, 100)])
        with self.assertRaisesRegex(SystemExit, "not 4 runs of one step"):
            self.count()
        self.plant("bin/valgrind", "#!/bin/sh", "echo broken >&2", "exit 3").chmod(0o755)
        with self.assertRaisesRegex(SystemExit, "ended with 3 under valgrind"):
            self.count()
        self.environment = {"PATH": str(self.root)}
        with self.assertRaisesRegex(SystemExit, "valgrind is missing; scripts/setup installs it"):
            self.count()

    def test_a_run_that_was_not_counted(self) -> None:
        path = self.root / "bin/valgrind"
        path.write_text(path.read_text(encoding="utf-8").replace("$out.3-02", "$out.3-03"), encoding="utf-8")
        with self.assertRaisesRegex(SystemExit, "counted nothing in run 3"):
            self.count()

    def test_the_functions_of_a_step(self) -> None:
        self.assertRegex(self.count("--record", "--functions", "push")[1], r"push, by function:\n +14\.00  f\n")
        with self.assertRaisesRegex(SystemExit, "no step pull"):
            self.count("--functions", "pull")

    def test_own_instructions(self) -> None:
        """What a function calls is not its own; a name may come first where the function is called."""
        text = "\n".join(("fn=(1) f'2", "1 10", "cfn=(2) g", "calls=3 0", "+1 900", "* 5", "fn=(2)", "0 7", "-2 1", "fn=(1)", "9 100"))
        self.assertEqual(instructions.own_instructions(text), {"f": 115, "g": 8})

    def test_a_page_that_is_not_what_the_record_says(self) -> None:
        self.count("--record")
        self.assertEqual(instructions.problems(self.root), [])
        page = self.root / instructions.PAGE
        text = page.read_text(encoding="utf-8")
        self.assertTrue(text.startswith("# By hand\n") and text.endswith("the end\n"))
        self.assertIn("| `push` | an operation | 14.0 |", text)
        page.write_text(text.replace("14.0", "13.0"), encoding="utf-8")
        self.assertEqual(len(instructions.problems(self.root)), 1)
        instructions.main(["--root", str(self.root), "write"])
        self.assertEqual(page.read_text(encoding="utf-8"), text)


class Mutants(PlantedTree):
    CODE = ("void push() noexcept {", "    // [core.push]",
            "    word_.store(1, memory_order_release);  // pairs with take()", "    // [core.look]",
            "    if (!seen(word_.load(memory_order_acquire))) {", "        leave();", "    }", "}", "// [core.take]",
            "int take() { return flag_.load(memory_order_relaxed) & word_.exchange(0, memory_order_acq_rel); }")

    def setUp(self) -> None:
        super().setUp()
        self.plant("src/core.cpp", *self.CODE)
        self.plant("test/model/core_model.cpp")

    def mutants(self, *changes: dict[str, object]) -> list[mutate.Mutant]:
        """One for each mark of the code that no change names, and the changes."""
        rest = {"core.push", "core.look", "core.take"} - {change["mark"] for change in changes}
        every = [*changes, *({"mark": mark, "order": "seq_cst"} for mark in rest)]
        return [mutate.Mutant(name=str(number), model="core", **change) for number, change in enumerate(every)]

    def problems(self, *changes: dict[str, object]) -> str:
        return "\n".join(mutate.data_problems(self.root, self.mutants(*changes)))

    def changed(self, mark: str, **change: object) -> list[str]:
        """The lines that the mutant writes anew."""
        mutant = mutate.Mutant(name="it", model="core", mark=mark, **change)
        self.assertEqual("", mutate.misfit(self.root, "src/core.cpp", mutant))
        lines = mutant.applied_to((self.root / "src/core.cpp").read_text(encoding="utf-8")).splitlines()
        return [line.strip() for line in lines if line not in self.CODE]

    def test_what_a_mutant_does(self) -> None:
        self.assertEqual(["word_.store(1, memory_order_relaxed);  // pairs with take()"],
                         self.changed("core.push", order="relaxed"))
        self.assertEqual([";  // pairs with take()"], self.changed("core.push", delete=True))
        self.assertEqual(["f(); word_.store(1, memory_order_release); g();  // pairs with take()"],
                         self.changed("core.push", replace="f(); @ g();"))
        self.assertEqual(["if (false) {"], self.changed("core.look", condition="false"))
        self.assertEqual(["if (seen(word_.load(memory_order_acquire))) {"],
                         self.changed("core.look", find="!", replace=""))
        self.assertEqual(["int take() { return true; }"], self.changed("core.take", condition="true"))
        self.assertIn("& word_.exchange(0, memory_order_release)",
                      self.changed("core.take", operation=2, order="release")[0])

    def test_a_compiler_that_does_not_end_is_an_outcome(self) -> None:
        compiler = self.plant("slow", "#!/bin/sh", "exec sleep 600")
        compiler.chmod(0o755)
        (self.root / "include").mkdir()
        copy = mutate.Copy(self.root, self.root / "copy", None, str(compiler), 1, 1, self.root)
        with unittest.mock.patch.object(compiling, "LIMIT", 0.1):
            for model in ("core", "io/faults", "unit/core/core_test"):
                result = copy.judge(mutate.Mutant(name="it", mark="core.push", model=model, delete=True))
                self.assertEqual("not compiled", result.verdict, result.detail)
                self.assertRegex(result.detail, "^slow did not end in 0 s: .*[.]cpp")
                self.assertFalse(result.as_expected)
        self.assertEqual("\n".join(self.CODE) + "\n", (self.root / "copy/src/core.cpp").read_text(encoding="utf-8"))

    def test_a_statement_moves_with_its_block(self) -> None:
        moved = mutate.Mutant(name="it", model="core", mark="core.look", before="core.push")
        code = moved.applied_to("\n".join(self.CODE)).replace(" ", "")
        self.assertLess(code.index("leave();\n}"), code.index("word_.store"))

    def test_a_changed_text_keeps_its_mutants(self) -> None:
        self.plant("src/core.cpp")
        self.plant("include/moved.hpp", *(line.replace("word_", "state->word") for line in self.CODE))
        self.assertEqual("", self.problems({"mark": "core.push", "delete": True}))

    def test_marks_and_mutants_without_each_other(self) -> None:
        self.assertEqual("", self.problems())
        self.assertIn("0: no mark core.pop", self.problems({"mark": "core.pop", "delete": True}))
        self.plant("include/b.hpp", "{", "    // [core.end]", "}")
        self.assertIn("0: no statement", self.problems({"mark": "core.end", "delete": True}))
        self.plant("include/b.hpp", "// [core.pop]", "f();", "// [core.push]", "f();")
        problems = self.problems()
        self.assertIn("include/b.hpp: no mutant names the mark core.pop", problems)
        self.assertIn("another mark is named core.push", problems)

    def test_mutants_that_do_not_fit(self) -> None:
        for text, change in (
                ("changes nothing", {"mark": "core.push", "order": "release"}),
                ("no order of failure", {"mark": "core.push", "failure": "relaxed"}),
                ("has 1 operations with an order", {"mark": "core.push", "operation": 2, "order": "relaxed"}),
                ("opens a block", {"mark": "core.look", "delete": True}),
                ("has no condition", {"mark": "core.push", "condition": "true"}),
                ("occurs 0 times in its statement", {"mark": "core.push", "find": "take", "replace": ""}),
                ("no mark core.pop", {"mark": "core.push", "before": "core.pop"}),
                ("core.push stands in what moves", {"mark": "core.push", "before": "core.push"}),
                ("does not say one thing", {"mark": "core.push", "delete": True, "order": "relaxed"}),
                ("does not say one thing", {"mark": "core.push"})):
            self.assertIn(text, self.problems(change))


class Coverage(unittest.TestCase):
    summary = {"line_covered": 95, "line_total": 100, "branch_covered": 84, "branch_total": 100}

    def test_too_little_of_each(self) -> None:
        self.assertEqual(coverage.problems(self.summary, 95, 84), [])
        self.assertEqual(coverage.problems(self.summary, 95, 85), ["branch coverage is 84.0 %, less than 85 %"])
        self.assertEqual(coverage.problems(self.summary, 96, 80), ["line coverage is 95.0 %, less than 96 %"])

    def test_nothing(self) -> None:
        self.assertEqual(coverage.problems(self.summary | {"line_total": 0}, 0, 0), ["nothing was measured"])

    def test_the_worst_file_comes_first(self) -> None:
        files = [{"filename": name, "line_covered": 1, "line_total": 1 + missing, "branch_covered": 0, "branch_total": 0}
                 for name, missing in (("good", 0), ("bad", 1), ("worse", 2))]
        rows = coverage.table(files)
        self.assertEqual([row.split()[-1] for row in rows], ["file", "worse", "bad"])


class Docstrings(PlantedTree):
    HEADER = "include/coflux/base/x.hpp"
    RIGHT = ("    /// Waits: `f(Shapes: x)`, in a few", "    /// words.", "    ///", "    /// Returns: nothing.", "    /// Errors, Stops: none. It never",
             "    /// stops.", "    /// Costs: a lock.")

    def problems(self, *lines: str) -> list[str]:
        return docstrings.problems(self.root, [self.plant(self.HEADER, *lines).relative_to(self.root)])

    def test_sections_one_a_line_in_order(self) -> None:
        self.assertEqual(self.problems(*self.RIGHT), [])
        doc = docstrings.parse("\n".join(self.RIGHT))
        self.assertEqual(doc.text, ["Waits: `f(Shapes: x)`, in a few words."])
        self.assertEqual(doc.sections, [(("Returns",), "nothing."), (("Errors", "Stops"), "none. It never stops."), (("Costs",), "a lock.")])

    def test_a_section_inside_a_line(self) -> None:
        self.assertEqual(self.problems("/// Waits.", "/// Returns: nothing. Errors: none."),
                         [f"{self.HEADER}:2: Errors is not at the beginning of a line"])

    def test_sections_in_another_order(self) -> None:
        self.assertEqual(self.problems("/// Costs: a lock.", "/// Returns: nothing."), [f"{self.HEADER}:2: Returns comes behind Costs"])

    def test_each_docstring_has_its_own_order(self) -> None:
        self.assertEqual(self.problems("/// Costs: a lock.", "int a;", "/// Returns: nothing.", "int f();"), [])

    def test_a_word_that_is_no_section(self) -> None:
        self.assertEqual(self.problems("/// Ownership: its own."), [f"{self.HEADER}:1: Ownership is no section"])

    def test_they_are_put_in_order(self) -> None:
        code = ("int a;  ///< Costs: a. Returns: b.", "int f();")
        before = "\n".join(("    /// Waits. Costs: a lock. Ownership: its own.", "    /// Returns: nothing. Shapes: `T` moves.", *code, ""))
        after = "\n".join(("    /// Waits.", "    /// Shapes: its own. `T` moves.", "    /// Returns: nothing.", "    /// Costs: a lock.", *code, ""))
        self.assertEqual(docstrings.fixed(before), after)
        self.assertEqual(docstrings.fixed(after), after)
        drawing = "/// Costs: a.\n/// Returns: b.\n///   a --> b\n"
        self.assertEqual(docstrings.fixed(drawing), drawing)


class StdHeaders(PlantedTree):
    def test_what_a_header_pulls_in(self) -> None:
        self.plant("include/coflux/base/a.hpp", "#include <atomic>", "#include <vector>")
        self.plant("include/coflux/base/detail/b.hpp", "#include <coflux/base/a.hpp>")
        self.plant("include/coflux/core/c.hpp", "#include <vector>", '#include "../base/detail/b.hpp"', "// #include <map>")
        self.assertEqual(std_headers.report(self.root), ["coflux/base/a.hpp: 2: atomic vector", "coflux/core/c.hpp: 2: vector | atomic"])
        self.assertEqual(std_headers.reasons(self.root, "atomic"), [
            "coflux/base/a.hpp -> <atomic>", "coflux/core/c.hpp -> coflux/base/detail/b.hpp -> coflux/base/a.hpp -> <atomic>"])

    def test_a_dear_header_in_a_lean_one(self) -> None:
        self.plant("include/coflux/base/detail/b.hpp", "#include <functional>")
        self.plant("include/coflux/core/c.hpp", '#include "../base/detail/b.hpp"')
        self.plant("include/coflux/combine/d.hpp", "#include <functional>")
        self.plant("include/coflux/sync/once.hpp", "#include <atomic>")
        self.assertEqual(std_headers.problems(self.root), [
            "coflux/core/c.hpp pulls in <functional>: coflux/core/c.hpp -> coflux/base/detail/b.hpp",
            "coflux/sync/once.hpp does without <functional>: take it out of NEEDED"])


class Format(PlantedTree):
    def run_check(self, *arguments: str) -> int:
        with contextlib.redirect_stdout(io.StringIO()):
            return check_format.main(["--root", str(self.root), *arguments])

    def setUp(self) -> None:
        super().setUp()
        shutil.copy(tree.ROOT / ".clang-format", self.root)

    def test_without_files_it_fails(self) -> None:
        self.assertEqual(self.run_check(), 1)

    def test_a_file_in_another_format_is_found_and_mended(self) -> None:
        path = self.plant("src/a.cpp", "int *p;")
        self.assertEqual(self.run_check(), 1)
        self.assertEqual(self.run_check("--fix"), 0)
        self.assertEqual(path.read_text(encoding="utf-8"), "int* p;\n")
        self.assertEqual(self.run_check(), 0)


class CompileFail(PlantedTree):
    """The runners of test/compile_fail, with the compiler of the build."""

    run_case = load("test/compile_fail/run_case.py")
    good_twins = load("test/compile_fail/good_twins.py")
    COMPILER = os.environ.get("COFLUX_CXX", "c++")
    NOT_AN_INT = 'static_assert(sizeof(char) == 2, "a char has one byte");'

    def failure(self, *lines: str) -> str | None:
        return self.run_case.failure(str(self.plant("case.cpp", *lines)), [self.COMPILER])

    def twins(self, *cases: tuple[str, ...]) -> int:
        sources = [str(self.plant(f"case_{number}.cpp", *lines)) for number, lines in enumerate(cases)]
        list_of_cases = self.plant("cases.txt", *sources)
        with contextlib.redirect_stdout(io.StringIO()):
            return self.good_twins.main(["--out", str(self.root / "twins.cpp"), "--from", str(list_of_cases), "--", self.COMPILER])

    def test_the_expected_sentence(self) -> None:
        self.assertIsNone(self.failure("// expect: a char has one byte", self.NOT_AN_INT))

    def test_another_sentence(self) -> None:
        self.assertIn("the first error is another", self.failure("// expect: a char has two bytes", self.NOT_AN_INT))

    def test_the_sentence_in_a_later_error_only(self) -> None:
        text = self.failure("// expect: a char has one byte", "undeclared name;", self.NOT_AN_INT)
        self.assertIn("the first error is another", text)

    def test_a_case_that_compiles(self) -> None:
        self.assertIn("it compiles", self.failure("// expect: anything", "int main() {}"))

    def test_a_case_without_expectation(self) -> None:
        self.assertIn("no '// expect: <text>'", self.failure(self.NOT_AN_INT))

    def test_a_discarded_result(self) -> None:
        lines = ('[[nodiscard("it is lost")]] int make();', "void use() { make(); }")
        self.assertIsNone(self.failure("// expect-warning: it is lost", *lines))
        self.assertIn("it compiles", self.failure("// expect: it is lost", *lines))

    def test_good_twins(self) -> None:
        good = ("#ifndef COFLUX_GOOD", self.NOT_AN_INT, "#endif", "int same_name() { return 1; }")
        self.assertEqual(self.twins(good, good), 0)
        self.assertEqual(self.twins(good, (*good, "undeclared name;")), 1)

    def test_a_case_without_a_good_twin_is_left_out(self) -> None:
        self.assertEqual(self.twins((self.NOT_AN_INT,)), 0)

    def test_a_good_twin_has_no_warning_where_its_case_is_about_one(self) -> None:
        discards = ("#ifdef COFLUX_GOOD", "#endif", "[[nodiscard]] int make();", "void use() { make(); }")
        self.assertEqual(self.twins(discards), 0)
        self.assertEqual(self.twins(("// expect-warning: it is lost", *discards)), 1)
        self.assertEqual(self.twins(("// expect-warning: it is lost", "#ifdef COFLUX_GOOD", "#endif"), discards), 0)


class RunExample(PlantedTree):
    run_example = load("examples/run_example.py")

    def problem(self, script: str) -> str | None:
        program = self.plant("program", "#!/bin/sh", script)
        program.chmod(0o755)
        return self.run_example.problem(program, self.root / "program.expected")

    def test_status_and_output(self) -> None:
        self.assertIsNone(self.problem("echo anything"))
        self.assertIn("exited with 3", self.problem("exit 3"))
        self.plant("program.expected", "hello")
        self.assertIsNone(self.problem("echo hello"))
        self.assertIn("printed something else", self.problem("echo hullo"))


if __name__ == "__main__":
    unittest.main()
