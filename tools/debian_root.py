#!/usr/bin/python3
"""Roots of Debian suites: `scripts/root`. What runs in one finds the checkout and nothing else of this machine.

debootstrap makes a root from the mirror that this machine's apt has, and a recipe installs what it is for. A root is
kept in a cache folder until its recipe changes. A command runs in it in a mount namespace of its own, so that no mount
outlives the command: the checkout stands where it stands outside, and beside it /proc, /sys, /dev, the compiler cache,
the settings of the registries' clients, and this machine's certificates.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO

import tree

SETUP = Path("scripts/setup")
# What installs the packages of a root: scripts/setup with an argument, or a list in a file.
RECIPES: dict[str, list[str] | Path] = {
    "bookworm": [str(SETUP), "--lab", "--kafka"], "trixie": [str(SETUP), "--gcc"],
    "sid": Path("lab/runtimes/seastar/packages.txt"),
    "compilers-trixie": Path("tools/compilers/trixie.txt"), "compilers-sid": Path("tools/compilers/sid.txt")}
# In a root: what it was made of.
MADE_OF = "made-of.txt"
# What apt is told of fetching. The rest of its configuration names files of this machine.
FETCHING = ("Acquire::Check-Valid-Until", "Acquire::Check-Date", "Acquire::Retries", "Acquire::ForceIPv4",
            "Acquire::ForceIPv6", "Acquire::http::Proxy", "Acquire::http::Timeout", "Acquire::https::Proxy",
            "Acquire::https::Timeout")
# What the clients of the registries are told in variables.
TOLD = re.compile(r"(?i:https?|ftp|all|no)_proxy|CARGO_(?:HTTP|NET|REGISTR)\w+|"
                  r"SSL_CERT_FILE|CURL_CA_BUNDLE|REQUESTS_CA_BUNDLE|"
                  r"PIP_(?:CERT|DEFAULT_TIMEOUT|EXTRA_INDEX_URL|INDEX_URL|RETRIES|TRUSTED_HOST)")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
# The same, as Java has them.
JAVA_CERTIFICATES = Path("/etc/ssl/certs/java/cacerts")
MOUNTS = Path("/proc/self/mounts")
# No mount that is made in it is seen outside or outlives it.
NAMESPACE = ("unshare", "--mount", "--propagation", "private")
# The home of the one user that a root has.
HOME = Path("/") / "root"
# The command and its arguments follow the folder.
START = 'cd "$0" && exec "$@"'


class RootError(Exception):
    """There is no root, and why."""


def cache_folder() -> Path:
    """Where roots are kept: making one takes minutes, and every checkout can use it."""
    chosen = os.environ.get("XDG_CACHE_HOME")
    return (Path(chosen) if chosen else Path.home() / ".cache") / "coflux" / "roots"


def folder(suite: str) -> Path:
    return cache_folder() / suite


def names(packages: str) -> list[str]:
    return [line for line in packages.splitlines() if line and not line.startswith("#")]


def recipe(suite: str) -> str:
    """The text that a root is made of: another one asks for another root."""
    made_by = RECIPES[suite]
    if isinstance(made_by, Path):
        return "".join(f"{name}\n" for name in names((tree.ROOT / made_by).read_text(encoding="utf-8")))
    return f"{' '.join(made_by)} {sha256((tree.ROOT / SETUP).read_bytes()).hexdigest()}\n"


def is_made(suite: str) -> bool:
    made_of = folder(suite) / MADE_OF
    return made_of.is_file() and made_of.read_text(encoding="utf-8") == recipe(suite)


def provide(suite: str) -> None:
    """Makes the root, or leaves it as it is where it was made of the same. An interruption leaves none. Raises
    RootError."""
    with locked(suite, fcntl.LOCK_SH):
        if is_made(suite):
            return
    with locked(suite, fcntl.LOCK_EX):
        if is_made(suite):
            return
        require_rights()
        beside, log = (folder(suite).with_name(f"{suite}.{kind}") for kind in ("part", "log"))
        print(f"scripts/root: makes a root of Debian {suite}, which takes a minute or two; log: {log}", file=sys.stderr)
        log.unlink(missing_ok=True)
        require_tools(log)
        remove(beside)
        try:
            make(suite, beside, log)
            (beside / MADE_OF).write_text(recipe(suite), encoding="utf-8")
            remove(folder(suite))
            # At once, so that an interruption leaves none.
            beside.rename(folder(suite))
        finally:
            remove(beside)


def require_rights() -> None:
    if os.geteuid() != 0:
        raise RootError("a root of Debian needs the rights of root")


def require_tools(log: Path) -> None:
    """What makes roots: debootstrap is installed where it is missing."""
    if shutil.which("apt-get") is None:
        raise RootError("no apt-get: this is not Debian")
    if shutil.which("debootstrap") is None or mirror() is None:
        run(log, "apt-get update", "apt-get", "-q", "update", env=environment())
    if shutil.which("debootstrap") is None:
        run(log, "apt-get install", "apt-get", "-q", "install", "--yes", "--no-install-recommends", "debootstrap",
            env=environment())


def run(log: Path, name: str, *command: str | Path, env: dict[str, str] | None = None) -> None:
    """A command whose output goes to the log. Raises RootError, which names it; the log's end goes to stderr then."""
    with log.open("a", encoding="utf-8") as said:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=env, check=False)
    if done.returncode != 0:
        print(*log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:], sep="\n", file=sys.stderr)
        raise RootError(f"{name} ended with status {done.returncode}; the whole of its output is in {log}")


