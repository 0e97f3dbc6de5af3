"""Checksums of a measurement folder: they show whether its CSVs are as they were recorded."""

import hashlib
import io
import re
from pathlib import Path
from typing import Final

from perfmodel.errors import PerfmodelError
from perfmodel.text_files import write_file

SESSION_FILE: Final = "session.toml"
FORMAT: Final = 1
"""Version of the layout of a measurement folder; another one is refused."""
PROGRAM: Final = "program"
"""Subfolder with the sources and scripts that made the CSVs, and what these read."""

_FILES_TABLE: Final = re.compile(r"(?ms)^\[files\][^\n]*\n.*?(?=^\[|\Z)")


def measured_files(folder: Path) -> list[Path]:
    """Return the CSVs that a folder's measurements are in, sorted: not what its programs read."""
    found = sorted(folder.rglob("*.csv"))
    return [path for path in found if path.relative_to(folder).parts[0] != PROGRAM]


def checksums(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every CSV of a folder, by its path there, sorted."""
    paths = measured_files(folder)
    return {p.relative_to(folder).as_posix(): checksum(p.read_bytes()) for p in paths}


def checksum(content: bytes) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def begins_sealed(content: bytes, digest: str) -> bool:
    """Say whether a file still begins with the lines that `digest` is of: rows are only added."""
    running = hashlib.sha256()
    for line in io.BytesIO(content):
        running.update(line)
        if running.hexdigest() == digest:
            return True
    return False


def seal(folder: str | Path) -> None:
    """Write the checksums of a folder's CSVs into the ``[files]`` table of its session file.

    To be called after the CSVs were written, as often as they are; the rest of the session file
    stays as it is.

    `folder`: measurement folder with a session file.

    Raises `PerfmodelError` if there is no session file, or it cannot be written.
    """
    folder = Path(folder)
    path = folder / SESSION_FILE
    if not path.is_file():
        raise PerfmodelError(f"folder {str(folder)!r} has no {SESSION_FILE}: write one, then seal")
    table = "".join(f'"{name}" = "{digest}"\n' for name, digest in checksums(folder).items())
    rest = _FILES_TABLE.sub("", path.read_text(encoding="utf-8")).rstrip("\n")
    write_file(path, f"{rest}\n\n[files]\n{table}")
