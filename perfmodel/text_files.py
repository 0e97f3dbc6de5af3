"""Text files that users name: read within bounds, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from errno import EISDIR
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


def write_text(path: Path, text: str) -> None:
    """Write a file as a whole or not at all; one that is there keeps its permissions.

    Raises
    ------
    PerfmodelError
        If it cannot be written.
    """
    write_texts(path.parent, {path.name: text})


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """Write files of a folder, each as a whole; none if one of them cannot be written.

    Parameters
    ----------
    folder : Path
        Is there.
    texts : mapping of str to str
        Content by file name.

    Raises
    ------
    PerfmodelError
        If one cannot be written.
    """
    import tempfile  # late, for the time that it takes

    written: dict[Path, str] = {}
    path = folder
    try:
        for name, text in texts.items():
            path = folder / name
            if path.is_dir():
                raise IsADirectoryError(EISDIR, "Is a directory")
            with tempfile.NamedTemporaryFile(
                "w",
                encoding="utf-8",
                newline="\n",
                dir=folder,
                prefix=f".{name}-",
                delete=False,
            ) as file:
                written[path] = file.name
                file.write(text)
            os.chmod(file.name, path.stat().st_mode & 0o777 if path.exists() else 0o644)
        for path in list(written):
            os.replace(written[path], path)
            del written[path]
    except OSError as error:
        raise PerfmodelError(
            f"file {str(path)!r} cannot be written: {error.strerror or error}"
        ) from None
    finally:
        for temporary in written.values():
            Path(temporary).unlink(missing_ok=True)
