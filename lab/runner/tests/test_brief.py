import unittest
from typing import Any

from runner import brief, catalog, plots
from runner.tests.fakes import near, result_row
from runner.tests.test_plots import svg
from runner.verdicts import CPU, FIGURES, TIME, by_case


def figure(name: str, value: float) -> dict[str, Any]:
    return {"figures": {name: {"median": value, "samples": [value] * 9}}}


def lines(*rows: dict[str, Any]) -> list[brief.Line]:
    return brief.lines(by_case(list(rows)))


class Worst(unittest.TestCase):
    @staticmethod
    def case(number: int, *rivals: float, workload: str = "fib") -> list[dict[str, Any]]:
        """The later cases of each workload have more items."""
        fields = {"params": {"n": number}, "items": number, "workload": workload}
        return [near("coflux", 10.0, **fields),
                *(near(name, value, **fields) for name, value in zip(("asio", "tbb"), rivals))]

    def chosen(self, *rows: dict[str, Any]) -> list[int]:
        return [line.case.params["n"] for line in lines(*rows)]

    def test_is_the_greatest_loss_whatever_its_size_and_its_place(self) -> None:
        self.assertEqual(self.chosen(*self.case(1, 9.0), *self.case(2, 40.0, 5.0), *self.case(3, 8.0)), [2])

    def test_is_a_loss_before_no_difference_and_that_before_a_win(self) -> None:
        # The best rival is nearer to Coflux in the win than in what is undecided.
        tie = [near("coflux", 10.0, params={"n": 2}),
               result_row("asio", [8.0, 9.0, 8.0, 9.0, *[15.0] * 5], params={"n": 2})]
        self.assertEqual(self.chosen(*self.case(1, 10.5), *tie), [2])
        self.assertEqual(self.chosen(*tie, *self.case(3, 9.8)), [3])

    def test_is_a_decided_loss_before_a_greater_one_that_is_undecided(self) -> None:
        undecided = [near("coflux", 10.0, params={"n": 2}), result_row("asio", [1.0] * 6 + [90.0] * 3, params={"n": 2})]
        self.assertEqual(self.chosen(*self.case(1, 9.1), *undecided), [1])

    def test_is_the_smallest_win_where_all_are(self) -> None:
        self.assertEqual(self.chosen(*self.case(1, 30.0), *self.case(2, 90.0, 20.0), *self.case(3, 40.0)), [2])

    def test_is_one_without_a_figure_of_coflux(self) -> None:
        found = lines(*self.case(1, 5.0), result_row("coflux", [], params={"n": 2}), near("asio", 9.0, params={"n": 2}))
        self.assertEqual([line.case.params["n"] for line in found], [2])
        self.assertEqual(found[0].cells[0], "failed")

    def test_is_none_of_a_run_without_coflux(self) -> None:
        self.assertEqual(lines(result_row("coflux", [], status="unavailable"), near("asio", 9.0)), [])

    def test_is_against_contenders_and_not_against_the_floor(self) -> None:
        self.assertEqual(self.chosen(*self.case(1, 20.0), near("bare", 1.0, params={"n": 1}), *self.case(2, 15.0)), [2])

    def test_is_none_in_which_no_scheduling_takes_part(self) -> None:
        for workload, name, alone in (("cachecalc", "idiom", "compute"), ("record_path", "path", "plain"),
                                      ("fib_tasks", "shape", "sequential")):
            rows = [near(who, value, workload=workload, params={name: what})
                    for what, values in ((alone, (10.0, 1.0)), ("other", (10.0, 20.0)))
                    for who, value in zip(("coflux", "asio"), values)]
            self.assertEqual([line.case.params[name] for line in lines(*rows)], ["other"])

    def test_losses_stand_first_and_the_others_in_their_order(self) -> None:
        rows = [row for workload, rival in (("fib", 90.0), ("inject", 8.0), ("matmul", 20.0), ("yield", 4.0))
                for row in self.case(1, rival, workload=workload)]
        self.assertEqual([line.case.workload for line in lines(*rows)], ["yield", "inject", "fib", "matmul"])


