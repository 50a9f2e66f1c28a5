#!/usr/bin/python3
"""scripts/root makes a root of what its recipe says, keeps it, and removes it without reaching into what is mounted.

The commands are functions: debootstrap makes the folders that it would, and apt writes down what it was told.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import subprocess
import sys
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import debian_root
import tree
from debian_root import RootError

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


class RootTest(unittest.TestCase):
    def setUp(self) -> None:
        made = TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.root = Path(made.name).resolve()
        self.sources = self.root / "checkout"
        lists = [recipe for recipe in debian_root.RECIPES.values() if isinstance(recipe, Path)]
        for name in (debian_root.SETUP, *lists):
            (self.sources / name).parent.mkdir(parents=True, exist_ok=True)
        (self.sources / debian_root.SETUP).write_text("packages=(a)\n", encoding="utf-8")
        for name in lists:
            (self.sources / name).write_text("# why\nthing-dev\nold-dev/trixie\n", encoding="utf-8")
        self.calls: list[tuple[str, list[str], dict[str, str]]] = []
        self.fails = ""
        self.archives = ARCHIVES
        self.tools = ["debootstrap", "apt-get"]
        environment = {"XDG_CACHE_HOME": str(self.root / "cache"), "CCACHE_DIR": str(self.root / "ccache"),
                       "https_proxy": "http://both.invalid", "PIP_INDEX_URL": "http://index.invalid", "CXX": "g++-of-this-machine"}
        for patched in (mock.patch("debian_root.run", side_effect=self.run_command),
                        mock.patch("debian_root.output", side_effect=self.output_of),
                        mock.patch("debian_root.tree.ROOT", self.sources),
                        mock.patch("debian_root.os.geteuid", return_value=0),
                        mock.patch("debian_root.shutil.which", side_effect=lambda tool: tool if tool in self.tools else None),
                        mock.patch.dict("os.environ", environment, clear=True),
                        contextlib.redirect_stderr(io.StringIO())):
            self.enterContext(patched)

    def run_command(self, log: Path, name: str, *command: object, env: dict[str, str] | None = None) -> None:
        words = [str(word) for word in command]
        self.calls.append((name, words, env or {}))
        if name == "debootstrap":
            for place in ("etc/apt/apt.conf.d", "etc/dpkg/dpkg.cfg.d"):
                (Path(words[-2]) / place).mkdir(parents=True)
        if name == "apt-get install":
            self.tools.append("debootstrap")
        if self.fails and self.fails in name:
            raise RootError(f"{name} ended with status 1")

    def output_of(self, *command: str) -> str:
        return self.archives if "indextargets" in command else CONFIGURATION

    def names(self) -> list[str]:
        return [name for name, _, _ in self.calls]

    def provide(self, suite: str) -> None:
        self.calls.clear()
        debian_root.provide(suite)


class Making(RootTest):
    def test_it_comes_from_the_machine_s_own_mirror(self) -> None:
        self.provide("bookworm")
        _, words, _ = self.calls[0]
        self.assertEqual(words[-5:], ["debootstrap", "--variant=minbase", "bookworm", f"{debian_root.folder('bookworm')}.part",
                                      "http://mirror.invalid/debian/"])
        self.assertEqual((debian_root.folder("bookworm") / "etc/apt/sources.list").read_text(encoding="utf-8"),
                         "deb http://mirror.invalid/debian/ bookworm main\n")

    def test_scripts_setup_installs_what_a_root_of_a_release_has(self) -> None:
        for suite, options in (("bookworm", ["--lab", "--kafka"]), ("trixie", ["--gcc"])):
            self.provide(suite)
            (_, words, _), = [call for call in self.calls if call[0].startswith("scripts/setup")]
            self.assertEqual(words[-1 - len(options):], ["scripts/setup", *options])

    def test_a_list_of_packages_may_name_the_suite_of_one(self) -> None:
        self.provide("sid")
        self.assertEqual((debian_root.folder("sid") / "etc/apt/sources.list").read_text(encoding="utf-8"),
                         "deb http://mirror.invalid/debian/ sid main\ndeb http://mirror.invalid/debian/ trixie main\n")
        (_, words, _), = [call for call in self.calls if "apt-get -q install" in call[0]]
        self.assertEqual(words[-2:], ["thing-dev", "old-dev/trixie"])

    def test_a_second_root_of_a_suite_has_its_own_list(self) -> None:
        self.provide("compilers-trixie")
        self.assertEqual(self.calls[0][1][-3], "trixie")
        self.assertEqual((debian_root.folder("compilers-trixie") / "etc/apt/sources.list").read_text(encoding="utf-8"),
                         "deb http://mirror.invalid/debian/ trixie main\n")
        (_, words, _), = [call for call in self.calls if "apt-get -q install" in call[0]]
        self.assertEqual(words[-2:], ["thing-dev", "old-dev/trixie"])

    def test_it_fetches_as_the_machine_does(self) -> None:
        self.provide("trixie")
        self.assertEqual((debian_root.folder("trixie") / "etc/apt/apt.conf.d/99coflux").read_text(encoding="utf-8"),
                         'APT::Install-Recommends "false";\nAcquire::Retries "3";\nAcquire::Check-Valid-Until "false";\n'
                         'Acquire::http::Proxy "http://proxy.invalid:3128/";\n')
        # debootstrap does not read apt's configuration.
        self.assertEqual(self.calls[0][2]["http_proxy"], "http://proxy.invalid:3128/")

    def test_what_is_there_is_not_made_again(self) -> None:
        for suite in debian_root.RECIPES:
            self.provide(suite)
            self.provide(suite)
            self.assertEqual(self.calls, [])

    def test_another_setup_asks_for_another_root(self) -> None:
        self.provide("trixie")
        (self.sources / debian_root.SETUP).write_text("packages=()\n", encoding="utf-8")
        self.assertFalse(debian_root.is_made("trixie"))
        self.provide("trixie")
        self.assertIn("debootstrap", self.names())

    def test_where_a_step_fails_nothing_is_left(self) -> None:
        for step in ("debootstrap", "scripts/setup"):
            self.fails = step
            with self.assertRaisesRegex(RootError, step):
                self.provide("trixie")
            self.assertEqual([path.name for path in debian_root.cache_folder().iterdir()], ["trixie.lock"])

    def test_debootstrap_is_installed_where_it_is_missing(self) -> None:
        self.tools.remove("debootstrap")
        self.provide("trixie")
        self.assertEqual(self.names()[:3], ["apt-get update", "apt-get install", "debootstrap"])


class Missing(RootTest):
    def assert_none(self, says: str) -> None:
        with self.assertRaisesRegex(RootError, says):
            self.provide("trixie")
        self.assertNotIn("debootstrap", self.names())

    def test_the_rights_of_root(self) -> None:
        with mock.patch("debian_root.os.geteuid", return_value=1000):
            self.assert_none("needs the rights of root")

    def test_apt(self) -> None:
        self.tools.remove("apt-get")
        self.assert_none("no apt-get: this is not Debian")

    def test_an_archive_of_debian(self) -> None:
        self.archives = "Other|bookworm|http://other.invalid/\n"
        self.assert_none("apt has no archive of Debian")


class Running(RootTest):
    def test_a_process_gets_of_the_machine_only_what_says_how_to_fetch(self) -> None:
        words = debian_root.inside(self.root, ["x"])
        given = words[words.index("-i") + 1:]
        self.assertIn("https_proxy=http://both.invalid", given)
        self.assertIn("PIP_INDEX_URL=http://index.invalid", given)
        self.assertNotIn("CXX=g++-of-this-machine", given)
        self.assertEqual(given[-2:], [str(self.sources), "x"])

    def test_it_sees_the_settings_of_the_registries_clients_and_cannot_change_them(self) -> None:
        for name in (".m2/settings.xml", ".cargo/config.toml"):
            (self.root / name).parent.mkdir(parents=True)
            (self.root / name).write_text("", encoding="utf-8")
        with mock.patch("debian_root.Path.home", return_value=self.root):
            script = " ".join(debian_root.inside(self.root, ["x"]))
        for name in (".m2/settings.xml", ".cargo/config.toml"):
            self.assertIn(f"mount --bind {self.root / name} {self.root}{debian_root.HOME / name}\n"
                          f"mount -o remount,bind,ro {self.root}{debian_root.HOME / name}\n", script)

    def test_the_machine_s_certificates_are_not_there_while_a_package_installs_its_own(self) -> None:
        certificates = self.root / "certificates.crt"
        certificates.write_text("", encoding="utf-8")
        with mock.patch("debian_root.CERTIFICATES", certificates):
            self.assertIn(str(certificates), " ".join(debian_root.inside(self.root, ["x"])))
            self.assertNotIn(str(certificates), " ".join(debian_root.inside(self.root, ["x"], certificates=False)))


class Removing(RootTest):
    def test_it_is_gone(self) -> None:
        self.provide("trixie")
        debian_root.remove_suite("trixie")
        self.assertFalse(debian_root.folder("trixie").exists())

    def test_not_while_a_command_runs_in_it(self) -> None:
        self.provide("trixie")
        with debian_root.locked("trixie", fcntl.LOCK_SH):
            # Another process, as a lock is of one.
            told = subprocess.run([sys.executable, "-B", "-c", "import debian_root; debian_root.remove_suite('trixie')"],
                                  cwd=Path(__file__).parent, capture_output=True, text=True, check=False,
                                  env={"XDG_CACHE_HOME": str(self.root / "cache")})
        self.assertIn("a command runs in" if debian_root.os.getuid() == 0 else "rights of root", told.stderr)
        self.assertTrue(debian_root.folder("trixie").exists())

    def test_nothing_while_something_is_mounted_below(self) -> None:
        self.provide("trixie")
        mounts = self.root / "mounts"
        place = debian_root.folder("trixie")
        mounts.write_text(f"proc /proc proc rw 0 0\nx {place}/proc x rw 0 0\nx {place}2 x rw 0 0\n", encoding="utf-8")
        unmounted: list[list[str]] = []
        with mock.patch("debian_root.MOUNTS", mounts), \
             mock.patch("debian_root.subprocess.run", side_effect=lambda words, check: unmounted.append(words)), \
             self.assertRaisesRegex(RootError, f"{place}/proc is still mounted"):
            debian_root.remove_suite("trixie")
        self.assertEqual(unmounted, [["umount", f"{place}/proc"]])
        self.assertTrue(place.exists())


class Recipes(unittest.TestCase):
    def test_each_is_of_files_that_are_there(self) -> None:
        for suite in debian_root.RECIPES:
            self.assertTrue(debian_root.recipe(suite).strip(), suite)
        self.assertIn("seastar-dev\n", debian_root.recipe("sid"))
        self.assertTrue((tree.ROOT / debian_root.SETUP).is_file())


if __name__ == "__main__":
    unittest.main()
