"""The plots of the report, as SVG that stands inside the HTML."""

from __future__ import annotations

import base64
import io

import matplotlib

matplotlib.use("svg")

from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from runner.runtimes import COFLUX, RUNTIMES
from runner.verdicts import CaseResult, ResultRow

# Told apart also by people who see fewer colours (Okabe and Ito); later runtimes take the rest in turn.
COLOURS = {"bare": "#8c8c8c", "std": "#cc79a7", COFLUX: "#d55e00", "asio": "#0072b2", "tbb": "#009e73",
           "tokio": "#e6b000", "tokio_ct": "#56b4e9"}
SPARE_COLOURS = ("#332288", "#882255", "#117733", "#44aa99", "#999933")
# A linear axis hides what is this many times smaller than the greatest.
LOG_FROM = 20.0
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "coflux lab", "font.family": "sans-serif", "font.size": 10,
         "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True}


def colour(runtime: str) -> str:
    if runtime in COLOURS:
        return COLOURS[runtime]
    others = [name for name in RUNTIMES if name not in COLOURS] + [runtime]
    return SPARE_COLOURS[others.index(runtime) % len(SPARE_COLOURS)]


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


def bars(cases: list[CaseResult], runtimes: list[str]) -> str | None:
    """One workload: a group of bars a case, with intervals. None where no row has a figure."""
    shown = [name for name in runtimes if any(_has_figure(case, name) for case in cases)]
    if not shown:
        return None
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(figsize=(max(6.5, 1.6 + 0.24 * len(cases) * (len(shown) + 1)), 3.4))
        width = 0.84 / len(shown)
        medians, lowest = [], []
        for index, runtime in enumerate(shown):
            places, heights, below, above = [], [], [], []
            for place, case in enumerate(cases):
                if not _has_figure(case, runtime):
                    continue
                row = case.rows[runtime]
                error = _error(row)
                places.append(place + (index - (len(shown) - 1) / 2) * width)
                heights.append(row["median"])
                below.append(error[0])
                above.append(error[1])
                lowest.append(row["median"] - error[0])
            medians += heights
            axes.bar(places, heights, width * 0.92, yerr=[below, above], label=runtime, color=colour(runtime),
                     error_kw={"elinewidth": 1.0, "capsize": 2.0, "ecolor": "#222222"})
        if max(medians) >= LOG_FROM * min(medians):
            axes.set_yscale("log")
            axes.set_ylim(bottom=min(lowest) / 2)
            _label_log_axis(axes.yaxis)
        axes.set_xticks(range(len(cases)), [case.short_label.replace(" ", "\n", 1) for case in cases])
        axes.set_ylabel("ns/item" + (" (log scale)" if axes.get_yscale() == "log" else ""))
        axes.grid(axis="y", color="#dddddd", linewidth=0.8)
        axes.legend(ncols=len(shown), loc="lower left", bbox_to_anchor=(0, 1.0), frameon=False, handlelength=1.0,
                    columnspacing=1.2)
        return _data_uri(figure)


def ratios(cases: list[CaseResult], runtimes: list[str]) -> str | None:
    """All cases: each runtime's time over Coflux's, on one log axis. None where nothing can be compared."""
    comparable = [case for case in cases if any(case.ratio_to_baseline(name) for name in runtimes if name != COFLUX)]
    others = [name for name in runtimes if name != COFLUX and any(case.ratio_to_baseline(name) for case in comparable)]
    if not others:
        return None
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(figsize=(9.5, 1.4 + 0.36 * len(comparable)))
        for runtime in others:
            for place, case in enumerate(comparable):
                against = case.ratio_to_baseline(runtime)
                if against is None:
                    continue
                if against.low is not None:
                    axes.plot([against.low, against.high], [place, place], color=colour(runtime), linewidth=1.6,
                              alpha=0.6)
                axes.plot(against.value, place, "o", markersize=6.5, color=colour(runtime), markeredgecolor="white",
                          markeredgewidth=0.6)
            axes.plot([], [], "o", color=colour(runtime), label=runtime)
        axes.axvline(1.0, color=colour(COFLUX), linewidth=1.4)
        axes.set_xscale("log")
        _label_log_axis(axes.xaxis)
        axes.set_yticks(range(len(comparable)), [f"{case.workload} {case.short_label}" for case in comparable])
        axes.set_ylim(len(comparable) - 0.4, -0.6)
        axes.set_xlabel("time over Coflux's (log scale): left of the line is faster than Coflux, right of it slower")
        axes.grid(axis="both", color="#e4e4e4", linewidth=0.8)
        axes.legend(ncols=len(others), loc="lower left", bbox_to_anchor=(0, 1.0), frameon=False, handletextpad=0.2)
        return _data_uri(figure)


def _data_uri(figure: Figure) -> str:
    """An image of its own, so that the identifiers of two plots cannot meet in one page."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
