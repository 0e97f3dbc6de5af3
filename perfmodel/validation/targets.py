"""Targets: errors that predictions are to stay under, and whether they do, by protocol."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from perfmodel.tables import check_keys
from perfmodel.validation.case import Case

_FILE: Final = Path(__file__).parent / "targets.toml"
_WHAT: Final = ("median", "worst", "worst_us", "knee_steps")
_KEYS: Final = ("name", "kernels", "when", *_WHAT)


_FEWEST_SIZES: Final = 6


@dataclass(frozen=True, slots=True)
class Reached:
    """What was reached of one target, under one protocol."""

    name: str
    protocol: str
    use: str  # which cases it was judged on; "fit", "validation", "all"
    cases: int
    # Median or largest magnitude of the error, largest difference [us], or sizes between the
    # measured and the predicted knee of the bandwidth; "median", "worst", "worst_us", "knee_steps"
    what: str
    wanted: float
    reached: float

    @property
    def met(self) -> bool:
        """Whether it was reached."""
        return self.reached <= self.wanted


def reached(cases: Sequence[Case]) -> list[Reached]:
    """Return what was reached of every target that has cases, by protocol."""
    found = []
    for target in _targets():
        condition = target.get("when", "1")
        some = [case for case in cases if case.kernel in target["kernels"]]
        every = [case for case in some if case.meets(condition, "targets.toml, when")]
        use = "validation" if any(case.use == "validation" for case in every) else "fit"
        for protocol in dict.fromkeys((c.timing, c.cache) for c in every if c.use == use):
            some = [c for c in every if (c.timing, c.cache) == protocol]
            chosen = [c for c in some if c.use == use]
            found += [
                _reached(target, what, protocol, chosen, use)
                for what in ("median", "worst", "worst_us")
                if what in target
            ]
            if "knee_steps" in target:
                # A knee takes every size, and each sweep has sizes of its own.
                for sweep in dict.fromkeys((c.topic, c.sweep) for c in some):
                    sizes = [c for c in some if (c.topic, c.sweep) == sweep]
                    if len({c.params["bytes"] for c in sizes}) >= _FEWEST_SIZES:
                        found.append(_reached(target, "knee_steps", protocol, sizes, "all"))
    return found


def _reached(
    target: Mapping[str, Any],
    what: str,
    protocol: tuple[str, str],
    cases: Sequence[Case],
    use: str,
) -> Reached:
    return Reached(
        name=target["name"],
        protocol=", ".join(protocol),
        use=use,
        cases=len(cases),
        what=what,
        wanted=float(target[what]),
        reached=_value(what, cases),
    )


def _value(what: str, cases: Sequence[Case]) -> float:
    if what == "knee_steps":
        steps = [
            _knee(cases, [getattr(c, a) for c in cases]) for a in ("measured_s", "predicted_s")
        ]
        return float(abs(steps[0] - steps[1]))
    errors = np.abs([case.error for case in cases])
    if what == "median":
        return float(np.median(errors))
    if what == "worst":
        return float(np.max(errors))
    return float(np.max(np.abs([case.predicted_s - case.measured_s for case in cases]))) * 1e6


def _knee(cases: Sequence[Case], times: Sequence[float]) -> int:
    """Return the place of the size from which on the bandwidth is nearer to DRAM's than to L2's.

    Sizes count from the smallest; a size that comes more than once counts by its mean.
    """
    rates: dict[int, list[float]] = {}
    for case, time in zip(cases, times, strict=True):
        numbers = case.numbers
        size = numbers["bytes"]
        rates.setdefault(size, []).append(size * numbers["iterations"] / time)
    means = np.array([np.mean(rates[size]) for size in sorted(rates)])
    half = np.sqrt(means.max() * means[means.argmax() :].min())
    # A cold set that is read twice is half DRAM's at any size: the last that is nearer to L2's.
    return int(np.flatnonzero(means >= half)[-1]) + 1


@lru_cache(maxsize=1)
def _targets() -> tuple[dict[str, Any], ...]:
    entries = tomllib.loads(_FILE.read_text(encoding="utf-8"))["target"]
    for number, entry in enumerate(entries, 1):
        check_keys(entry, _KEYS, ("name", "kernels"), f"{_FILE.name}, target {number}")
    return tuple(entries)
