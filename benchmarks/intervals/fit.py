"""Fitting the 90% intervals of predictions to the residuals of measured launches.

A residual is what is left of ``log(measured/predicted)`` once the uncertainty of the device's
figures is taken off. Its 5% and 95% quantiles, every sweep counting alike, make an interval; with
few sweeps a class of residuals knows its tails badly, so the residuals of all classes are mixed in
with the weight of some sweeps. How many, and a common factor that widens all intervals, are chosen
by leaving each sweep out in turn: the weight of each class by the interval score of what was left
out, the factor as the least that holds 90% of it. Validation cases are never used.

Interval score: T. Gneiting and A. E. Raftery, J. Am. Stat. Assoc. 102 (2007) 359, equation 43.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.errors import PerfmodelError
from perfmodel.prediction.interval import CLASSES, INTERVALS, NORMAL_90
from perfmodel.validation.case import Case

LEVEL: Final = 0.9
LEAST_CASES: Final = 20
"""Cases, of two sweeps at least, that a class needs for residuals of its own."""
FULL_WEIGHT: Final = 5
"""Cases from which on a sweep counts like any other."""
LEAST_HALF_WIDTH: Final = 0.01
"""No interval is narrower: times of one launch scatter by about as much."""
PRIOR_SWEEPS: Final = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0)
"""Weights, in sweeps, with which the residuals of all classes may be mixed in."""
_COMMENT: Final = """\
# Where 90% of measured times lie, over predicted ones: factors by origin of the
# device's figures and class of residuals. The figures' uncertainty comes on top.
# Written by benchmarks.intervals.refit; benchmarks.intervals.fit says how. cases
# and sweeps are the class's own, prior_sweeps the weight of all other residuals,
# held_out the share of left-out cases that the interval holds. Published classes of
# too few cases (prior_sweeps = inf) are the measured ones to the power
# published_over_measured. Kernels from PTX have all of them to the power
# translated_over_described (benchmarks.intervals.refit).

"""
_FACTORS: Final = np.arange(1.0, 4.0, 0.01)


@dataclass(frozen=True, slots=True)
class Fit:
    """The residuals of one class."""

    # Factors of the predicted time, below and above 1.
    low: float
    high: float
    # Of its own.
    cases: int
    sweeps: int
    # Weight of all classes' residuals in it, in sweeps; infinite where it has too few cases.
    prior_sweeps: float
    # Share of left-out cases that the intervals hold; NaN where none could be left out.
    held_out: float


Samples = Mapping[str, Array]
"""Residuals of a class, by sweep."""


def fit_classes(cases: Iterable[Case]) -> tuple[dict[str, Fit], float]:
    """Return a fit for each class of residuals and the common factor, from the fit cases given.

    Raises `PerfmodelError` if fewer than `LEAST_CASES` are there for a fit.
    """
    usable = [case for case in cases if case.use == "fit"]
    if len(usable) < LEAST_CASES:
        raise PerfmodelError(
            f"intervals need {LEAST_CASES} cases to fit on, and there are {len(usable)}"
        )
    classes = {name: _samples(usable, name) for name in CLASSES}
    priors = {name: _prior(name, classes) for name in CLASSES}
    factor = _factor(classes, priors)
    found = {}
    for name, own in classes.items():
        low, high = _bounds(name, classes, priors[name])
        shares, weights = _held(name, classes, priors[name], factor)
        found[name] = Fit(
            low=math.exp(-factor * low),
            high=math.exp(factor * high),
            cases=sum(sample.size for sample in own.values()),
            sweeps=len(own),
            prior_sweeps=priors[name],
            held_out=float(np.average(shares, weights=weights)) if shares else math.nan,
        )
    return found, factor


def fit_intervals(
    measured: Sequence[Case],
    published: Sequence[Case],
    about: Mapping[str, str],
    path: Path = INTERVALS,
    translated: float = 1.0,
) -> None:
    """Fit the intervals and write the data file that predictions read.

    `measured`: on devices whose figures were fitted to measurements of ours. `published`: on
    devices with published figures. `about`: where the cases come from, and when: goes into the
    file. `translated`: power of all these that holds kernels translated from PTX.
    """
    import tomli_w

    ours, our_factor = fit_classes(measured)
    others, their_factor = fit_classes(published)
    others, ratio = filled(others, ours)
    head: dict[str, Any] = {
        **about,
        "level": LEVEL,
        "measured_widening": round(our_factor, 2),
        "published_widening": round(their_factor, 2),
        "published_over_measured": round(ratio, 2),
        "translated_over_described": round(translated, 2),
    }
    classes = {
        origin: {name: _rounded(fit) for name, fit in fits.items()}
        for origin, fits in (("measured", ours), ("published", others))
    }
    path.write_text(_COMMENT + tomli_w.dumps({"about": head, **classes}), encoding="utf-8")


def _rounded(fit: Fit) -> dict[str, float]:
    """Return a fit as the data file has it: no share where none could be left out."""
    found = {name: round(value, 4) for name, value in asdict(fit).items()}
    return {name: value for name, value in found.items() if not math.isnan(value)}


def filled(fits: Mapping[str, Fit], by: Mapping[str, Fit]) -> tuple[dict[str, Fit], float]:
    """Return fits with those of classes that have too few cases taken from others, and the ratio.

    What is taken is widened by the ratio of the mean half widths of the classes that both have.
    The others are no narrower than what they could have been taken from: few cases that happen to
    agree do not make a GPU better known than one that we measured.

    `fits`: of devices with few cases. `by`: of devices with many.
    """
    both = [n for n in fits if not (math.isinf(fits[n].prior_sweeps + by[n].prior_sweeps))]
    widths = [sum(math.log(f[n].high / f[n].low) for n in both) for f in (fits, by)]
    ratio = max(1.0, widths[0] / widths[1]) if both else 1.0
    return {
        name: (
            replace(fit, low=by[name].low ** ratio, high=by[name].high ** ratio)
            if math.isinf(fit.prior_sweeps)
            else replace(fit, low=min(fit.low, by[name].low), high=max(fit.high, by[name].high))
        )
        for name, fit in fits.items()
    }, ratio


def left_over(case: Case) -> float:
    """Return the residual of a case without the part that its figures' uncertainty explains."""
    residual = math.log(case.measured_s / case.predicted_s)
    explained = NORMAL_90 * case.spread
    return math.copysign(math.sqrt(max(residual**2 - explained**2, 0.0)), residual)


