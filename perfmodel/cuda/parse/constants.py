"""Constants: numbers, and the expressions of integers that PTX allows in their place."""

import operator
from collections.abc import Callable, Mapping
from typing import Final

from perfmodel.cuda.parse.syntax import FloatImmediate, float_immediate
from perfmodel.cuda.parse.tokens import Tokens

_DEEPEST: Final = 16
_WORD: Final = (1 << 64) - 1

_OPERATORS: Final[Mapping[str, tuple[int, Callable[[int, int], int]]]] = {
    "*": (6, operator.mul),
    "/": (6, lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)),
    "%": (6, lambda a, b: abs(a) % abs(b) * (1 if a >= 0 else -1)),
    "+": (5, operator.add),
    "-": (5, operator.sub),
    "<<": (4, operator.lshift),
    ">>": (4, operator.rshift),
    "&": (3, operator.and_),
    "^": (2, operator.xor),
    "|": (1, operator.or_),
}
"""How strongly each binds, and what it gives."""


def number(text: str) -> int | FloatImmediate:
    """Return what a number says: an integer of any base, or a float in any of its forms."""
    kind = text[:2].lower()
    if kind == "0f" and len(text) == 10:
        return FloatImmediate(int(text[2:], 16), 32)
    if kind == "0d" and len(text) == 18:
        return FloatImmediate(int(text[2:], 16), 64)
    if kind == "0x":
        return int(text[2:].rstrip("U"), 16)
    if kind == "0b":
        return int(text[2:].rstrip("U"), 2)
    if "." in text or "e" in text or "E" in text:
        return float_immediate(float(text))
    digits = text.rstrip("U")
    if len(digits) > 1 and digits[0] == "0" and not set(digits) & {"8", "9"}:
        return int(digits, 8)
    return int(digits[:40])  # longer ones mean nothing, and take quadratic time


def constant(tokens: Tokens, at: int) -> tuple[int, int]:
    """Return the value of the integer expression at token `at`, and the token behind it."""
    return _binary(tokens, at, 1, 0)


def _binary(tokens: Tokens, at: int, lowest: int, depth: int) -> tuple[int, int]:
    value, at = _unary(tokens, at, depth)
    while (priority := _OPERATORS.get(tokens.texts[at], (0,))[0]) >= lowest:
        sign = tokens.texts[at]
        operator_at = at
        right, at = _binary(tokens, at + 1, priority + 1, depth + 1)
        value = _apply(tokens, operator_at, sign, value, right)
    return value, at


def _unary(tokens: Tokens, at: int, depth: int) -> tuple[int, int]:
    text = tokens.texts[at]
    if depth > _DEEPEST:
        tokens.refuse(at, f"an expression of at most {_DEEPEST} levels")
    if text in ("-", "+", "~"):
        value, at = _unary(tokens, at + 1, depth + 1)
        return {"-": -value, "+": value, "~": ~value}[text], at
    if text == "(":
        if tokens.texts[at + 1][:1] == ".":  # a cast, (.s64) or (.u64)
            return _unary(tokens, at + 3, depth + 1)
        value, at = _binary(tokens, at + 1, 1, depth + 1)
        if tokens.texts[at] != ")":
            tokens.refuse(at, "')'")
        return value, at + 1
    if not text[0].isdigit():
        tokens.refuse(at, "an integer")
    found = number(text)
    if isinstance(found, FloatImmediate):
        tokens.refuse(at, "an integer")
    return found, at + 1


def _apply(tokens: Tokens, at: int, sign: str, left: int, right: int) -> int:
    if sign in ("/", "%") and right == 0:
        tokens.refuse(at + 1, "a divisor other than 0")
    if sign in ("<<", ">>"):
        right &= 63
    value = _OPERATORS[sign][1](left, right)
    return value if abs(value) <= _WORD else value & _WORD
