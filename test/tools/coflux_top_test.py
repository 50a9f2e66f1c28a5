#!/usr/bin/python3
"""coflux-top on a program whose coroutines wait in known places: by its memory, by its inspector, and in a terminal of 80 x 24."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM, TOP = sys.argv[1], sys.argv[2]
TMUX = shutil.which("tmux")


class Top(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = subprocess.Popen([PROGRAM, "200"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.program.communicate)
        cls.url = cls.program.stdout.readline().strip()
        while "200 " not in cls.once(str(cls.program.pid)).stdout:
            time.sleep(0.05)

    @staticmethod
    def once(*arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, "-B", TOP, "--once", *arguments], capture_output=True, text=True, timeout=120, check=False)

    def test_by_memory_and_by_inspector_says_the_same(self):
        by_memory, by_inspector = self.once(str(self.program.pid)), self.once("--url", self.url)
        self.assertEqual((by_memory.returncode, by_memory.stderr), (0, ""))
        lines = by_memory.stdout.splitlines()
        self.assertEqual(lines[0].split(",")[0], f"coflux-top {self.program.pid}: 201 coroutines")
        self.assertRegex(lines[1], r"^ {6}200 +\d+K?B?  waits at inspected\.cpp:\d+: waits for a manual_reset_event$")
        self.assertRegex(lines[2], r"^ {8}1 +\d+B  makes at inspected\.cpp:\d+: awaits waits at ")
        self.assertEqual(by_inspector.stdout.splitlines()[1:], lines[1:])

    def test_says_what_it_cannot_do(self):
        for arguments, status, said in (
                (["999999999"], 1, "coflux-top: there is no process 999999999\n"),
                ([str(os.getpid())], 1, "coflux-top: the program has no coflux_debug_layout: it does not use Coflux, or has not begun\n"),
                (["--socket", "/no/such"], 1, "coflux-top: /no/such: [Errno 2] No such file or directory\n"),
                (["--url", "ftp://x"], 2, "--url is as http://127.0.0.1:9000, and not ftp://x\n"),
                ([str(self.program.pid), "--every", "0"], 2, "--every is between 0.1 and 3600 seconds, and not 0\n"),
                ([], 2, "one of the arguments PID --url --socket is required\n")):
            with self.subTest(arguments=arguments):
                done = self.once(*arguments)
                self.assertEqual((done.returncode, done.stdout), (status, ""))
                self.assertTrue(done.stderr.endswith(said), done.stderr)

    @unittest.skipIf(TMUX is None, "there is no tmux (Debian: tmux)")
    def test_in_a_terminal_goes_from_groups_to_members_to_a_chain_and_back(self):
        with tempfile.TemporaryDirectory() as folder:
            def tmux(*words: str) -> str:
                return subprocess.run([TMUX, "-f", "/dev/null", "-S", f"{folder}/tmux", *words], capture_output=True, text=True, timeout=60,
                                      check=True).stdout

            def shows(*wanted: str) -> list[str]:
                """The screen once it has all of that; the test's own limit ends a wait that is in vain."""
                while True:
                    screen = tmux("capture-pane", "-p", "-t", "top")
                    if all(text in screen for text in wanted):
                        lines = screen.splitlines()
                        self.assertTrue(all(len(line) <= 80 for line in lines))
                        self.assertLessEqual(len(lines), 24)
                        return lines
                    time.sleep(0.05)

            tmux("new-session", "-d", "-s", "top", "-x", "80", "-y", "24", sys.executable, "-B", TOP, str(self.program.pid), "--every", "0.5")
            self.addCleanup(subprocess.run, [TMUX, "-S", f"{folder}/tmux", "kill-server"], capture_output=True, check=False)
            lines = shows("201 coroutines", "q quit", "waits for a manual_reset_event")
            self.assertIn("(by count)", lines[2])
            tmux("send-keys", "-t", "top", "s")
            shows("(by bytes)")
            tmux("send-keys", "-t", "top", "/", "makes", "Enter")
            self.assertNotIn("manual_reset_event", "\n".join(shows("filter: makes")))
            tmux("send-keys", "-t", "top", "/", "Escape")
            shows("waits for a manual_reset_event")
            tmux("send-keys", "-t", "top", "Enter")
            shows("id  where: what it does", "more below", "0x")
            tmux("send-keys", "-t", "top", "Enter")
            shows("from it upwards", "waits at inspected.cpp", "makes at inspected.cpp")
            tmux("send-keys", "-t", "top", "BSpace")
            shows("id  where: what it does")
            tmux("send-keys", "-t", "top", "BSpace")
            shows("how many")
            tmux("send-keys", "-t", "top", "p")
            shows("paused")
            tmux("resize-window", "-t", "top", "-x", "30", "-y", "6")
            shows("coflux-top")
            tmux("send-keys", "-t", "top", "q")
            while subprocess.run([TMUX, "-S", f"{folder}/tmux", "has-session", "-t", "top"], capture_output=True, check=False).returncode == 0:
                time.sleep(0.05)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
