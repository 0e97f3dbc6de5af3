"""Operands of instructions: tokens to records; constants, and PTX's expressions of integers."""

import operator
import re
from collections.abc import Callable, Mapping
from typing import Final

from perfmodel.cuda.parse import syntax as ptx
from perfmodel.cuda.parse.syntax import FloatImmediate, float_immediate
from perfmodel.cuda.parse.tokens import Tokens

_MOST_LEVELS: Final = 16
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
    if depth > _MOST_LEVELS:
        tokens.refuse(at, f"an expression of at most {_MOST_LEVELS} levels")
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


_DEEPEST: Final = 4
"""Nesting of braces and brackets; PTX needs two."""

_SPECIAL: Final = re.compile(
    r"""WARP_SZ | %(?:
      n?tid | laneid | n?warpid | n?ctaid | n?smid | gridid | is_explicit_cluster | n?clusterid
    | cluster_n?cta(?:id|rank) | lanemask_(?:eq|le|lt|ge|gt) | clock(?:_hi|64)? | pm[0-7](?:_64)?
    | globaltimer(?:_lo|_hi)? | (?:total|aggr|dynamic)_smem_size | current_graph_exec
    | envreg\d+ | reserved_smem_offset_(?:begin|end|cap|\d+)
    )""",
    re.VERBOSE | re.ASCII,
)
"""Registers of the machine, without component (PTX ISA, "Special Registers")."""

Resolve = Callable[[str], ptx.Operand]
"""What a name means where it stands: a register, or a symbol."""


class OperandReader:
    """Reads operands of one function's instructions; `resolve` tells what a name there means."""

    def __init__(self, tokens: Tokens, resolve: Resolve) -> None:
        self._tokens = tokens
        self._texts = tokens.texts
        self._resolve = resolve
        self._known: dict[str, ptx.Operand] = {}
        self._in_call = False

    def forget(self) -> None:
        """Forget what names mean: a block was entered or left."""
        self._known.clear()

    def operands(self, at: int, call: bool) -> tuple[tuple[ptx.Operand, ...], int]:
        """Return the operands from token `at` to the semicolon, and the token behind it.

        In a call, parentheses hold arguments; elsewhere, an expression.
        """
        texts = self._texts
        self._in_call = call
        if texts[at] == ";":
            return (), at + 1
        found: list[ptx.Operand] = []
        known = self._known
        while True:
            # The usual operand is a name or number that was seen before.
            follower = texts[at + 1]
            operand = known.get(texts[at]) if follower in (",", ";") else None
            if operand is None:
                operand, at = self._operand(at, 0)
                follower = texts[at]
            else:
                at += 1
            found.append(operand)
            if follower == ";":
                return tuple(found), at + 1
            if follower != ",":
                self._tokens.refuse(at, "',' or ';'")
            at += 1

    def _operand(self, at: int, depth: int) -> tuple[ptx.Operand, int]:
        if depth > _DEEPEST:
            self._tokens.refuse(at, f"at most {_DEEPEST} brackets inside each other")
        text = self._texts[at]
        if text == "[":
            return self._address(at, depth)
        if text == "{":
            elements, at = self._list(at, "}", depth)
            return ptx.Vector(elements), at
        if text == "(" and self._in_call:
            elements, at = self._list(at, ")", depth)
            return ptx.Arguments(elements), at
        if text == "!":
            operand, at = self._operand(at + 1, depth + 1)
            return ptx.Negated(operand), at
        operand, at = self._leaf(at)
        if self._texts[at] == "|":
            second, at = self._leaf(at + 1)
            return ptx.Pair(operand, second), at
        return operand, at

    def _list(self, at: int, close: str, depth: int) -> tuple[tuple[ptx.Operand, ...], int]:
        found: list[ptx.Operand] = []
        at += 1
        if self._texts[at] == close:
            return (), at + 1
        while True:
            operand, at = self._operand(at, depth + 1)
            found.append(operand)
            if self._texts[at] == close:
                return tuple(found), at + 1
            if self._texts[at] != ",":
                self._tokens.refuse(at, f"',' or '{close}'")
            at += 1

    def _address(self, at: int, depth: int) -> tuple[ptx.Operand, int]:
        base, at = self._operand(at + 1, depth + 1)
        offset = 0
        coordinates: tuple[ptx.Operand, ...] = ()
        if isinstance(base, ptx.Symbol):
            base, offset = ptx.Symbol(base.name), base.offset
        elif self._texts[at] in ("+", "-"):
            # "+ -8" is one sign too many for a constant, but usual.
            offset, at = constant(self._tokens, at)
        if self._texts[at] == ",":
            inner, at = self._operand(at + 1, depth + 1)
            coordinates = inner.elements if isinstance(inner, ptx.Vector) else (inner,)
        if self._texts[at] != "]":
            self._tokens.refuse(at, "']'")
        return ptx.Address(base, offset, coordinates), at + 1

    def _leaf(self, at: int) -> tuple[ptx.Operand, int]:
        text = self._texts[at]
        first = text[0]
        if first.isdigit():
            if self._texts[at + 1] in (",", ";", "}", "]", ")"):
                value = number(text)
                operand: ptx.Operand = (
                    value if isinstance(value, ptx.FloatImmediate) else ptx.Immediate(value)
                )
                self._known[text] = operand
                return operand, at + 1
        elif first in "%_$" or first.isalpha():
            return self._name(text, at)
        elif first not in "-+~(":
            self._tokens.refuse(at, "an operand")
        if first == "-" and self._texts[at + 1][:1].isdigit():
            value = number(self._texts[at + 1])
            if isinstance(value, ptx.FloatImmediate):
                return ptx.FloatImmediate(value.bits ^ 1 << value.width - 1, value.width), at + 2
        integer, at = constant(self._tokens, at)
        return ptx.Immediate(integer), at

    def _name(self, text: str, at: int) -> tuple[ptx.Operand, int]:
        operand = self._known.get(text)
        if operand is None:
            operand = self._meaning(text)
            self._known[text] = operand
        at += 1
        if isinstance(operand, ptx.Symbol) and self._texts[at] in ("+", "-"):
            offset, at = constant(self._tokens, at)
            return ptx.Symbol(operand.name, offset), at
        return operand, at

    def _meaning(self, text: str) -> ptx.Operand:
        if text == "_":
            return ptx.Sink()
        stem, dot, part = text.partition(".")
        if _SPECIAL.fullmatch(stem):
            return ptx.SpecialRegister(text)
        operand = self._resolve(stem)
        if dot and isinstance(operand, ptx.Register):
            return ptx.Component(operand, part)
        return self._resolve(text) if dot else operand
