import os
import stat
import subprocess
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from runner.paths import LAB

SCRIPT = LAB / "runtimes" / "go" / "toolchain.bash"


class Go(unittest.TestCase):
    """Which go builds the adapter; those here are scripts."""

    def setUp(self) -> None:
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.archive = self.root / "archive"
        # What the script itself calls.
        self.path = self.root / "path"
        self.path.mkdir()
        for tool in ("bash", "sort", "sed", "grep"):
            (self.path / tool).symlink_to(next(each for each in (Path("/usr/bin") / tool, Path("/bin") / tool) if each.exists()))

    def put(self, folder: Path, says: str) -> str:
        folder.mkdir(parents=True, exist_ok=True)
        go = folder / "go"
        go.write_text(f"#!/bin/sh\necho '{says}'\n", encoding="utf-8")
        go.chmod(go.stat().st_mode | stat.S_IXUSR)
        return str(go)

    def find(self) -> tuple[int, str]:
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", f"source '{SCRIPT}'; find_go"], text=True, capture_output=True,
                              env={"PATH": str(self.path), "LAB_GO_ARCHIVE": str(self.archive)}, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.strip()

    def test_the_one_on_the_path_is_found(self) -> None:
        self.assertEqual(self.find(), (1, "no go: install golang-go"))
        go = self.put(self.path, "go version go1.19.8 linux/amd64")
        self.assertEqual(self.find(), (0, go))

    def test_the_archive_s_is_found_without_the_path(self) -> None:
        go = self.put(self.archive / "bin", "go version go1.26.8 linux/amd64")
        self.assertEqual(self.find(), (0, go))

    def test_the_newer_of_the_two_is_taken(self) -> None:
        older, newer = "go version go1.9.7 linux/amd64", "go version go1.26 linux/amd64"
        for on_path, in_archive in ((older, newer), (newer, older)):
            places = {on_path: self.put(self.path, on_path), in_archive: self.put(self.archive / "bin", in_archive)}
            self.assertEqual(self.find(), (0, places[newer]))

    def test_one_that_is_too_old_is_none_and_the_reason_says_so(self) -> None:
        self.put(self.path, "go version go1.18.1 linux/amd64")
        self.assertEqual(self.find(), (1, "go 1.18.1 is older than 1.19: install golang-go"))

    def test_one_that_does_not_run_is_none(self) -> None:
        self.put(self.path, "usage: go PLAYER")
        self.assertEqual(self.find(), (1, "no go: install golang-go"))


class Setup(unittest.TestCase):
    def test_setup_reads_what_go_is_asked_for_from_the_same_place(self) -> None:
        done = subprocess.run([str(LAB.parent / "scripts" / "setup"), "--help"], capture_output=True, text=True, check=True,
                              cwd="/", env=os.environ)
        self.assertIn("go where they are missing", done.stdout)
