"""Formula: a closed form as data, evaluated on NumPy arrays and shown as mathematics.

One text serves both: `perfmodel.expressions` parses it once; calling the formula evaluates it on
numbers or arrays, and `sympy()` gives the same expression for display, LaTeX and checks.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cached_property, partial
from typing import Any, cast

from perfmodel.arrays import Array
from perfmodel.expressions import Node, evaluate, parse, to_sympy
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.derivation import formula, is_recording, records_parts, unrecorded
from perfmodel.records import record


def _where_made() -> str:
    """Return the module that makes a formula, as `collections.namedtuple` does."""
    return str(sys._getframe(2).f_globals.get("__name__", ""))


class _Meanings(Mapping[str, str]):
    """What symbols mean: as given, or as the catalogue says of a coefficient."""

    def __init__(self, given: Mapping[str, str | Coefficient]) -> None:
        self.given = given

    def __getitem__(self, name: str) -> str:
        found = self.given[name]
        return found.meaning if isinstance(found, Coefficient) else found

    def __contains__(self, name: object) -> bool:
        return name in self.given

    def __iter__(self) -> Iterator[str]:
        return iter(self.given)

    def __len__(self) -> int:
        return len(self.given)


@record(slots=False)
class Formula:
    """A closed form."""

    name: str  # what it gives
    unit: str  # unit of the result
    text: str  # the expression, in the grammar of `perfmodel.expressions`
    # what each variable means, with its unit in brackets; given a `Coefficient`, what that is
    symbols: Mapping[str, Any] = field(hash=False)
    holds: str  # where it is exact, or how it is known to err
    source: str  # publication, derivation or fit that it comes from
    # where it is defined: its folder in `perfmodel.models` is the stage that it belongs to
    module: str = field(default_factory=_where_made, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Let coefficients among the symbols say what they are."""
        object.__setattr__(self, "symbols", _Meanings(self.symbols))

    @cached_property
    def node(self) -> Node:
        """The parsed expression."""
        return parse(self.text, where=f"formula {self.name!r}")

    def __call__(self, **values: Any) -> Array:
        """Evaluate on numbers or broadcastable arrays, one for each symbol."""
        if is_recording():
            return cast(Array, formula(self, partial(_evaluated, self.node), values))
        return cast(Array, evaluate(self.node, values))

    def on(self, device: Device, /, **values: Any) -> Array:
        """Evaluate with a device's coefficients, those among the symbols, and values of others."""
        given = self.symbols.given.items()  # type: ignore[attr-defined]
        return self(**{n: c(device) for n, c in given if isinstance(c, Coefficient)}, **values)

    def of(self, record: object, **others: Any) -> Array:
        """Evaluate on a record's attributes, by the symbols' names, but for `others`."""
        given = {name: getattr(record, name) for name in self.symbols if name not in others}
        return self(**given, **others)

    def by(self, work: Callable[..., Any], /, **values: Any) -> Any:
        """Return what the formula gives, worked out by a function that goes another way.

        For powers that would overflow: the function takes the symbols' values by name.
        """
        if is_recording() and not records_parts():
            return formula(self, unrecorded(work), values)
        return work(**values)

    def sympy(self) -> Any:
        """Return the expression for sympy, with positive symbols."""
        return to_sympy(self.node)


def _evaluated(node: Node, /, **values: Any) -> Any:
    return evaluate(node, values)
