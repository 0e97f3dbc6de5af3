"""From tables, as TOML or a Python dict gives them, to a checked `Kernel`.

Every error is a `PerfmodelError` of one line that starts with `where` and names the key.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any, Final

from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.expressions import Node, Number
from perfmodel.kernels.access import DATA_TYPES
from perfmodel.kernels.access_tables import read_accesses
from perfmodel.kernels.kernel import (
    LARGEST_PARAMETER,
    PIPES,
    PRECISIONS,
    Arithmetic,
    Barrier,
    Buffer,
    Kernel,
    Launch,
    Loop,
    Menu,
    Pace,
    Parameter,
    Pipeline,
)
from perfmodel.kernels.scope import Scope
from perfmodel.tables import (
    Reader,
    check_keys,
    choice,
    is_list,
    one_of,
    read_each,
    read_record,
    read_table,
    read_text,
    truth,
    whole,
    word,
)

_STATED: Final = ("global", "shared")
"""Spaces that a file may state; local memory comes from PTX only."""
_WHOLE: Final = ("strands", "offered", "alike")
_NUMBERS: Final = ("flop", "loads_in_flight", "loads_a_wait", "longest")
"""Expressions of a kernel that all threads share: whole numbers, and what may be a fraction."""
KERNEL_KEYS: Final = (
    *("name", "summary", "mapping", "guard", "flop", "precision", "loads_in_flight"),
    *("loads_a_wait", "dependent", "longest", "parameters", "menu", "offered", "pipeline"),
    *("launch", "definitions", "buffers", "loops", "accesses", "arithmetic", "barriers", "paces"),
    *("alike", "strands", "compute_capability"),
)
LOOP_KEYS: Final = ("variable", "trips", "parent")
MOST_ROWS: Final = 256
"""Rows of a menu."""


def kernel_from_table(table: Mapping[str, Any], where: str = "kernel") -> Kernel:
    """Return the kernel that a table states: the content of a kernel file, or the same as a dict.

    Parameters
    ----------
    table : Mapping
        The keys of a kernel file (docs/reference/kernel-files.md).
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
    check_keys(table, KERNEL_KEYS, ("name", "launch"), where)
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
    launch, number, loop = scope.of_launch, scope.number_of_launch, scope.loop

    def each(key: str, what: str, record: Any, **readers: Reader) -> tuple[Any, ...]:
        return read_each(table, key, what, where, partial(read_record, record, readers=readers))

    return Kernel(
        name=word(table["name"], f"{where}: name"),
        parameters=parameters,
        launch=read_record(
            Launch,
            table["launch"],
            f"{where}, launch",
            {
                "grid": partial(_dimensions, scope),
                "block": partial(_dimensions, scope),
                "registers": launch,
                "shared_bytes": launch,
            },
        ),
        buffers=buffers,
        accesses=read_accesses(table, buffers, scope),
        definitions=tuple(scope.definitions.items()),
        loops=read_each(table, "loops", "loop", where, partial(_loop, scope)),
        arithmetic=each(
            "arithmetic",
            "arithmetic",
            Arithmetic,
            pipe=one_of(tuple(PIPES)),
            count=number,
            loop=loop,
        ),
        precision=_precision(table, parameters, where),
        barriers=each("barriers", "barrier", Barrier, count=launch, loop=loop),
        paces=each("paces", "pace", Pace, clocks=number, loop=loop, abreast=number),
        menus=_menus(table, parameters, where),
        **_stated(table, scope),
    )


