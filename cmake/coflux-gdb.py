"""gdb loads this with the library of its name: the command `coflux`."""

from pathlib import Path

import gdb

share = next(folder for folder in Path(__file__).resolve().parents if (folder / "coflux/coflux_debugger").is_dir())
gdb.execute(f"source {share}/coflux/coflux_debugger/for_gdb.py")
