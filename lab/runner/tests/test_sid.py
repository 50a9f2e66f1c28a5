import subprocess
import sys
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from runner import sid
from runner.sid import SidError

ARCHIVES = """Debian|bookworm-updates|http://mirror.invalid/debian/
Other|bookworm|http://other.invalid/debian/
Debian|bookworm|http://mirror.invalid/debian/
Debian|bookworm-security|http://mirror.invalid/security/
"""
CONFIGURATION = """Acquire "";
Acquire::Check-Valid-Until "false";
Acquire::http::Proxy "http://proxy.invalid:3128/";
Acquire::http::Proxy-Auto-Detect "/usr/bin/of-this-machine";
Acquire::https::CaInfo "/etc/of-this-machine";
Acquire::Languages "";
"""


class SidTest(unittest.TestCase):
    """The commands are functions: debootstrap makes the folders that it would, and apt writes down what it was told."""

    def setUp(self) -> None:
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        self.packages = self.root / "packages.txt"
        self.packages.write_text("# why\nthing-dev\nold-dev/trixie\n", encoding="utf-8")
        self.folder = self.root / "cache" / "thing-root"
        self.calls: list[list[str]] = []
        self.environments: list[dict[str, str]] = []
        self.fails = ""
        self.archives = ARCHIVES
        self.tools = ["debootstrap", "apt-get", "chroot"]
        self.really_run = sid.run
        self.enterContext(mock.patch("runner.sid.run", side_effect=self.run_command))
        self.enterContext(mock.patch("runner.sid.output", side_effect=self.output_of))
        self.enterContext(mock.patch("runner.sid.os.geteuid", return_value=0))
        self.enterContext(mock.patch("runner.sid.shutil.which", side_effect=lambda tool: tool if tool in self.tools else None))
        self.enterContext(mock.patch.dict("os.environ", {"https_proxy": "http://both.invalid"}, clear=True))

    def run_command(self, *command: object, env: dict[str, str] | None = None) -> None:
        words = [str(word) for word in command]
        self.calls.append(words)
        self.environments.append(env or {})
        if words[0] == "rm":
            subprocess.run(words, check=True)
        if words[0] == "debootstrap":
            (Path(words[4]) / "etc" / "apt" / "apt.conf.d").mkdir(parents=True)
        if self.fails and self.fails in words:
            raise SidError(f"E: no {self.fails}")

    def output_of(self, *command: object, env: dict[str, str] | None = None) -> str:
        return self.archives if "indextargets" in command else CONFIGURATION

    def names(self) -> list[str]:
        return [words[3] if words[0] == "chroot" else words[0] for words in self.calls]

    def provide(self) -> None:
        self.calls.clear()
        self.environments.clear()
        sid.provide(self.packages, self.folder)


class Making(SidTest):
    def test_it_comes_from_the_machine_s_own_mirror(self) -> None:
        self.provide()
        self.assertEqual(self.calls[0], ["debootstrap", "--variant=minbase", "--include=ca-certificates", "sid",
                                         f"{self.folder}.part", "http://mirror.invalid/debian/"])
        self.assertEqual((self.folder / "etc/apt/sources.list").read_text(encoding="utf-8"),
                         "deb http://mirror.invalid/debian/ sid main\ndeb http://mirror.invalid/debian/ trixie main\n")
        (install,) = (words for words in self.calls if "install" in words)
        self.assertEqual(install[-2:], ["thing-dev", "old-dev/trixie"])

    def test_it_fetches_as_the_machine_does(self) -> None:
        self.provide()
        self.assertEqual((self.folder / "etc/apt/apt.conf.d/99lab").read_text(encoding="utf-8"),
                         'APT::Install-Recommends "false";\nAcquire::Check-Valid-Until "false";\n'
                         'Acquire::http::Proxy "http://proxy.invalid:3128/";\n')
        # debootstrap does not read apt's configuration.
        self.assertEqual(self.environments[0]["http_proxy"], "http://proxy.invalid:3128/")
        self.assertTrue(all(each["https_proxy"] == "http://both.invalid" for each in self.environments if each))

    def test_what_is_there_is_not_made_again(self) -> None:
        self.provide()
        self.packages.write_text("# why not\nthing-dev\nold-dev/trixie\n", encoding="utf-8")
        self.provide()
        self.assertEqual(self.calls, [])

    def test_of_other_packages_it_is_made_anew(self) -> None:
        self.provide()
        self.packages.write_text("other-dev\n", encoding="utf-8")
        self.provide()
        self.assertEqual(self.names(), ["debootstrap", "update", "install", "clean", "rm"])
        self.assertEqual((self.folder / sid.MADE_OF).read_text(encoding="utf-8"), "other-dev\n")

    def test_where_a_step_fails_nothing_is_left(self) -> None:
        for step in ("debootstrap", "update", "install"):
            self.fails = step
            with self.assertRaisesRegex(SidError, f"E: no {step}"):
                self.provide()
            self.assertEqual([path.name for path in self.folder.parent.iterdir()], ["thing-root.lock"])

    def test_what_an_interruption_left_is_unmounted_and_removed_first(self) -> None:
        beside = Path(f"{self.folder}.part")
        (beside / "proc").mkdir(parents=True)
        mounts = self.root / "mounts"
        mounts.write_text(f"proc /proc proc rw 0 0\nproc {beside}/proc proc rw 0 0\nx {beside}/proc/deep x rw 0 0\n"
                          f"x {beside}2 x rw 0 0\n", encoding="utf-8")
        with mock.patch("runner.sid.MOUNTS", mounts):
            self.provide()
        self.assertEqual(self.calls[:2], [["umount", f"{beside}/proc/deep"], ["umount", f"{beside}/proc"]])
        self.assertEqual(self.names()[2:4], ["rm", "debootstrap"])