def _stated(table: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    """Return the fields of a kernel that are read one by one, as far as they are stated."""
    found: dict[str, Any] = {"summary": ""}
    readers = (
        (scope.of_launch, _WHOLE),
        (scope.number_of_launch, _NUMBERS),
        (scope.of_thread, ("guard",)),
    )
    for read, keys in readers:
        for key in keys:
            if table.get(key) is not None:
                found[key] = read(table[key], f"{scope.where}, {key}")
    for key, check in _READERS.items():
        if key in table:
            found[key] = check(table[key], f"{scope.where}: {key}")
    if "pipeline" in table:
        where, numbers = f"{scope.where}, pipeline", (f.name for f in fields(Pipeline))
        read_all = dict.fromkeys(numbers, scope.of_launch)
        found["pipeline"] = read_record(Pipeline, table["pipeline"], where, read_all)
    return found


def _capability(stated: object, where: str) -> tuple[int, ...]:
    """Return the least compute capability that a kernel needs, such as (9, 0)."""
    if stated == "":
        return ()
    if not isinstance(stated, str) or not re.fullmatch(r"[0-9]{1,3}\.[0-9]", stated):
        raise PerfmodelError(f'{where} must be text such as "9.0", not {shown(stated)}')
    return tuple(int(part) for part in stated.split("."))


def _add_loops(table: Mapping[str, Any], scope: Scope) -> None:
    """Add the loops' variables and nests to the scope; trips come later, after definitions."""
    parents = dict(
        read_each(table, "loops", "loop", scope.where, partial(_variable_and_parent, scope))
    )
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


def _variable_and_parent(scope: Scope, value: Any, where: str) -> tuple[str, str | None]:
    check_keys(value, LOOP_KEYS, ("variable", "trips"), where)
    scope.add(value["variable"], "loop variable")
    parent = value.get("parent")
    return value["variable"], None if parent is None else read_text(parent, f"{where}: parent")


def _loop(scope: Scope, value: Any, where: str) -> Loop:
    """Return a loop whose keys and variable were checked before."""
    variable = value["variable"]
    trips = scope.of_launch(value["trips"], f"{scope.where}, loop {variable!r}: trips")
    return Loop(variable, trips, value.get("parent"))


def _buffer(name: str, value: object, scope: Scope) -> Buffer:
    where = f"{scope.where}, buffer {shown(name)}"
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", name):
        raise PerfmodelError(f"{where}: a name is made of letters, digits, '_' and '-'")
    readers: dict[str, Reader] = {
        "length": scope.of_launch,
        "element_bytes": scope.of_launch,
        "space": one_of(_STATED),
    }
    return read_record(Buffer, value, where, readers, name=name)


def _dimensions(scope: Scope, value: object, where: str) -> tuple[Node, Node, Node]:
    entries = list(value) if is_list(value) else [value]
    if not 1 <= len(entries) <= 3:
        raise PerfmodelError(f"{where} has {len(entries)} entries: give 1 to 3, for x, y and z")
    nodes = [
        scope.of_parameters(entry, f"{where} {axis}")
        for entry, axis in zip(entries, "xyz", strict=False)
    ]
    x, y, z = (*nodes, Number(1), Number(1))[:3]
    return x, y, z


def _menus(
    table: Mapping[str, Any], parameters: Sequence[Parameter], where: str
) -> tuple[Menu, ...]:
    """Return the menus of a kernel's table: parameters, joined by commas, to rows of values."""
    known = tuple(p.name for p in parameters if not p.words)
    return tuple(
        _menu(key, rows, known, f"{where}, menu {shown(key)}")
        for key, rows in read_table(table, "menu", where).items()
    )


def _menu(key: str, rows: object, known: Sequence[str], where: str) -> Menu:
    names = tuple(name.strip() for name in key.split(","))
    for name in names:
        choice(name, tuple(known), where, "a parameter that is a number")
    if not is_list(rows) or not 1 <= len(rows) <= MOST_ROWS:
        raise PerfmodelError(f"{where} must be a list of 1 to {MOST_ROWS} rows")
    found = tuple(tuple(row) if is_list(row) else (row,) for row in rows)
    for row in found:
        if len(row) != len(names) or any(type(value) is not int for value in row):
            raise PerfmodelError(
                f"{where}: row {shown(list(row))} must have a whole number for each of "
                f"{', '.join(names)}"
            )
    return Menu(names, found)


def _precision(table: Mapping[str, Any], parameters: Sequence[Parameter], where: str) -> str:
    """Return the ceiling of a kernel's operations, or the parameter whose words name it."""
    given = table.get("precision", "fp32")
    for parameter in parameters:
        if parameter.name == given and parameter.words:
            for word in parameter.words:
                choice(
                    word if word in PRECISIONS else f"{word}_tensor",
                    PRECISIONS,
                    f"{where}: precision, by {given}",
                )
            return parameter.name
    return choice(given, PRECISIONS, f"{where}: precision")


_READERS: Final[dict[str, Reader]] = {
    "summary": read_text,
    "mapping": word,
    "dependent": truth,
    "compute_capability": _capability,
}
"""Words and the like of a kernel."""


PARAMETER_KEYS: Final = ("default", "minimum", "maximum", "choices", "summary", "divides")


def read_parameter(name: str, value: object, scope: Scope) -> Parameter:
    """Return a parameter of a kernel's table; its name becomes known to the scope."""
    where = f"{scope.where}, parameter {shown(name)}"
    table = value if isinstance(value, Mapping) else {"default": value}
    check_keys(table, PARAMETER_KEYS, (), where)
    default = table.get("default")
    minimum = whole(table.get("minimum", 1), f"{where}: minimum", least=0)
    maximum = whole(table.get("maximum", LARGEST_PARAMETER), f"{where}: maximum", least=minimum)
    choices = table.get("choices", ())
    if not is_list(choices):
        raise PerfmodelError(f"{where}: choices must be a list of integers, not {shown(choices)}")
    if isinstance(default, bool) and not choices:
        choices, default = ("false", "true"), "true" if default else "false"
    if choices and all(isinstance(c, str) for c in choices):
        return _word_parameter(name, table, choices, default, scope)
    stated: dict[str, Any] = {}
    for key in ("default", "divides"):
        if table.get(key) is not None:
            stated[key] = scope.of_parameters(table[key], f"{where}: {key}")
    scope.add(name, "parameter")
    return Parameter(
        name=name,
        minimum=minimum,
        maximum=maximum,
        summary=read_text(table.get("summary", ""), f"{where}: summary"),
        choices=tuple(whole(c, f"{where}: choices", minimum, maximum) for c in choices),
        **stated,
    )


def _word_parameter(
    name: str, table: Mapping[str, Any], choices: Sequence[str], default: object, scope: Scope
) -> Parameter:
    """Return a parameter whose values are words; types of data stand for their own positions."""
    where = f"{scope.where}, parameter {shown(name)}"
    for key in ("minimum", "maximum", "divides"):
        if key in table:
            raise PerfmodelError(f"{where}: {key} is for numbers only: take it out")
    types = tuple(DATA_TYPES)
    of_types = all(c in types for c in choices)
    codes = tuple(types.index(c) if of_types else i for i, c in enumerate(choices))
    if choices != ("false", "true"):
        scope.add_words(choices, codes)
    scope.add(name, "parameter")
    chosen = None if default is None else choice(default, tuple(choices), f"{where}: default")
    return Parameter(
        name=name,
        default=None if chosen is None else Number(codes[list(choices).index(chosen)]),
        minimum=0,
        maximum=max(codes),
        summary=read_text(table.get("summary", ""), f"{where}: summary"),
        choices=codes,
        words=tuple(choices),
    )
