"""A ladder as a table: what each rung reaches, what binds it, what the next one removes."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType

from perfmodel.prediction.ladder import Removed, Rung
from perfmodel.reports import units
from perfmodel.reports.binding_text import TERMS
from perfmodel.reports.tables import plain, table


def ladder_report(rungs: Sequence[Rung]) -> RenderableType:
    """Return the table of a ladder, simplest rung first, at most 80 columns wide."""
    first = rungs[0].prediction
    names = {p.name for r in rungs for p in r.prediction.details.instance.kernel.parameters}
    sizes = ", ".join(f"{n}={first.params[n]}" for n in ("M", "N", "K") if n in names)
    precisions = {r.prediction.details.instance.kernel.precision for r in rungs}
    rows = [
        (
            str(r.prediction.mapping),
            units.flop_rate(r.prediction.roofline.flop_per_s),
            units.percent(r.share),
            "" if r.gain is None else f"{r.gain:.2f} x",
            TERMS.get(r.prediction.bottleneck, r.prediction.bottleneck),
            _next(r.next_removes),
        )
        for r in rungs
    ]
    headers = ("rung", "reaches", "of last", "gain", "bound by", "the next rung removes")
    notes = []
    if len(precisions) > 1:
        notes.append(plain("of last: of the last rung of the same precision"))
    warnings = dict.fromkeys(w for r in rungs for w in r.prediction.warnings)
    return Group(
        plain(f"{first.kernel} on {first.device} ({first.details.device.title}), {sizes}", "bold"),
        plain(f"timed by {first.timing}, {first.cache} L2"),
        "",
        table(headers, rows, align=["left", "right", "right", "right", "left", "left"]),
        *notes,
        *(plain(f"warning  {warning}") for warning in warnings),
    )


def _next(removed: Removed | None) -> str:
    if removed is None:
        return ""
    before, after = units.seconds(removed.before), units.seconds(removed.after)
    return f"{TERMS.get(removed.term, removed.term)}: {before} to {after}"
