"""Which run may measure: one on a machine, and one in a directory. A lock ends with its process, however that
ends."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Another name is another machine: for the runner's own tests.
VARIABLE = "LAB_LOCK"
NAME = "coflux-lab"


class Busy(Exception):
    """Another run has it."""


def _name() -> str:
    # Linux's abstract names: no file to leave behind, to own, or to delete.
    return "\0" + os.environ.get(VARIABLE, NAME)


def holder() -> str | None:
    """The run that measures on this machine, as far as can be told; None where there is none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        try:
            asking.connect(_name())
        except OSError:
            return None
        pid, _, _ = struct.unpack("3i", asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return f"process {pid}"


@contextmanager
def machine(wait_seconds: float) -> Iterator[None]:
    """Held while a run measures: two would measure each other. Raises Busy where it does not come free in time."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as held:
        until = time.monotonic() + wait_seconds
        while True:
            try:
                held.bind(_name())
                break
            except OSError as error:
                if time.monotonic() >= until:
                    raise Busy(f"another run of the lab measures on this machine ({holder() or 'it ends just now'}); "
                               "two at once would measure each other") from error
            time.sleep(0.5)
        held.listen()
        yield


@contextmanager
def directory(path: Path) -> Iterator[None]:
    """Held while a run writes there."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Busy(f"another run of the lab writes to {path}; choose another --out") from error
        yield
    finally:
        os.close(handle)
