"""Entries of a kernel's arrays of tables: each read in turn, and the loop that it is in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from perfmodel.errors import PerfmodelError, shown
from perfmodel.kernels.scope import Scope
from perfmodel.kernels.values import MOST_ENTRIES, choice, is_list

_T = TypeVar("_T")


def loop_around(value: Mapping[str, Any], where: str, scope: Scope) -> str | None:
    """Return the variable of the loop that an entry is in; None is outside all loops."""
    if "loop" not in value:
        return None
    return choice(value["loop"], tuple(scope.nests), f"{where}: loop", "the variable of a loop")


def each_table(
    table: Mapping[str, Any],
    key: str,
    what: str,
    scope: Scope,
    read: Callable[[Mapping[str, Any], str, Scope], _T],
) -> tuple[_T, ...]:
    """Return what `read` makes of each entry of an array of tables."""
    entries = table.get(key, ())
    if not is_list(entries) or not all(isinstance(entry, Mapping) for entry in entries):
        raise PerfmodelError(
            f"{scope.where}: {key} must be a list of tables, each under [[{key}]], "
            f"not {shown(entries)}"
        )
    if len(entries) > MOST_ENTRIES:
        raise PerfmodelError(
            f"{scope.where} has {len(entries)} {key}: at most {MOST_ENTRIES} are allowed"
        )
    return tuple(
        read(entry, f"{scope.where}, {what} {number}", scope)
        for number, entry in enumerate(entries, 1)
    )
