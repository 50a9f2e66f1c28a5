import os
import subprocess

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

    def test_bad_arguments_build_nothing(self) -> None:
        done = self.script("--suite", "tiny")
        self.assertEqual(done.returncode, 2)
        self.assertIn("runtimes: bare, std, coflux", done.stderr)
        self.assert_built_nothing()
