"""A measured launch with its prediction, and files that have one a row."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, get_type_hints

import numpy as np

from perfmodel.chunks import Workers
from perfmodel.expressions import evaluate, names, parse
from perfmodel.rows_file import Columns, RowsFile, decoded, fill

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Case:
    """One measured launch and its prediction; times in seconds."""

    sweep: str
    topic: str
    line: int  # in the topic's CSV
    kernel: str
    params: Mapping[str, int | str]
    use: str  # "fit" or "validation"
    # Protocol.
    timing: str
    cache: str
    measured_s: float
    predicted_s: float
    # Ends of the 90% interval of the prediction.
    low_s: float
    high_s: float
    # Of the prediction: largest term, regime, and whose residuals its interval has.
    bottleneck: str
    regime: str
    residual_class: str
    # Standard deviation of the predicted time from the device's figures, as a share of it.
    spread: float
    flop: float  # useful operations
    flop_peak: float  # data-sheet peak of their precision [FLOP/s]
    # Bytes that a roofline is given: each array once, or the DRAM bytes predicted if more [B].
    roofline_bytes: float

    @property
    def interval_s(self) -> tuple[float, float]:
        """The 90% interval of the prediction."""
        return self.low_s, self.high_s

    @property
    def label(self) -> str:
        """Kernel and sizes, as one text."""
        return " ".join([self.kernel, *(f"{name}={value}" for name, value in self.params.items())])

    @property
    def numbers(self) -> dict[str, int]:
        """Parameters that are no words."""
        return {name: v for name, v in self.params.items() if not isinstance(v, str)}

    def meets(self, condition: str, where: str, **more: float) -> bool:
        """Say whether a condition on the numbers holds; not if it names what the case has not.

        `where` names the condition for errors, and `more` are further numbers.
        """
        node, known = parse(condition, where=where), {**more, **self.numbers}
        return names(node) <= known.keys() and bool(evaluate(node, known))

    @property
    def error(self) -> float:
        """Predicted over measured time, less one."""
        return self.predicted_s / self.measured_s - 1

    @property
    def covered(self) -> bool:
        """Whether the 90% interval holds the measured time."""
        return self.low_s <= self.measured_s <= self.high_s


def written_cases(
    rows: RowsFile,
    work: Callable[[C], Sequence[Case]],
    chunks: Sequence[C],
    workers: Workers,
    tell: Callable[[int], Any],
) -> list[Case]:
    """Return the cases of all chunks, which a file has in the end, those of earlier runs read.

    `tell` is told how many chunks are done.
    """
    if (done := rows.resume()) >= 0:
        parts = range(done, len(chunks))
        fill(rows, parts, chunks.__getitem__, partial(_columns_of, work), workers, tell)
    columns = decoded(rows.path.read_bytes(), rows.path.suffix, row_kinds())
    columns["params"] = [json.loads(params) for params in columns["params"]]
    return [Case(*cells) for cells in zip(*columns.values(), strict=True)]


def row_kinds() -> dict[str, type]:
    """Return the columns of a file of cases, in their order, with the types of their values."""
    return get_type_hints(Case) | {"params": str}


def _columns_of(work: Callable[[C], Sequence[Case]], chunk: C) -> Columns:
    cases, kinds = work(chunk), row_kinds()
    cells: dict[str, list[Any]] = {n: [getattr(case, n) for case in cases] for n in kinds}
    cells["params"] = [json.dumps(dict(case.params)) for case in cases]
    return {n: np.array(cells[n], dtype=object if k is str else k) for n, k in kinds.items()}
