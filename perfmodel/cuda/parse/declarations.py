"""Declarations: registers, variables, parameters; and the directives that carry numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from perfmodel.cuda.parse import syntax as ptx
from perfmodel.cuda.parse.operands import constant, number
from perfmodel.cuda.parse.tokens import END, Tokens

SPACES: Final = frozenset({".global", ".const", ".shared", ".local", ".param", ".tex"})
LINKAGE: Final = frozenset({".visible", ".extern", ".weak", ".common"})

_LARGEST: Final = 1 << 48
"""[B]: no variable is larger than what a GPU can address."""
_LANES: Final = {".v2": 2, ".v4": 4, ".v8": 8}
_SPACE_WORDS: Final = ("shared::cta", "shared::cluster", "param::entry", "param::func")


def word(tokens: Tokens, at: int, what: str) -> tuple[str, int]:
    """Return the name at token `at`, and the token behind it."""
    text = tokens.texts[at]
    if not (text[0] in "%_$" or text[0].isalpha()):
        tokens.refuse(at, what)
    return text, at + 1


def read_linkage(tokens: Tokens, at: int) -> tuple[str | None, int]:
    """Return the linkage at token `at`, if any, and the token behind it."""
    linkage = None
    while tokens.texts[at] in LINKAGE:
        linkage, at = tokens.texts[at][1:], at + 1
    return linkage, at


def expect(tokens: Tokens, at: int, text: str) -> int:
    """Return the token behind `text`, which stands at token `at`."""
    if tokens.texts[at] != text:
        tokens.refuse(at, f"'{text}'")
    return at + 1


def integers(tokens: Tokens, at: int) -> tuple[tuple[int, ...], int]:
    """Return the integers, with commas between them, from token `at`; and the token behind."""
    found: list[int] = []
    while tokens.texts[at][0].isdigit():
        value = number(tokens.texts[at])
        if isinstance(value, ptx.FloatImmediate):
            tokens.refuse(at, "an integer")
        found.append(value)
        at += 1
        if tokens.texts[at] != ",":
            break
        at += 1
    return tuple(found), at


@dataclass(slots=True)
class _Type:
    """What stands between a state space and a name."""

    kind: str = ""
    lanes: int = 1
    alignment: int | None = None
    pointer: bool = False

    def size(self, tokens: Tokens, at: int, shape: Sequence[int | None]) -> int | None:
        """Return the bytes of so many elements; None if a dimension is open."""
        if None in shape:
            return None
        size = prod(n or 0 for n in shape) * self.lanes * ptx.SIZES[self.kind]
        if not 0 <= size <= _LARGEST:
            tokens.refuse(at, f"a variable of at most {_LARGEST} bytes before this")
        return size


def _type(tokens: Tokens, at: int) -> tuple[_Type, int]:
    """Return the type with its attributes at token `at`, and the token behind them."""
    found = _Type()
    while tokens.texts[at][0] == ".":
        text = tokens.texts[at]
        at += 1
        if text == ".align":
            value, at = constant(tokens, at)
            if not found.pointer:  # else it is that of what the pointer points to
                found.alignment = value
        elif text in _LANES:
            found.lanes = _LANES[text]
        elif text[1:] in ptx.SIZES:
            found.kind = text[1:]
        elif text.startswith(".attribute"):
            at = skip_parentheses(tokens, at)
        elif text == ".ptr":
            found.pointer = True
        elif not (found.pointer and (text in SPACES or text[1:] in _SPACE_WORDS)):
            tokens.refuse(at - 1, "a type or attribute")
    if not found.kind:
        tokens.refuse(at, "a type")
    return found, at


def registers(tokens: Tokens, at: int, scope: int) -> tuple[list[ptx.RegisterDeclaration], int]:
    """Return what ``.reg`` at token `at` declares, and the token behind the semicolon."""
    kind, at = _type(tokens, at + 1)
    found: list[ptx.RegisterDeclaration] = []
    while True:
        name, at = word(tokens, at, "a register's name")
        count: int | None = None
        if tokens.texts[at] == "<":
            count, at = constant(tokens, at + 1)
            at = expect(tokens, at, ">")
        found.append(ptx.RegisterDeclaration(name, kind.kind, count, kind.lanes, scope))
        if tokens.texts[at] == ";":
            return found, at + 1
        at = expect(tokens, at, ",")


def variables(
    tokens: Tokens, at: int, linkage: str | None, suffix: str
) -> tuple[list[ptx.Variable], int]:
    """Return what the declaration with a state space at token `at` declares, and what follows.

    `suffix` goes behind each name: that of the inner block.
    """
    space = tokens.texts[at][1:]
    kind, at = _type(tokens, at + 1)
    lanes, alignment = kind.lanes, kind.alignment or kind.lanes * ptx.SIZES[kind.kind]
    found: list[ptx.Variable] = []
    while True:
        name, at = word(tokens, at, "a variable's name")
        if tokens.texts[at] == "<":  # param<4>: as registers
            _, at = constant(tokens, at + 1)
            at = expect(tokens, at, ">")
        shape, at = _shape(tokens, at)
        values: tuple[int | float | str, ...] | None = None
        if tokens.texts[at] == "=":
            values, at = _values(tokens, at + 1)
        if shape and shape[0] is None and values is not None:
            shape = (len(values) // max(prod(n or 1 for n in shape[1:]) * lanes, 1), *shape[1:])
        size = kind.size(tokens, at, shape)
        found.append(
            ptx.Variable(
                *(f"{name}{suffix}", space, kind.kind, size, alignment),
                *(shape, lanes, linkage, values),
            )
        )
        if tokens.texts[at] == ";":
            return found, at + 1
        at = expect(tokens, at, ",")


def parameters(tokens: Tokens, at: int) -> tuple[tuple[ptx.Parameter, ...], int]:
    """Return the parameters in the parentheses at token `at`, and the token behind them."""
    at = expect(tokens, at, "(")
    found: list[ptx.Parameter] = []
    if tokens.texts[at] == ")":
        return (), at + 1
    while True:
        parameter, at = _parameter(tokens, at)
        found.append(parameter)
        if tokens.texts[at] == ")":
            return tuple(found), at + 1
        at = expect(tokens, at, ",")


def _parameter(tokens: Tokens, at: int) -> tuple[ptx.Parameter, int]:
    space = tokens.texts[at]
    if space not in (".param", ".reg"):
        tokens.refuse(at, ".param")
    kind, at = _type(tokens, at + 1)
    name, at = word(tokens, at, "a parameter's name")
    shape, at = _shape(tokens, at)
    shape = tuple(n or 0 for n in shape)
    parameter = ptx.Parameter(
        name,
        kind.kind,
        kind.size(tokens, at, shape) or 0,
        kind.alignment or kind.lanes * ptx.SIZES[kind.kind],
        prod(n or 0 for n in shape) if shape else None,
        kind.pointer,
        space[1:],
    )
    return parameter, at


def _shape(tokens: Tokens, at: int) -> tuple[tuple[int | None, ...], int]:
    shape: list[int | None] = []
    while tokens.texts[at] == "[":
        if tokens.texts[at + 1] == "]":
            shape.append(None)
            at += 2
            continue
        count, at = constant(tokens, at + 1)
        if not 0 <= count <= _LARGEST:
            tokens.refuse(at - 1, f"at most {_LARGEST} elements")
        if len(shape) > 8:
            tokens.refuse(at - 1, "at most eight dimensions")
        shape.append(count)
        at = expect(tokens, at, "]")
    return tuple(shape), at


def _values(tokens: Tokens, at: int) -> tuple[tuple[int | float | str, ...], int]:
    """Return initial values, without the braces around them."""
    found: list[int | float | str] = []
    depth = 0
    texts = tokens.texts
    while True:
        text = texts[at]
        if text == "{":
            depth, at = depth + 1, at + 1
        elif text == "}" and depth:
            depth, at = depth - 1, at + 1
        elif text == "," and depth:
            at += 1
        elif (text in (",", ";") and not depth) or text in (END, "}"):
            break
        elif text[0].isdigit() or text in ("-", "+", "~", "("):
            value, at = _value(tokens, at)
            found.append(value)
        else:
            found.append(text)
            at = _skip_address(tokens, at)
    if depth:
        tokens.refuse(at, "'}'")
    return tuple(found), at


def _value(tokens: Tokens, at: int) -> tuple[int | float, int]:
    sign = -1 if tokens.texts[at] == "-" else 1
    digits = at + (sign < 0)
    if tokens.texts[digits][0].isdigit():
        found = number(tokens.texts[digits])
        if isinstance(found, ptx.FloatImmediate):
            return sign * found.value, digits + 1
        if tokens.texts[digits + 1] in (",", "}", ";"):
            return sign * found, digits + 1
        if tokens.texts[digits + 1] == "(":  # a byte of an address: 0xff00(name)
            return 0, skip_parentheses(tokens, digits + 1)
    return constant(tokens, at)


def _skip_address(tokens: Tokens, at: int) -> int:
    """Return the token behind an address as initial value: name, name+4, generic(name)."""
    texts = tokens.texts
    _, at = word(tokens, at, "an initial value")
    if texts[at] == "(":
        at = skip_parentheses(tokens, at)
    if texts[at] in ("+", "-"):
        _, at = constant(tokens, at)
    return at


def skip_parentheses(tokens: Tokens, at: int) -> int:
    """Return the token behind the parentheses at token `at`, with all that they hold."""
    at = expect(tokens, at, "(")
    depth = 1
    while depth:
        text = tokens.texts[at]
        if text in (END, ";", "{"):
            tokens.refuse(at, "')'")
        depth += (text == "(") - (text == ")")
        at += 1
    return at
