"""Where recorded measurements lie: in the repository, or in the table that the wheel carries.

In the repository ``measurements/SUBJECT/GPU/SESSION/`` has our own and ``measurements/published/``
others'. What was installed without it has `TABLE`, with the rows that predictions are held against:
JSON, compressed by LZMA, by session its session file (TOML) and its topics, each topic's cells by
column, where what is alike lies together. A cell that says nothing is null.
"""

import json
import lzma
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import tomli_w

from perfmodel.errors import PerfmodelError
from perfmodel.measure.recorded import Recording, Row, Topic, Value, read_recording
from perfmodel.measure.seal import SESSION_FILE

TABLE: Final = Path(__file__).with_name("recordings.xz")
"""Written by ``python -m perfmodel.measure.bundle``."""
PUBLISHED: Final = "published"
"""Subject of what others measured."""


def root() -> Path:
    """Return the folder of all recordings, whether the repository is there or not."""
    return Path(__file__).parents[2] / "measurements"


def repository() -> Path:
    """Return the folder of all recordings of the repository.

    Raises `PerfmodelError` if it is not there.
    """
    if not _in_repository():
        raise PerfmodelError(
            "this needs the measurements of the repository, which are not installed: clone it"
        )
    return root()


def name(folder: Path) -> str:
    """Return how a recording is called: "suite/h200-sxm/sweeps", or its own folder elsewhere."""
    full = folder.resolve()
    return full.relative_to(root()).as_posix() if full.is_relative_to(root()) else full.name


def measured() -> dict[str, list[Path]]:
    """Return the folders of our own measurements, by device name.

    Those of whole programs (``programs`` in the session file) are not among them, nor those that
    name no device of the catalogue.
    """
    return _by_device(published=False)


def published() -> dict[str, list[Path]]:
    """Return the folders of others' measurements, by device name; figures only, each cited."""
    return _by_device(published=True)


def sessions() -> list[str]:
    """Return the names of all recordings that there are, sorted."""
    if not _in_repository():
        return sorted(_table())
    return [_called(path) for path in _session_files()]


def recording(folder: Path) -> Recording:
    """Return the recording of a folder: as it lies there, or as the table has it.

    Raises `PerfmodelError` as `read_recording`.
    """
    if not _in_repository() and (known := name(folder)) in _table():
        return _table()[known]
    return read_recording(folder)


def _in_repository() -> bool:
    return (root() / PUBLISHED).is_dir()


@lru_cache(maxsize=1)
def _table() -> dict[str, Recording]:
    return read_table(TABLE, root())


def _sessions() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the recordings with what their session files say, sorted by name."""
    if not _in_repository():
        yield from ((found, _table()[found].session) for found in sorted(_table()))
        return
    for path in _session_files():
        yield _called(path), _said(path, path.stat().st_mtime_ns)


def _session_files() -> list[Path]:
    return sorted(root().rglob(SESSION_FILE))


def _called(session_file: Path) -> str:
    return session_file.parent.relative_to(root()).as_posix()


@lru_cache(maxsize=512)
def _said(path: Path, _: int) -> Mapping[str, Any]:
    """Return what a session file says; once, as long as it is not written anew."""
    return MappingProxyType(tomllib.loads(path.read_text(encoding="utf-8")))


def _by_device(published: bool) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for called, session in _sessions():
        device = session.get("machine", {}).get("device")
        # launches of sources, which no kernel of ours describes, are no rows to predict
        if "programs" in session or device is None:
            continue
        if called.startswith(f"{PUBLISHED}/") == published:
            found.setdefault(device, []).append(root() / called)
    return found


def write_table(path: Path, recordings: Mapping[str, Recording]) -> None:
    """Write recordings, by the names of their sessions, without the checksums of their CSVs."""
    said = {name: _stored(recording) for name, recording in sorted(recordings.items())}
    text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def read_table(path: Path, root: Path) -> dict[str, Recording]:
    """Return the recordings of a file, by name; each says that its folder is of its name in `root`.

    Raises `OSError`, `lzma.LZMAError` or `ValueError` if there is no such file, or it is none that
    `write_table` wrote.
    """
    said: dict[str, Any] = json.loads(lzma.decompress(path.read_bytes()))
    return {
        name: Recording(
            root / name,
            MappingProxyType(tomllib.loads(each["session"])),
            MappingProxyType({t: _topic(t, cells) for t, cells in each["topics"].items()}),
        )
        for name, each in said.items()
    }


def _stored(recording: Recording) -> dict[str, Any]:
    session = {key: value for key, value in recording.session.items() if key != "files"}
    topics = {
        name: {
            "lines": [row.line for row in topic.rows],
            "columns": {c: [row.values.get(c) for row in topic.rows] for c in topic.columns},
        }
        for name, topic in recording.topics.items()
    }
    return {"session": tomli_w.dumps(session), "topics": topics}


def _topic(name: str, said: Mapping[str, Any]) -> Topic:
    columns: Mapping[str, list[Value | None]] = said["columns"]
    cells = zip(*columns.values(), strict=True)
    rows = []
    for line, row in zip(said["lines"], cells, strict=True):
        present = {c: cell for c, cell in zip(columns, row, strict=True) if cell is not None}
        rows.append(Row(name, line, MappingProxyType(present)))
    return Topic(name, tuple(columns), tuple(rows))
