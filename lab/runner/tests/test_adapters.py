"""The adapters that are built, each asked for what it must refuse, and for what no run of all workloads asks. Those that are not
built are left out."""

import json
import os
import subprocess
import unittest

from runner.catalog import Params, all_workloads
from runner.paths import build_dir
from runner.runtimes import RUNTIMES, Runtime
from runner.suites import MOST_THREADS

BUILD = build_dir()
BUILT = [each for each in RUNTIMES.values() if each.unavailable(BUILD) is None]


@unittest.skipUnless(BUILT, f"no adapter is built in {BUILD}: scripts/lab does")
class Refuses(unittest.TestCase):
    def asked(self, runtime: Runtime, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([*runtime.command(BUILD, "run"), *arguments], capture_output=True, text=True, timeout=300, check=False)

    def supported(self, runtime: Runtime) -> tuple[str, list[str]]:
        """A workload that it has, and the parameters of that."""
        described = subprocess.run(runtime.command(BUILD, "describe"), capture_output=True, text=True, timeout=300, check=True)
        return next((name, each["params"]) for name, each in json.loads(described.stdout)["workloads"].items()
                    if each["supported"] and "workers" not in each["params"])

    def refuses(self, said: str, option: str, value: str) -> None:
        """Each adapter, asked right but for this `option`, with wrong usage, a sentence that has `said`, and no result."""
        for runtime in BUILT:
            with self.subTest(runtime=runtime.name):
                workload, parameters = self.supported(runtime)
                arguments = {"--workload": workload, "--params": json.dumps(dict.fromkeys(parameters, 1)), "--threads": "1", option: value}
                done = self.asked(runtime, *(word for pair in arguments.items() for word in pair))
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(said, done.stderr)

    def test_more_threads_than_the_cap(self) -> None:
        self.refuses(str(MOST_THREADS), "--threads", str(MOST_THREADS + 1))

    def test_no_thread_at_all(self) -> None:
        self.refuses("threads", "--threads", "0")

    def test_parameters_that_are_no_object(self) -> None:
        self.refuses("params", "--params", '{"count": 3')

    def test_a_workload_that_nobody_has(self) -> None:
        self.refuses("no_such_workload", "--workload", "no_such_workload")


class Answers(unittest.TestCase):
    READ = all_workloads()["nexmark_source"]

    def answers(self, params: Params) -> None:
        provided = self.READ.provide(params, BUILD)
        if isinstance(provided, str):
            self.skipTest(provided)
        for runtime in (each for each in BUILT if each.name in self.READ.RUNTIMES):
            with self.subTest(runtime=runtime.name, **params):
                done = subprocess.run([*runtime.command(BUILD, "run"), "--workload", self.READ.NAME, "--params", json.dumps(params),
                                       "--threads", "1"],
                                      capture_output=True, text=True, timeout=300, check=False, env=os.environ | provided)
                self.assertEqual(done.returncode, 0, done.stderr)
                said = json.loads(done.stdout)
                if "unsupported" not in said:
                    self.assertIsNone(self.READ.check(str(said["answer"]), params, 1))

    def test_nexmark_of_a_file(self) -> None:
        for params in self.READ.cases("smoke"):
            if params["source"] == "file":
                self.answers(params)

    def test_nexmark_of_a_topic(self) -> None:
        # The one that is right only where events come in their order.
        self.answers({"source": "kafka", "query": "q4", "events": self.READ.cases("smoke")[0]["events"]})


if __name__ == "__main__":
    unittest.main()
