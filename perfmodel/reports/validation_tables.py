"""The tables of a validation, as text cells: what the terminal and the Markdown report share."""

from __future__ import annotations

import math
from collections.abc import Sequence

from perfmodel.reports import units
from perfmodel.validation.cases import Case
from perfmodel.validation.reasons import reason
from perfmodel.validation.scores import Judged, Score, score, worst
from perfmodel.validation.targets import reached
from perfmodel.validation.validate import Transfer

Cells = list[str]

SCORE_HEADERS = (
    "cases",
    "median error",
    "90th percentile",
    "bias",
    "in 90% interval",
    "data-sheet roofline",
    "fitted roofline",
)
WORST_HEADERS = ("case", "protocol", "measured", "predicted", "error", "regime", "suspected")
TARGET_HEADERS = ("target", "protocol", "cases", "what", "wanted", "reached", "met")
TRANSFER_HEADERS = (
    "GPU",
    "sweep or regime",
    "cases",
    "median error",
    "90th percentile",
    "bias",
    "with the catalogue's figures",
)


def score_rows(scores: Sequence[Score]) -> list[Cells]:
    """Return a row for each score, its name first."""
    return [
        [
            s.name,
            str(s.cases),
            share(s.median),
            share(s.ninetieth),
            signed(s.bias),
            f"{s.coverage:.0%}",
            share(s.data_sheet),
            share(s.fitted),
        ]
        for s in scores
    ]


def worst_rows(judged: Sequence[Judged], count: int = 10) -> list[Cells]:
    """Return a row for each of the worst cases, with the suspected reason."""
    return [
        [
            j.case.label,
            f"{j.case.timing}, {j.case.cache}",
            units.seconds(j.case.measured_s),
            units.seconds(j.case.predicted_s),
            signed(j.case.error),
            j.case.regime,
            reason(j.case) or "unknown",
        ]
        for j in worst(judged, count)
    ]


def transfer_rows(transfers: Sequence[Transfer]) -> list[Cells]:
    """Return a row for each GPU and part of a transfer test, the catalogue's error last.

    The parts are the kernels of what others published, and the regimes of what we measured.
    """
    rows = []
    for transfer in transfers:
        part = _kernel if transfer.published else _regime
        for name in dict.fromkeys(map(part, transfer.taught)):
            some = [j for j in transfer.taught if part(j) == name]
            pairs = zip(transfer.taught, transfer.own, strict=False)  # the same launches, or none
            own = [o for j, o in pairs if part(j) == name]
            rows.append(_transfer_row(transfer.device, name, some, own))
    taught = [j for transfer in transfers for j in transfer.taught]
    own = [j for transfer in transfers for j in transfer.own]
    return [*rows, _transfer_row("all", "all", taught, own)]


def _kernel(judged: Judged) -> str:
    sweep, kernel = judged.case.sweep, judged.case.kernel
    return kernel if sweep == kernel else f"{sweep}: {kernel}"


def _regime(judged: Judged) -> str:
    return judged.case.regime


def _transfer_row(device: str, name: str, taught: list[Judged], own: list[Judged]) -> Cells:
    s = score(name, taught)
    return [
        device,
        name,
        str(s.cases),
        share(s.median),
        share(s.ninetieth),
        signed(s.bias),
        share(score("", own).median) if own else "-",
    ]


def target_rows(cases: Sequence[Case]) -> list[Cells]:
    """Return a row for each target and protocol: what was wanted and what was reached."""
    labels = {
        "median": "median error",
        "worst": "largest error",
        "worst_us": "difference",
        "knee_steps": "knee, in sizes",
    }
    rows = []
    for found in reached(cases):
        shown = [
            share(value)
            if found.what in ("median", "worst")
            else f"{value:.2f} us"
            if found.what == "worst_us"
            else f"{value:.0f}"
            for value in (found.wanted, found.reached)
        ]
        used = {"validation": "never fitted on", "fit": "for fitting", "all": "of all sizes"}
        rows.append(
            [
                found.name,
                found.protocol,
                f"{found.cases} {used[found.use]}",
                labels[found.what],
                *shown,
                "yes" if found.met else "no",
            ]
        )
    return rows


def share(value: float) -> str:
    """Return a share of 1 in percent with a decimal; "-" where there is none."""
    return "-" if math.isnan(value) else f"{value:.1%}"


def signed(value: float) -> str:
    """Return a signed share of 1 in percent with a decimal."""
    return f"{value:+.1%}"
