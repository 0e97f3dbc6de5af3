"""How the steps of a block follow one another: copies, waits and work, as the time model has them.

Two kinds of blocks work in steps: those whose threads wait at barriers for a step's loads, where
other resident blocks work meanwhile, and those that copy the data of later steps ahead.
"""

from typing import Any, Final, Literal

import numpy as np

from perfmodel.errors import PerfmodelError
from perfmodel.fields import fields_of
from perfmodel.models.time.step_work import work_times
from perfmodel.models.time.steps import block_time
from perfmodel.models.time.tiles import tiles_of
from perfmodel.prediction import Prediction
from perfmodel.records import record
from perfmodel.reports import units
from perfmodel.reports.step import scalar

Role = Literal["start", "copy", "ready", "wait", "work", "end"]
MOST_ROWS: Final = 6
"""Blocks or stages that a picture shows."""
_SHOWN: Final = 5
"""Steps that it shows at the start, beyond those that shared memory holds."""
_MEMORY: Final = ("port", "l2", "dram")
_OTHERS: Final = ("launch", "ramp", "tiles", "parts", "waits", *_MEMORY)
"""Terms of blocks that copy ahead which are no pipes."""


@record
class Span:
    """What a row does from one time to another [s], for a step or for none."""

    role: Role
    start: float
    stop: float
    step: int | None = None


@record
class Row:
    """A resident block, a stage of shared memory, or a unit, with what it does."""

    name: str
    spans: tuple[Span, ...]


