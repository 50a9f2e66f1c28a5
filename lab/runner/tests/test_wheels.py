import subprocess
import unittest
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from runner import wheels
from runner.paths import LAB


class Wheels(unittest.TestCase):
    """Their pip is a function that puts a wheel where it was told to."""

    def setUp(self) -> None:
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.list = self.root / "wheels.txt"
        self.list.write_text("thing==1\n", encoding="utf-8")
        self.folder = self.root / "wheels" / "thing"
        self.calls = 0
        self.fails = ""
        self.holds = {"thing-1.data/data/include/thing.h": "1", "thing-1.data/data/lib/libthing.so": "2",
                      "thing/include/deep/other.hpp": "3", "thing/__init__.py": "4", "thing-1.dist-info/RECORD": "5"}
        self.enterContext(mock.patch("runner.wheels.subprocess.run", side_effect=self.pip))

    def pip(self, command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        self.calls += 1
        if self.fails:
            return subprocess.CompletedProcess(command, 1, "", self.fails)
        place = Path(command[command.index("--dest") + 1])
        place.mkdir()
        with zipfile.ZipFile(place / "thing-1-py3-none-any.whl", "w") as archive:
            for name, text in self.holds.items():
                archive.writestr(name, text)
        return subprocess.CompletedProcess(command, 0, "", "")

    def files(self) -> dict[str, str]:
        return {str(path.relative_to(self.folder)): path.read_text(encoding="utf-8")
                for path in self.folder.rglob("*") if path.is_file() and path.name != wheels.MADE_OF}

    def test_headers_and_libraries_come_out_of_a_wheel_and_nothing_else(self) -> None:
        self.assertIsNone(wheels.provide("native", self.list, self.folder))
        self.assertEqual(self.files(), {"include/thing.h": "1", "lib/libthing.so": "2", "include/deep/other.hpp": "3"})
        self.assertEqual([path.name for path in self.folder.parent.iterdir()], ["thing"])

    def test_packages_of_python_come_whole(self) -> None:
        self.assertIsNone(wheels.provide("packages", self.list, self.folder))
        self.assertEqual(self.files(), self.holds)

    def test_what_is_there_is_not_fetched_again(self) -> None:
        wheels.provide("native", self.list, self.folder)
        self.assertIsNone(wheels.provide("native", self.list, self.folder))
        self.assertEqual(self.calls, 1)

    def test_another_version_takes_the_place_of_the_first(self) -> None:
        wheels.provide("native", self.list, self.folder)
        self.list.write_text("thing==2\n", encoding="utf-8")
        self.holds = {"thing-2.data/data/include/new.h": "6"}
        self.assertIsNone(wheels.provide("native", self.list, self.folder))
        self.assertEqual(self.files(), {"include/new.h": "6"})

    def test_without_a_registry_there_is_no_folder_and_a_reason(self) -> None:
        wheels.provide("native", self.list, self.folder)
        self.list.write_text("thing==2\n", encoding="utf-8")
        self.fails = "WARNING: Retrying\nERROR: No matching distribution found for thing==2\n"
        self.assertEqual(wheels.provide("native", self.list, self.folder), "ERROR: No matching distribution found for thing==2")
        self.assertEqual(list(self.folder.parent.iterdir()), [])

    def test_nothing_is_written_outside_the_folder(self) -> None:
        self.holds = {"thing/include/../../../escaped.h": "7"}
        wheels.provide("native", self.list, self.folder)
        self.assertEqual(self.files(), {})
        self.assertFalse(list(self.root.rglob("escaped.h")))


class Lists(unittest.TestCase):
    def test_every_wheel_of_the_lab_has_a_version_and_a_hash(self) -> None:
        lists = sorted(LAB.glob("runtimes/*/wheels.txt"))
        self.assertEqual([each.parent.name for each in lists], ["asio", "bytewax", "tbb"])
        for each in lists:
            for line in each.read_text(encoding="utf-8").splitlines():
                if not line.startswith("#"):
                    self.assertRegex(line, r"^[a-z-]+==\S+( --hash=sha256:[0-9a-f]{64})+$")
