import json
import os
import subprocess
import sys
from unittest import mock

from runner.cli import INTERRUPTED
from runner.paths import LAB
from runner.progress import Progress, duration
from runner.runtimes import RUNTIMES
from runner.state import State
from runner.tests.fakes import LabTest

PAIR = ("--workload", "fib", "--runtime", "coflux", "asio", "--reps", "3")


class Resuming(LabTest):
    def interrupt_after(self, repetitions: int) -> None:
        """Starts a run that is interrupted after some repetitions."""
        done = 0
        finished = Progress.finished

        def count(progress: Progress, row: object) -> None:
            nonlocal done
            finished(progress, row)
            done += 1
            if done == repetitions:
                raise KeyboardInterrupt

        with mock.patch.object(Progress, "finished", count):
            interrupted = self.measure(*PAIR)
        self.assertEqual(interrupted.status, INTERRUPTED)
        self.assertIn(f"scripts/lab --resume {self.out}", interrupted.stderr)

    def setUp(self) -> None:
        super().setUp()
        self.fake("coflux")
        self.fake("asio")

    def test_a_resumed_run_does_what_was_left_and_nothing_twice(self) -> None:
        self.interrupt_after(3)
        self.assertFalse((self.out / "results.json").exists())
        done = self.lab("--resume", str(self.out))
        self.assertEqual(done.status, 0, done.stderr)
        self.assertEqual([call[0] for call in self.calls()], ["coflux", "asio", "asio", "coflux", "coflux", "asio"])
        self.assertEqual([row["n"] for row in self.rows()], [3, 3])

    def test_the_seconds_of_a_run_are_those_of_its_parts(self) -> None:
        self.interrupt_after(2)
        first = State.load(self.out).seconds
        self.assertGreaterEqual(first, sum(each.process_seconds for row in State.load(self.out).rows for each in row.repetitions))
        self.assertEqual(self.lab("--resume", str(self.out)).status, 0)
        saved = State.load(self.out)
        self.assertGreaterEqual(saved.seconds - first, sum(row.repetitions[-1].process_seconds for row in saved.rows))
        seconds = self.results()["seconds"]
        self.assertAlmostEqual(seconds, saved.seconds, delta=0.1)
        # Nothing is left to measure, so it stays.
        self.assertEqual(self.lab("--resume", str(self.out)).status, 0)
        self.assertEqual(self.results()["seconds"], seconds)
        for name in ("report.md", "report.html"):
            self.assertRegex((self.out / name).read_text(encoding="utf-8"), rf"in {duration(seconds)}\b")

    def test_the_state_is_saved_after_every_repetition(self) -> None:
        for repetitions in (1, 2):
            self.interrupt_after(repetitions)
            state = json.loads((self.out / "state.json").read_text(encoding="utf-8"))
            self.assertEqual(sum(len(row["repetitions"]) for row in state["rows"]), repetitions)
            (self.out / "state.json").unlink()

    def test_what_is_saved_is_the_whole_run(self) -> None:
        self.measure(*PAIR)
        saved = State.load(self.out)
        saved.save(self.root)
        self.assertEqual(State.load(self.root), saved)
        self.assertEqual([len(row.repetitions) for row in saved.rows], [3, 3])
        self.assertTrue(all(each.process_seconds > 0 for row in saved.rows for each in row.repetitions))

    def test_a_case_that_takes_long_is_measured_in_six_rounds(self) -> None:
        done = self.lab("--suite", "seed", "--workload", "cachecalc_sharded", "--runtime", "coflux", "asio", "--out", str(self.out))
        self.assertEqual(done.status, 0, done.stderr)
        self.assertEqual([row["n"] for row in self.rows()], [6] * 8)
        self.assertEqual({row["coverage"] for row in self.rows()}, {0.96875})
        self.assertIn("· 6/6: ", done.stdout)
        self.assertNotIn("/9", done.stdout)
        calls = self.calls()
        self.lab("--resume", str(self.out))
        self.assertEqual(self.calls(), calls)

    def test_resuming_a_complete_run_measures_nothing_and_writes_the_same_rows(self) -> None:
        self.measure(*PAIR)
        rows, calls = self.rows(), self.calls()
        (self.out / "report.html").unlink()
        self.assertEqual(self.lab("--resume", str(self.out)).status, 0)
        self.assertEqual(self.rows(), rows)
        self.assertEqual(self.calls(), calls)
        self.assertTrue((self.out / "report.html").is_file())

    def test_a_rebuilt_executable_is_measured_from_the_start(self) -> None:
        self.interrupt_after(3)
        self.fake("coflux", ns=50)
        done = self.lab("--resume", str(self.out))
        self.assertIn("coflux is not the executable of before", done.stdout)
        self.assertEqual(self.row("coflux")["n"], 3)
        self.assertGreaterEqual(min(self.row("coflux")["samples"]), 50)
        self.assertEqual(self.row("asio")["n"], 3)
        # The report says it: of the run, and of each row.
        said = "coflux is not the executable of before"
        self.assertIn(said, self.results()["notes"][0])
        self.assertIn("its executable was another one", self.row("coflux")["reason"])
        self.assertIsNone(self.row("asio")["reason"])
        for name in ("report.md", "report.html"):
            text = (self.out / name).read_text(encoding="utf-8")
            self.assertIn(f"Note: {said}", text)
            self.assertIn("its executable was another one when the run began", text)

    def test_one_that_another_executable_goes_on_as_counts_too(self) -> None:
        self.fake("tokio", ns=10)
        other = self.build / RUNTIMES["tokio"].others[0]
        other.parent.mkdir(parents=True, exist_ok=True)
        other.write_text("old", encoding="utf-8")
        self.measure("--workload", "fib", "--runtime", "tokio", "--reps", "1")
        self.assertNotIn("not the executable of before", self.lab("--resume", str(self.out)).stdout)
        other.write_text("new", encoding="utf-8")
        self.assertIn("tokio is not the executable of before", self.lab("--resume", str(self.out)).stdout)

    def test_what_was_unavailable_is_measured_once_it_is_there(self) -> None:
        arguments = ("--workload", "fib", "--runtime", "coflux", "tbb", "--reps", "1")
        done = self.measure(*arguments)
        self.assertEqual(done.status, 0, done.stderr)
        self.assertEqual(self.row("tbb")["status"], "unavailable")
        self.fake("tbb")
        self.lab("--resume", str(self.out))
        self.assertEqual((self.row("tbb")["status"], self.row("tbb")["n"]), ("ok", 1))

    def test_a_failed_row_stays_failed(self) -> None:
        self.fake("asio", run="crash")
        self.assertEqual(self.measure(*PAIR).status, 1)
        self.assertEqual(self.lab("--resume", str(self.out)).status, 1)
        self.assertEqual([call[0] for call in self.calls()].count("asio"), 1)

    def test_another_machine_is_refused(self) -> None:
        self.interrupt_after(1)
        path = self.out / "state.json"
        state = json.loads(path.read_text(encoding="utf-8"))
        state["machine"]["cpu_model"] = "another CPU"
        path.write_text(json.dumps(state), encoding="utf-8")
        done = self.lab("--resume", str(self.out))
        self.assertEqual(done.status, 2)
        self.assertIn("another CPU", done.stderr)

    def test_a_signal_ends_the_process_that_runs_and_tells_how_to_go_on(self) -> None:
        # The fake sends SIGTERM to the runner and would then wait for ever.
        self.fake("coflux", run="interrupt", after=1)
        command = [sys.executable, "-B", "-m", "runner", "--suite", "smoke", "--allocator", "glibc", "--out",
                   str(self.out), *PAIR]
        done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(LAB)}, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, INTERRUPTED, done.stderr)
        self.assertIn("--resume", done.stderr)
        state = json.loads((self.out / "state.json").read_text(encoding="utf-8"))
        self.assertEqual([len(row["repetitions"]) for row in state["rows"]], [1, 2])
        self.fake("coflux")
        self.assertEqual(self.lab("--resume", str(self.out)).status, 0)
        self.assertEqual([row["n"] for row in self.rows()], [3, 3])
