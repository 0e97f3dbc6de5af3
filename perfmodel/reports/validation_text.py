"""A validation in a terminal and as JSON: the scoreboard, the worst cases, a mechanism's worth.

The Markdown report shares the tables.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from perfmodel.fields import fields_of
from perfmodel.reports import units
from perfmodel.reports.lines import Piece, plain, stack
from perfmodel.reports.tables import Table, beside, table
from perfmodel.validation.case import Case
from perfmodel.validation.reasons import reason
from perfmodel.validation.scores import (
    Judged,
    Score,
    by_protocol,
    by_regime,
    by_sweep,
    score,
    worst,
)
from perfmodel.validation.targets import reached
from perfmodel.validation.validate import Transfer, Validation
from perfmodel.validation.worth import Worth

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
    rows = ((*_named(s), f"{s.coverage:.0%}", share(s.data_sheet), share(s.fitted)) for s in scores)
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


def _named(s: Score) -> tuple[str, ...]:
    return (s.name, str(s.cases), share(s.median), share(s.ninetieth), f"{s.bias:+.1%}")


def _kernel(judged: Judged) -> str:
    sweep, kernel = judged.case.sweep, judged.case.kernel
    return kernel if sweep == kernel else f"{sweep}: {kernel}"


def _transfer_row(
    device: str, name: str, taught: list[Judged], own: list[Judged]
) -> tuple[str, ...]:
    catalogue = share(score("", own).median) if own else "-"
    return (device, *_named(score(name, taught)), catalogue)


def share(value: float) -> str:
    """Return a share of 1 in percent with a decimal; "-" where there is none."""
    return "-" if math.isnan(value) else f"{value:.1%}"


_HEADERS: Final = ("regime", "launches", "median", "without", "90th", "without", "bias", "without")


def validation_report(validation: Validation, transfers: Sequence[Transfer] = ()) -> Piece:
    """Return the scoreboard of a validation for any width of terminal."""
    held, fit = validation.used("validation"), validation.used("fit")
    main = held or fit
    what = "never fitted on" if held else "of which some may have been fitted on"
    parts: list[Piece | str] = [
        plain(f"Validation of {validation.device.name} ({validation.device.title})", "bold"),
        plain(
            f"{len(main)} measured launches, {what}; {len(fit)} for fitting, "
            f"{validation.left_out} flagged and left out"
        ),
        "",
        score_table("regime", by_regime(main), short=True),
        "",
        score_table("protocol", by_protocol(main), short=True),
        "",
        score_table("sweep", by_sweep(main), short=True),
        "",
        plain("Errors are predicted over measured time, less one; the last columns are those of"),
        plain("rooflines, from the data sheet and with three constants fitted."),
        "",
        plain("Worst ten", "bold"),
    ]
    for label, protocol, measured, predicted, error, regime, why in worst_table(main).rows:
        parts.append(
            beside(
                f"{error:>8}  ",
                plain(f"{label} ({protocol}): {predicted} for {measured}, {regime}\n{why}"),
            )
        )
    if transfers:
        parts += [
            "",
            plain(f"Other GPUs, predicted from {transfers[0].teacher}", "bold"),
            transfer_table(transfers),
        ]
    return stack(*parts)


def sample_report(validation: Validation, step: int) -> Piece:
    """Return the scoreboard of a sample, one in `step` launches, which says that it is one."""
    main = validation.used("validation") or validation.used("fit")
    some = len(validation.judged)
    return stack(
        plain(f"First table of {validation.device.name}: a sample, not the whole", "bold"),
        plain(
            f"One in {step} of the measured launches, in the order of the recordings: {some}, of "
            f"which {len(main)} are scored; the whole follows."
        ),
        "",
        score_table("regime", by_regime(main), short=True),
    )


def validation_record(validation: Validation, transfers: Sequence[Transfer] = ()) -> dict[str, Any]:
    """Return a validation as what JSON can hold; what does not exist is null."""
    return {
        "schema": "perfmodel.validation/1",
        "device": validation.device.name,
        "gpu": validation.machine.get("gpu"),
        "folders": list(validation.folders),
        "published": validation.published,
        "flagged": validation.left_out,
        "undescribed": validation.undescribed,
        "fitted_roofline": {t: asdict(c) for t, c in validation.constants.items()},
        "validation": _scores(validation.used("validation")),
        "fit": _scores(validation.used("fit")),
        "targets": [
            {**asdict(found), "met": found.met}
            for found in reached([j.case for j in validation.judged])
        ],
        "worst": [_case(j) for j in worst(validation.used("validation") or validation.judged)],
        "transfer": [
            fields_of(t, "device", "teacher") | {"taught": _scores(t.taught), "own": _scores(t.own)}
            for t in transfers
        ],
    }


def _scores(judged: Sequence[Judged]) -> dict[str, list[dict[str, Any]]]:
    return {
        "regimes": [_score(s) for s in by_regime(judged)],
        "protocols": [_score(s) for s in by_protocol(judged)],
        "sweeps": [_score(s) for s in by_sweep(judged)],
    }


def _score(score: Score) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in asdict(score).items()
    }


def _case(judged: Judged) -> dict[str, Any]:
    case = judged.case
    return {
        **fields_of(case, "sweep", "kernel"),
        "params": dict(case.params),
        "protocol": fields_of(case, "timing", "cache"),
        **fields_of(case, "measured_s", "predicted_s", "interval_s", "error", "regime"),
        "suspected": reason(case) or None,
    }


def worth_report(worth: Worth) -> Piece:
    """Return the errors with the mechanisms beside those without, a row a regime."""
    rows = [
        (
            on.name,
            str(on.cases),
            *(f"{100 * value:.2f}%" for value in (on.median, off.median)),
            *(f"{100 * value:.1f}%" for value in (on.ninetieth, off.ninetieth)),
            *(f"{100 * value:+.1f}%" for value in (on.bias, off.bias)),
        )
        for on, off in worth.scores
    ]
    return stack(
        plain(f"{worth.device.name} without {', '.join(worth.mechanisms)}", "bold"),
        plain(
            f"{worth.changed} of {worth.launches} measured launches change; nothing is fitted again"
        ),
        "",
        table(_HEADERS, rows, "lrrrrrrr"),
        "",
        plain(
            "Errors are |predicted - measured| / measured; regimes are those with all mechanisms."
        ),
    )


def worth_record(worth: Worth) -> dict[str, Any]:
    """Return the same as the JSON object ``perfmodel.worth/1``; errors as shares."""
    return {
        "schema": "perfmodel.worth/1",
        "device": worth.device.name,
        "without": list(worth.mechanisms),
        "launches": worth.launches,
        "changed": worth.changed,
        "scores": [
            {"group": on.name, "cases": on.cases, "with": _errors(on), "without": _errors(off)}
            for on, off in worth.scores
        ],
    }


def _errors(found: Score) -> dict[str, Any]:
    return fields_of(found, "median", "ninetieth", "bias", "coverage")
