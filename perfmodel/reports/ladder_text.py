"""A ladder as a table: what each rung reaches, what binds it, what the next one removes."""

from collections.abc import Sequence
from itertools import pairwise

from perfmodel.prediction import Prediction
from perfmodel.prediction.ladder import MARGIN, NAME, CublasFp32, Rung, place_of_cublas
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
    reference = rungs[0].cublas
    shares = [r.share if reference is None else r.share_of_cublas for r in rungs]
    rows = [
        (
            str(r.prediction.mapping),
            units.flop_rate(r.prediction.roofline.flop_per_s),
            "-" if share is None else units.percent(share),
            "" if r.gain is None else f"{r.gain:.2f} x",
            _rank(r),
            TERMS.get(r.prediction.bottleneck, r.prediction.bottleneck),
        )
        for r, share in zip(rungs, shares, strict=True)
    ]
    if reference is not None:
        rate = units.flop_rate(reference.flop_per_s)
        row = (NAME, rate, "100%", "", "", f"({reference.kind})")
        rows.insert(place_of_cublas(rungs), row)
    of = "of last" if reference is None else "of cuBLAS"
    headers = ("rung", "reaches", of, "gain", "rank", "bound by")
    steps = [
        (f"{here.prediction.mapping} to {after.prediction.mapping}", _removed(here, after))
        for here, after in pairwise(rungs)
    ]
    notes = [plain(line) for line in _of_cublas(first, reference)]
    if reference is None and len(precisions) > 1:
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


def _of_cublas(first: Prediction, found: CublasFp32 | None) -> list[str]:
    """Return where cuBLAS's time is from, or that there is none."""
    if found is None:
        missing = f"{NAME}: not measured on {first.device} at these sizes, so no shares of it"
        return [missing] if first.kernel == "gemm" else []
    if found.kind == "measured":
        return [f"{NAME}: {units.seconds(found.time_s)} measured ({found.source})"]
    return [f"{NAME}: {units.seconds(found.time_s)} predicted with its tiles; {found.source}"]


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
        f"  (within {MARGIN:.0%} of each other, as far as predicted ratios are off; measure these)",
    ]


def _removed(here: Rung, after: Rung) -> str:
    removed = here.next_removes
    if removed is None:
        return ""
    times = f"{units.seconds(removed.before)} to {units.seconds(removed.after)}"
    slower = "slower, " if after.prediction.time_s > here.prediction.time_s else ""
    return f"{slower}{TERMS.get(removed.term, removed.term)}: {times}"
