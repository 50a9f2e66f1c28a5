import unittest
from dataclasses import replace
from typing import Any

from runner import catalog, derived, report, seeds
from runner.seeds import MOST, ONE, Experiment, Term
from runner.state import Row, State
from runner.suites import Case, plan
from runner.tests.fakes import LabTest, near, result_row, results_of
from runner.verdicts import by_case, losses_first

EXPERIMENTS = [each for document in seeds.DOCUMENTS for table in document.tables for each in table.experiments]


def row(runtime: str, term: Term, samples: list[float], **fields: object) -> dict[str, object]:
    return result_row(runtime, samples, **{"workload": term.workload, "params": term.params,
                                           "threads": 1 if term.threads == ONE else 2} | fields)


class Documents(unittest.TestCase):
    def test_the_suite_has_the_case_of_every_experiment(self) -> None:
        cases = plan(list(catalog.all_workloads().values()), ("seed",), 2)
        planned = {(case.workload, catalog.label(case.params), case.threads) for case in cases}
        for experiment in EXPERIMENTS:
            for term in filter(None, (experiment.term, experiment.minus, experiment.alone)):
                threads = catalog.all_workloads()[term.workload].THREADS or (1 if term.threads == ONE else 2)
                self.assertIn((term.workload, catalog.label(term.params), threads), planned, experiment.name)

    def test_every_case_of_the_suite_is_told_by_a_document(self) -> None:
        told = {(term.workload, catalog.label(term.params)) for each in EXPERIMENTS for term in (each.term, each.minus, each.alone) if term}
        untold = {name for name, workload in catalog.all_workloads().items() for params in workload.SEED
                  if (name, catalog.label(params)) not in told}
        # Rows of a document's neighbourhood: no document has a figure of them.
        self.assertLessEqual(untold, {"cachecalc", "channel_mpmc", "channel_rendezvous", "channel_spsc", "partition_receiver", "echo"})

    def test_names_of_a_table_are_told_apart(self) -> None:
        for document in seeds.DOCUMENTS:
            for table in document.tables:
                names = [each.name for each in table.experiments]
                self.assertEqual(len(set(names)), len(names), table.title)


