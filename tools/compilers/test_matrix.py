#!/usr/bin/python3
"""Tests of matrix.py: what it asks of cmake, what it makes of what ctest says, and the table."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))

import matrix  # noqa: E402

PLAIN = matrix.Row(name="plain", root="here", compiler="g++-14", standard=20, level="-O2")


class Configuration(unittest.TestCase):
    def test_each_row_of_the_file_is_one(self) -> None:
        for row in matrix.rows().values():
            self.assertTrue(row.root == "here" or row.root.startswith("compilers-"), row.name)
            self.assertIn(f"-DCMAKE_CXX_COMPILER={row.compiler}", matrix.configuration(row))

    def test_gtest_is_for_libstdcxx_alone(self) -> None:
        row = matrix.Row(name="x", root="here", compiler="clang++-19", standard=20, level="-O3", library="libc++")
        self.assertEqual(row.labels, ("examples",))
        self.assertIn("-DCOFLUX_BUILD_TESTS=OFF", matrix.configuration(row))
        self.assertIn("-DCMAKE_CXX_FLAGS=-stdlib=libc++", matrix.configuration(row))

    def test_another_machine_has_an_emulator(self) -> None:
        row = matrix.Row(name="x", root="here", compiler="aarch64-linux-gnu-g++-14", standard=20, level="-O2", emulator="qemu;-L;/x")
        self.assertIn("-DCMAKE_SYSTEM_PROCESSOR=aarch64", matrix.configuration(row))
        self.assertIn("-DCMAKE_CROSSCOMPILING_EMULATOR=qemu;-L;/x", matrix.configuration(row))


class Page(unittest.TestCase):
    def test_its_table_is_that_of_the_results(self) -> None:
        self.assertEqual(matrix.problems(), [])


class Results(unittest.TestCase):
    def setUp(self) -> None:
        made = TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.root = Path(made.name)
        self.page = self.root / "compilers.md"
        self.page.write_text(f"# x\n\n{matrix.BEGIN}\n{matrix.END}\n\nmore\n", encoding="utf-8")
        self.fails: dict[str, str] = {}
        for patched in (mock.patch("matrix.tree.ROOT", self.root), mock.patch("matrix.PAGE", self.page),
                        mock.patch("matrix.RESULTS", self.root / "results.json"), mock.patch("matrix.ROWS", self.root / "matrix.toml"),
                        mock.patch("matrix.rows", return_value={"plain": PLAIN}), mock.patch("matrix.run", side_effect=self.run_step),
                        mock.patch("matrix.version", return_value="g++ 14.2.0")):
            self.enterContext(patched)

    def run_step(self, log: Path, *command: object) -> bool:
        step = "build" if "--build" in command else str(command[0])
        with log.open("a", encoding="utf-8") as said:
            if step == "ctest":
                print(self.fails.get("said", "100% tests passed, 0 tests failed out of 70"), file=said)
        return step not in self.fails

    def found(self) -> tuple[object, ...]:
        found = matrix.test(PLAIN)
        return found["tests"], found["failed"], found["says"]

    def test_what_ctest_says_is_counted(self) -> None:
        self.assertEqual(self.found(), (70, 0, ""))
        self.fails = {"ctest": "", "said": "97% tests passed, 2 tests failed out of 70"}
        self.assertEqual(self.found(), (70, 2, "tests fail"))

    def test_the_step_that_fails_is_named(self) -> None:
        for step, says in (("cmake", "it is not configured"), ("build", "it does not compile")):
            self.fails = {step: ""}
            self.assertEqual(self.found(), (0, 0, says))
        self.fails = {"ctest": "", "said": "No tests were found!!!"}
        self.assertEqual(self.found(), (0, 0, "no test ran"))

    def test_the_page_has_what_is_recorded(self) -> None:
        self.assertEqual(len(matrix.problems()), 1)
        matrix.record("plain", matrix.test(PLAIN) | {"date": "2026-01-01", "commit": "1234abcd"})
        self.page.write_text(matrix.page_with_table(self.page.read_text(encoding="utf-8")), encoding="utf-8")
        self.assertEqual(matrix.problems(), [])
        self.assertIn("| g++ 14.2.0 | libstdc++ | 20 | `-O2` | 70 pass | 2026-01-01 | 1234abcd |", self.page.read_text(encoding="utf-8"))
        self.assertTrue(self.page.read_text(encoding="utf-8").endswith("\n\nmore\n"))

    def test_a_result_without_a_row_is_none(self) -> None:
        matrix.record("plain", {})
        with mock.patch("matrix.rows", return_value={}):
            self.assertEqual(matrix.problems(), ["results.json: plain is no row of matrix.toml"])


if __name__ == "__main__":
    unittest.main()
