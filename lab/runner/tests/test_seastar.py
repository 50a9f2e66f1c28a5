import contextlib
import io
import os
import shutil
import signal
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from runner import seastar
from runner.paths import LAB
from runner.tests.fakes import LabTest

PRINTED = {"dpkg-query": "25.05.0-1", "--cflags": "-std=c++23 -DSEASTAR_X -I/usr/include/y\n", "--static": "/usr/lib/libseastar.a -lz\n"}


class Rows(LabTest):
    FIB = ("--workload", "fib", "--size", "smoke", "--reps", "1", "--runtime", "coflux", "seastar")

    def test_without_it_a_row_says_what_to_do_and_is_no_failure(self) -> None:
        self.fake("coflux")
        self.assertEqual(self.measure(*self.FIB).status, 0)
        self.assertEqual(self.row("seastar")["status"], "unavailable")
        self.assertIn("scripts/lab --with seastar, as root", self.row("seastar")["reason"])

    def test_its_malloc_is_its_own(self) -> None:
        self.fake("coflux")
        self.fake("seastar", says={"malloc": "own"})
        self.measure(*self.FIB, "--with", "seastar", "--allocator", "all")
        self.assertEqual((self.row("seastar")["status"], self.row("seastar")["malloc"]), ("ok", "own"))

    def test_what_cannot_be_built_on_demand_is_refused(self) -> None:
        done = self.lab("--with", "folly")
        self.assertEqual(done.status, 2)
        self.assertIn("invalid choice: 'folly'", done.stderr)


class Build(LabTest):
    """In a root that is a folder; scripts/root is functions, which make the files that its compiler and linker would."""

    def setUp(self) -> None:
        super().setUp()
        self.sysroot = self.root / "sid"
        for place in ("lib64/ld-linux-x86-64.so.2", "usr/lib/x86_64-linux-gnu/libc.so.6", "made-of.txt"):
            (self.sysroot / place).parent.mkdir(parents=True, exist_ok=True)
            (self.sysroot / place).write_text("", encoding="utf-8")
        self.sources = self.root / "lab" / "runtimes"
        for part in seastar.PARTS:
            shutil.copytree(LAB / "runtimes" / part, self.sources / part)
        self.commands: list[list[str]] = []
        for number in (signal.SIGTERM, signal.SIGHUP):
            self.addCleanup(signal.signal, number, signal.getsignal(number))
        self.fails = ""
        self.enterContext(mock.patch("runner.seastar.RUNTIMES", self.sources))
        self.enterContext(mock.patch("runner.seastar.paths.ROOT", self.root))
        self.enterContext(mock.patch("runner.seastar.run", side_effect=self.run_script))
        self.enterContext(mock.patch("runner.seastar.output", side_effect=self.output_of))

    def run_script(self, *words: str) -> None:
        self.assertEqual(words[:3], ("sid", "--", "g++"))
        if self.fails and self.fails in words:
            raise seastar.SeastarError(f"{self.fails}: error: no good")
        self.commands.append(list(words[3:]))
        if "-c" in words:
            self.assertTrue(Path(words[words.index("-c") + 1]).is_file())
        Path(words[words.index("-o") + 1]).write_text("made", encoding="utf-8")

    def output_of(self, *words: str) -> str:
        if words == ("--path", "sid"):
            if not self.sysroot.exists():
                raise seastar.SeastarError("scripts/root: there is no root of sid: scripts/root sid makes it")
            return f"{self.sysroot}\n"
        return next(printed for word, printed in PRINTED.items() if word in words)

    def build_it(self) -> tuple[int, str]:
        self.commands.clear()
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = seastar.main("build", [])
        return status, said.getvalue()

    def test_it_is_compiled_in_the_root_and_runs_outside_of_it(self) -> None:
        self.assertEqual(self.build_it()[0], 0)
        *compiled, linked = self.commands
        sources = [words[words.index("-c") + 1] for words in compiled]
        self.assertIn(f"{self.sources}/seastar/main.cpp", sources)
        self.assertIn(f"{self.sources}/common/harness.cpp", sources)
        for words in compiled:
            self.assertEqual([word for word in words if word.startswith("-std=")], ["-std=c++23"])
            self.assertIn('-DLAB_SEASTAR_VERSION="25.05.0-1"', words)
        self.assertIn(f"-Wl,--dynamic-linker={self.sysroot}/lib64/ld-linux-x86-64.so.2", linked)
        self.assertIn(f"-Wl,--disable-new-dtags,-rpath,{self.sysroot}/usr/lib/x86_64-linux-gnu", linked)
        self.assertEqual(linked[-2:], ["/usr/lib/libseastar.a", "-lz"])
        self.assertEqual((self.build / "bin" / "lab_seastar").read_text(encoding="utf-8"), "made")
        self.assertFalse((self.root / "build" / "seastar").exists())

    def test_each_source_counts_for_the_progress(self) -> None:
        _, said = self.build_it()
        count = len(self.commands) - 1
        self.assertIn(f"[{count}/{count}]\n", said)

    def test_of_the_same_it_is_not_built_again(self) -> None:
        self.build_it()
        self.build_it()
        self.assertEqual(self.commands, [])

    def test_of_another_source_or_root_it_is_built_anew(self) -> None:
        self.build_it()
        (self.sources / "common" / "harness.cpp").write_text("int x;", encoding="utf-8")
        self.build_it()
        self.assertNotEqual(self.commands, [])
        (self.sysroot / "made-of.txt").unlink()
        (self.sysroot / "made-of.txt").write_text("", encoding="utf-8")
        self.build_it()
        self.assertNotEqual(self.commands, [])

    def test_a_failure_is_told_last_and_leaves_nothing(self) -> None:
        self.fails = f"{self.sources}/seastar/main.cpp"
        status, said = self.build_it()
        self.assertEqual((status, said.splitlines()[-1]), (1, f"{self.fails}: error: no good"))
        self.assertFalse((self.root / "build" / "seastar").exists())
        self.fails = ""
        self.assertEqual(self.build_it()[0], 0)

    def test_an_interruption_is_told_and_leaves_nothing(self) -> None:
        with mock.patch("runner.seastar._said", side_effect=lambda *_: os.kill(os.getpid(), signal.SIGTERM)):
            status, said = self.build_it()
        self.assertEqual((status, said), (130, "interrupted\n"))
        self.assertFalse((self.root / "build" / "seastar").exists())

    def test_a_root_that_is_gone_is_told(self) -> None:
        shutil.rmtree(self.sysroot)
        self.assertEqual(self.build_it(), (1, "scripts/root: there is no root of sid: scripts/root sid makes it\n"))

    def test_only_with_its_name_is_it_asked_for(self) -> None:
        for arguments, status in ((["--with", "seastar"], 0), (["--with=seastar", "--reps", "3"], 0),
                                  (["--runtime", "seastar"], 1), ([], 1)):
            self.assertEqual(seastar.main("asked", arguments), status, arguments)

    def test_its_flags_are_those_of_the_lab(self) -> None:
        project = (LAB / "CMakeLists.txt").read_text(encoding="utf-8")
        self.assertIn(f'set(CMAKE_CXX_FLAGS_RELEASE "{" ".join(seastar.FLAGS)}")', project)
        self.assertIn(f'add_compile_options({" ".join(seastar.WARNINGS)})', project)


