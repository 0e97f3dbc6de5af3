"""The ladder: one kernel's mappings, simplest first, and what each removes of the one before."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from perfmodel.errors import PerfmodelError
from perfmodel.hardware import Device
from perfmodel.kernels import find_kernel, mappings
from perfmodel.models.memory import CacheState
from perfmodel.models.time import Timing
from perfmodel.prediction.predict import predict
from perfmodel.prediction.record import Prediction

_FIXED: Final = frozenset({"launch", "ramp", "dispatch"})
"""Terms that no rung removes."""
_NOTICED: Final = 0.05
"""Share by which the binding term has to shrink to be what the next rung removes."""


@dataclass(frozen=True, slots=True)
class Removed:
    """What the next rung takes away most of: a term's time before and after [s]."""

    term: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Rung:
    """One mapping of a ladder.

    Attributes
    ----------
    prediction : Prediction
    share : float
        Its rate over that of the last rung of the same precision.
    gain : float or None
        Its rate over that of the rung below; None for the first.
    next_removes : Removed or None
        What the rung above takes away; None for the last.
    """

    prediction: Prediction
    share: float
    gain: float | None
    next_removes: Removed | None

    def to_json(self) -> dict[str, Any]:
        """Return the rung as plain data."""
        removed = self.next_removes
        return {
            "mapping": self.prediction.mapping,
            "flop_per_s": self.prediction.roofline.flop_per_s,
            "share_of_last": self.share,
            "gain": self.gain,
            "next_removes": removed
            and {"term": removed.term, "before_s": removed.before, "after_s": removed.after},
            "prediction": self.prediction.to_json(),
        }


def ladder(
    kernel: str = "gemm",
    *,
    device: str | Path | Device = "h100-sxm",
    timing: Timing = "profiler",
    cache: CacheState = "cold",
    **params: int | str,
) -> tuple[Rung, ...]:
    """Predict every mapping of a built-in kernel at the same sizes.

    Parameters
    ----------
    kernel : str
        A built-in with mappings.
    device, timing, cache
        As for `perfmodel.predict`.
    **params : int or str
        Parameters; each rung takes those that it has.

    Raises
    ------
    PerfmodelError
        As `perfmodel.predict`, if the kernel has no mappings, or if no rung has a parameter.
    """
    names = mappings(kernel)
    if not names:
        raise PerfmodelError(f"kernel {kernel!r} has no mappings, so there is no ladder of it")
    kernels = [find_kernel(kernel, name) for name in names]
    known = {p.name for k in kernels for p in k.parameters}
    for name in params:
        if name not in known:
            raise PerfmodelError(f"no rung of {kernel!r} has a parameter {name!r}")
    found = []
    for each in kernels:
        own = {p.name for p in each.parameters}
        chosen: dict[str, Any] = {name: v for name, v in params.items() if name in own}
        found.append(predict(each, device=device, timing=timing, cache=cache, **chosen))
    return tuple(_rung(found, i) for i in range(len(found)))


def _rung(found: list[Prediction], i: int) -> Rung:
    here = found[i]
    rate = here.roofline.flop_per_s
    precision = here.details.instance.kernel.precision
    alike = [p for p in found if p.details.instance.kernel.precision == precision]
    return Rung(
        prediction=here,
        share=rate / alike[-1].roofline.flop_per_s,
        gain=rate / found[i - 1].roofline.flop_per_s if i else None,
        next_removes=_removed(here, found[i + 1]) if i + 1 < len(found) else None,
    )


def _removed(here: Prediction, after: Prediction) -> Removed:
    """Return how the binding term shrinks on the next rung, or the term that shrinks most."""
    drops = {
        name: value - after.terms_s.get(name, 0.0)
        for name, value in here.terms_s.items()
        if name not in _FIXED
    }
    term = here.bottleneck
    if drops.get(term, 0.0) < _NOTICED * here.terms_s[term]:
        term = max(drops, key=lambda name: drops[name])
    return Removed(term, here.terms_s[term], after.terms_s.get(term, 0.0))
