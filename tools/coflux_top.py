#!/usr/bin/python3
"""Shows the coroutines of a running program, as top shows processes.

    coflux-top PID            reads its memory: nothing is run in the program, and it is not stopped
    coflux-top --url URL      asks its inspector (coflux::inspect::serve), as http://127.0.0.1:9000
    coflux-top --socket PATH  the same, on a local socket
    coflux-top --once …       prints the groups, once
"""

from __future__ import annotations

import argparse
import curses
import http.client
import json
import os
import socket
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
for place in (HERE, HERE.parent / "share" / "coflux"):
    if (place / "coflux_debugger").is_dir():
        sys.path.insert(0, str(place))
from coflux_debugger.layout import Unreadable  # noqa: E402
from coflux_debugger.process_memory import ProcessMemory  # noqa: E402
from coflux_debugger.snapshot import Snapshot  # noqa: E402

ATTEMPTS = 5  # the program goes on while it is read
MOST_TEXT = 64 * 1024 * 1024  # what an inspector gives


@dataclass
class Row:
    """A coroutine."""
    id: int
    above: int | None  # the one that it was made in
    state: str
    kind: str  # its state without what differs within a group
    where: str
    bytes: int


@dataclass
class Group:
    state: str
    where: str
    members: list[Row] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        return sum(row.bytes for row in self.members)


@dataclass
class View:
    """What there was at one moment. `awaiters`: of a coroutine, who awaits it."""
    rows: dict[int, Row]
    awaiters: dict[int, int]
    left_out: int = 0

    def groups(self) -> list[Group]:
        found: dict[tuple[str, str], Group] = {}
        for row in self.rows.values():
            found.setdefault((row.kind, row.where), Group(row.kind, row.where)).members.append(row)
        return list(found.values())

    def chain(self, wanted: int) -> Iterator[tuple[str, Row]]:
        """Upwards: who awaits it, or else in whom it was made."""
        seen: set[int] = set()
        how, at = "", wanted
        while at in self.rows and at not in seen:
            seen.add(at)
            yield how, self.rows[at]
            how, at = ("awaited by", self.awaiters[at]) if at in self.awaiters else ("made in", self.rows[at].above)


# --- where it comes from ---------------------------------------------------------------------------------------------

def by_pid(pid: int) -> View:
    for attempt in range(ATTEMPTS):
        memory = ProcessMemory(pid)
        try:
            s = Snapshot(memory)
            rows = {c.id: Row(c.id, c.above, s.state(c), s.state(c, False), s.where(c), c.bytes) for c in s.coroutines.values()}
            return View(rows, {child: awaiting[0] for child, awaiting in s.awaiters.items()})
        except (KeyError, TypeError, ValueError):  # what was read changed meanwhile
            if attempt == ATTEMPTS - 1:
                raise Unreadable("the program changes faster than it can be read: ask its inspector (--url, --socket)") from None
        finally:
            memory.close()
    raise AssertionError


class LocalConnection(http.client.HTTPConnection):
    def __init__(self, path: str):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


SENTENCES = {"ready": "is queued, or runs", "ended": "has ended; its result is not taken yet",
             "foreign": "in something foreign, queued, or runs", "generator": "a generator between two elements",
             "unawaited": "was made, and is not awaited yet"}


def by_inspector(connect: Callable[[], http.client.HTTPConnection], name: str) -> View:
    try:
        connection = connect()
        connection.request("GET", f"/dump.json?limit={MOST_TEXT}")
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
    except (OSError, http.client.HTTPException) as error:
        raise Unreadable(f"{name}: {error}") from None
    if answer.status != 200:
        raise Unreadable(f"{name}: {answer.status} {answer.reason}")
    found = json.loads(text)
    rows, awaiters = {}, {}
    places = {}
    for each in found["coroutines"]:
        i = int(each["id"], 16)
        file = each.get("file", "")
        places[i] = f"{each['function']} at {file}:{each['line']}" if "function" in each else "a coroutine whose place is not known"
    for each in found["coroutines"]:
        i, state = int(each["id"], 16), each["state"]
        kind = None
        if state == "waits":
            kind = f"waits for {each['waits_for']}"
            text = f"{kind} at {each['address']}" if "address" in each else kind
        elif state == "awaits":
            child = int(each["awaited"], 16)
            awaiters.setdefault(child, i)
            text = f"awaits {places.get(child, 'another')}" if each["awaits"] == 1 else f"awaits {each['awaits']} coroutines"
        elif state == "joins":
            text = f"waits for the ends of its children, {each['children']}"
        elif state == "running":
            kind, text = "runs on a worker", f"runs on worker {each['worker']}"
        else:
            text = SENTENCES.get(state, state)
        above = each["parent"] and int(each["parent"], 16)
        rows[i] = Row(i, above, text, kind or text, places[i], each["bytes"])
    return View(rows, awaiters, found["left_out"])


