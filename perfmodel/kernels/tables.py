"""From tables, as TOML or a Python dict gives them, to a checked `Kernel`.

Every error is a `PerfmodelError` of one line that starts with `where` and names the key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Final, TypeVar, cast, get_args

from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.expressions import Node, Number, evaluate, names
from perfmodel.kernels.kernel import (
    DATA_TYPES,
    PIPES,
    Access,
    AccessKind,
    Arithmetic,
    AtomicOperation,
    Buffer,
    CacheLevel,
    Kernel,
    Launch,
    Loop,
    Space,
    width_fault,
)
from perfmodel.kernels.parameter_tables import read_parameter
from perfmodel.kernels.pipeline_tables import read_menus, read_pipeline, read_precision
from perfmodel.kernels.scope import Scope
from perfmodel.kernels.values import (
    MOST_ENTRIES,
    check_keys,
    choice,
    is_list,
    read_table,
    read_text,
    word,
)

_KEYS: Final = (
    "name",
    "summary",
    "mapping",
    "guard",
    "flop",
    "precision",
    "loads_in_flight",
    "parameters",
    "menu",
    "pipeline",
    "launch",
    "definitions",
    "buffers",
    "loops",
    "accesses",
    "arithmetic",
)
_ATOMIC_KEYS: Final = ("returns", "dtype", "operation", "aggregated")
_KINDS: Final[tuple[AccessKind, ...]] = ("load", "store", "atomic")
_T = TypeVar("_T")


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
        accesses=_accesses(table, buffers, scope),
        definitions=tuple(scope.definitions.items()),
        loops=_each(table, "loops", "loop", scope, _loop),
        arithmetic=_each(table, "arithmetic", "arithmetic", scope, _arithmetic),
        guard=None if guard is None else scope.of_thread(guard, "guard"),
        flop=scope.of_launch(table.get("flop", 0), "flop", integer=False),
        precision=read_precision(table, parameters, where),
        loads_in_flight=(
            None if in_flight is None else scope.of_launch(in_flight, "loads_in_flight")
        ),
        mapping=word(table["mapping"], f"{where}: mapping") if "mapping" in table else "",
        pipeline=read_pipeline(table, scope),
        menus=read_menus(table, parameters, where),
    )


def _add_loops(table: Mapping[str, Any], scope: Scope) -> None:
    """Add the loops' variables and nests to the scope; trips come later, after definitions."""
    parents = dict(_each(table, "loops", "loop", scope, _variable_and_parent))
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
        space=cast(Space, choice(table.get("space", "global"), get_args(Space), where + ": space")),
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


def _accesses(
    table: Mapping[str, Any], buffers: Sequence[Buffer], scope: Scope
) -> tuple[Access, ...]:
    """Return the accesses, those without a name called by their buffer, numbered from 2 on."""
    by_name = {buffer.name: buffer for buffer in buffers}

    def read(value: Mapping[str, Any], where: str, scope: Scope) -> Access:
        return _access(value, where, scope, by_name)

    accesses = _each(table, "accesses", "access", scope, read)
    taken = {access.name for access in accesses if access.name}
    if len(taken) < sum(bool(access.name) for access in accesses):
        given = [access.name for access in accesses]
        twice = next(name for name in given if name and given.count(name) > 1)
        raise PerfmodelError(f"{scope.where}: two accesses have the name {shown(twice)}")
    named: list[Access] = []
    for access in accesses:
        tries = (f"{access.buffer}-{n}" if n > 1 else access.buffer for n in count(1))
        name = access.name or next(name for name in tries if name not in taken)
        taken.add(name)
        named.append(replace(access, name=name))
    _check_needs(named, scope)
    return tuple(named)


def _check_needs(accesses: Sequence[Access], scope: Scope) -> None:
    """Refuse an access that needs what no earlier load of the same loop brings."""
    before: dict[str, Access] = {}
    for access in accesses:
        if access.needs:
            source = before.get(access.needs)
            if source is None or source.kind != "load" or source.loop != access.loop:
                loads = [a.name for a in before.values() if a.kind == "load"]
                raise PerfmodelError(
                    f"{scope.where}, access {access.name!r}: needs {shown(access.needs)} is no "
                    f"earlier load of the same loop{nearest(access.needs, loads)}"
                )
        before[access.name] = access


