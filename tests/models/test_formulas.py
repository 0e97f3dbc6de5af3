"""Every closed form of the models says what its symbols mean, and can be read by sympy."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import pytest

from perfmodel import models
from perfmodel.expressions import names
from perfmodel.models.formula import Formula

FORMULAS = {
    f"{module.name}.{name}": value
    for module in pkgutil.walk_packages(models.__path__, "perfmodel.models.")
    for name, value in vars(import_module(module.name)).items()
    if isinstance(value, Formula)
}


def test_formulas_are_found() -> None:
    # property: the test below is about something
    assert len({id(formula) for formula in FORMULAS.values()}) > 100


@pytest.mark.parametrize("name", FORMULAS)
def test_symbols_are_explained(name: str) -> None:
    # property: of every formula, none of its symbols is without a meaning; sympy parses the text
    formula = FORMULAS[name]
    assert names(formula.node) == formula.symbols.keys()
    assert formula.sympy() is not None
    assert formula.source
    assert formula.holds
