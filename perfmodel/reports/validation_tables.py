"""The tables of a validation: what the terminal and the Markdown report share."""

import math
from collections.abc import Sequence
from typing import Final

from perfmodel.reports import units
from perfmodel.reports.tables import Table
from perfmodel.validation.case import Case
from perfmodel.validation.reasons import reason
from perfmodel.validation.scores import Judged, Score, score, worst
from perfmodel.validation.targets import reached
from perfmodel.validation.validate import Transfer, Validation

_SCORE: Final = ("cases", "median error", "90th percentile", "bias", "in 90% interval")
_SHORT: Final = ("cases", "median", "90th", "bias", "covered", "data sheet", "fitted")
_WORST: Final = ("case", "protocol", "measured", "predicted", "error", "regime", "suspected")
_TARGET: Final = ("target", "protocol", "cases", "what", "wanted", "reached", "met")
_KINDS: Final = {
    "median": "median error",
    "worst": "largest error",
    "worst_us": "difference",
    "knee_steps": "knee, in sizes",
}
_USES: Final = {"validation": "never fitted on", "fit": "for fitting", "all": "of all sizes"}


def score_table(what: str, scores: Sequence[Score], short: bool = False) -> Table:
    """Return a row for each score, its name first; `short` is for terminals."""
    rows = ((*_score(s), f"{s.coverage:.0%}", share(s.data_sheet), share(s.fitted)) for s in scores)
    names = _SHORT if short else (*_SCORE, "data-sheet roofline", "fitted roofline")
    return Table("", (what, *names), tuple(rows), align="lrrrrrrr")


def worst_table(judged: Sequence[Judged]) -> Table:
    """Return a row for each of the worst ten cases, with the suspected reason."""
    rows = (
        (
            j.case.label,
            f"{j.case.timing}, {j.case.cache}",
            units.seconds(j.case.measured_s),
            units.seconds(j.case.predicted_s),
            f"{j.case.error:+.1%}",
            j.case.regime,
            reason(j.case) or "unknown",
        )
        for j in worst(judged)
    )
    return Table("", _WORST, tuple(rows), align="llrrrll")


def baseline_table(validation: Validation) -> Table:
    """Return the constants of the fitted roofline for each way of timing."""
    rows = (
        (timing, f"{c.bandwidth:.3f}", f"{c.compute:.3f}", units.seconds(c.floor), str(c.cases))
        for timing, c in validation.constants.items()
    )
    columns = ("timing", "bandwidth efficiency", "compute efficiency", "floor", "cases")
    return Table("", columns, tuple(rows), align="lrrrr")


def transfer_table(transfers: Sequence[Transfer]) -> Table:
    """Return a row for each GPU and part of a transfer test, the catalogue's error last.

    The parts are the kernels of what others published, and the regimes of what we measured.
    """
    rows = []
    for transfer in transfers:
        part = _kernel if transfer.published else lambda judged: judged.case.regime
        for name in dict.fromkeys(map(part, transfer.taught)):
            some = [j for j in transfer.taught if part(j) == name]
            pairs = zip(transfer.taught, transfer.own, strict=False)  # the same launches, or none
            own = [o for j, o in pairs if part(j) == name]
            rows.append(_transfer_row(transfer.device, name, some, own))
    taught = [j for transfer in transfers for j in transfer.taught]
    own = [j for transfer in transfers for j in transfer.own]
    rows.append(_transfer_row("all", "all", taught, own))
    columns = ("GPU", "sweep or regime", *_SCORE[:4], "with the catalogue's figures")
    return Table("", columns, tuple(rows), align="llrrrrr")


def target_table(cases: Sequence[Case]) -> Table:
    """Return a row for each target and protocol: what was wanted and what was reached."""
    rows = []
    for found in reached(cases):
        shown = {"worst_us": "{:.2f} us", "knee_steps": "{:.0f}"}.get(found.what, "{:.1%}")
        what = (f"{found.cases} {_USES[found.use]}", _KINDS[found.what])
        numbers = (shown.format(found.wanted), shown.format(found.reached))
        rows.append((found.name, found.protocol, *what, *numbers, "yes" if found.met else "no"))
    return Table("", _TARGET, tuple(rows), align="llllrrl")


def _score(s: Score) -> tuple[str, ...]:
    return (s.name, str(s.cases), share(s.median), share(s.ninetieth), f"{s.bias:+.1%}")


def _kernel(judged: Judged) -> str:
    sweep, kernel = judged.case.sweep, judged.case.kernel
    return kernel if sweep == kernel else f"{sweep}: {kernel}"


def _transfer_row(
    device: str, name: str, taught: list[Judged], own: list[Judged]
) -> tuple[str, ...]:
    catalogue = share(score("", own).median) if own else "-"
    return (device, *_score(score(name, taught)), catalogue)


def share(value: float) -> str:
    """Return a share of 1 in percent with a decimal; "-" where there is none."""
    return "-" if math.isnan(value) else f"{value:.1%}"
