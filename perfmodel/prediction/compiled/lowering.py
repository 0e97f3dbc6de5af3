"""Lowering: a recorded derivation, of arrays and NumPy's functions, as a program of scalars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from perfmodel.models.node import Decision, Node
from perfmodel.models.replay import in_order
from perfmodel.prediction.compiled.array_functions import (
    FUNCTIONS,
    STRUCTURAL,
    NoProgramError,
    Objects,
    each,
    folded,
    objects,
    universal,
)
from perfmodel.prediction.compiled.calls import ROWS, Call, Function, numbers_of, one_row
from perfmodel.prediction.compiled.expression_scalars import expression
from perfmodel.prediction.compiled.scalars import Kind, Scalar, Scalars, key_of, kind_of
from perfmodel.records import record

_MOST_RESULTS: Final = 64
"""Numbers that a function which is called as it is may give."""


@record
class Guard:
    """What a scalar must be for the program to hold."""

    value: Scalar
    answer: bool | int | float


@record
class Program:
    """Scalars, or constants, by those of the inputs' names; they hold where all guards do.

    `products` are whole numbers that must not overflow.
    """

    inputs: tuple[str, ...]
    guards: tuple[Guard, ...]
    products: tuple[Scalar, ...]
    outputs: tuple[Any, ...]

    @property
    def ends(self) -> list[Scalar]:
        """All scalars that are asked for: the guards', the products and outputs not constant."""
        outputs = (output for output in self.outputs if isinstance(output, Scalar))
        return [*(guard.value for guard in self.guards), *self.products, *outputs]


@record
class Moved:
    """An output of a program: a number of the derivation, were a figure of another value."""

    node: Node
    figure: Node
    value: float


def program(
    inputs: Sequence[Node], outputs: Sequence[Any], decisions: Sequence[Decision]
) -> Program:
    """Return the program of a derivation.

    `inputs` are the figures that may change; `outputs` nodes, moved ones, or plain numbers.

    Raises `NoProgramError` if something in it has none.
    """
    lowering = _Lowering()
    for node in inputs:
        lowering.known[node] = lowering.leaf(node)
    ends = [d.node for d in decisions]
    ends += [o.node if isinstance(o, Moved) else o for o in outputs if isinstance(o, Node | Moved)]
    order = {node: node.sources() for node in in_order(ends)}
    for node in order:
        if node not in lowering.known:
            lowering.known[node] = lowering.lowered(node)
    lowering.check(decisions)
    found = tuple(
        lowering.moved(o, order, decisions)
        if isinstance(o, Moved)
        else lowering.single(o)
        if isinstance(o, Node)
        else o
        for o in outputs
    )
    products = dict.fromkeys(p for p in lowering.products if isinstance(p, Scalar))
    names = dict.fromkeys(node.name for node in inputs)
    return Program(tuple(names), tuple(lowering.guards.values()), tuple(products), found)