class Script(unittest.TestCase):
    """Real commands in the place of scripts/root."""

    def assert_says(self, script: str, said: str) -> None:
        with mock.patch("runner.seastar.SCRIPT", "sh"), self.assertRaises(seastar.SeastarError) as raised, \
             mock.patch("builtins.print"):
            seastar.run("-c", script)
        self.assertEqual(str(raised.exception), said)

    def test_a_failure_is_told_by_its_first_error(self) -> None:
        self.assert_says("echo a; echo 'E: no mirror' >&2; echo 'E: then'; echo z; exit 1", "E: no mirror")
        self.assert_says("echo 'x.cpp:1: error: no y'; echo compilation terminated; exit 1", "x.cpp:1: error: no y")
        self.assert_says("echo 'scripts/root: makes it'; echo 'scripts/root: no rights'; exit 1", "scripts/root: no rights")

    def test_or_by_the_last_that_was_said_or_by_its_status(self) -> None:
        self.assert_says("echo a; echo z; echo; exit 1", "z")
        self.assert_says("exit 3", "scripts/root: status 3")

    def test_the_mirror_is_not_named(self) -> None:
        self.assert_says("echo 'E: Failed getting http://mirror.invalid/dists/sid/Release'; exit 1", "E: Failed getting the mirror")

    def test_an_interruption_ends_the_command(self) -> None:
        with TemporaryDirectory() as folder:
            ended = Path(folder) / "ended"
            script = f"trap 'echo x > {ended}; exit' TERM; echo ready; while :; do sleep 0.01; done"
            with mock.patch("runner.seastar.SCRIPT", "sh"), self.assertRaises(KeyboardInterrupt), \
                 mock.patch("builtins.print", side_effect=[None, KeyboardInterrupt]):
                seastar.run("-c", script)
            self.assertTrue(ended.is_file())

    def test_output_is_what_a_command_prints(self) -> None:
        with mock.patch("runner.seastar.SCRIPT", "sh"):
            self.assertEqual(seastar.output("-c", "echo a"), "a\n")
            with self.assertRaisesRegex(seastar.SeastarError, "^wrong$"):
                seastar.output("-c", "echo wrong >&2; exit 1")
