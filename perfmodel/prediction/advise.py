"""Advice: which changes to a launch are predicted to pay, ranked, or that none is."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from perfmodel.errors import PerfmodelError
from perfmodel.fields import fields_of
from perfmodel.hardware import Device
from perfmodel.kernels import Kernel
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.models.global_accesses import CacheState
from perfmodel.models.time.stage import Timing
from perfmodel.prediction.change import CATEGORIES, NEVER, Change, Kind, Untried, untried
from perfmodel.prediction.changes import changes, reused_buffers
from perfmodel.prediction.conditions import Conditions
from perfmodel.prediction.cuda_lines import launch_lines
from perfmodel.prediction.evaluate import prediction_of
from perfmodel.prediction.interval import origin, residual_class, residuals, widening
from perfmodel.prediction.l2_rules import has_residency
from perfmodel.prediction.predict import predict
from perfmodel.prediction.record import Prediction
from perfmodel.records import record

GAIN_ERROR: Final = {"residency": 0.14, "fetch granularity": 0.09}
"""Half width of the 90% interval of a gain's logarithm, by kind of change.

Measured: 90th percentiles of |log(predicted gain / measured gain)| over 152 launches with windows
(0.10 to 0.16 by kernel) and 60 with other granularities of an H200
(measurements/suite/h200-sxm/sweeps).
"""
SHARED_ERROR: Final = 0.5
"""Of other changes: share of a prediction's error that the same launch, changed, has too; assumed.
"""
WORTH: Final = 1.02
"""Least gain that is called one; its interval may still reach below 1."""
_A_LITTLE: Final = 1.003
"""Gain of a coarse set-aside from which those between are tried too."""
_LATER: Final[dict[Kind, int]] = {"tiling": 1, "rewrite": 2}
"""Kinds that come after the others, whatever they gain: they are more work than lines to change."""
_AS_WELL: Final = 0.9
"""Share of what data laid out otherwise gains, from which a remap that leaves it is as good."""


@record
class Option:
    """A change and what it is predicted to gain."""

    kind: Kind
    what: str
    cuda: tuple[str, ...]  # lines to write; empty where the kernel itself has to change
    gain: float  # time as it is over time with the change
    gain_interval: tuple[float, float]  # 90% interval
    prediction: Prediction  # the launch with the change

    @property
    def category(self) -> str:
        """What has to be touched: "remap", "vectorisation", "tiling", "rewrite", ..."""
        return CATEGORIES[self.kind]

    def to_json(self) -> dict[str, Any]:
        """Return the option as plain data; its prediction without terms and roofline."""
        found = self.prediction.to_json()
        return {
            **fields_of(self, "kind", "category", "what", "cuda", "gain", "gain_interval"),
            **fields_of(self.prediction, "time_s", "bottleneck"),
            "dram_bytes": dram_bytes(self.prediction),
            "kernel": found["kernel"],
            "l2_control": found["l2_control"],
        }


@record
class Advice:
    """What to change about a launch."""

    base: Prediction  # the launch as it is
    # Changes that pay, the best of each kind, largest gain first, then tiling, then rewrites;
    # empty: leave it alone.
    options: tuple[Option, ...]
    rejected: tuple[Option, ...]  # the best of each other kind: tried, and not worth it
    reason: str  # why there is nothing to do, or what the first option changes
    not_tried: tuple[Untried, ...] = ()  # kinds of change that could not be made of this launch

    def to_json(self) -> dict[str, Any]:
        """Return the advice as the JSON object ``perfmodel.advice/1``."""
        return {
            "schema": "perfmodel.advice/1",
            "prediction": self.base.to_json(),
            "leave_it_alone": not self.options,
            "reason": self.reason,
            "options": [option.to_json() for option in self.options],
            "rejected": [option.to_json() for option in self.rejected],
            "not_tried": [each.to_json() for each in self.not_tried],
            "never_tried": NEVER,
        }


def advise(
    kernel: str | Path | Kernel,
    *,
    mapping: str | None = None,
    device: str | Path | Device = "h100-sxm",
    timing: Timing = "profiler",
    cache: CacheState = "cold",
    l2: L2Control | None = None,
    mig: bool = False,
    mps: bool = False,
    concurrent: Sequence[AccessPolicyWindow] = (),
    in_other_blocks: Sequence[Kernel] = (),
    tell: Callable[[float, float], None] = lambda done, total: None,
    **params: Any,
) -> Advice:
    """Try the changes that could concern a launch, and rank what they gain.

    Arguments are those of `predict`; and `in_other_blocks`, the same launch with other blocks, of
    kernels that have no parameter for it; and `tell`, which hears how many changes of how many are
    tried. A set-aside given in `l2` is kept, and only the window is chosen; without one, set-asides
    up to the device's largest are tried. Under MIG no set-aside is.

    Raises `PerfmodelError` as `predict`.
    """
    common: dict[str, Any] = {
        "device": device,
        "timing": timing,
        "cache": cache,
        "mig": mig,
        "mps": mps,
        "concurrent": concurrent,
    }
    fixed = l2.set_aside if l2 is not None and l2.set_aside else None
    base = predict(kernel, mapping=mapping, l2=l2, **common, **params)
    if l2 is not None and l2.set_aside and l2.window is None:
        # A set-aside that nobody uses yet is not the launch as it is.
        l2 = replace(l2, set_aside=0)
        base = predict(kernel, mapping=mapping, l2=l2, **common, **params)
    options: list[Option] = []
    under = Conditions(base.details.device, timing, cache, None, mig, mps, concurrent)
    own = base.details.instance.kernel
    every = list(changes(base, fixed_set_aside=fixed, mps=mps, in_other_blocks=in_other_blocks))
    for done, change in enumerate(every):
        tell(done, len(every))
        if (mig and change.kind == "residency") or (change.finer and not _gains(options, change)):
            continue
        try:
            if change.kernel is own and change.params == base.params:
                found = _controlled(base, replace(under, l2=change.control))
            else:
                sizes: dict[str, Any] = change.params
                found = predict(change.kernel, l2=change.control, **common, **sizes)
        except PerfmodelError:
            continue  # such as a block that does not fit
        if change.kernel in in_other_blocks and not (_by_thread(base) and _by_thread(found)):
            continue
        options.append(_option(change, base, found))
    best: dict[Kind, Option] = {}
    for option in options:
        if option.kind not in best or _rank(option) > _rank(best[option.kind]):
            best[option.kind] = option
    ranked = sorted(best.values(), key=_rank, reverse=True)
    good = _in_order([o for o in ranked if o.gain >= WORTH])
    rejected = tuple(o for o in ranked if o not in good)
    reason = _reason(base, good, rejected, mig)
    away = _no_residency(base.details.device, mig)
    absent = untried(best, away)
    return Advice(base, good, rejected, reason, absent)


def _controlled(base: Prediction, under: Conditions) -> Prediction:
    """Predict a launch under other L2 control: what the SMs ask for is not counted again."""
    details = base.details
    found = under.evaluated(details.instance, asked=(details.requests, details.on_chip))
    return prediction_of(found, under.timing, under.cache, "closed-form")


def _gains(options: Sequence[Option], change: Change) -> bool:
    """Say whether some change like a finer one, with the same window's buffer, gained a little."""
    window = change.control.window
    alike = (o for o in options if o.kind == change.kind and o.gain > _A_LITTLE)
    return any(
        o.prediction.details.setting.control.window is not None
        and window is not None
        and o.prediction.details.setting.control.window.buffer == window.buffer
        for o in alike
    )