def output(*command: str) -> str:
    """What a command prints, or nothing where it fails."""
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout


def environment() -> dict[str, str]:
    """A process in a root gets of this machine's only what says how to fetch."""
    told = {name: value for name, value in os.environ.items() if TOLD.fullmatch(name)}
    return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(HOME),
            "LC_ALL": "C.UTF-8", "TERM": os.environ.get("TERM", "dumb"), "DEBIAN_FRONTEND": "noninteractive", **told}


def mirror() -> str | None:
    """Where this machine's apt has Debian from; archives of updates are others."""
    found = output("apt-get", "indextargets", "--format", "$(ORIGIN)|$(CODENAME)|$(REPO_URI)", "Created-By: Packages")
    for line in found.splitlines():
        origin, _, rest = line.partition("|")
        codename, _, uri = rest.partition("|")
        if origin == "Debian" and uri and "-" not in codename:
            return uri
    return None


def fetching() -> str:
    """What this machine's apt is told of fetching, as a file of its configuration."""
    return "".join(f"{line}\n" for line in output("apt-config", "dump", "Acquire").splitlines()
                   if line.startswith(FETCHING) and not line.partition(" ")[0].lower().endswith("auto-detect"))


def proxy(scheme: str) -> str:
    for line in fetching().splitlines():
        name, _, value = line.partition(" ")
        if name == f"Acquire::{scheme}::Proxy":
            return value.strip('";')
    return ""


def make(suite: str, root: Path, log: Path) -> None:
    source = mirror()
    if source is None:
        raise RootError("apt has no archive of Debian")
    # debootstrap has no configuration of apt's: what fetches for it asks the environment.
    told = environment() | {f"{scheme}_proxy": each for scheme in ("http", "https") if (each := proxy(scheme))}
    debian = suite.removeprefix("compilers-")
    run(log, "debootstrap", *NAMESPACE, "debootstrap", "--variant=minbase", debian, root, source, env=told)
    made_by = RECIPES[suite]
    packages = recipe(suite).splitlines() if isinstance(made_by, Path) else []
    suites = [debian, *sorted({name.partition("/")[2] for name in packages if "/" in name} - {debian})]
    apt = root / "etc" / "apt"
    (apt / "sources.list").write_text("".join(f"deb {source} {each} main\n" for each in suites), encoding="utf-8")
    (apt / "apt.conf.d" / "99coflux").write_text(f'APT::Install-Recommends "false";\nAcquire::Retries "3";\n{fetching()}', encoding="utf-8")
    # It is made anew where it breaks: dpkg need not wait for the disk.
    (root / "etc" / "dpkg" / "dpkg.cfg.d" / "coflux").write_text("force-unsafe-io\n", encoding="utf-8")
    install = [["apt-get", "-q", "update"], ["apt-get", "-q", "install", "--yes", "ca-certificates", *packages]] \
        if isinstance(made_by, Path) else [made_by]
    for command in [*install, ["apt-get", "clean"]]:
        run(log, f"{' '.join(command[:3])}, in the root,", *inside(root, command, certificates=False))


def inside(root: Path, command: list[str], certificates: bool = True) -> list[str]:
    """The command as it runs in the root, from the checkout."""
    home = Path.home()
    # The folders and files that it sees of this machine, and where. While certificates are installed, they are the
    # root's.
    shared = [(Path("/dev"), Path("/dev")), (Path("/sys"), Path("/sys")), (tree.ROOT, tree.ROOT),
              (compiler_cache(), HOME / ".cache/ccache")]
    settings = [(Path("/etc/resolv.conf"),) * 2, (Path("/etc/hosts"),) * 2, (Path("/etc/pip.conf"),) * 2,
                (home / ".config/pip/pip.conf", HOME / ".config/pip/pip.conf"),
                (home / ".cargo/config.toml", HOME / ".cargo/config.toml"),
                (home / ".m2/settings.xml", HOME / ".m2/settings.xml")]
    if certificates:
        settings += [(CERTIFICATES,) * 2, (JAVA_CERTIFICATES,) * 2]
    place = shlex.quote(str(root))
    # In a root of its own a process asks for its mounts by the root folder: that must be one.
    steps = ["set -e", f"mount --bind {place} {place}", f"mount -t proc proc {place}/proc"]
    for what, where in shared:
        there = f"{place}{shlex.quote(str(where))}"
        steps += [f"mkdir -p {there}", f"mount --rbind {shlex.quote(str(what))} {there}"]
    for what, where in settings:
        if what.is_file():
            there = f"{place}{shlex.quote(str(where))}"
            steps += [f"mkdir -p {place}{shlex.quote(str(where.parent))}", f"[ -e {there} ] || touch {there}",
                      f"mount --bind {shlex.quote(str(what.resolve()))} {there}",
                      f"mount -o remount,bind,ro {there}"]
    variables = [f"{name}={value}" for name, value in environment().items()]
    steps.append('exec chroot "$@"')
    return [*NAMESPACE, "/bin/sh", "-c", "\n".join(steps), "sh", str(root), "/usr/bin/env", "-i", *variables,
            "/bin/sh", "-c", START, str(tree.ROOT), *command]


