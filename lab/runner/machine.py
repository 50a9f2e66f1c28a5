"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

COMPILERS = ("g++", "clang++-19", "rustc")
GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


def describe(root: Path, coflux_version: str | None) -> dict[str, Any]:
    """The `machine` object of results.json."""
    commit = _said(["git", "-c", f"safe.directory={root}", "-C", str(root), "rev-parse", "--verify", "HEAD"])
    changes = _said(["git", "-c", f"safe.directory={root}", "-C", str(root), "status", "--porcelain"])
    cpus = Path("/proc/cpuinfo")
    return {
        "cpu_model": _field(cpus, "model name", ":"),
        # One name has several families, and some processors have none.
        "cpu_family": _field(cpus, "cpu family", ":"), "cpu_model_number": _field(cpus, "model", ":"),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": f"{platform.system()} {platform.release()}",
        "distribution": (_field(Path("/etc/os-release"), "PRETTY_NAME", "=") or "unknown").strip('"'),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "governor": GOVERNOR.read_text(encoding="utf-8").strip() if GOVERNOR.is_file() else None,
        "compilers": {name: said.splitlines()[0] for name in COMPILERS if (said := _said([name, "--version"]))},
        "date_utc": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "git_commit": commit,
        # Without a commit there is nothing to be different from.
        "git_dirty": bool(changes) if commit else None,
        "coflux_version": coflux_version,
    }


def difference(old: dict[str, Any], new: dict[str, Any]) -> str | None:
    """What keeps the figures of two machines from being put side by side, or None."""
    differs = [name for name in ("cpu_model", "cores", "kernel", "memory_bytes") if old.get(name) != new.get(name)]
    # Files of before do not have them.
    differs += [name for name in ("cpu_family", "cpu_model_number") if name in old and name in new and old[name] != new[name]]
    return ", ".join(f"{name}: {old.get(name)} and {new.get(name)}" for name in differs) or None


def _said(command: list[str]) -> str | None:
    """What a command prints, or None where there is no such command or it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _field(path: Path, key: str, separator: str) -> str | None:
    """The value of the first `key separator value` line of a file."""
    if not path.is_file():
        return None
    for line in path.read_text(encoding="utf-8").splitlines():
        name, found, value = line.partition(separator)
        if found and name.strip() == key:
            return value.strip()
    return None
