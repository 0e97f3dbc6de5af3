"""Interval: how wrong a prediction usually is, by the regime that it lies in.

Two sources of error: the device's figures, whose standard errors are carried through the time
model, and what the model itself misses, by the residuals of the regime on measured launches
(``intervals.toml``, written by `benchmarks.intervals.fit.fit_intervals`). Both are put
together in quadrature, on the logarithm of the time.

Kernels and GPUs for which residuals are known to say too little have wider ones. Three kinds, all
data: what a vendor's or a stack's library runs, by architecture, fitted to rows that others
published (``library_intervals.toml``, written by `benchmarks.intervals.libraries`); kernels that
work asynchronously and GPUs that nobody measured, stated with their reasons
(``stated_intervals.toml``, written by hand). The wider end on either side counts.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware import Device
from perfmodel.kernels.doubt import Doubt
from perfmodel.kernels.kernel import Kernel
from perfmodel.packaged import packaged_toml
from perfmodel.prediction.circumstances import Circumstances
from perfmodel.records import record

LIBRARY: Final = Path(__file__).with_name("library_intervals.toml")
STATED: Final = Path(__file__).with_name("stated_intervals.toml")
WORTH_SAYING: Final = 1.5
"""Factor of an interval's end from which on a prediction warns of it."""
Inherits = Literal["", "same architecture", "other architecture"]


@record
class WiderInterval:
    """Where 90% of measured times lie, over predicted ones, and for what."""

    name: str  # what it is of, as a warning says it
    # Factors of the predicted time.
    low: float
    high: float
    because: str  # why, and from what, as a warning says it
    # Built-in kernel; empty for any.
    kernel: str = ""
    mapping: str = ""
    precisions: tuple[str, ...] = ()  # of its operations; empty for any
    compute_capability: str = ""  # of the GPU; empty for any
    # All that a kernel from PTX must have of `perfmodel.cuda.sass.asynchronous`.
    uses: frozenset[str] = field(default_factory=frozenset)
    # For GPUs whose figures are another's: "same architecture" or "other architecture".
    inherits: Inherits = ""
    # Published rows that it was fitted to, and left-out ones.
    rows: int | None = None
    held_out_rows: int | None = None
    # Share of the left-out rows inside the interval of the residuals alone, and inside this one.
    before: float | None = None
    held_out: float | None = None

    def applies(self, of: Circumstances) -> bool:
        """Say whether a prediction is of what it is for."""
        kernel, device = of.kernel, of.device
        if self.kernel and (kernel.translated or kernel.name != self.kernel):
            return False
        if self.mapping and kernel.mapping != self.mapping:
            return False
        if self.precisions and of.precision not in self.precisions:
            return False
        if self.compute_capability and device.compute_capability != self.compute_capability:
            return False
        return self.uses <= kernel.asynchronous and self.inherits in ("", _inherits(device))

    def warning(self) -> str:
        """Return what to say of it, in a line."""
        return (
            f"{self.name}: {self.because}; the 90% interval is widened to {self.low:.2f} to "
            f"{self.high:.2f} times the predicted time"
        )


def wider_intervals(of: Circumstances) -> tuple[WiderInterval, ...]:
    """Return what is known to be predicted worse than residuals say, of a prediction."""
    return tuple(each for each in _all() if each.applies(of))


def wider_warnings(of: Circumstances) -> Iterator[str]:
    """Yield a line for each that is wide enough to say."""
    for each in wider_intervals(of):
        if max(1 / each.low, each.high) > WORTH_SAYING:
            yield each.warning()


def read_wider(path: Path) -> tuple[WiderInterval, ...]:
    """Return the intervals of a data file."""
    tables: list[dict[str, Any]] = packaged_toml(path)["interval"]
    return tuple(_read(table) for table in tables)


def _read(table: dict[str, Any]) -> WiderInterval:
    known = {name for name in WiderInterval.__dataclass_fields__ if name in table}
    given = {name: table[name] for name in known}
    for name, kind in (("precisions", tuple), ("uses", frozenset)):
        if name in given:
            given[name] = kind(given[name])
    return WiderInterval(**given)


