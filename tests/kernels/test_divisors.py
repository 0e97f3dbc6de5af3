"""Divisors of expressions: against the greatest common divisor of all their values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perfmodel.expressions import evaluate, parse
from perfmodel.kernels.bounds import divisor

KNOWN = {"n": 12, "m": 5}
PLACES = {"i": np.arange(0, 40)[:, None], "j": np.arange(0, 7)}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # by hand
        ("8*i + 4*j", 4),
        ("i*n + 16", 4),
        ("(i*n + 4*j)*2", 8),
        ("m*i", 1),
        ("where(i > 3, 8*i, 4)", 4),
        ("min(8*i, n*j)", 4),
        ("(8*i) % n", 4),
        ("n*n", 16),
        ("i // 4", 1),
        ("16*i + 8 - n", 4),
    ],
)
def test_divisors(expression: str, expected: int) -> None:
    tree = parse(expression)
    found = divisor(tree, KNOWN, 16)
    assert found == expected
    # independent: all values
    values = np.ravel(evaluate(tree, {**KNOWN, **PLACES}))
    assert math.gcd(16, *map(int, values)) % found == 0