class Missing(SidTest):
    def assert_none(self, says: str) -> None:
        with self.assertRaisesRegex(SidError, says):
            self.provide()
        self.assertEqual(self.calls, [])

    def test_the_rights_of_root(self) -> None:
        with mock.patch("runner.sid.os.geteuid", return_value=1000):
            self.assert_none("needs the rights of root: run scripts/lab as root")

    def test_debootstrap(self) -> None:
        self.tools.remove("debootstrap")
        self.assert_none("no debootstrap: install debootstrap")

    def test_apt(self) -> None:
        self.tools.remove("apt-get")
        self.assert_none("no apt-get: this is not Debian")

    def test_an_archive_of_debian(self) -> None:
        self.archives = "Other|bookworm|http://other.invalid/\n"
        self.assert_none("apt has no archive of Debian with its lists: run apt-get update")


class Running(unittest.TestCase):
    """Real commands."""

    def assert_says(self, script: str, said: str) -> None:
        with self.assertRaises(SidError) as raised, mock.patch("builtins.print"):
            sid.run("sh", "-c", script)
        self.assertEqual(str(raised.exception), said)

    def test_a_failure_is_told_by_its_first_error(self) -> None:
        self.assert_says("echo a; echo 'E: no mirror' >&2; echo 'E: then'; echo z; exit 1", "sh: E: no mirror")
        self.assert_says("echo 'x.cpp:1: error: no y'; echo compilation terminated; exit 1", "sh: x.cpp:1: error: no y")

    def test_or_by_the_last_that_was_said_or_by_its_status(self) -> None:
        self.assert_says("echo a; echo z; echo; exit 1", "sh: z")
        self.assert_says("exit 3", "sh: exit status 3")

    def test_the_mirror_is_not_named(self) -> None:
        self.assert_says("echo 'E: Failed getting http://mirror.invalid/dists/sid/Release'; exit 1", "sh: E: Failed getting the mirror")

    def test_an_interruption_ends_the_command(self) -> None:
        with TemporaryDirectory() as folder:
            ended = Path(folder) / "ended"
            script = f"trap 'echo x > {ended}; exit' TERM; echo ready; while :; do sleep 0.01; done"
            with self.assertRaises(KeyboardInterrupt), mock.patch("builtins.print", side_effect=[None, KeyboardInterrupt]):
                sid.run("sh", "-c", script)
            self.assertTrue(ended.is_file())

    def test_output_is_what_a_command_prints(self) -> None:
        self.assertEqual(sid.output("sh", "-c", "echo a"), "a\n")
        with self.assertRaisesRegex(SidError, "sh: wrong"):
            sid.output("sh", "-c", "echo wrong >&2; exit 1")

    def test_a_second_one_waits(self) -> None:
        with TemporaryDirectory() as folder, sid.alone(Path(folder) / "root"):
            other = subprocess.run(["flock", "--nonblock", f"{folder}/root.lock", sys.executable, "-c", ""], check=False)
            self.assertEqual(other.returncode, 1)

    def test_the_cache_is_the_user_s(self) -> None:
        with mock.patch.dict("os.environ", {"XDG_CACHE_HOME": "/cache"}):
            self.assertEqual(sid.cache_folder(), Path("/cache/coflux-lab"))
        with mock.patch.dict("os.environ", {"XDG_CACHE_HOME": "", "HOME": "/home/user"}):
            self.assertEqual(sid.cache_folder(), Path("/home/user/.cache/coflux-lab"))