def compiler_cache() -> Path:
    """Made where it is missing, so that the next run finds what this one compiles."""
    chosen = os.environ.get("CCACHE_DIR")
    cache = Path(chosen) if chosen else Path.home() / ".cache" / "ccache"
    cache.mkdir(parents=True, exist_ok=True)
    return cache.resolve()


def remove(root: Path) -> None:
    """Unmounts what is mounted below first, and removes nothing while something is: a removal would reach into it.
    Raises RootError."""
    if not root.exists():
        return
    for mount in reversed(mounted_below(root)):
        subprocess.run(["umount", mount], check=False)
    if left := mounted_below(root):
        raise RootError(f"{left[0]} is still mounted: unmount it, and {root} can be removed")
    if subprocess.run(["rm", "--recursive", "--force", "--one-file-system", root], check=False).returncode != 0:
        raise RootError(f"{root} could not be removed")


def mounted_below(root: Path) -> list[str]:
    if not MOUNTS.is_file():
        return []
    places = [mount.split()[1] for mount in MOUNTS.read_text(encoding="utf-8").splitlines()]
    return [place for place in places if place.startswith(f"{root.resolve()}/")]


def remove_suite(suite: str) -> None:
    """Raises RootError where a command runs in it."""
    if not cache_folder().is_dir():
        return
    require_rights()
    with locked(suite, fcntl.LOCK_EX | fcntl.LOCK_NB):
        remove(folder(suite).with_name(f"{suite}.part"))
        remove(folder(suite))


@contextmanager
def locked(suite: str, how: int) -> Iterator[IO[str]]:
    """LOCK_EX: alone with the root, to make or to remove it. LOCK_SH: beside others that run in it. Raises RootError
    where it must not wait and would."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with folder(suite).with_name(f"{suite}.lock").open("a", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, how)
        except BlockingIOError:
            raise RootError(f"a command runs in {folder(suite)}") from None
        yield lock


def run_in(suite: str, command: list[str]) -> None:
    """Becomes the command, which holds its share of the lock to its end. Raises RootError."""
    provide(suite)
    with locked(suite, fcntl.LOCK_SH) as lock:
        if not is_made(suite):
            raise RootError(f"{folder(suite)} was removed meanwhile")
        os.set_inheritable(lock.fileno(), True)
        words = inside(folder(suite), command)
        os.execvp(words[0], words)


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="scripts/root", formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="scripts/root SUITE [-- COMMAND [ARGUMENT...]]\n       scripts/root --path SUITE\n"
              "       scripts/root --remove [SUITE...]",
        description="Makes a root of a Debian suite, or keeps the one that is there, and runs a command of this checkout in it.",
        epilog="suites:\n  bookworm  an empty Debian 12 with what scripts/setup --lab --kafka installs\n"
               "  trixie    an empty Debian 13 with what scripts/setup --gcc installs: g++ 14\n"
               "  sid       what the lab's adapter of Seastar needs\n"
               "  compilers-trixie, compilers-sid  the compilers of scripts/matrix\n"
               f"They stand in {cache_folder()}, and are made anew where scripts/setup or the list of packages has changed.")
    parser.add_argument("--path", action="store_true", help="print where the root is, and fail where there is none")
    parser.add_argument("--remove", action="store_true", help="remove the roots of these suites, or all")
    parser.add_argument("suite", nargs="*", metavar="SUITE", help=f"one of {', '.join(RECIPES)}")
    arguments, command = sys.argv[1:], []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, command = arguments[:at], arguments[at + 1:]
        if not command:
            parser.error("no command stands after --")
    chosen = parser.parse_args(arguments)
    if unknown := [suite for suite in chosen.suite if suite not in RECIPES]:
        parser.error(f"unknown suite '{unknown[0]}' (allowed: {', '.join(RECIPES)})")
    if not chosen.remove and len(chosen.suite) != 1:
        parser.error(f"it takes one suite ({', '.join(RECIPES)})")
    if command and (chosen.remove or chosen.path):
        parser.error("a command stands with a suite alone")
    try:
        if chosen.remove:
            for suite in chosen.suite or RECIPES:
                remove_suite(suite)
        elif chosen.path:
            if not is_made(chosen.suite[0]):
                raise RootError(f"there is no root of {chosen.suite[0]}: scripts/root {chosen.suite[0]} makes it")
            print(folder(chosen.suite[0]))
        elif command:
            run_in(chosen.suite[0], command)
        else:
            provide(chosen.suite[0])
            print(folder(chosen.suite[0]))
    except (RootError, OSError) as error:
        print(f"scripts/root: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("scripts/root: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
