import os
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

from runner import locks, state
from runner.cli import ALL_RIGHT, BAD_ARGUMENTS, BUSY, NOT_WRITTEN
from runner.progress import Progress
from runner.suites import SUITES, TIMEOUT_SECONDS
from runner.tests.fakes import LabTest

FIB = ("--workload", "fib", "--runtime", "coflux", "--reps", "2")


class Writing(LabTest):
    def setUp(self) -> None:
        super().setUp()
        self.fake("coflux")

    def fill_the_disk(self) -> None:
        """/dev/full refuses what is written to it, as a full disk does."""
        (self.out / "state.json.new").symlink_to("/dev/full")

    def test_a_full_disk_at_the_start_is_told(self) -> None:
        self.out.mkdir()
        self.fill_the_disk()
        done = self.measure(*FIB)
        self.assertEqual(done.status, NOT_WRITTEN)
        self.assertIn(f"cannot write {self.out}/state.json: No space left on device", done.stderr)
        self.assertEqual(self.calls(), [])

    def test_a_disk_that_fills_up_loses_nothing_of_before(self) -> None:
        finished = Progress.finished

        def fill(progress: Progress, row: object) -> None:
            finished(progress, row)
            self.fill_the_disk()

        with mock.patch.object(Progress, "finished", fill):
            done = self.measure(*FIB)
        self.assertEqual(done.status, NOT_WRITTEN)
        self.assertIn(f"go on with: scripts/lab --resume {self.out}", done.stderr)
        # The half file is gone, and with it the room that it took.
        self.assertFalse(os.path.lexists(self.out / "state.json.new"))
        self.assertEqual(self.lab("--resume", str(self.out)).status, ALL_RIGHT)
        self.assertEqual(self.row("coflux")["n"], 2)

    def assert_refused(self, out: Path, says: str) -> None:
        for call in (("--check-args",), ()):
            done = self.lab(*call, "--size", "smoke", "--out", str(out), *FIB)
            self.assertEqual(done.status, BAD_ARGUMENTS, call)
            self.assertIn(says, done.stderr)
            self.assertEqual(self.calls(), [])

    def test_a_file_is_no_directory(self) -> None:
        file = self.root / "file"
        file.write_text("", encoding="utf-8")
        self.assert_refused(file, "is no directory")
        self.assert_refused(file / "below", f"{file} is a file")

    def test_where_no_directory_can_be_made_is_told(self) -> None:
        # No permission stands in the way of root, but this file system.
        says = "cannot make /proc/lab-results" if os.geteuid() == 0 else "is read-only for this user"
        self.assert_refused(Path("/proc/lab-results"), says)

    def test_the_check_leaves_nothing_behind(self) -> None:
        self.lab("--check-args", "--size", "smoke", "--out", str(self.out / "deep"), *FIB)
        self.assertFalse(self.out.exists())
        self.assertEqual(list(self.root.glob("tmp*")), [])

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_a_read_only_directory_is_refused_before_anything_is_built(self) -> None:
        self.out.mkdir(mode=0o555)
        self.assert_refused(self.out, "is read-only for this user")

    def test_a_read_only_directory_is_refused_for_whom_it_is_one(self) -> None:
        with mock.patch("os.access", return_value=False):
            self.assert_refused(self.out, "is read-only for this user")

    def test_a_failed_write_leaves_the_file_of_before(self) -> None:
        path = self.root / "file"
        state.write_atomically(path, "before")
        with mock.patch("os.fsync", side_effect=OSError(28, "No space left on device")), self.assertRaises(state.WriteError):
            state.write_atomically(path, "after")
        self.assertEqual(path.read_text(encoding="utf-8"), "before")


