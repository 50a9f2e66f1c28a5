"""The plots of the report, as SVG that stands inside the HTML."""

from __future__ import annotations

import base64
import io
import textwrap

import matplotlib

matplotlib.use("svg")

from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from runner import catalog
from runner.brief import Line
from runner.runtimes import COFLUX, RUNTIMES
from runner.verdicts import CaseResult, Ratio, ResultRow

# Told apart also by people who see fewer colours (Okabe and Ito); later runtimes take the rest in turn.
COLOURS = {"bare": "#8c8c8c", "std": "#cc79a7", COFLUX: "#d55e00", "asio": "#0072b2", "tbb": "#009e73",
           "tokio": "#e6b000", "tokio_ct": "#56b4e9"}
SPARE_COLOURS = ("#332288", "#882255", "#999933", "#6b3e1e", "#44aa99", "#aa4499", "#117733", "#cc6677", "#7570b3")
# Told apart also on paper without colours.
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*", "<", ">", "p", "h", "d", "8", "H", "x", "+", "1", "2", "3")
# A linear axis hides what is this many times smaller than the greatest.
LOG_FROM = 20.0
# The width of a letter in the labels of an axis, with the gap to the next one in it.
INCHES_A_LETTER = 0.095
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "coflux lab", "font.family": "sans-serif", "font.size": 10,
         "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True}


def colour(runtime: str) -> str:
    if runtime in COLOURS:
        return COLOURS[runtime]
    others = [name for name in RUNTIMES if name not in COLOURS] + [runtime]
    return SPARE_COLOURS[others.index(runtime) % len(SPARE_COLOURS)]


def marker(runtime: str) -> str:
    """The same in all charts."""
    known = list(RUNTIMES)
    return MARKERS[known.index(runtime) % len(MARKERS)] if runtime in known else MARKERS[-1]


def _size(runtime: str, of_a_dot: float) -> float:
    """A star of the same width looks smaller."""
    return of_a_dot * (1.5 if marker(runtime) == "*" else 1.0)


def _plain(value: float, _position: int = 0) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"


def _label_log_axis(axis: matplotlib.axis.Axis) -> None:
    low, high = axis.get_view_interval()
    # Labels at 2 and 5 would touch each other over many decades.
    axis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0) if high < 1e5 * low else (1.0,), numticks=18))
    axis.set_major_formatter(FuncFormatter(_plain))
    axis.set_minor_formatter(NullFormatter())


def _error(row: ResultRow) -> tuple[float, float]:
    if row["ci_low"] is None:
        return 0.0, 0.0
    return row["median"] - row["ci_low"], row["ci_high"] - row["median"]


def _has_figure(case: CaseResult, runtime: str) -> bool:
    return runtime in case.rows and case.rows[runtime]["status"] == "ok"


def figures(cases: list[CaseResult], runtimes: list[str]) -> str | None:
    """One workload: bars from zero, or where they would be too unlike each other dots on a log axis. None where no row
    has a figure.

    The length of a bar is its figure, so it must begin at zero, and a log axis has no zero.
    """
    shown = [name for name in runtimes if any(_has_figure(case, name) for case in cases)]
    if not shown:
        return None
    with pyplot.rc_context(STYLE):
        names = _tick_names(cases)
        # A case has the room of its dots, and of the longest word below them.
        room = max(6.5 / len(cases), 0.24 * (len(shown) + 1), INCHES_A_LETTER * max(len(word) for name in names for word in name.split()))
        figure, axes = pyplot.subplots(figsize=(1.6 + room * len(cases), 3.4))
        width = 0.84 / len(shown)
        medians = [case.rows[name]["median"] for case in cases for name in shown if _has_figure(case, name)]
        log = max(medians) >= LOG_FROM * min(medians)
        for index, runtime in enumerate(shown):
            rows = [(place, case.rows[runtime]) for place, case in enumerate(cases) if _has_figure(case, runtime)]
            places = [place + (index - (len(shown) - 1) / 2) * width for place, _ in rows]
            heights = [row["median"] for _, row in rows]
            errors = list(zip(*(_error(row) for _, row in rows)))
            style = {"yerr": errors, "label": runtime, "color": colour(runtime)}
            if log:
                axes.errorbar(places, heights, fmt=marker(runtime), markersize=_size(runtime, 6.5), elinewidth=1.2, capsize=2.5, **style)
            else:
                axes.bar(places, heights, width * 0.92, error_kw={"elinewidth": 1.0, "capsize": 2.0, "ecolor": "#222222"},
                         **style)
        _value_axis(axes, log)
        letters = max(1, int(room / INCHES_A_LETTER))
        axes.set_xticks(range(len(cases)), [textwrap.fill(name, letters, break_long_words=False, break_on_hyphens=False) for name in names])
        axes.set_xlim(-0.6, len(cases) - 0.4)
        _legend(axes, len(shown))
        return _data_uri(figure)


def _in_two_lines(name: str) -> str:
    """Where it is long: a narrow window shall show more than the names."""
    letters = 34
    while len(lines := textwrap.wrap(name, letters, break_long_words=False, break_on_hyphens=False)) > 2:
        letters += 1
    return "\n".join(lines)


def _tick_names(cases: list[CaseResult]) -> list[str]:
    """What tells the cases of a workload apart; a single one by all that it has."""
    told = [case.short_label.split() for case in cases]
    common = set.intersection(*map(set, told)) if len(cases) > 1 else set()
    return [" ".join(word for word in words if word not in common) or case.short_label for words, case in zip(told, cases)]


