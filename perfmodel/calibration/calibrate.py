"""Calibration: the figures of a device from what was measured on it."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.calibration.fit import Fit, fit_figures
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import evaluate, parse
from perfmodel.hardware import Device, load_device
from perfmodel.hardware.device import quantities
from perfmodel.hardware.figure import UNITS
from perfmodel.measure.record import known_gpus
from perfmodel.measure.recorded import Recording, Row
from perfmodel.prediction.predict import predict_many
from perfmodel.validation.cases import matched

Progress = Callable[[int, int], Any]


@dataclass(frozen=True, slots=True)
class Found:
    """One figure that a calibration found."""

    name: str
    value: float  # in SI
    unit: str  # unit that a file should state it in
    kind: str  # "measured", "fitted", "derived"
    standard_error: float | None  # in SI; None where it is not known
    at_bound: bool
    rows: int  # that it rests on
    note: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a calibration found."""

    base: Device  # device that all other figures are from
    device: Device  # the base with the figures that were found
    figures: tuple[Found, ...]
    fits: Mapping[str, Fit]  # by stage
    skipped: tuple[str, ...]  # what could not be found, and why, a line each
    recording: Recording


def calibrate(recording: Recording, progress: Progress = lambda *_: None) -> Calibration:
    """Find the figures of a device from a measurement folder.

    First what the driver said, then figures that rows tell by themselves, then fits through the
    time model, in the order of ``stages.toml``. Rows marked for validation take no part.

    `progress` is told how many stages of how many are done.

    Raises `PerfmodelError` if the folder does not say what GPU it is of, or too little of it can be
    used.
    """
    machine = _machine(recording)
    base = load_device(base_device(machine))
    found = {f.name: f for f in _from_driver(machine, base)}
    device = _with(base, found)
    readings, fits = stages()
    skipped: list[str] = []
    for reading in readings:
        figure = _read(reading, recording, machine, device)
        if figure is None:
            skipped.append(
                f"{reading.figure}: no rows of {' or '.join(reading.rows.topics)} tell it"
            )
        else:
            found[figure.name] = figure
    device = _with(base, found)
    results: dict[str, Fit] = {}
    for done, fitting in enumerate(fits):
        progress(done, len(fits))
        try:
            results[fitting.name] = _fit(fitting, recording, machine, device)
        except PerfmodelError as error:
            skipped.append(f"{fitting.name}: {error}")
            continue
        for figure in _fitted(fitting, results[fitting.name], base):
            found[figure.name] = figure
        device = _with(base, found)
    progress(len(fits), len(fits))
    if not results:
        raise PerfmodelError(
            f"measurement folder {str(recording.folder)!r} tells too little for a "
            "calibration, which takes the rows that `perfmodel measure` writes: "
            + "; ".join(skipped)
        )
    return Calibration(base, device, tuple(found.values()), results, tuple(skipped), recording)


def base_device(machine: Mapping[str, Any]) -> str:
    """Return the catalogue device that a calibration of a GPU starts from.

    Raises `PerfmodelError` if the catalogue has none of its compute capability.
    """
    known = known_gpus()
    name = known["device"].get(machine["gpu"])
    name = name or known["base"].get(str(machine["compute_capability"]))
    if name is None:
        raise PerfmodelError(
            f"{machine['gpu']} has compute capability {machine['compute_capability']}: the "
            f"catalogue has devices of {', '.join(known['base'])} to start from"
        )
    return name


def _machine(recording: Recording) -> Mapping[str, Any]:
    """Return what a folder says of its machine; what it leaves out, the catalogue's device has."""
    machine = recording.machine
    if recording.device is not None:
        known = load_device(recording.device)
        machine = {
            "compute_capability": known.compute_capability,
            "sm_clock_mhz": known.sm_clock / 1e6,
            "memory_bytes": known.dram_size,
            **machine,
        }
    words = ("gpu", "driver", "cuda", "compute_capability")
    numbers = ("sms", "l2_bytes", "sm_clock_mhz", "bus_bits", "memory_clock_mhz", "memory_bytes")
    for key in (*words, *numbers):
        if key not in machine:
            raise PerfmodelError(
                f"measurement folder {str(recording.folder)!r}: session.toml has no {key} under "
                "[machine], as `perfmodel measure` writes it"
            )
    return machine


