"""Step: one formula of an explanation with its numbers put in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from perfmodel.models.formula import Formula

NEGLIGIBLE: Final = 0.01
"""Share of a total below which a part is named but not derived."""


@dataclass(frozen=True, slots=True)
class Step:
    """One line of an explanation: ``title = formula = formula with numbers = result``.

    Attributes
    ----------
    section : str
        What it belongs to; steps of a section follow each other.
    title : str
        What the result is.
    formula : Formula
        With the meaning and unit of every symbol, where it holds and where it comes from.
    values : mapping of str to float
        A number for each symbol, in SI.
    result : float
        The formula's value on `values`, in the unit `formula.unit`.
    note : str
        What it means in words; may be empty.
    """

    section: str
    title: str
    formula: Formula
    values: Mapping[str, float]
    result: float
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the step as plain data."""
        return {
            "section": self.section,
            "title": self.title,
            "formula": self.formula.text,
            "symbols": {name: self.formula.symbols[name] for name in self.values},
            "values": dict(self.values),
            "result": self.result,
            "unit": self.formula.unit,
            "note": self.note,
            "holds": self.formula.holds,
            "source": self.formula.source,
        }


def step(section: str, formula: Formula, values: Mapping[str, Any], note: str = "") -> Step:
    """Evaluate a formula on one number for each symbol and return it as a step.

    `values` may hold more than the formula's symbols; those are not part of the step.
    """
    numbers = {name: scalar(values[name]) for name in formula.symbols}
    return Step(section, formula.name, formula, numbers, scalar(formula(**numbers)), note)


def definition(
    name: str, unit: str, text: str, symbols: Mapping[str, str], holds: str = "always"
) -> Formula:
    """Return a formula that only says how a number is composed of others."""
    return Formula(name, unit, text, symbols, holds=holds, source="definition")


def named(formula: Formula, name: str, unit: str | None = None) -> Formula:
    """Return a formula under another name, as where one counts sectors or lines."""
    return replace(formula, name=name, unit=unit or formula.unit)


def scalar(value: Any) -> float:
    """Return the one number in an array, or a number as it is."""
    return float(np.asarray(value, dtype=float).reshape(-1)[0])


def close(found: float, expected: float) -> bool:
    """Return whether two ways to the same number agree, up to rounding."""
    return bool(np.isclose(found, expected, rtol=1e-9, atol=0.0))