def _inherits(device: Device) -> Inherits:
    inherited = device.inherited
    if inherited is None:
        return ""
    same = inherited.compute_capability == device.compute_capability
    return "same architecture" if same else "other architecture"


@lru_cache(maxsize=1)
def _all() -> tuple[WiderInterval, ...]:
    return (*read_wider(LIBRARY), *read_wider(STATED))


Origin = Literal["measured", "published"]

INTERVALS: Final = Path(__file__).parent / "intervals.toml"
NORMAL_90: Final = 1.6449
"""Half width of the central 90% of a normal distribution, in standard deviations."""

REGIMES: Final = ("launch", "latency", "l1", "l2", "dram", "compute", "atomics")
"""Regimes, as the scoreboard has them."""

CLASSES: Final = (*REGIMES, "sampled", "pipeline", "narrow", "retries")
"""Classes of residuals: the regimes, predictions with an index that has no closed form, those of
blocks that copy ahead, those of blocks that copy ahead in pieces of less than 16 bytes, and those
of lanes that try again and again in global memory."""
HAND_OFF: Final = 0.9e-6
"""[s] from one thread that others wait for to the next, at most: 0.86 us of a lock that 800 warps
take, 0.69 us of blocks that each wait for the one before, 0.46 us of allocations on the device
(measurements/source-kernels/h200-sxm/features, spin_lock_sum, lookback_scan, heap_scratch)."""

_REGIME_OF: Final = {
    **dict.fromkeys(("launch", "ramp", "dispatch", "tiles", "parts"), "launch"),
    **dict.fromkeys(("latency", "stalls"), "latency"),
    **dict.fromkeys(("l1", "lsu"), "l1"),
    **dict.fromkeys(("l2", "port"), "l2"),
    **dict.fromkeys(("dram", "writeback"), "dram"),
}


@record
class Residuals:
    """Where 90% of the measured times lie, over predicted ones of a regime."""

    # Factors of the predicted time: below and above 1.
    low: float
    high: float


@record
class ResidualOrigin:
    """Where the residuals behind a prediction's interval are from."""

    class_name: str  # one of `CLASSES`
    residuals: Residuals
    # The class's own; None where it borrows those of another.
    cases: int | None
    sweeps: int | None
    held_out: float | None  # share of left-out cases that lay inside
    # Measurements that they were fitted to, and when.
    source: str
    date: str
    widened: float  # power of the residuals that makes the interval: above 1 for kernels from PTX


def bottleneck(terms: Mapping[str, Any]) -> Array:
    """Return the name of the largest term, for each configuration.

    L2 yields where DRAM or another is as large: pure reads from DRAM keep both as busy.
    """
    names = np.array(list(terms))
    largest, which = np.full((), -np.inf), np.zeros((), dtype=np.intp)
    for i, (name, value) in enumerate(terms.items()):
        weighed = _weighed(name, np.asarray(value))
        which = np.where(weighed > largest, i, which)
        largest = np.maximum(weighed, largest)
    return np.asarray(names[which])


def largest_term(terms: Mapping[str, float]) -> str:
    """Return what `bottleneck` does, of one launch's plain numbers."""
    return max(terms, key=lambda name: _weighed(name, terms[name]))


def _weighed(name: str, value: Any) -> Any:
    return value * (0.999 if name == "l2" else 1.0)


def regime(of: Circumstances, largest: str) -> str:
    """Return the regime of a prediction whose largest term is `largest`, one of `REGIMES`."""
    if largest.startswith("atomic") or largest == "shared-loops":
        return "atomics"
    # Without memory accesses there is nothing to wait for but blocks and warps that start.
    if largest == "latency" and not of.kernel.accesses:
        return "launch"
    return _REGIME_OF.get(largest, "compute")


