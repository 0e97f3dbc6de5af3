"""The ladder: one kernel's mappings, simplest first, and what each removes of the one before.

Rungs of FP32 are held against cuBLAS's product. Its time is measured where somebody did, and else
predicted where the described kernel is known to be near; elsewhere there is none.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

from perfmodel.errors import PerfmodelError
from perfmodel.fields import fields_of
from perfmodel.hardware import Device
from perfmodel.kernels import find_kernel, mappings
from perfmodel.models.global_accesses import CacheState
from perfmodel.models.time.stage import Timing
from perfmodel.packaged import packaged_toml
from perfmodel.prediction.predict import predict
from perfmodel.prediction.record import Prediction
from perfmodel.records import record

NAME: Final = "cublas-fp32"
LONG: Final = 0.5e-3
"""Time [s] from which protocols differ by about a percent: the 5 us of events, or a cold L2."""


@record
class CublasFp32:
    """What cuBLAS takes for a product of FP32 matrices without tensor cores."""

    time_s: float
    flop_per_s: float
    kind: Literal["measured", "predicted"]
    source: str  # who measured it and how, or how far off such predictions are
    prediction: Prediction | None  # the described kernel's; None of a measured time

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"name": NAME, **fields_of(self, "time_s", "flop_per_s", "kind", "source")}


def cublas_fp32(of: Prediction) -> CublasFp32 | None:
    """Return what cuBLAS takes for the FP32 product of a prediction's size, on its GPU.

    None where nobody measured it, and no prediction of it is known to be near.
    """
    known = packaged_toml(Path(__file__).with_name("cublas.toml")).get(of.device)
    if of.kernel != "gemm" or known is None or of.params.get("batch", 1) != 1:
        return None
    size = {name: int(of.params[name]) for name in ("M", "N", "K")}
    flop = 2.0 * size["M"] * size["N"] * size["K"]
    time = _measured(known, list(size.values()), of.timing, of.cache)
    if time is not None:
        return CublasFp32(time, flop / time, "measured", str(known["source"]), None)
    if "held" not in known:
        return None
    params: dict[str, Any] = {"dtype": "fp32", "operation": "matmul", **size}
    platform: dict[str, Any] = {"device": of.details.device, "timing": of.timing, "cache": of.cache}
    found = predict("gemm", mapping="tensor-core", **platform, **params)
    return CublasFp32(found.time_s, flop / found.time_s, "predicted", str(known["held"]), found)


def _measured(
    known: dict[str, Any], size: list[int], timing: Timing, cache: CacheState
) -> float | None:
    """Return a measured time [s] under this protocol, or under any where they hardly differ."""
    protocols = [tuple(protocol) for protocol in known.get("protocols", ())]
    for row in known.get("times_us", ()):
        if row[:3] != size:
            continue
        times = dict(zip(protocols, row[3:], strict=True))
        time = times.get((timing, cache), row[3] if row[3] >= LONG * 1e6 else None)
        return None if time is None else float(time) * 1e-6
    return None


_FIXED: Final = frozenset({"launch", "ramp", "dispatch"})
"""Terms that no rung removes."""
_NOTICED: Final = 0.05
"""Share by which the binding term has to shrink to be what the next rung removes."""
MARGIN: Final = 0.08
"""Share by which the times of two rungs must differ for their order to be told.

