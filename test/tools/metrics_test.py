#!/usr/bin/python3
"""Reads what a program prints as its metrics with the parser of Prometheus, and compares it with the table of the docs."""

from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path

PROGRAM, PAGE = sys.argv[1], Path(sys.argv[2])
ROW = re.compile(r"^\| `(coflux_\w+)` \| (counter|gauge|histogram) \|(.*?)\| (.*?) \|$", re.MULTILINE)


def text() -> str:
    return subprocess.run([PROGRAM], stdout=subprocess.PIPE, timeout=300, check=True).stdout.decode()


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = text()

    def test_are_those_of_the_docs(self):
        """Name, type, labels and help of each."""
        printed = {}
        for name, value in re.findall(r"^# TYPE (\w+) (\w+)$", self.text, re.MULTILINE):
            help_text = re.search(rf"^# HELP {name} (.*)$", self.text, re.MULTILINE)[1]
            samples = re.findall(rf"^{name}(?:_total|_bucket|_sum|_count)?(?:\{{(.*)\}})? \S+$", self.text, re.MULTILINE)
            self.assertTrue(samples, name)
            labels = {label for sample in samples for label in re.findall(r'(\w+)="', sample)} - {"le"}
            printed[name] = (value, labels, help_text)
        documented = {name: (value, set(re.findall(r"`(\w+)`", labels)), help_text)
                      for name, value, labels, help_text in ROW.findall(PAGE.read_text(encoding="utf-8"))}
        self.assertEqual(documented, printed)

    def test_are_taken_by_the_parser_of_prometheus(self):
        try:
            from prometheus_client.openmetrics.parser import text_string_to_metric_families
        except ImportError:
            self.skipTest("there is no prometheus_client (Debian: python3-prometheus-client)")
        families = {family.name: family for family in text_string_to_metric_families(self.text)}
        self.assertEqual(sorted(families), re.findall(r"^# TYPE (\w+)", self.text, re.MULTILINE))
        self.assertEqual(families["coflux_worker_busy_seconds"].unit, "seconds")
        values = {(sample.labels["executor"], sample.labels["worker"]): sample.value
                  for sample in families["coflux_timers_armed"].samples if sample.labels}
        self.assertEqual(values["run_loop", "0"], 1)
        self.assertEqual(values["coflux-worker", "0"], 1)
        self.assertEqual(values['a "pool" \\ of\ntwo', "0"] + values['a "pool" \\ of\ntwo', "1"], 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
