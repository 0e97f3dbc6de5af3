"""Data files of the package: TOML, whose tables are kept parsed in the user's cache folder.

Parsing the files that one prediction needs takes as long as the prediction. An entry of the cache
is a file's whole content and then its tables as JSON. It counts only where the content is the same
to the byte, so that neither dates nor versions matter; and it is data, never executed. Where the
folder cannot be written, files are parsed each time.
"""

import json
import os
import sys
from binascii import crc32
from pathlib import Path
from typing import Any, Final

from perfmodel.errors import PerfmodelError
from perfmodel.text_files import parse_toml, read_bytes, write_file

_END: Final = b"\n\0"  # of the content; TOML has no NUL


def packaged_toml(path: Path, where: str = "") -> dict[str, Any]:
    """Return what a TOML file of the package says.

    `where`: how messages call it; by default by its name.

    Raises `PerfmodelError` if it is not there, or no TOML.
    """
    where = where or f"file {path.name!r} of perfmodel"
    content = read_bytes(path, where, "a TOML file")
    folder = cache_folder()
    entry = None if folder is None else folder / f"{path.stem}-{crc32(content):08x}.json"
    if entry is not None and (kept := _kept(entry, content)) is not None:
        return kept
    table = parse_toml(content.decode(), where)
    if entry is not None:
        _keep(entry, content, table)
    return table


def cache_folder() -> Path | None:
    """Return the folder of the cache, as the platform has it; None if there is no home.

    ``XDG_CACHE_HOME`` (by default ``~/.cache``), ``~/Library/Caches`` on macOS, ``LOCALAPPDATA`` on
    Windows; in it ``perfmodel``.
    """
    variable = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    usual = "~/Library/Caches" if sys.platform == "darwin" else "~/.cache"
    stated = os.environ.get(variable, "")
    folder = stated if os.path.isabs(stated) else os.path.expanduser(usual)
    return Path(folder, "perfmodel") if os.path.isabs(folder) else None


def _kept(entry: Path, content: bytes) -> dict[str, Any] | None:
    """Return the tables of an entry; None if it is of another content, or spoilt."""
    try:
        with open(entry, "rb") as file:
            found = file.read()
        start = content + _END
        table = json.loads(found[len(start) :]) if found.startswith(start) else None
    except (OSError, ValueError, RecursionError):
        return None
    return table if isinstance(table, dict) else None


def _keep(entry: Path, content: bytes, table: dict[str, Any]) -> None:
    """Write an entry, as a whole or not at all: others may read and write it meanwhile."""
    try:
        text = json.dumps(table)  # an error for dates, which JSON lacks
        entry.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_file(entry, content + _END + text.encode())
    except (OSError, TypeError, ValueError, PerfmodelError):
        pass
