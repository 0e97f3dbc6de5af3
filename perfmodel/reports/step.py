"""Step: one formula of an explanation with its numbers put in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from perfmodel.hardware.figure import Figure
from perfmodel.models.formula import Formula
from perfmodel.records import record


@record
class Origin:
    """Where a number that is put into a formula comes from.

    Attributes
    ----------
    steps : tuple of int
        Numbers of the steps behind it.
    figures : mapping of str to Figure
        Figures of the GPU behind it, by name.
    same : bool
        Whether it is just the result of the one step, or just the one figure.
    """

    steps: tuple[int, ...] = ()
    figures: Mapping[str, Figure] = field(default_factory=dict)
    same: bool = False


@record
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
    number : int
        From 1, in the order of the explanation.
    elasticity : float or None
        By how many percent the time is longer with 1% more of the result; None where any change
        gives the model another form.
    origins : mapping of str to Origin
        Of those symbols whose number comes from another step or from the GPU's figures.
    """

    section: str
    title: str
    formula: Formula
    values: Mapping[str, float]
    result: float
    note: str = ""
    number: int = 0
    elasticity: float | None = None
    origins: Mapping[str, Origin] = field(default_factory=dict)

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
            "number": self.number,
            "elasticity": self.elasticity,
            "origins": {
                symbol: {"steps": list(found.steps), "figures": list(found.figures)}
                for symbol, found in self.origins.items()
            },
        }


def scalar(value: Any) -> float:
    """Return the one number in an array, or a number as it is."""
    return float(np.asarray(value, dtype=float).reshape(-1)[0])
