"""Expressions as sympy mathematics, for display. sympy is imported only when asked for."""

from typing import Any, Final

from perfmodel.errors import PerfmodelError
from perfmodel.expressions.nodes import COMPARISONS, Name, Node, Number, Operation, shown, text

# Longest literal power that sympy may write out; it would try any, whatever the time.
_LARGEST_POWER_BITS: Final = 4096
# Most operands of min and max that sympy may compare with each other; 60 take it seconds.
_MOST_COMPARED: Final = 8

_OPAQUE: Final = {
    **{"&": "bitand", "|": "bitor", "^": "bitxor"},
    **{name: name for name in ("random", "shuffled", "full_parts")},
}
_BOOLEAN: Final = COMPARISONS | {"and", "or", "not"}


def to_sympy(node: Node) -> Any:
    """Return the expression in sympy's terms, exactly as far as its literals are exact.

    ``//`` becomes the floor of the quotient, ``%`` Mod, ``ceil_div`` a ceiling, shifts a product
    with or the floor of a quotient by a power of two, ``where`` a Piecewise, and ``& | ^`` the
    undefined functions ``bitand``, ``bitor`` and ``bitxor``, as ``random``, ``shuffled`` and
    ``full_parts`` become.

    Symbols have the variables' names, dots included. They are positive; ``threadIdx`` and
    ``blockIdx``, which start at zero, nonnegative.

    Raises `PerfmodelError` if a literal power is too large to write out, or a part is undefined, as
    1 / 0 is.
    """
    try:
        return _translated(node, {})
    except (TypeError, ZeroDivisionError) as error:
        raise PerfmodelError(f"{shown(text(node))} has no symbolic form: {error}") from None


def _translated(node: Node, done: dict[Node, Any]) -> Any:
    """Translate; `done` are the parts that are translated already."""
    import sympy

    if isinstance(node, Number):
        return sympy.sympify(node.value)
    if isinstance(node, Name):
        index = node.name.startswith(("threadIdx.", "blockIdx."))
        return sympy.Symbol(node.name, real=True, **{"nonnegative" if index else "positive": True})
    if node not in done:
        done[node] = _built(node, done)
    return done[node]


def _built(node: Operation, done: dict[Node, Any]) -> Any:
    import sympy

    def number(operand: Node) -> Any:
        """Translate; a truth value becomes 0 or 1."""
        built = _translated(operand, done)
        if isinstance(built, sympy.logic.boolalg.Boolean) and not isinstance(built, sympy.Symbol):
            return sympy.Piecewise((1, built), (0, True))
        return built

    def condition(operand: Node) -> Any:
        """Translate; a number is true unless it is zero."""
        built = _translated(operand, done)
        return built if getattr(operand, "operator", None) in _BOOLEAN else sympy.Ne(built, 0)

    operator, operands = node.operator, node.operands
    if operator == "where":
        chosen, other = number(operands[1]), number(operands[2])
        return sympy.Piecewise((chosen, condition(operands[0])), (other, True))
    if operator in ("and", "or", "not"):
        connective = {"and": sympy.And, "or": sympy.Or, "not": sympy.Not}[operator]
        return connective(*map(condition, operands))
    arguments = [number(operand) for operand in operands]
    if operator in COMPARISONS:
        return sympy.Rel(*arguments, operator)
    if operator in _OPAQUE:
        return sympy.Function(_OPAQUE[operator], integer=True)(*arguments)
    if operator == "**":
        _check_power(arguments[0], arguments[1])
    elif operator in ("<<", ">>"):
        _check_power(sympy.Integer(2), arguments[1])
    return _ARITHMETIC[operator](sympy, *arguments)


def _check_power(base: Any, exponent: Any) -> None:
    """Refuse a power whose literal factors would have too many digits."""
    import sympy

    if exponent.is_number:
        bits = max((abs(n.p * n.q).bit_length() for n in base.atoms(sympy.Rational)), default=1)
        if bits * abs(exponent) > _LARGEST_POWER_BITS:
            raise PerfmodelError(f"a power with exponent {shown(str(exponent), 20)} is too large")


_ARITHMETIC: Final[dict[str, Any]] = {
    "+": lambda _, a, b: a + b,
    "-": lambda _, a, b: a - b,
    "*": lambda _, a, b: a * b,
    "/": lambda _, a, b: a / b,
    "//": lambda sympy, a, b: sympy.floor(a / b),
    "%": lambda sympy, a, b: sympy.Mod(a, b),
    "**": lambda _, a, b: a**b,
    "<<": lambda _, a, b: a * 2**b,
    ">>": lambda sympy, a, b: sympy.floor(a / 2**b),
    "neg": lambda _, a: -a,
    "min": lambda sympy, *values: sympy.Min(*values, evaluate=len(values) <= _MOST_COMPARED),
    "max": lambda sympy, *values: sympy.Max(*values, evaluate=len(values) <= _MOST_COMPARED),
    "floor": lambda sympy, a: sympy.floor(a),
    "ceil": lambda sympy, a: sympy.ceiling(a),
    "ceil_div": lambda sympy, a, b: sympy.ceiling(a / b),
    "abs": lambda sympy, a: sympy.Abs(a),
    "log2": lambda sympy, a: sympy.log(a, 2),
    "sqrt": lambda sympy, a: sympy.sqrt(a),
}
