"""Triton kernels that multiply by wgmma, predicted from their PTX, against an H200
(matrix-products/h200-sxm/wgmma)."""

from __future__ import annotations

import csv
import json
import tarfile
import tomllib
from functools import lru_cache
from pathlib import Path
from statistics import median

import numpy as np

from perfmodel import predict
from perfmodel.cuda.compile.program import load_program
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.launch_file import launch_from_table
from perfmodel.measure.folders import root
from perfmodel.measure.seal import checksums
from perfmodel.prediction import Prediction

FOLDER = root() / "matrix-products/h200-sxm/wgmma"
with (FOLDER / "products.csv").open(newline="") as _table:
    ROWS = list(csv.DictReader(_table))
LAUNCHES = [json.loads(line) for line in (FOLDER / "launches.jsonl").read_text().splitlines()]
# Every third validation row: all 69 take minutes.
CHOSEN = [row for row in ROWS if row["use"] == "validation"][::3]


@lru_cache
def predicted(number: int, folder: Path) -> Prediction:
    table = dict(LAUNCHES[number - 1])
    file = f"{table.pop('name')}.ptx"
    with tarfile.open(FOLDER / "ptx.tar.gz") as archive:
        member = next(m for m in archive.getmembers() if Path(m.name).name == file)
        packed = archive.extractfile(member)
        assert packed is not None
        (folder / file).write_bytes(packed.read())
    launch = launch_from_table(table, "", folder)
    return predict(translated(load_program(folder / file), launch), device="h200-sxm")


def ratios(feed: str, folder: Path) -> list[tuple[float, bool]]:
    """Return the predicted time over the measured one of each row, and whether it is inside."""
    found = []
    for row in (r for r in CHOSEN if r["feed"] == feed):
        prediction, time = predicted(int(row["launch"]), folder), float(row["time_us"]) * 1e-6
        inside = prediction.interval_s[0] <= time <= prediction.interval_s[1]
        found.append((prediction.time_s / time, inside))
    return found


def test_it_is_sealed_and_documented() -> None:
    session = tomllib.loads((FOLDER / "session.toml").read_text())
    assert session["files"]["products.csv"] == checksums(FOLDER)["products.csv"]
    assert set(ROWS[0]) == set(session["columns"])
    assert len(ROWS) == len(LAUNCHES) == 69


def test_products_of_warp_groups_behind_cp_async(tmp_path: Path) -> None:
    # measured, validation rows: 14% off in the median of all 14
    found = ratios("cp.async", tmp_path)
    assert median(abs(ratio - 1) for ratio, _ in found) < 0.18
    assert np.mean([inside for _, inside in found]) > 0.8


def test_products_of_warp_groups_behind_tma_are_known_to_be_too_long(tmp_path: Path) -> None:
    # measured, validation rows: 112% too long in the median of all 26, and the interval says so
    found = ratios("tma", tmp_path)
    assert 1.5 < median(ratio for ratio, _ in found) < 2.5
    assert np.mean([inside for _, inside in found]) > 0.8
