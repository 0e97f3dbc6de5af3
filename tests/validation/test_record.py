"""The record of predictions: it is exact, it sees every change, and it is of today's models."""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.record.compare import differences, largest
from benchmarks.record.launches import predicted, scoreboard_parts, source_parts
from benchmarks.record.store import Table, read, write
from perfmodel.cuda.compile.toolchain import find_tool

FOLDER = Path(__file__).parents[2] / "benchmarks" / "record"
NUMBERS = st.floats(allow_nan=False)
TABLES = st.dictionaries(
    st.text(min_size=1),
    st.dictionaries(st.sampled_from(["time_s", "term dram", "traffic x"]), NUMBERS, min_size=1),
    min_size=1,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("record")


@settings(max_examples=40)  # each is compressed, in 45 ms
@given(TABLES)
def test_what_is_written_is_read(folder: Path, table: Table) -> None:
    # property: to the last bit, signs of zero and infinities among them
    path = folder / "x.xz"
    write(path, table)
    found = read(path)
    assert found.keys() == table.keys()
    for launch, row in table.items():
        # by their text: == takes -0.0 for 0.0; a table's columns are sorted by name
        assert repr(sorted(found[launch].items())) == repr(sorted(row.items()))


def test_one_bit_is_a_difference() -> None:
    before = {"a": {"time_s": 1.0, "term dram": 0.0}, "b": {"time_s": 2.0}}
    after = {"a": {"time_s": math.nextafter(1.0, 2.0), "term dram": -0.0}, "b": {"time_s": 2.0}}
    (found,) = differences(before, after)
    assert (found.launch, found.columns) == ("a", ("term dram", "time_s"))
    assert largest(before, {"a": {"time_s": 1.25}}) == {"time_s": 0.2}
    (gone,) = differences(before, {"a": {"time_s": 1.0}})
    assert gone.columns == ("term dram",)
    with pytest.raises(KeyError):
        differences(before, {"c": {"time_s": 1.0}})


@pytest.mark.parametrize("kind", ["scoreboard", "sources"])
def test_predictions_are_as_recorded(kind: str) -> None:
    # regression: `python -m benchmarks.record write` makes the record anew, all launches of it are
    # held against it by `compare`; other machines round some functions otherwise
    if kind == "sources" and find_tool("nvcc") is None:
        pytest.skip("no nvcc")
    chosen = scoreboard_parts(700) if kind == "scoreboard" else source_parts(1000)[::40]
    for part in chosen:
        file = part.name.split()[0] if kind == "scoreboard" else "sources"
        recorded = _record(file)
        for launch, found in predicted(part):
            assert found == pytest.approx(recorded[launch], rel=1e-9), launch


@lru_cache(maxsize=1)
def _record(file: str) -> Table:
    return read(FOLDER / f"{file}.xz")  # seconds: parts of a device come one after another
