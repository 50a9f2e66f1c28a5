#!/usr/bin/python3
"""Each script answers --help, and refuses wrong arguments, before it installs, configures or builds anything."""

from __future__ import annotations

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import tree

# What installs, configures, builds or measures. In these tests each of them only says that it was called.
SET_UP = ("apt-get", "dpkg-query", "sudo", "cmake", "ctest", "ninja", "make", "cargo", "valgrind", "gcovr", "g++", "clang++-19",
          "pkg-config", "flock", "debootstrap", "unshare", "java", "mvn")

SCRIPTS = sorted(path for path in (tree.ROOT / "scripts").iterdir() if os.access(path, os.X_OK) and path.is_file()) + \
    [tree.ROOT / ".ci/run", tree.ROOT / "test/package/run"]

# Arguments that are wrong, and what the script must say of them.
WRONG = {
    "scripts/coverage": [(["stray"], "stray"), (["--report"], "--report needs a value")],
    "scripts/fuzz": [(["--seconds", "x"], "'x' is no number"), (["--target", "foo"], "foo_fuzz.cpp"), (["--target"], "needs a value")],
    "scripts/instructions": [(["--preset", "clang-asan"], "clang-asan"), (["--functions", "foo"], "no step 'foo'"),
                             (["--out"], "needs a value")],
    "scripts/kafka": [([], "COMMAND"), (["stray"], "stray"), (["topic"], "takes a name"), (["start", "a"], "start takes no name, and has 'a'"),
                      (["topic", "a b"], "'a b' is no name of a topic"), (["topic", "a", "0"], "'0' is no number of partitions"),
                      (["start", "--port", "70000"], "'70000' is no port"), (["stop", "--port", "1"], "--port is for start"),
                      (["topic", "a", "--config", "x"], "'x' is no KEY=VALUE"), (["stop", "--config", "a=b"], "--config is for topic"),
                      (["start", "--data"], "expected one argument")],
    "scripts/lab": [(["--threads", "9999"], "--threads 9999"), (["--suite", "foo"], "suites: smoke"), (["--reps", "0"], "at least 1"),
                    (["--workload", "foo"], "workloads: "), (["--compare", "/none"], "no results.json")],
    "scripts/check": [(["no-such-commit"], "no commit 'no-such-commit'"), (["HEAD", "HEAD"], "takes one commit")],
    "scripts/ladder": [(["stray"], "stray"), (["--from", "foo"], "unknown step 'foo'"), (["--from"], "needs a value")],
    "scripts/matrix": [(["stray"], "unknown row 'stray'"), (["--inside", "x"], "invalid choice: 'x'")],
    "scripts/mutate": [(["stray"], "stray"), (["--sample", "x"], "--sample")],
    "scripts/new": [([], "takes one FOLDER"), (["a", "b"], "takes one FOLDER"), (["a-b"], "'a-b' is no name"),
                    (["coflux"], "'coflux' is no name")],
    "scripts/root": [([], "takes one suite"), (["stray"], "unknown suite 'stray'"), (["trixie", "sid"], "takes one suite"),
                     (["trixie", "--"], "no command"), (["--path", "trixie", "--", "true"], "with a suite alone")],
    "scripts/setup": [(["stray"], "stray"), (["--lab", "--gcc"], "exclude each other")],
    "scripts/simulate": [([], "one build folder"), (["/none"], "is not built"), (["--seeds", "x", "/none"], "no number"),
                         (["--seed"], "needs a value")],
    "scripts/soak": [(["stray"], "stray"), (["--preset", "foo"], "unknown preset 'foo'"), (["--minutes", "x"], "no number"),
                     (["--job", "foo"], "no job 'foo'"), (["--job"], "needs a value"),
                     (["--stream", "--list"], "--list and --stream exclude each other")],
    "scripts/test": [(["--label", "foo"], "unknown label 'foo'"), (["--preset", "foo"], "unknown preset 'foo'"),
                     (["--label", "unit", "--label", "soaks"], "unknown label 'soaks'"), (["--report"], "needs a value"),
                     (["--tree", "x"], "with one preset"), (["--preset", "dev", "--tree", "a/b"], "is no name"),
                     (["-D", "X"], "no VARIABLE=VALUE"), (["stray"], "stray")],
    "scripts/under_load": [(["stray"], "stray"), (["--preset", "foo"], "unknown preset 'foo'"), (["--times", "0"], "no number"),
                           (["--busy", "x"], "no number"), (["--only"], "needs a value")],
    ".ci/run": [(["stray"], "stray")],
    "test/package/run": [(["stray"], "stray")],
}


class Scripts(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.called = self.root / "called"
        fakes = self.root / "bin"
        fakes.mkdir()
        for name in SET_UP:
            fake = fakes / name
            fake.write_text(f'#!/bin/sh\necho "{name} $*" >>"{self.called}"\nexit 1\n', encoding="utf-8")
            fake.chmod(0o755)
        self.environment = os.environ | {"PATH": f"{fakes}:{os.environ['PATH']}", "LAB_BUILD_DIR": str(self.root / "lab")}

    def run_script(self, script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        self.called.unlink(missing_ok=True)
        done = subprocess.run([str(script), *arguments], env=self.environment, cwd=self.root, capture_output=True, text=True,
                              timeout=300, check=False)
        set_up = self.called.read_text(encoding="utf-8") if self.called.exists() else ""
        self.assertEqual(set_up, "", f"{script.name} {arguments} called this")
        self.assertFalse((self.root / "lab").exists())
        return done

    def test_help_is_printed_before_anything_is_set_up(self) -> None:
        for script in SCRIPTS:
            for option in ("--help", "-h"):
                with self.subTest(script=script.name, option=option):
                    done = self.run_script(script, option)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertTrue(done.stdout.startswith("usage: "), done.stdout)
                    self.assertGreater(len(done.stdout.splitlines()), 1)

    def test_an_unknown_option_is_refused_before_anything_is_set_up(self) -> None:
        for script in SCRIPTS:
            with self.subTest(script=script.name):
                done = self.run_script(script, "--no-such-option")
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("--no-such-option", done.stderr)
                self.assertIn("usage: ", done.stderr)

    def test_wrong_arguments_are_refused_before_anything_is_set_up(self) -> None:
        for name, cases in WRONG.items():
            for arguments, says in cases:
                with self.subTest(script=name, arguments=arguments):
                    done = self.run_script(tree.ROOT / name, *arguments)
                    self.assertEqual((done.returncode, done.stdout), (2, ""))
                    self.assertIn(says, done.stderr)

    def test_every_script_has_wrong_arguments_here(self) -> None:
        self.assertEqual({str(script.relative_to(tree.ROOT)) for script in SCRIPTS}, set(WRONG))


if __name__ == "__main__":
    unittest.main()