# --- text ------------------------------------------------------------------------------------------------------------

def size_text(size: int) -> str:
    for unit in ("B", "K", "M"):
        if size < 10_000:
            return f"{size}{unit}"
        size //= 1024
    return f"{size}G"


ORDERS = {"count": lambda group: (-len(group.members), group.where), "bytes": lambda group: (-group.bytes, group.where),
          "place": lambda group: (group.where, group.state), "state": lambda group: (group.state, group.where)}


def matches(text: str, wanted: str) -> bool:
    return wanted.lower() in text.lower()


def short(where: str) -> str:
    """Without the folders."""
    function, at, place = where.rpartition(" at ")
    return f"{function}{at}{place.rpartition('/')[2]}"


def group_line(group: Group) -> str:
    return f"{len(group.members):>9} {size_text(group.bytes):>6}  {short(group.where)}: {group.state}"


def row_line(row: Row) -> str:
    return f"{row.id:#x}  {short(row.where)}: {row.state}"


def heading(view: View, name: str) -> str:
    text = f"coflux-top {name}: {len(view.rows)} coroutine{'' if len(view.rows) == 1 else 's'}, " \
           f"{size_text(sum(row.bytes for row in view.rows.values()))}"
    return text + (f", and {view.left_out} that the answer leaves out" if view.left_out else "")


# --- the screen ------------------------------------------------------------------------------------------------------

