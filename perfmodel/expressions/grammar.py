"""From the text of an expression to its tree, refusing everything outside a small grammar.

The text comes from kernel files that anybody may have written. It is split into tokens by a
regular expression that knows only ASCII names, numbers and operators, then parsed by Python's
``ast``, then walked by our own visitor. Nothing is ever evaluated as code.
"""

import ast
import keyword
import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Final, NoReturn

from perfmodel.errors import PerfmodelError
from perfmodel.expressions.nodes import (
    ARITY,
    DOTTED_BASES,
    FUNCTIONS,
    LARGEST_LITERAL,
    Name,
    Node,
    Number,
    Operation,
    shown,
)

LONGEST_TEXT: Final = 10_000
DEEPEST_NESTING: Final = 100
LARGEST_SHIFT: Final = 62
LARGEST_EXPONENT: Final = 64
LARGEST_INTEGER_EXPONENT: Final = 8

# Operators waiting for an operand at once; keeps Python's own parser far from its stack's end.
_LONGEST_CHAIN: Final = 500

_TOKEN: Final = re.compile(
    r"""(?P<space>\ +)
    | (?P<number>0[xX][0-9a-fA-F_]+ | (?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?)
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<symbol>\*\*|//|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^<>(),.])
    """,  # noqa: E501
    re.VERBOSE,
)
_WORDS: Final = frozenset({"and", "or", "not", "if", "else"})
_HINTS: Final = {
    "&&": "use and",
    "||": "use or",
    "!": "use not, or != to compare",
    "=": "use == to compare",
    "?": "use where(condition, a, b), or a if condition else b",
    ":": "use where(condition, a, b), or a if condition else b",
    "[": "index expressions cannot read arrays",
    "~": "use -x - 1",
}
_OPERATORS: Final[dict[type[ast.AST], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.And: "and",
    ast.Or: "or",
    ast.USub: "neg",
    ast.Not: "not",
}
_NOT_INTEGER: Final = {
    "/": "use // for whole numbers",
    "floor": "use //",
    "ceil": "use ceil_div(a, b)",
    "log2": "use shifts or //",
    "sqrt": "whole numbers only",
}


def parse(
    text: str,
    *,
    where: str = "expression",
    allowed: Iterable[str] | None = None,
    integer: bool = False,
) -> Node:
    """Parse an expression such as ``blockIdx.x * blockDim.x + threadIdx.x``.

    The grammar: integer (decimal or 0x) and float literals; variables, and CUDA's ``threadIdx``,
    ``blockIdx``, ``blockDim`` and ``gridDim`` with ``.x``, ``.y`` or ``.z``; ``+ - * / // % **
    << >> & | ^``; comparisons, also chained; ``and``, ``or``, ``not``; ``min``, ``max``,
    ``floor``, ``ceil``, ``ceil_div``, ``abs``, ``log2``, ``sqrt``, ``where(condition, a, b)``;
    ``random(key, n)``, a number from 0 to n - 1 that only the key decides; ``shuffled(key, n)``,
    such a number that no other key below n has;
    ``full_parts(blocks, pieces, slots)``, into how many parts a library cuts each block's pieces so
    that the blocks fill the GPU's slots; and ``a if condition else b``. Precedence is Python's.
    Line ends count as spaces.

    `text`: at most 10,000 characters and 100 levels of nesting. `where`: what the expression is,
    for messages: ``access "A" index``. `allowed`: the variables that may occur. None allows any.
    `integer`: whether only whole-number arithmetic is allowed, as in an index: refuses ``/``, float
    literals, ``floor``, ``ceil``, ``log2`` and ``sqrt``, and allows ``**`` only with a literal
    exponent from 0 to 8.

    Raises `PerfmodelError` if the text is anything else; the message is one line and starts with
    ``where``.
    """
    if not isinstance(text, str):
        raise PerfmodelError(f"{where}: must be text, not {type(text).__name__}; put it in quotes")
    if len(text) > LONGEST_TEXT:
        raise PerfmodelError(
            f"{where}: {shown(text)} has {len(text)} characters; at most {LONGEST_TEXT} are allowed"
        )
    return _parse(text, where, None if allowed is None else frozenset(allowed), integer)


@lru_cache(maxsize=1024)
def _parse(text: str, where: str, allowed: frozenset[str] | None, integer: bool) -> Node:
    source = re.sub(r"[\t\r\n]", " ", text).strip(" ")
    if not source:
        raise PerfmodelError(f"{where}: is empty; give an expression such as threadIdx.x")
    try:
        _check_tokens(source)
        tree = ast.parse(source, mode="eval")
        return _Visitor(source, allowed, integer).visit(tree.body, 1)
    except PerfmodelError as error:
        raise PerfmodelError(f"{where}: {error}") from None
    except (RecursionError, MemoryError):
        raise PerfmodelError(
            f"{where}: {shown(source)} is nested too deeply; split it into parts"
        ) from None
    except (SyntaxError, ValueError) as error:
        column = getattr(error, "offset", None)
        near = f" near {shown(source[max(column - 1, 0) :], 20)}" if column else ""
        raise PerfmodelError(
            f"{where}: {shown(source)} is not an expression; look for a missing operator,"
            f" operand or parenthesis{near}"
        ) from None


def _tokens(source: str) -> list[tuple[str, str]]:
    """Return (kind, token) pairs without the spaces; refuse what is no token of the grammar."""
    found: list[tuple[str, str]] = []
    position = 0
    after_number = False  # touching it, without a space
    while position < len(source):
        match = _TOKEN.match(source, position)
        if match is None:
            wrong = source[position]
            hint = _HINTS.get(wrong, "use names, numbers, operators and parentheses only")
            raise PerfmodelError(f"{shown(wrong)} in {shown(source)} is not allowed; {hint}")
        kind, token = str(match.lastgroup), match.group()
        position = match.end()
        if token in _HINTS:
            raise PerfmodelError(f"{token} in {shown(source)} is not allowed; {_HINTS[token]}")
        if kind == "word" and after_number:
            raise PerfmodelError(
                f"{shown(token)} after a number in {shown(source)} is not allowed;"
                " numbers take no suffix, and products need *"
            )
        if keyword.iskeyword(token) and token not in _WORDS:
            raise PerfmodelError(
                f"{token} in {shown(source)} is not allowed;"
                f" the words with a meaning are {', '.join(sorted(_WORDS))}"
            )
        after_number = kind == "number"
        if kind != "space":
            found.append(("operator" if token in _WORDS else kind, token))
    return found


def _check_tokens(source: str) -> None:
    """Refuse what could make Python's parser slow or overflow its stack, before it sees it."""
    pending = [0]  # operators since each open parenthesis, or since its last comma
    last = ""  # the kind of the last token, if an operand ended there
    for kind, token in _tokens(source):
        if last and (kind in ("number", "word") or (token == "(" and last != "word")):
            raise PerfmodelError(
                f"an operator is missing before {shown(token, 20)} in {shown(source)};"
                " products need *"
            )
        last = kind if kind in ("number", "word") or token == ")" else ""
        if token == "(":
            pending.append(0)
        elif token == ")":
            pending.pop()
            if not pending:
                raise PerfmodelError(f"{shown(source)} closes a parenthesis that it did not open")
        elif token == ",":
            pending[-1] = 0
        elif not last:
            pending[-1] += 1
        if len(pending) > DEEPEST_NESTING + 1 or sum(pending) > _LONGEST_CHAIN:
            _too_deep(source)
    if len(pending) > 1:
        raise PerfmodelError(f"{shown(source)} leaves a parenthesis open; add )")


def _too_deep(source: str) -> NoReturn:
    raise PerfmodelError(
        f"{shown(source)} is nested over {DEEPEST_NESTING} levels deep; split it into parts"
    )


class _Visitor:
    """One walk from Python's tree to ours; holds what the messages and checks need."""

    def __init__(self, source: str, allowed: frozenset[str] | None, integer: bool) -> None:
        self.source = source
        self.allowed = allowed
        self.integer = integer

    def visit(self, node: ast.expr, depth: int) -> Node:
        if depth > DEEPEST_NESTING:
            _too_deep(self.source)
        deeper = depth + 1
        match node:
            case ast.Constant():
                return self.number(node)
            case ast.Name(id=name):
                return self.name(name)
            case ast.Attribute():
                return self.dotted(node)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.visit(operand, deeper)
            case ast.UnaryOp(op=op, operand=operand):
                return self.operation(node, _OPERATORS.get(type(op)), [operand], deeper)
            case ast.BinOp(left=left, op=op, right=right):
                return self.operation(node, _OPERATORS.get(type(op)), [left, right], deeper)
            case ast.BoolOp(op=op, values=values):
                return self.operation(node, _OPERATORS[type(op)], values, deeper)
            case ast.Compare():
                return self.comparison(node, deeper)
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                return self.operation(node, "where", [test, body, otherwise], deeper)
            case ast.Call():
                return self.call(node, deeper)
        self.refuse(node, "use names, numbers, operators and the functions of the grammar only")

    def refuse(self, node: ast.expr, hint: str) -> NoReturn:
        part = self.source[node.col_offset : node.end_col_offset]
        raise PerfmodelError(f"{shown(part)} is not allowed; {hint}")

    def number(self, node: ast.Constant) -> Node:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.refuse(node, "only whole numbers and decimal fractions are")
        if self.integer and isinstance(value, float):
            self.refuse(node, "only whole numbers are")
        if abs(value) > LARGEST_LITERAL and isinstance(value, int):
            self.refuse(node, "whole numbers go up to 2**63 - 1")
        return Number(value)

    def name(self, name: str) -> Node:
        node = Name(name)
        if self.allowed is not None and name not in self.allowed:
            import difflib  # only when there is something wrong

            near = difflib.get_close_matches(name, self.allowed, n=1)
            known = sorted(self.allowed)
            listed = ", ".join(known[:8]) + (", ..." if len(known) > 8 else "")
            hint = f"did you mean {near[0]}?" if near else f"known: {shown(listed, 120)[1:-1]}"
            raise PerfmodelError(f"{shown(name)} is not a known variable; {hint}")
        return node

    def dotted(self, node: ast.Attribute) -> Node:
        base = node.value
        if isinstance(base, ast.Name) and base.id in DOTTED_BASES and node.attr in ("x", "y", "z"):
            return self.name(f"{base.id}.{node.attr}")
        self.refuse(node, f"only {', '.join(DOTTED_BASES)} have parts: .x, .y and .z")

    def comparison(self, node: ast.Compare, depth: int) -> Node:
        values = [self.visit(value, depth) for value in (node.left, *node.comparators)]
        links = tuple(
            Operation(_OPERATORS[type(op)], pair)
            for op, pair in zip(node.ops, pairwise(values), strict=True)
        )
        return links[0] if len(links) == 1 else Operation("and", links)

    def call(self, node: ast.Call, depth: int) -> Node:
        function = node.func
        if not isinstance(function, ast.Name) or function.id not in FUNCTIONS:
            called = self.source[function.col_offset : function.end_col_offset]
            import difflib  # only when there is something wrong

            near = difflib.get_close_matches(called[:40], FUNCTIONS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"use {', '.join(sorted(FUNCTIONS))}"
            raise PerfmodelError(f"calling {shown(called)} is not allowed; {hint}")
        fewest, most = ARITY[function.id]
        count = len(node.args)
        if node.keywords or count < fewest or (most is not None and count > most):
            wanted = f"{fewest}" if most == fewest else f"at least {fewest}"
            self.refuse(node, f"{function.id} takes {wanted} plain argument(s)")
        return self.operation(node, function.id, node.args, depth)

    def operation(
        self, node: ast.expr, operator: str | None, parts: list[ast.expr], depth: int
    ) -> Node:
        if operator is None:
            self.refuse(node, "this operator is not part of the grammar")
        if self.integer and operator in _NOT_INTEGER:
            self.refuse(node, f"{operator} gives fractions; {_NOT_INTEGER[operator]}")
        operands = tuple(self.visit(part, depth) for part in parts)
        if operator in ("<<", ">>"):
            amount = _constant(operands[1])
            if amount is not None and not 0 <= amount <= LARGEST_SHIFT:
                self.refuse(node, f"shifts go from 0 to {LARGEST_SHIFT}")
        if operator == "**":
            self.check_exponent(node, _constant(operands[1]))
        return Operation(operator, operands)

    def check_exponent(self, node: ast.expr, exponent: int | float | None) -> None:
        if self.integer and (exponent is None or not 0 <= exponent <= LARGEST_INTEGER_EXPONENT):
            self.refuse(
                node, f"exponents are whole literals from 0 to {LARGEST_INTEGER_EXPONENT} here"
            )
        if exponent is not None and abs(exponent) > LARGEST_EXPONENT:
            self.refuse(node, f"literal exponents go up to {LARGEST_EXPONENT}")


def _constant(node: Node) -> int | float | None:
    """Return the value of a literal, negated or not; None for anything else."""
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Operation) and node.operator == "neg":
        value = _constant(node.operands[0])
        return None if value is None else -value
    return None
