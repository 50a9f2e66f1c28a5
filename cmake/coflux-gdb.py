"""gdb loads this with the library of its name: the command `coflux`."""

import sys
from pathlib import Path

share = next(folder for folder in Path(__file__).resolve().parents if (folder / "coflux/coflux_debugger").is_dir())
sys.path.insert(0, str(share / "coflux"))
import coflux_debugger.for_gdb  # noqa: E402, F401