@record
class Pipeline:
    """The steps of a block over time."""

    kernel: str
    device: str
    # whether data of later steps is copied while a block works, or it waits for each step's
    ahead: bool
    steps: int  # steps of a block
    stages: int  # steps whose data shared memory holds
    resident: int  # blocks that an SM holds at a time
    work_s: float  # work of a step with nothing else on the SM [s]
    # of blocks that copy ahead, what their SM needs to take in the data of a step; of others, how
    # long a block waits for it, barriers included [s]
    memory_s: float
    period_s: float  # from one step of a block to its next [s]
    # pipe and level: terms that these are of: of the busiest pipe, and of the memory level that
    # binds
    pipe: str
    level: str
    # start_s and end_s: until the first data is there; after the last step [s]
    start_s: float
    end_s: float
    rows: tuple[Row, ...]
    cut: tuple[float, float] | None = None  # from when to when nothing is shown [s]

    @property
    def text(self) -> str:
        """The numbers as sentences."""
        work, memory, period = map(units.seconds, (self.work_s, self.memory_s, self.period_s))
        if self.ahead:
            binds = self.pipe if self.work_s >= self.memory_s else self.level
            return (
                f"A tile takes {units.several(self.steps, 'step')}, one every {period}: the work "
                f"of a step needs {work} ({self.pipe}), its data {memory} ({self.level}), so "
                f"{binds} binds. {units.several(self.stages, 'stage')} in shared memory. "
                f"{units.seconds(self.start_s)} until the first data is there; a tile needs "
                f"{units.seconds(self.end_s)} besides its steps."
            )
        return (
            f"A block takes {units.several(self.steps, 'step')}, one every {period}: it waits "
            f"{memory} for loads and barriers, then works, {work} if it had the SM to itself. "
            f"{units.several(self.resident, 'resident block')} per SM: while one waits, others "
            "work."
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as the object ``perfmodel.draw.pipeline/1``."""
        names = (
            *("kernel", "device", "ahead", "steps", "stages", "resident", "work_s", "memory_s"),
            *("period_s", "pipe", "level", "start_s", "end_s"),
        )
        return {
            "schema": "perfmodel.draw.pipeline/1",
            **fields_of(self, *names),
            "rows": [
                {
                    "name": row.name,
                    "spans": [
                        {"role": s.role, "step": s.step, "start_s": s.start, "stop_s": s.stop}
                        for s in row.spans
                    ],
                }
                for row in self.rows
            ],
        }


def has_steps(prediction: Prediction) -> bool:
    """Say whether the blocks of a launch work in steps."""
    stated = prediction.details.instance.pipeline
    if stated is not None:
        return scalar(np.asarray(stated.waits)) == 0
    found = prediction.details.time.resources
    return found is not None and found.steps is not None and scalar(found.steps.steps) >= 1


def pipeline(prediction: Prediction) -> Pipeline:
    """Return how the steps of a launch's blocks follow one another.

    Raises `PerfmodelError` if its blocks do not work in steps.
    """
    if not has_steps(prediction):
        name = prediction.label
        if prediction.details.instance.pipeline is not None:
            raise PerfmodelError(
                f"{name} has no pipeline to draw with these parameters: each step waits for data "
                "that was asked for one step before; take rows of whole 16 bytes"
            )
        raise PerfmodelError(
            f"{name} has no pipeline to draw: its blocks neither copy ahead nor wait at barriers "
            "in a loop, as those of gemm --mapping smem and --mapping tensor-core do"
        )
    waits = prediction.details.instance.pipeline is None
    return _waiting(prediction) if waits else _ahead(prediction)


def _stages(prediction: Prediction) -> int:
    return int(scalar(np.asarray(prediction.details.instance.values.get("stages", 1))))


def _waiting(prediction: Prediction) -> Pipeline:
    """Return the steps of blocks that wait for the loads of each."""
    found = prediction.details.time.resources
    assert found is not None
    assert found.steps is not None
    steps, device = found.steps, prediction.details.device
    resident = max(1, round(scalar(steps.resident)))
    count = scalar(steps.steps)
    work = work_times(steps.work, range(1, resident + 1), device)
    wait = scalar(steps.waits_s) / count
    each = scalar(block_time(steps.waits_s, work, np.atleast_1d(float(resident))))
    period = max(each * resident / count, wait)
    shown = min(resident, MOST_ROWS)
    start = scalar(steps.outside)
    few = min(max(1, round(count)), _SHOWN - 1)
    rows = []
    for block in range(shown):
        at = start + block * period / shown
        spans = [Span("start", at - start, at)]
        for step in range(few):
            spans += [Span("wait", at, at + wait, step), Span("work", at + wait, at + period, step)]
            at += period
        rows.append(Row(f"block {block + 1}", tuple(spans)))
    return Pipeline(
        kernel=prediction.label,
        device=device.title,
        ahead=False,
        steps=round(count),
        stages=_stages(prediction),
        resident=resident,
        work_s=scalar(work[0]) / count,
        memory_s=wait,
        period_s=period,
        pipe="",
        level="",
        start_s=start,
        end_s=0.0,
        rows=tuple(rows),
    )


def _ahead(prediction: Prediction) -> Pipeline:
    """Return the steps of blocks that copy the data of later ones."""
    details, terms = prediction.details, prediction.terms_s
    tiles = tiles_of(details.instance, details.device)
    waves, turns = scalar(tiles.waves), scalar(tiles.turns)
    steps = _steps_of_tile(prediction)
    pipes = {name: time for name, time in terms.items() if name not in _OTHERS}
    pipe = max(pipes, key=lambda name: pipes[name])
    level = max(_MEMORY, key=lambda name: terms.get(name, 0.0))
    work, memory = pipes[pipe] / (waves * steps), terms.get(level, 0.0) / (waves * steps)
    start, end = terms["ramp"], terms["tiles"] / turns
    stages = max(2, _stages(prediction))
    found = _Ahead(stages, steps, start, work, memory, end, details.device.l2_latency)
    stated = details.instance.pipeline
    assert stated is not None
    return Pipeline(
        kernel=prediction.label,
        device=details.device.title,
        ahead=True,
        steps=steps,
        stages=stages,
        resident=max(1, round(scalar(np.asarray(stated.resident)))),
        work_s=work,
        memory_s=memory,
        period_s=found.period,
        pipe=pipe,
        level=level,
        start_s=start,
        end_s=end,
        rows=_rows_ahead(pipe, found),
        cut=found.cut,
    )


@record
class _Ahead:
    """When a block that copies ahead asks for, gets and works on the data of its steps [s].

    Copies are served in order, one every `memory`; a stage is filled again once its step is done;
    as the time model has it, data is there when its step begins.
    """

    stages: int
    steps: int
    start: float
    work: float
    memory: float
    end: float
    latency: float

    @property
    def period(self) -> float:
        """From one step to the next."""
        return max(self.work, self.memory)

    @property
    def few(self) -> int:
        """How many steps are shown from the first on."""
        return min(self.steps, self.stages + _SHOWN)

    @property
    def shown(self) -> list[int]:
        """The steps that are shown: the first, and the last two."""
        return sorted({*range(self.few), *range(max(0, self.steps - 2), self.steps)})

    @property
    def cut(self) -> tuple[float, float] | None:
        """What is left out between them."""
        if self.few + 2 >= self.steps:
            return None
        return self.begins(self.few), self.begins(self.steps - 2)

    def begins(self, step: int) -> float:
        """When the work on a step begins."""
        return self.start + step * self.period

    def asked(self, step: int) -> float:
        """When the copy of its data is issued."""
        return self.begins(step - self.stages) + self.work if step >= self.stages else 0.0

    def arrives(self, step: int) -> float:
        """When its data is there."""
        if step == 0:
            return self.start
        soonest = max(self.asked(step) + self.latency, self.arrives(step - 1) + self.memory)
        return min(self.begins(step), soonest)


def _rows_ahead(pipe: str, found: _Ahead) -> tuple[Row, ...]:
    """Return a row for each stage of shared memory, and one of the pipe."""
    rows = []
    for stage in range(min(found.stages, MOST_ROWS)):
        spans = []
        for step in (step for step in found.shown if step % found.stages == stage):
            begins = found.begins(step)
            if step < found.few:
                asked, arrives = found.asked(step), found.arrives(step)
                spans += [Span("copy", asked, arrives, step), Span("ready", arrives, begins, step)]
            spans.append(Span("work", begins, begins + found.work, step))
        rows.append(Row(f"stage {stage + 1}", tuple(s for s in spans if s.stop > s.start)))
    busy = [Span("work", found.begins(n), found.begins(n) + found.work, n) for n in found.shown]
    done = busy[-1].stop
    every = (Span("start", 0.0, found.start), *busy, Span("end", done, done + found.end))
    return (*rows, Row(pipe, every))


def _steps_of_tile(prediction: Prediction) -> int:
    """Return the turns of the outermost loop with most of them around a load."""
    instance = prediction.details.instance
    nests = [instance.kernel.loop_nest(r.access.loop) for r in prediction.details.requests
             if r.access.kind == "load"]  # fmt: skip
    return max([1, *(int(scalar(np.asarray(instance.trips[n[0].variable]))) for n in nests if n)])
