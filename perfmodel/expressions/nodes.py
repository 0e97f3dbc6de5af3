"""The expression tree: three immutable node types, and what can be done to a tree as a tree."""

from __future__ import annotations

import keyword
import math
import operator as python_operator
import re
from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from typing import Any, Final, Union

from perfmodel.errors import PerfmodelError
from perfmodel.records import record

# Fewest and most operands of each operator; None means any number.
ARITY: Final[dict[str, tuple[int, int | None]]] = {
    **dict.fromkeys(("+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"), (2, 2)),
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), (2, 2)),
    **dict.fromkeys(("and", "or", "min", "max"), (2, None)),
    **dict.fromkeys(("neg", "not", "floor", "ceil", "abs", "log2", "sqrt"), (1, 1)),
    "ceil_div": (2, 2),
    "random": (2, 2),
    "shuffled": (2, 2),
    "where": (3, 3),
    "full_parts": (3, 3),
}
FUNCTIONS: Final = frozenset(
    {
        *("min", "max", "floor", "ceil", "ceil_div", "abs", "log2", "sqrt"),
        *("where", "random", "shuffled", "full_parts"),
    }
)
COMPARISONS: Final = frozenset({"<", "<=", ">", ">=", "==", "!="})
# CUDA's built-in index variables, the only names with a dot (.x, .y or .z).
DOTTED_BASES: Final = ("threadIdx", "blockIdx", "blockDim", "gridDim")
LARGEST_LITERAL: Final = 2**63 - 1
LONGEST_WRITTEN: Final = 100_000

_NAME = re.compile(rf"[A-Za-z_][A-Za-z0-9_]*|(?:{'|'.join(DOTTED_BASES)})\.[xyz]")


def shown(text: str, limit: int = 60) -> str:
    """Quote text for a one-line message: control characters escaped, at most ``limit`` long."""
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")


class _Written:
    """Trees made as Python writes them: ``Name("i") * 4 + 1``."""

    __slots__ = ()

    def __add__(self, other: Node | int) -> Operation:
        return _operation("+", self, other)

    def __sub__(self, other: Node | int) -> Operation:
        return _operation("-", self, other)

    def __mul__(self, other: Node | int) -> Operation:
        return _operation("*", self, other)

    def __floordiv__(self, other: Node | int) -> Operation:
        return _operation("//", self, other)

    def __mod__(self, other: Node | int) -> Operation:
        return _operation("%", self, other)

    def __xor__(self, other: Node | int) -> Operation:
        return _operation("^", self, other)

    def __lt__(self, other: Node | int) -> Operation:
        return _operation("<", self, other)


def _operation(operator: str, first: Any, other: Node | int) -> Operation:
    return Operation(operator, (first, Number(other) if isinstance(other, int) else other))


@record
class Number(_Written):
    """A literal. ``Number(1)`` and ``Number(1.0)`` differ, since integers are kept exact.

    Raises `PerfmodelError` unless it is finite, and an integer at most 2**63 - 1 in magnitude.
    """

    value: int | float

    def __post_init__(self) -> None:
        value: Any = self.value
        if isinstance(value, float):
            value = float(value)  # a numpy.float64 is a float too
        elif hasattr(value, "__index__") and not isinstance(value, bool):
            value = python_operator.index(value)
        else:
            raise PerfmodelError(f"number {shown(repr(value))} must be an int or a float")
        if isinstance(value, float) and not math.isfinite(value):
            raise PerfmodelError(f"number {value!r} must be finite")
        if isinstance(value, int) and abs(value) > LARGEST_LITERAL:
            raise PerfmodelError(f"an integer of {value.bit_length()} bits is over 2**63 - 1")
        object.__setattr__(self, "value", value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Number):
            return NotImplemented
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@record
class Name(_Written):
    """A variable: an ASCII identifier, or one of CUDA's ``threadIdx.x`` ... ``gridDim.z``.

    Raises `PerfmodelError` if the name is not an identifier, is a Python keyword, or is a function
    of the grammar.
    """

    name: str

    def __post_init__(self) -> None:
        if self.name in DOTTED_BASES:
            raise PerfmodelError(f"{self.name} needs a component: .x, .y or .z")
        if self.name in FUNCTIONS:
            raise PerfmodelError(f"{self.name} is a function, so it cannot be used as a variable")
        if not _NAME.fullmatch(self.name) or keyword.iskeyword(self.name):
            raise PerfmodelError(
                f"{shown(self.name)} is not a variable name: use letters, digits and _,"
                " or threadIdx.x and the like"
            )

    # Asked so often that looking fields up, as other records do, takes most of the time.
    def __eq__(self, other: object) -> bool:
        return self.name == other.name if isinstance(other, Name) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)


