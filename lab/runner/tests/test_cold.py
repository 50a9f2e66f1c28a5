"""From the start of a process to its first answer."""

import os
import unittest

from runner import cold
from runner.runtimes import RUNTIMES
from runner.tests.fakes import LabTest


class Cold(LabTest):
    def asked(self, **behaviour: object) -> float:
        self.fake("asio", **behaviour)
        return cold.first_answer(cold.asked(RUNTIMES["asio"], self.build), dict(os.environ))

    def test_the_time_is_that_of_one_task_without_a_warm_up(self) -> None:
        self.assertGreater(self.asked(), 0)
        self.assertEqual(self.calls(), [["asio", "spawn_join", {"count": 1}, 2]])
        command = cold.asked(RUNTIMES["tokio_ct"], self.build)
        self.assertEqual(command[command.index("--warmup") + 1], "0")
        self.assertIn("tokio_ct", command)

    def test_what_answers_wrong_or_not_at_all_has_no_figure(self) -> None:
        for behaviour, told in (("wrong", "the answer is 7"), ("crash", "status 1"), ("babble", "printed b'hello"),
                                ("unsupported", "no such resource")):
            with self.assertRaisesRegex(cold.ColdError, told):
                self.asked(run=behaviour)

    def test_a_program_that_is_not_there_has_none(self) -> None:
        with self.assertRaises(cold.ColdError):
            cold.first_answer(cold.asked(RUNTIMES["asio"], self.build), dict(os.environ))

    def test_all_that_are_built_and_have_the_task_are_started_in_turn(self) -> None:
        for name in ("coflux", "asio", "bytewax"):
            self.fake(name)
        self.fake("std", run="crash")
        lines = list(cold.table(self.build, 2))[1:]
        self.assertEqual([line.split()[0] for line in lines], ["std", "coflux", "asio"])
        self.assertIn("ended with status 1", lines[0])
        # The first of each is not counted; one that fails is not asked again.
        self.assertEqual([call[0] for call in self.calls()], ["std", "coflux", "asio", "coflux", "asio", "coflux", "asio"])


if __name__ == "__main__":
    unittest.main()
