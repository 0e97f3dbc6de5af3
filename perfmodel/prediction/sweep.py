"""Sweeps: one launch predicted over the values of a parameter or of a knob of L2 control."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any, Final

from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.kernels import Kernel
from perfmodel.kernels.l2_control import L2Control
from perfmodel.prediction.memory_size import TooLargeForMemoryError
from perfmodel.prediction.predict import predict
from perfmodel.prediction.record import Prediction
from perfmodel.records import record

MOST_VALUES: Final = 1000
"""Values that a knob takes at most."""


def _of_window(field: str, kind: type) -> Callable[[L2Control, float], L2Control]:
    def turned(control: L2Control, value: float) -> L2Control:
        if control.window is None:
            raise PerfmodelError("a sweep over a window needs one: give --window SIZE")
        return replace(control, window=replace(control.window, **{field: kind(value)}))

    return turned


KNOBS: Final[Mapping[str, Callable[[L2Control, float], L2Control]]] = MappingProxyType(
    {
        "hit-ratio": _of_window("hit_ratio", float),
        "window": _of_window("num_bytes", int),
        "set-aside": lambda control, value: replace(control, set_aside=int(value)),
        "fetch-granularity": lambda control, value: replace(control, fetch_granularity=int(value)),
        "compression": lambda control, value: replace(control, compression=float(value)),
    }
)
"""Knobs of L2 control, and what turning each makes of it."""

SIZES: Final = frozenset({"window", "set-aside"})
"""Knobs that are sizes [B]."""


@record
class Sweep:
    """A launch over the values of one knob or parameter."""

    name: str  # a key of `KNOBS`, or a parameter of the kernel
    values: tuple[float | str, ...]  # words where the parameter has a choice of words
    predictions: tuple[Prediction, ...]
    # Values whose buffers the device's memory cannot hold, and why; they are not in `values`.
    refused: Mapping[float | str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the sweep as plain data."""
        return {
            "over": self.name,
            "values": list(self.values),
            "predictions": [p.to_json() for p in self.predictions],
            "refused": [{"value": v, "reason": why} for v, why in self.refused.items()],
        }


def sweep(
    kernel: Kernel | Callable[[int], Kernel],
    name: str,
    values: Sequence[float | str],
    *,
    control: L2Control | None = None,
    params: Mapping[str, int | str] | None = None,
    progress: Callable[[int, int], Any] | None = None,
    **common: Any,
) -> Sweep:
    """Predict a launch for each value of a knob or parameter.

    `kernel`: the kernel, or what gives the one at a value of a name that a program's launch follows
    from. `name`: a key of `KNOBS`, or a parameter of the kernel. `control`: where the other knobs
    stand. `params`: the kernel's other parameters. `progress`: told of the values done and of all.
    `**common`: other arguments of `perfmodel.predict`.

    Raises `PerfmodelError` if there is no such knob, no or too many values, or as
    `perfmodel.predict`; buffers over the device's memory only if no value is left.
    """
    if not 1 <= len(values) <= MOST_VALUES:
        raise PerfmodelError(f"a sweep takes 1 to {MOST_VALUES} values, not {len(values)}")
    start = control or L2Control()
    given: dict[str, Any] = dict(params or {})
    if isinstance(kernel, Kernel):
        check_name(name, kernel)
    found: list[tuple[float | str, Prediction]] = []
    refused: dict[float | str, str] = {}
    for done, value in enumerate(values):
        if progress is not None:
            progress(done, len(values))
        chosen, params_of = start, given
        if not isinstance(kernel, Kernel):
            swept, params_of = kernel(int(value)), {}
        else:
            swept = kernel
            if name in KNOBS:
                if isinstance(value, str):
                    raise PerfmodelError(f"{name} takes numbers, not {shown(value)}")
                chosen = KNOBS[name](start, value)
            else:
                params_of = given | {name: value if isinstance(value, str) else int(value)}
        try:
            found.append((value, predict(swept, l2=chosen, **common, **params_of)))
        except TooLargeForMemoryError as error:
            refused[value] = str(error)
    if not found:
        raise TooLargeForMemoryError(next(iter(refused.values())))
    return Sweep(name, tuple(v for v, _ in found), tuple(p for _, p in found), refused)


def check_name(name: str, kernel: Kernel) -> None:
    """Refuse a name that is no key of `KNOBS` and no parameter of the kernel."""
    parameters = [p.name for p in kernel.parameters]
    if name not in KNOBS and name not in parameters:
        known = [*KNOBS, *parameters]
        hint = nearest(name, known) or f"; there are {', '.join(known)}"
        raise PerfmodelError(f"cannot sweep over {shown(name)}{hint}")