class Screen:
    """`level`: groups, the coroutines of one, or the chain of one coroutine."""

    def __init__(self, window, look: Callable[[], View], name: str, every: float):
        self.window, self.look, self.name, self.every = window, look, name, every
        self.order, self.wanted, self.paused = "count", "", False
        self.level, self.chosen, self.top = 0, 0, 0
        self.group: tuple[str, str] | None = None
        self.one: int | None = None
        self.view, self.problem, self.seen_at = View({}, {}), "", 0.0
        self.typing = False

    def refresh(self) -> None:
        try:
            self.view, self.problem = self.look(), ""
        except Unreadable as error:
            self.problem = str(error)
        self.seen_at = time.monotonic()

    def lines(self) -> list[tuple[str, object]]:
        """Each with what Enter goes to."""
        if self.level == 2:
            return [(f"{how:<10} {row_line(row)}", row.id) for how, row in self.view.chain(self.one)]
        if self.level == 1:
            rows = [row for row in self.view.rows.values() if (row.kind, row.where) == self.group]
            return [(line, row.id) for row in rows if matches(line := row_line(row), self.wanted)]
        groups = sorted(self.view.groups(), key=ORDERS[self.order])
        return [(line, (group.state, group.where)) for group in groups if matches(line := group_line(group), self.wanted)]

    def draw(self) -> list[tuple[str, object]]:
        height, width = self.window.getmaxyx()
        lines = self.lines()
        self.chosen = max(0, min(self.chosen, len(lines) - 1))
        room = max(1, height - 4)
        self.top = max(min(self.top, self.chosen), self.chosen - room + 1, 0)
        self.window.erase()
        self.put(0, heading(self.view, self.name), width, curses.A_BOLD)
        keys = {0: "q quit  s sort  / filter  Enter members  p pause", 1: "q quit  / filter  Enter chain  Backspace back",
                2: "q quit  Backspace back"}[self.level]
        self.put(1, self.problem or keys, width, curses.A_BOLD if self.problem else curses.A_DIM)
        titles = {0: f"{'how many':>9} {'bytes':>6}  where: what they do   (by {self.order})", 1: "id  where: what it does", 2: "from it upwards"}
        self.put(2, titles[self.level], width, curses.A_REVERSE)
        for y, (line, _) in enumerate(lines[self.top:self.top + room]):
            self.put(3 + y, line, width, curses.A_STANDOUT if self.top + y == self.chosen else curses.A_NORMAL)
        left = len(lines) - self.top - room
        state = [f"filter: {self.wanted}{'_' if self.typing else ''}" if self.wanted or self.typing else "",
                 f"{left} more below" if left > 0 else "", "paused" if self.paused else ""]
        self.put(height - 1, "  ".join(part for part in state if part), width, curses.A_DIM)
        self.window.refresh()
        return lines

    def put(self, y: int, text: str, width: int, look: int) -> None:
        try:
            self.window.addnstr(y, 0, text.ljust(width), width - 1, look)
        except curses.error:  # the window has become smaller
            pass

    def type(self, key: int) -> None:
        if key in (10, 13, 27):
            self.typing = False
            if key == 27:
                self.wanted = ""
        elif key in (curses.KEY_BACKSPACE, 127, 8):
            self.wanted = self.wanted[:-1]
        elif 32 <= key < 127:
            self.wanted += chr(key)

    def press(self, key: int, lines: list[tuple[str, object]]) -> bool:
        """False: the end."""
        if self.typing:
            self.type(key)
        elif key in (ord("q"), ord("Q")):
            return False
        elif key == ord("/"):
            self.typing = True
        elif key == ord("p"):
            self.paused = not self.paused
        elif key == ord("s") and self.level == 0:
            orders = list(ORDERS)
            self.order = orders[(orders.index(self.order) + 1) % len(orders)]
        elif key in (curses.KEY_BACKSPACE, 127, 8, 27, curses.KEY_LEFT) and self.level > 0:
            self.level, self.chosen, self.top, self.wanted = self.level - 1, 0, 0, ""
        elif key in (10, 13, curses.KEY_ENTER, curses.KEY_RIGHT) and self.level < 2 and lines:
            goal = lines[self.chosen][1]
            if self.level == 0:
                self.group = goal
            else:
                self.one = goal
            self.level, self.chosen, self.top, self.wanted = self.level + 1, 0, 0, ""
        else:
            steps = {curses.KEY_DOWN: 1, curses.KEY_UP: -1, curses.KEY_NPAGE: 20, curses.KEY_PPAGE: -20, ord("j"): 1, ord("k"): -1}
            self.chosen += steps.get(key, 0)
        return True

    def run(self) -> None:
        curses.curs_set(0)
        self.refresh()
        while True:
            lines = self.draw()
            rest = self.every if self.paused else max(0.0, self.seen_at + self.every - time.monotonic())
            self.window.timeout(int(rest * 1000) + 1)
            key = self.window.getch()
            if key == -1:
                if not self.paused:
                    self.refresh()
            elif not self.press(key, lines):
                return


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="coflux-top", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("pid", type=int, nargs="?", metavar="PID")
    source.add_argument("--url")
    source.add_argument("--socket", metavar="PATH")
    parser.add_argument("--once", action="store_true", help="print the groups, and end")
    parser.add_argument("--every", type=float, default=2.0, metavar="SECONDS", help="how often it looks (default: 2)")
    parser.add_argument("--sort", choices=ORDERS, default="count")
    options = parser.parse_args(arguments)
    if not 0.1 <= options.every <= 3600:
        parser.error(f"--every is between 0.1 and 3600 seconds, and not {options.every:g}")
    if options.pid is not None:
        name = str(options.pid)
        look = lambda: by_pid(options.pid)  # noqa: E731
    elif options.socket:
        name = options.socket
        look = lambda: by_inspector(lambda: LocalConnection(options.socket), name)  # noqa: E731
    else:
        name = options.url
        parts = urllib.parse.urlsplit(options.url)
        if parts.scheme != "http" or not parts.hostname:
            parser.error(f"--url is as http://127.0.0.1:9000, and not {options.url}")
        look = lambda: by_inspector(lambda: http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=60), name)  # noqa: E731
    try:
        view = look()
        if options.once:
            print(heading(view, name))
            for group in sorted(view.groups(), key=ORDERS[options.sort]):
                print(group_line(group))
            return 0
        if not sys.stdout.isatty():
            parser.error("this is no terminal: --once prints the groups")
        os.environ.setdefault("ESCDELAY", "25")

        def shown(window) -> None:
            screen = Screen(window, look, name, options.every)
            screen.order = options.sort
            screen.run()
        curses.wrapper(shown)
    except Unreadable as error:
        print(f"coflux-top: {str(error).rstrip()}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, BrokenPipeError):
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
