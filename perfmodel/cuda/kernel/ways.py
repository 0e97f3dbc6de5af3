"""Ways that following took through kernels, kept for launches that go the same way."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from perfmodel.cuda.addresses.asked import Asked, answers_alike
from perfmodel.cuda.addresses.launch import KernelLaunch, Start, restart, start
from perfmodel.cuda.addresses.records import Datum, Followed
from perfmodel.cuda.addresses.witnesses import AskedAgain
from perfmodel.cuda.kernel.accesses import Placed
from perfmodel.cuda.parse.syntax import Function, Module

_MOST_FORMS: Final = 64
"""Kernels, and forms of launches, whose ways are kept: the latest."""
_MOST_WAYS: Final = 6
"""Of one of them."""
_ENOUGH: Final = 18
"""Launches of a form in a row that went no known way, after which none is looked for."""


@dataclass(slots=True)
class Way:
    """What following a kernel found, and what it asked of the launch's ranges on the way."""

    function: Function
    began: Start
    """What following began with."""
    asked: Asked
    found: Followed
    placed: Sequence[Placed]
    data: dict[str, Datum]
    kept: dict[str, Any] = field(default_factory=dict)
    """What else follows from it alone, by name."""


@dataclass(slots=True)
class _Ways:
    """The ways of one form of launches, those first that were gone last."""

    known: list[Way] = field(default_factory=list)
    missed: int = 0


_ways: Final[dict[Any, _Ways]] = {}


def form_of(function: Function, bound: KernelLaunch) -> Any:
    """Return what launches have in common that may go the same way: all but their numbers.

    Numbers of a block count, for most of them are in the addresses.
    """
    buffers = tuple(
        (name, b.dtype, b.fill, b.npy, b.step, b.assumed) for name, b in bound.buffers.items()
    )
    structures = tuple((name, s.data, tuple(s.buffers)) for name, s in bound.structures.items())
    return (
        *(id(function), bound.block, tuple(side == 1 for side in bound.grid), bound.shared_bytes),
        *(tuple(bound.values), buffers, tuple(bound.shown.items()), bound.pointers, structures),
        tuple(bound.fields.items()),
    )


def known_way(
    module: Module, function: Function, bound: KernelLaunch, form: Any
) -> tuple[Start, Way] | None:
    """Return a way that a launch goes, and what its following would end with; None without one."""
    ways = _ways.get(form)
    if ways is None or ways.missed >= _ENOUGH:
        return None
    for place, way in enumerate(ways.known):
        begin = restart(way.began, way.asked.ranges, bound) or start(module, function, bound)
        begin.interpreter.algebra = algebra = AskedAgain(begin.interpreter.algebra.ranges)
        if way.function is function and answers_alike(algebra, way.asked):
            begin.interpreter.data.update(way.data)
            ways.known.insert(0, ways.known.pop(place))
            ways.missed = 0
            return begin, way
    ways.missed += 1
    return None


def keep_way(form: Any, way: Way) -> None:
    """Keep a way for launches of a form, if every question on it had an answer."""
    if not way.asked.sure:
        return
    ways = _ways.pop(form, None) or _Ways()
    if len(_ways) >= _MOST_FORMS:
        del _ways[next(iter(_ways))]
    ways.known = [way, *ways.known][:_MOST_WAYS]
    _ways[form] = ways
