import os
import subprocess
import sys
import unittest
from ctypes.util import find_library
from unittest import mock

from runner import allocators, axes
from runner.runtimes import COFLUX, OWN, RUNTIMES
from runner.tests.fakes import LabTest

FIB = ("--workload", "fib")


class Dresses(LabTest):
    def test_a_dress_that_the_adapter_has_is_a_row_in_the_same_rounds(self) -> None:
        self.fake("coflux", ns=10)
        self.fake("tokio", plain=400, expert=9, dresses={"fib": ["expert"]})
        self.measure(*FIB, "--runtime", "coflux", "tokio", "--reps", "9")
        self.assertEqual([(row["runtime"], row["dress"], row["n"]) for row in self.rows()],
                         [("coflux", "plain", 9), ("tokio", "plain", 9), ("tokio", "expert", 9)])
        self.assertEqual([call[0] for call in self.calls()][:9], ["coflux", "tokio", "tokio expert", "tokio", "tokio expert",
                                                                  "coflux", "tokio expert", "coflux", "tokio"])

    def test_the_verdict_is_against_the_expert_and_the_plain_one_is_shown(self) -> None:
        self.fake("coflux", ns=10)
        self.fake("tokio", plain=400, expert=9, dresses={"fib": ["expert"]})
        done = self.measure(*FIB, "--runtime", "coflux", "tokio", "--reps", "9")
        self.assertRegex(done.stdout, r"fib \(loss\) +10\.4 +9\.36")
        self.assertIn("0.90 x, expert", done.stdout)
        self.assertIn("also: fib n=18, tokio, 2 threads: 416.0 ns/item (40.00 x)", done.stdout)
        text = (self.out / "report.md").read_text(encoding="utf-8")
        self.assertIn("tokio 1.2 expert 9.36 (0.90 x; below in 9 of 9 rounds)", text)
        self.assertIn("| fib n=18 | tokio plain glibc | 416.0 | 40.00 x |", text)

    def test_a_workload_without_another_dress_has_one_row(self) -> None:
        self.fake("tokio", dresses={"fib": ["expert"]})
        self.measure("--workload", "fib", "skynet", "--runtime", "tokio", "--reps", "1")
        self.assertEqual([(row["workload"], row["dress"]) for row in self.rows()],
                         [("fib", "plain"), ("fib", "expert"), ("skynet", "plain")])

    def test_resuming_adds_no_row_twice(self) -> None:
        self.fake("tokio", dresses={"fib": ["expert"]})
        self.measure(*FIB, "--runtime", "tokio", "--reps", "2")
        rows = self.rows()
        self.lab("--resume", str(self.out))
        self.assertEqual(self.rows(), rows)

    def test_a_dress_that_went_away_says_so(self) -> None:
        self.fake("tokio", dresses={"fib": ["expert"]})
        self.measure(*FIB, "--runtime", "tokio", "--reps", "1")
        self.fake("tokio")
        self.lab("--resume", str(self.out))
        self.assertEqual([(row["status"], row["dress"]) for row in self.rows()], [("ok", "plain"), ("unsupported", "expert")])


