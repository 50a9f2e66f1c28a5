"""The files of the repository that the checks look at."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOT_SOURCES = ("build", "cmake-build-")


def files(root: Path) -> list[Path]:
    """All files below root, relative to it: what git tracks or would track; outside a checkout, what is not built."""
    if (root / ".git").exists():
        # The owner of a checkout may differ from the user who checks it (containers); that is no danger to a listing.
        listed = subprocess.run(
            ["git", "-c", f"safe.directory={root}", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True, check=False)
        if listed.returncode == 0:
            names = sorted(set(filter(None, listed.stdout.decode().split("\0"))))
            return [Path(name) for name in names if (root / name).is_file()]
    found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return sorted(path for path in found if not path.parts[0].startswith(NOT_SOURCES) and "__pycache__" not in path.parts)


def sources(root: Path, *folders: str) -> list[Path]:
    """The C++ files below the given folders."""
    return [path for path in files(root) if path.parts[0] in folders and path.suffix in (".hpp", ".cpp")]
