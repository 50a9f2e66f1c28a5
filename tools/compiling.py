"""Runs compilers for tools/mutate.py."""

from __future__ import annotations

import subprocess
from pathlib import Path

LIMIT = 1800.0  # seconds that only a compiler that hangs takes


class TookTooLong(Exception):
    """A compiler, of which sources, and how long it had."""


def compiled(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """What the compiler said in `folder`. Raises TookTooLong."""
    try:
        return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, errors="replace", timeout=LIMIT)
    except subprocess.TimeoutExpired:
        sources = [part for part in command if part.endswith((".cpp", ".hpp", ".o"))]
        raise TookTooLong(f"{Path(command[0]).name} did not end in {LIMIT:.0f} s: {' '.join(sources)}") from None
