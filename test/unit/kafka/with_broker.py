#!/usr/bin/python3
"""Starts a broker of its own (scripts/kafka), runs a command that finds its address in COFLUX_KAFKA_BROKER, and stops it.

The command may also kill it: COFLUX_KAFKA_SCRIPT and COFLUX_KAFKA_DATA are the script and the broker's folder.

Exits as the command does, or with 77, which ctest takes for skipped, where Java or Kafka's jars are not to be had;
scripts/kafka says why.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "kafka"
SKIPPED = 77


def main(command: list[str]) -> int:
    with tempfile.TemporaryDirectory() as data:
        try:
            started = subprocess.run([SCRIPT, "start", "--data", data], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                     check=False)
            if started.returncode == SKIPPED:
                print("skipped, because Java or Kafka's jars are not to be had: scripts/kafka says why", flush=True)
                return SKIPPED
            if started.returncode != 0:
                return 1
            environment = os.environ | {"COFLUX_KAFKA_BROKER": started.stdout.strip(), "COFLUX_KAFKA_SCRIPT": str(SCRIPT),
                                        "COFLUX_KAFKA_DATA": data}
            return subprocess.run(command, env=environment, check=False).returncode
        finally:
            subprocess.run([SCRIPT, "kill", "--data", data], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
