"""Reading the TOML files that users name: bounded, and with errors of one line."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from perfmodel.errors import PerfmodelError

MAX_FILE_BYTES: Final = 1 << 20
"""Largest file that is read [B]."""


def read_text(path: Path, where: str, kind: str) -> str:
    """Return the text of a file that a user named.

    Parameters
    ----------
    path : Path
    where : str
        How messages call it.
    kind : str
        What it should be: "kernel" or "device".

    Raises
    ------
    PerfmodelError
        If it is missing, a directory, no regular file, over 1 MiB, not UTF-8 or unreadable.
    """
    try:
        if path.is_dir():
            raise PerfmodelError(f"{where} is a directory, not a TOML file")
        if not path.exists():
            raise PerfmodelError(f"{where} does not exist")
        # Pipes and character devices have no size to check and may never end.
        if not path.is_file():
            raise PerfmodelError(f"{where} is not a regular file")
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise PerfmodelError(f"{where} is larger than 1 MiB: not a {kind} file")
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PerfmodelError(
            f"{where} is not UTF-8 text (byte {error.start}): save it as UTF-8"
        ) from None
    except PerfmodelError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise PerfmodelError(f"{where} cannot be read: {reason}") from None
