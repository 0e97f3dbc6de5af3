"""A simulated launch as a report: totals, every access and buffer, hits over time; and a figure."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perfmodel.models.l2.sides import HIT_LATENCY
from perfmodel.prediction.simulated import SimulatedLaunch
from perfmodel.reports import units
from perfmodel.reports.figure_style import BLUE, FAINT, VERMILION, new_figure
from perfmodel.reports.lines import Piece, plain, stack
from perfmodel.reports.prediction_text import control_parts
from perfmodel.reports.tables import Sparkline, labelled, table
from perfmodel.trace.cache import SECTOR
from perfmodel.trace.counts import AccessCount

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def simulation_report(launch: SimulatedLaunch) -> Piece:
    """Return the report of a simulated launch."""
    found = launch.simulation
    params = ", ".join(f"{name}={value}" for name, value in launch.params.items())
    control = "".join(f"; {part}" for part in control_parts(launch.control))
    return stack(
        plain(f"{launch.label} on {launch.device.name}, simulated", "bold"),
        plain(f"{params}; L2 {launch.cache} at the start{control}"),
        "",
        table(
            ("access", "requests", "sectors", "per request", "L1 hits", "L2", "L2 hits", "DRAM"),
            # Those whose guard held all back say nothing: the other patterns of a built-in.
            [
                _access(a, launch.control.compression)
                for a in found.accesses
                if a.requests or found.interrupted
            ],
            "lrrrrrrr",
        ),
        "",
        table(
            ("buffer", "read from DRAM", "written to DRAM"),
            [
                (b.name, units.data(b.dram_read_bytes), units.data(b.dram_write_bytes))
                for b in found.buffers
            ],
            "lrr",
        ),
        "",
        labelled(_lines(launch)),
    )


def _access(a: AccessCount, compression: float) -> tuple[str, ...]:
    loads = a.kind == "load"
    return (
        f"{a.kind} {a.name}",
        units.count(a.requests),
        units.count(a.sectors),
        units.number(a.sectors / a.requests) if a.requests else "-",
        units.percent(a.l1_hit_sectors / a.sectors) if loads and a.sectors else "-",
        units.data(a.l2_passes * SECTOR),
        units.percent(1 - a.l2_missed_sectors / a.l2_passes) if a.l2_passes else "-",
        # L2 writes lines back whoever wrote them: stores have no DRAM bytes of their own.
        "-" if a.kind == "store" else units.data(a.dram_read_sectors * SECTOR / compression),
    )


def _lines(launch: SimulatedLaunch) -> Iterator[tuple[str, str | Piece]]:
    found = launch.simulation
    asked, touched = found.total("l2_passes"), found.total("l2_sectors")
    near = found.total("l2_near_sectors") / touched if touched else 0
    yield (
        "L2",
        f"{units.data(asked * SECTOR)} asked for, {units.percent(found.l2_hit_rate)} without "
        f"waiting for DRAM; {units.percent(near)} served by the near side{_mixed(launch, near)}",
    )
    yield (
        "DRAM",
        f"{units.data(found.dram_read_bytes)} read, {units.data(found.dram_write_bytes)} written; "
        f"{units.data(found.dirty_left_bytes)} written but still in L2 at the end",
    )
    groups = found.total("atomic_addresses")
    if groups:
        yield (
            "atomics",
            f"{units.count(groups)} distinct addresses over all requests, "
            f"{units.count(found.total('atomic_busiest'))} lanes at the busiest of each",
        )
    for level, name in (("l1", "L1 hits"), ("l2", "L2 hits")):
        rates = launch.hit_rates(level)
        if len(rates) > 1:
            yield name, Sparkline(rates)
    if (found.sampled < 1 or found.sets < 1) and not found.interrupted:
        error = (
            "" if found.error is None else f"; L2 and DRAM bytes +/- {units.percent(found.error)}"
        )
        sets = "" if found.sets >= 1 else f", in one of {round(1 / found.sets)} sets of L2"
        share = "all" if found.sampled >= 1 else units.percent(found.sampled)
        counted = f"{share} of the launch was counted"
        yield "sample", f"{counted}{sets}{error}"
    for note in launch.notes:
        yield "note", note
    if found.interrupted:
        yield "warning", f"interrupted after {units.percent(found.sampled)}: counts until then"


def _mixed(launch: SimulatedLaunch, near: float) -> str:
    """Say how long hits take on average, where the far side's latency is known."""
    device = launch.device
    if device.l2_far_latency is None:
        return ""
    clocks = device.sm_clock
    mean = HIT_LATENCY(share=near, near=device.l2_latency, far=device.l2_far_latency) * clocks
    return (
        f" (a hit: {device.l2_latency * clocks:.0f} clocks near, "
        f"{device.l2_far_latency * clocks:.0f} far, {float(mean):.0f} in this mix)"
    )


def hit_rate_figure(launch: SimulatedLaunch) -> "Figure":
    """Return a figure of the L1 and L2 hit rates in equal parts of the launch."""
    with new_figure(7, 3.4, layout="constrained") as figure:
        axes = figure.add_subplot()
        for level, name, colour in (("l1", "L1", VERMILION), ("l2", "L2", BLUE)):
            asked = launch.simulation.series[f"{level}_sectors"]
            hits = launch.simulation.series[f"{level}_hits"]
            points = [
                (100 * (i + 0.5) / len(asked), 100 * h / a)
                for i, (a, h) in enumerate(zip(asked, hits, strict=True))
                if a
            ]
            if points:
                axes.plot(*zip(*points, strict=True), color=colour, label=name, marker=".")
        axes.set_xlabel("share of the accesses made [%]")
        axes.set_ylabel("sectors that hit [%]")
        axes.set_xlim(0, 100)
        axes.set_ylim(-2, 102)
        axes.grid(True, color=FAINT, linewidth=0.6)
        axes.legend(frameon=False)
        axes.set_title(
            f"Hit rates of {launch.label} on {launch.device.name}, simulated", loc="left"
        )
    return figure