def interval_score(residuals: Array, low: float, high: float) -> float:
    """Return the mean score of ``[-low, high]`` as a 90% interval of residuals; small is good."""
    outside = np.maximum(-low - residuals, 0) + np.maximum(residuals - high, 0)
    return float(low + high + 2 / (1 - LEVEL) * np.mean(outside))


def _samples(cases: Sequence[Case], name: str) -> Samples:
    groups: dict[str, list[float]] = {}
    for case in cases:
        if case.residual_class == name:
            groups.setdefault(case.sweep, []).append(left_over(case))
    return {sweep: np.array(values) for sweep, values in groups.items()}


def _prior(name: str, classes: Mapping[str, Samples]) -> float:
    """Return the weight of all classes that scores best on left-out sweeps."""
    own = classes[name]
    if len(own) < 2 or sum(sample.size for sample in own.values()) < LEAST_CASES:
        return math.inf

    def total(prior: float) -> float:
        return sum(
            _weight(sample) * interval_score(sample, *_bounds(name, classes, prior, sweep))
            for sweep, sample in own.items()
        )

    return min(PRIOR_SWEEPS, key=total)


def _factor(classes: Mapping[str, Samples], priors: Mapping[str, float]) -> float:
    """Return the least factor that holds `LEVEL` of the left-out sweeps of all classes."""
    for factor in _FACTORS:
        shares: list[float] = []
        weights: list[float] = []
        for name in classes:
            some, their_weights = _held(name, classes, priors[name], float(factor))
            shares += some
            weights += their_weights
        if not shares or np.average(shares, weights=weights) >= LEVEL:
            return float(factor)
    return float(_FACTORS[-1])


def _held(
    name: str, classes: Mapping[str, Samples], prior: float, factor: float
) -> tuple[list[float], list[float]]:
    """Return the share of each left-out sweep that the others' interval holds, and its weight."""
    shares, weights = [], []
    for sweep, sample in classes[name].items():
        low, high = _bounds(name, classes, prior, sweep)
        shares.append(float(np.mean((sample >= -factor * low) & (sample <= factor * high))))
        weights.append(_weight(sample))
    return shares, weights


def _bounds(
    name: str, classes: Mapping[str, Samples], prior: float, without: str | None = None
) -> tuple[float, float]:
    """Return how far the central 90% go below and above zero, a sweep left out."""
    own = [s for sweep, s in classes[name].items() if sweep != without]
    # What has no closed form errs in a way of its own, which says nothing about the others.
    pool = [
        sample
        for other, samples in classes.items()
        for sweep, sample in samples.items()
        if sweep != without and other != "sampled"
    ]
    parts = [] if math.isinf(prior) else [(s, _weight(s)) for s in own]
    whole = sum(_weight(s) for s in pool)
    share = 1.0 if math.isinf(prior) else prior
    parts += [(s, share * _weight(s) / whole) for s in pool]
    if not parts:
        return LEAST_HALF_WIDTH, LEAST_HALF_WIDTH
    values = np.concatenate([s for s, _ in parts])
    weights = np.concatenate([np.full(s.size, w / s.size) for s, w in parts])
    low, high = central(values, weights)
    return max(-low, LEAST_HALF_WIDTH), max(high, LEAST_HALF_WIDTH)


def _weight(sample: Array) -> float:
    return min(1.0, sample.size / FULL_WEIGHT)


def central(values: Array, weights: Array) -> tuple[float, float]:
    """Return the quantiles between which the central `LEVEL` of weighted values lie."""
    order = np.argsort(values)
    centres = np.cumsum(weights[order]) - weights[order] / 2
    ends = (1 - LEVEL) / 2 * weights.sum(), (1 + LEVEL) / 2 * weights.sum()
    low, high = (float(np.interp(end, centres, values[order])) for end in ends)
    return low, high
