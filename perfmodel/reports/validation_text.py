"""A validation in a terminal: the scoreboard, by regime and protocol, and the worst cases."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType

from perfmodel.reports.tables import Align, beside, plain, table
from perfmodel.reports.validation_tables import (
    SCORE_HEADERS,
    TRANSFER_HEADERS,
    Cells,
    score_rows,
    transfer_rows,
    worst_rows,
)
from perfmodel.validation.scores import by_protocol, by_regime, by_sweep
from perfmodel.validation.validate import Transfer, Validation

_SHORT = ("cases", "median", "90th", "bias", "covered", "data sheet", "fitted")


def validation_report(validation: Validation, transfers: Sequence[Transfer] = ()) -> RenderableType:
    """Return the scoreboard of a validation for any width of terminal."""
    held, fit = validation.used("validation"), validation.used("fit")
    main = held or fit
    what = "never fitted on" if held else "of which some may have been fitted on"
    parts: list[RenderableType] = [
        plain(f"Validation of {validation.device.name} ({validation.device.title})", "bold"),
        plain(
            f"{len(main)} measured launches, {what}; {len(fit)} for fitting, "
            f"{validation.left_out} flagged and left out"
        ),
        "",
        _scores("regime", score_rows(by_regime(main))),
        "",
        _scores("protocol", score_rows(by_protocol(main))),
        "",
        _scores("sweep", score_rows(by_sweep(main))),
        "",
        plain("Errors are predicted over measured time, less one; the last columns are those of"),
        plain("rooflines, from the data sheet and with three constants fitted."),
        "",
        plain("Worst ten", "bold"),
    ]
    for label, protocol, measured, predicted, error, regime, why in worst_rows(main):
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
            table(TRANSFER_HEADERS, transfer_rows(transfers), align=_aligned(2, 5)),
        ]
    return Group(*parts)


def sample_report(validation: Validation, step: int) -> RenderableType:
    """Return the scoreboard of a sample, one in `step` launches, which says that it is one."""
    main = validation.used("validation") or validation.used("fit")
    some = len(validation.judged)
    return Group(
        plain(f"First table of {validation.device.name}: a sample, not the whole", "bold"),
        plain(
            f"One in {step} of the measured launches, in the order of the recordings: {some}, of "
            f"which {len(main)} are scored; the whole follows."
        ),
        "",
        _scores("regime", score_rows(by_regime(main))),
    )


def _scores(what: str, rows: list[Cells]) -> RenderableType:
    assert len(_SHORT) == len(SCORE_HEADERS)
    return table((what, *_SHORT), rows, align=_aligned(1, len(_SHORT)))


def _aligned(left: int, right: int) -> list[Align]:
    first: list[Align] = ["left" for _ in range(left)]
    rest: list[Align] = ["right" for _ in range(right)]
    return first + rest
