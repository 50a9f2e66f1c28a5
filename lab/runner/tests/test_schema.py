import copy
import json
import unittest

import jsonschema

from runner.paths import SCHEMA
from runner.runtimes import RUNTIMES
from runner.tests.fakes import LabTest, result_row, results_of

VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


class Schema(LabTest):
    def test_the_schema_is_one(self) -> None:
        VALIDATOR.check_schema(VALIDATOR.schema)

    def test_real_output_of_every_status_is_valid(self) -> None:
        self.fake_probe(55.0, 330.0)
        self.fake("coflux")
        self.fake("asio", run="wrong")
        self.fake("std", run="crash")
        self.fake("bare", run="unsupported")
        self.fake("tokio", describe="crash")
        self.measure("--workload", "fib", "call_overhead", "--reps", "2")
        results = self.results()
        VALIDATOR.validate(results)
        self.assertEqual({row["status"] for row in results["rows"]},
                         {"ok", "wrong", "failed", "unsupported", "unavailable"})
        self.assertEqual(len(results["rows"]), 2 * len(RUNTIMES))

    def test_a_single_repetition_is_valid(self) -> None:
        self.fake("coflux")
        self.measure("--workload", "fib", "--runtime", "coflux", "--reps", "1")
        VALIDATOR.validate(self.results())


class Refusals(unittest.TestCase):
    def setUp(self) -> None:
        self.good = results_of(result_row("coflux", [1.0, 2.0, 3.0], 1.0, 3.0), result_row("asio", []))
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

    def test_an_ok_row_is_verified_and_has_its_figure(self) -> None:
        for fields in ({"median": None}, {"verified": False}, {"samples": []}, {"n": 0}, {"unit": "ms"},
                       {"status": "fine"}):
            broken = copy.deepcopy(self.good)
            broken["rows"][0].update(fields)
            self.assertFalse(VALIDATOR.is_valid(broken), fields)
