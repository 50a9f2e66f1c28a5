import unittest

from runner import comparison, standing
from runner.tests.fakes import near, result_row, results_of
from runner.verdicts import by_case


class Sentence(unittest.TestCase):
    def test_a_case_is_lost_led_or_undecided_and_the_floor_is_no_contender(self) -> None:
        rows = [near("coflux", 10.0), near("asio", 8.0), near("tbb", 30.0),
                near("coflux", 10.0, params={"n": 2}), near("asio", 20.0, params={"n": 2}), near("bare", 1.0, params={"n": 2}),
                near("coflux", 10.0, params={"n": 3}), near("asio", 10.0, params={"n": 3}), near("tbb", 30.0, params={"n": 3}),
                near("coflux", 10.0, params={"n": 4}), near("bare", 1.0, params={"n": 4}),
                near("asio", 10.0, params={"n": 5}), result_row("coflux", [], params={"n": 5})]
        told = "a contender is ahead in 1 of the 3 cases that Coflux shares with one, Coflux is first in 1, and 1 are undecided"
        self.assertEqual(standing.sentence(by_case(rows)), f"By the headline figure of each, best dress against best dress, {told}. "
                                                           f"Plain against plain, {told}.")

    def test_each_case_counts_by_its_headline_and_not_by_time(self) -> None:
        def row(who: str, ns: float, kept: float) -> dict[str, object]:
            return near(who, ns, workload="memory_after", figures={"kept_bytes": {"median": kept, "samples": [kept] * 9}})
        told = standing.sentence(by_case([row("coflux", 10.0, 900.0), row("asio", 50.0, 300.0)]))
        self.assertIn("best dress against best dress, a contender is ahead in 1 of the 1 cases", told)

    def test_a_case_in_which_no_runtime_takes_part_is_not_counted(self) -> None:
        rows = [near(who, value, workload="cachecalc", params={"idiom": "compute"}) for who, value in (("coflux", 10.0), ("asio", 5.0))]
        self.assertIsNone(standing.sentence(by_case(rows)))

    def test_the_best_dresses_and_the_plain_ones_are_counted_each_for_itself(self) -> None:
        rows = [near("coflux", 10.0), near("coflux", 4.0, dress="expert"), near("asio", 8.0), near("asio", 5.0, dress="expert")]
        told = standing.sentence(by_case(rows))
        self.assertIn("best dress against best dress, a contender is ahead in 0 of the 1 cases", told)
        self.assertIn("Plain against plain, a contender is ahead in 1 of the 1 cases", told)

    def test_what_the_test_does_not_decide_is_counted_as_undecided_however_great_it_is(self) -> None:
        told = standing.sentence(by_case([result_row("coflux", [8.0] * 9), result_row("asio", [1.0] * 6 + [400.0] * 3)]))
        self.assertIn("ahead in 0 of the 1 cases that Coflux shares with one, Coflux is first in 0, and 1 are undecided", told)

    def test_cpu_has_a_sentence_of_its_own(self) -> None:
        rows = [near(who, 10.0, params={"n": n}, cpu_samples=[value] * 9)
                for n, pair in enumerate(((20.0, 10.0), (20.0, 15.0), (20.0, 50.0)))
                for who, value in zip(("coflux", "asio"), pair)]
        self.assertEqual(standing.cpu_sentence(by_case(rows)),
                         "By CPU, best against best, a contender is ahead in 2 of the 3 cases that Coflux shares with one, "
                         "Coflux is first in 1, and 0 are undecided.")
        self.assertIsNone(standing.cpu_sentence(by_case([near("coflux", 10.0), near("asio", 5.0)])))

    def test_without_a_contender_there_is_nothing_to_say(self) -> None:
        self.assertIsNone(standing.sentence(by_case([near("coflux", 10.0)])))


class AgainstAnOlderRun(unittest.TestCase):
    def test_the_summary_tells_coflux_from_the_others_and_what_changed_from_the_rest(self) -> None:
        old = results_of(near("coflux", 10.0), near("asio", 8.0), near("tbb", 9.0), result_row("tokio", []))
        found = comparison.compare(old, results_of(near("coflux", 20.0), near("asio", 8.0), near("tbb", 3.0), near("tokio", 5.0)))
        self.assertEqual(found.summary, "Coflux: 1 slower and 0 faster of 1 rows. Others: 0 slower and 1 faster of 3 rows.")
        self.assertEqual([each.new["runtime"] for each in found.told], ["tokio", "coflux", "tbb"])
        self.assertEqual([each.new["runtime"] for each in found.untold], ["asio"])


if __name__ == "__main__":
    unittest.main()
