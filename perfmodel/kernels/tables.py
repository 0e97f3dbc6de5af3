"""From tables, as TOML or a Python dict gives them, to a checked `Kernel`.

Every error is a `PerfmodelError` of one line that starts with `where` and names the key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast

from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.expressions import Node, Number
from perfmodel.kernels.access_tables import read_accesses
from perfmodel.kernels.entries import each_table, loop_around
from perfmodel.kernels.kernel import (
    PIPES,
    Arithmetic,
    Barrier,
    Buffer,
    Kernel,
    Launch,
    Loop,
    Pace,
    Space,
)
from perfmodel.kernels.parameter_tables import read_parameter
from perfmodel.kernels.pipeline_tables import read_menus, read_pipeline, read_precision
from perfmodel.kernels.scope import Scope
from perfmodel.kernels.values import (
    check_keys,
    choice,
    is_list,
    read_table,
    read_text,
    word,
)

_STATED: Final = ("global", "shared")
"""Spaces that a file may state; local memory comes from PTX only."""
_KEYS: Final = (
    "name",
    "summary",
    "mapping",
    "guard",
    "flop",
    "precision",
    *("loads_in_flight", "loads_a_wait"),
    *("dependent", "longest"),
    "parameters",
    "menu",
    "offered",
    "pipeline",
    "launch",
    "definitions",
    "buffers",
    "loops",
    "accesses",
    "arithmetic",
    "barriers",
    "paces",
    "strands",
    "compute_capability",
)


def kernel_from_table(table: Mapping[str, Any], where: str = "kernel") -> Kernel:
    """Return the kernel that a table states: the content of a kernel file, or the same as a dict.

    Parameters
    ----------
    table : Mapping
        The keys that `perfmodel.kernels.files` describes.
    where : str
        Start of the error messages.

    Raises
    ------
    PerfmodelError
        If a key is unknown, missing or wrong.

    Examples
    --------
    >>> kernel_from_table({
    ...     "name": "fill",
    ...     "parameters": {"n": {"minimum": 1}},
    ...     "launch": {"grid": "ceil_div(n, 256)", "block": 256},
    ...     "definitions": {"i": "blockIdx.x*blockDim.x + threadIdx.x"},
    ...     "guard": "i < n",
    ...     "buffers": {"out": {"length": "n"}},
    ...     "accesses": [{"store": "out", "index": "i"}],
    ... }).name
    'fill'
    """
    check_keys(table, _KEYS, ("name", "launch"), where)
    scope = Scope(where)
    parameters = tuple(
        read_parameter(name, value, scope)
        for name, value in read_table(table, "parameters", where).items()
    )
    _add_loops(table, scope)
    for name, value in read_table(table, "definitions", where).items():
        scope.define(name, value)
    buffers = tuple(
        _buffer(name, value, scope) for name, value in read_table(table, "buffers", where).items()
    )
    guard = table.get("guard")
    in_flight = table.get("loads_in_flight")
    return Kernel(
        name=word(table["name"], f"{where}: name"),
        summary=read_text(table.get("summary", ""), f"{where}: summary"),
        parameters=parameters,
        launch=_launch(table["launch"], scope),
        buffers=buffers,
        accesses=read_accesses(table, buffers, scope),
        definitions=tuple(scope.definitions.items()),
        loops=each_table(table, "loops", "loop", scope, _loop),
        arithmetic=each_table(table, "arithmetic", "arithmetic", scope, _arithmetic),
        guard=None if guard is None else scope.of_thread(guard, "guard"),
        flop=scope.of_launch(table.get("flop", 0), "flop", integer=False),
        precision=read_precision(table, parameters, where),
        loads_in_flight=(
            None
            if in_flight is None
            else scope.of_launch(in_flight, "loads_in_flight", integer=False)
        ),
        loads_a_wait=(
            None
            if "loads_a_wait" not in table
            else scope.of_launch(table["loads_a_wait"], "loads_a_wait", integer=False)
        ),
        barriers=each_table(table, "barriers", "barrier", scope, _barrier),
        paces=each_table(table, "paces", "pace", scope, _pace),
        strands=scope.of_launch(table.get("strands", 1), "strands"),
        mapping=word(table["mapping"], f"{where}: mapping") if "mapping" in table else "",
        dependent=_said(table, "dependent", where),
        longest=scope.of_launch(table.get("longest", 1), "longest", integer=False),
        pipeline=read_pipeline(table, scope),
        menus=read_menus(table, parameters, where),
        offered=scope.of_launch(table.get("offered", 1), "offered"),
        compute_capability=_capability(table, where),
    )


def _capability(table: Mapping[str, Any], where: str) -> tuple[int, ...]:
    """Return the least compute capability that a kernel needs, such as (9, 0)."""
    stated = table.get("compute_capability", "")
    if stated == "":
        return ()
    if not isinstance(stated, str) or not re.fullmatch(r"[0-9]{1,3}\.[0-9]", stated):
        raise PerfmodelError(
            f'{where}: compute_capability must be text such as "9.0", not {shown(stated)}'
        )
    return tuple(int(part) for part in stated.split("."))


def _said(table: Mapping[str, Any], key: str, where: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise PerfmodelError(f"{where}: {key} must be true or false, not {shown(value)}")
    return value


def _add_loops(table: Mapping[str, Any], scope: Scope) -> None:
    """Add the loops' variables and nests to the scope; trips come later, after definitions."""
    parents = dict(each_table(table, "loops", "loop", scope, _variable_and_parent))
    for variable in parents:
        where = f"{scope.where}, loop {variable!r}"
        nest = [variable]
        while (parent := parents[nest[-1]]) is not None:
            if parent not in parents:
                raise PerfmodelError(
                    f"{where}: parent {shown(parent)} is no loop{nearest(parent, parents)}"
                )
            if parent in nest:
                raise PerfmodelError(f"{where} is inside itself: its parents form a cycle")
            nest.append(parent)
        scope.nests[variable] = frozenset(nest)


