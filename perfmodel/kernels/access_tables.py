"""From tables to the accesses of a kernel, each checked."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, Final, get_args

from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.expressions import Node, Number, evaluate, names
from perfmodel.kernels.access import (
    DATA_TYPES,
    Access,
    AccessKind,
    AtomicOperation,
    CacheLevel,
    width_fault,
)
from perfmodel.kernels.kernel import Buffer
from perfmodel.kernels.scope import Scope
from perfmodel.tables import Reader, check_keys, choice, is_list, one_of, read_each, read_text

_OTHERS: Final = (
    *("index", "vector", "loop", "guard", "cache", "name", "needs", "joins", "weights"),
    *("multicast", "moves"),
)
_ATOMIC_KEYS: Final = ("returns", "dtype", "operation", "aggregated")
_KINDS: Final[tuple[AccessKind, ...]] = ("load", "store", "atomic")
ACCESS_KEYS: Final = (*_KINDS, *_OTHERS, *_ATOMIC_KEYS)


def read_accesses(
    table: Mapping[str, Any], buffers: Sequence[Buffer], scope: Scope
) -> tuple[Access, ...]:
    """Return the accesses, those without a name called by their buffer, numbered from 2 on."""
    by_name = {buffer.name: buffer for buffer in buffers}

    def read(value: Mapping[str, Any], where: str) -> Access:
        return _access(value, where, scope, by_name)

    accesses = read_each(table, "accesses", "access", scope.where, read)
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
    """Refuse an access that needs no other load of the same loop, or waits for itself."""
    named = {access.name: access for access in accesses}
    for access in accesses:
        if not access.needs:
            continue
        source = named.get(access.needs)
        if source is None or source.kind != "load" or source.loop != access.loop:
            loads = [a.name for a in accesses if a.kind == "load" and a is not access]
            raise PerfmodelError(
                f"{scope.where}, access {access.name!r}: needs {shown(access.needs)} is no "
                f"other load of the same loop{nearest(access.needs, loads)}"
            )
        waited = {access.name}
        while source is not None and source.name not in waited:
            waited.add(source.name)
            source = named.get(source.needs)
        if source is not None:
            raise PerfmodelError(
                f"{scope.where}, access {access.name!r}: needs {shown(access.needs)} waits for "
                "itself: leave out one of the needs on the way"
            )


def _access(
    value: Mapping[str, Any], where: str, scope: Scope, buffers: Mapping[str, Buffer]
) -> Access:
    check_keys(value, ACCESS_KEYS, ("index",), where)
    kinds = [kind for kind in _KINDS if kind in value]
    if len(kinds) != 1:
        came = " and ".join(kinds) if kinds else "none"
        raise PerfmodelError(f"{where} must have one of load, store and atomic, not {came}")
    kind = kinds[0]
    target = choice(value[kind], tuple(buffers), f"{where}: {kind}", "a buffer")
    loop = scope.loop(value["loop"], f"{where}: loop") if "loop" in value else None
    where = f"{where} ({kind} {target!r})"
    readers: dict[str, Reader] = {
        **dict.fromkeys(("index", "guard"), partial(scope.of_thread, loop=loop)),
        **dict.fromkeys(("vector", "multicast", "moves"), scope.of_launch),
        **dict.fromkeys(("returns", "aggregated"), partial(_flag, scope)),
        **dict.fromkeys(("name", "needs"), read_text),
        "cache": one_of(get_args(CacheLevel)),
        "dtype": partial(_data_type, scope),
        "operation": one_of(get_args(AtomicOperation)),
        "weights": partial(_weights, scope),
        "joins": scope.loop,
    }
    stated = {k: readers[k](value[k], f"{where}: {k}") for k in readers if value.get(k) is not None}
    if kind != "atomic":
        for name in _ATOMIC_KEYS:
            if name in value:
                raise PerfmodelError(f"{where}: {name} is for atomics only: take it out")
    if "cache" in value and (kind != "load" or buffers[target].space != "global"):
        raise PerfmodelError(f"{where}: cache is for loads from global memory only: take it out")
    if "joins" in value and (kind != "load" or loop is not None):
        raise PerfmodelError(f"{where}: joins is for loads outside of loops only: take it out")
    access = Access(target, kind, loop=loop, **stated)
    _check_width(buffers[target].element_bytes, access.vector, where)
    return access


def _flag(scope: Scope, flag: object, where: str) -> bool | Node:
    if isinstance(flag, bool):
        return flag
    if isinstance(flag, str):
        return scope.of_launch(flag, where)
    raise PerfmodelError(f"{where} must be true or false, or an expression, not {shown(flag)}")


def _data_type(scope: Scope, given: Any, where: str) -> Node:
    if given in DATA_TYPES:
        return Number(tuple(DATA_TYPES).index(given))
    if isinstance(given, str) and any(given == n for n, k in scope.kinds.items() if k != "choice"):
        return scope.of_launch(given, where)
    wanted = f"one of {', '.join(DATA_TYPES)}, or a parameter with such choices"
    raise PerfmodelError(
        f"{where} must be {wanted}, not {shown(given)}{nearest(str(given), DATA_TYPES)}"
    )


def _weights(scope: Scope, weights: Any, where: str) -> Node | tuple[float, ...]:
    if not is_list(weights):
        return scope.of_bin(weights, where)
    for weight in weights:
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not weight >= 0:
            raise PerfmodelError(f"{where} must be numbers of 0 or more, not {shown(weight)}")
    if not 0 < sum(weights) < float("inf"):
        raise PerfmodelError(f"{where}: the sum of the weights must be above 0")
    return tuple(float(w) for w in weights)


def _check_width(element_bytes: Node, vector: Node, where: str) -> None:
    """Refuse literal widths that cannot be; those of parameters are checked with their values."""
    if not names(element_bytes) | names(vector):
        fault = width_fault(int(evaluate(element_bytes, {})), int(evaluate(vector, {})))
        if fault is not None:
            raise PerfmodelError(f"{where}: {fault}")
