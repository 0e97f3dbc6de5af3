"""Fitting figures of a device through the whole time model, with standard errors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.errors import PerfmodelError

_SOFT: Final = 0.05
"""Residuals (of the logarithm of the time) from which on an outlier's weight falls."""
_NEAR: Final = 1e-3
"""Share of the bounds' distance within which a value counts as at its bound."""


@dataclass(frozen=True, slots=True)
class FittedFigure:
    """One figure after a fit."""

    name: str
    # In SI; the error is infinite where the data say nothing about it.
    value: float
    standard_error: float
    at_bound: bool  # whether the fit ended at a bound: the value is then no measurement


@dataclass(frozen=True, slots=True)
class Fit:
    """A fit of some figures."""

    figures: tuple[FittedFigure, ...]
    labels: tuple[str, ...]  # what was fitted on, a case each
    # Times: measured, and predicted before and after the fit [s].
    measured_s: Array
    before_s: Array
    after_s: Array

    @property
    def residuals(self) -> Array:
        """Predicted over measured time after the fit, less one."""
        return np.asarray(self.after_s / self.measured_s - 1)


def fit_figures(
    predict: Callable[[Mapping[str, float]], Array],
    start: Mapping[str, float],
    bounds: Mapping[str, tuple[float, float]],
    measured: Array,
    labels: Sequence[str],
) -> Fit:
    """Change figures until predictions come as near to measured times as they can.

    Minimises ``log(predicted/measured)`` in the figures' logarithms, with SciPy's trust-region
    reflective least squares and a soft-L1 loss. Standard errors come from the Jacobian at the end
    and the residuals' variance.

    `predict`: times [s] for values of the figures. `start` and `bounds`: where to begin, and
    between what, in SI. `measured`: times [s].

    Raises `PerfmodelError` if there are fewer cases than figures.
    """
    from scipy.optimize import least_squares

    names = list(start)
    if len(measured) < len(names):
        raise PerfmodelError(
            f"{len(measured)} cases cannot tell {len(names)} figures ({', '.join(names)}): "
            "measure more sizes"
        )
    low = np.log([bounds[n][0] for n in names])
    high = np.log([bounds[n][1] for n in names])
    first = np.clip(np.log([start[n] for n in names]), low + 1e-6, high - 1e-6)

    def values(logs: Array) -> dict[str, float]:
        return {n: float(np.exp(v)) for n, v in zip(names, logs, strict=True)}

    def residuals(logs: Array) -> Array:
        return np.asarray(np.log(predict(values(logs)) / measured))

    found = least_squares(
        residuals,
        first,
        bounds=(low, high),
        loss="soft_l1",
        f_scale=_SOFT,
        diff_step=1e-4,
        ftol=1e-6,
        xtol=1e-5,
    )
    errors = standard_errors(found.jac, residuals(found.x))
    at_bound = (found.x - low < _NEAR * (high - low)) | (high - found.x < _NEAR * (high - low))
    final = values(found.x)
    return Fit(
        figures=tuple(
            FittedFigure(n, final[n], final[n] * float(e), bool(b))
            for n, e, b in zip(names, errors, at_bound, strict=True)
        ),
        labels=tuple(labels),
        measured_s=measured,
        before_s=predict(dict(start)),
        after_s=predict(final),
    )


def standard_errors(jacobian: Array, residuals: Array) -> Array:
    """Return standard errors of parameters; infinite where no residual depends on one.

    `jacobian` is of the residuals, a column a parameter.
    """
    freedom = max(len(residuals) - jacobian.shape[1], 1)
    variance = float(residuals @ residuals) / freedom
    tells = np.linalg.norm(jacobian, axis=0) > 1e-9
    errors = np.full(jacobian.shape[1], np.inf)
    if tells.any():
        some = jacobian[:, tells]
        errors[tells] = np.sqrt(np.clip(np.diag(np.linalg.pinv(some.T @ some)) * variance, 0, None))
    return errors
