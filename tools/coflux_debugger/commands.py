"""The commands, as text, for whichever debugger. Each gets the memory, the words behind its name, and what shows
locals."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from .layout import Unreadable
from .snapshot import Coroutine, Snapshot

USAGE = """\
coflux tasks [--all | --where RE]  a line for each coroutine: the first hundred, all, or those whose line has a match
coflux bt ID                       a coroutine, those that await it, and those that it was made in, with locals
coflux stuck                       those that do the same at the same place, and which of them nothing here can wake
"""
SHOWN = 100  # lines of `tasks`
SHOWN_ABOVE = 4  # coroutines above one, by which groups differ: as inspect::dump() has it
DEEPEST = 1000  # lines of `bt`

# What comes from outside of the program, or with the time. All else is given by a coroutine or a thread of the program.
FROM_OUTSIDE = {
    "a moment in time", "a timer", "a value of a delay_queue", "permits of a rate_limiter", "a function on a blocking thread",
    "an operation of Asio", "a connection", "an aborted connection", "a datagram", "room for a datagram", "bytes of a pipe",
    "room in a pipe", "bytes of a socket", "bytes or descriptors of a socket", "room in a socket",
}

# Members of a frame that no user has written: of g++, which adds numbers to the name of a local, and of clang.
INNER_OF_GCC = re.compile(r"_Coro_|frame_needs_free$|((Aw|Yd|D|T)\d+|Is|Fs)(_\d+)*$")
NUMBERS = re.compile(r"_\d+_\d+$")
INNER_OF_CLANG = re.compile(r"__|PointerType(_\d+)?$|(class|struct|union)_.*_\d+$")
LONGEST = 160  # of a value

# A coroutine and the address of its frame; the lines, or None where there is no debug information.
Locals = Callable[[Coroutine, int], "list[str] | None"]


def plural(count: int, what: str = "coroutine") -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def unique_locals(members: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each that a user has written: clang's frames have a parameter twice."""
    members = [(name, " ".join(value.split())) for name, value in members]
    of_gcc = any(name == "_Coro_resume_fn" for name, _ in members)
    inner = INNER_OF_GCC if of_gcc else INNER_OF_CLANG
    lines = {}
    for name, value in members:
        if name and not inner.match(name):
            name = NUMBERS.sub("", name) if of_gcc else name
            lines[f"{name} = {value if len(value) <= LONGEST else value[:LONGEST] + '…'}"] = None
    return list(lines)


# --- tasks -----------------------------------------------------------------------------------------------------------

def tasks(memory, words: list[str], _: Locals) -> Iterator[str]:
    pattern = None
    if words[:1] == ["--where"] and len(words) >= 2:
        try:
            pattern = re.compile(" ".join(words[1:]))
        except re.error as error:
            raise Unreadable(f"coflux tasks --where: {error}") from error
    elif words not in ([], ["--all"]):
        raise Unreadable(USAGE)
    s = Snapshot(memory)
    most = len(s.coroutines) if words else SHOWN
    yield f"coflux: {plural(len(s.coroutines))}"
    shown = 0
    for c in s.coroutines.values():
        if pattern is None and shown == most:
            yield f"and {len(s.coroutines) - shown} more: coflux tasks --all, or --where RE"
            break
        line = f"{c.id:#x}  in {s.where(c)}: {s.state(c)}"
        if pattern is None or pattern.search(line):
            shown += 1
            yield line
    if pattern is not None:
        yield f"{shown} of them with '{pattern.pattern}'"


# --- bt --------------------------------------------------------------------------------------------------------------

def chain(s: Snapshot, c: Coroutine) -> Iterator[tuple[str, Coroutine]]:
    """Upwards: who awaits it, or else in whom it was made."""
    seen = {c.id}
    yield "", c
    while True:
        awaiters = s.awaiters.get(c.id, [])
        above = awaiters[0] if awaiters else c.above
        if above is None:
            return
        how = "awaited by" if awaiters else "made in"
        if len(awaiters) > 1:
            how += f" {len(awaiters)}, of which"
        c = s.all[above]
        yield how, c
        if above in seen:
            return
        seen.add(above)


