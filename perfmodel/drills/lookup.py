"""Where a step's number comes from: the one place that knows every kind of source."""

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, Final, cast

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
    path_of,
    whole,
)
from perfmodel.drills.traces import lru_passes, table, warp_request
from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.hardware import load_device
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.models.formula import Formula
from perfmodel.packaged import packaged_toml
from perfmodel.prediction import Prediction, predict

_FORMULAS: Final = packaged_toml(Path(__file__).with_name("closed_forms.toml"))
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


_ARGUMENTS: Final = frozenset(signature(predict).parameters) - {"params"}
"""What `predict` takes besides the kernel's parameters."""
_WINDOW: Final = {
    "window": "num_bytes",
    "hit_ratio": "hit_ratio",
    "hit_prop": "hit_prop",
    "miss_prop": "miss_prop",
    "window_buffer": "buffer",
}


def predicted(source: Predicted, number: Value, device: str, file: Path) -> Found:
    """Return one number of a prediction, on `device` if the source names no other."""
    settled = {name: _settled(e, number) for name, e in source.control}
    made = _predicted(
        path_of(source.kernel, file),
        source.mapping,
        source.device or device,
        tuple((name, _settled(e, number)) for name, e in source.params),
        _control(settled),
        source.options,
        tuple(
            AccessPolicyWindow("", whole(number(size)), float(number(ratio)))
            for size, ratio in source.concurrent
        ),
    )
    return Found(
        _read(made, source.read),
        origin=f"perfmodel's prediction of {made.label} on {made.device}, {source.read}",
    )


@lru_cache(maxsize=256)
def _predicted(
    kernel: str,
    mapping: str,
    device: str,
    params: tuple[tuple[str, int | str], ...],
    control: L2Control,
    options: tuple[tuple[str, str | bool], ...],
    concurrent: tuple[AccessPolicyWindow, ...],
) -> Prediction:
    for name, _ in params:
        if name in _ARGUMENTS:
            raise PerfmodelError(
                f"{shown(name)} is no parameter of a kernel: take it out of params"
            )
    given: dict[str, Any] = {**dict(params), **dict(options)}
    return predict(
        kernel, mapping=mapping or None, device=device, l2=control, concurrent=concurrent, **given
    )


def _control(values: Mapping[str, Any]) -> L2Control:
    sizes = ("set_aside", "fetch_granularity", "window")
    values = {k: whole(v) if k in sizes else v for k, v in values.items()}
    window = {_WINDOW[k]: values.pop(k) for k in _WINDOW if k in values}
    if not window:
        return L2Control(**values)
    if "num_bytes" not in window or "buffer" not in window:
        raise PerfmodelError("a window needs window (its bytes) and window_buffer (its buffer)")
    return L2Control(window=AccessPolicyWindow(**window), **values)


def _settled(given: Expression | str, number: Value) -> Any:
    if isinstance(given, str):
        return given
    value = number(given)
    return int(value) if value == int(value) else value


def _read(made: Prediction, what: str) -> float | int | str:
    """Return the number of a prediction that a dotted name means."""
    record = made.to_json()
    values: dict[str, Any] = {
        "time_s": made.time_s,
        "interval_low_s": made.interval_s[0],
        "interval_high_s": made.interval_s[1],
        "bottleneck": made.bottleneck,
        "warnings": "; ".join(made.warnings) or "no warning",
        **{f"terms.{k}": v for k, v in made.terms_s.items()},
        **{f"traffic.{k}": v for k, v in made.traffic.items()},
        **{f"occupancy.{k}": v for k, v in record["occupancy"].items()},
        **{f"intensity.{k}": v for k, v in made.roofline.intensity.items() if v is not None},
        "flop_per_s": made.roofline.flop_per_s,
    }
    for access in made.details.traffic.accesses:
        requests = float(access.requests[0])
        for name in ("sectors", "lines"):
            total = float(getattr(access, name)[0])
            values[f"access.{access.name}.{name}"] = total
            if requests:
                values[f"access.{access.name}.{name}_per_request"] = total / requests
        values[f"access.{access.name}.requests"] = requests
        moved = access.dram_bytes / made.details.traffic.compression
        values[f"access.{access.name}.dram_bytes"] = float(moved[0])
    if what not in values:
        raise PerfmodelError(
            f"a prediction of {made.kernel} has no {shown(what)}{nearest(what, values, 2)}"
        )
    return cast(float | int | str, values[what])
