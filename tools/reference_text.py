"""Text of declarations for tools/reference.py: what is for readers, and types as users write them."""

from __future__ import annotations

import re

COMPILERS_OWN = re.compile(r"await_(?:ready|suspend|resume|in|outcome_in)$|promise_type$")
AWAITS_OWN = re.compile(r"(?:^|_)(?:awaiter|request)$")
LIBRARYS_OWN = re.compile(r"(?:For (?:combinators|awaiters|the library)|for the library|the same$)")
ATTRIBUTE = re.compile(r'\[\[(?:[^\]"]|"(?:[^"\\]|\\.)*")*\]\]\s*')
AT_THE_END = re.compile(r'((?:^[ \t]*///(?!<).*\n)+)[ \t]*(?:\[\[(?:[^\]"]|"(?:[^"\\]|\\.)*")*\]\]\s*)*\Z', re.MULTILINE)
MACRO_FOR_USERS = re.compile(r"((?:^[ \t]*///.*\n)*)^#define (CO_\w+)(\([^)]*\))", re.MULTILINE)
MACRO = re.compile(r"\bCOFLUX_[A-Z_]+\b(?:\(\w*\))?\s*")
COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
ONLY_AN_ERROR = re.compile(r"\{\s*static_assert\(\s*(?:coflux::)?(?:detail::)?never<")
INTERNAL_DEFAULT = re.compile(r"(= )(?:coflux::)?detail::\w+(?=[,>])")


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def cut_at_depth_0(text: str, stop: re.Pattern[str]) -> str:
    """The text up to the first match of `stop` outside of all brackets."""
    depth = 0
    for at, character in enumerate(text):
        if depth == 0 and stop.match(text, at):
            return text[:at]
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
    return text


def is_only_an_error(function: str) -> bool:
    """It does nothing but to be an error of the compiler: its body, or each branch of it."""
    if cut_at_depth_0(function, ONLY_AN_ERROR) != function:
        return True
    return ONLY_AN_ERROR.search(function) is not None and "return" not in function


def without_comments(text: str) -> str:
    return COMMENTS.sub("", text)


def clean(text: str) -> str:
    """A declaration on one line, without what only the compiler reads, and without the names of internal defaults."""
    text = squeezed(MACRO.sub("", ATTRIBUTE.sub("", without_comments(text))))
    return INTERNAL_DEFAULT.sub(r"\1unspecified", re.sub(r"\b(?:inline|friend)\s+", "", text))


def with_auto(signature: str, result: str, name: str) -> str:
    """The signature with `auto` for a result type that is none of the user's business."""
    pieces = re.findall(r"\w+|[^\w\s]", result.replace("detail::", ""))
    spaced = r"\s*".join(rf"(?:detail::)?{piece}" if piece.isidentifier() else re.escape(piece) for piece in pieces)
    changed, count = re.subn(rf"{spaced}\s+(?=[&*]*{re.escape(name)}\s*\()", "auto ", signature, count=1)
    return changed if count else signature


# In this order.
TYPES = (
    (r"\s*&&$", ""),
    (r"coflux::(?:reference::)?", ""),
    (r"std::__cxx11::", "std::"),
    (r"\bunsigned long\b", "std::size_t"),
    (r"std::basic_string<char(?:, std::char_traits<char>, std::allocator<char>)?>", "std::string"),
    (r"std::basic_string_view<char(?:, std::char_traits<char>)?>", "std::string_view"),
    (r"std::vector<([^<>]+(?:<[^<>]*>)?), std::pmr::polymorphic_allocator<\1>>", r"std::pmr::vector<\1>"),
    (r"std::vector<([^<>]+(?:<[^<>]*>)?), std::allocator<\1>>", r"std::vector<\1>"),
    (r"std::chrono::time_point<std::chrono::steady_clock(?:, std::chrono::duration<long, std::ratio<1, 1000000000>>)?>",
     "std::chrono::steady_clock::time_point"),
    (r"(?<=[\w>]) (?=[&*])", ""),
)


def user_type(type_: str, aliases: dict[str, str]) -> str:
    """The type as a user would write it, in the namespace coflux."""
    for pattern, replacement in TYPES:
        type_ = re.sub(pattern, replacement, type_)
    for internal, alias in aliases.items():
        type_ = type_.replace(internal, alias)
    return type_