class Derived(unittest.TestCase):
    OVER, UNDER = seeds.case("pipeline", depth=20), seeds.case("pipeline", depth=5)

    def measured(self, *rows: dict[str, object], **fields: object) -> list[derived.Figure]:
        return derived.measured(derived.Cases(by_case(list(rows))), Experiment("", "", **fields))

    def test_a_figure_is_in_the_unit_of_its_document(self) -> None:
        (figure,) = self.measured(row("coflux", self.OVER, [100.0, 102.0, 98.0]), term=self.OVER, factor=50)
        self.assertEqual((figure.text(), figure.runtime, figure.n), ("5 us", "coflux", 3))

    def test_a_difference_is_taken_round_by_round(self) -> None:
        # The machine slows down by half for some rounds; the difference of medians would be another.
        over, under = [300.0, 310.0, 450.0, 460.0, 455.0], [150.0, 160.0, 300.0, 310.0, 305.0]
        (figure,) = self.measured(row("coflux", self.OVER, over), row("coflux", self.UNDER, under), term=self.OVER, minus=self.UNDER,
                                  factor=1 / 15)
        self.assertAlmostEqual(figure.summary.median, 10.0)
        self.assertEqual(figure.interval_text(), "10 ns to 10 ns (94 %)")

    def test_a_runtime_without_one_of_the_two_has_no_difference(self) -> None:
        rows = [row("coflux", self.OVER, [3.0]), row("coflux", self.UNDER, [1.0]), row("asio", self.OVER, [3.0]),
                row("asio", self.UNDER, [])]
        self.assertEqual([figure.runtime for figure in self.measured(*rows, term=self.OVER, minus=self.UNDER)], ["coflux"])

    def test_cpu_that_was_too_little_has_no_figure(self) -> None:
        self.assertEqual(self.measured(row("coflux", self.OVER, [3.0]), term=self.OVER, cpu=True), [])
        (figure,) = self.measured(row("coflux", self.OVER, [3.0], cpu_samples=[7.0]), term=self.OVER, cpu=True)
        self.assertEqual(figure.summary.median, 7.0)

    def test_the_floor_is_that_of_the_same_case_and_has_nothing_over_itself(self) -> None:
        rows = [row("bare", self.OVER, [10.0, 20.0]), row("coflux", self.OVER, [13.0, 24.0])]
        figures = self.measured(*rows, term=self.OVER, minus=seeds.floor_of(self.OVER))
        self.assertEqual([(figure.runtime, figure.summary.median) for figure in figures], [("coflux", 3.5)])

    @staticmethod
    def over_floor(name: str) -> Experiment:
        (adds,) = (each for table in seeds.CACHE.tables if "compute floor" in table.title and "adds" in table.title
                   for each in table.experiments if each.name == name)
        return adds

    def test_what_seastar_adds_is_over_the_floor_of_its_own_compiler(self) -> None:
        adds = self.over_floor("BM_SeastarHash/8")
        hashed, alone = seeds._variant("seastar_hash", 8), seeds._cache("compute", 8)
        rows = [row("bare", hashed, [1_300.0]), row("seastar", hashed, [1_250.0]), row("bare", alone, [1_300.0]),
                row("seastar", alone, [980.0]), row("coflux", alone, [1_300.0])]
        figures = derived.measured(derived.Cases(by_case(rows)), adds)
        self.assertEqual([(figure.runtime, figure.summary.median) for figure in figures], [("seastar", 270.0)])

    def test_what_other_languages_add_is_over_their_own_calculations_alone(self) -> None:
        locked, alone = seeds._cache("mutex", 8), seeds._cache("compute", 8)
        rows = [row("bare", locked, [1_300.0]), row("coflux", locked, [1_500.0]), row("tokio", locked, [2_500.0]),
                row("tokio_ct", locked, [2_400.0]), row("go", locked, [1_900.0]),
                row("bare", alone, [9_999.0]), row("coflux", alone, [9_999.0]), row("tokio_ct", alone, [1_900.0]), row("go", alone, [1_400.0])]
        figures = derived.measured(derived.Cases(by_case(rows)), self.over_floor("pool and mutex/8"))
        self.assertEqual({figure.runtime: figure.summary.median for figure in figures},
                         {"coflux": 200.0, "tokio": 600.0, "tokio_ct": 500.0, "go": 500.0})
        without = derived.measured(derived.Cases(by_case([each for each in rows if each["runtime"] != "tokio_ct"])),
                                   self.over_floor("pool and mutex/8"))
        self.assertEqual({figure.runtime for figure in without}, {"coflux", "go"})

    def test_the_document_s_thread_and_the_run_s_are_two_lines(self) -> None:
        term = {threads: Term("yield", {"tasks": 1}, threads) for threads in (ONE, MOST)}
        rows = [row("coflux", term[ONE], [5.0]), row("coflux", term[MOST], [9.0])]
        found = [self.measured(*rows, term=term[threads])[0].summary.median for threads in (ONE, MOST)]
        self.assertEqual(found, [5.0, 9.0])
        self.assertEqual(self.measured(rows[1], term=term[ONE]), [])

    def test_what_is_less_than_coflux_s_is_marked(self) -> None:
        rows = [row("bare", self.OVER, [1.0] * 9), row("coflux", self.OVER, [10.0] * 9),
                row("asio", self.OVER, [9.0] * 9), row("tbb", self.OVER, [9.0, 11.0] * 4 + [10.0])]
        self.assertEqual([figure.runtime for figure in self.measured(*rows, term=self.OVER) if figure.lost], ["asio"])
        # A difference below nothing has no ratio.
        under = [row(who, self.UNDER, [9.5] * 9) for who in ("coflux", "asio")]
        self.assertFalse(any(figure.lost for figure in self.measured(*rows, *under, term=self.OVER, minus=self.UNDER)))

    def test_a_figure_beside_the_time_is_one_of_the_row_in_its_dress(self) -> None:
        params = seeds._LETTER["spawn"]
        term = Term("dispatcher", params, ONE, figure="spawn_ns", dress="debug")
        def built(dress: str, spawn: float) -> dict[str, Any]:
            figures = {"spawn_ns": {"median": spawn, "samples": [spawn] * 3}}
            return row("tokio_ct", term, [2 * spawn] * 3, dress=dress, figures=figures)
        rows = [built("plain", 200.0), built("debug", 650.0), row("coflux", term, [9.0] * 3)]
        (figure,) = self.measured(*rows, term=term)
        self.assertEqual((figure.runtime, figure.summary.median), ("tokio_ct", 650.0))
        released = replace(term, dress="plain")
        self.assertEqual([figure.summary.median for figure in self.measured(*rows, term=released)], [200.0])
        self.assertEqual(term.label, "spawn 10k batch=0 yields=0 steps=0, one thread, spawn_ns, debug")

    def test_the_programs_of_the_dispatcher_are_debug_as_published_and_release(self) -> None:
        letter = next(table for table in seeds.DISPATCH.tables if table.title == "The programs to the letter")
        for each in letter.experiments[:-1]:
            self.assertEqual(bool(each.published), (each.term.dress, each.term.threads) == ("debug", ONE), each.name)

    def test_durations_have_their_unit(self) -> None:
        self.assertEqual([derived.duration(each) for each in (0.83, 97.6, 4_670.0, 13_100_000.0, 2e9, -210.0)],
                         ["0.83 ns", "97.6 ns", "4.67 us", "13.1 ms", "2 s", "-210 ns"])