def _from_driver(machine: Mapping[str, Any], base: Device) -> list[Found]:
    """Return what the driver says, and peaks in proportion to SMs and clock."""
    bandwidth = 2 * float(machine["memory_clock_mhz"]) * 1e6 * int(machine["bus_bits"]) / 8
    said = {
        "sm_count": (float(machine["sms"]), "SM", "device attribute"),
        "sm_clock": (float(machine["sm_clock_mhz"]) * 1e6, "MHz", "device attribute, largest"),
        "l2_size": (float(machine["l2_bytes"]), "B", "device attribute"),
        "dram_size": (float(machine["memory_bytes"]), "B", "what the driver lets programs have"),
        "dram_bandwidth": (bandwidth, "GB/s", "2 x memory clock x bus width, device attributes"),
    }
    if machine.get("persisting_max"):
        said["l2_persisting_max"] = (float(machine["persisting_max"]), "B", "device attribute")
    if machine.get("window_max"):
        said["l2_window_max"] = (float(machine["window_max"]), "B", "device attribute")
    found = [
        Found(name, value, unit, "measured", None, False, 0, note)
        for name, (value, unit, note) in said.items()
        if getattr(base, name) != value
    ]
    scale = int(machine["sms"]) * float(machine["sm_clock_mhz"]) * 1e6
    scale /= base.sm_count * base.sm_clock
    if scale != 1:
        for name, figure in base.figures.items():
            value = getattr(base, name)
            whole_gpu = name.startswith("peak_") or name in ("l2_read_bandwidth",)
            if whole_gpu and value is not None and not UNITS[figure.unit].sms:
                note = f"that of {base.name}, in proportion to SMs x clock"
                unit = figure.unit
                found.append(Found(name, value * scale, unit, "derived", None, False, 0, note))
    return found


def _read(
    reading: "Reading", recording: Recording, machine: Mapping[str, Any], device: Device
) -> Found | None:
    topics = [recording.topics[t] for t in reading.rows.topics if t in recording.topics]
    rows = [row for topic in topics for row in topic.rows if reading.rows.keep(row, machine)]
    error = None
    if reading.slope is not None:
        x, y = reading.slope
        ends = sorted(rows, key=lambda row: float(row.values[x]))
        if len(ends) < 2 or ends[0].values[y] == ends[-1].values[y]:
            return None
        first, last = ends[0].values, ends[-1].values
        slope = (float(last[x]) - float(first[x])) / (float(last[y]) - float(first[y]))
        value = reading.factor * slope
    else:
        values = np.array(
            [float(r.values[reading.column]) for r in rows if reading.column in r.values]
        )
        if not len(values):
            return None
        value = reading.factor * float(np.median(values)) + reading.offset
        if len(values) > 1:
            error = reading.factor * float(np.std(values, ddof=1)) / float(np.sqrt(len(values)))
    if value <= 0:
        return None
    factor = si_factor(reading.unit, device)
    return Found(
        name=reading.figure,
        value=value * factor,
        unit=reading.unit,
        kind="measured",
        standard_error=None if error is None else error * factor,
        at_bound=False,
        rows=len(rows),
        note=reading.note,
    )


def _fit(
    fitting: "Fitting", recording: Recording, machine: Mapping[str, Any], device: Device
) -> Fit:
    topics = {n: t for n, t in recording.topics.items() if n in fitting.rows.topics}
    of_interest = replace(recording, topics=topics)
    cases = [
        (sweep.kernel_of(row), sweep.params_of(row, device.sm_count), row, sweep)
        for sweep, row in matched(of_interest)
        if fitting.rows.keep(row, machine)
    ]
    if not cases:
        raise PerfmodelError(f"no rows of {' or '.join(fitting.rows.topics)} to fit on")

    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, (kernel, _, row, sweep) in enumerate(cases):
        groups.setdefault((id(kernel), row.timing, sweep.cache_of(row)), []).append(i)

    def times(values: Mapping[str, float]) -> Array:
        changed = changed_device(device, values)
        found = np.empty(len(cases))
        for (_, timing, cache), members in groups.items():
            kernel, first, _, _ = cases[members[0]]
            columns: dict[str, Any] = {
                name: np.array([cases[i][1][name] for i in members]) for name in first
            }
            columns |= {"timing": timing, "cache": cache}
            many = predict_many(kernel, device=changed, **columns)
            found[members] = many.time_s
        return found

    start = {
        name: float(getattr(device, name) or np.sqrt(low * high))
        for name, (low, high) in fitting.figures.items()
    }
    measured = np.array([row.time_s for _, _, row, _ in cases], dtype=float)
    labels = [f"{s.name} {' '.join(f'{k}={v}' for k, v in p.items())}" for _, p, _, s in cases]
    return fit_figures(times, start, fitting.figures, measured, labels)


