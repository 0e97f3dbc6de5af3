"""Files that users name: text read within bounds, TOML; any written whole or not at all."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from errno import EISDIR
from pathlib import Path
from typing import Any, Final

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
            raise PerfmodelError(f"{where} does not exist: give the path of a {kind} file")
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


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """Return what a TOML text says.

    Parameters
    ----------
    text : str
    where : str
        How messages call it.

    Raises
    ------
    PerfmodelError
        If it is not TOML, with the line.
    """
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise PerfmodelError(f"{where} is not valid TOML: {' '.join(reason.split())}") from None


def check_target(path: str | Path, kind: str, suffixes: Sequence[str]) -> Path:
    """Return where a file is to be written, after checking that it can be.

    Parameters
    ----------
    path : str or Path
    kind : str
        What it will be: "figure" or "report".
    suffixes : sequence of str
        Those that it may have, with their dots.

    Raises
    ------
    PerfmodelError
        If it has another suffix or is a directory, or the one that it would be in does not exist.
    """
    path = Path(path)
    where = f"{kind} file {str(path)!r}"
    if path.suffix.lower() not in suffixes:
        allowed = ", ".join(suffixes[:-1]) + " or " * (len(suffixes) > 1) + suffixes[-1]
        has = f"not {path.suffix!r}" if path.suffix else "but it has no suffix"
        raise PerfmodelError(f"{where} must end in {allowed}, {has}")
    if path.is_dir():
        raise PerfmodelError(f"{where} is a directory: give a file's name")
    if not path.parent.is_dir():
        raise PerfmodelError(f"{where}: no directory {str(path.parent)!r}; create it first")
    return path


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file as a whole or not at all; one that is there keeps its permissions.

    Raises
    ------
    PerfmodelError
        If it cannot be written.
    """
    write_files(path.parent, {path.name: content})


def write_files(folder: Path, contents: Mapping[str, str | bytes]) -> None:
    """Write files of a folder, each as a whole; none if one of them cannot be written.

    Parameters
    ----------
    folder : Path
        Is there.
    contents : mapping of str to str or bytes
        By file name; text is written as UTF-8.

    Raises
    ------
    PerfmodelError
        If one cannot be written.
    """
    import tempfile  # late, for the time that it takes

    written: dict[Path, str] = {}
    path = folder
    try:
        for name, content in contents.items():
            path = folder / name
            if path.is_dir():
                raise IsADirectoryError(EISDIR, "Is a directory")
            with tempfile.NamedTemporaryFile(
                dir=folder, prefix=".perfmodel-", delete=False
            ) as file:
                written[path] = file.name
                file.write(content.encode() if isinstance(content, str) else content)
            # Temporary files are private; these are as readable as any.
            os.chmod(file.name, path.stat().st_mode & 0o777 if path.exists() else _usual_mode())
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


def _usual_mode() -> int:
    """Return the permissions of a new file."""
    mask = os.umask(0o022)
    os.umask(mask)
    return 0o666 & ~mask
