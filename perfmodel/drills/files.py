"""Drill files: those of the package and those of users, and finding a drill by number or id."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from perfmodel.drills.drill import Drill
from perfmodel.drills.tables import drills_from_table
from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.packaged import packaged_toml
from perfmodel.text_files import parse_toml, read_text

LIBRARY: Final = Path(__file__).parent / "library"
MOST_FILES: Final = 100
"""Files of a folder of drills."""


def load_drills(extra: Sequence[str | Path] = ()) -> tuple[Drill, ...]:
    """Return the drills in their order: the package's, then those of users' files or folders.

    A drill's number is its place in this tuple, from 1. `extra`: drill files, or folders of which
    all ``*.toml`` are read in the order of their names. Raises `PerfmodelError` if a file is
    missing or wrong, or two drills have one id.
    """
    found = list(_builtin())
    taken = {drill.id: drill for drill in found}
    for path in map(Path, extra):
        for file in _files(path):
            for drill in read_drills(file):
                if drill.id in taken:
                    raise PerfmodelError(
                        f"drill file {str(file)!r}: the id {drill.id!r} is taken by a drill of "
                        f"{taken[drill.id].file.name}: choose another"
                    )
                taken[drill.id] = drill
                found.append(drill)
    return tuple(found)


def read_drills(path: str | Path) -> list[Drill]:
    """Return the drills of one file.

    Raises `PerfmodelError` if it cannot be read, is no TOML, or states something wrong.
    """
    path = Path(path)
    where = f"drill file {str(path)!r}"
    if path.parent == LIBRARY:
        table = packaged_toml(path, where)
    else:
        table = parse_toml(read_text(path, where, "drill"), where)
    return drills_from_table(table, path, where)


def find_drill(drills: Sequence[Drill], name: str) -> int:
    """Return the place from 0 of the drill with a number from 1, or an id.

    Raises `PerfmodelError` if there is none.
    """
    if name.isdecimal() and len(name) < 10:
        if 1 <= int(name) <= len(drills):
            return int(name) - 1
        raise PerfmodelError(
            f"there is no drill {name}: numbers go from 1 to {len(drills)}; "
            "perfmodel drill lists them"
        )
    ids = [drill.id for drill in drills]
    if name not in ids:
        hint = nearest(name, ids) or "; perfmodel drill lists them"
        raise PerfmodelError(f"unknown drill {shown(name)}{hint}")
    return ids.index(name)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.toml"))
    if not found:
        raise PerfmodelError(f"folder {str(path)!r} has no drill files (*.toml): name another")
    if len(found) > MOST_FILES:
        raise PerfmodelError(f"folder {str(path)!r} has {len(found)} files: at most {MOST_FILES}")
    return found


@lru_cache(maxsize=1)
def _builtin() -> tuple[Drill, ...]:
    return tuple(drill for file in _files(LIBRARY) for drill in read_drills(file))
