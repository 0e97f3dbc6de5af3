"""Parts of addresses: named indices, ranges under a guard, and indices that data decides."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from perfmodel.cuda.addresses.algebra import Algebra
from perfmodel.cuda.addresses.conditions import FALSE, TRUE, conjuncts, negated
from perfmodel.cuda.addresses.records import Datum
from perfmodel.cuda.addresses.sums import Factors, Sum, by_factor, ordered, single, sum_of, written
from perfmodel.expressions import Name, Node, Number, Operation, exchanged, names, substitute
from perfmodel.expressions.evaluate import folded
from perfmodel.kernels.intervals import Interval
from perfmodel.records import record

_WRAP: Final = Number(1 << 32)
_BOUNDS: Final = {"<": (1, False), "<=": (0, False), ">": (1, True), ">=": (0, True)}


def contained(value: Sum, part: Sum) -> Sum | None:
    """Return m of ``value = m*part + rest`` with as much of the part as there is; None if none."""
    if not part.terms:
        return None
    (lead, times) = max(part.terms.items(), key=lambda item: len(item[0]))
    for factors, count in value.terms.items():
        left = _without(factors, lead)
        if left is None or count % times:
            continue
        m = Sum({left: count // times})
        if all(
            value.terms.get(_joined(left, other)) == count // times * c
            for other, c in part.terms.items()
        ):
            return m
    return None


def with_name(value: Sum, part: Sum, name: Name) -> Sum:
    """Return a sum with a name for each multiple of a part in it."""
    for _ in range(8):
        m = contained(value, part)
        if m is None:
            return value
        ((factors, times),) = m.terms.items()
        value = (
            value
            - Sum({_joined(factors, o): times * c for o, c in part.terms.items()})
            + Sum({_joined(factors, (name,)): times})
        )
    return value


def renamed(node: Node, parts: Sequence[tuple[Name, Sum]]) -> Node:
    """Return an expression with names for its parts, inside its operands too."""
    if isinstance(node, Operation) and node.operator not in ("+", "-", "*", "neg"):
        return Operation(node.operator, tuple(renamed(o, parts) for o in node.operands))
    value = sum_of(node)
    inside: dict[Node, Node] = {
        f: renamed(f, parts) for f in value.factors if isinstance(f, Operation)
    }
    if any(new != old for old, new in inside.items()):
        terms: dict[Factors, int] = {}
        for factors, times in value.terms.items():
            key = _joined((), tuple(inside.get(f, f) for f in factors))
            terms[key] = terms.get(key, 0) + times
        value = Sum(terms)
    for name, part in parts:
        value = with_name(value, part, name)
    return written(value)


def range_under(value: Sum, guard: Node, algebra: Algebra) -> Interval:
    """Return the range of a sum among the threads for which a guard holds; never too narrow."""
    low, high = algebra.range(value)
    for sign in (1, -1):
        left, found = value * sign, 0
        for part, most in _bounds(guard, algebra):
            m = contained(left, part)
            times = None if m is None else algebra.number(m)
            if m is None or times is None or times <= 0:
                continue
            left = left - m * part
            found += times * most
        found += algebra.range(left).high
        if sign > 0:
            high = min(high, found)
        else:
            low = max(low, -found)
    return Interval(low, high)


def where_guarded(value: Sum, guard: Node) -> Sum:
    """Return a value without the other sides of choices by what a guard says."""
    known: dict[Node, Node] = {}
    for part in conjuncts(guard):
        known |= {part: TRUE, negated(part): FALSE}
    return sum_of(folded(exchanged(written(value), known), {}))


def _bounds(guard: Node, algebra: Algebra) -> Iterable[tuple[Sum, int]]:
    """Yield sums without a constant, and what they are at most where a guard holds."""
    for part in conjuncts(guard):
        if not isinstance(part, Operation) or part.operator not in _BOUNDS:
            continue
        strict, swapped = _BOUNDS[part.operator]
        a, b = (sum_of(operand) for operand in part.operands)
        if swapped:
            a, b = b, a
        limit = algebra.number(b)
        if limit is not None:
            yield a - a.offset, limit - strict - a.offset
        limit = algebra.number(a)
        if limit is not None:
            yield -(b - b.offset), b.offset - strict - limit


def lanes_in_data(value: Sum, data: Mapping[str, Datum], algebra: Algebra) -> bool:
    """Say whether what differs by thread or turn is inside a factor that data decides."""
    inside = {n for f in data_factors(value, data) for n in names(f)} - data.keys()
    return any(algebra.number(single(Name(name))) is None for name in inside)


def data_factors(value: Sum, data: Mapping[str, Datum]) -> list[Node]:
    """Return the factors of a sum that data decides."""
    return [f for f in value.factors if names(f) & data.keys()]


@record
class Drawing:
    """Where an access that data decides may go."""

    length: int  # indices from 0 up to before this are inside
    key: Node  # the same random place for the same key
    guard: Node  # condition for the access
    data: Mapping[str, Datum]
    algebra: Algebra


def at_random(
    value: Sum, drawing: Drawing, wide: int = 1, read_at_key: bool = False
) -> Node | None:
    """Return an index whose part that data decides is taken at random inside the buffer.

    It stays a multiple of `wide`, the elements that are moved at once; `read_at_key`: whether the
    key is where what data decides was read. None if data decides more than one part, or one that is
    no factor of its own.
    """
    data, algebra = drawing.data, drawing.algebra
    factors = data_factors(value, data)
    if len(factors) != 1:
        return None
    factor = factors[0]
    step, rest = by_factor(value.terms, factor)
    steps = algebra.number(Sum(step))
    if any(factor in left for left in step) or steps is None or steps <= 0 or steps % wide:
        return None
    others = range_under(Sum(rest), drawing.guard, algebra)
    known = algebra.range(single(factor))
    least = max(known.low, 0)
    most = min(known.high, (drawing.length - 1 - max(others.high, 0)) // steps)
    count = max(1, most - least + 1)
    datum = data.get(factor.name) if isinstance(factor, Name) else None
    # All of a permutation: no place comes twice.
    every = datum is not None and datum.shuffled and (least, count) == (0, datum.high + 1)
    how = "shuffled" if every and read_at_key else "random"
    drawn: Node = Operation(how, (drawing.key, Number(count)))
    if least:
        drawn = drawn + least
    return written(Sum(rest) + Sum(step) * single(drawn))


def unwrapped(value: Sum, length: int, data: Mapping[str, Datum], algebra: Algebra) -> Sum:
    """Return an index without ``% 2**32`` around what data decides: ``row * width + column``.

    An unsigned register whose range is not known may wrap, but the index of a row does not: more
    than one of them lies below `length`. Where that is not so, as in a hash, the index stays.
    """
    whole = value
    for product_of, times in value.terms.items():
        node = product_of[0] if len(product_of) == 1 else None
        if not isinstance(node, Operation) or node.operator != "%":
            continue
        inside, by = node.operands
        inner = sum_of(inside)
        found = data_factors(inner, data)
        if by != _WRAP or len(found) != 1:
            continue
        step, _ = by_factor(inner.terms, found[0])
        apart = algebra.number(Sum({p: times * t for p, t in step.items()}))
        if apart is not None and 0 < apart < length:
            whole = whole - Sum({product_of: times}) + inner * times
    return whole


def drawn_inside(value: Sum, drawing: Drawing) -> Node | None:
    """Return an index in whose quotients and remainders one number that data decides is drawn.

    The slot of a page, ``(slot / 16 * heads + head) * 16 + slot % 16``: lanes keep their places
    beside each other. Arguments as `at_random`; the number is from 0 up to the largest with which
    all indices stay inside. None if data decides several numbers, or if even 0 leads outside.
    """
    data, length = drawing.data, drawing.length
    found = {n for f in value.factors for n in names(f) & data.keys()}
    if len(found) != 1:
        return None
    name = found.pop()
    index = written(value)

    def inside(number: int) -> bool:
        reached = sum_of(folded(index, {name: number}))
        return range_under(reached, drawing.guard, drawing.algebra).high < length

    if not inside(0):
        return None
    most = 1
    while inside(most) and most < data[name].high:
        most *= 2
    if inside(most):  # clamped, or a remainder: every number leads inside
        most = min(most, length)
    least = 0
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if inside(middle) else (least, middle)
    drawn = Operation("random", (drawing.key, Number(most)))
    return substitute(index, {name: drawn})


def _joined(a: Factors, b: Factors) -> Factors:
    return ordered((*a, *b))


def _without(factors: Factors, part: Factors) -> Factors | None:
    left = list(factors)
    for factor in part:
        if factor not in left:
            return None
        left.remove(factor)
    return tuple(left)
