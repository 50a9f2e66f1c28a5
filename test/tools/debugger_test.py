#!/usr/bin/python3
"""`coflux tasks`, `bt` and `stuck` in gdb on a program that stands still, live, by its core and
stripped, compared with what inspect::dump() says in that program."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, MODULE, SOURCES = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
sys.path.insert(0, str(MODULE.parent))
from coflux_debugger import commands, layout, names  # noqa: E402

STATES = {
    "ended": "has ended; its result is not taken yet",
    "joins": "waits for the ends of its children, {children}",
    "waits": "waits for {waits_for} at {address}",
    "generator": "a generator between two elements",
    "unawaited": "was made, and is not awaited yet",
}


def gdb(*commands_of_gdb: str, program: Path = PROGRAM) -> dict[str, str]:
    """What each command prints."""
    words = ["gdb", "-nx", "-q", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set auto-load off"]
    for number, command in enumerate(commands_of_gdb):
        words += ["-ex", f"echo \\n==== {number}\\n", "-ex", command]
    ran = subprocess.run([*words, str(program)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                         timeout=120, check=False, text=True, errors="replace")
    parts = re.split(r"\n==== \d+\n", ran.stdout)[1:]
    return dict(zip(commands_of_gdb, (part.strip("\n") for part in parts)))


def why_no_gdb() -> str | None:
    if shutil.which("gdb") is None:
        return "there is no gdb (Debian: gdb)"
    if "Python" not in gdb("python print('Python')", program=Path("/bin/true"))["python print('Python')"]:
        return "this gdb has no Python"
    said = gdb("starti", program=Path("/bin/true"))["starti"]
    return None if "Program stopped" in said else f"gdb may not run a program here: {said}"


def line_of(c: dict, all_of_them: dict) -> str:
    """Of `coflux tasks`, from what the dump says."""
    def where(c):
        return f"{c['function']} at {c['file']}:{c['line']}" if "line" in c else "a coroutine whose place is not known"
    if c["state"] == "awaits":
        state = f"awaits {where(all_of_them[c['awaited']])}" if c["awaits"] == 1 else f"awaits {c['awaits']} coroutines"
    elif c["state"] == "waits" and "address" not in c:
        state = f"waits for {c['waits_for']}"
    else:
        state = STATES[c["state"]].format(**c)
    if "holder" in c:
        state += f", held by {where(all_of_them[c['holder']])}"
    return f"{c['id']}  in {where(c)}: {state}"


class Debugger(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if reason := why_no_gdb():
            print(f"skipped: {reason}")
            sys.exit(77)
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.source = f"source {MODULE / 'for_gdb.py'}"

    def stopped(self, *words: str, how: str = "sleep", many: int = 3, program: Path = PROGRAM) -> tuple[dict, dict]:
        """What the commands say of it, and what its dump does, by id."""
        file = self.folder / "dump.json"
        said = gdb(self.source, f"run {file} {how} {many}", *words, program=program)
        dump = json.loads(file.read_text(encoding="utf-8"))
        self.assertEqual(dump["left_out"], 0)
        return said, {c["id"]: c for c in dump["coroutines"]}

    def assert_tasks(self, said: str, dump: dict) -> None:
        self.assertEqual(said.splitlines()[0], f"coflux: {len(dump)} coroutines")
        self.assertEqual(sorted(said.splitlines()[1:]), sorted(line_of(c, dump) for c in dump.values()))

    def test_tasks_are_those_of_the_dump(self):
        said, dump = self.stopped("coflux tasks", "coflux tasks --where in take.*mutex", "coflux tasks --where (")
        self.assertEqual({c["state"] for c in dump.values()}, {"awaits", *STATES})
        self.assert_tasks(said["coflux tasks"], dump)
        found = said["coflux tasks --where in take.*mutex"].splitlines()
        self.assertEqual(found[1:-1], [line_of(c, dump) for c in dump.values() if c.get("function") == "take" and c["state"] == "waits"])
        self.assertEqual(found[-1], "2 of them with 'in take.*mutex'")
        self.assertIn("unterminated subpattern", said["coflux tasks --where ("])

    def test_of_many_tasks_a_hundred_are_shown(self):
        said, dump = self.stopped("coflux tasks", "coflux tasks --all", many=20_000)
        lines = said["coflux tasks"].splitlines()
        self.assertEqual(len(lines), 102)
        self.assertEqual(lines[-1], f"and {len(dump) - 100} more: coflux tasks --all, or --where RE")
        self.assert_tasks(said["coflux tasks --all"], dump)

    def test_stuck_marks_what_nothing_can_wake(self):
        said, _ = self.stopped("coflux stuck", how="still")
        self.assertRegex(said["coflux stuck"], r"2 coroutines: waits for a mutex, held by transfer at .*planted_deadlock.cpp:\d+"
                         "  <- no coroutine is left to run that could end it\n"
                         r"    in take at .*planted_deadlock.cpp:\d+, as 0x[0-9a-f]+\n    below transfer at .*\n    below day at ")
        self.assertIn("none waits for time or I/O: 7 waits can be ended by nothing but another thread", said["coflux stuck"])
        (ring,) = re.findall("a deadlock: each waits for the next, and the last for the first: (.*)", said["coflux stuck"])
        self.assertEqual(len(ring.split(", ")), 4)
        said, _ = self.stopped("coflux stuck", how="sleep")
        self.assertRegex(said["coflux stuck"], "1 coroutine: waits for a moment in time\n")
        self.assertIn("no coroutine runs or is queued; 1 wait is for time", said["coflux stuck"])

    def test_bt_goes_up_with_locals(self):
        find = "python take = [l.split()[0] for l in gdb.execute('coflux tasks', to_string=True).splitlines() if 'in take' in l and 'mutex' in l]"
        show = "python gdb.execute('coflux bt ' + take[0])"
        said, dump = self.stopped(find, show, "coflux bt 1", "coflux bt", "coflux else", "coflux")
        text = said[show]
        take = dump[text.split()[1]]
        transfer = dump[take["parent"]]
        self.assertIn(f"#0  {take['id']}  in take at {take['file']}:{take['line']}\n    waits for a mutex at {take['address']}, held by transfer at ", text)
        self.assertIn(f"#1  awaited by {transfer['id']}  in transfer at ", text)
        self.assertIn(f"#2  made in {transfer['parent']}  in day at ", text)
        amount = int(re.search(r"^    amount = (\d)$", text, re.MULTILINE)[1])
        self.assertRegex(text, rf"(?m)^    twice = {2 * amount}$")
        self.assertIn("\n    first = ", text)
        self.assertNotRegex(text, r"(?m)^    (\S*_\d|_|Is|Fs)\S* = ")
        self.assertRegex(text, rf"(?m)^    to = (\(.*\) )?{take['address']}$")
        self.assertRegex(text, r"(?m)^    many = 3$")
        self.assertNotIn("debug information", text)
        self.assertIn("there is no coroutine 0x1", said["coflux bt 1"])
        for wrong in ("coflux bt", "coflux else", "coflux"):
            self.assertIn("coflux bt ID ", said[wrong])

    def test_cores_and_stripped_programs(self):
        core = self.folder / "core"
        _, dump = self.stopped(f"gcore {core}")
        said = gdb(self.source, f"core-file {core}", "coflux tasks")
        self.assert_tasks(said["coflux tasks"], dump)
        if shutil.which("strip") is None:
            self.skipTest("there is no strip (Debian: binutils)")
        stripped = self.folder / "stripped"
        subprocess.run(["strip", "-o", stripped, PROGRAM], check=True)
        bt = f"coflux bt {next(c['id'] for c in dump.values() if c.get('function') == 'take' and c['state'] == 'waits')}"
        said = gdb(self.source, f"core-file {core}", "coflux tasks", bt, program=stripped)
        self.assert_tasks(said["coflux tasks"], dump)
        self.assertIn("\n#1  awaited by ", said[bt])
        self.assertIn("without debug information", said[bt])
        said, dump = self.stopped("coflux tasks", program=stripped)
        self.assert_tasks(said["coflux tasks"], dump)

    def test_a_program_without_coflux(self):
        said = gdb(self.source, "starti", "coflux tasks", program=Path("/bin/true"))
        self.assertIn("has no coflux_debug_layout", said["coflux tasks"])


class Text(unittest.TestCase):
    def test_another_version_of_the_layout_is_refused(self):
        class Memory:
            def read(self, _address, size):
                return (layout.MAGIC + struct.pack("<II", layout.VERSION + 1, size)).ljust(size, b"\0")

            def symbol(self, _name):
                return 4096
        with self.assertRaisesRegex(layout.Unreadable, "version 2"):
            layout.find_layout(Memory())

    def test_names_are_those_of_the_dump(self):
        for function, name in (
                ("coflux::fork<void> bank::transfer(auto &&, int) [env:auto = x]", "bank::transfer"),
                ("void bank::transfer(bank::transfer<int>(int)::_ZN4bank8transferIiE.Frame*)", "bank::transfer"),
                ("auto main()::(anonymous class)::operator()(int) const", "main()::lambda"),
                ("void (anonymous namespace)::f(int)", "f")):
            self.assertEqual(names.readable_name(function), name)

    def test_coroutines_that_await_each_other_are_named(self):
        class C:
            def __init__(self, number, needs):
                self.id, self.needs = number, needs

        class S:
            # 5 joins 6, which goes on, and 7, which waits for 5 itself.
            coroutines = all = {number: C(number, needs) for number, *needs in (
                (1, 2), (2, 3), (3, 2), (4, 1), (5, 6, 7), (6,), (7, 5), (8, 6))}

            @classmethod
            def needs(cls, c):
                return [cls.all[number] for number in c.needs]
        self.assertEqual([[c.id for c in ring] for ring in commands.cycles(S)], [[2, 3], [5, 7]])

    def test_what_comes_from_outside_is_named_as_the_library_does(self):
        text = "".join(path.read_text(encoding="utf-8") for top in ("include", "src") for path in (SOURCES / top).rglob("*.?pp"))
        for what in commands.FROM_OUTSIDE:
            self.assertIn(f'"{what}"', text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
