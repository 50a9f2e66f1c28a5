import base64
import re
import unittest
from html.parser import HTMLParser

from runner import plots, report
from runner.runtimes import RUNTIMES
from runner.tests.fakes import LabTest, near, result_row, results_of
from runner.verdicts import CaseResult, by_case


def svg(uri: str | None) -> str:
    return base64.b64decode(uri.partition(",")[2]).decode("utf-8")


def bars_of(text: str) -> list[tuple[float, float]]:
    """The top and the bottom of each filled rectangle in a colour of a runtime, in the picture's units."""
    found = []
    for path in re.findall(r'<path d="([^"]*)"[^>]*style="fill: (?!none|#ffffff)[^"]*"', text):
        heights = {float(y) for _, y in re.findall(r"[ML] (\S+) (\S+)", path)}
        if len(heights) == 2:
            found.append((min(heights), max(heights)))
    return found


def cases(*medians: float, **fields: object) -> list[CaseResult]:
    names = ("coflux", "asio", "tbb")
    return by_case([near(name, median, **fields) for name, median in zip(names, medians)])


class Bars(unittest.TestCase):
    def test_bars_begin_at_zero(self) -> None:
        text = svg(plots.figures(cases(10.0, 20.0), ["coflux", "asio"]))
        # The first two are the bars, then the legend's.
        (short, low), (tall, as_low) = bars_of(text)[:2]
        self.assertEqual(low, as_low)
        # Nor does the axis begin above it.
        self.assertRegex(text, r">0(\.0+)?</text>")
        self.assertAlmostEqual((low - tall) / (low - short), 2.0, places=1)

    def test_great_figures_are_told_in_thousands(self) -> None:
        self.assertIn(">300,000<", svg(plots.figures(cases(200_000.0, 380_000.0), ["coflux", "asio"])))

    def test_a_log_axis_has_dots_and_no_bars(self) -> None:
        text = svg(plots.figures(cases(10.0, 1000.0), ["coflux", "asio"]))
        self.assertIn("ns/item (log scale)", text)
        self.assertEqual(bars_of(text), [])
        self.assertIn("<use", text)

    def test_what_is_below_a_case_is_what_tells_it_apart_and_has_its_room(self) -> None:
        params = [{"connections": count, "load": load, "requests": 20_000, "bytes": 64} for count in (1, 20, 1000) for load in ("open", "closed")]
        rows = [near(name, 10.0, params=each) for each in params for name in ("coflux", "asio")]
        text = svg(plots.figures(by_case(rows), ["coflux", "asio"]))
        self.assertNotIn("bytes=64", text)
        self.assertEqual(text.count(">connections=20<"), 2)
        # Six labels of fourteen letters, at least.
        width = float(re.search(r'viewBox="0 0 (\S+) ', text)[1])
        self.assertGreater(width, 72 * 6 * 14 * plots.INCHES_A_LETTER)

    def test_a_single_case_has_its_whole_name(self) -> None:
        self.assertIn(">n=18<", svg(plots.figures(cases(10.0, 20.0), ["coflux", "asio"])))

    def test_a_runtime_has_the_same_mark_in_all_charts_and_none_has_another_s(self) -> None:
        self.assertEqual(len({(plots.marker(name), plots.colour(name)) for name in RUNTIMES}), len(RUNTIMES))
        self.assertEqual(len({plots.marker(name) for name in RUNTIMES}), len(RUNTIMES))

    def test_the_picture_of_ratios_has_a_ground_of_its_own_and_its_scale_on_both_ends(self) -> None:
        """Pages show it on white and on black."""
        text = svg(plots.ratios(cases(10.0, 20.0, 5.0), ["coflux", "asio", "tbb"]))
        self.assertIn("fill: #ffffff", text.partition("axes_1")[0])
        self.assertEqual(text.count(">1</text>"), 2)

    def test_a_long_name_in_the_picture_of_ratios_takes_two_lines(self) -> None:
        params = {"connections": 20, "load": "closed", "requests": 20_000, "bytes": 64, "rate": 0}
        text = svg(plots.ratios(cases(10.0, 20.0, params=params), ["coflux", "asio"]))
        self.assertIn(">fib connections=20 closed<", text)
        self.assertIn(">requests=20k bytes=64 rate=0<", text)
        self.assertEqual(plots._in_two_lines("latency_under_load load_percent=50 work_us=20 12500"),
                         "latency_under_load load_percent=50\nwork_us=20 12500")
        self.assertEqual(plots._in_two_lines(" ".join(["word"] * 40)).count("\n"), 1)

    def test_without_a_figure_there_is_no_plot(self) -> None:
        self.assertIsNone(plots.figures(by_case([result_row("coflux", [])]), ["coflux"]))


