"""Seastar's adapter: `python -m runner.seastar root` makes the root of Debian sid that it needs (runner/sid.py), and
`python -m runner.seastar build` builds it there. `asked ARGUMENTS` succeeds where those of scripts/lab have `--with
seastar`.

The program has the root's loader and libraries by their paths in it, so that it runs outside as any other does. The
output is for a log; its last line says why there is no program.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from pathlib import Path

from runner import cli, paths, sid
from runner.sid import SidError

RUNTIMES = paths.LAB / "runtimes"
PACKAGES = RUNTIMES / "seastar" / "packages.txt"
# What the adapter is made of, as the others.
PARTS = ("common", "seastar")
# Those of the lab's CMake project; the standard is the one that libseastar.a was compiled with.
FLAGS = ("-O3", "-march=native", "-falign-functions=64", "-DNDEBUG")
STANDARD = "-std=c++23"
WARNINGS = ("-Wall", "-Wextra")


def root() -> Path:
    return sid.cache_folder() / "seastar-root"


def program() -> Path:
    return paths.build_dir() / "bin" / "lab_seastar"


def make_root() -> None:
    """Raises SidError."""
    sid.provide(PACKAGES, root())


def build() -> None:
    """Builds the program, or leaves it as it is where it was built of the same. Raises SidError."""
    with sid.alone(root()):
        _build()


def _build() -> None:
    if not (root() / sid.MADE_OF).is_file():
        raise SidError(f"there is no {root()} any more: scripts/lab --with seastar makes it")
    wanted = _made_of()
    made_of = program().with_suffix(".made-of")
    if program().is_file() and made_of.is_file() and made_of.read_text(encoding="utf-8") == wanted:
        return
    sid.require_tools("chroot")
    made_of.parent.mkdir(parents=True, exist_ok=True)
    made_of.unlink(missing_ok=True)
    # Always the same place: else the program would be another one each time.
    folder = root() / "lab"
    try:
        _compile(folder)
        # One that runs must not be written to.
        beside = program().with_suffix(".part")
        shutil.copy2(folder / program().name, beside)
        beside.rename(program())
    finally:
        sid.remove(folder)
    made_of.write_text(wanted, encoding="utf-8")


def _compile(folder: Path) -> None:
    sid.remove(folder)
    for part in PARTS:
        shutil.copytree(RUNTIMES / part, folder / part)
    inside = Path("/") / folder.relative_to(root())
    version = _said("dpkg-query", "--show", "--showformat=${Version}", "seastar-dev")
    seastar = [flag for flag in _said("pkg-config", "--cflags", "seastar").split() if not flag.startswith("-std=")]
    flags = [STANDARD, *FLAGS, *WARNINGS, *seastar, *(f"-I{inside / part}" for part in PARTS),
             f'-DLAB_FLAGS="{STANDARD} {" ".join(FLAGS)}"', f'-DLAB_SEASTAR_VERSION="{version}"']
    sources = [path for part in PARTS for path in sorted((folder / part).glob("*.cpp"))]
    objects = [inside / f"{path.parent.name}-{path.stem}.o" for path in sources]
    _at_once([partial(_chroot, "g++", *flags, "-c", inside / source.relative_to(folder), "-o", made)
              for source, made in zip(sources, objects)])
    loader, libraries = _loader()
    # A search path of the newer kind would not be looked at for what the libraries need themselves.
    _chroot("g++", *objects, "-o", inside / program().name, f"-Wl,--dynamic-linker={loader}",
            f"-Wl,--disable-new-dtags,-rpath,{libraries}", *_said("pkg-config", "--static", "--libs", "seastar").split())


def _at_once(steps: list[Callable[[], None]]) -> None:
    """As many at a time as there are CPUs; what is printed before each is the count that a progress line reads."""
    done = 0
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        pending = [threads.submit(step) for step in steps]
        try:
            for each in pending:
                each.result()
                done += 1
                print(f"[{done}/{len(steps)}]", flush=True)
        finally:
            threads.shutdown(cancel_futures=True)


def _loader() -> tuple[Path, Path]:
    """The root's dynamic loader and its libraries, as seen from outside."""
    found = [next(iter(sorted(root().glob(pattern))), None) for pattern in ("lib*/ld-linux*.so.*", "usr/lib/*-linux-gnu")]
    if None in found:
        raise SidError(f"{root()} has no loader of programs: delete it, and scripts/lab --with seastar makes it anew")
    return found[0], found[1]


def _chroot(*command: str | Path) -> None:
    sid.run("chroot", root(), *command, env=sid.environment())


def _said(*command: str) -> str:
    return sid.output("chroot", root(), *command, env=sid.environment())


def _made_of() -> str:
    """Another text where the sources, this file or the root is another one."""
    files = [Path(__file__), *(path for part in PARTS for path in sorted((RUNTIMES / part).iterdir())
                               if path.suffix in (".cpp", ".hpp"))]
    digest = sha256(b"".join(sha256(path.read_bytes()).digest() for path in files)).hexdigest()
    return f"{digest}\n{root()} {(root() / sid.MADE_OF).stat().st_mtime_ns}\n"


def main(step: str, arguments: list[str]) -> int:
    """Returns the exit status."""
    if step == "asked":
        return 0 if "seastar" in (cli.make_parser().parse_args(arguments).with_ or ()) else 1
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        {"root": make_root, "build": build}[step]()
    except KeyboardInterrupt:
        print("interrupted")
        return cli.INTERRUPTED
    except (SidError, OSError) as error:
        print(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
