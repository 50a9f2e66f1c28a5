#!/usr/bin/python3
"""Runs coflux-stream as its users do: on files of a job, of changed ones, and where the system ends it or refuses."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, JOB = sys.argv[1], sys.argv[2]
PATIENCE = 300  # seconds; more than any of it takes


def letter(value: str | bytes = "x", **other: object) -> str:
    """A line of a dead_letter_file."""
    all_of = {"job": "j", "stage": "region 1", "error": "no", "attempts": 1, "partition": "in", "next": 2, "time": None,
              "headers": [], "key": "", "value": value}
    all_of.update(other)
    return json.dumps(all_of) + "\n"


class Dlq(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name: str) -> Path:
        return Path(self.folder.name) / name

    def file(self, *lines: str) -> Path:
        self.path("dead").write_text("".join(lines), encoding="utf-8")
        return self.path("dead")

    def run_program(self, *arguments: object, program: str = PROGRAM, **options: object) -> subprocess.CompletedProcess:
        options.setdefault("stdout", subprocess.PIPE)
        return subprocess.run([program, *map(str, arguments)], stderr=subprocess.PIPE, timeout=PATIENCE, check=False, **options)

    def dlq(self, *arguments: object, status: int = 0, **options: object) -> tuple[str, str]:
        ran = self.run_program("dlq", *arguments, **options)
        self.assertEqual(ran.returncode, status, ran.stderr)
        return (ran.stdout or b"").decode(), ran.stderr.decode()

    # --- with a job

    def test_a_job_that_is_mended_reads_again_what_it_could_not_process(self):
        self.path("in").write_text("1\n0x10\n2\n0x20\n", encoding="utf-8")
        first = self.run_program(self.path("in"), self.path("out"), self.path("dead"), program=JOB)
        self.assertEqual((first.returncode, self.path("out").read_text()), (0, "2\n4\n"), first.stderr)
        out, _ = self.dlq("list", self.path("dead"))
        self.assertEqual([line.split("\t")[:6] for line in out.splitlines()[1:]],
                         [["1", str(self.path("in")), "7", "region 1", "1", "4"],
                          ["2", str(self.path("in")), "14", "region 1", "1", "4"]])
        _, told = self.dlq("replay", self.path("dead"), "--to", self.path("again"))
        self.assertEqual(told, f"coflux-stream: 2 letters of {self.path('dead')} replayed\n")
        self.assertEqual(self.path("again").read_text(), "0x10\n0x20\n")
        again = self.run_program(self.path("again"), self.path("out"), self.path("dead.2"), "mended", program=JOB)
        self.assertEqual((again.returncode, self.path("out").read_text()), (0, "2\n4\n32\n64\n"), again.stderr)

    # --- list and show

    def test_list_shows_the_letters_that_are_meant(self):
        dead = self.file(letter(), letter(stage="sink", error="full\tdisk", value_base64="/w=="), letter(partition="b"))
        out, _ = self.dlq("list", dead)
        self.assertEqual(out.splitlines()[0], "number\tpartition\tnext\tstage\tattempts\tbytes\terror")
        self.assertEqual(len(out.splitlines()), 4)
        self.assertIn("2\tin\t2\tsink\t1\t1\tfull\\tdisk\n", out)
        numbers = lambda *options: [line.split("\t")[0] for line in self.dlq("list", dead, *options)[0].splitlines()[1:]]
        self.assertEqual(numbers("--stage", "sink"), ["2"])
        self.assertEqual(numbers("--partition", "b"), ["3"])
        self.assertEqual(numbers("--error", "disk"), ["2"])
        self.assertEqual(numbers("--job", "k"), [])
        self.assertEqual(numbers("--number", 1, "--number", 3), ["1", "3"])
        self.assertEqual(numbers("--without", 1, "--error", "no"), ["3"])

    def test_show_has_all_of_a_letter_and_no_byte_that_a_terminal_would_obey(self):
        line = json.loads(letter(time=1_500_000_000_000_000_005, key="k", headers=[["trace", "7"], ["raw", {"base64": "/w=="}]]))
        del line["value"]
        line["value_base64"] = "YRv/XMOpwps="  # a, ESC, ff, \, é, the control 9b
        out, _ = self.dlq("show", self.file(letter(), json.dumps(line) + "\n"), 2)
        self.assertEqual(out, "job        j\nstage      region 1\nerror      no\nattempts   1\npartition  in\nnext       2\n"
                              "time       2017-07-14T02:40:00.000000005Z\nheader     trace: 7\nheader     raw: \\xff\n"
                              "key        k\nbytes      8\nvalue      a\\x1b\\xff\\\\é\\xc2\\x9b\n")
        raw = self.run_program("dlq", "show", self.path("dead"), 2, "--raw")
        self.assertEqual(raw.stdout, b"a\x1b\xff\\\xc3\xa9\xc2\x9b")

    def test_show_says_that_there_is_no_such_letter(self):
        _, told = self.dlq("show", self.file(letter()), 2, status=1)
        self.assertEqual(told, f"coflux-stream: {self.path('dead')} has 1 letter, and no 2\n")

    # --- replay

    def test_replay_writes_bytes_as_they_were(self):
        dead = self.file(letter("a"), letter("b\r"), letter(value_base64="/wD+"), letter("c", headers=[["h", "1"]]))
        lines = [json.loads(line) for line in dead.read_text().splitlines()]
        del lines[2]["value"]
        dead.write_text("".join(json.dumps(line) + "\n" for line in lines))
        ran = self.run_program("dlq", "replay", dead)
        self.assertEqual(ran.stdout, b"a\nb\r\r\n\xff\0\xfe\nc\n")
        self.assertEqual(ran.stderr.decode(),
                         f"coflux-stream: 4 letters of {dead} replayed; of 1 the key or headers, which lines do not have\n")

    def test_replay_leaves_out_what_was_there_before_if_it_is_told_so(self):
        dead = self.file(letter("a"), letter("a"), letter("b"), letter("a", next=9), letter("a", partition="other"))
        self.assertEqual(self.dlq("replay", dead)[0], "a\na\nb\na\na\n")
        out, told = self.dlq("replay", dead, "--once")
        self.assertEqual(out, "a\nb\na\na\n")
        self.assertIn("4 letters", told)
        self.assertIn("1 that were there before left out", told)

    def test_replay_writes_nothing_where_a_letter_cannot_be_a_line(self):
        dead = self.file(letter("a"), letter(""), letter("two\nlines"), letter('4,"never'))
        out, told = self.dlq("replay", dead, "--to", self.path("again"), status=1)
        self.assertIn(f"{dead}, line 2: it has no bytes", told)
        self.assertIn(f"{dead}, line 3: it has a line end", told)
        self.assertIn("nothing is replayed: 2 letters", told)
        self.assertFalse(self.path("again").exists() or out)
        _, told = self.dlq("replay", dead, "--quoted", "--with-empty", status=1)
        self.assertIn(f"{dead}, line 4: its quote never closes", told)
        self.assertEqual(self.dlq("replay", dead, "--quoted", "--with-empty", "--without", 4)[0], "a\n\ntwo\nlines\n")

    def test_a_torn_file_is_named_with_its_line(self):
        whole = letter("a") + letter("b")
        for size in range(len(letter("a")) + 1, len(whole) - 1):
            if size % 7:  # each start of a program takes some milliseconds
                continue
            self.file(whole[:size])
            out, told = self.dlq("replay", self.path("dead"), status=1)
            self.assertEqual(out, "")
            self.assertIn(f"{self.path('dead')}, line 2: it is no dead letter, or was cut off: ", told)
        self.assertEqual(self.dlq("replay", self.path("dead"), "--without", 2)[0], "a\n")
        out, told = self.dlq("list", self.path("dead"), status=1)
        self.assertEqual(len(out.splitlines()), 2)
        self.assertIn("line 2: it is no dead letter", told)
        _, told = self.dlq("show", self.path("dead"), 2, status=1)
        self.assertIn("line 2: it is no dead letter", told)

    def test_what_is_json_and_no_letter_is_told(self):
        for line in ("1", "{}", "[]", letter(next="x")[:-1], letter(headers=[1])[:-1], letter(headers=[["a", {"base64": "/"}]])[:-1]):
            _, told = self.dlq("replay", self.file(line + "\n"), status=1)
            self.assertIn("line 1: it is no dead letter, or was cut off: ", told)

    def test_a_replay_that_is_ended_has_made_no_file_and_can_be_run_again(self):
        dead = self.file(*(letter("x" * 1000, next=n) for n in range(4000)))
        again = self.path("again")
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))
        ended = self.run_program("dlq", "replay", dead, "--to", again, preexec_fn=limit)
        self.assertEqual(ended.returncode, -signal.SIGXFSZ)
        self.assertFalse(again.exists())
        # As an error of the system, in place of a signal.
        refused = self.run_program("dlq", "replay", dead, "--to", again, preexec_fn=limit, restore_signals=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("again.new", refused.stderr.decode())
        self.assertFalse(again.exists())
        self.dlq("replay", dead, "--to", again)
        self.assertEqual(again.read_text(), ("x" * 1000 + "\n") * 4000)
        self.assertFalse(self.path("again.new").exists())
        _, told = self.dlq("replay", dead, "--to", again, status=1)
        self.assertIn("again is there already", told)

    # --- what the system refuses, and wrong arguments

    def test_errors_of_the_system_are_told(self):
        _, told = self.dlq("list", self.path("none"), status=1)
        self.assertIn(str(self.path("none")), told)
        with open("/dev/full", "wb") as full:
            for command in (["list"], ["replay"]):
                _, told = self.dlq(*command, self.file(letter()), status=1, stdout=full)
                self.assertIn("standard output", told)
        _, told = self.dlq("replay", self.file(letter()), "--to", self.path("no/folder"), status=1)
        self.assertIn("no/folder.new", told)

    def test_wrong_arguments_are_refused_and_help_is_there(self):
        for wrong in ([], ["dlq"], ["dlq", "list"], ["dlq", "show", "x", "0"], ["dlq", "show", "x", "y"], ["dlq", "sweep"]):
            ran = self.run_program(*wrong)
            self.assertEqual(ran.returncode, 2, wrong)
            self.assertTrue(ran.stderr, wrong)
        for right in (["--help"], ["dlq", "--help"], ["dlq", "replay", "--help"], ["--version"]):
            self.assertEqual(self.run_program(*right).returncode, 0, right)
        self.assertIn(b"--quoted", self.run_program("dlq", "replay", "--help").stdout)


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C.UTF-8"
    unittest.main(argv=sys.argv[:1])
