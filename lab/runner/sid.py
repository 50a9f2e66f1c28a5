"""A root of Debian sid, for what is packaged there alone.

debootstrap makes it from the mirror that this machine's apt has, and apt in it installs packages. It is used for
building, by chroot, and for the libraries of what was built, which runs outside. What the commands print goes to
stdout, for a log.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SUITE = "sid"
# In FOLDER: what it was made of.
MADE_OF = "made-of.txt"
# Of apt's configuration: how it fetches. The rest names files of this machine.
FETCHING = ("Acquire::Check-Valid-Until", "Acquire::Check-Date", "Acquire::Retries", "Acquire::ForceIPv4",
            "Acquire::ForceIPv6", "Acquire::http::Proxy", "Acquire::http::Timeout", "Acquire::https::Proxy",
            "Acquire::https::Timeout")
MOUNTS = Path("/proc/self/mounts")
# What apt, debootstrap, g++ and the linker say of what they failed at.
ERROR = re.compile(r"^E: |error: |undefined reference")
ADDRESS = re.compile(r"\w+://\S+")


class SidError(Exception):
    """There is no root, and why."""


def cache_folder() -> Path:
    """Where a root is kept: making one takes minutes, and every build tree can use it."""
    chosen = os.environ.get("XDG_CACHE_HOME")
    return (Path(chosen) if chosen else Path.home() / ".cache") / "coflux-lab"


def provide(packages: Path, folder: Path) -> None:
    """Makes the root in the folder, with the packages that a file names, or leaves it as it is where it was made of the
    same. An interruption leaves none. Raises SidError."""
    wanted = names(packages.read_text(encoding="utf-8"))
    text = "".join(f"{name}\n" for name in wanted)
    with alone(folder):
        made_of = folder / MADE_OF
        if made_of.is_file() and made_of.read_text(encoding="utf-8") == text:
            return
        require_tools("debootstrap", "apt-get", "chroot")
        beside = folder.with_name(f"{folder.name}.part")
        remove(beside)
        try:
            _make(beside, wanted)
            (beside / MADE_OF).write_text(text, encoding="utf-8")
            remove(folder)
            # At once, so that an interruption leaves none.
            beside.rename(folder)
        finally:
            remove(beside)


def names(packages: str) -> list[str]:
    return [line for line in packages.splitlines() if line and not line.startswith("#")]


def require_tools(*tools: str) -> None:
    """Root's rights, and what else the machine must have."""
    if os.geteuid() != 0:
        raise SidError(f"a root of Debian {SUITE} needs the rights of root: run scripts/lab as root")
    for tool in tools:
        if shutil.which(tool) is None:
            raise SidError(f"no {tool}: install {tool}" if tool == "debootstrap" else f"no {tool}: this is not Debian")


def run(*command: str | Path, env: dict[str, str] | None = None) -> None:
    """A command whose output goes to the log. Raises SidError with the last that it said of an error."""
    words = [str(word) for word in command]
    print(f"$ {' '.join(words)}\n", end="", flush=True)
    said: list[str] = []
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", env=env) as process:
        try:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                said = [*said[-200:], line.strip()]
        except BaseException:
            # An interruption that it has not had itself. Popen waits for it.
            process.terminate()
            raise
    if process.returncode != 0:
        what = words[2] if words[0] == "chroot" else words[0]
        errors = [line for line in said if ERROR.search(line)] or [line for line in said if line][-1:]
        # A result file is no place for the names of mirrors.
        reason = ADDRESS.sub("the mirror", errors[0]) if errors else f"exit status {process.returncode}"
        raise SidError(f"{what}: {reason}")


def output(*command: str | Path, env: dict[str, str] | None = None) -> str:
    """What a command prints. Raises SidError."""
    words = [str(word) for word in command]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env, check=False)
    if done.returncode != 0:
        raise SidError(f"{words[0]}: {done.stderr.strip() or f'exit status {done.returncode}'}")
    return done.stdout


def environment() -> dict[str, str]:
    """Of a process in the root: of this machine's only what says how to fetch."""
    proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive", **proxies}


def mirror() -> str:
    """Where this machine's apt has Debian from; archives of updates are others."""
    found = output("apt-get", "indextargets", "--format", "$(ORIGIN)|$(CODENAME)|$(REPO_URI)", "Created-By: Packages")
    for line in found.splitlines():
        origin, _, rest = line.partition("|")
        codename, _, uri = rest.partition("|")
        if origin == "Debian" and uri and "-" not in codename:
            return uri
    raise SidError("apt has no archive of Debian with its lists: run apt-get update")


def fetching() -> str:
    """What this machine's apt is told of fetching, as a file of its configuration."""
    return "".join(f"{line}\n" for line in output("apt-config", "dump", "Acquire").splitlines()
                   if line.startswith(FETCHING) and not line.partition(" ")[0].lower().endswith("auto-detect"))


def _make(root: Path, packages: list[str]) -> None:
    source = mirror()
    # It has no configuration of apt's: what fetches for it asks the environment.
    told = environment() | {f"{scheme}_proxy": proxy for scheme in ("http", "https") if (proxy := _proxy(scheme))}
    run("debootstrap", "--variant=minbase", "--include=ca-certificates", SUITE, root, source, env=told)
    suites = [SUITE, *sorted({name.partition("/")[2] for name in packages if "/" in name})]
    apt = root / "etc" / "apt"
    (apt / "sources.list").write_text("".join(f"deb {source} {suite} main\n" for suite in suites), encoding="utf-8")
    (apt / "apt.conf.d" / "99lab").write_text(f'APT::Install-Recommends "false";\n{fetching()}', encoding="utf-8")
    run("chroot", root, "apt-get", "update", env=environment())
    run("chroot", root, "apt-get", "install", "--yes", *packages, env=environment())
    run("chroot", root, "apt-get", "clean", env=environment())


def _proxy(scheme: str) -> str:
    for line in fetching().splitlines():
        name, _, value = line.partition(" ")
        if name == f"Acquire::{scheme}::Proxy":
            return value.strip('";')
    return ""


def remove(folder: Path) -> None:
    """And what an interrupted debootstrap has left mounted below it: a removal would reach into the machine's own."""
    if not folder.exists():
        return
    if MOUNTS.is_file():
        below = [mount.split()[1] for mount in MOUNTS.read_text(encoding="utf-8").splitlines()]
        for mount in reversed([each for each in below if each.startswith(f"{folder.resolve()}/")]):
            run("umount", mount)
    run("rm", "--recursive", "--force", "--one-file-system", folder)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Waits for another scripts/lab that makes the root or builds in it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
