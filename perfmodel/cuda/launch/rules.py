"""Numbers of a launch that follow from others: ``grid = "ceil_div(n, 256)"``, ``n4 = "n/4"``.

A number is stated as a literal, or as a rule: an expression of the project's grammar over the
launch's other numbers and over what the user gives besides (``-D``). Rules are parsed, never run.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from perfmodel.cuda.parse.signatures import split
from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.expressions import evaluate, names, parse
from perfmodel.records import record
from perfmodel.sizes import SUFFIXES, parse_size

Value: TypeAlias = int | float

_LITERAL: Final = re.compile(r"[-+]?[0-9.](?:[\w.]|(?<=[eE])[-+])*( ?[A-Za-z]+)?")
"""What is meant as one number, well written or not."""
_SCALED: Final = re.compile(rf"(?P<rule>.*\S) +(?P<suffix>{'|'.join(SUFFIXES)})", re.DOTALL)
"""A rule with the unit of a size behind it, as in ``4*n B``."""
_SIDES: Final = re.compile(r"[0-9]+(?:x[0-9]+){1,2}")
_FIELD: Final = re.compile(r"(?P<kind>ptr|pad|[iuf][0-9]{1,2})(?:\s+(?P<value>.+))?", re.DOTALL)
_NO_NUMBER: Final = re.compile(r"[-+]?(inf|infinity|nan)", re.IGNORECASE)
"""Floats that look like names."""
_LISTED: Final = 12
"""Names that a message lists at most."""


@record
class Stated:
    """A number as the user states it: a literal, or a rule."""

    text: str | Value  # a number that a file's syntax has read already is one
    where: str  # what it is of, for messages: ``--grid`` or ``launch file x.toml, launch 1: grid``


class Numbers:
    """The numbers of a launch, each worked out when it is first needed."""

    def __init__(self, stated: Mapping[str, Stated], given: Mapping[str, Value]) -> None:
        """Take what is stated.

        `stated`: by the name under which rules may use it: a parameter of the kernel, or one of
        ``blockDim.x`` and the like; `given`: what the user gives besides, by name; it counts in the
        place of a number stated.
        """
        self._stated = stated
        self._known: dict[str, Value] = dict(given)
        self._open: list[str] = []
        self.used: set[str] = set()  # names that rules have used so far

    def named(self, name: str) -> Value:
        """Return the number of a name that is stated or given; see `of`."""
        if name not in self._known:
            if name in self._open:
                circle = " from ".join([*self._open[self._open.index(name) :], name])
                raise PerfmodelError(f"{self._stated[name].where}: rules go in a circle: {circle}")
            self._open.append(name)
            self._known[name] = self.of(self._stated[name])
            self._open.pop()
        return self._known[name]

    def of(self, stated: Stated) -> Value:
        """Return a number.

        Raises `PerfmodelError` if it is no number and no rule, the rule uses a name without a
        value, rules go in a circle, or the result is undefined.
        """
        if not isinstance(stated.text, str):
            return stated.text
        literal = _literal(stated.text, stated.where)
        if literal is not None:
            return literal
        scaled = _SCALED.fullmatch(stated.text)
        rule = parse(scaled["rule"] if scaled else stated.text, where=stated.where)
        needed = names(rule)
        for name in sorted(needed):
            if name not in self._known and name not in self._stated:
                raise _without_value(name, stated, [*self._known, *self._stated])
        self.used |= needed
        values = {name: self.named(name) for name in needed}
        try:
            result = evaluate(rule, values)
        except PerfmodelError as error:
            raise PerfmodelError(f"{stated.where}: {error}") from None
        return _plain(result) * (SUFFIXES[scaled["suffix"]] if scaled else 1)

    def whole(self, stated: Stated, name: str | None = None) -> int:
        """Return a number that must be whole, such as blocks or bytes, by its name if it has one.

        Raises `PerfmodelError` as `of`, and if it is a fraction, which a rule may give.
        """
        value = self.of(stated) if name is None else self.named(name)
        if isinstance(value, float):
            raise PerfmodelError(
                f"{stated.where} must be a whole number, but {shown(stated.text)} is {value:g}: "
                "divide by // or ceil_div(a, b)"
            )
        return value


def sides(text: str, where: str) -> list[Stated]:
    """Return the sizes of a grid or a block: ``64``, ``64,64``, ``64x64``, ``ceil_div(n, 32),8``.

    Raises `PerfmodelError` if they are not 1 to 3.
    """
    parts = text.split("x") if _SIDES.fullmatch(text.strip()) else split(text)
    if not 1 <= len(parts) <= 3:
        raise PerfmodelError(f"{where} must be 1 to 3 numbers, such as 64,64, not {shown(text)}")
    return [Stated(part.strip(), where) for part in parts]


def field(text: str, where: str, numbers: Numbers) -> str:
    """Return a structure's field such as ``i32 n/4`` with its rule worked out: ``i32 1024``."""
    matched = _FIELD.fullmatch(text.strip())
    value = matched["value"] if matched else None
    if not matched or not value or _LITERAL.fullmatch(value) or _NO_NUMBER.fullmatch(value):
        return text
    return f"{matched['kind']} {numbers.of(Stated(value, where))}"


def is_structure(text: str) -> bool:
    """Say whether a text states fields, ``i32 3, ptr 4MiB``, not a number."""
    return any(_FIELD.fullmatch(part.strip()) for part in split(text))


def _literal(text: str, where: str) -> Value | None:
    """Return the number that a text is, or None for a rule."""
    text = text.strip()
    try:
        size = parse_size(text.removeprefix("-"), where)
        return -size if text.startswith("-") else size
    except PerfmodelError as error:
        try:
            return float(text)
        except ValueError:
            if not text or _LITERAL.fullmatch(text):
                raise error from None
            return None


def _plain(value: object) -> Value:
    """Return a result as a whole number where it is one."""
    number = float(value) if isinstance(value, float) else int(value)  # type: ignore[call-overload]
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _without_value(name: str, number: Stated, known: Sequence[str]) -> PerfmodelError:
    usable = [key for key in dict.fromkeys(known) if key.isidentifier()]
    listed = ", ".join(usable[:_LISTED]) + (", ..." if len(usable) > _LISTED else "")
    return PerfmodelError(
        f"{number.where} must be a number such as 4096, 1e6, 2.5 or 16MiB, or a rule over names "
        f"with a value, but in {shown(number.text)} {shown(name)} has none"
        f"{nearest(name, usable)}: give -D {name}=VALUE; there are {listed or 'no others'}, "
        "blockDim.x to .z and gridDim.x to .z"
    )
