"""A ladder as a table: what each rung reaches, what binds it, what the next one removes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from perfmodel.prediction.ladder import APART, Rung
from perfmodel.reports import units
from perfmodel.reports.binding_text import TERMS
from perfmodel.reports.lines import Piece, plain, stack
from perfmodel.reports.tables import table


def ladder_report(rungs: Sequence[Rung]) -> Piece:
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
            _rank(r),
            TERMS.get(r.prediction.bottleneck, r.prediction.bottleneck),
        )
        for r in rungs
    ]
    headers = ("rung", "reaches", "of last", "gain", "rank", "bound by")
    steps = [
        (f"{here.prediction.mapping} to {after.prediction.mapping}", _removed(here, after))
        for here, after in pairwise(rungs)
    ]
    notes = []
    if len(precisions) > 1:
        notes.append(plain("of last: of the last rung of the same precision"))
    notes += [plain(line) for line in _too_close(rungs)]
    warnings = dict.fromkeys(w for r in rungs for w in r.prediction.warnings)
    return stack(
        plain(f"{first.kernel} on {first.device} ({first.details.device.title}), {sizes}", "bold"),
        plain(f"timed by {first.timing}, {first.cache} L2"),
        "",
        table(headers, rows, "lrrrrl"),
        *notes,
        "",
        table(("step", "the next rung removes"), steps),
        *(plain(f"warning  {warning}") for warning in warnings),
    )


def _rank(rung: Rung) -> str:
    best, worst = rung.ranks
    return str(best) if best == worst else f"{best}-{worst}"


def _too_close(rungs: Sequence[Rung]) -> list[str]:
    """Return what is said of rungs whose order cannot be told."""
    order = [str(r.prediction.mapping) for r in rungs]
    pairs = [
        (str(r.prediction.mapping), other)
        for r in rungs
        for other in r.close
        if order.index(other) > order.index(str(r.prediction.mapping))
    ]
    if not pairs:
        return []
    named = "; ".join(f"{one} and {other}" for one, other in pairs)
    return [
        f"too close to call: {named}",
        f"  (within {APART:.0%} of each other, as far as predicted ratios are off; measure these)",
    ]


def _removed(here: Rung, after: Rung) -> str:
    removed = here.next_removes
    if removed is None:
        return ""
    times = f"{units.seconds(removed.before)} to {units.seconds(removed.after)}"
    slower = "slower, " if after.prediction.time_s > here.prediction.time_s else ""
    return f"{slower}{TERMS.get(removed.term, removed.term)}: {times}"