class Curves(unittest.TestCase):
    def of(self, rows: list[dict], over: str | None) -> list[str]:
        return [title for title, _ in plots.curves(by_case(rows), ["coflux", "asio"], over)]

    def test_cost_against_a_size_has_a_plot_for_each_set_of_the_other_numbers(self) -> None:
        rows = [near("coflux", 10.0 + count / 1000, params={"mode": mode, "count": count})
                for mode in ("final", "immediate") for count in (1000, 2000, 4000)]
        self.assertEqual(plots.sizes_of(by_case(rows)), ["count"])
        self.assertEqual(self.of(rows, "count"), ["final threads=2", "immediate threads=2"])

    def test_one_size_alone_has_none(self) -> None:
        rows = [near("coflux", 10.0, params={"tasks": 1, "yields": 200}), near("coflux", 9.0, params={"tasks": 8, "yields": 50})]
        self.assertEqual([self.of(rows, over) for over in plots.sizes_of(by_case(rows))], [[], []])

    def test_cost_against_threads(self) -> None:
        rows = [near("coflux", 10.0, threads=threads) for threads in (1, 2, 4)]
        self.assertEqual(self.of(rows, None), ["n=18"])
        ((_, plot),) = plots.curves(by_case(rows), ["coflux"], None)
        for label in (">1<", ">2<", ">4<", ">threads<"):
            self.assertIn(label, svg(plot))

    def test_a_runtime_with_a_single_point_has_no_line(self) -> None:
        rows = [near("coflux", 10.0, threads=1), near("coflux", 10.0, threads=2), near("asio", 10.0, threads=2)]
        ((_, plot),) = plots.curves(by_case(rows), ["coflux", "asio"], None)
        self.assertNotIn(">asio<", svg(plot))


class Page(HTMLParser):
    """The elements with their attributes, and whether all that was opened is closed in order."""

    VOID = ("meta", "img", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


class Filters(LabTest):
    def page(self) -> Page:
        self.out.mkdir(exist_ok=True)
        rows = [near("coflux", 10.0), near("tokio", 30.0, malloc="tcmalloc"), near("tokio", 20.0, malloc="tcmalloc", dress="expert"),
                near("tokio", 40.0, malloc="glibc", recommended=False), near("coflux", 5.0, workload="skynet", params={"depth": 3}),
                near("coflux", 4.0, workload="skynet", params={"depth": 4})]
        report.write(results_of(*rows), None, self.out)
        return Page((self.out / "report.html").read_text(encoding="utf-8"))

    def test_each_axis_has_a_filter_with_what_there_is(self) -> None:
        page = self.page()
        names = [attributes["data-filter"] for tag, attributes in page.elements if tag == "select"]
        self.assertEqual(names, ["workload", "runtime", "dress", "allocator"])
        self.assertEqual(sum(tag == "option" for tag, _ in page.elements), 4 + 2 + 2 + 2 + 2)

    def test_each_row_of_figures_carries_what_is_filtered_by(self) -> None:
        tagged = [attributes for tag, attributes in self.page().elements if tag == "tr" and "data-dress" in attributes]
        # Six in the details, and two variants.
        self.assertEqual(len(tagged), 8)
        for attributes in tagged:
            self.assertEqual({name for name in attributes if name.startswith("data-")},
                             {"data-workload", "data-runtime", "data-dress", "data-allocator"})

    def test_the_page_is_well_formed_and_pictures_have_words(self) -> None:
        page = self.page()
        self.assertEqual((page.wrong, page.open), ([], []))
        self.assertTrue(all(attributes.get("alt") for tag, attributes in page.elements if tag == "img"))

    def test_a_chart_against_size_is_in_the_report(self) -> None:
        self.page()
        self.assertIn("skynet against depth: threads=2", (self.out / "report.html").read_text(encoding="utf-8"))
