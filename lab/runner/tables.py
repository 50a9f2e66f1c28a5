"""Tables as plain text, for the terminal; the reports share the wording of their cells."""

from __future__ import annotations

from runner.runtimes import COFLUX
from runner.state import PLAIN
from runner.stats import CONFIDENCE
from runner.verdicts import CaseResult, Ratio, ResultRow, factor, median_of, paired

GAP = "  "
# What each figure of verdicts.JUDGED is called, with its unit.
TITLES = {"p50_ns": "p50, ns", "p99_ns": "p99, ns", "bytes_each": "bytes each",
          "kept_bytes": "bytes that are kept at once",
          "kept_when_idle_bytes": "bytes that are kept when it has been idle"}
# What is told and not judged: it rests on a thousandth of what was measured.
TOLD = {"p999_ns": "p99.9, ns, which rests on one request in a thousand and is not judged"}


def nanoseconds(value: float) -> str:
    """Three significant digits as far as they help, thousands separated."""
    if value < 10:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 1_000 else f"{value:,.0f}"


def nanoseconds_of(figure: str, row: ResultRow) -> str:
    """The median of one of FIGURES; nothing where the row has none."""
    value = median_of(figure, row)
    return "" if row["status"] != "ok" or value is None else nanoseconds(value)


def beside(row: ResultRow) -> str:
    """What a reader must know of the row of a verdict: another dress than plain, another allocator than the recommended."""
    said = [*([] if row["dress"] == PLAIN else [row["dress"]]), *([] if row["recommended"] else [row["malloc"]])]
    return "".join(f", {each}" for each in said)


def figure(row: ResultRow | None) -> str:
    """The median, or the status of a row that has none."""
    if row is None:
        return ""
    return nanoseconds(row["median"]) if row["status"] == "ok" else row["status"]


def against_coflux(case: CaseResult, runtime: str) -> str:
    """The second line of a cell."""
    return _verdict(None if runtime == COFLUX else case.ratio_to_baseline(runtime), case.rows.get(runtime))


def cpu_against_coflux(case: CaseResult, runtime: str) -> str:
    """The same of CPU an item."""
    return _verdict(None if runtime == COFLUX else case.cpu_ratio_to_baseline(runtime), case.cpu_rows.get(runtime))


def cpu_of_row(case: CaseResult, row: ResultRow) -> str:
    """The verdict on the CPU of a row, whether or not it is the one that speaks for its runtime's."""
    own = case.cpu_rows.get(COFLUX)
    compared = None if row["runtime"] == COFLUX else paired(row, own, "cpu_samples")
    return "" if compared is None else compared.text()


def _verdict(compared: Ratio | None, row: ResultRow | None) -> str:
    dress = PLAIN if row is None else row["dress"]
    return ", ".join([*([] if compared is None else [compared.text()]), *([] if dress == PLAIN else [dress])])


def cpu_figure(row: ResultRow | None) -> str:
    """The median of CPU an item, or that there was too little of it to be counted."""
    if row is None or row["status"] != "ok":
        return ""
    return "too little" if row["cpu_median"] is None else nanoseconds(row["cpu_median"])


def interval(row: ResultRow, prefix: str = "") -> str:
    """Two figures, and the coverage where it is not what is claimed for all: 9.90 to 10.1, or 9.90 to 10.1 (75 %)."""
    low, high, coverage = (row[prefix + name] for name in ("ci_low", "ci_high", "coverage"))
    if low is None:
        return "" if row[prefix + "median"] is None else "n = 1"
    return f"{nanoseconds(low)} to {nanoseconds(high)}" + ("" if coverage >= CONFIDENCE else f" ({100 * coverage:.0f} %)")


def figures(row: ResultRow) -> str:
    """The medians of what the adapter measured beside the time: p50 84.0 ns, requests 12."""
    return ", ".join(named_figure(name, each["median"]) for name, each in row.get("figures", {}).items())


def named_figure(name: str, value: float) -> str:
    return f"{name.removesuffix('_ns')} {nanoseconds(value)} ns" if name.endswith("_ns") else f"{name} {value:,g}"


def over_floor(case: CaseResult, runtime: str, name: str) -> str:
    """What a runtime adds to the floor's median or CPU of an item, and its multiple: +612, 1.58 x. Nothing for the
    floor itself."""
    row, floor = case.rows[runtime], case.floor
    if floor is None or row is floor or not floor[name] or row[name] is None:
        return ""
    added = row[name] - floor[name]
    return f"{'+' if added >= 0 else '-'}{nanoseconds(abs(added))}, {factor(row[name] / floor[name])}"


def matrix(cases: list[CaseResult], runtimes: list[str], width: int) -> str:
    """Cases by runtimes: the median, and below it the ratio to Coflux. As many tables as `width` columns ask for, each
    with Coflux."""
    tables = []
    others = [runtime for runtime in runtimes if runtime != COFLUX]
    while others or not tables:
        shown = len(others)
        while (table := _table(cases, [each for each in runtimes if each == COFLUX or each in others[:shown]])) and \
                shown > 1 and width_of(table) > width:
            shown -= 1
        tables.append(table)
        others = others[max(shown, 1):]
    return "\n\n".join(align(table, rule_after=0) for table in tables)


def _table(cases: list[CaseResult], runtimes: list[str]) -> list[list[str]]:
    lines = [["ns/item", *runtimes]]
    for case in cases:
        mark = " (loss)" if case.losses else ""
        lines.append([case.workload + mark, *(figure(case.rows.get(runtime)) for runtime in runtimes)])
        lines.append([f"  {case.short_label}", *(against_coflux(case, runtime) for runtime in runtimes)])
    return lines


def width_of(lines: list[list[str]]) -> int:
    return sum(_widths(lines)) + len(GAP) * (len(lines[0]) - 1)


def _widths(lines: list[list[str]]) -> list[int]:
    return [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]


def align(lines: list[list[str]], rule_after: int) -> str:
    """Columns as wide as their widest cell, the first to the left and the others to the right."""
    widths = _widths(lines)
    text = []
    for number, line in enumerate(lines):
        cells = [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))]
        text.append(GAP.join(cells).rstrip())
        if number == rule_after:
            text.append("-" * width_of(lines))
    return "\n".join(text)