class TwoRuns(LabTest):
    def setUp(self) -> None:
        super().setUp()
        self.fake("coflux")

    def test_a_second_run_on_the_machine_is_refused_also_before_its_build(self) -> None:
        with locks.machine(0.0):
            for arguments in ((), ("--check-args",)):
                done = self.measure(*FIB, *arguments)
                self.assertEqual(done.status, BUSY)
                self.assertIn(f"another run of the lab measures on this machine (process {os.getpid()})", done.stderr)
        self.assertEqual(self.calls(), [])
        self.assertFalse(self.out.exists())
        self.assertEqual(self.measure(*FIB).status, ALL_RIGHT)

    def test_the_smoke_suite_waits_for_the_other_to_end(self) -> None:
        self.assertGreater(SUITES["smoke"].waits, 60)
        held, asked = threading.Event(), threading.Event()

        def hold() -> None:
            with locks.machine(0.0):
                held.set()
                asked.wait()

        holder = threading.Thread(target=hold)
        holder.start()
        held.wait()
        # The first sleep of the one that waits lets the other end.
        sleep = time.sleep
        with mock.patch("runner.locks.time.sleep", side_effect=lambda _: (asked.set(), sleep(0.01))):
            done = self.measure("--suite", "smoke", *FIB)
        holder.join()
        self.assertEqual(done.status, ALL_RIGHT, done.stderr)

    def test_a_second_run_in_the_directory_is_refused(self) -> None:
        self.out.mkdir()
        with locks.directory(self.out):
            done = self.measure(*FIB)
        self.assertEqual(done.status, BUSY)
        self.assertIn(f"another run of the lab writes to {self.out}", done.stderr)
        self.assertEqual(self.calls(), [])

    def test_a_run_that_came_between_the_look_and_the_lock_is_not_overwritten(self) -> None:
        # The other run begins when this one has looked for a state and not yet locked the directory.
        lock = locks.directory

        def other_first(path: Path) -> object:
            (path / "state.json").write_text("another run's", encoding="utf-8")
            return lock(path)

        with mock.patch("runner.locks.directory", other_first):
            done = self.measure(*FIB)
        self.assertEqual(done.status, BAD_ARGUMENTS)
        self.assertIn("holds another run since a moment ago", done.stderr)
        self.assertEqual((self.out / "state.json").read_text(encoding="utf-8"), "another run's")

    def test_nobody_measures_where_nobody_does(self) -> None:
        self.assertIsNone(locks.holder())


class Processes(LabTest):
    def test_a_grandchild_that_holds_the_output_of_a_hung_child_hangs_nobody(self) -> None:
        self.fake("coflux", run="hang with a child")
        began = time.monotonic()
        with mock.patch.dict(TIMEOUT_SECONDS, smoke=1.0):
            done = self.measure(*FIB)
        self.assertLess(time.monotonic() - began, 90.0)
        self.assertEqual((done.status, self.row("coflux")["status"]), (1, "timeout"))
        self.assertIn("not finished after 1 s", self.row("coflux")["reason"])

    def test_a_child_that_ends_and_leaves_a_process_behind_has_failed(self) -> None:
        self.fake("coflux", run="leave behind")
        began = time.monotonic()
        done = self.measure(*FIB)
        self.assertLess(time.monotonic() - began, 90.0)
        self.assertEqual((done.status, self.row("coflux")["status"]), (1, "failed"))
        self.assertIn("left a process of its own behind, which was killed", self.row("coflux")["reason"])


class Retrying(LabTest):
    def test_what_failed_once_is_measured_again_when_asked_and_the_report_says_so(self) -> None:
        self.fake("coflux")
        # It fails once and no longer.
        self.fake("asio", run="crash", until=1)
        self.assertEqual(self.measure("--workload", "fib", "--runtime", "coflux", "asio", "--reps", "2").status, 1)
        self.assertEqual(self.lab("--resume", str(self.out)).status, 1)
        done = self.lab("--resume", str(self.out), "--retry-failed")
        self.assertEqual(done.status, ALL_RIGHT, done.stderr)
        self.assertIn("1 rows are measured again", done.stdout)
        row = self.row("asio")
        self.assertEqual((row["status"], row["n"]), ("ok", 2))
        self.assertIn("failed before: repetition 1 of 2: exit status 1: assertion x == y failed", row["reason"])
        self.assertIn("failed before", (self.out / "report.html").read_text(encoding="utf-8"))
        # What was right is not measured twice.
        self.assertEqual([call[0] for call in self.calls()].count("coflux"), 2)

    def test_what_fails_again_has_failed(self) -> None:
        self.fake("asio", run="crash")
        self.measure("--workload", "fib", "--runtime", "asio", "--reps", "2")
        self.assertEqual(self.lab("--resume", str(self.out), "--retry-failed").status, 1)
        self.assertEqual((self.row("asio")["status"], len(self.calls())), ("failed", 2))
