"""Sums and conditions against plain evaluation of the expressions that they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.cuda.addresses.algebra import Algebra
from perfmodel.cuda.addresses.conditions import all_of, any_of, negated
from perfmodel.cuda.addresses.sums import Sum, constant, sum_of, written
from perfmodel.expressions import Name, Node, Number, Operation, evaluate, parse, text
from perfmodel.kernels.intervals import Interval

RANGES = {"a": Interval(0, 40), "b": Interval(1, 9), "c": Interval(7, 7), "d": Interval(-20, 20)}
POINTS = {
    name: np.random.default_rng(i).integers(r.low, r.high + 1, 64)
    for i, (name, r) in enumerate(RANGES.items())
}
POWERS = (2, 4, 8, 32, 128)


def nodes(depth: int = 4) -> st.SearchStrategy[Node]:
    leaves = st.one_of(st.sampled_from([Name(n) for n in RANGES]), st.integers(-9, 9).map(Number))
    return st.recursive(
        leaves,
        lambda inner: st.builds(
            lambda operator, a, b: Operation(operator, (a, b)),
            st.sampled_from(["+", "-", "*"]),
            inner,
            inner,
        ),
        max_leaves=depth,
    )


def value(node: Node) -> Any:
    return np.broadcast_to(np.asarray(evaluate(node, POINTS)), (64,))


def same(node: Node, found: Sum) -> None:
    assert np.array_equal(value(node), value(written(found))), (text(node), text(written(found)))


@given(nodes(6))
def test_written_sums_have_the_value_of_the_expression(node: Node) -> None:
    same(node, sum_of(node))


@given(nodes(6))
def test_equal_polynomials_are_equal_sums(node: Node) -> None:
    # property: x + y - y, in another order, is the same sum
    more = Operation("-", (Operation("+", (Name("d"), node)), Name("d")))
    assert sum_of(more) == sum_of(node)


@settings(max_examples=300)
@given(nodes(4), st.sampled_from(["//", "%", "&", "~&", "|", "^", "<<", ">>"]), st.data())
def test_integer_operations_equal_evaluation(node: Node, operator: str, data: Any) -> None:
    algebra = Algebra(RANGES)
    power = data.draw(st.sampled_from(POWERS))
    by = Number(data.draw(st.integers(1, 12)))
    left = sum_of(node)
    if operator == "//":
        same(Operation("//", (node, by)), algebra.quotient(left, sum_of(by)))
    elif operator == "%":
        same(Operation("%", (node, by)), algebra.remainder(left, sum_of(by)))
    elif operator == "&":
        same(
            Operation("&", (node, Number(power - 1))), algebra.masked(left, constant(power - 1), 32)
        )
    elif operator == "~&":
        mask = Operation("-", (node, Operation("%", (node, Number(power)))))
        same(mask, algebra.masked(left, constant(-power), 32))
    elif operator == "|":
        other = Operation("%", (Name("a"), Number(power)))
        high = Operation("*", (node, Number(power)))
        found = algebra.joined(sum_of(high), algebra.remainder(sum_of(Name("a")), constant(power)))
        same(Operation("|", (high, other)), found)
    elif operator == "^":
        same(Operation("^", (node, by)), algebra.exclusive(left, sum_of(by), 64))
    else:
        shift = Number(3)
        same(
            Operation(operator, (node, shift)),
            algebra.again(Operation(operator, (written(left), shift))),
        )


@given(nodes(3), nodes(3), nodes(2), nodes(2))
def test_choices_and_comparisons_equal_evaluation(a: Node, b: Node, x: Node, y: Node) -> None:
    algebra = Algebra(RANGES)
    for operator in ("<", "<=", ">", ">=", "==", "!="):
        condition = algebra.compared(operator, sum_of(a), sum_of(b))
        plain = Operation(operator, (a, b))
        assert np.array_equal(value(plain) != 0, value(condition) != 0)
        same(Operation("where", (plain, x, y)), algebra.chosen(condition, sum_of(x), sum_of(y)))


@given(nodes(3), st.sampled_from(["<", "<=", ">", ">="]), nodes(3))
def test_unsigned_comparisons_equal_those_of_32_bits(a: Node, operator: str, b: Node) -> None:
    # independent: the same bits compared by NumPy
    condition = Algebra(RANGES).compared_unsigned(operator, sum_of(a), sum_of(b), 32)
    functions = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
    expected = functions[operator](value(a).astype(np.uint32), value(b).astype(np.uint32))
    assert np.array_equal(expected, value(condition) != 0)


@given(nodes(5))
def test_ranges_contain_all_values(node: Node) -> None:
    low, high = Algebra(RANGES).range(sum_of(node))
    assert low <= value(node).min()
    assert value(node).max() <= high


@pytest.mark.parametrize("divisor", [3, 5, 7, 10, 48, 100, 641, 1000, 86400])
def test_products_with_a_reciprocal_are_divisions(divisor: int) -> None:
    # independent: how compilers divide 32-bit numbers (Granlund and Montgomery, PLDI 1994)
    algebra = Algebra({"x": Interval(0, 10**6)})
    shift = 32 + divisor.bit_length()
    reciprocal = -(-(1 << shift) // divisor)
    found = algebra.quotient(sum_of(parse(f"x*{reciprocal}")), constant(1 << shift))
    assert text(written(found)) == f"x // {divisor}"


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("n - n % 4", "n // 4 * 4"),
        ("n // 4 * 4 + n % 4", "n"),
        ("i - i // w * w", "i % w"),
        ("(blockIdx.y*32 + threadIdx.y)*N + k", "(blockIdx.y * 32 + threadIdx.y) * N + k"),
        ("k*N*4 + N*8 + threadIdx.x", "(k * 4 + 8) * N + threadIdx.x"),
    ],
)
def test_sums_read_as_people_write_them(given_text: str, expected: str) -> None:
    assert text(written(sum_of(parse(given_text)))) == expected


CONDITIONS = [parse(t) for t in ("a < 20", "b > 3", "d >= 0", "a == 7")]


@given(
    st.recursive(
        st.sampled_from(CONDITIONS),
        lambda c: st.one_of(
            st.builds(lambda x, y: Operation("and", (x, y)), c, c),
            st.builds(lambda x, y: Operation("or", (x, y)), c, c),
            st.builds(lambda x: Operation("not", (x,)), c),
        ),
        max_leaves=6,
    )
)
def test_conditions_are_simplified_without_changing(node: Node) -> None:
    def rebuilt(part: Node) -> Node:
        assert isinstance(part, Operation)
        if part.operator == "and":
            return all_of(map(rebuilt, part.operands))
        if part.operator == "or":
            return any_of(map(rebuilt, part.operands))
        return negated(rebuilt(part.operands[0])) if part.operator == "not" else part

    assert np.array_equal(value(node) != 0, value(rebuilt(node)) != 0)
    assert np.array_equal(value(node) == 0, value(negated(rebuilt(node))) != 0)
