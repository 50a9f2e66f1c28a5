"""Where things are in the tree."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "lab"
SCHEMA = LAB / "schema" / "results.schema.json"
TEMPLATES = Path(__file__).resolve().parent / "templates"

# Another build tree, for example of another compiler; scripts/lab reads the same variable.
BUILD_VARIABLE = "LAB_BUILD_DIR"


def build_dir() -> Path:
    chosen = os.environ.get(BUILD_VARIABLE)
    return Path(chosen).resolve() if chosen else ROOT / "build" / "lab"


def new_run_dir() -> Path:
    """Where a run goes that was not told where."""
    return build_dir() / "results" / datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")


def shown(path: Path) -> str:
    """The path as the user would type it: relative to where they stand if it lies below."""
    resolved = path.resolve()
    here = Path.cwd()
    return str(resolved.relative_to(here)) if resolved.is_relative_to(here) else str(resolved)
