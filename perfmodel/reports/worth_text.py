"""What mechanisms are worth, as a table or as JSON."""

from __future__ import annotations

from typing import Any, Final

from perfmodel.reports.fields import fields_of
from perfmodel.reports.lines import Piece, plain, stack
from perfmodel.reports.tables import table
from perfmodel.validation.scores import Score
from perfmodel.validation.worth import Worth

WORTH_SCHEMA: Final = "perfmodel.worth/1"
_HEADERS: Final = ("regime", "launches", "median", "without", "90th", "without", "bias", "without")


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
        "schema": WORTH_SCHEMA,
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
