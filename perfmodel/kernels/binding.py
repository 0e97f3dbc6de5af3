"""Binding: the values of a kernel's expressions, checked, with words for what is wrong."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Node, evaluate
from perfmodel.kernels.access import ELEMENT_BYTES, Access, width_fault
from perfmodel.kernels.expansion import expanded
from perfmodel.kernels.kernel import Kernel
from perfmodel.kernels.parameter_values import plain

# Whether `vector` elements of `element_bytes` can be one access, as [element_bytes, vector].
_WIDTHS: Final = np.array(
    [[width_fault(size, vector) is None for vector in range(17)] for size in range(17)]
)


class Binding:
    """Evaluates and checks one kernel's expressions; knows how to name what is wrong."""

    def __init__(self, kernel: Kernel, given: dict[str, Any], shape: tuple[int, ...]) -> None:
        self.kernel = kernel
        self.given = given
        self.known: dict[str, Any] = dict(given)
        self.shape = shape

    def whole(self, node: Node, what: str, least: int, most: int) -> Any:
        """Return an integer from least to most."""
        value = self._value(node, what)
        self.check(value, what, least, most)
        return value

    def number(self, node: Node, what: str) -> Any:
        """Return a number of at least 0."""
        value = self._value(node, what)
        self.check(value, what, 0, None)
        return value

    def vector(self, access: Access, size: Any) -> Any:
        """Return how many elements an access moves at once, as many as an instruction can."""
        what = f"vector of the {access.kind} {access.name or access.buffer!r}"
        value = self.whole(access.vector, what, 1, max(ELEMENT_BYTES))
        wrong = ~_WIDTHS[size, value]
        if np.any(wrong):
            at = self._first(wrong)
            fault = width_fault(self._at(size, at), self._at(value, at))
            raise PerfmodelError(f"{self._name()}, {what}: {fault}{self._setting(at)}")
        return value

    def check(self, value: Any, what: str, least: Any, most: Any, remedy: str = "") -> None:
        """Refuse what is not from least to most, with the first configuration that is not."""
        wrong = np.asarray(value < least)
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
                f"{self._setting(at)}; {remedy or 'change the parameters'}"
            )

    def _value(self, node: Node, what: str) -> Any:
        try:
            return plain(evaluate(expanded(self.kernel, node), self.known))
        except PerfmodelError as error:
            raise PerfmodelError(f"{self._name()}, {what}: {error}{self._setting(None)}") from None

    def _name(self) -> str:
        return f"kernel {self.kernel.name!r}"

    def _first(self, wrong: Any) -> int:
        """Return the first configuration for which a condition holds."""
        return int(np.argmax(np.broadcast_to(wrong, self.shape)))

    def _at(self, value: Any, position: int) -> Any:
        return np.broadcast_to(value, self.shape).flat[position].item()

    def _setting(self, position: int | None) -> str:
        """Return ", with N = 4 and so on" for a configuration; None names single values only."""
        shown_values = [
            f"{name} = {value if position is None else self._at(value, position)}"
            for name, value in self.given.items()
            if position is not None or not isinstance(value, np.ndarray)
        ]
        return f", with {', '.join(shown_values[:6])}" if shown_values else ""
