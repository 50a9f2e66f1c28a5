"""Coflux's plain dress is what its pages teach: each await of its sources is on a page that the source names."""

import re
import unittest
from pathlib import Path

from runner.paths import LAB, ROOT

SOURCES = LAB / "runtimes" / "coflux"
# The dresses of experts, and what holds no idiom.
NOT_PLAIN = ("by_hand.cpp", "main.cpp")
NAMED = re.compile(r"^// Idioms: (.+(?:\n//   .+)*)$", re.MULTILINE)
# How an await looks, whatever the names in it are.
SHAPES = ((r"std::move\(\s*\w+\s*\)", "a handle"), (r"std::move\(", "a handle in a container"),
          (r"(?:(?:\w+::)*\w+(?:\[\w+\]|\(\))?(?:\.|->))+(\w+)\(", ".{}()"),
          (r"(?:\w+::)+(\w+)(?:<[^;{}]*?>)?\(", "{}()"), (r"\w+(?:<[^;{}]*?>)?\(", "a coroutine"))
# Operations that have no other form than in their header: no page chooses one for its user.
ONLY_IN_THE_REFERENCE = {".send_to()", ".read()", "read_side_input()"}


def shapes(code: str) -> dict[str, str]:
    """Each shape of an await, with an example of it."""
    text = re.sub(r"//.*", "", code)
    found = {}
    for each in re.finditer(r"co_await\s+", text):
        rest = " ".join(text[each.end():each.end() + 200].split())
        for pattern, name in SHAPES:
            if fits := re.match(pattern, rest):
                found.setdefault(name.format(*fits.groups()), rest.partition(";")[0])
                break
        else:
            found.setdefault(rest.partition(";")[0], rest)
    return found


def taught(page: Path) -> set[str]:
    """The awaits of a page's blocks, and the operations that its prose names; or the awaits of an example."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".cpp":
        return set(shapes(text))
    prose = " ".join(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)))
    operations = {form for name in re.findall(r"(\w+)\(", prose) for form in (f"{name}()", f".{name}()")}
    return set(shapes("\n".join(re.findall(r"```cpp\n(.*?)```", text, re.DOTALL)))) | operations


def own_of(source: str) -> set[str]:
    """Coroutines of the adapter that its awaits name like members."""
    return {f".{name}()" for name in re.findall(r"coflux::(?:call|fork|task)<[^;{}]*?>\s+(\w+)\(", source)}


def named_in(source: str) -> list[str]:
    said = NAMED.search(source)
    return re.findall(r"[\w./-]+\.(?:md|cpp)", said[1]) if said else []


def untaught(source: str) -> list[str]:
    """The awaits that no page has which the source names."""
    known = ONLY_IN_THE_REFERENCE.union(own_of(source), *(taught(ROOT / page) for page in named_in(source)))
    return [example for shape, example in shapes(source).items() if shape not in known]


class Plain(unittest.TestCase):
    def test_each_await_of_a_plain_source_is_on_a_page_that_it_names(self) -> None:
        for path in sorted(SOURCES.glob("*.?pp")):
            source = path.read_text(encoding="utf-8")
            if path.name not in NOT_PLAIN and shapes(source):
                self.assertTrue(named_in(source), f"{path.name} names no page")
                self.assertEqual(untaught(source), [], path.name)

    def test_a_page_that_is_named_is_of_the_tour_a_how_to_or_an_example(self) -> None:
        for path in SOURCES.glob("*.?pp"):
            for page in named_in(path.read_text(encoding="utf-8")):
                self.assertRegex(page, r"^(docs/(tour|howto)|examples)/")
                self.assertTrue((ROOT / page).is_file(), page)

    def test_what_no_page_teaches_is_found(self) -> None:
        by_hand = (SOURCES / "by_hand.cpp").read_text(encoding="utf-8")
        head = "// Idioms: docs/tour/01-first-program.md\n"
        self.assertEqual(untaught(head + by_hand), ["std::move(all.back())"])
        self.assertEqual(untaught(head + "auto x = co_await pool.secret(1);"), ["pool.secret(1)"])
        self.assertEqual(untaught(head + "auto x = co_await coflux::when_all(std::move(all));"), [])
        self.assertEqual(untaught("co_await std::move(a);"), ["std::move(a)"])


if __name__ == "__main__":
    unittest.main()
