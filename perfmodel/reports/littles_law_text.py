"""Little's law of a launch as a table: bytes in flight needed and had, and what closes the gap."""

from collections.abc import Sequence
from typing import Final

from perfmodel.prediction import Prediction
from perfmodel.prediction.littles_law import WIDEST, LevelInFlight, LittlesLaw, littles_law
from perfmodel.reports import units
from perfmodel.reports.binding_text import TERMS
from perfmodel.reports.lines import Piece, plain, stack
from perfmodel.reports.prediction_text import title
from perfmodel.reports.tables import table

_WAITS: Final = frozenset({"latency", "stalls"})
"""Terms that more bytes in flight make shorter."""


def littles_law_reports(predictions: Sequence[Prediction]) -> Piece:
    """Return the bytes in flight of launches, one after the other."""
    parts = [part for p in predictions for part in ("", _report(p))]
    return stack(*parts[1:])


def _report(prediction: Prediction) -> Piece:
    """Return the bytes in flight of a launch, at most 80 columns wide."""
    law = littles_law(prediction)
    heading = plain(f"Little's law: {title(prediction)}", "bold")
    if law.missing is not None:
        return stack(heading, plain(f"nothing to tell: {law.missing}"))
    columns = ("level", "latency", "bandwidth", "needed", "per SM", "had", "share", "limited by")
    rows = [_row(level) for level in law.levels]
    return stack(
        heading,
        "",
        table(columns, rows, "lrrrrrrl"),
        plain(
            "needed: bandwidth x latency, which are the level's bandwidth for loads that keep it "
            "busy, and the unloaded latency of a load that it answers; had: per SM"
        ),
        "",
        *(plain(line) for level in law.levels for line in _made_of(level)),
        *_binds(prediction, law),
        *_occupancies(prediction, law),
    )


def in_flight_line(prediction: Prediction) -> str | None:
    """Return one line where a launch has too few bytes in flight and waits for loads; else None."""
    if prediction.bottleneck not in {*_WAITS, "dram", "l2"}:
        return None
    short = [x for x in littles_law(prediction).levels if x.limit not in {None, "hits"}]
    if not short:
        return None
    least = min(short, key=lambda level: level.share)
    needed, had = units.data(least.needed_bytes_per_sm), units.data(least.had_bytes_per_sm)
    return (
        f"in flight  {least.level} needs {needed} per SM in flight "
        f"({units.bandwidth(least.bandwidth)} x {units.seconds(least.latency_s)}), the launch has "
        f"{had} ({units.percent(least.share)}), limited by {least.limit} (predict --littles-law)"
    )


def _row(level: LevelInFlight) -> tuple[str, ...]:
    return (
        level.level,
        units.seconds(level.latency_s),
        units.bandwidth(level.bandwidth),
        units.data(level.needed_bytes),
        units.data(level.needed_bytes_per_sm),
        units.data(level.had_bytes_per_sm),
        units.percent(level.share),
        {None: "nothing", "hits": "hits above it"}.get(level.limit, str(level.limit)),
    )


def _made_of(level: LevelInFlight) -> list[str]:
    """Return what a level's bytes in flight are made of, and what would close the gap."""
    loads = units.several(level.loads_per_warp, "load")
    product = (
        f"{level.level} had: {units.several(level.warps_per_sm, 'warp')} x {loads} x "
        f"{units.number(level.bytes_per_load)} B, in flight {units.percent(level.waiting)} of a "
        "block's time"
    )
    if level.limit is None:
        return [product]
    if level.limit == "hits":
        return [product, f"  {level.level} is not what the loads wait for: caches answer most"]
    needed = (level.warps_needed, level.loads_needed, level.bytes_needed)
    warps, more, wider = (units.number(value or 0.0) for value in needed)
    return [
        product,
        f"  to close the gap alone: {warps} warps per SM, or {more} loads in flight per thread,",
        f"  or {wider} B per load (16 B per lane are {WIDEST} B)",
    ]


def _binds(prediction: Prediction, law: LittlesLaw) -> list[Piece]:
    """Return that something else binds, where more bytes in flight would not help first."""
    name = prediction.bottleneck
    short = any(level.limit not in {None, "hits"} for level in law.levels)
    if not short or name in _WAITS:
        return []
    what = TERMS.get(name, name)
    return [plain(f"The launch is bound by {what} first: more in flight gains little.")]


def _occupancies(prediction: Prediction, law: LittlesLaw) -> list[Piece | str]:
    if law.bytes_per_load is None:  # whatever is in flight, caches answer it
        return []
    most = prediction.details.device.max_warps_per_sm
    rows = [
        (
            str(o.loads),
            units.number(o.warps_per_sm),
            f"more than {most} warps" if o.fraction is None else units.percent(o.fraction),
        )
        for o in law.occupancies
    ]
    said = f"Occupancy that saturates {law.saturating} with loads of "
    said += f"{units.number(law.bytes_per_load)} B, if warps only wait for them:"
    return ["", plain(said), table(("loads per thread", "warps per SM", "occupancy"), rows, "rrr")]
