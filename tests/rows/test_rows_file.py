"""Files of rows: exact, resumable, and refused where they are of something else."""

from __future__ import annotations

import csv
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfmodel.chunks import HERE
from perfmodel.errors import PerfmodelError
from perfmodel.rows_file import (
    RowsFile,
    check_rows_file,
    decoded,
    encoded,
    fill,
    origin,
)

SUFFIXES = (".csv", ".parquet")
ODD = [0.1 + 0.2, 5e-324, 1.7976931348623157e308, -0.0, 1 / 3]
"""Floats that any rounding would change."""


@pytest.fixture(params=SUFFIXES)
def suffix(request: pytest.FixtureRequest) -> str:
    """Each format."""
    if request.param == ".parquet":
        pytest.importorskip("pyarrow")
    return str(request.param)


def thirds(calls: list[int], chunk: range) -> dict[str, Any]:
    """Return rows of a chunk, and note that it was asked for."""
    calls.append(chunk.start)
    n = np.array(chunk)
    return {"n": n, "third": n / 3, "word": np.array([f"w,{i}" for i in chunk], dtype=object)}


CHUNKS = [range(0, 4), range(4, 8), range(8, 9)]


def test_numbers_are_kept_to_the_last_bit(suffix: str) -> None:
    columns = {
        "size": np.array([0, 2**62, 1, 2, 3]),
        "value": np.array(ODD),
        "word": np.array(["a", "", 'say "b"', "c,d", "é"], dtype=object),
    }
    kinds = {"size": int, "value": float, "word": str}
    found = decoded(encoded(columns, suffix), suffix, kinds)
    assert found["size"] == [0, 2**62, 1, 2, 3]
    assert [x.hex() for x in found["value"]] == [x.hex() for x in ODD]
    assert found["word"] == ["a", "", 'say "b"', "c,d", "é"]
    (lost,) = decoded(encoded({"x": np.array([np.nan])}, suffix), suffix, {"x": float})["x"]
    assert math.isnan(lost)


def test_parts_are_joined_in_order(suffix: str, tmp_path: Path) -> None:
    rows = RowsFile(tmp_path / f"rows{suffix}", origin("a", 1))
    told: list[int] = []
    fill(rows, range(rows.resume(), 3), CHUNKS.__getitem__, partial(thirds, []), HERE, told.append)
    assert told == [0, 1, 2, 3]
    assert {path.name for path in tmp_path.iterdir()} == {f"rows{suffix}", f"rows{suffix}.json"}
    found = decoded(rows.path.read_bytes(), suffix, {"n": int, "third": float, "word": str})
    # by hand: rows 0 to 8
    assert found["n"] == list(range(9))
    assert found["third"] == [n / 3 for n in range(9)]
    assert found["word"] == [f"w,{n}" for n in range(9)]


def test_an_interrupted_file_goes_on_and_is_the_same(suffix: str, tmp_path: Path) -> None:
    whole = RowsFile(tmp_path / f"whole{suffix}", origin("a", 1))
    fill(whole, range(0, 3), CHUNKS.__getitem__, partial(thirds, []), HERE)

    def interrupted(chunk: range) -> dict[str, Any]:
        if chunk.start == 8:
            raise KeyboardInterrupt
        return thirds([], chunk)

    rows = RowsFile(tmp_path / f"rows{suffix}", origin("a", 1))
    with pytest.raises(KeyboardInterrupt):
        fill(rows, range(rows.resume(), 3), CHUNKS.__getitem__, interrupted, HERE)
    assert not rows.path.exists()
    assert rows.resume() == 2
    calls: list[int] = []
    fill(rows, range(rows.resume(), 3), CHUNKS.__getitem__, partial(thirds, calls), HERE)
    assert calls == [8]  # by hand: what was not there yet
    assert rows.path.read_bytes() == whole.path.read_bytes()
    # and then there is nothing left to do
    assert rows.resume() == -1


def test_parts_left_by_an_end_while_joining_leave(tmp_path: Path) -> None:
    rows = RowsFile(tmp_path / "rows.csv", origin("a", 1))
    fill(rows, range(0, 3), CHUNKS.__getitem__, partial(thirds, []), HERE)
    before = rows.path.read_bytes()
    (tmp_path / "rows.csv.parts").mkdir()
    (tmp_path / "rows.csv.parts" / "000000.csv").write_text("n\n")
    assert rows.resume() == -1
    assert not (tmp_path / "rows.csv.parts").exists()
    assert rows.path.read_bytes() == before


def test_rows_of_something_else_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    rows = RowsFile(path, origin("a", 1))
    rows.add(0, encoded(thirds([], CHUNKS[0]), ".csv"))
    other = RowsFile(path, origin("b", 2))
    with pytest.raises(PerfmodelError, match=r"of another command.*delete .*rows\.csv\.parts'"):
        other.resume()
    with pytest.raises(PerfmodelError, match=r"of other input files, or of another version"):
        RowsFile(path, origin("a", 2)).resume()
    fill(rows, range(rows.resume(), 3), CHUNKS.__getitem__, partial(thirds, []), HERE)
    with pytest.raises(PerfmodelError, match=r"of another command.*delete .*rows\.csv', or give"):
        other.resume()
    (tmp_path / "rows.csv.json").unlink()
    with pytest.raises(PerfmodelError, match="nothing says what it is of"):
        rows.resume()
    # what was deleted as it was told is begun anew, by whichever command
    path.unlink()
    assert other.resume() == 0


def test_a_file_follows_from_all_facts_and_from_perfmodel(monkeypatch: pytest.MonkeyPatch) -> None:
    # property: any other fact is another file, the words of the command are not
    found = {origin("a", *facts).checksum for facts in ((1, 2), (1, 3), (12,), ("1", 2))}
    assert len(found) == 4
    assert origin("a", 1).checksum == origin("b", 1).checksum
    before = origin("a", 1).checksum
    monkeypatch.setattr("perfmodel.rows_file.installed", lambda: "another perfmodel")
    assert origin("a", 1).checksum != before


def test_names_that_no_rows_can_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PerfmodelError, match=r"must end in \.csv or \.parquet"):
        check_rows_file(tmp_path / "rows.txt")
    with pytest.raises(PerfmodelError, match="create it first"):
        check_rows_file(tmp_path / "nowhere" / "rows.csv")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(PerfmodelError, match=r"pip install 'perfmodel\[parquet\]'"):
        check_rows_file(tmp_path / "rows.parquet")


def test_a_csv_has_one_head(tmp_path: Path) -> None:
    # independent: as the standard library reads it
    rows = RowsFile(tmp_path / "rows.csv", origin("a", 1))
    fill(rows, range(0, 3), CHUNKS.__getitem__, partial(thirds, []), HERE)
    with rows.path.open(newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    assert lines[0] == ["n", "third", "word"]
    assert [line[0] for line in lines[1:]] == [str(n) for n in range(9)]
