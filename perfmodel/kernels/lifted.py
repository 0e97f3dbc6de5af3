"""Kernels that differ in numbers alone, such as one source's at many sizes, as one with parameters.

A kernel from a source has the numbers of one launch in it. Where later ones have the same form, the
numbers that differ become parameters, and what is learnt of launches of that kernel serves all.
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Final

from perfmodel.expressions import Name, Node, Number, Operation
from perfmodel.kernels.access import Access
from perfmodel.kernels.doubt import SURE
from perfmodel.kernels.kernel import Kernel, Parameter
from perfmodel.kernels.parameter_values import parameter_values
from perfmodel.records import record

_MOST_FORMS: Final = 64
"""Forms of kernels that are remembered, those that came last."""
_LARGEST: Final = 2**62
"""Of a parameter."""


@record
class Lifted:
    """A kernel some of whose numbers are parameters, and those of one launch."""

    kernel: Kernel
    values: Mapping[str, int]


@dataclass(slots=True)
class _Form:
    """Kernels of one form: numbers of the first, which of them differed since, and as what."""

    first: tuple[int | float, ...]
    differing: list[int] = field(default_factory=list)
    broken: set[int] = field(default_factory=set)  # those of them that were no whole numbers
    kernel: Kernel | None = None


_forms: Final[dict[Any, _Form]] = {}


def lifted(kernel: Kernel) -> Lifted | None:
    """Return a translated kernel with parameters; None if it has none, as the first of a form.

    Kernels with counted accesses, whose counts are not among the expressions, have none.
    """
    # What is told by other kernels has no form; how far the time may be off, each says on its own.
    compared = kernel.assumption is not None and kernel.assumption.others
    if (
        compared
        or kernel.block_work
        or any(access.counted is not None for access in kernel.accesses)
    ):
        return None
    numbers: list[int | float] = []
    # Parameters are those of the launch, and have one value each: its default.
    own = tuple(p.name for p in kernel.parameters)
    key = own, _shape_of(kernel, numbers)
    form = _forms.pop(key, None)
    if form is None:
        if len(_forms) >= _MOST_FORMS:
            del _forms[next(iter(_forms))]
        form = _Form(tuple(numbers))
    _forms[key] = form
    return _of_form(form, kernel, numbers)


def _of_form(form: _Form, kernel: Kernel, numbers: list[int | float]) -> Lifted | None:
    new = {i for i, (a, b) in enumerate(zip(numbers, form.first, strict=True)) if a != b}
    broken = {i for i in new for n in (numbers[i], form.first[i]) if type(n) is float}
    if not new <= {*form.differing} or not broken <= form.broken:
        form.differing = sorted({*form.differing, *new})
        form.broken |= broken
        form.kernel = None
    own = own_values(kernel)
    if not form.differing and not own:
        return None
    if form.kernel is None:
        form.kernel = _with_parameters(kernel, {i: i in form.broken for i in form.differing})
    values: dict[str, int] = {}
    for i in form.differing:
        parts = numbers[i].as_integer_ratio() if i in form.broken else (int(numbers[i]),)
        values |= zip(_parts(i, i in form.broken), parts, strict=True)
    if any(abs(value) > _LARGEST for value in values.values()):
        return None
    return Lifted(form.kernel, {**own, **values})


def own_values(kernel: Kernel) -> Mapping[str, int]:
    """Return the parameters of a translated kernel, which have one value each: its default."""
    found: dict[str, int] = {}
    for p in kernel.parameters:
        default = p.default
        if not isinstance(default, Number) or p.choices != (default.value,):
            return parameter_values(kernel, {})
        found[p.name] = int(default.value)
    return found


def _parts(place: int, broken: bool) -> tuple[str, ...]:
    """Return what a number becomes: a float is exactly one whole number over another."""
    name = f"number_{place}"
    return (f"{name}_above", f"{name}_below") if broken else (name,)


def _with_parameters(kernel: Kernel, places: Mapping[int, bool]) -> Kernel:
    """Return a kernel in which numbers at some places, whole or not, are parameters."""
    places_of_all = itertools.count()
    names = [p.name for p in kernel.parameters]

    def named(number: Number) -> Node:
        place = next(places_of_all)
        if place not in places:
            return number
        parts = _parts(place, places[place])
        names.extend(parts)
        found = [Name(part) for part in parts]
        return Operation("/", tuple(found)) if len(found) > 1 else found[0]

    bare = replace(kernel, parameters=(), notes=(), summary="", doubt=SURE, assumption=None)
    found: Kernel = _replaced(bare, named)
    parameters = tuple(Parameter(name, None, -_LARGEST, _LARGEST) for name in names)
    return replace(found, parameters=parameters)


def _shape_of(kernel: Kernel, numbers: list[int | float]) -> Any:
    """Return what kernels of one form have in common, their numbers left out and noted.

    Parameters, notes, summary and doubt are each one's own.
    """
    parts = (_shape(getattr(kernel, name), numbers) for name in _names(Kernel) if name not in _OWN)
    return tuple(parts)


def _shape(value: Any, numbers: list[int | float]) -> Any:
    kind = type(value)
    if kind is Number:
        numbers.append(value.value)
        return Number
    if kind is tuple:
        if value and type(value[0]) is Access:
            return _kept_shape(value, numbers)
        return tuple([_shape(part, numbers) for part in value])
    if kind is str or not _names(kind):
        return value
    return (kind, *[_shape(getattr(value, name), numbers) for name in _names(kind)])


class _Shape:
    """The shape of many accesses, which is hashed once."""

    __slots__ = ("accesses", "hash", "numbers", "parts")

    def __init__(self, accesses: tuple[Access, ...]) -> None:
        self.accesses = accesses
        self.numbers: list[int | float] = []
        self.parts = tuple([_shape(part, self.numbers) for part in accesses])
        self.hash = hash(self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Shape) and (self is other or self.parts == other.parts)

    def __hash__(self) -> int:
        return self.hash


def _kept_shape(accesses: tuple[Access, ...], numbers: list[int | float]) -> _Shape:
    """Return the shape of accesses: translations of other sizes have the very same ones."""
    found = _shapes.get(id(accesses))
    if found is None or found.accesses is not accesses:
        if len(_shapes) >= _MOST_SHAPES:
            del _shapes[next(iter(_shapes))]
        found = _shapes[id(accesses)] = _Shape(accesses)
    numbers += found.numbers
    return found


def _replaced(value: Any, named: Callable[[Number], Node]) -> Any:
    """Return a record with other nodes for its numbers, asked for in the order of `_shape`."""
    kind = type(value)
    if kind is Number:
        return named(value)
    if kind is tuple:
        return tuple(_replaced(part, named) for part in value)
    if kind is str or not is_dataclass(kind):
        return value
    new = {name: _replaced(getattr(value, name), named) for name in _names(kind)}
    return replace(value, **new)


_OWN: Final = ("parameters", "notes", "summary", "doubt", "assumption")
_MOST_SHAPES: Final = 256
_shapes: Final[dict[int, _Shape]] = {}
_known: Final[dict[type, tuple[str, ...]]] = {}


def _names(kind: type) -> tuple[str, ...]:
    """Return the fields of a record that it is made of; none of what is no record."""
    if kind not in _known:
        of = fields(kind) if is_dataclass(kind) else ()
        _known[kind] = tuple(f.name for f in of if f.init)
    return _known[kind]
