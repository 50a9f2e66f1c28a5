import re
import unittest
from typing import Any

from runner import chance, comparison, publish, report, results, tables
from runner.runtimes import RUNTIMES
from runner.tests.fakes import LabTest, near, result_row, results_of
from runner.verdicts import CPU, KEPT, TIME, Ratio, by_case, losses_first, paired


class Ratios(unittest.TestCase):
    def assert_text(self, over: list[float], under: list[float], text: str) -> Ratio:
        against = paired(result_row("asio", over), result_row("coflux", under))
        self.assertEqual(against.text(), text)
        return against

    def test_a_ratio_is_the_median_of_the_rounds_and_not_the_ratio_of_medians(self) -> None:
        # The machine slows down by half in the middle of the run; both feel it.
        coflux = [10.0, 10.1, 10.2, 10.1, 10.0, 15.0, 15.1, 15.2, 15.1]
        against = self.assert_text([1.1 * each for each in coflux], coflux, "1.10 x")
        self.assertAlmostEqual(against.low, 1.1)
        self.assertAlmostEqual(against.high, 1.1)
        self.assertEqual((against.rounds, against.above, against.below), (9, 9, 0))

    def test_rounds_that_go_either_way_are_no_difference(self) -> None:
        self.assert_text([10.1, 9.9, 10.2, 9.8, 10.1, 9.9, 10.0, 10.1, 9.9], [10.0] * 9, "no difference")

    def test_no_difference_is_said_of_an_interval_within_five_percent_and_else_it_is_undecided(self) -> None:
        # The rival is at 0.85 in most rounds: that is no "no difference".
        self.assert_text([8.5] * 7 + [11.0] * 2, [10.0] * 9, "0.85 x, undecided: 0.85 to 1.10")
        self.assert_text([9.6] * 7 + [10.4] * 2, [10.0] * 9, "no difference")
        self.assert_text([9.4] * 7 + [10.4] * 2, [10.0] * 9, "0.94 x, undecided: 0.94 to 1.04")
        self.assert_text([9.6] * 9, [10.0] * 9, "0.96 x")

    def test_one_outlier_of_50_hides_no_loss_and_makes_none(self) -> None:
        coflux = [10.0 + 0.01 * i for i in range(9)]
        for place in range(9):
            def spoilt(values: list[float]) -> list[float]:
                return [each * (50 if i == place else 1) for i, each in enumerate(values)]
            self.assertTrue(paired(result_row("asio", spoilt([0.9 * each for each in coflux])), result_row("coflux", coflux)).differs)
            equal = [each * (1.001 if i % 2 else 0.999) for i, each in enumerate(coflux)]
            for over, under in ((spoilt(equal), coflux), (equal, spoilt(coflux))):
                self.assert_text(over, under, "no difference")

    def test_the_loss_that_five_rounds_hid_is_shown(self) -> None:
        # From a run of five: four rounds lost by far, and one outlier.
        self.assert_text([1.9, 2.8, 3.7, 58.7, 9.2], [30.2] * 5, "0.12 x, n = 5")

    def test_a_loss_of_8_is_shown_whatever_the_test_says(self) -> None:
        coflux = [8.0] * 9
        # Three rounds of nine were disturbed: the signs alone do not decide.
        against = self.assert_text([1.0] * 6 + [400.0] * 3, coflux, "0.12 x, undecided: 0.12 to 50.00")
        self.assertEqual(against.rounds_text(), "below in 6, above in 3 of 9 rounds")
        for n in range(1, 10):
            (case,) = by_case([result_row("coflux", coflux[:n]), result_row("asio", [1.0] * n)])
            self.assertEqual(list(case.losses), ["asio"], n)

    def test_too_few_rounds_claim_nothing_and_show_what_they_have(self) -> None:
        self.assert_text([20.0], [10.0], "2.00 x, n = 1")
        against = self.assert_text([11.0] * 5, [10.0] * 5, "1.10 x, n = 5")
        self.assertFalse(against.differs)
        self.assertEqual(against.interval_text(), "1.10 to 1.10 (94 %)")

    def test_a_row_that_has_fewer_rounds_is_compared_by_those_that_both_have(self) -> None:
        self.assertEqual(paired(near("asio", 20.0, n=9), near("coflux", 10.0, n=7)).rounds, 7)

    def test_without_a_figure_there_is_no_ratio(self) -> None:
        self.assertIsNone(paired(result_row("asio", []), near("coflux", 10.0)))
        self.assertIsNone(paired(near("asio", 10.0), None))

    def test_cpu_has_a_verdict_of_its_own(self) -> None:
        (case,) = by_case([near("coflux", 10.0, cpu_samples=[20.0] * 9), near("asio", 30.0, cpu_samples=[15.0] * 9)])
        self.assertEqual((list(case.losses), list(case.cpu_losses)), ([], ["asio"]))
        self.assertEqual(case.cpu_ratio_to_baseline("asio").text(), "0.75 x")

    def test_cpu_is_against_the_dress_that_spends_least_whichever_is_fastest(self) -> None:
        rows = [near("coflux", 10.0, cpu_samples=[20.0] * 9),
                near("tokio", 9.0, cpu_samples=[30.0] * 9, dress="expert"),
                near("tokio", 12.0, cpu_samples=[15.0] * 9), near("bare", 5.0, cpu_samples=[9.0] * 9)]
        (case,) = by_case(rows)
        self.assertEqual((case.rows["tokio"]["dress"], case.cpu_rows["tokio"]["dress"]), ("expert", "plain"))
        self.assertEqual(list(case.cpu_losses), ["tokio"])
        self.assertEqual(tables.against_coflux(case, "tokio"), "0.90 x, expert")
        self.assertEqual(tables.cpu_against_coflux(case, "tokio"), "0.75 x")
        # A row's own verdict is beside its own figure.
        self.assertEqual([tables.cpu_of_row(case, row) for row in rows[:3]], ["", "1.50 x", "0.75 x"])
        self.assertEqual(list(case.rivals(CPU)), ["tokio"])

    def test_the_dress_that_spends_least_is_named(self) -> None:
        (case,) = by_case([near("coflux", 10.0, cpu_samples=[20.0] * 9),
                           near("coflux", 20.0, cpu_samples=[5.0] * 9, dress="epoll"),
                           near("tokio", 9.0, cpu_samples=[30.0] * 9),
                           near("tokio", 12.0, cpu_samples=[15.0] * 9, dress="expert"),
                           near("tokio", 12.0, cpu_samples=[1.0] * 9, malloc="mimalloc", recommended=False)])
        self.assertEqual(tables.cpu_against_coflux(case, "tokio"), "3.00 x, expert")
        self.assertEqual(publish._cell(case, "tokio", CPU, None), "15.0 (3.00 x, expert)")
        self.assertEqual(publish._cell(case, "coflux", CPU, None), "5.00 (epoll)")
        self.assertEqual(publish._cell(case, "tokio", CPU, "plain"), "30.0 (1.50 x)")

    def test_a_dress_of_too_little_cpu_stands_behind_one_with_a_figure(self) -> None:
        (case,) = by_case([near("coflux", 10.0, cpu_samples=[20.0] * 9), near("tokio", 9.0),
                           near("tokio", 12.0, cpu_samples=[15.0] * 9, dress="expert")])
        self.assertEqual(case.cpu_rows["tokio"]["dress"], "expert")

    def test_too_little_cpu_on_one_side_has_no_verdict(self) -> None:
        (case,) = by_case([near("coflux", 10.0, cpu_samples=[20.0] * 9), near("asio", 30.0)])
        self.assertIsNone(case.cpu_ratio_to_baseline("asio"))


    def test_a_round_of_too_little_cpu_leaves_no_figure_and_no_verdict_anywhere(self) -> None:
        # In the last round, which the other row does not have.
        for own, rival in (([20.0] * 8 + [None], [10.0] * 8), ([20.0] * 8, [10.0] * 8 + [None])):
            rows = [near("coflux", 10.0, n=len(own)), near("asio", 10.0, n=len(rival)), near("bare", 5.0, n=8) | {"cpu_samples": [5.0] * 8}]
            for row, samples in zip(rows, (own, rival)):
                row |= {"cpu_samples": samples, "cpu_median": None if None in samples else samples[0]}
            (case,) = by_case(rows)
            self.assertIsNone(case.cpu_ratio_to_baseline("asio"))
            self.assertEqual(case.cpu_losses, {})
            self.assertEqual(tables.cpu_against_coflux(case, "asio"), "")
            self.assertEqual(sorted(tables.cpu_figure(case.rows[name]) for name in ("coflux", "asio"))[1], "too little")


