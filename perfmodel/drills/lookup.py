"""Where a step's number comes from: the one place that knows every kind of source."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Final

from perfmodel.drills.predicted import predicted
from perfmodel.drills.sources import (
    Cited,
    Expression,
    FigureOf,
    FormulaOf,
    Found,
    Lru,
    Measured,
    Predicted,
    Source,
    Trace,
    Value,
    Warp,
)
from perfmodel.drills.traces import lru_passes, table, warp_request
from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.hardware import load_device
from perfmodel.models.formula import Formula

_FORMULAS: Final = {
    "activity": "grid.activity",
    "atomics": "atomics.global_atomics",
    "bank_conflicts": "requests.bank_conflicts",
    "coalescing": "requests.coalescing",
    "contention": "requests.contention",
    "dram": "dram.throughput",
    "in_flight": "time.bytes_in_flight",
    "l2": "l2.throughput",
    "latency": "latency.latency",
    "occupancy": "launch.occupancy",
    "queueing": "time.queueing",
    "residency": "l2.residency",
    "reuse": "reuse.reuse_windows",
    "roofline": "roofline",
    "shared_atomics": "atomics.shared_atomics",
    "shared_loops": "atomics.shared_loops",
    "shared_swaps": "atomics.shared_swaps",
    "sides": "l2.sides",
    "time": "time.stage",
    "wavefronts": "requests.wavefronts",
    "waves": "launch.waves",
}
"""Modules of `perfmodel.models` whose closed forms drills can name, and what drills call them."""


def find(source: Source, number: Value, device: str, file: Path) -> Found:
    """Return the number of a source.

    `number` gives the value of an expression of the step. `device`: GPU of sources that name none.
    `file`: the drill's, beside which its kernel files lie. Raises `PerfmodelError` if it has none.
    """
    match source:
        case Expression():
            return Found(number(source))
        case FigureOf():
            return _figure(source, device)
        case Predicted():
            return predicted(source, number, device, file)
        case Warp():
            return warp_request(source, number)
        case Lru():
            return lru_passes(source, number)
        case FormulaOf():
            return _closed_form(source, number)
        case Measured():
            from perfmodel.drills.measured import measured

            return measured(source)
        case Cited():
            return Found(source.quantity.value, source.quantity.unit, source.origin)
        case Trace():
            return table(source, number)


def _figure(source: FigureOf, device: str) -> Found:
    gpu = load_device(source.device or device)
    figure = gpu.figures.get(source.name)
    if figure is None:
        raise PerfmodelError(
            f"{gpu.name} has no figure {shown(source.name)}{nearest(source.name, gpu.figures)}"
        )
    return Found(
        gpu.require(source.name),
        origin=f"{gpu.name}, {source.name}: {figure.kind}, {figure.source}",
    )


def _closed_form(source: FormulaOf, number: Value) -> Found:
    formula = _formula(source.name)
    values = {name: number(e) for name, e in source.values}
    wanted = set(formula.symbols)
    if wanted != set(values):
        raise PerfmodelError(
            f"formula {source.name} takes {', '.join(formula.symbols)}, "
            f"not {', '.join(values) or 'nothing'}"
        )
    result = formula(**values)
    return Found(
        result if isinstance(result, int) else float(result),
        origin=f"closed form {formula.name} = {formula.text}; {formula.source}",
    )


def _formula(name: str) -> Formula:
    module, _, constant = name.partition(".")
    if module in _FORMULAS and re.fullmatch(r"[A-Z][A-Z0-9_]*", constant):
        found = vars(import_module(f"perfmodel.models.{_FORMULAS[module]}")).get(constant)
        if isinstance(found, Formula):
            return found
    raise PerfmodelError(
        f"{shown(name)} is no closed form: write MODULE.NAME, such as residency.PICKED"
    )