@record
class Operation(_Written):
    """An operator applied to operands.

    `operator`: a key of `ARITY`: Python's symbol or word, ``neg`` for unary minus, or a function's
    name. `operands`: as many nodes as it takes; ``where`` takes (condition, if true, if false).

    Raises `PerfmodelError` if the operator is unknown or the number of operands is wrong.
    """

    operator: str
    operands: tuple[Node, ...]
    # How many nodes the tree has when written out; parts may be shared, so it can be enormous.
    size: int = field(init=False, repr=False)
    # Kept so that hashing a tree as a dictionary key does not walk the whole tree each time.
    _hash: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.operator not in ARITY:
            raise PerfmodelError(
                f"operator {shown(str(self.operator))} is unknown; allowed: {' '.join(ARITY)}"
            )
        fewest, most = ARITY[self.operator]
        count = len(self.operands)
        if count < fewest or (most is not None and count > most):
            wanted = f"{fewest}" if most == fewest else f"at least {fewest}"
            raise PerfmodelError(f"{self.operator} takes {wanted} operand(s), not {count}")
        size = 1 + sum(getattr(operand, "size", 1) for operand in self.operands)
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "_hash", hash((self.operator, self.operands)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Operation):
            return NotImplemented
        return _same(self, other, set())

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        # Text hashes differ between processes, so an unpickled node computes its own.
        return Operation, (self.operator, self.operands)


Node = Union[Number, Name, Operation]  # noqa: UP007 - the members are also used in isinstance


def _same(a: Node, b: Node, known: set[tuple[int, int]]) -> bool:
    """Compare trees, each pair of shared parts once."""
    if a is b:
        return True
    if not isinstance(a, Operation) or not isinstance(b, Operation):
        return a == b
    if a._hash != b._hash or a.operator != b.operator or len(a.operands) != len(b.operands):
        return False
    pair = id(a), id(b)
    if pair in known:
        return True
    for one, other in zip(a.operands, b.operands, strict=True):
        if one is not other and not _same(one, other, known):
            return False
    known.add(pair)
    return True


@lru_cache(maxsize=4096)
def names(node: Node) -> frozenset[str]:
    """Return the names of all variables in the tree."""
    if isinstance(node, Name):
        return frozenset((node.name,))
    if isinstance(node, Operation):
        return frozenset().union(*(names(operand) for operand in node.operands))
    return frozenset()


def substitute(node: Node, mapping: Mapping[str, Node]) -> Node:
    """Replace variables by trees, all at once.

    `node`: the tree; it is not changed, and its untouched parts are shared with the result.
    `mapping`: name of the variable to the tree in its place. Other variables stay.
    """
    done: dict[Node, Node] = {}

    def visit(part: Node) -> Node:
        if isinstance(part, Name):
            return mapping.get(part.name, part)
        if isinstance(part, Number) or names(part).isdisjoint(mapping):
            return part
        if part not in done:
            done[part] = Operation(part.operator, tuple(map(visit, part.operands)))
        return done[part]

    return visit(node)


def exchanged(node: Node, parts: Mapping[Node, Node]) -> Node:
    """Return a tree with other trees in the place of some of its parts."""
    if node in parts:
        return parts[node]
    if not isinstance(node, Operation):
        return node
    return Operation(node.operator, tuple(exchanged(part, parts) for part in node.operands))


_UNARY: Final = 11
_POWER: Final = 12
_ATOM: Final = 13
# How tightly each operator binds, loosest first, as in Python.
_PRECEDENCE: Final[dict[str, int]] = {
    "or": 1,
    "and": 2,
    "not": 3,
    **dict.fromkeys(COMPARISONS, 4),
    "|": 5,
    "^": 6,
    "&": 7,
    **dict.fromkeys(("<<", ">>"), 8),
    **dict.fromkeys(("+", "-"), 9),
    **dict.fromkeys(("*", "/", "//", "%"), 10),
    "neg": _UNARY,
    "**": _POWER,
}


class TooLongError(PerfmodelError):
    """An expression that is too long to be written out."""


def text(node: Node) -> str:
    """Write the tree as an expression, with as few parentheses as possible.

    `parse` of the result gives the tree back. The one exception is a negative `Number`, which
    comes back as ``neg`` of a positive one: the grammar has no negative literals.

    Raises `PerfmodelError` if the tree has over 100,000 nodes, written out.
    """
    if isinstance(node, Operation) and node.size > LONGEST_WRITTEN:
        raise TooLongError(f"an expression of {node.size} parts is too long to write out")
    return _text(node)[0]


def _text(node: Node) -> tuple[str, int]:
    """Return the text and how tightly its outermost operator binds."""
    if isinstance(node, Name):
        return node.name, _ATOM
    if isinstance(node, Number):
        written = repr(node.value)
        return written, _UNARY if written.startswith("-") else _ATOM
    operator, operands = node.operator, node.operands
    if operator in FUNCTIONS:
        return f"{operator}({', '.join(text(operand) for operand in operands)})", _ATOM
    binds = _PRECEDENCE[operator]
    if operator in ("neg", "not"):
        return ("-" if operator == "neg" else "not ") + _within(operands[0], binds), binds
    if operator == "**":
        # Right-associative, and an exponent may be negated without parentheses.
        return f"{_within(operands[0], _ATOM)} ** {_within(operands[1], _UNARY)}", binds
    first = binds + 1 if operator in COMPARISONS or operator in ("and", "or") else binds
    rest = (_within(operand, binds + 1) for operand in operands[1:])
    return f" {operator} ".join((_within(operands[0], first), *rest)), binds


def _within(node: Node, least: int) -> str:
    """Return the text, in parentheses if it binds less tightly than ``least``."""
    written, binds = _text(node)
    return written if binds >= least else f"({written})"
