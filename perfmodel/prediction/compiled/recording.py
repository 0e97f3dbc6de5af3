"""One launch recorded by its parameters: what its numbers are made of, and what was decided."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from perfmodel.arrays import Array
from perfmodel.kernels import Instance, Kernel, bind
from perfmodel.kernels.bounds import surely_fits
from perfmodel.models.agreement import DisagreementError
from perfmodel.models.derivation import Recorded, figure, recording
from perfmodel.prediction.compiled.array_functions import NoProgramError
from perfmodel.prediction.compiled.calls import ROWS
from perfmodel.prediction.compiled.layouts import Layout, Read
from perfmodel.prediction.compiled.lowering import Moved, Program, program
from perfmodel.prediction.predict_many import batches_of

Found = TypeVar("Found")
Evaluated = Callable[[Instance], Any]
"""Evaluates bound launches, as far as what is read of them needs."""


@dataclass(frozen=True, slots=True)
class RecordedLaunches(Generic[Found]):
    """The program of some launches, what its outputs are, and what they were when recorded.

    `launches` are the inputs of each launch, `outputs` the numbers that the models gave for it.
    """

    program: Program
    layout: Layout[Found]
    launches: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[float, ...], ...]


def record_bounds(kernel: Kernel, launch: Mapping[str, Any]) -> Program:
    """Return a program without outputs, whose guards show that accesses fit their buffers.

    Raises `NoProgramError` if intervals do not show it of this launch.
    """
    inputs = _inputs([launch])
    with recording() as decisions:
        if not surely_fits(bind(kernel, {**launch, **inputs}), _one):
            raise NoProgramError("accesses that only points show to fit")
    return program([each.node for each in inputs.values()], (), decisions)


def record_launches(
    kernel: Kernel,
    launches: Sequence[Mapping[str, Any]],
    evaluated: Evaluated,
    read: Read[Found],
    general: bool = False,
    usual: int = 0,
) -> RecordedLaunches[Found]:
    """Return the program of what is read of launches like these, by their whole parameters.

    Where they take different forms, that of the last and of those which take the same; or that
    which most of the first `usual` ones take, and of all launches which take the same. A `general`
    program takes longer and holds for more launches.

    Raises `NoProgramError` if the way to its numbers has something that a program cannot do.
    """
    left = [*launches]
    if len(left) > 1:
        left, usual = _parted(left, _batches(kernel, left), usual)
    while True:
        try:
            with _without_collection():
                return _record(kernel, left, evaluated, read, general)
        except DisagreementError as parted:
            left, usual = _parted(left, np.resize(parted.labels, len(left)), usual)


def _batches(kernel: Kernel, launches: Sequence[Mapping[str, Any]]) -> Array:
    """Return labels of launches: those of one have one block and one width of each access."""
    last = launches[-1]
    columns = {name: np.array([each[name] for each in launches]) for name in last}
    every = {n: c if c.dtype.kind in "iu" else last[n] for n, c in columns.items()}
    labels = np.zeros(len(launches), dtype=np.int64)
    for label, (places, _) in enumerate(batches_of(kernel, every, np.arange(len(launches)))):
        labels[places] = label
    return labels


def _parted(
    launches: Sequence[Mapping[str, Any]], labels: Array, usual: int
) -> tuple[list[Mapping[str, Any]], int]:
    """Return the launches of one label, and how many of them are of the first `usual` ones."""
    kept = labels[-1]
    if usual:
        each, counts = np.unique(labels[:usual], return_counts=True)
        kept = each[counts.argmax()]
    same = labels == kept
    alike = [row for row, held in zip(launches, same, strict=True) if held]
    return alike, int(same[:usual].sum())


@contextmanager
def _without_collection() -> Iterator[None]:
    """Keep Python from looking for garbage among tens of thousands of nodes again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _record(
    kernel: Kernel,
    launches: Sequence[Mapping[str, Any]],
    evaluated: Evaluated,
    read: Read[Found],
    general: bool,
) -> RecordedLaunches[Found]:
    inputs = _inputs(launches)
    with recording(in_parts=True, general=general) as decisions:
        layout, outputs = read(evaluated(bind(kernel, {**launches[-1], **inputs})))
    nodes = [each.node for each in inputs.values()]
    # What the models give for the same launches when nobody records: what a recording lost shows.
    plain = {name: each.node.value for name, each in inputs.items()}
    _, models = read(evaluated(bind(kernel, {**launches[-1], **plain})))
    columns = [np.ravel(output) for output in models]
    rows = range(min(len(launches), ROWS))
    return RecordedLaunches(
        program(nodes, list(map(_node, outputs)), decisions),
        layout,
        launches=tuple(tuple(launches[i][name] for name in inputs) for i in rows),
        outputs=tuple(tuple(c[i % len(c)].item() for c in columns) for i in rows),
    )


def _inputs(launches: Sequence[Mapping[str, Any]]) -> dict[str, Recorded]:
    """Return the whole numbers among the parameters of launches, recorded."""
    names = [name for name, value in launches[-1].items() if type(value) is int]
    count = ROWS if len(launches) > 1 else 1
    columns = {n: np.resize([launch[n] for launch in launches], count) for n in names}
    return {name: figure(name, column) for name, column in columns.items()}


def _one(value: Any) -> Any:
    """Return the first whole number of an array, recorded if that is."""
    return np.ravel(value)[0] if isinstance(value, np.ndarray) else value


def _node(value: Any) -> Any:
    if isinstance(value, Moved):
        return value
    return value.node if isinstance(value, Recorded) else np.ravel(value)[0].item()