def curves(cases: list[CaseResult], runtimes: list[str], over: str | None) -> list[tuple[str, str]]:
    """Cost against a parameter, or against threads where `over` is None: a title and a plot for each set of the other
    numbers.

    A set of which there is one value alone has no plot.
    """
    groups: dict[str, list[tuple[int, CaseResult]]] = {}
    for case in cases:
        if over is None:
            groups.setdefault(catalog.short_label(case.params), []).append((case.threads, case))
        elif over in case.params:
            rest = {name: value for name, value in case.params.items() if name != over}
            title = f"{catalog.short_label(rest)} threads={case.threads}".strip()
            groups.setdefault(title, []).append((case.params[over], case))
    plots = []
    for title, points in groups.items():
        points.sort(key=lambda point: point[0])
        if len({value for value, _ in points}) > 1 and (plot := _curve(points, runtimes, over or "threads")):
            plots.append((title, plot))
    return plots


def sizes_of(cases: list[CaseResult]) -> list[str]:
    """The parameters that are numbers and take several values."""
    names = dict.fromkeys(name for case in cases for name, value in case.params.items() if isinstance(value, int))
    return [name for name in names if len({case.params.get(name) for case in cases}) > 1]


def _curve(points: list[tuple[int, CaseResult]], runtimes: list[str], over: str) -> str | None:
    shown = [name for name in runtimes if sum(_has_figure(case, name) for _, case in points) > 1]
    if not shown:
        return None
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(figsize=(6.5, 3.2))
        medians = [case.rows[name]["median"] for _, case in points for name in shown if _has_figure(case, name)]
        for runtime in shown:
            rows = [(value, case.rows[runtime]) for value, case in points if _has_figure(case, runtime)]
            errors = list(zip(*(_error(row) for _, row in rows)))
            axes.errorbar([value for value, _ in rows], [row["median"] for _, row in rows], yerr=errors, label=runtime,
                          color=colour(runtime), fmt=f"{marker(runtime)}-", markersize=_size(runtime, 5.5), linewidth=1.2, capsize=2.5)
        values = sorted({value for value, _ in points})
        if values[0] > 0 and values[-1] >= 8 * values[0]:
            axes.set_xscale("log")
        axes.set_xticks(values, [catalog.compact(value) for value in values])
        axes.set_xticks([], minor=True)
        axes.set_xlabel(over + (" (log scale)" if axes.get_xscale() == "log" else ""))
        _value_axis(axes, max(medians) >= LOG_FROM * min(medians))
        _legend(axes, len(shown))
        return _data_uri(figure)


def _value_axis(axes: matplotlib.axes.Axes, log: bool) -> None:
    if log:
        axes.set_yscale("log")
        _label_log_axis(axes.yaxis)
    else:
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(FuncFormatter(_plain))
    axes.set_ylabel("ns/item" + (" (log scale)" if log else ""))
    axes.grid(axis="y", color="#dddddd", linewidth=0.8)


def _legend(axes: matplotlib.axes.Axes, columns: int) -> None:
    axes.legend(ncols=min(columns, 6), loc="lower left", bbox_to_anchor=(0, 1.0), frameon=False, handlelength=1.0, columnspacing=1.2)


def ratios(cases: list[CaseResult], runtimes: list[str]) -> str | None:
    """All cases: each runtime's time over Coflux's, on one log axis. None where nothing can be compared."""
    others = [name for name in runtimes if name != COFLUX]
    drawn = [(_in_two_lines(f"{case.workload} {case.short_label}"),
              {name: against for name in others if (against := case.ratio_to_baseline(name))}) for case in cases]
    return _ratios(drawn, runtimes, 9.5, 0.42,
                   "time over Coflux's (log scale): left of the line is faster than Coflux, right of it slower")


def brief_ratios(lines: list[Line], runtimes: list[str]) -> str | None:
    """The same of one line for each workload: as narrow as a page of text."""
    return _ratios([(line.name, line.ratios) for line in lines], runtimes, 7.2, 0.36,
                   "time, or the figure in brackets, over Coflux's (log scale): left of the line beats Coflux")


def _ratios(drawn: list[tuple[str, dict[str, Ratio]]], runtimes: list[str], width: float, height: float,
            says: str) -> str | None:
    drawn = [(name, against) for name, against in drawn if against]
    others = [name for name in runtimes if any(name in against for _, against in drawn)]
    if not others:
        return None
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(figsize=(width, 1.4 + height * len(drawn)))
        for runtime in others:
            style = {"color": colour(runtime), "marker": marker(runtime), "markersize": _size(runtime, 6.5),
                     "markeredgecolor": "white", "markeredgewidth": 0.5}
            for place, (_, ratios) in enumerate(drawn):
                against = ratios.get(runtime)
                if against is None:
                    continue
                if against.low is not None:
                    axes.plot([against.low, against.high], [place, place], color=colour(runtime), linewidth=1.6,
                              alpha=0.6)
                axes.plot(against.value, place, **style)
            axes.plot([], [], linestyle="none", label=runtime, **style)
        axes.axvline(1.0, color=colour(COFLUX), linewidth=1.4)
        axes.set_xscale("log")
        _label_log_axis(axes.xaxis)
        axes.tick_params(axis="y", labelsize=9)
        # One end of many cases is out of sight.
        axes.tick_params(axis="x", top=True, labeltop=True)
        axes.set_yticks(range(len(drawn)), [name for name, _ in drawn])
        axes.set_ylim(len(drawn) - 0.4, -0.6)
        axes.set_xlabel(says)
        axes.grid(axis="both", color="#e4e4e4", linewidth=0.8)
        axes.legend(ncols=min(len(others), 6), loc="lower left", bbox_to_anchor=(0, 1 + 0.25 / axes.bbox.height * figure.dpi), frameon=False,
                    handletextpad=0.2)
        return _data_uri(figure)


def _data_uri(figure: Figure) -> str:
    """An image of its own, so that the identifiers of two plots cannot meet in one page."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
