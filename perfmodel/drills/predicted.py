"""Numbers of predictions: the launch that a step states, predicted once, and what it reads off."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from inspect import signature
from pathlib import Path
from typing import Any, Final, cast

from perfmodel.drills.sources import Expression, Found, Predicted, Value, path_of, whole
from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.prediction import Prediction, predict

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
    name = " ".join(filter(None, (made.kernel, made.mapping)))
    return Found(
        _read(made, source.read),
        origin=f"perfmodel's prediction of {name} on {made.device}, {source.read}",
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
