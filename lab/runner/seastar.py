"""Seastar's adapter: `python -m runner.seastar root` makes the root of Debian sid that it needs (scripts/root), and
`python -m runner.seastar build` builds it there. `asked ARGUMENTS` succeeds where those of scripts/lab have `--with
seastar`.

The program has the root's loader and libraries by their paths in it, so that it runs outside as any other does. The
output is for a log; its last line says why there is no program.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from pathlib import Path

from runner import cli, paths

RUNTIMES = paths.LAB / "runtimes"
SCRIPT = str(paths.ROOT / "scripts" / "root")
# What the adapter is made of, as the others.
PARTS = ("common", "seastar")
# Those of the lab's CMake project; the standard is the one that libseastar.a was compiled with.
FLAGS = ("-O3", "-march=native", "-falign-functions=64", "-DNDEBUG")
STANDARD = "-std=c++23"
WARNINGS = ("-Wall", "-Wextra")
# What apt, debootstrap, g++ and the linker say of what they failed at, and scripts/root of its own failures.
ERROR = re.compile(r"^E: |error: |undefined reference|^scripts/root: (?!makes)")
ADDRESS = re.compile(r"\w+://\S+")


class SeastarError(Exception):
    """There is no program, and why."""


def root() -> Path:
    """Where the root is. Raises SeastarError where there is none."""
    return Path(output("--path", "sid").strip())


def program() -> Path:
    return paths.build_dir() / "bin" / "lab_seastar"


def make_root() -> None:
    """Raises SeastarError."""
    run("sid")


def build() -> None:
    """Builds the program, or leaves it as it is where it was built of the same. Raises SeastarError."""
    wanted = _made_of()
    made_of = program().with_suffix(".made-of")
    if program().is_file() and made_of.is_file() and made_of.read_text(encoding="utf-8") == wanted:
        return
    made_of.parent.mkdir(parents=True, exist_ok=True)
    made_of.unlink(missing_ok=True)
    # In the checkout, which the root sees, and always the same place: else the program would be another one each time.
    folder = paths.ROOT / "build" / "seastar"
    try:
        _compile(folder)
        # One that runs must not be written to.
        beside = program().with_suffix(".part")
        shutil.copy2(folder / program().name, beside)
        beside.rename(program())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    made_of.write_text(wanted, encoding="utf-8")


def _compile(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    version = _said("dpkg-query", "--show", "--showformat=${Version}", "seastar-dev")
    seastar = [flag for flag in _said("pkg-config", "--cflags", "seastar").split() if not flag.startswith("-std=")]
    flags = [STANDARD, *FLAGS, *WARNINGS, *seastar, *(f"-I{RUNTIMES / part}" for part in PARTS),
             f'-DLAB_FLAGS="{STANDARD} {" ".join(FLAGS)}"', f'-DLAB_SEASTAR_VERSION="{version}"']
    sources = [path for part in PARTS for path in sorted((RUNTIMES / part).glob("*.cpp"))]
    objects = [folder / f"{path.parent.name}-{path.stem}.o" for path in sources]
    _at_once([partial(_in_root, "g++", *flags, "-c", source, "-o", made) for source, made in zip(sources, objects)])
    loader, libraries = _loader()
    # A search path of the newer kind would not be looked at for what the libraries need themselves.
    _in_root("g++", *objects, "-o", folder / program().name, f"-Wl,--dynamic-linker={loader}",
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
    patterns = ("lib*/ld-linux*.so.*", "usr/lib/*-linux-gnu")
    found = [next(iter(sorted(root().glob(pattern))), None) for pattern in patterns]
    if None in found:
        raise SeastarError(f"{root()} has no loader of programs: scripts/root --remove sid, and it is made anew")
    return found[0], found[1]


def run(*arguments: str) -> None:
    """scripts/root, whose output goes to the log. Raises SeastarError with the first that was said of an error."""
    print(f"$ scripts/root {' '.join(arguments)}\n", end="", flush=True)
    said: list[str] = []
    with subprocess.Popen([SCRIPT, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace") as process:
        try:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                said = [*said[-200:], line.strip()]
        except BaseException:
            # An interruption that it has not had itself. Popen waits for it.
            process.terminate()
            raise
    if process.returncode != 0:
        errors = [line for line in said if ERROR.search(line)] or [line for line in said if line][-1:]
        # A result file is no place for the names of mirrors.
        raise SeastarError(ADDRESS.sub("the mirror", errors[0]) if errors else f"scripts/root: status {process.returncode}")


def output(*arguments: str) -> str:
    """What scripts/root prints. Raises SeastarError."""
    done = subprocess.run([SCRIPT, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SeastarError(done.stderr.strip() or f"scripts/root: status {done.returncode}")
    return done.stdout


def _in_root(*command: str | Path) -> None:
    run("sid", "--", *(str(word) for word in command))


def _said(*command: str) -> str:
    return output("sid", "--", *command)


def _made_of() -> str:
    """Another text where the sources, this file or the root is another one."""
    files = [Path(__file__), *(path for part in PARTS for path in sorted((RUNTIMES / part).iterdir())
                               if path.suffix in (".cpp", ".hpp"))]
    digest = sha256(b"".join(sha256(path.read_bytes()).digest() for path in files)).hexdigest()
    made = root() / "made-of.txt"
    return f"{digest}\n{made} {made.stat().st_mtime_ns}\n"


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
    except (SeastarError, OSError) as error:
        print(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