def residual_class(of: Circumstances, largest: str) -> str:
    """Return whose residuals a prediction has: its regime's, or one of the other `CLASSES`.

    What limits blocks that copy ahead is one thing, which kernel a library picks another: they err
    in their own way, whatever the regime. For rows that are no whole pieces of 16 bytes, for FP32
    and for batches a library has older kernels, and picks worse among them. Where an index has no
    closed form, its warps are counted and its reuse is taken as random: that is where predictions
    err most. How soon lanes that compete succeed depends on which L2 partition and slice their
    addresses are in, which no launch knows: some take twice as long at another place
    (measurements/atomics/h200-sxm/cas/loops.csv).
    """
    if of.copies_ahead:
        return "narrow" if of.narrow or _older(of) else "pipeline"
    if of.counted:
        return "sampled"
    own = regime(of, largest)
    return "retries" if own == "atomics" and of.retries else own


def _older(of: Circumstances) -> bool:
    """Say whether a library picks a kernel for products in FP32, or for a batch of them."""
    return bool(of.kernel.menus) and (of.precision == "fp32" or of.batched)


def origin(device: Device) -> Origin:
    """Return whether a device's figures were fitted to measurements of our own kind, or published.

    Such fits state a standard error; what others publish does not.
    """
    figure = device.figures["dram_read_efficiency"]
    ours = figure.kind in ("measured", "fitted") and figure.standard_error is not None
    return "measured" if ours else "published"


def residuals(origin_name: Origin, class_name: str) -> Residuals:
    """Return the residuals of one of `CLASSES`, as fitted."""
    entry = _file()[origin_name][class_name]
    return Residuals(entry["low"], entry["high"])


def widening(kernel: Kernel) -> float:
    """Return the power of its residuals that makes a prediction's interval.

    What a translation from PTX leaves open (schedule, instructions, data) comes on top of what the
    model misses of kernels that a person described.
    """
    if not kernel.translated:
        return 1.0
    return float(_file()["about"]["translated_over_described"])


def residual_origin(of: Circumstances, largest: str) -> ResidualOrigin:
    """Return where the residuals of a prediction whose largest term is `largest` are from."""
    whose, name = origin(of.device), residual_class(of, largest)
    table = _file()
    entry = table[whose][name]
    return ResidualOrigin(
        class_name=name,
        residuals=residuals(whose, name),
        cases=entry["cases"] or None,
        sweeps=entry["sweeps"] or None,
        held_out=entry.get("held_out"),
        source=table["about"][whose],
        date=table["about"]["date"],
        widened=widening(of.kernel),
    )


@record
class Uncertainty:
    """How wrong predictions of a kind are, besides what the device's figures make uncertain."""

    residuals: Residuals
    power: float  # of the residuals: see `widening`
    doubt: Doubt
    wider: tuple[WiderInterval, ...]

    def own_interval(self, figure_spread: float, time: float) -> tuple[float, float]:
        """Return the 90% interval of a time [s] by the residuals of its own class alone.

        `figure_spread`: standard deviation from the device's figures.
        """
        figures, doubt = NORMAL_90 * figure_spread, self.doubt
        low = math.hypot(
            self.power * math.log(self.residuals.low), figures, math.log(doubt.shorter)
        )
        high = math.hypot(
            self.power * math.log(self.residuals.high), figures, math.log(doubt.longer)
        )
        return time * math.exp(-low), max(time * math.exp(high), time + doubt.in_turn * HAND_OFF)

    def interval(self, figure_spread: float, time: float) -> tuple[float, float]:
        """Return the 90% interval of a time [s], of kernels known to be predicted worse too."""
        low, high = self.own_interval(figure_spread, time)
        return (
            min([low, *(time * each.low for each in self.wider)]),
            max([high, *(time * each.high for each in self.wider)]),
        )


def uncertainty(of: Circumstances, largest: str) -> Uncertainty:
    """Return how wrong a prediction is whose largest term is `largest`."""
    return Uncertainty(
        residuals(origin(of.device), residual_class(of, largest)),
        widening(of.kernel),
        of.kernel.doubt,
        wider_intervals(of),
    )


@lru_cache(maxsize=1)
def _file() -> dict[str, Any]:
    return packaged_toml(INTERVALS)