def _variable_and_parent(
    value: Mapping[str, Any], where: str, scope: Scope
) -> tuple[str, str | None]:
    check_keys(value, ("variable", "trips", "parent"), ("variable", "trips"), where)
    scope.add(value["variable"], "loop variable")
    parent = value.get("parent")
    return value["variable"], None if parent is None else read_text(parent, f"{where}: parent")


def _loop(value: Mapping[str, Any], where: str, scope: Scope) -> Loop:
    variable = value["variable"]
    return Loop(
        variable=variable,
        trips=scope.of_launch(value["trips"], f"loop {variable!r}: trips"),
        parent=value.get("parent"),
    )


def _buffer(name: str, value: object, scope: Scope) -> Buffer:
    key = f"buffer {shown(name)}"
    where = f"{scope.where}, {key}"
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", name):
        raise PerfmodelError(f"{where}: a name is made of letters, digits, '_' and '-'")
    table = check_keys(value, ("length", "element_bytes", "space"), ("length",), where)
    return Buffer(
        name=name,
        length=scope.of_launch(table["length"], f"{key}: length"),
        element_bytes=scope.of_launch(table.get("element_bytes", 4), f"{key}: element_bytes"),
        space=cast(Space, choice(table.get("space", "global"), _STATED, where + ": space")),
    )


def _launch(value: object, scope: Scope) -> Launch:
    table = check_keys(
        value,
        ("grid", "block", "registers", "shared_bytes"),
        ("grid", "block"),
        f"{scope.where}, launch",
    )
    return Launch(
        grid=_dimensions(table["grid"], "launch: grid", scope),
        block=_dimensions(table["block"], "launch: block", scope),
        registers=scope.of_launch(table.get("registers", 32), "launch: registers"),
        shared_bytes=scope.of_launch(table.get("shared_bytes", 0), "launch: shared_bytes"),
    )


def _dimensions(value: object, key: str, scope: Scope) -> tuple[Node, Node, Node]:
    entries = list(value) if is_list(value) else [value]
    if not 1 <= len(entries) <= 3:
        raise PerfmodelError(
            f"{scope.where}, {key} has {len(entries)} entries: give 1 to 3, for x, y and z"
        )
    nodes = [
        scope.of_parameters(entry, f"{key} {axis}")
        for entry, axis in zip(entries, "xyz", strict=False)
    ]
    x, y, z = (*nodes, Number(1), Number(1))[:3]
    return x, y, z


def _arithmetic(value: Mapping[str, Any], where: str, scope: Scope) -> Arithmetic:
    check_keys(value, ("pipe", "count", "loop"), ("pipe", "count"), where)
    key = where.removeprefix(scope.where + ", ")
    return Arithmetic(
        pipe=choice(value["pipe"], tuple(PIPES), f"{where}: pipe"),
        count=scope.of_launch(value["count"], f"{key}: count", integer=False),
        loop=loop_around(value, where, scope),
    )


def _pace(value: Mapping[str, Any], where: str, scope: Scope) -> Pace:
    check_keys(value, ("clocks", "loop", "abreast"), ("clocks",), where)
    name = where.removeprefix(scope.where + ", ")
    return Pace(
        clocks=scope.of_launch(value["clocks"], f"{name}: clocks", integer=False),
        loop=loop_around(value, where, scope),
        abreast=scope.of_launch(value.get("abreast", 1), f"{name}: abreast", integer=False),
    )


def _barrier(value: Mapping[str, Any], where: str, scope: Scope) -> Barrier:
    check_keys(value, ("count", "loop"), (), where)
    return Barrier(
        count=scope.of_launch(
            value.get("count", 1), f"{where.removeprefix(scope.where + ', ')}: count"
        ),
        loop=loop_around(value, where, scope),
    )