Fitted to the 168 pairs of rungs with default tiles among the rows for fitting of
measurements/matrix-products/h200-sxm/ladder/ladder.csv: for nine in ten of them the predicted ratio
of both times is off by less. Of 590 pairs for validation (those rows, and unseen-ladder.csv) 532
are predicted to lie further apart, and none of them was measured the other way round; of the 58
others 14 were.
"""


@record
class Removed:
    """What the next rung takes away most of: a term's time before and after [s].

    Where the next rung is slower, what it adds most to.
    """

    term: str
    before: float
    after: float


@record
class Rung:
    """One mapping of a ladder."""

    prediction: Prediction
    share: float  # its rate over that of the last rung of the same precision
    gain: float | None  # its rate over that of the rung below; None for the first
    next_removes: Removed | None  # what the rung above takes away; None for the last
    cublas: CublasFp32 | None  # what all FP32 rungs are held against; None where it is not known
    # Its place, the fastest first: best and worst, as rungs within `MARGIN` may change places.
    ranks: tuple[int, int]
    # Mappings of those rungs: which of them and this one is faster is too close to call.
    close: tuple[str, ...]

    @property
    def share_of_cublas(self) -> float | None:
        """Its rate over that of cuBLAS's FP32 product, if it computes in FP32 too."""
        if self.cublas is None or self.prediction.details.instance.kernel.precision != "fp32":
            return None
        return self.prediction.roofline.flop_per_s / self.cublas.flop_per_s

    def to_json(self) -> dict[str, Any]:
        """Return the rung as plain data."""
        removed = self.next_removes
        return {
            "mapping": self.prediction.mapping,
            "flop_per_s": self.prediction.roofline.flop_per_s,
            "share_of_last": self.share,
            **fields_of(self, "share_of_cublas", "gain", "ranks"),
            "too_close_to_call": list(self.close),
            "next_removes": removed
            and {"term": removed.term, "before_s": removed.before, "after_s": removed.after},
            "cublas_fp32": self.cublas and self.cublas.to_json(),
            "prediction": self.prediction.to_json(),
        }


def place_of_cublas(rungs: Sequence[Rung]) -> int:
    """Return after how many rungs cuBLAS is listed: the last that is held against it."""
    return max((i for i, r in enumerate(rungs, 1) if r.share_of_cublas is not None), default=0)


def ladder(
    kernel: str = "gemm",
    *,
    device: str | Path | Device = "h100-sxm",
    timing: Timing = "profiler",
    cache: CacheState = "cold",
    **params: int | str,
) -> tuple[Rung, ...]:
    """Predict every mapping of a built-in kernel at the same sizes.

    `kernel`: a built-in with mappings. `device`, `timing` and `cache`: as for `perfmodel.predict`.
    `**params`: parameters; each rung takes those that it has.

    Raises `PerfmodelError` as `perfmodel.predict`, if the kernel has no mappings, or if no rung has
    a parameter.
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
    reference = cublas_fp32(found[0])
    return tuple(_rung(found, i, reference) for i in range(len(found)))


def _rung(found: list[Prediction], i: int, reference: CublasFp32 | None) -> Rung:
    here = found[i]
    rate = here.roofline.flop_per_s
    precision = here.details.instance.kernel.precision
    alike = [p for p in found if p.details.instance.kernel.precision == precision]
    others = [p for p in found if p is not here]
    # The order of rungs that are this close cannot be told.
    close = [p for p in others if abs(math.log(here.time_s / p.time_s)) < math.log1p(MARGIN)]
    faster = sum(p.time_s < here.time_s and p not in close for p in others)
    return Rung(
        prediction=here,
        share=rate / alike[-1].roofline.flop_per_s,
        cublas=reference,
        gain=rate / found[i - 1].roofline.flop_per_s if i else None,
        next_removes=_removed(here, found[i + 1]) if i + 1 < len(found) else None,
        ranks=(faster + 1, faster + 1 + len(close)),
        close=tuple(str(p.mapping) for p in close),
    )


def _removed(here: Prediction, after: Prediction) -> Removed:
    """Return how the binding term shrinks on the next rung, or the term that changes most."""
    drops = {
        name: here.terms_s.get(name, 0.0) - after.terms_s.get(name, 0.0)
        for name in dict.fromkeys((*here.terms_s, *after.terms_s))
        if name not in _FIXED
    }
    term = here.bottleneck
    if after.time_s > here.time_s:
        term = min(drops, key=lambda name: drops[name])
    elif drops.get(term, 0.0) < _NOTICED * here.terms_s[term]:
        term = max(drops, key=lambda name: drops[name])
    return Removed(term, here.terms_s.get(term, 0.0), after.terms_s.get(term, 0.0))
