"""The contents of wheels: `python -m runner.wheels native|packages WHEELS FOLDER`.

Distributions keep a version for years, and a peer is measured in the one that its users would take. WHEELS names them
as pip's requirements, with hashes. FOLDER gets, of `native`, the headers and libraries of C++ that are below `include`
and `lib` in them, and of `packages` all of them, for a path of Python's. Where pip cannot have them FOLDER is not there
afterwards, one line on stdout says why, and the caller takes what the distribution has.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# In FOLDER: what it was made of.
MADE_OF = "made-of.txt"
# Which entries of a wheel are wanted; the group is their place below the folder. What is not Python's is kept apart.
PLACES = {"native": re.compile(r"^[^/]+(?:\.data/data)?/((?:include|lib)/.+)$"), "packages": re.compile(r"^(.+)$")}


def provide(kind: str, wheels: Path, folder: Path) -> str | None:
    """Makes the folder, or leaves it as it is where it was made of the same. Returns why there is none, or None."""
    wanted = wheels.read_text(encoding="utf-8")
    made_of = folder / MADE_OF
    if made_of.is_file() and made_of.read_text(encoding="utf-8") == wanted:
        return None
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as beside:
        fetched, made = Path(beside) / "fetched", Path(beside) / "made"
        problem = _fetch(wheels, fetched)
        if problem is not None:
            return problem
        made.mkdir()
        for wheel in sorted(fetched.glob("*.whl")):
            unpack(PLACES[kind], wheel, made)
        (made / MADE_OF).write_text(wanted, encoding="utf-8")
        # At once, so that an interruption leaves none.
        made.rename(folder)
    return None


def _fetch(wheels: Path, folder: Path) -> str | None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps",
               "--only-binary=:all:", "--require-hashes", "--retries=1", "--timeout=15", "--dest", str(folder),
               "--requirement", str(wheels)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    said = [line.strip() for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
    return said[-1] if said else f"pip download: exit status {done.returncode}"


def unpack(wanted: re.Pattern[str], wheel: Path, folder: Path) -> None:
    """Puts the wanted entries of a wheel to their places below the folder."""
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            place = wanted.match(entry.filename)
            if place is None or entry.is_dir() or ".." in Path(entry.filename).parts:
                continue
            path = folder / place[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as source, path.open("wb") as target:
                shutil.copyfileobj(source, target)


if __name__ == "__main__":
    why_not = provide(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
    if why_not is not None:
        print(why_not)
