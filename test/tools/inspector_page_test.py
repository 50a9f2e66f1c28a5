#!/usr/bin/python3
"""The page of the inspector in a browser, where there is one, and what it says of a million coroutines."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

PROGRAM = sys.argv[1]
CHROMIUM = shutil.which("chromium")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
         "--enable-logging=stderr", "--virtual-time-budget=3000")
SAID = re.compile(r"CONSOLE[^\n]*")


class Page(unittest.TestCase):
    def inspected(self, count: int) -> str:
        """A program with as many coroutines that wait; where it answers."""
        program = subprocess.Popen([PROGRAM, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(program.communicate)
        url = program.stdout.readline().strip()
        while f"{count} coroutines: waits for a manual_reset_event" not in self.get(url + "dump"):
            time.sleep(0.05)
        return url

    def get(self, url: str) -> str:
        with urllib.request.urlopen(url, timeout=120) as answer:
            return answer.read().decode()

    def test_shows_groups_and_workers_without_a_word_in_the_console(self):
        if CHROMIUM is None:
            self.skipTest("there is no Chromium (Debian: chromium)")
        url = self.inspected(30)
        for size in ("1200,900", "400,800"):
            with tempfile.TemporaryDirectory() as profile:
                done = subprocess.run([CHROMIUM, *FLAGS, f"--user-data-dir={profile}", f"--window-size={size}", "--dump-dom", url],
                                      capture_output=True, text=True, timeout=240, check=True)
            self.assertEqual(SAID.findall(done.stderr), [])
            groups = re.search(r'<tbody id="groups">(.*?)</tbody>', done.stdout, re.DOTALL)[1]
            self.assertIn('<td class="number">30</td>', groups)
            self.assertIn("waits for a manual_reset_event", groups)
            self.assertIn("in waits at", groups)
            workers = re.search(r'<tbody id="workers">(.*?)</tbody>', done.stdout, re.DOTALL)[1]
            self.assertEqual(workers.count("<tr>"), 2)
            self.assertIn("31 coroutines", re.search(r'<span id="count">(.*?)</span>', done.stdout)[1])
            self.assertRegex(done.stdout, r'<span id="problem" role="status"></span>')

    def test_of_a_million_coroutines_answers_and_says_what_it_leaves_out(self):
        url = self.inspected(1_000_000)
        tree = json.loads(self.get(url + "dump.json"))
        self.assertEqual(tree["count"], len(tree["coroutines"]) + tree["left_out"])
        self.assertGreater(tree["left_out"], 900_000)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
