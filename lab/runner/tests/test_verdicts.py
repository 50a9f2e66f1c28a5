import unittest

from runner import comparison, report, tables
from runner.runtimes import RUNTIMES
from runner.tests.fakes import LabTest, result_row, results_of
from runner.verdicts import by_case, losses_first, ratio


def near(runtime: str, median: float, **fields: object) -> dict:
    """A row whose interval is one percent to each side."""
    return result_row(runtime, [median], 0.99 * median, 1.01 * median, **fields)


class Ratios(unittest.TestCase):
    def test_intervals_that_lie_apart_differ(self) -> None:
        against = ratio(near("asio", 20.0), near("coflux", 10.0))
        self.assertTrue(against.differs)
        self.assertEqual(against.text(), "2.00 x")

    def test_intervals_that_overlap_are_no_difference(self) -> None:
        self.assertEqual(ratio(near("asio", 10.1), near("coflux", 10.0)).text(), "no difference")

    def test_intervals_that_touch_are_no_difference(self) -> None:
        against = ratio(result_row("asio", [12.0], 11.0, 13.0), result_row("coflux", [10.0], 9.0, 11.0))
        self.assertEqual(against.text(), "no difference")

    def test_one_repetition_claims_nothing(self) -> None:
        against = ratio(result_row("asio", [20.0]), near("coflux", 10.0))
        self.assertFalse(against.differs)
        self.assertEqual(against.text(), "2.00 x, n = 1")

    def test_without_a_figure_there_is_no_ratio(self) -> None:
        self.assertIsNone(ratio(result_row("asio", []), near("coflux", 10.0)))
        self.assertIsNone(ratio(near("asio", 10.0), None))


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
        (case,) = by_case([near("bare", 1000.0, cpu_ns_per_item=1000.0), near("coflux", 1040.0, cpu_ns_per_item=2080.0),
                           near("asio", 990.0, cpu_ns_per_item=1000.0)])
        self.assertEqual(tables.over_floor(case, "coflux", "median"), "+40.0, 1.04 x")
        self.assertEqual(tables.over_floor(case, "coflux", "cpu_ns_per_item"), "+1,080, 2.08 x")
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

    def test_each_row_is_judged_by_its_intervals(self) -> None:
        old = [near("coflux", 10.0), near("asio", 10.0), near("tbb", 10.0), near("std", 10.0)]
        new = [near("coflux", 8.0), near("asio", 12.0), near("tbb", 10.1), result_row("std", [9.0])]
        self.assertEqual(self.verdicts(old, new), {"coflux": "faster", "asio": "slower", "tbb": "no difference",
                                                   "std": "one repetition, no interval"})

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

    def test_the_table_shows_the_interval_of_the_ratio(self) -> None:
        compared = comparison.compare(results_of(near("coflux", 10.0)), results_of(near("coflux", 20.0)))
        text = comparison.as_text(compared)
        self.assertIn("1.96 to 2.04", text)


class Reports(LabTest):
    def test_compare_is_part_of_the_run_and_of_its_reports(self) -> None:
        self.fake("coflux", ns=10)
        arguments = ("--workload", "fib", "--runtime", "coflux", "--reps", "3")
        self.measure(*arguments)
        old, self.out = self.out, self.root / "new"
        self.fake("coflux", ns=30)
        # The fake slows down with each call; a fresh count keeps the ratio at 3.
        self.calls_file.unlink()
        done = self.measure(*arguments, "--compare", str(old))
        self.assertEqual(done.status, 0, done.stderr)
        self.assertRegex(done.stdout, r"3\.00 .*slower")
        for name in ("report.md", "report.html"):
            self.assertIn("Against the older run", (self.out / name).read_text(encoding="utf-8"))

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
        for outside in ("http://", "https://", "<link", "<script"):
            self.assertNotIn(outside, text)
        loses = text.index("Where Coflux loses")
        self.assertLess(text.index("Wrong, failed"), loses)
        self.assertLess(loses, text.index("All figures"))
        self.assertIn("asio 8.00 (0.80 x)", text[loses:])

    def test_the_details_tell_what_is_over_the_floor_where_there_is_one(self) -> None:
        self.out.mkdir()
        over = "| over the floor | CPU over it |"
        for rows, told in (([near("coflux", 10.0), near("bare", 5.0)], True), ([near("coflux", 10.0)], False)):
            report.write(results_of(*rows), None, self.out)
            text = (self.out / "report.md").read_text(encoding="utf-8")
            self.assertEqual(over in text, told)
            self.assertEqual("+5.00, 2.00 x" in text, told)
            self.assertEqual("over the floor" in (self.out / "report.html").read_text(encoding="utf-8"), told)

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
