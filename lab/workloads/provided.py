"""What workloads have beside the adapters: a broker, and folders for files."""

from __future__ import annotations

import atexit
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path


class NotProvided(Exception):
    """Why there is no broker, or no topic or file."""


@dataclass(frozen=True)
class Broker:
    data: str
    address: str


KAFKA = Path(__file__).resolve().parents[2] / "scripts" / "kafka"


def call(*command: str | Path | int) -> str:
    """What it prints."""
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode != 0:
        raise NotProvided(f"{Path(command[0]).name}: {done.stderr.strip()}")
    return done.stdout.strip()


@cache
def folder_of_run(build: Path, what: str) -> str:
    """One that ends with the run."""
    folder = tempfile.TemporaryDirectory(dir=build, prefix=f"{what}.")
    atexit.register(folder.cleanup)
    return folder.name


@cache
def broker_of_run(build: Path) -> Broker:
    """One for the whole run, which ends with it."""
    # What is registered last is done first: the broker is killed before its files go.
    data = folder_of_run(build, "kafka")
    atexit.register(call, KAFKA, "kill", "--data", data)
    return Broker(data, call(KAFKA, "start", "--data", data))
