"""Calibration from recorded measurements: figures, files, and what is refused."""

import json
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from perfmodel.calibration import calibrate
from perfmodel.calibration.calibrate import base_device, stages
from perfmodel.calibration.device_file import device_text, write_device
from perfmodel.errors import PerfmodelError
from perfmodel.hardware import load_device
from perfmodel.hardware.device import quantities
from perfmodel.measure.recorded import read_recording
from perfmodel.reports.calibration_text import calibration_record

SUITE = Path(__file__).parents[2] / "measurements" / "suite/h200-sxm/sweeps"


@pytest.fixture(scope="module")
def calibration():
    return calibrate(read_recording(SUITE))


def figures(calibration):
    return {f.name: f for f in calibration.figures}


def test_figures_are_near_those_of_an_h200(calibration):
    # independent: earlier sessions on the same kind of GPU, with another program (h200-sxm), and
    # the bus (3201 MHz x 2 x 6016 bit)
    found = figures(calibration)
    assert found["launch_floor"].value == pytest.approx(1.5e-6, abs=0.2e-6)
    assert found["dram_bandwidth"].value == pytest.approx(2 * 3201e6 * 6016 / 8)
    assert found["l2_latency"].value * 1.98e9 == pytest.approx(290, rel=0.03)
    assert found["dram_latency"].value * 1.98e9 == pytest.approx(691, rel=0.05)
    assert found["l1_latency"].value * 1.98e9 == pytest.approx(32, rel=0.03)
    assert found["block_dispatch_rate"].value == pytest.approx(1.665e9, rel=0.01)
    assert found["dram_copy_efficiency"].value == pytest.approx(0.89, rel=0.03)
    assert found["l2_write_bandwidth"].value == pytest.approx(4.6e12, rel=0.06)


def test_residuals_are_small_and_no_larger_than_before(calibration):
    # regression: 3.1% rms; the catalogue's figures, from which it starts, came from the same rows
    fit = calibration.fits["bandwidths"]
    assert len(fit.labels) > 30
    before = abs(fit.before_s / fit.measured_s - 1)
    assert (abs(fit.residuals)).mean() <= before.mean() * 1.02
    assert (fit.residuals**2).mean() ** 0.5 < 0.05


@pytest.mark.parametrize(
    "name", ["dram_read_efficiency", "dram_copy_efficiency", "l2_write_bandwidth"]
)
def test_the_catalogue_states_what_a_calibration_finds(calibration, name):
    # the catalogue's figures rest on the same rows; a model that changes moves them a little
    device = load_device("h200-sxm")
    assert device.figures[name].kind == "fitted"
    found = figures(calibration)[name]
    assert getattr(device, name) == pytest.approx(found.value, rel=0.015)


def test_rows_for_validation_take_no_part(calibration, tmp_path):
    # Property: times of validation rows may be anything without changing a figure.
    folder = tmp_path / "changed"
    shutil.copytree(SUITE, folder)
    path = folder / "streams.csv"
    lines = path.read_text().splitlines()
    place = lines[0].split(",").index("time_us")
    for i, line in enumerate(lines[1:], 1):
        cells = line.split(",")
        if "validation" in cells:
            cells[place] = str(float(cells[place]) * 3)
        lines[i] = ",".join(cells)
    path.write_text("\n".join(lines) + "\n")
    from perfmodel.measure.seal import seal

    seal(folder)
    again = figures(calibrate(read_recording(folder)))
    for name, figure in figures(calibration).items():
        assert again[name].value == pytest.approx(figure.value, rel=1e-12)


def test_the_device_file_is_a_device(calibration, tmp_path):
    path = tmp_path / "My GPU.toml"
    write_device(calibration, path)
    device = load_device(path)
    assert device.name == "my-gpu"
    assert device.sm_count == 132
    for figure in calibration.figures:
        assert getattr(device, figure.name) == pytest.approx(figure.value, rel=1e-5)
    table = tomllib.loads(device_text(calibration, "x"))
    assert (table["format"], table["extends"]) == (1, "h200-sxm")
    assert "NVIDIA H200" in table["dram_read_efficiency"]["source"]
    assert table["dram_read_efficiency"]["kind"] == "fitted"


@pytest.mark.parametrize(
    ("name", "message"), [("my-gpu.txt", "must end in .toml"), ("no/my-gpu.toml", "no directory")]
)
def test_a_bad_output_is_refused_before_anything_is_written(calibration, tmp_path, name, message):
    with pytest.raises(PerfmodelError, match=message):
        write_device(calibration, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_the_record_is_json_and_says_what_is_at_a_bound(calibration):
    record = json.loads(json.dumps(calibration_record(calibration), allow_nan=False))
    assert record["schema"] == "perfmodel.calibration/1"
    assert isinstance(record["figures"]["dram_write_efficiency"]["at_bound"], bool)
    assert record["fits"]["bandwidths"]["cases"][0].keys() == {
        *("case", "measured_s", "before_s", "after_s")
    }


def test_stages_name_figures_that_exist():
    readings, fits = stages()
    names = [r.figure for r in readings] + [n for f in fits for n in f.figures]
    assert set(names) <= set(quantities())


@pytest.mark.parametrize(
    ("gpu", "capability", "base"),
    [
        ("NVIDIA H100 80GB HBM3", "9.0", "h100-sxm"),
        ("NVIDIA A100-SXM4-80GB", "8.0", "a100-sxm-80"),
        ("NVIDIA L40S", "8.9", "rtx-a6000"),
    ],
)
def test_the_base_is_the_nearest_of_the_catalogue(gpu, capability, base):
    assert base_device({"gpu": gpu, "compute_capability": capability}) == base


def test_an_unknown_kind_of_gpu_is_refused():
    with pytest.raises(PerfmodelError, match=r"compute capability 7\.5: the catalogue has"):
        base_device({"gpu": "Tesla T4", "compute_capability": "7.5"})


def test_a_folder_that_says_too_little_is_refused(calibration):
    recording = calibration.recording
    with pytest.raises(PerfmodelError, match="tells too little for a calibration"):
        calibrate(replace(recording, topics={"launch": recording.topics["launch"]}))
    words = ("gpu", "driver", "cuda", "compute_capability")
    with pytest.raises(PerfmodelError, match=r"session.toml has no sms"):
        calibrate(
            replace(
                recording,
                session={"machine": dict.fromkeys(words, "9.0")},
            )
        )


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "perfmodel", *arguments], capture_output=True, text=True, check=False
    )


def test_the_command_writes_a_device_that_predict_takes(tmp_path):
    path = tmp_path / "mine.toml"
    ended = run("calibrate", "--from", str(SUITE), "--output", str(path))
    assert ended.returncode == 0, ended.stderr
    assert "dram_read_efficiency" in ended.stdout
    predicted = run("predict", "copy", "-D", "bytes=1GiB", "--device", str(path), "--json")
    assert json.loads(predicted.stdout)["device"] == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--from", "nowhere"), "does not exist"),
        (("--from", ".", "-o", "x.json"), "must end in .toml"),
        (("-o", "mine.toml"), "GPU"),
        (("--against", "simulator"), "needs --output DIR"),
        (("--against", "simulator", "-o", ""), "needs --output DIR"),
        (("--against", "simulator", "--from", "x", "-o", "y"), "--from is a GPU's measurements"),
    ],
)
def test_the_command_refuses_in_one_line(arguments, message, tmp_path):
    ended = subprocess.run(
        [sys.executable, "-m", "perfmodel", "calibrate", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert message in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert not (tmp_path / "mine.toml").exists()
