from unittest import mock

from runner.catalog import all_workloads
from runner.cli import BAD_ARGUMENTS, NOTHING_TO_MEASURE
from runner.runtimes import RUNTIMES
from runner.suites import MOST_THREADS
from runner.tests.fakes import LabTest


class Arguments(LabTest):
    def assert_refused(self, *arguments: str, says: str) -> None:
        for call in (arguments, ("--check-args", *arguments)):
            done = self.lab(*call)
            self.assertEqual(done.status, BAD_ARGUMENTS, call)
            self.assertIn(says, done.stderr)
            self.assertEqual(self.calls(), [])

    def test_a_refusal_lists_what_is_allowed(self) -> None:
        for arguments in (("--suite", "tiny"), ("--workload", "fob"), ("--runtime", "erlang"), ("--size", "huge"),
                          ("--frobnicate",), ("stray",), ("--workload",)):
            self.assert_refused(*arguments, says="suites: smoke, quick, seed, full")
            self.assert_refused(*arguments, says="workloads: accept_churn, cachecalc, cachecalc_sharded")
            self.assert_refused(*arguments, says="runtimes: bare, std, coflux, asio, tbb, libfork, toomanycooks, moodycamel, "
                                                  "tokio, tokio_ct, rayon, folly, libevent, zeromq, go, seastar, timely, bytewax")

    def test_what_was_meant_is_told(self) -> None:
        self.assert_refused("--workload", "fib", "skynt", says="--workload: there is no 'skynt'; did you mean 'skynet'?")
        self.assert_refused("--runtime", "toki", says="--runtime: there is no 'toki'; did you mean 'tokio'?")
        self.assert_refused("--runtime", "erlang", says="invalid choice: 'erlang'")

    def test_an_abbreviated_option_is_refused(self) -> None:
        self.assert_refused("--rep", "3", says="unrecognized arguments")

    def test_numbers_start_at_one(self) -> None:
        for text in ("0", "-1", "two", "1.5"):
            self.assert_refused(f"--reps={text}", says="a whole number of at least 1")
            self.assert_refused(f"--threads={text}", says="a whole number of at least 1")

    def test_more_threads_than_cpus_are_refused(self) -> None:
        for text in ("3", "99"):
            self.assert_refused("--threads", text, says=f"--threads {text} is more than the 2 CPUs")

    def test_threads_beyond_the_cap_of_the_lab_are_refused_on_any_machine(self) -> None:
        with mock.patch("runner.execute.cpus_for", side_effect=lambda threads: list(range(min(threads, 4096)))):
            self.assert_refused("--threads", "2", str(MOST_THREADS + 1), says="--threads 1025 is more than 1024")

    def test_threads_beyond_the_cap_of_the_lab_are_planned_for_nobody(self) -> None:
        for workload in all_workloads().values():
            self.assertLessEqual(workload.THREADS or 1, MOST_THREADS)

    def test_retrying_needs_a_run(self) -> None:
        self.assert_refused("--retry-failed", says="--retry-failed needs --resume DIR")

    def test_a_workload_without_cases_in_the_suite_is_refused(self) -> None:
        self.assert_refused("--suite", "seed", "--workload", "fib", "pipeline",
                            says="the suite seed has no case of fib")

    def test_resume_needs_a_run_and_takes_no_other_choice(self) -> None:
        self.assert_refused("--resume", str(self.root), says="holds no run")
        self.assert_refused("--resume", str(self.root), "--reps", "3", says="allowed: --compare, --retry-failed")

    def test_a_damaged_state_is_refused(self) -> None:
        (self.root / "state.json").write_text("{", encoding="utf-8")
        self.assert_refused("--resume", str(self.root), says="is damaged")
        (self.root / "state.json").write_text('{"format": 99}', encoding="utf-8")
        self.assert_refused("--resume", str(self.root), says="start a new run")

    def test_compare_needs_results(self) -> None:
        self.assert_refused("--compare", str(self.root), says="has no results.json")

    def test_a_directory_with_a_run_is_not_overwritten(self) -> None:
        self.fake("coflux")
        self.measure("--runtime", "coflux", "--workload", "fib", "--reps", "1")
        before = len(self.calls())
        done = self.measure("--runtime", "coflux", "--workload", "fib", "--reps", "1")
        self.assertEqual(done.status, BAD_ARGUMENTS)
        self.assertIn("--resume", done.stderr)
        self.assertEqual(len(self.calls()), before)

    def test_good_arguments_are_checked_without_measuring(self) -> None:
        self.fake("coflux")
        done = self.lab("--check-args", "--suite", "smoke", "--out", str(self.out))
        of_suites = [name for name, each in RUNTIMES.items() if "kafka_job" not in each.only]
        self.assertEqual((done.status, done.stdout), (0, " ".join(of_suites) + "\n"))
        self.assertFalse(self.out.exists())

    def test_the_check_names_the_runtimes_that_a_run_needs(self) -> None:
        done = self.lab("--check-args", "--runtime", "go", "bare", "--out", str(self.out))
        self.assertEqual((done.status, done.stdout), (0, "bare go\n"))

    def test_help_and_list_measure_nothing(self) -> None:
        self.fake("coflux")
        for option, says in (("--help", "--retry-failed"), ("-h", "--resume DIR"), ("--list", "install libtbb-dev")):
            checked = self.lab("--check-args", option)
            self.assertEqual((checked.status, checked.stdout), (NOTHING_TO_MEASURE, ""))
            printed = self.lab(option)
            self.assertEqual(printed.status, 0)
            self.assertIn(says, printed.stdout)
        self.assertEqual(self.calls(), [])

    def test_list_names_every_case_and_what_is_built(self) -> None:
        self.fake("coflux")
        text = self.lab("--list").stdout
        for expected in ("resource=frame_pool, count=10000000", "n=39", "An item is one whole chain",
                         "coflux    built"):
            self.assertIn(expected, text)

    def test_options_choose_and_may_be_repeated(self) -> None:
        for name in ("coflux", "asio", "tbb"):
            self.fake(name)
        self.measure("--workload", "fib", "--workload", "skynet", "--runtime", "tbb", "coflux",
                     "--reps", "1", "--threads", "1")
        self.assertEqual([(row["workload"], row["runtime"], row["n"], row["threads"]) for row in self.rows()],
                         [(workload, runtime, 1, 1) for workload in ("fib", "skynet") for runtime in ("coflux", "tbb")])

    def test_each_number_of_threads_is_a_row_of_its_own_and_is_told(self) -> None:
        self.fake("coflux")
        self.measure("--workload", "fib", "call_overhead", "--runtime", "coflux", "--reps", "1", "--threads", "1", "2", "1")
        self.assertEqual([(row["workload"], row["threads"]) for row in self.rows()],
                         [("call_overhead", 1), ("fib", 1), ("fib", 2)])
        text = (self.out / "report.md").read_text(encoding="utf-8")
        self.assertIn("fib n=18 threads=2", text)
        self.assertNotIn("call_overhead calls=50k threads", text)
