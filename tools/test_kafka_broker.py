#!/usr/bin/python3
"""scripts/kafka says what is missing, takes no other process for its broker, and starts, kills and stops a real one.

Where there is no Java the real one is left out, which ctest tells as skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

import kafka_broker
import tree

SKIPPED = 77
MISSING = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]


class Script(unittest.TestCase):
    def setUp(self) -> None:
        made = TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.root = Path(made.name).resolve()
        self.data = self.root / "data"
        self.environment = dict(os.environ)

    def run_script(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([tree.ROOT / "scripts" / "kafka", *arguments, "--data", self.data], env=self.environment, cwd=self.root,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=400, check=False)

    def says(self, status: int, said: str, *arguments: str) -> None:
        done = self.run_script(*arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(said, done.stdout if status == 0 or arguments == ("status",) else done.stderr)


class WithoutJava(Script):
    def setUp(self) -> None:
        super().setUp()
        tools = self.root / "bin"
        tools.mkdir()
        for tool in ("bash", "dirname"):
            (tools / tool).symlink_to(shutil.which(tool) or "")
        self.environment |= {"PATH": str(tools), "XDG_CACHE_HOME": str(self.root / "cache")}
        self.tools = tools

    def test_start_names_what_installs_it(self) -> None:
        self.says(77, "there is no java: run scripts/setup --kafka", "start")
        self.assertFalse(self.data.exists())

    def test_start_names_what_gets_the_jars(self) -> None:
        (self.tools / "java").symlink_to("/bin/false")
        self.says(77, "there is no mvn: run scripts/setup --kafka", "start")

    def test_the_words_of_maven_come_through(self) -> None:
        (self.tools / "java").symlink_to("/bin/false")
        (self.tools / "mvn").write_text("#!/bin/bash\necho no such host\nexit 1\n", encoding="utf-8")
        (self.tools / "mvn").chmod(0o755)
        self.says(77, "no such host", "start")
        self.assertEqual([path.name for path in (self.root / "cache/coflux/kafka").iterdir()], ["jars.lock"])

    def test_what_does_not_run_is_stopped_and_no_error(self) -> None:
        self.says(0, "no broker runs", "stop")
        self.says(0, "no broker runs", "kill")
        self.says(1, "no broker runs", "status")
        self.says(1, "no broker runs", "topic", "orders")
        self.assertFalse(self.data.exists())


class OtherProcesses(Script):
    def test_a_number_that_came_again_is_not_the_broker(self) -> None:
        self.data.mkdir()
        (self.data / "pid").write_text(f"{os.getpid()}\n", encoding="utf-8")
        self.assertIsNone(kafka_broker.Broker(self.data).pid())
        self.says(0, "no broker runs", "kill")

    def test_a_file_that_is_no_number_is_no_broker(self) -> None:
        self.data.mkdir()
        (self.data / "pid").write_text("x\n", encoding="utf-8")
        self.says(1, "no broker runs", "status")


@unittest.skipIf(MISSING, f"there is no {' and no '.join(MISSING)}: scripts/setup --kafka")
class RealBroker(Script):
    def test_a_broker_starts_is_killed_starts_again_and_stops(self) -> None:
        self.addCleanup(self.run_script, "kill")
        started = self.run_script("start")
        if started.returncode == SKIPPED:
            self.skipTest(started.stderr.strip())
        self.assertEqual(started.returncode, 0, started.stderr)
        address = started.stdout.strip()
        self.assertRegex(address, r"^127\.0\.0\.1:\d+$")
        # Once more: it is found.
        self.says(0, address, "start")
        self.says(0, address, "status")
        self.says(1, "stop it first", "start", "--port", "1")

        self.says(0, "orders: 2 partitions", "topic", "orders", "2")
        self.says(0, "orders: 2 partitions", "topic", "orders")
        self.says(0, "orders: 5 partitions", "topic", "orders", "5")
        self.says(1, "cannot have 3", "topic", "orders", "3")
        self.says(0, "state: 1 partitions", "topic", "state", "1", "--config", "cleanup.policy=compact")
        self.says(1, "its settings stay", "topic", "state", "1", "--config", "cleanup.policy=compact")
        self.says(1, "no.such", "topic", "other", "1", "--config", "no.such=1")

        self.says(0, "killed", "kill")
        self.says(1, "no broker runs", "status")
        # The same port, and the topics are there.
        self.says(0, address, "start")
        self.says(0, "orders: 5 partitions", "topic", "orders")
        self.says(0, "stopped", "stop")
        self.says(0, "no broker runs", "stop")


if __name__ == "__main__":
    ran = unittest.main(exit=False).result
    if ran.wasSuccessful() and ran.skipped:
        print(f"skipped, because {ran.skipped[0][1]}")
        sys.exit(SKIPPED)
    sys.exit(not ran.wasSuccessful())
