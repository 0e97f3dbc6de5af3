"""Checksums of a measurement folder: they show whether its CSVs are as they were recorded."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import Final

from perfmodel.errors import PerfmodelError

SESSION_FILE: Final = "session.toml"
FORMAT: Final = 1
"""Version of the layout of a measurement folder; another one is refused."""

_FILES_TABLE: Final = re.compile(r"(?ms)^\[files\][^\n]*\n.*?(?=^\[|\Z)")


def checksums(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every CSV of a folder, by its path there, sorted."""
    paths = sorted(folder.rglob("*.csv"))
    return {p.relative_to(folder).as_posix(): checksum(p.read_bytes()) for p in paths}


def checksum(content: bytes) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def seal(folder: str | Path) -> None:
    """Write the checksums of a folder's CSVs into the ``[files]`` table of its session file.

    To be called after the CSVs were written, as often as they are; the rest of the session file
    stays as it is.

    Parameters
    ----------
    folder : str or Path
        Measurement folder with a session file.

    Raises
    ------
    PerfmodelError
        If there is no session file, or it cannot be written.
    """
    folder = Path(folder)
    path = folder / SESSION_FILE
    if not path.is_file():
        raise PerfmodelError(f"folder {str(folder)!r} has no {SESSION_FILE}: write one, then seal")
    table = "".join(f'"{name}" = "{digest}"\n' for name, digest in checksums(folder).items())
    rest = _FILES_TABLE.sub("", path.read_text(encoding="utf-8")).rstrip("\n")
    _replace(path, f"{rest}\n\n[files]\n{table}")


def _replace(path: Path, text: str) -> None:
    """Write a file as a whole or not at all."""
    temporary: str | None = None
    try:
        with tempfile.NamedTemporaryFile(
            "w",
            encoding="utf-8",
            newline="\n",
            dir=path.parent,
            prefix=f".{path.name}-",
            delete=False,
        ) as file:
            temporary = file.name
            file.write(text)
        os.chmod(temporary, path.stat().st_mode & 0o777)
        os.replace(temporary, path)
        temporary = None
    except OSError as error:
        raise PerfmodelError(
            f"file {str(path)!r} cannot be written: {error.strerror or error}"
        ) from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