def bt(memory, words: list[str], locals_of: Locals) -> Iterator[str]:
    try:
        (wanted,) = (int(word, 0) for word in words)
    except ValueError:
        raise Unreadable(USAGE) from None
    s = Snapshot(memory)
    if wanted not in s.coroutines:
        raise Unreadable(f"there is no coroutine {wanted:#x}: `coflux tasks` has the ids")
    unknown = False
    seen = set()
    for number, (how, c) in enumerate(chain(s, s.coroutines[wanted])):
        if number == DEEPEST:
            yield "and others above"
            break
        yield f"#{number}  {how + ' ' if how else ''}{c.id:#x}  in {s.where(c)}"
        yield f"    {s.state(c)}"
        if c.id in seen:
            yield "coflux: a deadlock: they await each other"
            break
        seen.add(c.id)
        shown = locals_of(c, c.id + s.at.control_size) if c.resume else []
        unknown = unknown or shown is None
        yield from (f"    {line}" for line in shown or ())
    if unknown:
        yield "coflux: without debug information of a coroutine there are no locals of it"


# --- stuck -----------------------------------------------------------------------------------------------------------

def group_key(s: Snapshot, c: Coroutine) -> tuple:
    key = [c.state, c.place, c.kind]
    if c.state == "awaits":
        key.append(s.all[c.of].place)
    key.append(s.all[c.holder].place if c.holder is not None else None)
    above = c.above
    for _ in range(SHOWN_ABOVE):
        if above is None:
            break
        key.append(s.all[above].place)
        above = s.all[above].above
    return tuple(key)


def cycles(s: Snapshot) -> Iterator[list[Coroutine]]:
    """Coroutines that wait for each other, so that none goes on. Of those through one join of several children, one."""
    needed = {c.id: {n.id for n in s.needs(c)} for c in s.coroutines.values()}
    needed_by = {}
    for i, others in needed.items():
        for other in others:
            needed_by.setdefault(other, []).append(i)
    go_on = [i for i, others in needed.items() if not others]
    while go_on:
        i = go_on.pop()
        for other in needed_by.get(i, ()):
            needed[other].discard(i)
            if not needed[other]:
                go_on.append(other)
    done = set()
    for i in needed:
        path = []
        while needed.get(i) and i not in done:
            done.add(i)
            path.append(i)
            i = min(needed[i])
        if i in path:
            yield [s.all[other] for other in path[path.index(i):]]


def is_stuck(s: Snapshot, c: Coroutine) -> bool:
    """If nothing runs."""
    return c.state == "waits" and s.kinds[c.kind][0] not in FROM_OUTSIDE


def stuck(memory, words: list[str], _: Locals) -> Iterator[str]:
    if words:
        raise Unreadable(USAGE)
    s = Snapshot(memory)
    groups = {}
    for c in s.coroutines.values():
        groups.setdefault(group_key(s, c), []).append(c)
    nothing_runs = not any(c.state in ("ready", "running", "foreign") for c in s.coroutines.values())
    yield f"coflux: {plural(len(s.coroutines))}"
    for group in sorted(groups.values(), key=lambda group: (-len(group), group[0].id)):
        c = group[0]
        same_thing = all(other.of == c.of for other in group)
        mark = "  <- no coroutine is left to run that could end it" if nothing_runs and is_stuck(s, c) else ""
        yield ""
        yield f"{plural(len(group))}: {s.state(c, same_thing)}{mark}"
        yield f"    in {s.where(c)}, as {c.id:#x}"
        for _ in range(SHOWN_ABOVE):
            if c.above is None:
                break
            c = s.all[c.above]
            yield f"    below {s.where(c)}"
        if c.above is not None:
            yield "    below others"
    yield ""
    for ring in cycles(s):
        yield "coflux: a deadlock: each waits for the next, and the last for the first: " + ", ".join(f"{c.id:#x}" for c in ring)
    yield verdict(s, nothing_runs)


def verdict(s: Snapshot, nothing_runs: bool) -> str:
    if not nothing_runs:
        return "coflux: some coroutines are queued, or run"
    waiting = [c for c in s.coroutines.values() if c.state == "waits"]
    if not waiting:
        return "coflux: no coroutine waits for a thing, runs or is queued"
    inside = sum(is_stuck(s, c) for c in waiting)
    if inside == len(waiting):
        return (f"coflux: no coroutine runs or is queued, and none waits for time or I/O: "
                f"{plural(inside, 'wait')} can be ended by nothing but another thread")
    outside = len(waiting) - inside
    return f"coflux: no coroutine runs or is queued; {plural(outside, 'wait')} {'is' if outside == 1 else 'are'} for time, I/O or another thread"


COMMANDS = {"tasks": tasks, "bt": bt, "stuck": stuck}


def run(memory, line: str, locals_of: Locals) -> Iterator[str]:
    """The lines of the answer; an Unreadable says why there is none."""
    name, *words = line.split() or [""]
    if name not in COMMANDS:
        raise Unreadable(USAGE)
    yield from COMMANDS[name](memory, words, locals_of)