class Headlines(unittest.TestCase):
    @staticmethod
    def row(who: str, ns: float, kept: float, count: int = 1, **fields: Any) -> dict[str, Any]:
        return near(who, ns, workload="memory_after", params={"count": count}, **figure("kept_bytes", kept), **fields)

    def test_the_row_has_the_figure_that_counts_and_its_dress_and_losses(self) -> None:
        found = lines(self.row("coflux", 10.0, 3000.0), self.row("asio", 40.0, 9000.0), self.row("go", 50.0, 600.0),
                      self.row("tokio", 20.0, 8000.0), self.row("tokio", 60.0, 1500.0, dress="expert"))
        self.assertEqual([(line.label, line.cells) for line in found], [
            ("[memory_after](memory_after.md) 1: bytes that are kept at once",
             ["3,000", "**go 600.0 (0.20 x)**", "**tokio 1,500 (0.50 x, expert)**", "**go 600.0 (0.20 x)**"])])

    def test_the_worst_case_is_worst_in_it(self) -> None:
        (line,) = lines(self.row("coflux", 10.0, 3000.0), self.row("asio", 5.0, 9000.0),
                        self.row("coflux", 10.0, 3000.0, 2), self.row("asio", 90.0, 1000.0, 2))
        self.assertEqual(line.case.params["count"], 2)

    def test_each_that_is_declared_is_judged_and_has_a_name(self) -> None:
        for workload, module in catalog.all_workloads().items():
            for size in catalog.SIZES:
                for params in module.cases(size):
                    of = catalog.headline(workload, params)
                    self.assertTrue(of.reason, workload)
                    self.assertIn(of.figure, (None, *FIGURES), workload)
                    # What has no verdict in time is judged by something else, or not at all.
                    self.assertFalse(of.time_of and of.figure == TIME, workload)
                    if of.figure not in (None, TIME, CPU):
                        rows = [near(who, 10.0, workload=workload, params=params, **figure(of.figure, value))
                                for who, value in (("coflux", 10.0), ("go", 5.0))]
                        line = lines(*rows)[0]
                        self.assertEqual((line.figure, line.rank), (of.figure, (1, 0.5)))
                        self.assertTrue(line.label.endswith(f": {brief.tables.TITLES[of.figure]}"))

    def test_rows_whose_time_is_a_timer_s_or_a_compiler_s_have_none_in_time(self) -> None:
        for workload, params in (("partition_receiver", {"receiver": "parks", "gap_us": 100}), ("cachecalc", {"idiom": "compute"}),
                                 ("idle_tasks", {}), ("coroutine_costs", {"step": "create_live"}), ("wait", {"idiom": "timer"}),
                                 ("echo_many", {"mode": "open"}), ("record_path", {"path": "plain"})):
            self.assertIsNotNone(catalog.headline(workload, params).time_of, workload)

    def test_where_mean_p50_and_p99_differ_in_verdict_each_has_a_line(self) -> None:
        def row(who: str, ns: float, p50: float, p99: list[float]) -> dict[str, Any]:
            return near(who, ns, workload="latency_under_load", params={"load_percent": 20},
                        figures={"p50_ns": {"median": p50, "samples": [p50] * 9}, "p99_ns": {"median": p99[0], "samples": p99}})
        found = lines(row("coflux", 10.0, 8.0, [20.0] * 9), row("tbb", 6.9, 5.3, [15.0] * 6 + [30.0] * 3))
        self.assertEqual([(line.label.rpartition(": ")[2], line.cells[1]) for line in found], [
            ("p99, ns", "tbb 15.0 (0.75 x, undecided: 0.75 to 1.50)"), ("time, ns an item", "**tbb 6.90 (0.68 x)**"),
            ("p50, ns", "**tbb 5.30 (0.66 x)**")])
        same = lines(row("coflux", 10.0, 8.0, [20.0] * 9), row("tbb", 6.9, 5.3, [15.0] * 9))
        self.assertEqual([line.figure for line in same], ["p99_ns"])

    def test_a_file_without_the_figure_has_the_time(self) -> None:
        (line,) = lines(*(near(who, value, workload="memory_after", params={"count": 1})
                          for who, value in (("coflux", 10.0), ("go", 20.0))))
        self.assertEqual((line.label, line.cells), ("[memory_after](memory_after.md) 1", ["10.0", "go 20.0 (1.98 x)", "", "go 20.0 (1.98 x)"]))

    def test_the_picture_has_the_same_ratios_and_says_of_what(self) -> None:
        found = lines(self.row("coflux", 10.0, 3000.0), self.row("go", 50.0, 600.0),
                      near("coflux", 10.0), near("go", 20.0), near("bare", 5.0))
        self.assertEqual([{name: round(each.value, 1) for name, each in line.ratios.items()} for line in found],
                         [{"go": 0.2}, {"go": 2.0, "bare": 0.5}])
        text = svg(plots.brief_ratios(found, ["bare", "coflux", "go"]))
        for said in (">memory_after (kept)<", ">fib<", "the figure in brackets"):
            self.assertIn(said, text)


if __name__ == "__main__":
    unittest.main()
