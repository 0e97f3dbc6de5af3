"""Binding: the values of a kernel's expressions, checked, with words for what is wrong."""

from typing import Any, Final

import numpy as np

from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Node, evaluate, names
from perfmodel.expressions.evaluate import Parts
from perfmodel.kernels.access import ELEMENT_BYTES, Access, width_fault
from perfmodel.kernels.expansion import expanded
from perfmodel.kernels.kernel import Kernel
from perfmodel.kernels.parameter_values import plain

_WIDEST: Final = 16
"""Bytes that one access of a thread moves at most."""


class Binding:
    """Evaluates and checks one kernel's expressions; knows how to name what is wrong."""

    def __init__(self, kernel: Kernel, given: dict[str, Any], shape: tuple[int, ...]) -> None:
        self.kernel = kernel
        self.given = given
        self.known: dict[str, Any] = dict(given)
        self.shape = shape
        self._parts: Parts = {}

    def whole(self, node: Node, what: str, least: int, most: int) -> Any:
        """Return an integer from least to most."""
        value = self._value(node, what)
        self.check(value, what, least, most, node=node)
        return value

    def number(self, node: Node, what: str) -> Any:
        """Return a number of at least 0."""
        value = self._value(node, what)
        self.check(value, what, 0, None, node=node)
        return value

    def vector(self, access: Access, size: Any) -> Any:
        """Return how many elements an access moves at once, as many as an instruction can."""
        what = f"vector of the {access.kind} {access.name or access.buffer!r}"
        value = self.whole(access.vector, what, 1, max(ELEMENT_BYTES))
        moved = size * value
        # As `width_fault` says of numbers: several elements are a power of two.
        wrong = (value > 1) & ((moved > _WIDEST) | (moved & (moved - 1) != 0))
        if np.any(wrong):
            at = self._first(wrong)
            fault = width_fault(self._at(size, at), self._at(value, at))
            raise PerfmodelError(f"{self._name()}, {what}: {fault}{self._setting(at)}")
        return value

    def check(
        self,
        value: Any,
        what: str,
        least: Any,
        most: Any,
        remedy: str = "",
        node: Node | None = None,
    ) -> None:
        """Refuse what is not from least to most, with the first configuration that is not.

        Without a remedy, the parameters of the expression `node` are to be changed.
        """
        wrong = np.asanyarray(value < least)
        if most is not None:
            wrong = wrong | (value > most)
        if np.any(wrong):
            at = self._first(wrong)
            if most is None:
                allowed = f"must be at least {least}"
            else:
                low, high = self._at(least, at), self._at(most, at)
                allowed = f"must be {low}" if low == high else f"must be {low} to {high}"
            raise PerfmodelError(
                f"{self._name()}: {what} {allowed}, not {self._at(value, at)}"
                f"{self._setting(at, node)}; {remedy or self._remedy(node)}"
            )

    def _value(self, node: Node, what: str) -> Any:
        try:
            return plain(evaluate(expanded(self.kernel, node), self.known, self._parts))
        except PerfmodelError as error:
            raise PerfmodelError(f"{self._name()}, {what}: {error}{self._setting(None)}") from None

    def _name(self) -> str:
        return f"kernel {self.kernel.name!r}"

    def _first(self, wrong: Any) -> int:
        """Return the first configuration for which a condition holds."""
        return int(np.argmax(np.broadcast_to(wrong, self.shape)))

    def _at(self, value: Any, position: int) -> Any:
        return np.broadcast_to(value, self.shape).flat[position].item()

    def _made_of(self, node: Node | None) -> list[str]:
        """Return the parameters that an expression is made of, in the kernel's order."""
        used = frozenset() if node is None else names(expanded(self.kernel, node))
        return [name for name in self.given if name in used]

    def _remedy(self, node: Node | None) -> str:
        *others, last = self._made_of(node) or ["the parameters"]
        return f"change {', '.join(others)} or {last}" if others else f"change {last}"

    def _setting(self, position: int | None, node: Node | None = None) -> str:
        """Return ", with N = 4 and so on" for a configuration; None names single values only.

        The parameters that `node` is made of come first.
        """
        parameters = {p.name: p for p in self.kernel.parameters}
        used = self._made_of(node)
        shown_values = []
        for name in sorted(self.given, key=lambda name: name not in used):
            value = self.given[name]
            if position is not None:
                value = self._at(value, position)
            if not isinstance(value, np.ndarray):
                shown_values.append(f"{name} = {parameters[name].shown(value)}")
        return f", with {', '.join(shown_values[:6])}" if shown_values else ""