class _Lowering:
    """Makes each node's scalars of those of its sources."""

    def __init__(self) -> None:
        self.scalars = Scalars()
        self.known: dict[Node, Any] = {}
        self.products: list[Any] = []
        self.guards: dict[tuple[Any, ...], Guard] = {}
        self.calls: dict[Any, Any] = {}  # results of functions that are called as they are

    def leaf(self, node: Node) -> Objects:
        """Return an input as an array of one scalar."""
        found = np.empty(1, dtype=object)
        found[0] = self.scalars.made("input", (node.name,), _kind(node.value))
        return found

    def moved(
        self, output: Moved, order: Mapping[Node, Sequence[Node]], decisions: Sequence[Decision]
    ) -> Any:
        """Return the scalar of a node were a figure of another value, all decided alike.

        `order` has all nodes, each after its sources.
        """
        known, changed = self.known, {output.figure}
        self.known = known | {output.figure: objects(output.value)}
        for node, sources in order.items():
            if not changed.isdisjoint(sources):
                self.known[node] = self.lowered(node)
                if not _alike(self.known[node], known[node]):
                    changed.add(node)
        self.check([decision for decision in decisions if decision.node in changed])
        found = self.single(output.node)
        self.known = known
        return found

    def check(self, decisions: Iterable[Decision]) -> None:
        """Let launches be guarded to decide as was recorded."""
        for decision in decisions:
            if (guard := self.guard(decision)) is not None:
                self.guards.setdefault((guard.value, guard.answer), guard)

    def guard(self, decision: Decision) -> Guard | None:
        """Return what a decision asks of a launch; None for nothing."""
        value, answer = self.single(decision.node), decision.answer
        if isinstance(answer, bool):
            if _mixed(decision.node):
                return None  # the models went on for both
            value = self.scalars.cast(value, "b")
        if isinstance(value, Scalar):
            return Guard(value, answer)
        if value != answer and (value, answer) != (1, ROWS):
            raise NoProgramError(f"{decision.node.name} is {value}, but was {answer}")
        return None

    def single(self, node: Node) -> Any:
        """Return the one scalar of a node."""
        found = objects(self.known[node])
        if found.size != 1:
            raise NoProgramError(f"{node.name} is not one number")
        return found.reshape(-1)[0]

    def lowered(self, node: Node) -> Any:
        """Return a node as an array of scalars, or several."""
        if node.kind == "figure":
            return objects(node.value)
        inputs = [self._filled(value) for value in node.inputs]
        named = {name: self._filled(value) for name, value in node.named.items()}
        try:
            found = self._found(node, inputs, named)
        except NoProgramError:
            found = None
        if found is None:
            return self._called(node)
        return self._typed(found, node.value)

    def _found(self, node: Node, inputs: list[Any], named: dict[str, Any]) -> Any:
        """Return what a node is as scalars; None for what they cannot do."""
        work: Any = node.work
        if node.kind == "formula":
            assert node.formula is not None
            return expression(self.scalars, node.formula.node, named, [])
        if node.name == "evaluate":
            return expression(self.scalars, node.inputs[0], named, self.products)
        if node.name in ("part", "getitem"):
            return _item(inputs[0], inputs[1])
        if node.name == "astype":
            return objects(inputs[0])
        function = getattr(work, "__self__", None)
        if isinstance(function, np.ufunc):
            if work.__name__ == "reduce":
                return _reduced(self.scalars, function, inputs, named)
            if work.__name__ == "__call__" and not named:
                truths = _kind(node.value) == "b"
                return universal(self.scalars, function.__name__, inputs, truths)
            return None
        if node.name in STRUCTURAL:
            return work(*map(_of_shape, inputs), **named)
        if node.name in FUNCTIONS:
            return FUNCTIONS[node.name](self.scalars, *inputs, **named)
        return None

    def _typed(self, found: Any, value: Any) -> Any:
        """Return scalars of the kind that NumPy's numbers were of."""
        if isinstance(found, (tuple, list)):
            return found
        kind = _kind(value)
        one = isinstance(found, np.ndarray) and found.dtype == object and found.size == 1
        if one and kind_of(found.item()) == kind:
            return found
        return each(lambda number: self.scalars.cast(number, kind), found)

    def _filled(self, value: Any) -> Any:
        """Return a value with scalars in the place of nodes."""
        if isinstance(value, Node):
            return self.known[value]
        if type(value) in (tuple, list):
            return type(value)([self._filled(part) for part in value])
        return one_row(value) if isinstance(value, np.ndarray) else value

    def _called(self, node: Node) -> Any:
        """Return the results of a function that is called as it is."""
        leaves = list(dict.fromkeys(node.sources()))
        given = [objects(self.known[leaf]) for leaf in leaves]
        function = Function.of(node, leaves, [array.shape for array in given])
        if sum(int(np.prod(shape)) for shape in function.results) > _MOST_RESULTS:
            raise NoProgramError(f"{node.name} gives too much")
        operands = tuple(scalar for array in given for scalar in array.reshape(-1))
        key = (function, *map(key_of, operands))
        if key not in self.calls:
            self.calls[key] = self._results(node, Call(function, operands, self._needed(node)))
        return self.calls[key]

    def _results(self, node: Node, call: Call) -> Any:
        """Return the results of a call as scalars, and those that it replaces some of."""
        parts = [one_row(part, alike=False) for part in numbers_of(node.value)]
        kinds = [_kind(part) for part in parts for _ in range(part.size)]
        numbers: Iterator[Any]
        if any(isinstance(o, Scalar) for o in call.operands):
            scalar = Scalar("call", (call,), "f")
            numbers = (Scalar("part", (scalar, i), kind) for i, kind in enumerate(kinds))
        else:
            numbers = iter(call.function.of_one(*call.operands))
        results = []
        for part in parts:
            found = np.empty(part.shape, dtype=object)
            found.reshape(-1)[:] = [next(numbers) for _ in range(part.size)]
            results.append(found)
        if isinstance(call.needed, Scalar):
            others = [objects(other) for other in numbers_of(self._filled(node.inputs[1]))]
            pairs = zip(results, others, strict=True)
            results = [each(partial(self.scalars.where, call.needed), *pair) for pair in pairs]
        return results if isinstance(node.value, (tuple, list)) else results[0]

    def _needed(self, node: Node) -> Any:
        """Return whether a launch needs a function that replaces numbers of some launches."""
        if not getattr(node.work, "replaces", False):
            return True
        which = objects(self._filled(node.inputs[0]))
        return self.scalars.cast(which.reshape(-1)[0], "b") if which.size == 1 else True