def _fitted(fitting: "Fitting", fit: Fit, base: Device) -> list[Found]:
    spread = float(np.sqrt(np.mean(fit.residuals**2)))
    note = f"fit of {fitting.name} through the time model; residuals {spread:.1%} rms"
    return [
        Found(
            name=f.name,
            value=f.value,
            unit=base.figures[f.name].unit if f.name in base.figures else "B/s",
            kind="fitted",
            standard_error=f.standard_error if np.isfinite(f.standard_error) else None,
            at_bound=f.at_bound,
            rows=len(fit.labels),
            note=note + ("; AT ITS BOUND" if f.at_bound else ""),
        )
        for f in fit.figures
    ]


def _with(base: Device, found: Mapping[str, Found]) -> Device:
    return changed_device(base, {name: f.value for name, f in found.items()})


def changed_device(device: Device, values: Mapping[str, float]) -> Device:
    """Return a device with other numbers for some figures, in SI."""
    known = quantities()
    numbers: dict[str, Any] = {n: int(v) if known[n].whole else v for n, v in values.items()}
    return replace(device, **numbers)


def si_factor(unit: str, device: Device) -> float:
    """Return how many SI units one of `unit` is on a device."""
    return float(UNITS[unit].si_factor(device.sm_clock, device.sm_count))


_FILE: Final = Path(__file__).parent / "stages.toml"


@dataclass(frozen=True, slots=True)
class Rows:
    """Which rows take part."""

    topics: tuple[str, ...]
    words: Mapping[str, str] = field(default_factory=dict)  # columns of text that must say so
    where: str = ""  # expression over the row's numbers, ``sms`` and ``l2_bytes``; empty takes all

    def keep(self, row: Row, machine: Mapping[str, Any]) -> bool:
        """Say whether a row takes part: one to fit on, trusted, and kept by `where`."""
        if row.use != "fit" or not row.trusted:
            return False
        if any(row.values.get(name) != word for name, word in self.words.items()):
            return False
        if not self.where:
            return True
        node = parse(self.where)
        numbers = {k: v for k, v in row.values.items() if not isinstance(v, str)}
        known = {**numbers, "sms": machine["sms"], "l2_bytes": machine["l2_bytes"]}
        return bool(evaluate(node, known))


@dataclass(frozen=True, slots=True)
class Reading:
    """A figure that rows tell by themselves: ``factor * median(column) + offset`` in `unit`.

    With `slope`, ``factor`` times the change of its first column over that of its second.
    """

    figure: str
    rows: Rows
    unit: str
    note: str
    column: str = ""
    slope: tuple[str, str] | None = None
    factor: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Fitting:
    """Figures that are changed together, within bounds in SI, until predictions fit the rows."""

    name: str
    rows: Rows
    figures: Mapping[str, tuple[float, float]]


@lru_cache(maxsize=1)
def stages() -> tuple[tuple[Reading, ...], tuple[Fitting, ...]]:
    """Return the readings and the fits, in order."""
    table = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    readings = []
    for entry in table["read"]:
        rows = Rows((entry.pop("topic"),), entry.pop("words", {}), entry.pop("where", ""))
        slope = tuple(entry.pop("slope")) if "slope" in entry else None
        readings.append(Reading(rows=rows, slope=slope, **entry))
    fits = [
        Fitting(
            name=entry["name"],
            rows=Rows(tuple(entry["topics"]), entry.get("words", {}), entry.get("where", "")),
            figures={name: (low, high) for name, (low, high) in entry["figures"].items()},
        )
        for entry in table["fit"]
    ]
    return tuple(readings), tuple(fits)
