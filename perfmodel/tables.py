"""Tables of the files that users write: their keys and values, checked by type and range.

Every error is a `PerfmodelError` of one line that starts with `where`.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, Final, TypeGuard, TypeVar

from perfmodel.errors import PerfmodelError, nearest, shown

_T = TypeVar("_T")
Reader = Callable[[Any, str], Any]
MOST_ENTRIES: Final = 64
"""Entries of a table or list."""
LARGEST_FLOAT: Final = sys.float_info.max
"""A file may have integers of hundreds of digits, which no double holds."""

_LONGEST_TEXT: Final = 500


def read_table(table: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    """Return the table under a key; an empty one if there is none."""
    value = table.get(key, {})
    if not isinstance(value, Mapping):
        raise PerfmodelError(f"{where}: {key} must be a table, not {shown(value)}")
    if len(value) > MOST_ENTRIES:
        raise PerfmodelError(f"{where} has {len(value)} {key}: at most {MOST_ENTRIES} are allowed")
    return value


def check_keys(
    table: object, known: Sequence[str], required: Sequence[str], where: str
) -> Mapping[str, Any]:
    """Return the table if it has all the required keys and only known ones."""
    if not isinstance(table, Mapping):
        raise PerfmodelError(
            f"{where} must be a table with {', '.join(required or known)}, not {shown(table)}"
        )
    for key in table:
        if key not in known:
            raise PerfmodelError(
                f"{where} has an unknown key {shown(key)}{nearest(str(key), known)}"
            )
    for key in required:
        if key not in table:
            raise PerfmodelError(f"{where} has no {key}: add {key} = ...")
    return table


def read_record(
    record: type[_T], value: object, where: str, readers: Mapping[str, Reader], **given: Any
) -> _T:
    """Return the dataclass record that a table states, each key by a reader of its own.

    A reader has the value and its place. Keys of fields that have a default may be left out; fields
    that are `given` are not read.
    """
    kind: Any = record
    needed = [name for name in _required(kind) if name in readers]
    table = check_keys(value, tuple(readers), needed, where)
    read = {key: readers[key](table[key], f"{where}: {key}") for key in readers if key in table}
    return record(**given, **read)


@cache
def _required(record: type[Any]) -> tuple[str, ...]:
    """Return the fields of a dataclass that have no default."""
    known = fields(record)
    return tuple(f.name for f in known if f.default is MISSING and f.default_factory is MISSING)


def read_each(
    table: Mapping[str, Any], key: str, what: str, where: str, read: Callable[[Any, str], _T]
) -> tuple[_T, ...]:
    """Return what `read` makes of each entry of an array of tables, called `what` in messages."""
    entries = table.get(key, ())
    if not is_list(entries) or not all(isinstance(entry, Mapping) for entry in entries):
        raise PerfmodelError(
            f"{where}: {key} must be a list of tables, each under [[{key}]], not {shown(entries)}"
        )
    if len(entries) > MOST_ENTRIES:
        raise PerfmodelError(
            f"{where} has {len(entries)} {key}: at most {MOST_ENTRIES} are allowed"
        )
    return tuple(
        read(entry, f"{where}, {what} {number}") for number, entry in enumerate(entries, 1)
    )


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Say whether a value is a list or the like, not text."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def read_text(value: object, where: str, *, empty: bool = True, most: int = _LONGEST_TEXT) -> str:
    """Return printable text, its lines joined."""
    text = " ".join(value.split()) if isinstance(value, str) else None
    if text is None or not text.isprintable() or len(text) > most or not (text or empty):
        raise PerfmodelError(
            f"{where} must be printable text of at most {most} characters, not {shown(value)}"
        )
    return text


def word(value: object, where: str) -> str:
    """Return the name of a kernel or a mapping, such as ``strided-copy``."""
    if not isinstance(value, str) or not re.fullmatch(r"[a-z][a-z0-9-]{0,63}", value):
        raise PerfmodelError(
            f"{where} must start with a letter and be of a-z, 0-9 and '-', not {shown(value)}"
        )
    return value


def choice(value: object, known: Sequence[str], where: str, what: str = "") -> str:
    """Return one of the known names; ``what`` says in messages what they are names of."""
    if not isinstance(value, str) or value not in known:
        wanted = what or "one of " + ", ".join(known)
        raise PerfmodelError(
            f"{where} must be {wanted}, not {shown(value)}{nearest(str(value), known)}"
        )
    return value


def one_of(known: Sequence[str]) -> Reader:
    """Return the reader of one of the known names."""
    return lambda value, where: choice(value, known, where)


def truth(value: object, where: str) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise PerfmodelError(f"{where} must be true or false, not {shown(value)}")
    return value


def whole(value: object, where: str, least: int = 0, most: int = 2**62) -> int:
    """Return an integer in a range."""
    # bool is an int in Python, but not a number in a kernel file.
    if isinstance(value, bool) or not isinstance(value, int):
        raise PerfmodelError(f"{where} must be a whole number, not {shown(value)}")
    if not least <= value <= most:
        raise PerfmodelError(f"{where} must be {least} to {most}, not {shown(value)}")
    return value
