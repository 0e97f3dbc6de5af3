"""Step: one formula of an explanation with its numbers put in."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from perfmodel.fields import fields_of
from perfmodel.hardware.figure import Figure
from perfmodel.models.formula import Formula
from perfmodel.records import record


@record
class Origin:
    """Where a number that is put into a formula comes from."""

    steps: tuple[int, ...] = ()  # numbers of the steps behind it
    # figures of the GPU behind it, by name
    figures: Mapping[str, Figure] = field(default_factory=dict)
    same: bool = False  # whether it is just the result of the one step, or just the one figure


@record
class Step:
    """One line of an explanation: ``title = formula = formula with numbers = result``."""

    section: str  # what it belongs to; steps of a section follow each other
    title: str  # what the result is
    # with the meaning and unit of every symbol, where it holds and where it comes from
    formula: Formula
    values: Mapping[str, float]  # a number for each symbol, in SI
    result: float  # the formula's value on `values`, in the unit `formula.unit`
    note: str = ""  # what it means in words; may be empty
    number: int = 0  # from 1, in the order of the explanation
    # by how many percent the time is longer with 1% more of the result; None where any change gives
    # the model another form
    elasticity: float | None = None
    # of those symbols whose number comes from another step or from the GPU's figures
    origins: Mapping[str, Origin] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the step as plain data."""
        return {
            **fields_of(self, "section", "title"),
            "formula": self.formula.text,
            "symbols": {name: self.formula.symbols[name] for name in self.values},
            **fields_of(self, "values", "result"),
            "unit": self.formula.unit,
            "note": self.note,
            **fields_of(self.formula, "holds", "source"),
            **fields_of(self, "number", "elasticity"),
            "origins": {
                symbol: {"steps": list(found.steps), "figures": list(found.figures)}
                for symbol, found in self.origins.items()
            },
        }


def scalar(value: Any) -> float:
    """Return the one number in an array, or a number as it is."""
    return float(np.asarray(value, dtype=float).reshape(-1)[0])
