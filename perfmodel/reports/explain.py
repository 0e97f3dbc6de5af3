"""The derivation of a prediction: every formula that mattered, with its numbers put in.

Steps are the formulas that were evaluated on the way to the time, as its derivation recorded them,
by the stage that they belong to. What the time does not depend on enters as a number.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from perfmodel.hardware.device import Device
from perfmodel.hardware.figure import Figure
from perfmodel.models.node import Node
from perfmodel.models.replay import Derivation, in_order
from perfmodel.prediction.figures_used import derive_as_far
from perfmodel.prediction.record import Prediction
from perfmodel.records import record
from perfmodel.reports import units
from perfmodel.reports.access_title import access_title
from perfmodel.reports.step import Origin, Step, scalar

NEGLIGIBLE: Final = 0.01
"""Elasticity of the time below which a formula is not shown, and share of the time of a term."""
_LISTED: Final = 0.1
_MOST: Final = 2
"""Elasticity from which a step or figure is named that a number comes from, and how many are."""
_SECTIONS: Final = {
    "launch": "Launch",
    "grid": "Launch",
    "requests": "Requests",
    "reuse": "Reuse",
    "l1": "L1",
    "l2": "L2",
    "dram": "DRAM",
    "atomics": "Atomics",
    "latency": "Latency",
    "time": "Time",
}
"""Stages in the order of an explanation, by the folder of `perfmodel.models` of their formulas."""


def explain(
    prediction: Prediction, *, full: bool = False, way: Derivation | None = None
) -> tuple[Step, ...]:
    """Return the derivation of a predicted time; the result of the last step is ``time_s``.

    Of simulated traffic, the time's part is derived. `full` shows what changes the time by less
    than 1% of its own change, too; `way` is the prediction's derivation, if it is at hand.
    """
    return tuple(_Explanation(prediction, way or derive_as_far(prediction), full).steps())


def explanation_record(
    prediction: Prediction, steps: Sequence[Step] | None = None
) -> dict[str, Any]:
    """Return the explanation as the JSON object ``perfmodel.explanation/1``.

    It holds the prediction, its steps in order, and the terms under 1% of the time [s].
    """
    return {
        "schema": "perfmodel.explanation/1",
        "prediction": prediction.to_json(),
        "steps": [found.to_json() for found in steps or explain(prediction)],
        "not_derived_s": left_out(prediction),
    }


def left_out(prediction: Prediction) -> dict[str, float]:
    """Return the terms under 1% of the time, largest first [s]."""
    least = NEGLIGIBLE * prediction.time_s
    small = {name: value for name, value in prediction.terms_s.items() if value < least}
    return dict(sorted(small.items(), key=lambda item: -item[1]))


def left_out_text(prediction: Prediction) -> str:
    """Return the same terms as text; empty if there are none."""
    return terms_text(left_out(prediction).items())


def terms_text(terms: Iterable[tuple[str, float]]) -> str:
    """Return terms with their times: ``"l1 17.2 ms, latency 12.9 ms"``."""
    return ", ".join(f"{name} {units.seconds(value)}" for name, value in terms)


@record
class _Evaluation:
    """A formula with its numbers, as often as it was evaluated on them; `elasticity` is of all."""

    nodes: tuple[Node, ...]
    elasticity: float | None

    @property
    def matters(self) -> bool:
        """Whether the time depends on it."""
        return self.elasticity is not None and abs(self.elasticity) >= NEGLIGIBLE


class _Explanation:
    """The steps of one derivation."""

    def __init__(self, prediction: Prediction, way: Derivation, full: bool) -> None:
        self.prediction, self.way = prediction, way
        alike: dict[tuple[Any, ...], list[Node]] = {}
        for node in in_order([way.result]):
            if node.kind == "formula":
                alike.setdefault(_numbers(node), []).append(node)
        every = [_Evaluation(tuple(n), way.elasticity(*n)) for n in alike.values()]
        shown = [found for found in every if full or found.matters]
        first = {self._section(one): place for place, one in reversed(list(enumerate(shown)))}
        self.shown = sorted(shown, key=lambda one: self._place(one, first))
        self.number = {node: i for i, one in enumerate(self.shown, 1) for node in one.nodes}

    def steps(self) -> Iterator[Step]:
        """Yield the steps in order."""
        for number, found in enumerate(self.shown, 1):
            node = found.nodes[0]
            assert node.formula is not None
            values, result, note = _one_of(node)
            yield Step(
                section=self._section(found),
                title=node.name,
                formula=node.formula,
                values=values,
                result=result,
                note=note,
                number=number,
                elasticity=found.elasticity,
                origins=dict(self._origins(found, number)),
            )

    def _place(self, found: _Evaluation, first: Mapping[str, int]) -> tuple[int, bool, int]:
        """Return what steps are sorted by: stage, accesses first; a section keeps its order."""
        section, stage = self._section(found), _stage(found)
        stages = list(dict.fromkeys(_SECTIONS.values()))
        return stages.index(stage), section == stage, first[section]

    def _section(self, found: _Evaluation) -> str:
        accesses = dict.fromkeys(n.scope for n in found.nodes if n.scope is not None)
        if not accesses:
            return _stage(found)
        titles = [access_title(access) for access in accesses]
        return f"{_stage(found)}: {'; '.join(dict.fromkeys(titles))}"

    def _origins(self, found: _Evaluation, number: int) -> Iterator[tuple[str, Origin]]:
        for symbol in found.nodes[0].named:
            given = (node.named[symbol] for node in found.nodes)
            values = dict.fromkeys(value for value in given if isinstance(value, Node))
            origins = (self._origin(value, number) for value in values)
            known = [origin for origin in origins if origin is not None]
            if known:
                yield symbol, max(known, key=lambda origin: (origin.same, bool(origin.steps)))

    def _origin(self, value: Node, number: int) -> Origin | None:
        behind, between = self._behind(value, number)
        moves = {node: self.way.elasticity(node, of=value, among=between) or 0.0 for node in behind}
        for node, moved in moves.items():
            if _same(node.value, value.value) and abs(moved - 1) < _LISTED:
                return self._named([node], same=True)
        # A whole number by which a model counts has no small changes.
        moved_by = {n: abs(m) for n, m in moves.items() if not isinstance(n.value, int)}
        found = [n for n, moved in moved_by.items() if moved >= _LISTED]
        found.sort(key=lambda node: -moved_by[node])
        return self._named(found[:_MOST], same=False) if found else None

    def _behind(self, value: Node, number: int) -> tuple[list[Node], set[Node]]:
        """Return the nearest formulas that are shown, and figures, that a number is made of.

        And what lies between.
        """
        found: list[Node] = []
        seen: set[Node] = set()
        left = [value]
        while left:
            node = left.pop()
            if node in seen:
                continue
            seen.add(node)
            if node.kind == "figure" or self.number.get(node, number) != number:
                found.append(node)
            elif node.kind == "definition" or node in self.number:
                left += node.sources()
        return found, seen

    def _named(self, nodes: Iterable[Node], same: bool) -> Origin:
        device = self.prediction.details.device
        steps = sorted({self.number[node] for node in nodes if node in self.number})
        figures = {n.name: _figure(device, n.name) for n in nodes if n.kind == "figure"}
        return Origin(tuple(steps), figures, same)


def _figure(device: Device, name: str) -> Figure:
    """Return a figure of a device, or a coefficient of its architecture, with its origin."""
    if name in device.figures:
        return device.figures[name]
    found = device.coefficients.origins[name]
    values = found.value if isinstance(found.value, tuple) else ()
    value = max(values) if isinstance(found.value, tuple) else found.value
    return Figure(
        value, found.unit, found.kind, found.source, found.note, found.standard_error, (), values
    )


def _stage(found: _Evaluation) -> str:
    formula = found.nodes[0].formula
    assert formula is not None
    folder = formula.module.removeprefix("perfmodel.models.").split(".")[0]
    return _SECTIONS.get(folder, "Launch")


def _numbers(node: Node) -> tuple[Any, ...]:
    """Return what makes two evaluations the same: the formula and its numbers."""
    given = (_bytes(value) for value in node.named.values())
    return (node.formula, *node.named, *given)


def _bytes(value: Any) -> bytes:
    plain = value.value if isinstance(value, Node) else value
    return np.asarray(plain, dtype=float).ravel().tobytes()


def _one_of(node: Node) -> tuple[dict[str, float], float, str]:
    """Return the numbers of a formula and its result; of several, those of the largest result."""
    plain = {n: v.value if isinstance(v, Node) else v for n, v in node.named.items()}
    names = list(plain)
    *parts, results = np.broadcast_arrays(*map(np.atleast_1d, (*plain.values(), node.value)))
    place = int(np.argmax(results))
    values = {n: float(part.ravel()[place]) for n, part in zip(names, parts, strict=True)}
    count = len({tuple(row) for row in np.stack([p.ravel() for p in (*parts, results)]).T})
    note = f"the largest of {count}" if count > 1 else ""
    return values, float(results.ravel()[place]), note


def _same(value: Any, other: Any) -> bool:
    first, second = np.ravel(value), np.ravel(other)
    return bool(scalar(first) == scalar(second) and np.all(first == first[0]))
