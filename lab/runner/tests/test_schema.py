import copy
import json
import tempfile
import unittest
from dataclasses import asdict
from pathlib import Path

import jsonschema

from runner import results, schemas
from runner.paths import SCHEMA
from runner.runtimes import RUNTIMES
from runner.tests.fakes import BUSY, LabTest, result_row, results_of

VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


class Schema(LabTest):
    def test_the_schema_is_one(self) -> None:
        VALIDATOR.check_schema(VALIDATOR.schema)

    def test_real_output_of_every_status_is_valid(self) -> None:
        self.fake_probe(55.0, 330.0)
        self.fake("coflux", dresses={"fib": ["expert"]}, says={"figures": {"p99_ns": 12}})
        self.fake("asio", run="wrong")
        self.fake("std", run="crash")
        self.fake("bare", run="unsupported")
        self.fake("tokio", describe="crash")
        self.measure("--workload", "fib", "call_overhead", "--reps", "2")
        results = self.results()
        VALIDATOR.validate(results)
        self.assertEqual({row["status"] for row in results["rows"]},
                         {"ok", "wrong", "failed", "unsupported", "unavailable"})
        workloads = ("fib", "call_overhead")
        self.assertEqual(len(results["rows"]), 1 + sum(RUNTIMES[name].only == () or each in RUNTIMES[name].only
                                                       for name in RUNTIMES for each in workloads))
        self.assertGreater(results["seconds"], 0)

    def test_a_single_repetition_is_valid(self) -> None:
        self.fake("coflux")
        self.measure("--workload", "fib", "--runtime", "coflux", "--reps", "1")
        VALIDATOR.validate(self.results())


class Refusals(unittest.TestCase):
    def setUp(self) -> None:
        self.good = results_of(result_row("coflux", [1.0, 2.0, 3.0], loads=[asdict(BUSY), None, None]), result_row("asio", []))
        VALIDATOR.validate(self.good)

    def assert_invalid(self, **fields: object) -> None:
        for row in (0, 1):
            broken = copy.deepcopy(self.good)
            broken["rows"][row].update(fields)
            if not VALIDATOR.is_valid(broken):
                return
        self.fail(f"the schema allows {fields}")

    def test_fields_are_fixed(self) -> None:
        self.assert_invalid(extra=1)
        for name in self.good["rows"][0]:
            broken = copy.deepcopy(self.good)
            del broken["rows"][0][name]
            self.assertFalse(VALIDATOR.is_valid(broken), name)

    def test_a_row_without_a_right_answer_has_no_figure_and_a_reason(self) -> None:
        for fields in ({"median": 1.0}, {"samples": [1.0]}, {"verified": True}, {"reason": None}, {"n": 1}):
            broken = copy.deepcopy(self.good)
            broken["rows"][1].update(fields)
            self.assertFalse(VALIDATOR.is_valid(broken), fields)

    def test_figures_beside_the_time_are_numbers_with_a_median_and_only_of_a_right_row(self) -> None:
        whole = {"p99_ns": {"median": 1.0, "samples": [1.0]}}
        for place, figures, valid in ((0, whole, True), (1, whole, False), (0, {}, False), (0, {"P": whole["p99_ns"]}, False),
                                      (0, {"p99_ns": 1.0}, False), (0, {"p99_ns": {"median": 1.0, "samples": []}}, False)):
            changed = copy.deepcopy(self.good)
            changed["rows"][place]["figures"] = figures
            self.assertEqual(VALIDATOR.is_valid(changed), valid, (place, figures))

    def test_an_ok_row_is_verified_and_has_its_figure(self) -> None:
        for fields in ({"median": None}, {"verified": False}, {"samples": []}, {"n": 0}, {"unit": "ms"},
                       {"status": "fine"}):
            broken = copy.deepcopy(self.good)
            broken["rows"][0].update(fields)
            self.assertFalse(VALIDATOR.is_valid(broken), fields)


class Earlier(unittest.TestCase):
    """Files of versions before this one."""

    ROW = {"workload": "fib", "params": {"n": 18}, "runtime": "coflux", "version": "1", "compiler": "c", "flags": "f",
           "allocator": "a", "threads": 2, "status": "ok", "reason": None, "verified": True, "items": 1000, "unit": "ns/item",
           "median": 2.0, "mad": 1.0, "ci_low": 1.0, "ci_high": 3.0, "n": 3, "samples": [1.0, 2.0, 3.0],
           "cpu_ns_per_item": 4.0, "peak_rss_bytes": 1, "line_round_trip_ns": None}
    WITHOUT = {"status": "failed", "reason": "it broke", "verified": False, "median": None, "mad": None, "ci_low": None,
               "ci_high": None, "n": 0, "samples": [], "cpu_ns_per_item": None, "peak_rss_bytes": None}

    def load(self, data: object) -> dict:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / results.FILE).write_text(json.dumps(data), encoding="utf-8")
            return results.load(Path(folder))

    def test_schema_1_is_read_with_the_coverage_that_its_intervals_have(self) -> None:
        read = self.load({"schema": 1, "machine": results_of()["machine"], "rows": [self.ROW, self.ROW | self.WITHOUT]})
        VALIDATOR.validate(read)
        row = read["rows"][0]
        self.assertEqual((row["dress"], row["malloc"], row["coverage"], row["cpu_median"]), ("plain", "glibc", 0.75, None))
        self.assertIn("an earlier version", read["notes"][0])

    def test_what_is_not_known_is_refused_with_what_it_says(self) -> None:
        for data, says in (({"schema": 99}, "schema 99, of a later version of the lab"), ({"schema": "2"}, "it says '2'"),
                           ({}, "it says None"), ([], "it says None")):
            with self.assertRaisesRegex(results.ResultsError, says):
                self.load(data)

    def test_what_was_plain_and_no_page_teaches_is_an_expert_s(self) -> None:
        rows = [result_row("coflux", [1.0], workload="skynet"), result_row("asio", [1.0], workload="skynet"),
                result_row("coflux", [1.0], workload="fork_pool", params={"mode": "final"}),
                result_row("coflux", [1.0], workload="fork_pool", params={"mode": "final"}, dress="expert"),
                result_row("coflux", [1.0], workload="fork_pool", params={"mode": "immediate"}), result_row("coflux", [1.0])]
        def dresses(**fields: object) -> list[tuple[str, str, str]]:
            return [(row["workload"], row["runtime"], row["dress"]) for row in self.load(results_of(*rows) | fields)["rows"]]
        self.assertEqual(dresses(), [("skynet", "coflux", "expert"), ("skynet", "asio", "plain"), ("fork_pool", "coflux", "expert"),
                                     ("fork_pool", "coflux", "plain"), ("fib", "coflux", "plain")])
        self.assertEqual([dress for _, _, dress in dresses(narrowed=[])], ["plain", "plain", "plain", "expert", "plain", "plain"])

    def test_every_version_before_this_one_can_be_read(self) -> None:
        for version in range(1, results.SCHEMA_VERSION + 1):
            schemas.to_present({"schema": version, "rows": []}, results.SCHEMA_VERSION)
