"""Files that users name: text read within bounds, TOML; any written whole or not at all."""

import os
import stat
from collections.abc import Mapping, Sequence
from errno import EINVAL, EISDIR, ELOOP
from functools import cache
from pathlib import Path
from typing import Any, Final

from perfmodel.errors import PerfmodelError

MAX_FILE_BYTES: Final = 1 << 20
"""Largest file that is read [B]."""


_MOST_SOURCE: Final = 1 << 24
_SPECIAL: Final = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def is_path(text: str) -> bool:
    """Say whether a text is a path of a data file, not a name."""
    return text.endswith(".toml") or "/" in text or "\\" in text


def check_regular(path: str | Path, where: str, wanted: str) -> int:
    """Return the size of a file that a user named, before it is opened [B].

    A pipe or a device has no size to check, and reading it may never end.

    `where`: how messages call it. `wanted`: what to give instead: "a .cu or .ptx file".

    Raises `PerfmodelError` if it does not exist, is a directory, pipe, socket or device, or cannot
    be looked at.
    """
    try:
        found = os.stat(path)
    except (FileNotFoundError, ValueError):  # no file has a NUL in its name
        raise PerfmodelError(f"{where} does not exist: give the path of {wanted}") from None
    except OSError as error:
        if error.errno == ELOOP:
            reason = "does not exist: it is a symbolic link that leads to itself"
            raise PerfmodelError(f"{where} {reason}; give the path of {wanted}") from None
        raise PerfmodelError(f"{where} cannot be read: {error.strerror}") from None
    if stat.S_ISREG(found.st_mode):
        return found.st_size
    what = next((name for is_one, name in _SPECIAL if is_one(found.st_mode)), "something else")
    kind = what if what == "a directory" else f"not a regular file but {what}"
    raise PerfmodelError(f"{where} is {kind}: give the path of {wanted}")


def read_bytes(path: str | Path, where: str, wanted: str, most: int = MAX_FILE_BYTES) -> bytes:
    """Return what a file holds that a user named.

    `where`: how messages call it. `wanted`: what to give instead: "a .cu or .ptx file". `most`:
    largest size that is read [B].

    Raises `PerfmodelError` as `check_regular`, or if it is larger, or unreadable.
    """
    check_regular(path, where, wanted)
    try:
        with open(path, "rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise PerfmodelError(f"{where} cannot be read: {error.strerror or error}") from None
    if len(content) > most:
        raise PerfmodelError(f"{where} is larger than {most >> 20} MiB: not {wanted}")
    return content


def read_text(path: Path, where: str, kind: str) -> str:
    """Return the text of a file that a user named.

    `where`: how messages call it. `kind`: what it should be: "kernel" or "device".

    Raises `PerfmodelError` as `read_bytes`, or if it is not UTF-8.
    """
    content = read_bytes(path, where, f"a {kind} file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PerfmodelError(
            f"{where} is not UTF-8 text (byte {error.start}): save it as UTF-8"
        ) from None


@cache
def source_lines(path: str | Path) -> list[str]:
    """Return the lines of a source file to print; none if it is not there or cannot be read."""
    try:
        content = read_bytes(path, "source", "a source", _MOST_SOURCE)
    except PerfmodelError:
        return []
    # Only what a compiler ends lines with.
    text = content.decode("utf-8", errors="replace").replace("\r\n", "\n")
    return text.split("\n")


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """Return what a TOML text says.

    `where`: how messages call it.

    Raises `PerfmodelError` if it is not TOML, with the line.
    """
    import tomllib  # late, for the time that it takes

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise PerfmodelError(f"{where} is not valid TOML: {' '.join(reason.split())}") from None


def check_target(path: str | Path, kind: str, suffixes: Sequence[str]) -> Path:
    """Return where a file is to be written, after checking that it can be.

    `kind`: what it will be: "figure" or "report". `suffixes`: those that it may have, with their
    dots.

    Raises `PerfmodelError` if it has another suffix or is a directory, or the one that it would be
    in does not exist.
    """
    path = Path(path)
    where = f"{kind} file {str(path)!r}"
    if path.suffix.lower() not in suffixes:
        allowed = ", ".join(suffixes[:-1]) + " or " * (len(suffixes) > 1) + suffixes[-1]
        has = f"not {path.suffix!r}" if path.suffix else "but it has no suffix"
        raise PerfmodelError(f"{where} must end in {allowed}, {has}")
    try:
        _check_replaceable(path)
    except OSError as error:
        raise PerfmodelError(f"{where} {error.strerror}: give a file's name") from None
    if not path.parent.is_dir():
        raise PerfmodelError(f"{where}: no directory {str(path.parent)!r}; create it first")
    return path


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file as a whole or not at all; one that is there keeps its permissions.

    Raises `PerfmodelError` if it cannot be written.
    """
    write_files(path.parent, {path.name: content})


def write_files(folder: Path, contents: Mapping[str, str | bytes]) -> None:
    """Write files of a folder, each as a whole; none if one of them cannot be written.

    `folder`: is there. `contents`: by file name; text is written as UTF-8.

    Raises `PerfmodelError` if one cannot be written.
    """
    import tempfile  # late, for the time that it takes

    written: dict[Path, str] = {}
    path = folder
    try:
        for name, content in contents.items():
            # A symbolic link stays: what it leads to is replaced.
            path = Path(os.path.realpath(folder / name))
            _check_replaceable(path)
            with tempfile.NamedTemporaryFile(
                dir=path.parent, prefix=".perfmodel-", delete=False
            ) as file:
                written[path] = file.name
                file.write(
                    content.encode(errors="backslashreplace")
                    if isinstance(content, str)
                    else content
                )
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


def _check_replaceable(path: Path) -> None:
    """Refuse to put a file in place of a directory, pipe, socket or device."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return
    except ValueError as error:
        raise OSError(EINVAL, f"cannot be a name: {error}") from None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(EISDIR, "is a directory")
    if not stat.S_ISREG(mode):
        what = next((name for is_one, name in _SPECIAL if is_one(mode)), "something else")
        raise OSError(EINVAL, f"is not a regular file but {what}")


def _usual_mode() -> int:
    """Return the permissions of a new file."""
    mask = os.umask(0o022)
    os.umask(mask)
    return 0o666 & ~mask
