#!/usr/bin/python3
"""Starts a broker of its own (scripts/kafka), runs the tests of a program that need one, and stops it.

Exits with 77, which ctest takes for skipped, where there is no Java or no Maven.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "kafka"
SKIPPED = 77


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--filter", default="kafka_broker.*")
    chosen = parser.parse_args()
    missing = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]
    if missing:
        print(f"skipped, because there is no {' and no '.join(missing)}: scripts/setup --kafka")
        return SKIPPED
    with tempfile.TemporaryDirectory() as data:
        try:
            started = subprocess.run([SCRIPT, "start", "--data", data], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                     check=False)
            if started.returncode != 0:
                return 1
            environment = os.environ | {"COFLUX_KAFKA_BROKER": started.stdout.strip()}
            return subprocess.run([chosen.program, f"--gtest_filter={chosen.filter}"], env=environment, check=False).returncode
        finally:
            subprocess.run([SCRIPT, "kill", "--data", data], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)


if __name__ == "__main__":
    sys.exit(main())
