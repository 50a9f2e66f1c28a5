import contextlib
import io
import os
import shutil
import signal
from unittest import mock

from runner import seastar, sid
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
    """In a root that is a folder; its compiler and linker are a function that makes the files that they would."""

    def setUp(self) -> None:
        super().setUp()
        cache = self.root / "cache"
        self.enterContext(mock.patch.dict("os.environ", {"XDG_CACHE_HOME": str(cache)}))
        self.sysroot = cache / "coflux-lab" / "seastar-root"
        for place in ("lib64/ld-linux-x86-64.so.2", "usr/lib/x86_64-linux-gnu/libc.so.6", sid.MADE_OF):
            (self.sysroot / place).parent.mkdir(parents=True, exist_ok=True)
            (self.sysroot / place).write_text("", encoding="utf-8")
        self.sources = self.root / "runtimes"
        for part in seastar.PARTS:
            shutil.copytree(LAB / "runtimes" / part, self.sources / part)
        self.commands: list[list[str]] = []
        for number in (signal.SIGTERM, signal.SIGHUP):
            self.addCleanup(signal.signal, number, signal.getsignal(number))
        self.fails = ""
        self.enterContext(mock.patch("runner.seastar.RUNTIMES", self.sources))
        self.enterContext(mock.patch("runner.sid.run", side_effect=self.run_command))
        self.enterContext(mock.patch("runner.sid.output", side_effect=lambda *command, env: next(
            printed for word, printed in PRINTED.items() if word in command)))
        self.enterContext(mock.patch("runner.sid.os.geteuid", return_value=0))

    def run_command(self, *command: object, env: dict[str, str] | None = None) -> None:
        words = [str(word) for word in command]
        if words[0] == "rm":
            shutil.rmtree(words[-1])
            return
        self.assertEqual(words[:3], ["chroot", str(self.sysroot), "g++"])
        if self.fails and self.fails in words:
            raise sid.SidError(f"g++: {self.fails}: error: no good")
        self.commands.append(words[3:])
        if "-c" in words:
            self.assertTrue((self.sysroot / words[words.index("-c") + 1][1:]).is_file())
        (self.sysroot / words[words.index("-o") + 1][1:]).write_text("made", encoding="utf-8")

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
        self.assertIn("/lab/seastar/main.cpp", sources)
        self.assertIn("/lab/common/harness.cpp", sources)
        for words in compiled:
            self.assertEqual([word for word in words if word.startswith("-std=")], ["-std=c++23"])
            self.assertIn('-DLAB_SEASTAR_VERSION="25.05.0-1"', words)
        self.assertIn(f"-Wl,--dynamic-linker={self.sysroot}/lib64/ld-linux-x86-64.so.2", linked)
        self.assertIn(f"-Wl,--disable-new-dtags,-rpath,{self.sysroot}/usr/lib/x86_64-linux-gnu", linked)
        self.assertEqual(linked[-2:], ["/usr/lib/libseastar.a", "-lz"])
        self.assertEqual((self.build / "bin" / "lab_seastar").read_text(encoding="utf-8"), "made")
        self.assertFalse((self.sysroot / "lab").exists())

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
        (self.sysroot / sid.MADE_OF).unlink()
        (self.sysroot / sid.MADE_OF).write_text("", encoding="utf-8")
        self.build_it()
        self.assertNotEqual(self.commands, [])

    def test_a_failure_is_told_last_and_leaves_nothing_in_the_root(self) -> None:
        self.fails = "/lab/seastar/main.cpp"
        status, said = self.build_it()
        self.assertEqual((status, said.splitlines()[-1]), (1, "g++: /lab/seastar/main.cpp: error: no good"))
        self.assertFalse((self.sysroot / "lab").exists())
        self.fails = ""
        self.assertEqual(self.build_it()[0], 0)

    def test_an_interruption_is_told_and_leaves_nothing_in_the_root(self) -> None:
        with mock.patch("runner.seastar.sid.output", side_effect=lambda *_, env: os.kill(os.getpid(), signal.SIGTERM)):
            status, said = self.build_it()
        self.assertEqual((status, said), (130, "interrupted\n"))
        self.assertFalse((self.sysroot / "lab").exists())

    def test_a_root_that_is_gone_is_told(self) -> None:
        shutil.rmtree(self.sysroot)
        self.assertEqual(self.build_it(), (1, f"there is no {self.sysroot} any more: scripts/lab --with seastar makes it\n"))

    def test_the_root_is_of_the_packages_beside_the_adapter(self) -> None:
        with mock.patch("runner.sid.provide") as provided:
            self.assertEqual(seastar.main("root", []), 0)
        provided.assert_called_once_with(seastar.PACKAGES, self.sysroot)
        self.assertIn("seastar-dev", sid.names(seastar.PACKAGES.read_text(encoding="utf-8")))

    def test_only_with_its_name_is_it_asked_for(self) -> None:
        for arguments, status in ((["--with", "seastar"], 0), (["--with=seastar", "--reps", "3"], 0),
                                  (["--runtime", "seastar"], 1), ([], 1)):
            self.assertEqual(seastar.main("asked", arguments), status, arguments)

    def test_its_flags_are_those_of_the_lab(self) -> None:
        project = (LAB / "CMakeLists.txt").read_text(encoding="utf-8")
        self.assertIn(f'set(CMAKE_CXX_FLAGS_RELEASE "{" ".join(seastar.FLAGS)}")', project)
        self.assertIn(f'add_compile_options({" ".join(seastar.WARNINGS)})', project)
