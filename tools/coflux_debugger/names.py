"""Names of functions, made of what the compilers call them: what src/core/detail/readable_name.cpp does."""

from __future__ import annotations

CALL_OPERATOR = "operator()"


def behind_bracket(text: str) -> int:
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == ")" and depth == 0:
            return i + 1
    return len(text)


def lambda_at_front(text: str) -> int:
    if text.startswith("<lambda"):
        return min(7 + behind_bracket(text[7:]) + 1, len(text))
    return next((len(word) for word in ("(anonymous class)", "(lambda)") if text.startswith(word)), 0)


def readable_name(function: str) -> str:
    name = ""
    angles = i = 0
    while i < len(function):
        left = function[i:]
        if unnamed := next((len(word) for word in ("(anonymous namespace)::", "{anonymous}::") if left.startswith(word)), 0):
            i += unnamed
        elif length := lambda_at_front(left):
            name += "lambda"
            i += length
        elif left.startswith(CALL_OPERATOR):
            name = name[:-2] if name.endswith("lambda::") else name + CALL_OPERATOR
            i += len(CALL_OPERATOR)
        elif left.startswith(" [") and angles == 0:
            break
        elif left[0] == "(" and angles == 0:
            parameters = behind_bracket(left)
            if not left.startswith("::", parameters):
                break
            name += "()"
            i += parameters
        else:
            angles += left[0] == "<"
            angles -= left[0] == ">" and angles != 0
            name = "" if left[0] == " " and angles == 0 else name + left[0]
            i += 1
    return name[:255]
