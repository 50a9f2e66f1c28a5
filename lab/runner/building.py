"""The progress of a build whose output comes on stdin: `python -m runner.building WHAT LOG`. The output goes to the
file LOG."""

from __future__ import annotations

import os
import re
import select
import sys
import time
from pathlib import Path
from typing import TextIO

from runner.progress import duration

# What ninja begins each line with.
COUNT = re.compile(r"^\[(\d+)/(\d+)\]")
# What cargo says of each crate, and debootstrap and apt of each package; how many there are they do not say.
EACH = re.compile(r"^(?:\s+Compiling|I: (?:Retrieving|Extracting|Unpacking|Configuring)|Unpacking|Setting up) \S+")
# Where there is no terminal: a line so often.
SECONDS_BETWEEN_LINES = 15.0
# An estimate needs so much to go by.
SECONDS_BEFORE_ESTIMATE = 3.0


class BuildProgress:
    """Says how far a build is, in a line that is refreshed on a terminal, and in a line now and then elsewhere."""

    def __init__(self, what: str, stream: TextIO, now: float) -> None:
        self._what = what
        self._stream = stream
        self._terminal = stream.isatty()
        self._began = self._phase_began = self._shown = now
        self._done = self._total = 0
        self._print(f"scripts/lab: {what}")

    def line(self, text: str, now: float) -> None:
        """One line of the build's output."""
        if counted := COUNT.match(text):
            done, total = int(counted[1]), int(counted[2])
            if done < self._done or total != self._total and done <= 1:
                self._phase_began = now
            self._done, self._total = done, total
        elif EACH.match(text):
            self._done += 1

    def tick(self, now: float) -> None:
        """Some time has passed."""
        if self._terminal:
            print(f"\r\x1b[K{self.text(now)}", end="", file=self._stream, flush=True)
        elif now - self._shown >= SECONDS_BETWEEN_LINES:
            self._shown = now
            self._print(self.text(now))

    def text(self, now: float) -> str:
        count = f"{self._done} of {self._total}" if self._total else str(self._done)
        return f"scripts/lab: {self._what}: {count}, {duration(now - self._began)} so far{self._left(now)}"

    def close(self, now: float) -> None:
        """The output has ended; whether the build has failed is known to its caller."""
        if self._terminal:
            print("\r\x1b[K", end="", file=self._stream)
        self._print(f"scripts/lab: {self._what}: ended after {duration(now - self._began)}")

    def _left(self, now: float) -> str:
        passed = now - self._phase_began
        if not self._total or self._done == 0 or passed < SECONDS_BEFORE_ESTIMATE:
            return ""
        return f", about {duration(passed / self._done * (self._total - self._done))} left"

    def _print(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


def watch(source: int, log: Path, progress: BuildProgress) -> None:
    """Until the output ends. It may be silent for long, as while a large file is compiled."""
    begun = b""
    with log.open("wb") as file:
        while True:
            if select.select([source], [], [], 1.0)[0]:
                piece = os.read(source, 1 << 16)
                if not piece:
                    return
                file.write(piece)
                file.flush()
                *lines, begun = (begun + piece).split(b"\n")
                for line in lines:
                    progress.line(line.decode(errors="replace"), time.monotonic())
            progress.tick(time.monotonic())


if __name__ == "__main__":
    shown = BuildProgress(sys.argv[1], sys.stderr, time.monotonic())
    try:
        watch(sys.stdin.fileno(), Path(sys.argv[2]), shown)
    finally:
        shown.close(time.monotonic())
