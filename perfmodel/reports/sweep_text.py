"""Sweeps as tables: time, DRAM bytes and hit rate for each value."""

from collections.abc import Iterator, Sequence

from perfmodel.prediction.advise import dram_bytes
from perfmodel.prediction.sweep import SIZES, Sweep
from perfmodel.reports import units
from perfmodel.reports.lines import Piece, plain, stack
from perfmodel.reports.prediction_text import common_warnings, title
from perfmodel.reports.tables import table


def value_text(sweep: Sweep, value: float | str) -> str:
    """Return a value of a sweep: a size with its unit, the number, or the word."""
    sized = sweep.name in SIZES or sweep.name.endswith("bytes")
    if sized and not isinstance(value, str):
        return units.capacity(value)
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def sweeps_report(sweeps: Sequence[Sweep]) -> Piece:
    """Return a table for each sweep."""
    return stack(plain(title(sweeps[0].predictions[0]), "bold"), *_tables(sweeps))


def _tables(sweeps: Sequence[Sweep]) -> Iterator[Piece | str]:
    for sweep in sweeps:
        yield ""
        rows = [
            [
                value_text(sweep, value),
                units.seconds(p.time_s),
                units.span(*p.interval_s),
                units.data(p.traffic["dram_read_bytes"]),
                units.data(dram_bytes(p)),
                units.percent(p.traffic["l2_hit_rate"]),
                p.bottleneck,
            ]
            for value, p in zip(sweep.values, sweep.predictions, strict=True)
        ]
        headers = [sweep.name, "time", "90%", "DRAM read", "DRAM", "L2 hits", "binds"]
        yield table(headers, rows, "rrrrrr")
        for value, why in sweep.refused.items():
            yield plain(f"refused  {sweep.name}={value_text(sweep, value)}: {why}")
        for warning in common_warnings(sweep.predictions):
            yield plain(f"warning  {warning}")
