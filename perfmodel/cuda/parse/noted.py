"""Arithmetic on plain numbers that is noted while it is done, to be done again as one function.

What a warp issues follows from the shares of warps that run each block, by some thousand steps in
which these numbers are added, multiplied and compared. Other launches that go the same way take the
same steps as long as every comparison comes out alike: the function says where one does not.
"""

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

_MADE_AT: Final = (3, 9, 27, 81)
"""Launches without a function at which one is made."""
_MOST_STEPS: Final = 40_000
Again = Callable[..., Any]


class Noted:
    """A number that notes what is done with it; its value is that of the launch at hand.

    What has no step here, such as a change into an array, raises `TypeError`.
    """

    __slots__ = ("name", "notes", "value")
    __array_ufunc__ = None

    def __init__(self, value: float, name: str, notes: "Notes") -> None:
        self.value, self.name, self.notes = value, name, notes

    def __bool__(self) -> bool:
        return self.notes.decided(self.name, bool(self.value))

    def __hash__(self) -> int:
        return hash(exactly(self))

    def __round__(self, digits: int | None = None) -> Any:
        operands = self.name if digits is None else f"{self.name}, {digits}"
        text = f"{round.__name__}({operands})"
        return self.notes.step(text, round(self.value, digits))

    def __neg__(self) -> Any:
        return self.notes.step(f"-{self.name}", -self.value)


class Notes:
    """The steps of some arithmetic, as lines of Python."""

    def __init__(self, values: Sequence[float]) -> None:
        self.lines: list[str] = []
        self.known: dict[str, Noted] = {}
        self.inputs = [Noted(value, f"a{i}", self) for i, value in enumerate(values)]
        self.answers: dict[str, bool] = {}

    def step(self, text: str, value: float) -> Noted:
        """Return the result of a step, each of which is done once."""
        if text not in self.known:
            if len(self.lines) > _MOST_STEPS:
                raise TypeError("too many steps")
            name = f"v{len(self.known)}"
            self.lines.append(f"{name} = {text}")
            self.known[text] = Noted(value, name, self)
        return self.known[text]

    def decided(self, text: str, answer: bool) -> bool:
        """Note that something came out so."""
        if text not in self.answers:
            self.answers[text] = answer
            self.lines.append(f"if {f'not ({text})' if answer else text}: return None")
        return answer

    def function(self, result: Any) -> Again:
        """Return what makes the result of other numbers; None where one decides otherwise."""
        names = ", ".join(each.name for each in self.inputs)
        text = "\n ".join([f"def again({names}):", *self.lines, f"return {_text(result)}"])
        known: dict[str, Any] = {"inf": math.inf, "nan": math.nan}
        exec(compile(text + "\n", "<noted arithmetic>", "exec"), known)
        found: Again = known["again"]
        return found


def exactly(value: Any) -> Any:
    """Return a number as a plain one; where it is noted, other numbers have to be just that."""
    if not isinstance(value, Noted):
        return value
    value.notes.decided(f"{value.name} == {value.value!r}", answer=True)
    return value.value


def _text(value: Any) -> str:
    """Return tuples of numbers and words as Python has them."""
    if isinstance(value, tuple):
        return "(" + "".join(f"{_text(part)}, " for part in value) + ")"
    if isinstance(value, Noted):
        return value.name
    if value is None or type(value) in (int, float, str, bool):
        return repr(value)
    raise TypeError(f"{type(value).__name__} has no text")


def _operand(value: Any) -> tuple[str, Any]:
    if isinstance(value, Noted):
        return value.name, value.value
    if type(value) not in (int, float):
        raise TypeError(f"{type(value).__name__} is no plain number")
    return f"({value!r})", value


def _binary(sign: str, work: Callable[[Any, Any], Any], *, swapped: bool) -> Any:
    def noted(self: Noted, other: Any) -> Any:
        (x, a), (y, b) = _operand(self), _operand(other)
        if swapped:
            x, a, y, b = y, b, x, a
        return self.notes.step(f"{x} {sign} {y}", work(a, b))

    return noted


def _comparison(sign: str, work: Callable[[Any, Any], bool]) -> Any:
    def noted(self: Noted, other: Any) -> bool:
        (x, a), (y, b) = _operand(self), _operand(other)
        return self.notes.decided(f"{x} {sign} {y}", work(a, b))

    return noted


_ARITHMETIC: Final = {
    **{"add": "+", "sub": "-", "mul": "*"},
    **{"truediv": "/", "floordiv": "//", "mod": "%"},
}
_COMPARING: Final = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
for _name, _sign in _ARITHMETIC.items():
    _work = getattr(operator, _name)
    setattr(Noted, f"__{_name}__", _binary(_sign, _work, swapped=False))
    setattr(Noted, f"__r{_name}__", _binary(_sign, _work, swapped=True))
for _name, _sign in _COMPARING.items():
    setattr(Noted, f"__{_name}__", _comparison(_sign, getattr(operator, _name)))


@dataclass(slots=True)
class Repeated:
    """Some arithmetic, and functions that do it again as it was done for earlier numbers."""

    functions: dict[Any, list[Again]] = field(default_factory=dict)
    missed: int = 0

    def result(
        self, key: Any, values: Sequence[float], work: Callable[[Sequence[Any]], Any]
    ) -> Any:
        """Return what some work makes of numbers: tuples of numbers and words.

        `key`: all that it depends on besides.
        """
        for function in self.functions.get(key, ()):
            try:
                known = function(*values)
            except ArithmeticError:
                continue
            if known is not None:
                return known
        found = work(values)
        self.missed += 1
        if self.missed in _MADE_AT:
            self._note(key, values, work, found)
        return found

    def _note(
        self, key: Any, values: Sequence[float], work: Callable[[Sequence[Any]], Any], found: Any
    ) -> None:
        notes = Notes(values)
        try:
            function = notes.function(work(notes.inputs))
            same = repr(function(*values)) == repr(found)
        except Exception:  # what has no steps is done as it is
            return
        if same:
            self.functions.setdefault(key, []).insert(0, function)
