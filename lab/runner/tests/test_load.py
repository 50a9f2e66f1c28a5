import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

from runner import load
from runner.tests.fakes import BUSY, QUIET, LabTest

STAT = "cpu  {user} 0 100 9000 7 0 10 {steal} 0 0\ncpu0 1 2 3\n"
PAIR = ("--workload", "fib", "--runtime", "coflux", "asio", "--reps", "3")


class Counters(unittest.TestCase):
    def moment(self, user: int, steal: int, pressure: int, wall: float, own: float) -> load.Moment:
        with tempfile.TemporaryDirectory() as folder, mock.patch("runner.load.PROC", Path(folder)):
            (Path(folder) / "pressure").mkdir()
            for name, text in (("stat", STAT.format(user=user, steal=steal)), ("loadavg", "3.25 1.00 0.50 4/300 123\n"),
                               ("pressure/cpu", f"some avg10=1.00 avg60=0.00 avg300=0.00 total={pressure}\nfull total=9\n")):
                (Path(folder) / name).write_text(text, encoding="utf-8")
            return replace(load.moment(), wall=wall, own=own)

    def test_others_are_what_was_busy_and_not_our_own(self) -> None:
        ticks = load.TICKS_PER_SECOND
        began = self.moment(1000, 0, 0, 10.0, 5.0)
        # One second on two CPUs: 1.4 seconds busy, 0.9 of them our own, and 0.02 stolen.
        ended = self.moment(1000 + round(1.4 * ticks), round(0.02 * ticks), 250_000, 11.0, 5.9)
        found = load.between(began, ended, 2)
        self.assertEqual((found.load1, found.runnable), (3.25, 3))
        self.assertAlmostEqual(found.others, 0.25)
        self.assertAlmostEqual(found.stolen, 0.01)
        self.assertAlmostEqual(found.pressure, 0.25)
        self.assertTrue(found.under_load)

    def test_a_tick_in_a_short_repetition_is_no_load(self) -> None:
        ended = self.moment(1000 + 2, 0, 0, 10.02, 5.0)
        self.assertFalse(load.between(self.moment(1000, 0, 0, 10.0, 5.0), ended, 2).under_load)

    def test_stolen_time_is_load(self) -> None:
        ended = self.moment(1000, round(0.2 * load.TICKS_PER_SECOND), 0, 11.0, 5.0)
        self.assertTrue(load.between(self.moment(1000, 0, 0, 10.0, 5.0), ended, 2).under_load)

    def test_a_kernel_that_tells_nothing_is_not_known_to_be_busy(self) -> None:
        with tempfile.TemporaryDirectory() as folder, mock.patch("runner.load.PROC", Path(folder)):
            found = load.watch(0.0)
        self.assertEqual(found, load.Load(None, None, None, None, None, False))

    def test_the_quieter_of_two_is_not_under_load_and_lost_less_of_the_cpus_and_their_speed(self) -> None:
        quiet = replace(QUIET, multiply_ns=1.0)
        for noisier, quieter in ((replace(quiet, others=0.3), replace(quiet, others=0.02, multiply_ns=1.2)),
                                 (replace(quiet, multiply_ns=1.9), replace(quiet, others=0.3)),
                                 (replace(quiet, under_load=True), replace(quiet, others=0.09, stolen=0.04)),
                                 (replace(quiet, multiply_ns=None), replace(quiet, multiply_ns=1.5)),
                                 (replace(quiet, others=None), replace(quiet, others=0.9))):
            self.assertLess(quieter.disturbance(1.0), noisier.disturbance(1.0))
        # In a run without the probe others alone tell.
        self.assertLess(QUIET.disturbance(None), replace(QUIET, others=0.3).disturbance(None))

    def test_this_machine_can_be_read(self) -> None:
        found = load.watch(0.0)
        self.assertIsNotNone(found.load1)
        self.assertIsNotNone(found.others)


