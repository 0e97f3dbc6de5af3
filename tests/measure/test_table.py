"""The table of recordings that the wheel carries: as the folders, and read without them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.intervals.refit import refit_intervals
from perfmodel import PerfmodelError
from perfmodel.drills import load_drills
from perfmodel.drills.measured import measured as measured_cell
from perfmodel.drills.sources import Measured
from perfmodel.measure import folders
from perfmodel.measure.bundle import bundled
from perfmodel.measure.folders import read_table
from perfmodel.measure.recorded import Recording
from perfmodel.validation.validate import find_recordings

LISTED = {
    device: [folders.name(path) for path in paths]
    for device, paths in (*folders.published().items(), *folders.measured().items())
}


def drilled() -> list[Measured]:
    """Return the cells that drills' solutions read."""
    sources = [step.source for drill in load_drills() for step in drill.steps]
    return [source for source in sources if isinstance(source, Measured)]


@pytest.fixture(scope="module")
def bundle() -> dict[str, Recording]:
    """Return what the folders have; read once, before any test hides them."""
    return bundled()


@pytest.fixture
def without_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hide the measurement folders, as where the wheel is installed."""
    monkeypatch.setattr(folders, "root", lambda: tmp_path / "measurements")
    folders._table.cache_clear()
    yield
    folders._table.cache_clear()


def same(found: Recording, expected: Recording) -> bool:
    """Say whether two recordings have the same session file, checksums apart, and the same rows."""
    session = {key: value for key, value in expected.session.items() if key != "files"}
    return dict(found.session) == session and dict(found.topics) == dict(expected.topics)


def test_the_table_has_what_the_folders_have(bundle: dict[str, Recording]) -> None:
    # independent: the repository's folders; `python -m perfmodel.measure.bundle` writes it anew
    table = read_table(folders.TABLE, folders.root())
    assert list(table) == sorted(bundle)
    for name, expected in bundle.items():
        assert same(table[name], expected), name
        assert list(table[name].topics) == list(expected.topics)


def test_the_table_has_every_recording_that_drills_read(bundle: dict[str, Recording]) -> None:
    # independent: the folders that the drills' solutions name
    named = {source.folder for source in drilled()}
    assert "l2/h200-sxm/after-use" in named
    assert named <= set(bundle)


@pytest.mark.usefixtures("without_repository")
def test_without_the_repository_the_table_is_read(bundle: dict[str, Recording]) -> None:
    for device in ("h100-sxm", "a100-sxm-80"):
        found = find_recordings(device)
        named = [folders.name(recording.folder) for recording in found]
        assert named == LISTED[device]
        assert all(same(r, bundle[name]) for r, name in zip(found, named, strict=True))


def test_drills_read_the_same_without_the_repository(request: pytest.FixtureRequest) -> None:
    # property: a cell, its unit and where it is from
    source = next(s for s in drilled() if s.folder == "l2/h200-sxm/after-use")
    before = measured_cell(source)
    request.getfixturevalue("without_repository")
    measured_cell.cache_clear()
    assert measured_cell(source) == before


@pytest.mark.usefixtures("without_repository")
def test_what_needs_the_repository_says_so(tmp_path: Path) -> None:
    with pytest.raises(PerfmodelError, match="measurements of the repository"):
        refit_intervals(tmp_path / "intervals.toml")
    assert not list(tmp_path.iterdir())
