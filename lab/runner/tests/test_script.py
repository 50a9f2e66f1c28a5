import os
import subprocess
from unittest import mock

from runner import cli
from runner.paths import BUILD_VARIABLE, ROOT
from runner.tests.fakes import LabTest

SCRIPT = ROOT / "scripts" / "lab"


class Script(LabTest):
    def script(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(SCRIPT), *arguments], env=os.environ | {BUILD_VARIABLE: str(self.build)},
                              cwd=self.root, capture_output=True, text=True, check=False)

    def assert_built_nothing(self) -> None:
        self.assertFalse(self.build.exists())

    def test_help_and_list_build_nothing(self) -> None:
        for option, says in (("--help", "usage: scripts/lab"), ("--list", "workloads")):
            done = self.script(option)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(says, done.stdout)
        self.assert_built_nothing()

    def without_python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        with mock.patch.dict(os.environ, {"LAB_PYTHON": str(self.root / "no-python3")}):
            return self.script(*arguments)

    def test_without_python_help_and_wrong_options_install_nothing(self) -> None:
        done = self.without_python("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for option in cli.make_parser()._option_string_actions:
            if option.startswith("--") and option != "--check-args":
                self.assertIn(option, done.stdout)
        done = self.without_python("--frobnicate")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("unknown option '--frobnicate'", done.stderr)
        done = self.without_python("--list")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assert_built_nothing()

    def test_bad_arguments_build_nothing(self) -> None:
        done = self.script("--suite", "tiny")
        self.assertEqual(done.returncode, 2)
        self.assertIn("runtimes: bare, std, coflux", done.stderr)
        self.assert_built_nothing()
