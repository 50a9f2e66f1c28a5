import json
import math
from dataclasses import replace
from unittest import mock

from runner import execute, results, suites
from runner.catalog import all_workloads
from runner.state import Repetition, Row, State
from runner.suites import SUITES, TIMEOUT_SECONDS, Case
from runner.tests.fakes import QUIET, LabTest

FIB = ("--workload", "fib")


class Measuring(LabTest):
    def test_a_run_of_right_answers_leaves_figures_and_status_0(self) -> None:
        self.fake("coflux", ns=10)
        self.fake("asio", ns=400)
        done = self.measure(*FIB, "--runtime", "coflux", "asio", "--reps", "3")
        self.assertEqual(done.status, 0, done.stderr)
        row = self.row("coflux")
        self.assertEqual((row["status"], row["verified"], row["n"], row["allocator"]), ("ok", True, 3, "fake malloc"))
        # The fake takes 1 % longer each time.
        self.assertAlmostEqual(row["median"], 10.1, places=2)
        self.assertEqual((row["passes"], row["cpu_median"]), ([1, 1, 1], None))
        self.assertEqual(row["items"], all_workloads()["fib"].items({"n": 18}, 2))
        self.assertIn("40.00 x", done.stdout)
        for name in ("results.json", "report.md", "report.html"):
            self.assertIn(name, done.stdout)
            self.assertTrue((self.out / name).is_file())

    def test_each_runtime_is_in_each_place_of_a_round_as_often(self) -> None:
        names = ["coflux", "asio", "tbb"]
        for name in names:
            self.fake(name)
        self.measure(*FIB, "--runtime", *names, "--reps", "6")
        turns = [call[0] for call in self.calls()]
        rounds = [turns[i:i + 3] for i in range(0, 18, 3)]
        for place in range(3):
            self.assertEqual(sorted(each[place] for each in rounds), sorted(names * 2))
        for each in rounds:
            self.assertEqual(sorted(each), sorted(names))

    def test_repetitions_go_in_turns_over_the_runtimes(self) -> None:
        for name in ("coflux", "asio", "tbb"):
            self.fake(name)
        self.measure("--workload", "fib", "skynet", "--runtime", "coflux", "asio", "tbb", "--reps", "2")
        turns = ["coflux", "asio", "tbb", "asio", "tbb", "coflux"]
        self.assertEqual([(call[1], call[0]) for call in self.calls()],
                         [("fib", name) for name in turns] + [("skynet", name) for name in turns])

    def test_a_thread_that_drives_the_workers_has_a_cpu_beside_theirs(self) -> None:
        with mock.patch("runner.execute.cpus_for", side_effect=lambda threads: list(range(threads))):
            for name, cpus in (("latency_under_load", [0, 1]), ("fib", [0])):
                self.assertEqual(execute.cpus_of(Case(name, {}, 1, 30.0), all_workloads()[name]), cpus)

    def test_what_a_workload_provides_is_in_the_environment_and_why_it_cannot_is_the_reason_of_its_rows(self) -> None:
        self.fake("coflux")
        kafka = all_workloads()["kafka_job"]
        run = ("--workload", "kafka_job", "--runtime", "coflux", "--reps", "2", "--size", "smoke")
        with mock.patch.object(kafka, "provide", return_value="there is no java"):
            self.measure(*run)
        self.assertEqual({(row["status"], row["reason"]) for row in self.rows()}, {("unsupported", "there is no java")})
        self.assertEqual(self.calls(), [])
        self.out = self.root / "another"
        self.fake("coflux", run="unsupported")  # a fake has no numpy, which the answer needs
        with mock.patch.object(kafka, "provide", return_value={"LAB_KAFKA_BROKER": "here:9"}), \
                mock.patch("runner.execute.call", wraps=execute.call) as call:
            self.measure(*run)
        self.assertEqual({each.args[3]["LAB_KAFKA_BROKER"] for each in call.call_args_list if len(each.args) > 3}, {"here:9"})

    def test_repetitions_last_until_the_cpu_of_the_thriftiest_can_be_counted(self) -> None:
        # 2 ms of CPU in 100 ms, so 20 take a second.
        self.fake("coflux", ms_a_pass=10, cpu_a_pass=5_000_000)
        self.fake("asio", ms_a_pass=10, cpu_a_pass=200_000)
        with mock.patch("runner.session.LEAST_CPU_NS", results.LEAST_CPU_NS):
            self.measure(*FIB, "--runtime", "coflux", "asio", "--reps", "6")
        row = self.row("asio")
        self.assertNotIn(None, row["cpu_samples"])
        self.assertGreaterEqual(min(row["passes"]), 100)
        # The others of the case are as long from then on, none is longer than the suite allows, and each round counts once.
        self.assertGreaterEqual(min(self.row("coflux")["passes"][1:]), 100)
        self.assertLessEqual(max(row["passes"]), SUITES["quick"].most_ms // 10)
        self.assertEqual([each["n"] for each in self.rows()], [6, 6])
        self.assertEqual(len(self.calls()), 6 + 6 + 2)

    def test_a_repetition_that_does_not_get_longer_is_made_again_once_and_leaves_the_others_as_they_are(self) -> None:
        self.fake("coflux", ms_a_pass=10, cpu_a_pass=5_000_000)
        self.fake("asio", cpu_a_pass=200_000)
        with mock.patch("runner.session.LEAST_CPU_NS", results.LEAST_CPU_NS):
            self.measure(*FIB, "--runtime", "coflux", "asio", "--reps", "3")
        self.assertEqual((self.row("asio")["n"], self.row("coflux")["passes"]), (3, [10] * 3))
        self.assertEqual(len(self.calls()), 3 + 3 + 1)

    def test_a_run_that_was_interrupted_goes_on_with_repetitions_of_the_same_length(self) -> None:
        self.fake("asio", ms_a_pass=10, cpu_a_pass=200_000)
        with mock.patch("runner.session.LEAST_CPU_NS", results.LEAST_CPU_NS):
            self.measure(*FIB, "--runtime", "asio", "--reps", "1")
        self.assertEqual(State.load(self.out).least_ms, {Case("fib", {"n": 18}, 2, 1.0).key: 1_300})

    def test_a_row_says_by_what_it_is_judged_as_the_run_was_planned(self) -> None:
        self.fake("coflux")
        self.measure("--workload", "fib", "idle_tasks", "--runtime", "coflux", "--reps", "1")
        self.assertEqual([(each["headline"]["figure"], each["headline"]["time_of"]) for each in self.rows()],
                         [("time", None), ("bytes_each", "a burst's, which spawn_join measures")])

    def test_a_run_says_what_it_has_less_than_its_suite(self) -> None:
        self.fake("coflux")
        self.measure("--workload", "fib", "--runtime", "coflux", "--reps", "1")
        self.assertEqual(self.results()["narrowed"], ["--workload", "--runtime", "--size", "--reps"])

    def test_two_names_of_one_executable_are_told_apart(self) -> None:
        self.fake("tokio")
        self.measure(*FIB, "--runtime", "tokio", "tokio_ct", "--reps", "1")
        self.assertEqual([call[0] for call in self.calls()], ["tokio", "tokio_ct"])

    def test_a_wrong_answer_never_becomes_a_number(self) -> None:
        self.fake("coflux")
        self.fake("asio", run="wrong", after=1)
        done = self.measure(*FIB, "--runtime", "coflux", "asio", "--reps", "3")
        self.assertEqual(done.status, 1)
        row = self.row("asio")
        self.assertEqual((row["status"], row["median"], row["samples"], row["verified"]), ("wrong", None, [], False))
        self.assertIn("repetition 2 of 3: the answer is 7, it must be 2584", row["reason"])
        self.assertIn("wrong: fib n=18, asio", done.stdout)
        for name in ("report.md", "report.html"):
            self.assertIn("the answer is 7, it must be 2584", (self.out / name).read_text(encoding="utf-8"))
        # What is decided is not run again.
        self.assertEqual([call[0] for call in self.calls()], ["coflux", "asio", "asio", "coflux", "coflux"])

    def test_what_an_adapter_measures_beside_the_time_is_kept_with_its_median(self) -> None:
        self.fake("coflux", says={"figures": {"p99_ns": 84_000, "share": 0.5}})
        self.fake("asio")
        self.measure(*FIB, "--runtime", "coflux", "asio", "--reps", "3")
        self.assertEqual(self.row("coflux")["figures"], {"p99_ns": {"median": 84_000, "samples": [84_000] * 3},
                                                         "share": {"median": 0.5, "samples": [0.5] * 3}})
        self.assertNotIn("figures", self.row("asio"))
        for name in ("report.md", "report.html"):
            self.assertIn("p99 84,000 ns, share 0.5", (self.out / name).read_text(encoding="utf-8"))

    def test_a_report_without_figures_beside_the_time_has_no_column_for_them(self) -> None:
        self.fake("coflux")
        self.measure(*FIB, "--runtime", "coflux", "--reps", "1")
        for name in ("report.md", "report.html"):
            self.assertNotIn("beside it", (self.out / name).read_text(encoding="utf-8"))

    def test_figures_beside_the_time_that_are_none_are_refused(self) -> None:
        case, fib = Case("fib", {"n": 18}, 2, 1.0), all_workloads()["fib"]
        said = {"answer": "2584", "wall_ns": 1, "cpu_ns": 1, "peak_rss_bytes": 1, "items_done": fib.items({"n": 18}, 2)}
        good = execute.judge(json.dumps(said | {"figures": {"p99": 1}}), case, fib)
        self.assertEqual(good.figures, {"p99": 1.0})
        for figures in ([], {"p99": "1"}, {"p99": True}, {"p99": -1}, {"P 99": 1}, {"p99": math.nan}, {"p99": None}):
            judged = execute.judge(json.dumps(said | {"figures": figures}), case, fib)
            self.assertIn("printed figures", judged.reason, figures)

    def test_work_left_out_is_wrong(self) -> None:
        self.fake("coflux", run="short")
        self.assertEqual(self.measure(*FIB, "--runtime", "coflux").status, 1)
        self.assertEqual(self.row("coflux")["status"], "wrong")

    def test_a_failure_keeps_its_words_and_the_others_go_on(self) -> None:
        self.fake("coflux")
        self.fake("asio", run="crash")
        self.fake("tbb", run="die")
        self.fake("std", run="babble")
        self.fake("bare", run="instant")
        done = self.measure(*FIB, "--runtime", "coflux", "asio", "tbb", "std", "bare", "--reps", "2")
        self.assertEqual(done.status, 1)
        reasons = {row["runtime"]: (row["status"], row["reason"]) for row in self.rows()}
        self.assertEqual(reasons["asio"], ("failed", "repetition 1 of 2: exit status 1: assertion x == y failed"))
        self.assertEqual(reasons["tbb"], ("failed", "repetition 1 of 2: killed by SIGSEGV, nothing on stderr"))
        self.assertIn("printed no JSON object: 'hello", reasons["std"][1])
        self.assertIn("wall_ns = 0", reasons["bare"][1])
        self.assertEqual(self.row("coflux")["n"], 2)

    def test_a_process_that_never_ends_is_a_timeout(self) -> None:
        self.fake("coflux", run="hang")
        with mock.patch.dict(TIMEOUT_SECONDS, smoke=0.5):
            done = self.measure(*FIB, "--runtime", "coflux", "--reps", "2")
        self.assertEqual(done.status, 1)
        self.assertEqual((self.row("coflux")["status"], self.row("coflux")["reason"]),
                         ("timeout", "repetition 1 of 2: not finished after 0.5 s"))
        # On a busy machine it has not begun when it is ended.
        self.assertLessEqual(len(self.calls()), 1)

    def test_what_a_runtime_cannot_do_is_no_failure(self) -> None:
        self.fake("coflux")
        self.fake("asio", lacking={"fib": "no inline fork"})
        self.fake("std", run="unsupported")
        done = self.measure(*FIB, "--runtime", "coflux", "asio", "std", "tbb", "--reps", "2")
        self.assertEqual(done.status, 0)
        statuses = {row["runtime"]: (row["status"], row["reason"]) for row in self.rows()}
        self.assertEqual(statuses["asio"], ("unsupported", "no inline fork"))
        self.assertEqual(statuses["std"], ("unsupported", "no such resource"))
        self.assertEqual(statuses["tbb"], ("unavailable", "install libtbb-dev"))
        # Told by `describe`, so never run; told by `run`, so run once.
        self.assertEqual([call[0] for call in self.calls()], ["std", "coflux", "coflux"])

    def test_a_rival_that_no_distribution_packages_says_how_to_get_it(self) -> None:
        self.fake("coflux")
        done = self.measure(*FIB, "--runtime", "coflux", "libfork", "toomanycooks", "--reps", "2")
        self.assertEqual(done.status, 0)
        for name, home in (("libfork", "github.com/ConorWilliams/libfork"), ("toomanycooks", "github.com/tzcnt/TooManyCooks")):
            row = self.row(name)
            self.assertEqual((row["status"], row["n"]), ("unavailable", 0))
            self.assertEqual(row["reason"], f"not packaged: install it from {home} to a prefix, "
                                            "and name that in the environment's CMAKE_PREFIX_PATH")
            self.assertIn(f"unavailable: {name}", done.stdout)

    def test_a_reason_left_by_the_build_replaces_the_remedy(self) -> None:
        (self.build / "unavailable").mkdir(parents=True)
        (self.build / "unavailable" / "lab_tokio").write_text("cargo 1.63 is older than 1.71\n", encoding="utf-8")
        self.measure(*FIB, "--runtime", "tokio")
        self.assertEqual(self.row("tokio")["reason"], "cargo 1.63 is older than 1.71")

    def test_a_runtime_that_cannot_describe_itself_has_failed(self) -> None:
        self.fake("coflux", describe="crash")
        self.assertEqual(self.measure(*FIB, "--runtime", "coflux").status, 1)
        self.assertEqual((self.row("coflux")["status"], self.row("coflux")["reason"]),
                         ("failed", "describe: exit status 1: no library"))

    def test_threads_reach_the_workloads_that_do_not_fix_them(self) -> None:
        self.fake("coflux")
        self.measure("--workload", "fork_pool", "call_overhead", "--runtime", "coflux", "--threads", "1", "--reps", "1")
        self.assertEqual({(call[1], call[3]) for call in self.calls()}, {("fork_pool", 1), ("call_overhead", 1)})

    def test_progress_is_one_line_a_repetition_with_what_is_left(self) -> None:
        self.fake("coflux")
        lines = self.measure(*FIB, "--runtime", "coflux", "--reps", "2").stdout.splitlines()
        self.assertEqual(lines[0], "[1/2] fib n=18 · coflux · 1/2: 10.0 ns/item")
        self.assertRegex(lines[1], r"^\[2/2, about \d+ s left\] fib n=18 · coflux · 2/2: 10\.1 ns/item$")


class Cpu(LabTest):
    def test_cpu_has_its_own_figure_interval_and_verdict(self) -> None:
        # 8 361 items at twice 10 ns of CPU need 600 passes for a tenth of a second of it.
        self.fake("coflux", passes=600)
        self.fake("asio", passes=600, ns=5)
        self.measure(*FIB, "--runtime", "coflux", "asio", "--reps", "9")
        row = self.row("coflux")
        self.assertAlmostEqual(row["cpu_median"], 20.8, places=2)
        self.assertLess(row["cpu_ci_low"], row["cpu_ci_high"])
        self.assertEqual((row["cpu_coverage"], row["passes"]), (row["coverage"], [600] * 9))
        self.assertAlmostEqual(row["timed_ms"], 8361 * 10 * 600 / 1e6)
        self.assertIn("By CPU an item", (self.out / "report.md").read_text(encoding="utf-8"))

    def test_below_20_ms_of_cpu_there_is_no_figure(self) -> None:
        for passes, told in ((119, None), (120, 20.0)):
            self.out = self.root / str(passes)
            self.calls_file.unlink(missing_ok=True)
            self.fake("coflux", passes=passes)
            self.measure(*FIB, "--runtime", "coflux", "--reps", "1")
            self.assertEqual(self.row("coflux")["cpu_median"], told)

    def test_an_adapter_is_told_how_long_to_measure_and_the_smoke_suite_asks_for_one_pass(self) -> None:
        seen = []
        call = execute.call

        def spy(command: list[str], *arguments: object) -> execute.Finished:
            if "--least-ms" in command:
                seen.append(command[command.index("--least-ms") + 1])
            return call(command, *arguments)

        self.fake("coflux")
        with mock.patch("runner.execute.call", spy):
            self.measure(*FIB, "--runtime", "coflux", "--reps", "1")
            self.out = self.root / "smoke"
            self.measure("--suite", "smoke", *FIB, "--runtime", "coflux", "--reps", "1")
        self.assertEqual(seen, ["100", "0"])

    def test_a_workload_may_ask_for_longer_and_not_in_a_short_suite(self) -> None:
        receiver = all_workloads()["partition_receiver"]
        parks, polls = ({"receiver": how, "gap_us": 100, "batches": 100, "yields": 0} for how in ("parks", "polls"))
        for suite, asked, told in (("seed", parks, 1_200), ("seed", polls, 100), ("smoke", parks, 0), ("quick", parks, 100)):
            self.assertEqual(suites.least_ms(suites.SUITES[suite], receiver, asked), told)


class Probing(LabTest):
    def test_the_probe_runs_before_each_repetition_of_two_threads(self) -> None:
        self.fake("coflux")
        self.fake_probe(55.0, 60.5, 58.0)
        self.measure(*FIB, "--runtime", "coflux", "--reps", "3", "--threads", "2")
        self.assertEqual(self.row("coflux")["line_round_trip_ns"], [55.0, 60.5, 58.0])
        self.assertIsNone(self.row("coflux")["reason"])

    def test_a_row_that_straddles_both_states_says_so(self) -> None:
        self.fake("coflux")
        self.fake_probe(55.0, 330.0)
        self.measure(*FIB, "--runtime", "coflux", "--reps", "2", "--threads", "2")
        self.assertIn("straddle both states", self.row("coflux")["reason"])
        self.assertIn("from 55 to 330 ns", (self.out / "report.md").read_text(encoding="utf-8"))

    def test_one_thread_is_not_probed(self) -> None:
        self.fake("coflux")
        self.fake_probe(55.0)
        self.measure(*FIB, "--runtime", "coflux", "--reps", "1", "--threads", "1")
        self.assertIsNone(self.row("coflux")["line_round_trip_ns"])

    def test_without_a_probe_the_row_has_its_figure(self) -> None:
        self.fake("coflux")
        self.measure(*FIB, "--runtime", "coflux", "--reps", "1", "--threads", "2")
        self.assertEqual((self.row("coflux")["status"], self.row("coflux")["line_round_trip_ns"]), ("ok", None))


class Speed(LabTest):
    def test_the_speed_of_the_cpus_is_measured_before_each_repetition(self) -> None:
        self.fake("coflux")
        self.fake_probe(speeds=(0.9, 1.0, 0.95))
        self.measure(*FIB, "--runtime", "coflux", "--reps", "3", "--threads", "1")
        loads = self.row("coflux")["loads"]
        self.assertEqual([each["multiply_ns"] for each in loads], [0.9, 1.0, 0.95])
        self.assertFalse(any(each["under_load"] for each in loads))
        self.assertIn("took 0.90 to 1.00 ns", (self.out / "report.md").read_text(encoding="utf-8"))

    def test_a_repetition_on_slow_cpus_is_under_load_and_made_again(self) -> None:
        self.fake("coflux")
        self.fake_probe(speeds=(0.9, 1.8, 0.91, 0.92, 0.93))
        self.measure(*FIB, "--runtime", "coflux", "--reps", "4", "--threads", "1")
        row = self.row("coflux")
        self.assertEqual([each["multiply_ns"] for each in row["loads"]], [0.9, 0.91, 0.92, 0.93])
        self.assertEqual(row["discarded"], 1)

    def test_a_run_on_cpus_that_stay_slow_says_so(self) -> None:
        self.fake("coflux")
        self.fake_probe(speeds=(0.9, *[1.8] * 20))
        self.measure(*FIB, "--runtime", "coflux", "--reps", "3", "--threads", "1")
        self.assertIn("2 of 3 repetitions were measured under load", (self.out / "report.md").read_text(encoding="utf-8"))

    def test_a_resumed_run_knows_how_fast_the_cpus_were(self) -> None:
        done = Repetition(1, 1, 1, "", None, 0.1, load=replace(QUIET, multiply_ns=0.9))
        state = State("quick", 2, {}, [Row(Case("fib", {"n": 2}, 1, 1.0), "coflux", [done])])
        self.assertEqual((state.fastest(1.8), state.fastest(None), state.fastest(0.8)), (0.9, 0.9, 0.8))


class Judging(LabTest):
    def judge(self, stdout: str) -> execute.Measured | execute.NoNumber:
        return execute.judge(stdout, Case("fib", {"n": 2}, 2, 1.0), all_workloads()["fib"])

    def test_a_whole_right_answer_is_measured(self) -> None:
        said = '{"answer":"1","wall_ns":5,"cpu_ns":0,"peak_rss_bytes":4096,"items_done":3,"allocator":"a"}'
        self.assertEqual(self.judge(said), execute.Measured(5, 0, 4096, "a", 1))

    def test_passes_multiply_the_items(self) -> None:
        said = '{"answer":"1","wall_ns":5,"cpu_ns":0,"peak_rss_bytes":4096,"items_done":%d,"passes":4}'
        self.assertEqual(self.judge(said % 12).passes, 4)
        self.assertEqual(self.judge(said % 3).status, "wrong")

    def test_a_pass_that_answers_otherwise_is_wrong(self) -> None:
        said = '{"answer":"1, then 7 in pass 3","wall_ns":5,"cpu_ns":0,"peak_rss_bytes":1,"items_done":12,"passes":4}'
        self.assertEqual(self.judge(said).status, "wrong")

    def test_another_malloc_than_asked_for_has_failed(self) -> None:
        said = '{"answer":"1","wall_ns":5,"cpu_ns":0,"peak_rss_bytes":1,"items_done":3,"malloc":"glibc"}'
        judged = execute.judge(said, Case("fib", {"n": 2}, 2, 1.0), all_workloads()["fib"], "tcmalloc")
        self.assertEqual(judged.status, "failed")
        self.assertIn("with the malloc of tcmalloc and ran with that of glibc", judged.reason)

    def test_anything_less_is_not(self) -> None:
        right = {"answer": '"1"', "wall_ns": "5", "cpu_ns": "0", "peak_rss_bytes": "4096", "items_done": "3"}
        cases = (("answer", "1.0", "wrong"), ("answer", "null", "wrong"), ("items_done", "2", "wrong"),
                 ("wall_ns", "0", "failed"), ("wall_ns", "true", "failed"), ("wall_ns", "1.5", "failed"),
                 ("cpu_ns", "-1", "failed"), ("peak_rss_bytes", '"4096"', "failed"),
                 ("passes", "0", "failed"), ("passes", "1.0", "failed"))
        for name, value, status in cases:
            fields = ",".join(f'"{key}":{each}' for key, each in (right | {name: value}).items())
            judged = self.judge(f"{{{fields}}}")
            self.assertIsInstance(judged, execute.NoNumber, (name, value))
            self.assertEqual(judged.status, status, (name, value))
        for text in ("", "[]", "nonsense", '{"answer":"1"}'):
            self.assertEqual(self.judge(text).status, "failed", text)
