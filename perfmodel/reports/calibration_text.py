"""What a calibration found, as text and as a record."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np

from perfmodel.calibration.against_simulator import Fitted
from perfmodel.calibration.calibrate import Calibration, Found, si_factor
from perfmodel.calibration.fit import Fit
from perfmodel.fields import fields_of
from perfmodel.reports.lines import Piece, plain, stack
from perfmodel.reports.tables import table

_WORST: Final = 5


def calibration_report(calibration: Calibration) -> Piece:
    """Return figures, residuals and what is missing, for a terminal."""
    machine = calibration.recording.machine
    parts: list[Piece | str] = [
        plain(f"{machine['gpu']}, driver {machine['driver']}; starts from {calibration.base.name}"),
        "",
        _figures(calibration),
    ]
    for name, fit in calibration.fits.items():
        parts += ["", plain(_summary(name, fit)), _residuals(fit)]
    for line in calibration.skipped:
        parts.append(plain(f"not found: {line}"))
    return stack(*parts)


def calibration_record(calibration: Calibration) -> dict[str, Any]:
    """Return the calibration as the JSON object ``perfmodel.calibration/1``, in SI."""
    return {
        "schema": "perfmodel.calibration/1",
        "machine": dict(calibration.recording.machine),
        "base": calibration.base.name,
        "figures": {
            f.name: {
                **fields_of(f, "value", "standard_error", "at_bound", "kind", "rows"),
                "base": getattr(calibration.base, f.name),
                "note": f.note,
            }
            for f in calibration.figures
        },
        "fits": {
            name: {
                "rms_residual": float(np.sqrt(np.mean(fit.residuals**2))),
                "cases": [
                    {"case": case, "measured_s": took, "before_s": before, "after_s": after}
                    for case, took, before, after in zip(
                        fit.labels,
                        fit.measured_s.tolist(),
                        fit.before_s.tolist(),
                        fit.after_s.tolist(),
                        strict=True,
                    )
                ],
            }
            for name, fit in calibration.fits.items()
        },
        "skipped": list(calibration.skipped),
    }


def agreement_report(
    found: Mapping[str, tuple[int, float, float]], fitted: Sequence[Fitted]
) -> Piece:
    """Return how often closed forms and simulator agree, by family, and the coefficients."""
    rows = [(n, str(c), f"{s:.0%}", f"{b:.0%}") for n, (c, s, b) in found.items()]
    headers = ("launches like", "count", "sectors within 5%", "DRAM bytes within 10%")
    numbers = [(f.name, f"{f.value:.4g}", f"{f.standard_error:.2g}") for f in fitted]
    return stack(
        table(headers, rows, "lrrr"),
        "",
        table(("coefficient", "value", "error"), numbers, "lrr"),
    )


def agreement_record(
    found: Mapping[str, tuple[int, float, float]], fitted: Sequence[Fitted]
) -> dict[str, Any]:
    """Return the same as the JSON object ``perfmodel.agreement/1``."""
    return {
        "schema": "perfmodel.agreement/1",
        "families": {
            name: {"launches": count, "sectors_within_5": sectors, "dram_bytes_within_10": moved}
            for name, (count, sectors, moved) in found.items()
        },
        "coefficients": {f.name: asdict(f) for f in fitted},
    }


def _figures(calibration: Calibration) -> Piece:
    rows = []
    for f in calibration.figures:
        factor = si_factor(f.unit, calibration.device)
        before = getattr(calibration.base, f.name)
        rows.append(
            (
                f.name,
                f"{f.value / factor:.5g}",
                _error(f, factor),
                f.unit,
                "-" if before is None else f"{before / factor:.5g}",
                f.kind,
                str(f.rows or "-"),
            )
        )
    headers = ("figure", "value", "error", "unit", "before", "kind", "rows")
    return table(headers, rows, "lrrlr")


def _error(found: Found, factor: float) -> str:
    if found.at_bound:
        return "AT BOUND"
    if found.standard_error is None:
        return "-"
    return f"{found.standard_error / factor:.2g}"


def _summary(name: str, fit: Fit) -> str:
    spread = float(np.sqrt(np.mean(fit.residuals**2)))
    before = float(np.sqrt(np.mean((fit.before_s / fit.measured_s - 1) ** 2)))
    return (
        f"{name}: {len(fit.labels)} cases, residuals {spread:.1%} rms, {before:.1%} before; worst:"
    )


def _residuals(fit: Fit) -> Piece:
    worst = np.argsort(-np.abs(fit.residuals))[:_WORST]
    rows = [
        (
            fit.labels[i],
            f"{fit.measured_s[i] * 1e6:.2f} us",
            f"{fit.after_s[i] * 1e6:.2f} us",
            f"{fit.residuals[i]:+.1%}",
        )
        for i in worst
    ]
    headers = ("case", "measured", "predicted", "error")
    return table(headers, rows, "lrrr")
