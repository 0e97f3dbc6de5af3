"""From an entry of a kernel's ``[parameters]`` to a checked `Parameter`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from perfmodel.errors import PerfmodelError, shown
from perfmodel.expressions import Number
from perfmodel.kernels.access import DATA_TYPES
from perfmodel.kernels.kernel import LARGEST_PARAMETER, Parameter
from perfmodel.kernels.scope import Scope
from perfmodel.tables import check_keys, choice, is_list, read_text, whole

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
