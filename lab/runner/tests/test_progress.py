import io
import unittest

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
    def test_on_a_terminal_one_line_is_refreshed(self) -> None:
        stream = Terminal()
        progress = Progress(stream, 2)
        for repetition in range(2):
            progress.starting(row("coflux"), repetition, 2 - repetition, None)
            progress.finished(row("coflux", 1.0))
        progress.close()
        self.assertNotIn("\n", stream.getvalue())
        self.assertEqual(stream.getvalue().count("\r\x1b[K"), 3)

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
    def test_a_row_that_ran_is_estimated_by_itself_and_others_by_the_typical_row(self) -> None:
        rows = [row("coflux", 1.0), row("asio", 90.0), row("tbb", 2.0), row("std")]
        state = State("quick", 2, {}, rows)
        self.assertEqual(session.seconds_left(state, state.pending()), 1.0 + 90.0 + 2.0 + 2 * 2.0)

    def test_before_anything_ran_there_is_no_estimate(self) -> None:
        state = State("quick", 2, {}, [row("coflux")])
        self.assertIsNone(session.seconds_left(state, state.pending()))