class Rounds(unittest.TestCase):
    """The cases of which a document takes the difference."""

    CASES = ([Case("record_path", {"path": path, "records": 10_000, "steps": 4_000, "batch": 100, "partitions": 8}, 2, 1.0)
              for path in ("plain", "direct")] + [Case("fib", {"n": 2}, 2, 1.0)])

    def order(self, **of_state: bool) -> list[tuple[int, str]]:
        state = State("seed", 2, {}, [Row(case, "coflux") for case in self.CASES], **of_state)
        return [(repetition, row.case.params.get("path", "fib")) for repetition, row in state.pending()]

    def test_have_their_rounds_together(self) -> None:
        self.assertEqual(self.order(), [(0, "plain"), (0, "direct"), (1, "direct"), (1, "plain"), (0, "fib"), (1, "fib")])

    def test_had_not_in_an_earlier_version(self) -> None:
        self.assertEqual(self.order(together=False),
                         [(0, "plain"), (1, "plain"), (0, "direct"), (1, "direct"), (0, "fib"), (1, "fib")])
        told = [derived.rounds_note(together) for together in (False, True)]
        self.assertIn("minutes apart", told[0])
        self.assertIn("together", told[1])

    def test_share_a_name_and_others_do_not(self) -> None:
        of = [{seeds.compared_with(term.workload, term.params) for term in (each.term, each.minus)}
              for document in seeds.DOCUMENTS for table in document.tables for each in table.experiments if each.minus]
        self.assertTrue(all(len(names) == 1 for names in of))
        self.assertNotEqual(seeds.compared_with("fib", {"n": 2}), seeds.compared_with("fib", {"n": 3}))


class Burning(unittest.TestCase):
    def test_a_program_that_spends_its_wait_on_the_cpu_is_told(self) -> None:
        burns, sleeps = (seeds._variant(name, 64) for name in ("serial", "boost_coroutine_strand"))
        rows = [row("bare", burns, [1_300.0], cpu_samples=[1_300.0]), row("std", burns, [66_000.0], cpu_samples=[65_000.0]),
                row("bare", sleeps, [1_300.0], cpu_samples=[1_300.0]), row("asio", sleeps, [2_000.0], cpu_samples=[2_900.0])]
        found = derived.burning(derived.Cases(by_case(rows)), seeds.CACHE)
        self.assertEqual([(each.runtime, each.burns) for each in found], [("std", True), ("asio", False)])
        self.assertAlmostEqual(found[0].share, (65_000 - 1_300) / 64_000)


class Reports(LabTest):
    def test_a_document_has_a_section_in_both_reports(self) -> None:
        over, under = seeds._pipeline(8, 20), seeds._pipeline(8, 5)
        rows = [row("coflux", over, [16_000.0] * 9, cpu_samples=[30_000.0] * 9), row("coflux", under, [4_000.0] * 9)]
        report.write(results_of(*rows), None, self.root)
        for name in (report.MARKDOWN, report.HTML):
            text = (self.root / name).read_text(encoding="utf-8")
            self.assertIn("Coflux benchmarks (Chinese)", text)
            self.assertIn("4.67 us", text)
            self.assertNotIn("EvaluateIPC", text)
        text = (self.root / report.MARKDOWN).read_text(encoding="utf-8")
        self.assertIn("| a further stage: (D=20 less D=5) / 15, C=8 | pipeline concurrency=8 depth=20 items=1k, less pipeline "
                      "concurrency=8 depth=5 items=1k | 1000 ns | 800 ns (800 ns to 800 ns) |", text)

    def test_a_run_of_other_cases_has_no_section(self) -> None:
        report.write(results_of(near("coflux", 10.0)), None, self.root)
        self.assertNotIn("seed documents", (self.root / report.MARKDOWN).read_text(encoding="utf-8"))


class Order(unittest.TestCase):
    def test_what_coflux_is_not_written_for_does_not_stand_before_its_losses(self) -> None:
        other = row("coflux", seeds._variant("async", 8), [], status="unsupported")
        rows = [other, row("std", seeds._variant("async", 8), [5.0] * 9), near("coflux", 10.0), near("asio", 5.0)]
        self.assertEqual([case.workload for case in losses_first(by_case(rows))], ["fib", "cachecalc_variants"])


if __name__ == "__main__":
    unittest.main()
