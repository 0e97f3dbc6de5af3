"""Fitting the intervals again, after measurements or models changed.

python -c "from perfmodel.validation.refit import refit_intervals; refit_intervals()"
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Final

from perfmodel.chunks import HERE, Workers
from perfmodel.hardware import device_names, load_device
from perfmodel.measure import folders
from perfmodel.measure.recorded import read_recording
from perfmodel.prediction.interval import INTERVALS
from perfmodel.validation.case import Case
from perfmodel.validation.cases import cases_of
from perfmodel.validation.first_looks import first_looks, translated_over_described
from perfmodel.validation.intervals import fit_intervals

FIRST_LOOKS: Final = tuple(f"source-kernels/h200-sxm/corpus-blind{n}" for n in range(2, 12))
"""Programs whose first looks widen the intervals of translated kernels; later ones judge it."""


def refit_intervals(path: Path = INTERVALS, workers: Workers = HERE) -> None:
    """Fit the intervals to all recorded measurements, ours and published ones, and write them.

    `path`: the data file; by default the one that predictions read. `workers`: who share the
    predictions.

    Raises
    ------
    PerfmodelError
        If the repository's measurements are not there.
    """
    looks = [look for name in FIRST_LOOKS for look in first_looks(folders.repository() / name)]
    ours = {n: found for n, found in folders.measured().items() if n in device_names()}
    # A device outside the catalogue is another one's, with a data sheet: no figures of its own.
    others = {n: found for n, found in folders.published().items() if n in device_names()}
    measured, published = (
        [
            case
            for name, found in origin.items()
            for folder in found
            for case in _cases(name, folder, workers)
        ]
        for origin in (ours, others)
    )
    fitted_on = [
        {case.sweep.split(":")[0] for case in some if case.use == "fit"}
        for some in (measured, published)
    ]
    about = {
        "measured": f"measurements of {', '.join(sorted(fitted_on[0]))}: rows for fitting",
        "published": f"published measurements of {', '.join(sorted(fitted_on[1]))}",
        "date": date.today().isoformat(),
    }
    fit_intervals(measured, published, about, path, translated_over_described(looks))


def _cases(device: str, folder: Path, workers: Workers) -> list[Case]:
    """Return the cases of a folder, those of each kernel a sweep of their own."""
    found = cases_of([read_recording(folder)], load_device(device), use="fit", workers=workers)
    return [replace(case, sweep=f"{device}: {case.sweep}: {case.kernel}") for case in found]
