"""Folding gives the same values with less left to work out."""

import pytest

from perfmodel.expressions import Name, Number, evaluate, names, parse
from perfmodel.expressions.evaluate import folded


# Expected values worked out by hand.
@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ("a*2 + 3", {"a": 4}, Number(11)),
        ("where(a > 1, b, c)", {"a": 2}, Name("b")),
        ("where(a > 1, b, c)", {"a": 1}, Name("c")),
        ("a < 3", {"a": 2}, Number(1)),
    ],
)
def test_known_parts_become_numbers(text, known, expected):
    assert folded(parse(text), known) == expected


def test_what_is_left_has_the_same_value():
    node = parse("(where(split > 1, 0, z)*group + x)*tile + y // (tile - 128)")
    known = {"split": 1, "group": 4, "tile": 64}
    left = folded(node, known)
    assert names(left) == {"x", "y", "z"}
    for x, y, z in [(0, 0, 0), (3, 129, 2), (5, 64, 7)]:
        place = {"x": x, "y": y, "z": z}
        assert evaluate(left, place) == evaluate(node, known | place)


def test_an_undefined_part_stays():
    left = folded(parse("where(n > 0, m // k, 0)"), {"k": 0, "m": 1})
    assert evaluate(left, {"n": 0}) == 0