def _access(
    value: Mapping[str, Any], where: str, scope: Scope, buffers: Mapping[str, Buffer]
) -> Access:
    others = (
        "index",
        "vector",
        "loop",
        "guard",
        "cache",
        "name",
        "needs",
        *_ATOMIC_KEYS,
        "weights",
        "multicast",
    )
    check_keys(value, (*_KINDS, *others), ("index",), where)
    kinds = [kind for kind in _KINDS if kind in value]
    if len(kinds) != 1:
        came = " and ".join(kinds) if kinds else "none"
        raise PerfmodelError(f"{where} must have one of load, store and atomic, not {came}")
    kind = kinds[0]
    target = choice(value[kind], tuple(buffers), f"{where}: {kind}", "a buffer")
    key = f"{where.removeprefix(scope.where + ', ')} ({kind} {target!r})"
    where = f"{scope.where}, {key}"
    loop = _loop_around(value, where, scope)
    guard = value.get("guard")
    returns = _flag(value, "returns", key, scope)
    if kind != "atomic":
        for name in _ATOMIC_KEYS:
            if name in value:
                raise PerfmodelError(f"{where}: {name} is for atomics only: take it out")
    if "cache" in value and (kind != "load" or buffers[target].space != "global"):
        raise PerfmodelError(f"{where}: cache is for loads from global memory only: take it out")
    access = Access(
        buffer=target,
        kind=kind,
        index=scope.of_thread(value["index"], f"{key}: index", loop),
        vector=scope.of_launch(value.get("vector", 1), f"{key}: vector"),
        loop=loop,
        guard=None if guard is None else scope.of_thread(guard, f"{key}: guard", loop),
        cache=cast(
            CacheLevel, choice(value.get("cache", "l1"), get_args(CacheLevel), f"{where}: cache")
        ),
        returns=returns,
        name=read_text(value["name"], f"{where}: name") if "name" in value else "",
        dtype=_data_type(value, key, scope),
        operation=cast(
            AtomicOperation,
            choice(value.get("operation", "add"), get_args(AtomicOperation), f"{where}: operation"),
        ),
        aggregated=_flag(value, "aggregated", key, scope),
        weights=_weights(value, key, scope),
        needs=read_text(value["needs"], f"{where}: needs") if "needs" in value else "",
        multicast=scope.of_launch(value.get("multicast", 1), f"{key}: multicast"),
    )
    _check_width(buffers[target].element_bytes, access.vector, where)
    return access


def _flag(value: Mapping[str, Any], name: str, key: str, scope: Scope) -> bool | Node:
    flag = value.get(name, False)
    if isinstance(flag, bool):
        return flag
    if isinstance(flag, str):
        return scope.of_launch(flag, f"{key}: {name}")
    raise PerfmodelError(
        f"{scope.where}, {key}: {name} must be true or false, or an expression, not {shown(flag)}"
    )


def _data_type(value: Mapping[str, Any], key: str, scope: Scope) -> Node | None:
    given = value.get("dtype")
    if given is None:
        return None
    if given in DATA_TYPES:
        return Number(tuple(DATA_TYPES).index(given))
    if isinstance(given, str) and any(given == n for n, k in scope.kinds.items() if k != "choice"):
        return scope.of_launch(given, f"{key}: dtype")
    wanted = f"one of {', '.join(DATA_TYPES)}, or a parameter with such choices"
    raise PerfmodelError(
        f"{scope.where}, {key}: dtype must be {wanted}, not {shown(given)}"
        f"{nearest(str(given), DATA_TYPES)}"
    )


def _weights(value: Mapping[str, Any], key: str, scope: Scope) -> Node | tuple[float, ...] | None:
    weights = value.get("weights")
    if weights is None:
        return None
    if not is_list(weights):
        return scope.of_bin(weights, f"{key}: weights")
    for weight in weights:
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not weight >= 0:
            raise PerfmodelError(
                f"{scope.where}, {key}: weights must be numbers of 0 or more, not {shown(weight)}"
            )
    if not 0 < sum(weights) < float("inf"):
        raise PerfmodelError(f"{scope.where}, {key}: the sum of the weights must be above 0")
    return tuple(float(w) for w in weights)


def _check_width(element_bytes: Node, vector: Node, where: str) -> None:
    """Refuse literal widths that cannot be; those of parameters are checked with their values."""
    if not names(element_bytes) | names(vector):
        fault = width_fault(int(evaluate(element_bytes, {})), int(evaluate(vector, {})))
        if fault is not None:
            raise PerfmodelError(f"{where}: {fault}")


def _arithmetic(value: Mapping[str, Any], where: str, scope: Scope) -> Arithmetic:
    check_keys(value, ("pipe", "count", "loop"), ("pipe", "count"), where)
    key = where.removeprefix(scope.where + ", ")
    return Arithmetic(
        pipe=choice(value["pipe"], tuple(PIPES), f"{where}: pipe"),
        count=scope.of_launch(value["count"], f"{key}: count", integer=False),
        loop=_loop_around(value, where, scope),
    )


def _loop_around(value: Mapping[str, Any], where: str, scope: Scope) -> str | None:
    if "loop" not in value:
        return None
    return choice(value["loop"], tuple(scope.nests), f"{where}: loop", "the variable of a loop")


def _each(
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