class Allocators(LabTest):
    def setUp(self) -> None:
        super().setUp()
        # A library that may be preloaded into anything.
        self.libraries |= {"tcmalloc": find_library("m") or "libm.so.6"}

    def rows_by(self) -> list[tuple[str, str, str]]:
        return [(row["runtime"], row["malloc"], row["status"]) for row in self.rows()]

    def test_each_runtime_has_its_recommended_one(self) -> None:
        self.fake("coflux")
        self.fake("asio")
        self.measure(*FIB, "--runtime", "coflux", "asio", "--reps", "1")
        self.assertEqual(self.rows_by(), [("coflux", "tcmalloc", "ok"), ("asio", "tcmalloc", "ok")])
        self.assertTrue(all(row["recommended"] for row in self.rows()))
        self.assertIn("coflux tcmalloc, asio tcmalloc.", " ".join((self.out / "report.md").read_text(encoding="utf-8").split()))

    def test_all_of_them_are_an_axis_and_what_is_missing_is_unavailable(self) -> None:
        self.fake("coflux")
        self.fake("asio")
        self.measure(*FIB, "--runtime", "coflux", "asio", "--reps", "1", "--allocator", "all")
        self.assertEqual(self.rows_by(), [("coflux", "tcmalloc", "ok"), ("coflux", "glibc", "ok"), ("coflux", "mimalloc", "unavailable"),
                                          ("asio", "tcmalloc", "ok"), ("asio", "glibc", "ok"), ("asio", "mimalloc", "unavailable")])
        self.assertIn("install libmimalloc2.0", (self.out / "report.md").read_text(encoding="utf-8"))

    def test_a_row_that_is_judged_by_memory_has_each_that_there_is_and_other_rows_have_one(self) -> None:
        figures = {"figures": {"bytes_each": 1.0, "kept_bytes": 1.0}}
        self.fake("coflux", says=figures)
        self.fake("go", says=figures | {"malloc": "own"})
        self.measure("--workload", "memory_after", "fib", "--runtime", "coflux", "go", "--reps", "1")
        self.assertEqual([(row["workload"], row["runtime"], row["malloc"]) for row in self.rows()],
                         [("fib", "coflux", "tcmalloc"), ("fib", "go", "own"), ("memory_after", "coflux", "tcmalloc"),
                          ("memory_after", "coflux", "glibc"), ("memory_after", "go", "own")])
        # Such a run goes along no axis.
        self.assertIsNone(axes.of_run(self.results()))

    def test_one_may_be_chosen_for_all(self) -> None:
        self.fake("asio")
        self.measure(*FIB, "--runtime", "asio", "--reps", "1", "--allocator", "glibc")
        self.assertEqual(self.rows_by(), [("asio", "glibc", "ok")])

    def test_without_the_recommended_library_glibc_is_what_there_is(self) -> None:
        self.libraries.clear()
        self.assertEqual({allocators.recommended(name) for name in RUNTIMES if RUNTIMES[name].allocator != OWN}, {"glibc"})

    def test_a_runtime_that_allocates_by_itself_has_one_row_whatever_is_chosen(self) -> None:
        self.fake("coflux")
        self.fake("go", says={"malloc": "own"})
        for number, chosen in enumerate((["all"], ["tcmalloc"], ["recommended"])):
            self.out = self.root / f"out{number}"
            self.measure(*FIB, "--runtime", "coflux", "go", "--reps", "1", "--allocator", *chosen)
            self.assertEqual([row for row in self.rows_by() if row[0] == "go"], [("go", "own", "ok")])
            self.assertTrue(self.row("go")["recommended"])

    def test_nothing_is_preloaded_into_one_that_allocates_by_itself(self) -> None:
        self.assertNotIn("LD_PRELOAD", allocators.environment(OWN))
        self.assertIsNone(allocators.unavailable(OWN))

    def test_one_that_says_that_it_has_another_has_failed(self) -> None:
        self.fake("go", says={"malloc": "glibc"})
        self.measure(*FIB, "--runtime", "go", "--reps", "1")
        self.assertEqual(self.rows_by(), [("go", "own", "failed")])

    def test_all_are_each_of_them(self) -> None:
        self.fake("coflux")
        self.measure(*FIB, "--runtime", "coflux", "--reps", "1", "--threads", "2", "--allocator", "all")
        self.assertEqual([row["malloc"] for row in self.rows()], ["tcmalloc", "glibc", "mimalloc"])

    def test_a_process_has_the_library_and_not_what_the_user_preloads(self) -> None:
        with mock.patch.dict(os.environ, {"LD_PRELOAD": "libsomething.so"}):
            self.assertNotIn("LD_PRELOAD", allocators.environment("glibc"))
            self.assertEqual(allocators.environment("tcmalloc")["LD_PRELOAD"], self.libraries["tcmalloc"])


class Libraries(unittest.TestCase):
    def test_coflux_gets_what_its_rivals_get(self) -> None:
        self.assertEqual(RUNTIMES[COFLUX].allocator, RUNTIMES["tokio"].allocator)

    def test_a_library_that_is_found_can_be_preloaded(self) -> None:
        for name in allocators.ALLOCATORS:
            path = allocators.library(name)
            if path is None:
                continue
            done = subprocess.run([sys.executable, "-c", "print(open('/proc/self/maps').read())"], capture_output=True, text=True,
                                  env=allocators.environment(name), check=True)
            self.assertIn(os.path.realpath(path), done.stdout)
            self.assertEqual(done.stderr, "")
