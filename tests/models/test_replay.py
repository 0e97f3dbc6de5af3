"""Replay: what a derivation gives with some of its numbers changed, and elasticities by it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.expressions import Name
from perfmodel.kernels.access import Access
from perfmodel.models.derivation import definition, figure, recording, scope
from perfmodel.models.formula import Formula
from perfmodel.models.power_mean import mean_time, power_mean
from perfmodel.models.replay import DecisionError, Derivation, derivation

SUM = Formula(
    name="sum",
    unit="s",
    text="a + b",
    symbols={"a": "one time [s]", "b": "another [s]"},
    holds="always",
    source="definition",
)


def way(work, **figures: float) -> Derivation:
    with recording() as decisions:
        result = work(**{name: figure(name, value) for name, value in figures.items()})
        return derivation(result, decisions)


def elasticities(work, **figures: float) -> dict[str, float | None]:
    found = way(work, **figures)
    return {name: found.elasticity(node) for name, node in found.figures.items()}


@given(st.floats(0.1, 10.0), st.floats(0.1, 10.0), st.floats(-3.0, 3.0))
def test_powers_and_sums_by_hand(x: float, y: float, power: float) -> None:
    # derived: d log(x^p y)/d log x = p, d log y = 1; of a sum, each part's share
    found = elasticities(lambda x, y: x**power * y, x=x, y=y)
    assert found == {"x": pytest.approx(power, abs=1e-5), "y": pytest.approx(1.0, rel=1e-5)}
    found = elasticities(lambda x, y: SUM(a=2 * x, b=y), x=x, y=y)
    share = 2 * x / (2 * x + y)
    assert found == {"x": pytest.approx(share, abs=1e-5), "y": pytest.approx(1 - share, abs=1e-5)}


def test_formulas_and_several_nodes_together() -> None:
    # by hand: 3 + 4 + 1; 1% of the first sum is 7/8 of a percent, of both figures too
    found = way(lambda x, y: SUM(a=SUM(a=x, b=y), b=1.0), x=3.0, y=4.0)
    first, last = found.formulas
    assert first.formula is SUM
    assert found.elasticity(first) == pytest.approx(7 / 8, rel=1e-5)
    assert found.elasticity(*found.figures.values()) == pytest.approx(7 / 8, rel=1e-5)
    assert found.elasticity(found.figures["x"], of=first) == pytest.approx(3 / 7, rel=1e-5)
    assert found.elasticity(found.figures["x"], of=last, among={last}) == 0.0
    assert found.elasticity(last) == pytest.approx(1.0, rel=1e-9)


def test_what_does_not_decide_has_none() -> None:
    found = elasticities(lambda x, y: np.maximum(x, 2 * y), x=3.0, y=1.0)
    assert found == {"x": pytest.approx(1.0, rel=1e-6), "y": 0.0}
    # zeros stay
    assert elasticities(lambda x, y: x + y, x=0.0, y=1.0)["x"] == 0.0


def test_arrays_are_scaled_as_a_whole() -> None:
    # by hand: the sum of 2x and 3 with x = 1
    found = way(lambda x: (np.array([2.0, 0.0]) * x + np.array([0.0, 3.0])).sum(), x=1.0)
    product = next(node for node in found.nodes if node.name == "multiply")
    assert found.elasticity(product) == pytest.approx(0.4, rel=1e-5)


def test_jumps_are_passed_over() -> None:
    # by hand: above 3 the ceiling is 4; below, it stays, and only the factor x is left
    assert elasticities(lambda x: np.ceil(x) * x, x=3.0)["x"] == pytest.approx(1.0, rel=1e-5)
    # steep, but a slope: e**(10 x) has elasticity 10 x
    assert elasticities(lambda x: np.exp(10 * x), x=3.0)["x"] == pytest.approx(30, rel=1e-3)


def test_another_form_of_the_model_has_no_elasticity() -> None:
    found = way(lambda n: np.zeros(1) + n * (1 + 0 * float(n)), n=3.0)
    assert found.elasticity(found.figures["n"]) is None
    with pytest.raises(DecisionError):
        found.with_values({found.figures["n"]: 4.0})


@given(st.floats(0.5, 2.0), st.floats(0.5, 2.0))
def test_only_what_depends_is_worked_out_again(x: float, new: float) -> None:
    runs = []

    @definition
    def expensive(y):
        runs.append(y)
        return y * 2

    found = way(lambda x, y: x + expensive(y), x=x, y=3.0)
    assert found.replay(x=new) == [new + 6.0]
    assert runs == [3.0]
    assert found.replay(y=new) == [x + new * 2]
    assert runs == [3.0, new]


def test_an_access_is_noted_with_what_is_worked_out_for_it() -> None:
    access = Access("A", "load", Name("i"))

    def work(x):
        with scope(access):
            of_access = SUM(a=x, b=1.0)
        return SUM(a=of_access, b=x)

    assert [node.scope for node in way(work, x=1.0).formulas] == [access, None]


def test_a_formula_may_be_worked_out_another_way() -> None:
    def scaled(a, b):
        return 1e30 * (a / 1e30 + b / 1e30)

    assert SUM.by(scaled, a=1.0, b=2.0) == pytest.approx(3.0)
    (node,) = way(lambda x: SUM.by(scaled, a=x, b=2.0), x=1.0).formulas
    assert node.formula is SUM
    assert node.value == pytest.approx(3.0)
    assert dict(node.named) == {"a": node.named["a"], "b": 2.0}


@given(st.floats(1e-9, 1.0), st.floats(0.0, 1.0), st.floats(1.0, 24.0))
def test_a_mean_of_times_is_a_formula_with_its_parts(x: float, y: float, p: float) -> None:
    plain = float(power_mean((x, y), p))
    assert float(mean_time("both", p, l1=x, issue=y)) == plain
    found = way(lambda x: mean_time("both", p, l1=x, issue=y), x=x)
    (node,) = found.formulas
    assert found.replay() == [plain]
    assert node.formula is not None
    shown = node.formula(l1=x, issue=y, p=p)
    # far apart, the powers of the smaller underflow in the formula, without a digit lost
    assert math.isclose(shown, plain, rel_tol=1e-9) or x**p == 0
