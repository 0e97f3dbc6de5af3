"""Writing what a calibration found as a device file, which ``--device`` takes."""

import re
import tempfile
from pathlib import Path
from typing import Any

from perfmodel.calibration.calibrate import Calibration, Found, si_factor
from perfmodel.hardware.files import FORMAT, load_device
from perfmodel.text_files import check_target, write_file


def device_text(calibration: Calibration, name: str) -> str:
    """Return the device file of a calibration, as TOML.

    `name`: of the device: a-z, 0-9 and '-'.
    """
    import tomli_w

    machine = calibration.recording.machine
    runs = calibration.recording.session.get("run", [])
    dates = [str(run["date"]) for run in runs if "date" in run]
    taken = f", {min(dates)[:10]}" if dates else ""
    source = (
        f"perfmodel calibrate, {machine['gpu']}, driver {machine['driver']}, "
        f"CUDA {machine['cuda']}, SM {float(machine['sm_clock_mhz']):.0f} MHz{taken}"
    )
    head = {
        "format": FORMAT,
        "name": name,
        "title": f"{machine['gpu']}, calibrated",
        "extends": calibration.base.name,
    }
    figures = {f.name: _table(f, calibration, source) for f in calibration.figures}
    comment = (
        "# Figures that a calibration found; all others are those of the device that it extends.\n"
    )
    return comment + tomli_w.dumps({**head, **figures})


def write_device(calibration: Calibration, path: Path) -> None:
    """Write the device file as a whole or not at all, after reading it back.

    Raises `PerfmodelError` if the name is no TOML file's, or it cannot be written.
    """
    check_target(path, "device", (".toml",))
    name = re.sub(r"[^a-z0-9-]+", "-", path.stem.lower()).strip("-") or "my-gpu"
    text = device_text(calibration, name)
    with tempfile.TemporaryDirectory() as scratch:
        trial = Path(scratch) / "device.toml"
        write_file(trial, text)
        load_device(trial)  # what cannot be read back replaces nothing
    write_file(path, text)


def _table(found: Found, calibration: Calibration, source: str) -> dict[str, Any]:
    factor = si_factor(found.unit, calibration.device)
    table: dict[str, Any] = {
        "value": _rounded(found.value / factor),
        "unit": found.unit,
        "kind": found.kind,
        "source": source if found.rows else f"{source}: {found.note}",
    }
    if found.standard_error is not None and found.standard_error > 0:
        table["standard_error"] = float(f"{found.standard_error / factor:.2g}")
    if found.rows:
        table["note"] = f"{found.note}; {found.rows} rows"
    return table


def _rounded(value: float) -> int | float:
    """Return a number with 6 digits, or a whole one exactly."""
    return int(value) if value == int(value) else float(f"{value:.6g}")
