"""A validation in a terminal: the scoreboard, by regime and protocol, and the worst cases."""

from __future__ import annotations

from collections.abc import Sequence

from perfmodel.reports.lines import Piece, plain, stack
from perfmodel.reports.tables import beside
from perfmodel.reports.validation_tables import score_table, transfer_table, worst_table
from perfmodel.validation.scores import by_protocol, by_regime, by_sweep
from perfmodel.validation.validate import Transfer, Validation


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