class Loaded(LabTest):
    def loads(self, *sequence: load.Load) -> None:
        """The first is the machine before the run, the others are those of the processes in turn; the last stays."""
        following = iter(sequence)
        last = sequence[-1]
        self.enterContext(mock.patch("runner.load.between", side_effect=lambda *_: next(following, last)))

    def setUp(self) -> None:
        super().setUp()
        self.fake("coflux")
        self.fake("asio")

    def test_a_repetition_under_load_is_marked_and_made_again(self) -> None:
        self.loads(QUIET, BUSY, QUIET)
        self.measure(*PAIR)
        row = self.row("coflux")
        self.assertEqual((row["n"], row["discarded"], len(self.calls())), (3, 1, 7))
        self.assertEqual([each["under_load"] for each in row["loads"]], [False] * 3)
        self.assertEqual(self.results()["busy"], {"at_start": None, "repetitions": 6, "under_load": 0, "discarded": 1})

    def test_the_quietest_is_kept_where_none_is_quiet(self) -> None:
        self.loads(QUIET, BUSY, replace(BUSY, others=0.3), replace(BUSY, others=0.5), QUIET)
        with mock.patch("runner.session.MOST_DISCARDED", 1.0):
            self.measure(*PAIR)
        self.assertEqual(self.row("coflux")["loads"][0]["others"], 0.3)
        self.assertEqual(self.row("coflux")["discarded"], 2)

    def test_repeating_is_bounded_over_the_run(self) -> None:
        self.loads(QUIET, BUSY)
        done = self.measure(*PAIR)
        # Two would be more than a quarter of six.
        self.assertEqual((len(self.calls()), self.results()["busy"]["discarded"]), (7, 1))
        self.assertIn("(under load)", done.stdout)

    def test_rows_that_do_not_run_give_the_others_no_repeats(self) -> None:
        self.fake("asio", lacking={"fib": "no"})
        self.loads(QUIET, BUSY)
        # There is no executable of tbb: three repetitions run in all.
        self.measure("--workload", "fib", "--runtime", "coflux", "asio", "tbb", "--reps", "3")
        self.assertEqual((len(self.calls()), self.results()["busy"]["discarded"]), (3, 0))

    def test_the_smoke_suite_marks_and_repeats_nothing(self) -> None:
        self.loads(QUIET, BUSY)
        self.measure("--suite", "smoke", *PAIR)
        self.assertEqual((len(self.calls()), self.results()["busy"]["under_load"]), (6, 6))

    def test_a_run_on_a_busy_machine_says_so_in_its_first_line(self) -> None:
        self.loads(BUSY)
        done = self.measure(*PAIR)
        self.assertTrue(done.stdout.startswith("busy machine: other processes take 61 % of the CPUs"), done.stdout[:200])
        self.assertIn("load 7.50, 5 runnable threads", done.stdout.splitlines()[0])
        for name, begins in (("report.md", "**Measured on a busy machine"), ("report.html", '<p class="bad">Measured on a busy')):
            text = (self.out / name).read_text(encoding="utf-8")
            self.assertIn("7 of 7 repetitions were measured under load; 1 were made again", text)
            first = text if name.endswith("md") else text[text.index("<body>") + 7:]
            self.assertTrue(first.startswith(begins), first[:200])

    def test_a_quiet_machine_says_nothing(self) -> None:
        done = self.measure(*PAIR)
        self.assertTrue(done.stdout.startswith("[1/6]"), done.stdout[:100])
        self.assertNotIn("busy machine", (self.out / "report.md").read_text(encoding="utf-8"))

    def test_the_load_of_each_repetition_is_kept_through_an_interruption(self) -> None:
        self.measure(*PAIR)
        rows = self.rows()
        self.lab("--resume", str(self.out))
        self.assertEqual(self.rows(), rows)
        self.assertEqual(rows[0]["loads"][0]["load1"], 0.25)
