"""Writes a program of scalars as assignments of a Python function, whatever its numbers are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from perfmodel.prediction.compiled.calls import Call
from perfmodel.prediction.compiled.lowering import Program
from perfmodel.prediction.compiled.scalars import Scalar, kind_of

_LONGEST: Final = 160
"""Characters of an expression that is written where it is used."""


class Writer:
    """Assigns each scalar once, before it is used; short ones are written where they are used.

    `operators` has a pattern of text for each operator, in the operands' texts.
    """

    operators: ClassVar[Mapping[str, str]]

    def __init__(self, program: Program) -> None:
        self.program = program
        self.names = [f"p{i}" for i in range(len(program.inputs))]
        self.places = dict(zip(program.inputs, self.names, strict=True))
        self.uses = uses(program)
        self.texts: dict[Scalar, str] = {}
        self.calls: dict[str, Any] = {}
        self.written: list[tuple[str, str]] = []  # names, and what they are

    def text(self, value: Any) -> str:
        """Return how to write a scalar, once what it needs is assigned."""
        if not isinstance(value, Scalar):
            return _constant(value)
        for scalar in in_order([value], self.texts):
            self.texts[scalar] = self._assigned(scalar)
        return self.texts[value]

    def _assigned(self, scalar: Scalar) -> str:
        text = self._operation(scalar)
        if text.isidentifier() or scalar.operator == "part":  # of a call that may not be made
            return text
        if self.uses[scalar] > 1 or len(text) > _LONGEST:
            return self.assign(f"v{len(self.texts)}", text)
        return text

    def assign(self, name: str, text: str) -> str:
        """Write an assignment, and return the name."""
        self.written.append((name, text))
        return name

    def _operation(self, scalar: Scalar) -> str:
        name, operands = scalar.operator, scalar.operands
        if name == "input":
            return self.places[operands[0]]
        if name == "call":
            return self._call(operands[0])
        if name == "part":
            return f"{self.texts[operands[0]]}[{operands[1]}]"
        texts = [self.texts[o] if isinstance(o, Scalar) else _constant(o) for o in operands]
        pattern = self.pattern(scalar)
        for place, text in enumerate(texts):
            short = text.isidentifier() or len(text) < 8
            if pattern.count(f"{{{place}}}") > 1 and not short:
                texts[place] = self.assign(f"t{len(self.written)}", text)
        return pattern.format(*texts)

    def pattern(self, scalar: Scalar) -> str:
        """Return the pattern of an operation."""
        return self.operators[scalar.operator]

    def _call(self, call: Call) -> str:
        name = f"_call{len(self.calls)}"
        self.calls[name] = self.called(call)
        given = (self.texts[o] if isinstance(o, Scalar) else _constant(o) for o in call.operands)
        text = f"{name}({', '.join(given)})"
        if isinstance(call.needed, Scalar):
            text = self.if_needed(text, self.texts[call.needed])
        return self.assign(f"c{len(self.calls)}", text)

    def called(self, call: Call) -> Any:
        """Return the function of a call."""
        raise NotImplementedError

    def if_needed(self, text: str, needed: str) -> str:
        """Return a call that is made where its results are needed."""
        raise NotImplementedError


def sources(scalar: Scalar) -> Iterator[Scalar]:
    """Yield the scalars that one is made of."""
    operands = scalar.operands
    if scalar.operator == "call":
        operands = (*operands[0].operands, operands[0].needed)
    for operand in operands:
        if isinstance(operand, Scalar):
            yield operand


def in_order(
    ends: Sequence[Scalar],
    known: Container[Scalar] = (),
    of: Callable[[Scalar], Iterator[Scalar]] = sources,
) -> Iterator[Scalar]:
    """Yield scalars that are not known, each once and after what it is made of: its sources."""
    done: set[Scalar] = set()
    left = list(reversed(ends))
    while left:
        scalar = left[-1]
        if scalar in done or scalar in known:
            left.pop()
        elif missing := [s for s in of(scalar) if s not in done and s not in known]:
            left += missing
        else:
            done.add(left.pop())
            yield scalar


def uses(program: Program) -> Counter[Scalar]:
    """Return how often each scalar is needed."""
    found = Counter(program.ends)
    left, seen = list(found), set(found)
    while left:
        for source in sources(left.pop()):
            found[source] += 1
            if source not in seen:
                seen.add(source)
                left.append(source)
    return found


def _constant(value: Any) -> str:
    return f"({value!r})" if kind_of(value) == "f" or value < 0 else repr(value)
