"""Fields of records as JSON has them."""

from collections.abc import Mapping
from typing import Any

from perfmodel.expressions import Name, Number, Operation, text
from perfmodel.kernels import Parameter


def fields_of(record: Any, *names: str) -> dict[str, Any]:
    """Return some fields or properties of a record by name, each as `plain` has it."""
    return {name: plain(getattr(record, name)) for name in names}


def plain(value: Any) -> Any:
    """Return a value as JSON has it: expressions as text, tuples as lists, mappings as copies."""
    if isinstance(value, (Name, Number, Operation)):
        return text(value)
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, tuple) else value


def default_of(parameter: Parameter) -> str | None:
    """Return the default of a kernel's parameter: a word, or an expression; None if required."""
    default = parameter.default
    if parameter.words and isinstance(default, Number):
        return str(parameter.shown(int(default.value)))
    return None if default is None else text(default)