def _in_order(good: Sequence[Option]) -> tuple[Option, ...]:
    """Return options as they are worth trying: what gains most first, but lines before rewrites.

    Data laid out otherwise is left out where a remap, which leaves it alone, does as well.
    """
    gains: dict[str, float] = {o.kind: o.gain for o in good}
    if gains.get("remap", 0.0) >= _AS_WELL * gains.get("coalescing", 0.0):
        good = [o for o in good if o.kind != "coalescing"]
    return tuple(sorted(good, key=lambda o: (_LATER.get(o.kind, 0), -o.gain)))


def _no_residency(device: Device, mig: bool) -> str:
    """Say why a GPU as it is set up has no residency control; empty where it has."""
    if mig:
        return "MIG switches the set-aside off"
    return "" if has_residency(device) else "needs compute capability 8.0"


def _by_thread(found: Prediction) -> bool:
    """Say whether what threads access goes by their number in the grid, whatever their block."""
    for r in found.details.requests:
        if r.strides is None:
            if not r.access.needs:  # else other data decides
                return False
            continue
        lane = r.strides.get("lane.x", 0.0) * found.block[0]
        if not np.all(lane == r.strides["blockIdx.x"]):
            return False
    return True


def dram_bytes(prediction: Prediction) -> float:
    """Return the bytes that a launch moves between L2 and DRAM."""
    return prediction.traffic["dram_read_bytes"] + prediction.traffic["dram_write_bytes"]


def _rank(option: Option) -> tuple[float, float]:
    # Of equal gains, the one that takes least L2 from everyone else.
    return (round(option.gain, 3), -float(option.prediction.details.setting.control.set_aside))


def _option(change: Change, base: Prediction, found: Prediction) -> Option:
    gain = base.time_s / found.time_s
    own = (1 - SHARED_ERROR) * max(math.log1p(_width(p)) for p in (base, found))
    factor = math.exp(GAIN_ERROR.get(change.kind, own))
    return Option(
        kind=change.kind,
        what=change.what,
        cuda=launch_lines(found.kernel, found.grid, found.block)
        if change.kind == "block size"
        else change.cuda,
        gain=gain,
        gain_interval=(gain / factor, gain * factor),
        prediction=found,
    )


def _width(prediction: Prediction) -> float:
    """Return the 90% half width of a prediction's own error, as a share."""
    of = prediction.behind.circumstances
    found = residuals(origin(of.device), residual_class(of, prediction.bottleneck))
    return float(max(1 / found.low, found.high) ** widening(of.kernel)) - 1


def _reason(base: Prediction, good: Sequence[Option], rejected: Sequence[Option], mig: bool) -> str:
    if good:
        first = good[0]
        return f"{first.category} ({first.kind}) first: predicted {first.gain:.2f} times as fast"
    share = base.terms_s[base.bottleneck] / base.time_s
    tried = ", ".join(f"{o.kind} {o.gain:.3f}" for o in rejected) or "nothing applies"
    parts = [
        f"leave it alone: {base.bottleneck} takes {share:.0%} of the time, and nothing that was "
        f"tried gains {WORTH - 1:.0%} ({tried})"
    ]
    device = base.details.device
    if mig:
        parts.append("in MIG mode L2 set-aside is switched off, so no window was tried")
    elif not has_residency(device):
        parts.append(f"compute capability {device.compute_capability} has no L2 residency control")
    if not reused_buffers(base):
        parts.append("no buffer is read from L2 twice, so there is nothing to keep there")
    elif base.traffic["dram_read_bytes"] < 1.2 * _distinct(base):
        parts.append("L2 already keeps what is read again")
    return "; ".join(parts)


def _distinct(base: Prediction) -> float:
    """Return the bytes of all buffers that are read."""
    instance = base.details.instance
    read = {a.buffer for a in base.details.traffic.accesses if a.kind == "load"}
    return float(sum(int(instance.lengths[b] * instance.element_bytes[b]) for b in read))
