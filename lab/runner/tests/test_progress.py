import io
import unittest
from collections.abc import Callable

from runner import session
from runner.progress import Progress, duration
from runner.state import Repetition, Row, State
from runner.suites import Case


def row(runtime: str, *seconds: float) -> Row:
    """A row of which each repetition took so many seconds."""
    repetitions = [Repetition(83_610, 0, 0, "", None, each) for each in seconds]
    return Row(Case("fib", {"n": 18}, 2, 1.0), runtime, repetitions)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Lines(unittest.TestCase):
    def test_on_a_terminal_one_line_is_refreshed_and_each_figure_stays(self) -> None:
        stream = Terminal()
        progress = Progress(stream, 2)
        for repetition in range(2):
            progress.starting(row("std"), repetition, 2 - repetition, None)
            progress.finished(row("std", *[1.0] * (repetition + 1)))
        progress.close()
        (stays, last) = stream.getvalue().split("\n")
        self.assertEqual(stays.rsplit("\r\x1b[K", 1)[1], "fib n=18 · std: 10.0 ns/item")
        self.assertEqual(last, "\r\x1b[K")
        self.assertEqual(stream.getvalue().count("\r\x1b[K"), 4)

    def test_what_went_wrong_stays_on_the_terminal(self) -> None:
        stream = Terminal()
        progress = Progress(stream, 2)
        bad = row("coflux")
        progress.starting(bad, 0, 1, None)
        bad.settle("wrong", "the answer is 7")
        progress.finished(bad)
        self.assertTrue(stream.getvalue().endswith("wrong: the answer is 7\n"))

    def test_durations_are_for_people(self) -> None:
        self.assertEqual([duration(seconds) for seconds in (0.2, 59.6, 150.0, 4800.0)],
                         ["1 s", "60 s", "2 min", "1 h 20 min"])


class Estimates(unittest.TestCase):
    def test_a_row_that_ran_is_estimated_by_itself_and_others_by_their_case(self) -> None:
        rows = [row("coflux", 1.0), row("asio", 90.0), row("tbb", 2.0), row("std")]
        state = State("quick", 2, {}, rows)
        self.assertEqual(session.Pace().seconds_left(state, state.pending()), 1.0 + 90.0 + 2.0 + 2 * 31.0)

    def test_before_anything_ran_there_is_no_estimate(self) -> None:
        state = State("quick", 2, {}, [row("coflux")])
        self.assertIsNone(session.Pace().seconds_left(state, state.pending()))

    def run_turns(self, seconds_of: Callable[[int], tuple[float, float]], turns: int) -> list[tuple[float, float]]:
        """What was estimated before each turn, and what was then really left, of a run whose turns take a process and
        the rest."""
        cases = [Case("fib", {"n": n}, 2, 1.0) for n in range(turns // 6)]
        state = State("quick", 3, {}, [Row(case, name) for case in cases for name in ("coflux", "asio")])
        pace, estimates, done = session.Pace(), [], 0
        while pending := state.pending():
            estimates.append(pace.seconds_left(state, pending))
            row = pending[0][1]
            process, beside = seconds_of(done)
            expected = pace.expected(state, row)
            row.repetitions.append(Repetition(1, 1, 1, "", None, process))
            pace.turned(expected, process, process + beside)
            done += 1
        left = [sum(map(sum, map(seconds_of, range(turn, done)))) for turn in range(done)]
        return [(estimate, really) for estimate, really in zip(estimates, left) if estimate is not None]

    def assert_near(self, estimates: list[tuple[float, float]], factor: float) -> None:
        for estimate, really in estimates:
            self.assertLess(max(estimate / really, really / estimate), factor, (estimate, really))

    def test_what_a_turn_costs_beside_its_process_counts(self) -> None:
        self.assert_near(self.run_turns(lambda _: (0.02, 0.3), 300), 1.1)

    def test_a_load_that_comes_later_is_followed(self) -> None:
        estimates = self.run_turns(lambda turn: (1.0 if turn < 100 else 10.0, 0.1), 300)
        self.assert_near(estimates[150:], 2.0)

    def test_a_load_that_goes_is_followed(self) -> None:
        estimates = self.run_turns(lambda turn: (10.0 if turn < 100 else 1.0, 0.1), 300)
        self.assert_near(estimates[150:], 2.0)
