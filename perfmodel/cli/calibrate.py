"""`perfmodel calibrate`: a device file of a GPU, from measurements of it."""

from pathlib import Path
from typing import Literal

from perfmodel.cli.grouped_options import option
from perfmodel.cli.measure import PROFILER
from perfmodel.cli.options import JSON
from perfmodel.cli.output import print_json, show, wrote
from perfmodel.cli.progress import progress_bar
from perfmodel.errors import PerfmodelError
from perfmodel.text_files import check_target


def calibrate(
    *,
    output: Path | None = option(
        "Device file to write (.toml); without it the figures are only shown.",
        "--output",
        "-o",
        metavar="FILE",
    ),
    folder: str | None = option(
        "Fit to this measurement folder, instead of measuring a GPU of this machine.",
        "--from",
        metavar="DIR",
    ),
    against: Literal["gpu", "simulator"] = option(
        "Hold the closed forms against a GPU, or their traffic against the simulator: "
        "then --output is a folder for its grid of launches, fit and plot.",
        default="gpu",
    ),
    gpu: int | None = option("Number of the GPU to measure, from 0. [default: 0]", "--gpu", min=0),
    profiler: bool = PROFILER,
    json: bool = JSON,
) -> None:
    """Measure a GPU, fit the model's figures to it, and write a device file.

    The rows that it measured stay next to the device file, in a folder of the same name: an
    interrupted run goes on there, and --from fits to them again. Rows kept for validation take no
    part; `perfmodel validate --from DIR --device FILE` says how wrong predictions are on them.
    """
    measures = folder is None and against == "gpu"
    if not measures and (gpu is not None or not profiler):
        given = "--gpu" if gpu is not None else "--no-profiler"
        raise PerfmodelError(
            f"{given} is about measuring: leave it out with --from and with --against simulator"
        )
    if against == "simulator":
        _against_simulator(output, folder, json)
        return
    from perfmodel.calibration import calibrate as fit_device
    from perfmodel.calibration.device_file import write_device
    from perfmodel.measure.recorded import read_recording
    from perfmodel.reports.calibration_text import calibration_record, calibration_report

    if output is not None:
        check_target(output, "device", (".toml",))
    if folder is None:
        folder = str((output or Path("my-gpu.toml")).with_suffix(""))
        from perfmodel.measure.session import measure_gpu

        with progress_bar("measuring") as tell:
            measure_gpu(Path(folder), gpu or 0, None, profiler, lambda _, d, n: tell(d, n))
        wrote(folder)
    recording = read_recording(folder)
    with progress_bar("fitting") as tell:
        found = fit_device(recording, tell)
    if output is not None:
        write_device(found, output)
        wrote(output)
    if json:
        print_json(calibration_record(found))
    else:
        show(calibration_report(found))


def _against_simulator(output: Path | None, folder: str | None, json: bool) -> None:
    if folder is not None:
        raise PerfmodelError(
            "--from is a GPU's measurements: leave it out with --against simulator"
        )
    if output is None or not output.name:  # "" would be the folder that one is in
        raise PerfmodelError("--against simulator needs --output DIR, a folder for what it writes")
    if output.exists() and not output.is_dir():
        raise PerfmodelError(f"--output {str(output)!r} is no folder: name another")
    from perfmodel.calibration.against_simulator import (
        FILES,
        agreement,
        calibrate_against_simulator,
    )
    from perfmodel.reports.calibration_text import agreement_record, agreement_report

    output.mkdir(parents=True, exist_ok=True)
    with progress_bar("simulating") as tell:
        rows, fitted = calibrate_against_simulator(
            output, lambda done: tell(round(done * 100), 100)
        )
    wrote(*(output / name for name in FILES))
    found = agreement(rows)
    if json:
        print_json(agreement_record(found, fitted))
    else:
        show(agreement_report(found, fitted))