def _alike(value: Any, other: Any) -> bool:
    """Say whether arrays of scalars, or several of them, are the same."""
    if isinstance(value, (tuple, list)):
        return all(_alike(a, b) for a, b in zip(value, other, strict=True))
    pair = objects(value), objects(other)
    numbers = zip(*(array.reshape(-1).tolist() for array in pair), strict=True)
    return pair[0].shape == pair[1].shape and all(key_of(a) == key_of(b) for a, b in numbers)


def _kind(value: Any) -> Kind:
    dtype = np.asarray(value).dtype
    if dtype.kind not in "bifu":
        raise NoProgramError(f"numbers of type {dtype}")
    return "i" if dtype.kind == "u" else dtype.kind  # type: ignore[return-value]


def _item(value: Any, key: Any) -> Any:
    """Return an element or several, chosen by a plain key."""
    parts = key if isinstance(key, tuple) else (key,)
    if any(isinstance(p, np.ndarray) and p.dtype == object for p in parts):
        return None
    return value[key] if isinstance(value, (tuple, list)) else objects(value)[key]


def _of_shape(value: Any) -> Any:
    """Return an argument of a function of shape: arrays of scalars, and shapes of one row."""
    if type(value) in (tuple, list):
        return type(value)(_of_shape(part) for part in value)
    if isinstance(value, int) and not isinstance(value, bool):
        return 1 if value == ROWS else value
    return objects(value) if isinstance(value, np.ndarray) else value


def _mixed(node: Node) -> bool:
    """Say whether a decision was of rows that would have decided otherwise alone."""
    source = next(iter(node.sources()), None)
    if source is None or np.shape(source.value)[-1:] != (ROWS,):
        return False
    truths = np.asarray(source.value, dtype=bool).reshape(-1, ROWS)
    each = truths.any(axis=0) if node.name in ("any", "logical_or") else truths.all(axis=0)
    if node.name not in ("any", "logical_or", "all", "logical_and"):
        return False
    return bool(each.any() != each.all())


def _reduced(
    scalars: Scalars, function: np.ufunc, inputs: list[Any], named: dict[str, Any]
) -> Objects | None:
    """Return what a universal function's ``reduce`` gives."""
    given = dict(zip(_OF_REDUCE, inputs, strict=False)) | named
    plain = given.get("where", True) is True and given.get("out") is None
    if not plain or isinstance(given.get("initial"), int | float):
        return None
    array, name = given["array"], function.__name__
    if name.startswith("logical"):
        array = each(lambda n: scalars.cast(n, "b"), array)
    name = name.removeprefix("logical_").removeprefix("bitwise_")
    return folded(scalars, name, array, given.get("axis", 0), bool(given.get("keepdims")))


_OF_REDUCE: Final = ("array", "axis", "dtype", "out", "keepdims", "initial", "where")
"""Arguments of ``reduce`` in their order."""