class Figures(unittest.TestCase):
    @staticmethod
    def row(runtime: str, *p99: float, **fields: Any) -> dict[str, Any]:
        samples = list(p99)
        return near(runtime, 10.0, figures={"p99_ns": {"median": sorted(samples)[len(samples) // 2], "samples": samples}}, **fields)

    def losses(self, *rows: dict[str, Any]) -> list[tuple[str, str, str]]:
        (case,) = by_case(list(rows))
        return [(each.row["runtime"], each.row["dress"], each.ratio.text()) for each in case.figure_losses]

    def test_a_tail_that_is_longer_is_a_loss_though_an_item_takes_as_long(self) -> None:
        self.assertEqual(self.losses(self.row("coflux", *[800.0] * 9), self.row("asio", *[200.0] * 9), self.row("go", *[900.0] * 9),
                                     self.row("bare", *[100.0] * 9)), [("asio", "plain", "0.25 x")])

    def test_it_is_against_the_dress_that_is_best_in_it(self) -> None:
        self.assertEqual(self.losses(self.row("coflux", *[800.0] * 9), self.row("tokio", *[600.0] * 9),
                                     self.row("tokio", *[400.0] * 9, dress="expert")), [("tokio", "expert", "0.50 x")])

    def test_one_that_now_and_then_is_longer_is_none(self) -> None:
        self.assertEqual(self.losses(self.row("coflux", *[200.0] * 6, *[300.0] * 3), self.row("asio", *[210.0] * 6, *[200.0] * 3)), [])

    def test_without_it_there_is_no_verdict(self) -> None:
        self.assertEqual(self.losses(near("coflux", 10.0), self.row("asio", *[1.0] * 9)), [])
        self.assertEqual(self.losses(self.row("coflux", *[800.0] * 9), near("asio", 10.0)), [])


class Dresses(unittest.TestCase):
    def test_the_verdict_is_against_the_best_dress(self) -> None:
        (case,) = by_case([near("coflux", 10.0), near("tokio", 400.0), near("tokio", 9.0, dress="expert")])
        self.assertEqual(case.rows["tokio"]["dress"], "expert")
        self.assertEqual(list(case.losses), ["tokio"])
        self.assertEqual([each["dress"] for each in case.variants], ["plain"])
        self.assertEqual(tables.against_coflux(case, "tokio"), "0.90 x, expert")

    def test_an_expert_that_is_slower_does_not_speak(self) -> None:
        (case,) = by_case([near("coflux", 10.0), near("tokio", 20.0), near("tokio", 30.0, dress="expert")])
        self.assertEqual(case.rows["tokio"]["dress"], "plain")

    def test_an_expert_without_a_figure_does_not_speak(self) -> None:
        (case,) = by_case([near("coflux", 10.0), near("tokio", 20.0), result_row("tokio", [], dress="expert")])
        self.assertEqual(case.rows["tokio"]["dress"], "plain")

    def test_the_best_is_judged_against_the_best_and_the_plain_against_the_plain(self) -> None:
        (case,) = by_case([near("coflux", 10.0), near("coflux", 5.0, dress="expert"), near("tokio", 7.0),
                           near("tokio", 4.0, dress="expert"), near("asio", 6.0)])
        def lost(dress: str | None) -> list[str]:
            return [name for name, each in case.rivals(TIME, dress).items() if each.ratio.lost]
        self.assertEqual((case.baseline["dress"], lost(None), lost("plain")), ("expert", ["tokio"], ["asio", "tokio"]))
        self.assertEqual([round(case.ratio(TIME, "tokio", dress).value, 1) for dress in (None, "plain")], [0.8, 0.7])

    def test_memory_is_judged_with_the_allocator_that_is_best_in_it_and_time_with_the_recommended_one(self) -> None:
        def row(who: str, ns: float, kept: float, **fields: Any) -> dict[str, Any]:
            return near(who, ns, figures={"kept_bytes": {"median": kept, "samples": [kept] * 9}}, **fields)
        glibc = {"malloc": "glibc", "recommended": False}
        (case,) = by_case([row("coflux", 10.0, 33.0), row("coflux", 9.0, 31.0, **glibc),
                           row("tokio", 20.0, 157.0), row("tokio", 8.0, 0.78, **glibc)])
        self.assertEqual({name: each["malloc"] for name, each in case.speaking(KEPT).items()}, {"coflux": "glibc", "tokio": "glibc"})
        self.assertEqual([(each.row["runtime"], each.ratio.text()) for each in case.figure_losses], [("tokio", "0.03 x")])
        self.assertEqual(publish._cell(case, "tokio", KEPT, None), "**0.78 (0.03 x, glibc)**")
        self.assertEqual(case.losses, {})

    def test_time_that_is_not_the_runtime_s_has_no_verdict(self) -> None:
        rows = [near(who, value, workload="idle_tasks", cpu_samples=[value] * 9) for who, value in (("coflux", 10.0), ("asio", 5.0))]
        (case,) = by_case(rows)
        self.assertEqual((case.losses, case.ratio_to_baseline("asio"), list(case.cpu_losses)), ({}, None, ["asio"]))
        self.assertEqual((publish._cell(case, "asio", TIME, None), tables.against_coflux(case, "asio")), ("5.00", ""))
        self.assertIn("1 verdicts at 5 %", chance.of_run([case]))

    def test_the_headline_is_what_the_run_was_begun_with(self) -> None:
        declared = {"figure": "p99_ns", "reason": "the late ones", "time_of": None}
        (then,) = by_case([near("coflux", 10.0, headline=declared)])
        (now,) = by_case([near("coflux", 10.0)])
        self.assertEqual((then.headline.figure, now.headline.figure), ("p99_ns", TIME))

    def test_the_recommended_allocator_speaks_also_where_another_is_faster(self) -> None:
        (case,) = by_case([near("coflux", 10.0), near("tokio", 9.0, malloc="mimalloc", recommended=False),
                           near("tokio", 20.0, malloc="tcmalloc"), near("tokio", 30.0, malloc="glibc", recommended=False)])
        self.assertEqual(case.rows["tokio"]["malloc"], "tcmalloc")
        self.assertEqual(case.losses, {})
        self.assertEqual({each["malloc"] for each in case.variants}, {"mimalloc", "glibc"})

    def test_without_the_recommended_one_another_speaks(self) -> None:
        (case,) = by_case([near("coflux", 10.0), near("tokio", 9.0, malloc="glibc", recommended=False),
                           result_row("tokio", [], malloc="tcmalloc", status="unavailable")])
        self.assertEqual(case.rows["tokio"]["malloc"], "glibc")


class Losses(unittest.TestCase):
    def test_the_worst_comes_first(self) -> None:
        rows = []
        for number, asio in enumerate((30.0, 8.0, 10.05, 4.0)):
            rows += [near("coflux", 10.0, params={"n": number}), near("asio", asio, params={"n": number})]
        rows += [result_row("coflux", [], params={"n": 4}), near("asio", 20.0, params={"n": 4})]
        self.assertEqual([case.params["n"] for case in losses_first(by_case(rows))], [4, 3, 1, 0, 2])

    def test_the_floor_is_no_runtime_to_lose_against(self) -> None:
        (case,) = by_case([near("bare", 5.0), near("coflux", 10.0), near("asio", 6.0)])
        self.assertEqual(list(case.losses), ["asio"])
        self.assertEqual(case.ratio_to_baseline("bare").text(), "0.50 x")

    def test_what_a_runtime_adds_to_the_floor_is_told_in_time_and_in_cpu(self) -> None:
        (case,) = by_case([near("bare", 1000.0, cpu_samples=[1000.0] * 9), near("coflux", 1040.0, cpu_samples=[2080.0] * 9),
                           near("asio", 990.0, cpu_samples=[1000.0] * 9)])
        self.assertEqual(tables.over_floor(case, "coflux", "median"), "+40.0, 1.04 x")
        self.assertEqual(tables.over_floor(case, "coflux", "cpu_median"), "+1,080, 2.08 x")
        self.assertEqual(tables.over_floor(case, "asio", "median"), "-10.0, 0.99 x")
        self.assertEqual(tables.over_floor(case, "bare", "median"), "")

    def test_without_a_figure_of_the_floor_nothing_is_over_it(self) -> None:
        for rows in ([near("coflux", 10.0)], [near("coflux", 10.0), result_row("bare", [], status="unsupported")]):
            (case,) = by_case(rows)
            self.assertEqual(tables.over_floor(case, "coflux", "median"), "")

    def test_a_table_without_coflux_has_figures_and_no_ratios(self) -> None:
        text = tables.matrix(by_case([near("asio", 5.0), near("tbb", 6.0)]), ["asio", "tbb"], 120)
        self.assertIn("5.00", text)
        self.assertNotIn(" x", text)

    def test_the_table_is_no_wider_than_asked_for_and_coflux_is_in_each_part(self) -> None:
        names = list(RUNTIMES)
        cases = by_case([near(name, 12345.0 + 1000 * number) for number, name in enumerate(names)])
        for width in (40, 60, 80, 120):
            text = tables.matrix(cases, names, width)
            self.assertLessEqual(max(map(len, text.splitlines())), width, text)
            self.assertEqual({name for name in names if name in text.split()}, set(names))
            for part in text.split("\n\n"):
                self.assertIn("coflux", part.splitlines()[0].split())

    def test_the_table_shows_the_status_where_there_is_no_figure(self) -> None:
        text = tables.matrix(by_case([near("coflux", 5.0), result_row("asio", [], status="wrong")]), ["coflux", "asio"], 120)
        self.assertIn("wrong", text)


class Comparisons(unittest.TestCase):
    def verdicts(self, old: list[dict], new: list[dict]) -> dict[str, str]:
        compared = comparison.compare(results_of(*old), results_of(*new))
        return {each.new["runtime"]: each.verdict for each in compared.rows}

    def test_each_row_is_judged_by_the_ranks_of_its_repetitions(self) -> None:
        old = [near("coflux", 10.0), near("asio", 10.0), near("tbb", 10.0), near("std", 10.0)]
        new = [near("coflux", 8.0), near("asio", 12.0), near("tbb", 10.01), near("std", 9.0, n=1)]
        self.assertEqual(self.verdicts(old, new), {"coflux": "faster", "asio": "slower", "tbb": "no difference",
                                                   "std": "too few repetitions"})

    def test_repetitions_of_two_runs_are_no_pairs(self) -> None:
        # The medians' intervals overlap, and the ranks are apart; in another order the rounds would be, too.
        old, new = [float(i) for i in range(1, 10)], [i + 3.5 for i in range(1, 10)]
        for samples in (new, new[::-1]):
            self.assertEqual(self.verdicts([result_row("coflux", old)], [result_row("coflux", samples)]), {"coflux": "slower"})

    def test_an_outlier_makes_no_difference_and_hides_none(self) -> None:
        old = [10.0 + 0.01 * i for i in range(9)]
        self.assertEqual(self.verdicts([result_row("coflux", old)], [result_row("coflux", [500.0, *old[1:]])]), {"coflux": "no difference"})
        self.assertEqual(self.verdicts([result_row("coflux", old)], [result_row("coflux", [500.0, *[9.0] * 8])]), {"coflux": "faster"})

    def test_what_stands_beside_all_other_rows_is_marked(self) -> None:
        # One row is far off, one just beyond the level, and eighteen are as before.
        level = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
        olds = [result_row("coflux", level, params={"n": n}) for n in range(20)]
        news = [result_row("coflux", {0: [100 * each for each in level], 1: [each + 3.5 for each in level]}.get(n, level), params={"n": n})
                for n in range(20)]
        found = comparison.compare(results_of(*olds), results_of(*news))
        self.assertEqual([each.told for each in found.rows[:3]], ["slower (holds)", "slower", "undecided"])
        self.assertIn("Mann and Whitney (exact)", found.note)
        self.assertIn("20 comparisons at 5 %: 2 find a difference. If there were none anywhere, up to 1.0 would be found by chance. "
                      "Holm's correction leaves 1,", found.note)
        self.assertIn(found.note, comparison.as_text(found))

    def test_many_repetitions_are_said_to_be_judged_by_the_normal_distribution(self) -> None:
        found = comparison.compare(results_of(near("coflux", 10.0, n=30)), results_of(near("coflux", 10.0, n=30)))
        self.assertIn("beyond by the normal distribution", found.note)

    def test_where_no_row_can_be_judged_there_is_no_note(self) -> None:
        self.assertIsNone(comparison.compare(results_of(near("coflux", 10.0, n=2)), results_of(near("coflux", 10.0, n=2))).note)

    def test_a_row_that_lost_its_figure_comes_first(self) -> None:
        compared = comparison.compare(results_of(near("coflux", 10.0), near("asio", 10.0)),
                                      results_of(near("coflux", 30.0), result_row("asio", [])))
        self.assertEqual([each.verdict for each in compared.rows], ["was ok, is failed", "slower"])

    def test_rows_of_one_run_only_are_named(self) -> None:
        compared = comparison.compare(results_of(near("coflux", 10.0), near("coflux", 1.0, threads=1)),
                                      results_of(near("coflux", 10.0), near("coflux", 1.0, params={"n": 20})))
        self.assertEqual(compared.only_old, ["fib n=18, coflux, 1 threads"])
        self.assertEqual(compared.only_new, ["fib n=20, coflux, 2 threads"])
        self.assertEqual(len(compared.rows), 1)

    def test_other_machines_and_other_places_of_the_cpus_are_told(self) -> None:
        old = results_of(near("coflux", 10.0, line_round_trip_ns=[55.0, None, 57.0]))
        new = results_of(near("coflux", 10.0, line_round_trip_ns=[330.0, 328.0]), kernel="Linux 7")
        warnings = comparison.compare(old, new).warnings
        self.assertIn("kernel: Linux 6 and Linux 7", warnings[0])
        self.assertIn("56 ns then, 329 ns now", warnings[1])
        self.assertEqual(comparison.compare(old, old).warnings, [])

    def test_cpus_of_another_speed_are_said(self) -> None:
        def at(ns: float) -> dict[str, Any]:
            return results_of(near("coflux", 10.0, loads=[{"multiply_ns": ns}, None]))

        self.assertIn("0.73 ns then, 1.20 ns now", comparison.compare(at(0.73), at(1.2)).warnings[0])
        self.assertEqual(comparison.compare(at(0.73), at(0.75)).warnings, [])

    def test_a_run_on_a_busy_machine_is_told_before_the_ratios(self) -> None:
        quiet, busy = results_of(near("coflux", 10.0)), results_of(near("coflux", 12.0))
        for how in ({"at_start": "load 9.00"}, {"repetitions": 9, "under_load": 1}, {"repetitions": 9, "discarded": 2}):
            told = busy | {"busy": busy["busy"] | how}
            self.assertIn("the new run was measured on a busy machine", comparison.compare(quiet, told).warnings[0])
            self.assertIn("the old run was measured on a busy machine", comparison.compare(told, quiet).warnings[0])

    def test_the_table_shows_the_interval_of_the_ratio(self) -> None:
        compared = comparison.compare(results_of(near("coflux", 10.0)), results_of(near("coflux", 20.0)))
        text = comparison.as_text(compared)
        self.assertRegex(text, r"1\.99 to 2\.02 ")


class Reports(LabTest):
    def test_compare_is_part_of_the_run_and_of_its_reports(self) -> None:
        self.fake("coflux", ns=10)
        arguments = ("--workload", "fib", "--runtime", "coflux", "--reps", "6")
        self.measure(*arguments)
        old, self.out = self.out, self.root / "new"
        self.fake("coflux", ns=30)
        # The fake slows down with each call; a fresh count keeps the ratio at 3.
        self.calls_file.unlink()
        done = self.measure(*arguments, "--compare", str(old))
        self.assertEqual(done.status, 0, done.stderr)
        self.assertRegex(done.stdout, r"3\.00 .*slower")
        kept = self.root / "old.json.xz"
        kept.write_bytes(results.compressed(results.load(old)))
        self.assertRegex(self.lab("--resume", str(self.out), "--compare", str(kept)).stdout, r"3\.00 .*slower")
        for name in ("report.md", "report.html"):
            text = (self.out / name).read_text(encoding="utf-8")
            self.assertIn("Against the older run", text)
            self.assertIn("the rank test of Mann and Whitney (exact)", text)
            self.assertIn("slower (holds)", text)

    def test_a_run_says_once_how_many_of_its_verdicts_would_be_chance(self) -> None:
        self.out.mkdir()
        rows = [near("coflux", 10.0, cpu_samples=[20.0] * 9), near("asio", 8.0, cpu_samples=[20.0] * 9), near("bare", 5.0),
                near("tbb", 20.0, n=5)]
        report.write(results_of(*rows), None, self.out)
        for name in ("report.md", "report.html"):
            # The floor is no contender, and five rounds have no verdict.
            self.assertEqual((self.out / name).read_text(encoding="utf-8").count(
                "2 verdicts at 5 % (time, CPU and what else was measured, against Coflux): 1 find a difference. "
                "If there were none anywhere, 0.1 would be found by chance"), 1)
        self.assertIsNone(chance.of_run(by_case([near("coflux", 10.0), near("tbb", 20.0, n=5)])))

    def test_html_is_self_contained_and_escapes_reasons(self) -> None:
        reason = "<script>alert(1)</script>"
        rows = [near("coflux", 10.0), near("bare", 5.0), near("asio", 8.0),
                result_row("tbb", [], status="unsupported", reason=reason),
                result_row("std", [], status="wrong", reason=reason)]
        self.out.mkdir()
        report.write(results_of(*rows), None, self.out)
        text = (self.out / "report.html").read_text(encoding="utf-8")
        self.assertNotIn(reason, text)
        self.assertEqual(text.count("data:image/svg+xml;base64,"), 2)
        for outside in ("http://", "https://", "<link", "src=\"h", "import("):
            self.assertNotIn(outside, text)
        loses = text.index("Where Coflux loses")
        self.assertLess(text.index("Wrong, failed"), loses)
        self.assertLess(loses, text.index("All figures</h2>"))
        self.assertIn("asio 1 8.00 0.80 x below in 9 of 9 rounds", re.sub("<[^>]*>", "", text[loses:]))

    def test_the_details_tell_what_is_over_the_floor_where_there_is_one(self) -> None:
        self.out.mkdir()
        over = "| over the floor | CPU over it |"
        for rows, told in (([near("coflux", 10.0), near("bare", 5.0)], True), ([near("coflux", 10.0)], False)):
            report.write(results_of(*rows), None, self.out)
            text = (self.out / "report.md").read_text(encoding="utf-8")
            self.assertEqual(over in text, told)
            self.assertEqual("+5.00, 2.00 x" in text, told)
            self.assertEqual("over the floor" in (self.out / "report.html").read_text(encoding="utf-8"), told)

    def test_a_rival_that_is_faster_with_another_allocator_is_told(self) -> None:
        self.out.mkdir()
        rows = [near("coflux", 10.0), near("coflux", 5.0, malloc="tcmalloc", recommended=False), near("asio", 30.0, malloc="tcmalloc"),
                near("asio", 40.0, malloc="glibc", recommended=False), near("asio", 9.0, malloc="mimalloc", recommended=False)]
        report.write(results_of(*rows), None, self.out)
        text = (self.out / "report.md").read_text(encoding="utf-8")
        self.assertIn("No contender was faster.", text)
        self.assertIn("faster than Coflux: 1 rows", text)
        rest = text[text.index("## Other dresses and allocators"):]
        self.assertIn("| fib n=18 | asio plain mimalloc | 9.00 | **0.90 x** |", rest)
        self.assertLess(rest.index("mimalloc"), rest.index("asio plain glibc"))
        self.assertIn('class="slower">0.90 x', (self.out / "report.html").read_text(encoding="utf-8"))

    def test_a_report_without_any_figure_is_written_too(self) -> None:
        self.out.mkdir()
        rows = [result_row("coflux", []), result_row("tbb", [], status="unavailable", reason="install it")]
        report.write(results_of(*rows), None, self.out)
        text = (self.out / "report.md").read_text(encoding="utf-8")
        self.assertIn("| tbb | unavailable | install it | all |", text)

    def test_markdown_cells_cannot_break_the_table(self) -> None:
        self.out.mkdir()
        report.write(results_of(near("coflux", 1.0), result_row("asio", [], reason="a | b\nc")), None, self.out)
        self.assertIn("a \\| b c", (self.out / "report.md").read_text(encoding="utf-8"))

    def test_a_partly_missing_workload_is_listed_by_its_cases(self) -> None:
        self.out.mkdir()
        missing = {"status": "unsupported", "reason": "no resource", "workload": "fork_noop", "threads": 1}
        rows = [result_row("asio", [], params={"resource": name, "count": 1000}, **missing)
                for name in ("pool", "monotonic")]
        rows += [near("asio", 5.0, workload="fork_noop", threads=1, params={"resource": "frame_pool", "count": 1000})]
        report.write(results_of(*rows), None, self.out)
        text = (self.out / "report.md").read_text(encoding="utf-8")
        self.assertIn("| fork_noop pool 1k, fork_noop monotonic 1k |", text)
