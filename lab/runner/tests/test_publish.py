import json
import lzma
import re
import unittest
from pathlib import Path

from runner import axes, catalog, publish, published, results, seeds
from runner.paths import ROOT
from runner.tests.fakes import LabTest, near, result_row, results_of
from runner.verdicts import by_case

OVERVIEW = f"# Figures\n\nbefore\n\n{publish.FIGURES.begin}\nnothing yet\n{publish.FIGURES.end}\n\nafter\n"


def steps(**changed: float) -> list[dict[str, object]]:
    medians = {"rdtsc": 20.0, "clock": 19.0, "allocate": 11.0, "create_destroy": 12.7, "create_destroy_pooled": 3.1, "create_live": 7.25,
               "destroy_live": 6.75, "switch": 1.62} | changed
    return [near("bare", value, workload="coroutine_costs", threads=1, params=seeds._step(step).params) for step, value in medians.items()]


class Publishing(LabTest):
    def setUp(self) -> None:
        super().setUp()
        (self.root / "docs" / "bench").mkdir(parents=True)
        (self.root / publish.OVERVIEW).write_text(OVERVIEW, encoding="utf-8")
        for page, text in (("fib", "# fib\n\nA tree.\n"), ("coroutine_costs", "# coroutine_costs\n")):
            (self.root / "docs" / "bench" / f"{page}.md").write_text(text, encoding="utf-8")

    def kept(self, *rows: dict[str, object], suite: str = "full", name: str = "2026-01-01", **machine: object) -> Path:
        """A file of a complete run."""
        file = self.root / publish.STORE / f"{name}-{suite}.json.xz"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(results.compressed(results_of(*rows, **machine) | {"suite": suite, "narrowed": []}))
        return file

    def published(self, *rows: dict[str, object], suite: str = "full") -> set[str]:
        self.kept(*rows, suite=suite)
        return {str(path.relative_to(self.root)) for path in publish.publish(self.root)} - {publish.OVERVIEW, publish.PICTURE}

    def text(self, name: str) -> str:
        return (self.root / name).read_text(encoding="utf-8")

    def test_a_workload_s_page_has_its_figures_and_where_they_are_from(self) -> None:
        changed = self.published(near("coflux", 10.0), near("asio", 8.0), near("tbb", 30.0))
        self.assertEqual(changed, {"docs/bench/fib.md"})
        text = self.text("docs/bench/fib.md")
        self.assertTrue(text.startswith("# fib\n\nA tree.\n\n" + publish.FIGURES.begin))
        self.assertIn("| n=18 | 10.0 | **8.00 (0.80 x)** | 30.0 (2.98 x) |", text)
        self.assertIn("lab/results/2026-01-01-full.json.xz", text)

    def rows_of(self, *figures: tuple[float, float], **more: object) -> list[dict[str, object]]:
        """Coflux and Asio in a case each."""
        return [near(who, value, params={"n": number}, **more)
                for number, pair in enumerate(figures) for who, value in zip(("coflux", "asio"), pair)]

    def test_what_coflux_loses_stands_first_on_a_workload_s_page_and_the_others_keep_their_order(self) -> None:
        self.published(*self.rows_of((10.0, 30.0), (10.0, 9.0), (10.0, 20.0), (10.0, 4.0)))
        table = [line for line in self.text("docs/bench/fib.md").splitlines() if line.startswith("| n=")]
        self.assertEqual([line.split()[1] for line in table], ["n=1", "n=3", "n=0", "n=2"])

    def test_a_case_without_a_figure_of_coflux_stands_first_and_is_told(self) -> None:
        broken = [result_row("coflux", [], params={"n": 9}), near("asio", 50.0, params={"n": 9})]
        self.published(*self.rows_of((10.0, 9.0)), *broken)
        text = self.text("docs/bench/fib.md")
        self.assertLess(text.index("| n=9 |"), text.index("| n=0 |"))
        self.assertIn("Coflux has no figure in 1 of 2 cases.", text)

    def test_verdicts_stand_twice_and_coflux_s_other_dresses_beside_its_plain_one(self) -> None:
        beside = near("coflux", 5.0, dress="expert", params={"n": 1})
        self.published(*self.rows_of((10.0, 30.0), (10.0, 9.0)), beside,
                       near("coflux", 2.0, dress="epoll", params={"n": 0}, cpu_samples=[]))
        best, plain = self.text("docs/bench/fib.md").split("ns an item, plain against plain:")
        self.assertIn("| n=1 | 5.00 (expert) | 9.00 (1.79 x) |", best)
        self.assertIn("| case | coflux | coflux expert | coflux epoll | asio |", plain)
        self.assertIn("| n=1 | 10.0 | 5.00 (0.50 x) |  | **9.00 (0.90 x)** |", plain)
        self.assertIn("| n=0 | 10.0 |  | 2.00 (0.20 x) | 30.0 (2.99 x) |", plain)

    def test_a_page_says_by_which_figure_it_judges_and_why(self) -> None:
        self.published(near("coflux", 10.0), near("asio", 8.0))
        self.assertIn("The verdict is by time, ns an item: a tree of calls", self.text("docs/bench/fib.md"))

    def test_a_page_of_several_workloads_keeps_its_order(self) -> None:
        (self.root / "docs" / "bench" / "one_thread.md").write_text("# One thread\n", encoding="utf-8")
        self.published(*self.rows_of((10.0, 30.0), (10.0, 9.0), threads=1))
        text = self.text("docs/bench/one_thread.md")
        self.assertLess(text.index("| fib n=0 |"), text.index("| fib n=1 |"))
        self.assertNotIn("Ahead of Coflux", text)

    def ahead(self, *rows: dict[str, object]) -> str:
        return publish._ahead(by_case(list(rows))).replace("\n", " ")

    def test_each_rival_that_is_ahead_is_told_in_words(self) -> None:
        figures = {"figures": {"p99_ns": {"median": 5.0, "samples": [5.0] * 9}}}
        slow = {"figures": {"p99_ns": {"median": 9.0, "samples": [9.0] * 9}}}
        self.assertEqual(self.ahead(*self.rows_of((10.0, 4.0), (10.0, 7.0), (10.0, 20.0)),
                                    near("tbb", 8.0, params={"n": 1}), near("bare", 1.0, params={"n": 1})),
                         "Ahead of Coflux in time: asio 0.40 x to 0.70 x in 2 of 3 cases, tbb 0.79 x in 1 of 1 cases.")
        self.assertEqual(self.ahead(near("coflux", 10.0, cpu_samples=[8.0] * 9, **slow),
                                    near("asio", 20.0, cpu_samples=[4.0] * 9, **figures)),
                         "Ahead of Coflux in CPU: asio 0.50 x; in p99: asio 0.56 x.")

    def test_what_rests_on_one_request_in_a_thousand_is_told_without_a_verdict(self) -> None:
        def of(median: float) -> dict[str, object]:
            return {"figures": {"p999_ns": {"median": median, "samples": [median] * 9}}}
        self.published(near("coflux", 10.0, **of(9_000.0)), near("asio", 12.0, **of(3_000.0)),
                       near("bare", 9.0, **of(2_000.0)))
        text = self.text("docs/bench/fib.md")
        self.assertIn("p99.9, ns, which rests on one request in a thousand and is not judged:", text)
        self.assertIn("| 9,000 | 2,000 | 3,000 |", text)
        self.assertNotIn("in p99.9", text)

    def test_what_is_undecided_is_told_as_such(self) -> None:
        self.assertEqual(self.ahead(result_row("coflux", [8.0] * 9), result_row("asio", [1.0] * 6 + [400.0] * 3)),
                         "Ahead of Coflux in time: asio 0.12 x (undecided).")

    def test_that_nobody_is_ahead_is_told_where_there_is_somebody(self) -> None:
        self.assertEqual(self.ahead(*self.rows_of((10.0, 20.0))), "Nobody is ahead of Coflux here.")
        self.assertEqual(self.ahead(near("coflux", 10.0), near("bare", 1.0)), "")

    def test_the_same_file_changes_nothing_and_another_takes_its_place(self) -> None:
        self.published(near("coflux", 10.0), near("asio", 8.0))
        self.assertEqual(self.published(near("coflux", 10.0), near("asio", 8.0)), set())
        self.published(near("coflux", 77.0), near("asio", 8.0))
        text = self.text("docs/bench/fib.md")
        self.assertEqual((text.count(publish.FIGURES.begin), text.count(publish.FIGURES.end)), (1, 1))
        self.assertIn("77.0", text)
        self.assertNotIn("10.0", text)

    def test_a_run_with_rivals_from_outside_has_a_page_of_its_own_and_leaves_the_others(self) -> None:
        (self.root / "docs" / "bench" / "rivals.md").write_text("# Rivals\n", encoding="utf-8")
        rows = (near("coflux", 10.0), near("libfork", 8.0), near("coflux", 5.0, workload="yield", params={"tasks": 1}))
        self.assertEqual(self.published(*rows), {"docs/bench/rivals.md"})
        text = self.text("docs/bench/rivals.md")
        self.assertIn("| fib n=18 | 10.0 | **8.00 (0.80 x)** |", text)
        self.assertNotIn("yield", text)  # there is nothing to compare
        self.assertEqual(self.text("docs/bench/fib.md"), "# fib\n\nA tree.\n")

    def test_what_is_kept_of_a_run_with_rivals_takes_no_other_run_s_place(self) -> None:
        for rival, suite, name in (("tbb", "full", "full"), ("seastar", "quick", "rivals"), ("folly", "seed", "seed_rivals")):
            directory = self.root / f"run-{rival}"
            directory.mkdir()
            rows = results_of(near("coflux", 10.0), near(rival, 8.0), git_dirty=False) | {"suite": suite, "narrowed": []}
            (directory / "results.json").write_text(json.dumps(rows), encoding="utf-8")
            kept = publish.store(directory, self.root)
            self.assertEqual(kept.name, f"2026-01-01-{name}-a-cpu.json.xz")

    def test_a_run_on_one_thread_has_a_page_of_its_own_without_what_is_the_same_in_each_run(self) -> None:
        (self.root / "docs" / "bench" / "one_thread.md").write_text("# One thread\n", encoding="utf-8")
        fixed = {"workload": "fork_noop", "params": {"count": 10}}
        rows = [near(who, value, threads=1, **more) for who, value in (("coflux", 10.0), ("asio", 8.0)) for more in ({}, fixed)]
        self.assertEqual(self.published(*rows), {"docs/bench/one_thread.md"})
        text = self.text("docs/bench/one_thread.md")
        self.assertIn("| fib n=18 | 10.0 | **8.00 (0.80 x)** |", text)
        self.assertNotIn("fork_noop", text)

    def test_a_run_on_a_machine_of_one_cpu_is_no_axis(self) -> None:
        rows = [near(who, 10.0, threads=1) for who in ("coflux", "asio")]
        self.assertIsNone(axes.of_run(results_of(*rows, cores=1)))
        self.assertEqual(axes.of_run(results_of(*rows)), axes.ONE_THREAD)
        self.assertIsNone(axes.of_run(results_of(*rows, near("asio", 10.0))))

    def test_a_run_with_each_allocator_has_a_page_with_a_column_for_each(self) -> None:
        (self.root / "docs" / "bench" / "allocators.md").write_text("# Allocators\n", encoding="utf-8")
        other = {"malloc": "mimalloc", "recommended": False}
        rows = (near("coflux", 10.0), near("coflux", 9.0, **other), near("tokio", 20.0), near("tokio", 5.0, **other),
                near("tokio", 4.0, dress="expert", **other), near("go", 30.0), near("bare", 1.0), near("bare", 1.0, **other))
        self.assertEqual(self.published(*rows), {"docs/bench/allocators.md"})
        text = self.text("docs/bench/allocators.md")
        self.assertIn("| case | runtime | glibc | mimalloc |", text)
        self.assertIn("| fib n=18 | coflux | 10.0; recommended | **9.00 (0.90 x)** |", text)
        self.assertIn("| fib n=18 | tokio | 20.0 (2.00 x); recommended | **4.00 (0.40 x)** |", text)
        self.assertNotIn("| go |", text)  # it has one of its own
        self.assertIn("a contender is faster in 1 of 1 cases", text.replace("\n", " "))
        self.assertIn("furthest behind: fib (tokio 0.44 x).", text.replace("\n", " "))
        self.assertNotIn("| bare |", text)

    def test_the_best_allocator_of_each_decides_who_is_ahead_with_it(self) -> None:
        other = {"malloc": "mimalloc", "recommended": False}
        def told(*rows: dict[str, object]) -> str | None:
            return axes.each_with_its_best(by_case(list(rows)))
        slow = (near("coflux", 10.0), near("coflux", 5.0, **other), near("coflux", 1.0, dress="expert"))
        asio = near("asio", 8.0)
        self.assertIn("Coflux is the fastest in 1, and 0 are undecided.", told(*slow, asio, near("asio", 7.0, **other)))
        self.assertIn("faster in 1 of 1 cases",
                      told(*slow, asio, near("asio", 0.8, **other), near("tbb", 0.9, **other)))
        self.assertIn("behind: fib (go 0.40 x).", told(*slow, near("go", 0.4), near("asio", 0.6)))
        self.assertIsNone(told(*slow, near("bare", 1.0)))

    def whole(self) -> list[dict[str, object]]:
        """Rows of a dozen workloads; Coflux loses one case of one of them."""
        rows = []
        for name in ("accept_churn", "call_overhead", "channel_mpmc", "channel_spsc", "fib", "matmul", "nqueens", "pipeline",
                     "skynet", "spawn_join", "unbalanced", "yield"):
            (small, large) = ({"count": 10}, {"count": 1000})
            rows += [near(who, value, workload=name, params=params, items=params["count"], cpu_samples=[value] * 9)
                     for params, rival in ((small, 8.0 if name == "call_overhead" else 20.0), (large, 30.0))
                     for who, value in (("coflux", 10.0), ("asio", rival))]
        return rows

    def test_a_run_has_a_table_and_a_picture_losses_first(self) -> None:
        self.published(*self.whole())
        text = self.text(publish.OVERVIEW)
        self.assertTrue(text.startswith("# Figures\n\nbefore\n\n") and text.endswith("\n\nafter\n"))
        lines = [line for line in text.splitlines() if line.startswith("| ")]
        self.assertEqual(lines[0], "| row | coflux | best rival | second best | plain |")
        self.assertEqual(lines[2], "| [call_overhead](call_overhead.md) 10 | 10.0 | **asio 8.00 (0.80 x)** |  | **asio 8.00 (0.80 x)** |")
        self.assertEqual(len(lines), 2 + 12)
        self.assertNotIn("nothing yet", text)
        # The table has the worst case of each, the sentence has all.
        told = "a contender is ahead in 1 of the 24 cases that Coflux shares with one, Coflux is first in 23, and 0 are undecided."
        self.assertEqual(" ".join(text.split()).count(told), 3)
        picture = self.text(publish.PICTURE)
        self.assertIn("<svg", picture)
        # One case of each workload: the table beside it has their numbers.
        self.assertIn(">call_overhead<", picture)
        # A column of text is some 830 pixels wide; a picture shrunk by more than a tenth has words too small to read.
        self.assertLess(float(re.search(r'width="([0-9.]+)pt"', picture)[1]) * 96 / 72, 920)

    def test_the_readme_has_the_counts(self) -> None:
        (self.root / publish.FRONT).write_text(f"# Us\n\n{publish.STANDING.begin}\n{publish.STANDING.end}\n\nmore\n", encoding="utf-8")
        self.published(*self.whole())
        self.assertIn("best dress against best dress, a contender is ahead in 1 of the 24 cases", " ".join(self.text(publish.FRONT).split()))

    def test_no_decided_loss_is_absent_from_the_page_of_losses(self) -> None:
        (self.root / publish.LOSSES).write_text("# Losses\n", encoding="utf-8")
        def row(who: str, ns: float, cpu: float, p50: float, p99: float, **fields: object) -> dict[str, object]:
            figures = {name: {"median": value, "samples": [value] * 9} for name, value in (("p50_ns", p50), ("p99_ns", p99))}
            return near(who, ns, cpu_samples=[cpu] * 9, figures=figures, **fields)
        # A third rival is ahead, behind two that are lower and undecided; another in one figure alone; and one in plain alone.
        many = {"workload": "echo_many", "params": {"connections": 10, "mode": "closed"}}
        low = result_row("asio", [1.0] * 7 + [90.0] * 2, **many), result_row("go", [2.0] * 7 + [90.0] * 2, **many)
        self.published(row("coflux", 10.0, 9.0, 9.0, 9.0, **many), *low, row("libevent", 9.1, 20.0, 6.0, 12.0, **many),
                       row("tokio", 30.0, 8.0, 20.0, 5.0, **many),
                       near("coflux", 10.0), near("coflux", 4.0, dress="expert"), near("tbb", 6.0))
        text = self.text(publish.LOSSES)
        for figure, said in (("**time, ns an item**", "libevent 9.10 (0.91 x)"), ("CPU, ns an item", "tokio 8.00 (0.89 x)"),
                             ("p50, ns", "libevent 6.00 (0.67 x)"), ("p99, ns", "tokio 5.00 (0.56 x)")):
            self.assertRegex(text, rf"\| \[echo_many\].*: {re.escape(figure)} \| .*{re.escape(said)}")
        self.assertIn("| [fib](fib.md) n=18: **time, ns an item** | plain 10.0: tbb 6.00 (0.60 x) |", text)
        self.assertNotIn("asio 1.00", text)
        # The table of all workloads shows the loss that is decided, too.
        line = next(line for line in self.text(publish.OVERVIEW).splitlines() if line.startswith("| [echo_many]"))
        self.assertIn("| **libevent 9.10 (0.91 x)** | asio 1.00 (0.10 x, undecided", line)

    def test_the_overview_names_the_two_best_rivals(self) -> None:
        values = {"coflux": 10.0, "bare": 1.0, "moodycamel": 5.0, "tokio": 8.0, "tbb": 10.0, "zeromq": 90.0, "asio": 20.0}
        self.published(*(result_row(who, [value] * 9, dress="expert" if who == "tokio" else "plain") for who, value in values.items()))
        self.assertIn("| [fib](fib.md) n=18 | 10.0 | **moodycamel 5.00 (0.50 x)** | **tokio 8.00 (0.80 x, expert)** | "
                      "**moodycamel 5.00 (0.50 x)** |", self.text(publish.OVERVIEW))

    def test_the_page_of_the_seeds_answers_with_the_figures_of_the_floor(self) -> None:
        self.published(*steps(), suite="seed")
        text = self.text("docs/bench/seed.md")
        for said in ("| creation | 17.9 / 17.9 | 7.25 |", "| destruction | 31.4 / 33.9 | 6.75 |", "switch\n  alone is 1.62 ns here"):
            self.assertIn(said, text)

    def test_without_its_steps_there_is_no_answer(self) -> None:
        rows = [row for row in steps() if row["params"]["step"] != "rdtsc"]
        self.published(*rows, suite="seed")
        self.assertNotIn("asked of coroutines", self.text("docs/bench/seed.md"))

    def test_the_page_of_the_seeds_has_what_was_published_beside_coflux_and_the_best_of_the_others(self) -> None:
        term = seeds._noop("fresh", 100_000)
        self.published(*(near(who, value, workload=term.workload, params=term.params, threads=1)
                         for who, value in (("coflux", 30.0), ("asio", 60.0), ("tokio", 20.0), ("bare", 25.0))), suite="seed")
        text = self.text("docs/bench/seed.md")
        self.assertIn("## 000: Coflux performance validation\n\n", text)
        self.assertIn(" ".join(seeds.CREATION.why.split()), " ".join(text.split()))
        self.assertIn("| BM_Pmr_ForkCreation/100000 | 97.6 ns | 30 ns | **20 ns (tokio)** | 25 ns (bare) |", text)
        # Not in the run, and not asked of it.
        self.assertIn("| BM_Pmr_ForkCreation/500000 | 121.6 ns |  |  |  |", text)
        self.assertNotIn("Derived", text)

    def test_a_run_of_another_suite_leaves_the_pages_of_the_seeds_as_they_are(self) -> None:
        self.published(near("coflux", 10.0), *steps(), suite="seed")
        seed = self.text("docs/bench/seed.md")
        self.published(near("coflux", 77.0), *steps(switch=9.87))
        self.assertEqual(self.text("docs/bench/seed.md"), seed)

    def test_a_run_of_the_seeds_leaves_the_other_pages_as_they_are(self) -> None:
        rows = [near("coflux", 10.0, workload=name) for name in catalog.all_workloads()]
        self.assertEqual(self.published(near("coflux", 10.0), *rows, suite="seed"), {"docs/bench/seed.md"})

    def test_a_run_of_the_seeds_with_rivals_from_outside_has_a_page_of_its_own(self) -> None:
        hashed = {"workload": "cachecalc_variants", "params": seeds._variant("seastar_hash", 8).params}
        rows = [near(who, value, **hashed) for who, value in (("bare", 1_300.0), ("seastar", 1_255.0))]
        self.assertEqual(self.published(near("coflux", 10.0), *rows, *steps(), suite="seed"), {"docs/bench/seed_rivals.md"})
        told = next(line for line in self.text("docs/bench/seed_rivals.md").splitlines() if line.startswith("| BM_SeastarHash/8 | cachecalc_variants seastar_hash rounds=100 tasks=1k wait_us=8 | 1.25 ms |"))
        self.assertRegex(told, r"\| 1\.3 ms \(.*\| 1\.25 ms \(1\.25 ms to 1\.26 ms\) \|$")

    def run_of(self, *rows: dict[str, object], name: str = "run", suite: str = "full", machine: dict[str, object] = {},
               **fields: object) -> Path:
        """The directory of a run that may be published, but for what the arguments say."""
        run = self.root / name
        run.mkdir(exist_ok=True)
        measured = results_of(*(rows or (near("coflux", 10.0), near("asio", 8.0))), **{"git_dirty": False} | machine)
        (run / "results.json").write_text(json.dumps(measured | {"suite": suite, "narrowed": []} | fields), encoding="utf-8")
        return run

    def test_a_run_is_kept_and_what_holds_none_is_refused(self) -> None:
        run = self.run_of()
        kept = publish.store(run, self.root)
        self.assertEqual(kept, self.root / publish.STORE / "2026-01-01-full-a-cpu.json.xz")
        self.assertEqual(results.load(kept), results.load(run))
        self.assertEqual(publish.store(kept, self.root), kept)
        for wrong in (self.root / "nowhere", run / "results.json"):
            with self.assertRaises(publish.PublishError):
                publish.store(wrong, self.root)
        whole = kept.read_bytes()
        for broken in (b"{", b"", whole[:-1]):
            kept.write_bytes(broken)
            with self.assertRaisesRegex(publish.PublishError, "is damaged"):
                publish.publish(self.root)

    def test_a_dirty_tree_a_busy_machine_and_a_part_of_a_run_are_refused(self) -> None:
        quiet = results_of()["busy"]
        gone = result_row("go", [], status="unavailable", reason="install golang-go")
        few = [near("coflux", 10.0, n=5)]
        for says, run in (("uncommitted changes", self.run_of(machine={"git_dirty": True})),
                          ("of no commit", self.run_of(machine={"git_dirty": None}, name="a")),
                          ("machine was busy", self.run_of(busy=quiet | {"at_start": "load 9"}, name="b")),
                          ("machine was busy", self.run_of(busy=quiet | {"repetitions": 9, "under_load": 2}, name="c")),
                          ("narrowed by --workload, --reps", self.run_of(narrowed=["--workload", "--reps"], name="d")),
                          ("narrowed by --runtime", self.run_of(narrowed=["--runtime"], name="e")),
                          ("of the suite quick", self.run_of(suite="quick", name="f")),
                          (r"no row of go \(install golang-go\)", self.run_of(near("coflux", 10.0), gone, name="g")),
                          ("too few repetitions", self.run_of(*few, name="h")),
                          ("it has 1 workloads", self.run_of(narrowed=None, name="i"))):
            with self.assertRaisesRegex(publish.PublishError, says):
                publish.store(run, self.root)
        self.assertFalse((self.root / publish.STORE).exists())
        # Rivals from outside are measured without the others.
        outside = self.run_of(near("coflux", 10.0), near("folly", 8.0), name="j", suite="quick", narrowed=["--runtime"])
        self.assertEqual(publish.store(outside, self.root).name, "2026-01-01-rivals-a-cpu.json.xz")

    def test_the_newest_complete_run_of_each_machine_is_published_all_of_it(self) -> None:
        def kept(name: str, value: float, cpu: str, narrowed: list[str] | None = None, **fields: object) -> None:
            file = self.kept(near("coflux", value, **fields), near("asio", 20.0, **fields), name=name, cpu_model=cpu,
                             date_utc=f"{name[:10]}T00:00:00Z")
            if narrowed:
                file.write_bytes(results.compressed(results.load(file) | {"narrowed": narrowed}))
        kept("2026-01-01", 11.0, "X")
        kept("2026-01-02", 12.0, "X")
        kept("2026-01-03", 13.0, "X", narrowed=["--workload"])
        kept("2026-01-02-b", 14.0, "Y")
        kept("2026-01-01-b", 15.0, "Y", cpu_samples=[5.0] * 9)
        publish.publish(self.root)
        text = self.text("docs/bench/fib.md")
        table = [line for line in text.splitlines() if line.startswith(("| n=", "| case"))]
        self.assertEqual([line.split(" |")[:3] for line in table],
                         [["| case", " machine", " coflux"], ["| n=18", " X", " 12.0"], ["| n=18", " Y", " 14.0"]])
        # No row, and no figure, is of another run.
        self.assertNotIn("CPU of the whole process", text)
        self.assertEqual(re.findall(r"results/([\w.-]+)-full", text), ["2026-01-02", "2026-01-02-b"])
        overview = self.text(publish.OVERVIEW)
        self.assertIn("| row | X: coflux | X: best rival | X: second best | X: plain | Y: coflux |", overview)
        self.assertRegex(overview, r"\| \[fib\]\(fib.md\) n=18 \| 12\.0 \| asio 20\.0 .* \| 14\.0 \| asio 20\.0")

    def test_two_families_of_one_name_are_two_machines(self) -> None:
        for family, value in (("25", 10.0), ("26", 12.0)):
            self.kept(near("coflux", value), near("asio", 20.0), name=f"2026-01-01-{family}", cpu_family=family, cpu_model_number="17")
        publish.publish(self.root)
        self.assertIn("| n=18 | a CPU, family 26 model 17 | 12.0 |", self.text("docs/bench/fib.md"))

    def test_a_kept_file_is_json_in_xz_and_the_same_bytes_each_time(self) -> None:
        kept = self.kept(near("coflux", 10.0)).read_bytes()
        self.assertEqual(results.compressed(json.loads(lzma.decompress(kept, lzma.FORMAT_XZ))), kept)

    def test_the_command_line_refuses_what_holds_no_results(self) -> None:
        done = self.lab("--publish", str(self.root / "nowhere"))
        self.assertEqual(done.status, 2)
        self.assertIn("holds no results", done.stderr)
        self.assertEqual(self.lab("--check-args", "--publish", "anything").status, 3)


class InTheTree(unittest.TestCase):
    def test_the_pages_are_those_of_the_runs_that_the_rule_chooses(self) -> None:
        """A page that was changed by hand, a generator that was changed since, and a page of another run are found."""
        for path, text in publish.pages(published.chosen(ROOT), ROOT):
            if path.suffix == ".md":
                self.assertEqual(path.read_text(encoding="utf-8"), text, path.name)

    def test_a_page_mixes_no_runs_of_one_machine(self) -> None:
        for page in (ROOT / "docs" / "bench").glob("*.md"):
            machines = re.findall(r"^\d{4}-\d\d-\d\d, (.*?), \d+ CPUs", page.read_text(encoding="utf-8"), re.MULTILINE)
            self.assertEqual(len(machines), len(set(machines)), page.name)

    def test_each_file_is_named_by_a_page_and_each_that_is_named_is_there(self) -> None:
        text = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
        named = set(re.findall(rf"{publish.STORE}/([\w.-]*\w)", text))
        self.assertEqual(named, {file.name for file in (ROOT / publish.STORE).iterdir()})


if __name__ == "__main__":
    unittest.main()
