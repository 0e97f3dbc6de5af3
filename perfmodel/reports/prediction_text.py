"""A prediction as a report: how long, how sure, what binds, and what moves at each level."""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from perfmodel.kernels.l2_control import DEFAULT_FETCH, L2Control
from perfmodel.models.dram.throughput import OVER_FETCH, over_fetch
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.prediction import Prediction
from perfmodel.reports import units
from perfmodel.reports.binding_text import TERMS, binding
from perfmodel.reports.lines import Piece, plain, stack
from perfmodel.reports.roofline import LEVELS, placement
from perfmodel.reports.step import scalar
from perfmodel.reports.tables import Bar, Table, labelled, table
from perfmodel.traffic import AccessTraffic

_NUMBER: Final = r"[0-9]+(?:[.,][0-9]+)*"
_TIMED: Final = {
    "profiler": "the kernel alone (profiler)",
    "events": "between two events",
    "graph": "as a kernel of a replayed CUDA graph",
}


def prediction_report(prediction: Prediction) -> Piece:
    """Return the report of one prediction, at most 80 columns wide if names are short."""
    interval = f"90%: {units.span(*prediction.interval_s)}"
    first = doubted(prediction)
    warnings = [("warning", warning) for warning in prediction.warnings if warning not in first]
    return stack(
        plain(title(prediction), "bold"),
        *(plain(f"warning  {reason}") for reason in first),
        plain(", ".join(filter(None, (parameters(prediction), launch(prediction))))),
        plain(protocol(prediction)),
        "",
        plain("   ".join((units.seconds(prediction.time_s), interval, rate(prediction))), "bold"),
        "",
        plain(binding(prediction)),
        "",
        _terms(prediction),
        plain("Terms overlap: they do not add up to the time."),
        "",
        access_table(prediction, each=False),
        "",
        labelled([*facts(prediction), *warnings]),
    )


def predictions_report(predictions: Sequence[Prediction], launches: Sequence[str] = ()) -> Piece:
    """Return several predictions under one protocol as a table, a row each.

    What differs between them has a column: launch (what a file calls each), kernel, mapping, GPU,
    parameters.
    """
    first = predictions[0]
    labels = {
        "launch": [launch or "-" for launch in launches],
        "kernel": [p.kernel for p in predictions],
        "mapping": [p.mapping or "-" for p in predictions],
        "GPU": [p.device for p in predictions],
    }
    told = {name: cells for name, cells in labels.items() if len(set(cells)) > 1}
    names = list(dict.fromkeys(name for p in predictions for name in p.params))
    values = {name: [str(p.params.get(name, "-")) for p in predictions] for name in names}
    varied = {name: cells for name, cells in values.items() if len(set(cells)) > 1}
    fixed = [f"{name}={values[name][0]}" for name in names if name not in varied]
    several = "kernel" in told
    if several:  # kernels share few parameters
        told["parameters"], varied, fixed = [parameters(p) for p in predictions], {}, []
    flop = any(p.roofline.flop for p in predictions)
    unit = "rate" if several else "FLOP/s" if flop else "effective"
    rows = [
        [
            *(cells[i] for cells in (*told.values(), *varied.values())),
            units.seconds(p.time_s),
            units.span(*p.interval_s),
            _rate(p, p.roofline.flop > 0 if several else flop),
            p.bottleneck,
            units.data(p.traffic["dram_read_bytes"] + p.traffic["dram_write_bytes"]),
        ]
        for i, p in enumerate(predictions)
    ]
    headers = [*told, *varied, "time", "90%", unit, "binds", "DRAM"]
    before = dict.fromkeys(reason for p in predictions for reason in doubted(p))
    after = (w for w in common_warnings(predictions) if w not in before)
    return stack(
        plain(_titles(predictions, told), "bold"),
        *(plain(f"warning  {reason}") for reason in before),
        *([plain(", ".join(fixed))] if fixed else []),
        plain(protocol(first)),
        "",
        table(headers, rows, "l" * len(told) + "r" * len(varied) + "rrrlr"),
        *(plain(f"warning  {warning}") for warning in after),
    )


def common_warnings(predictions: Sequence[Prediction]) -> list[str]:
    """Return the warnings of launches; those that differ in numbers only as one, with a count."""
    found: dict[str, dict[str, None]] = {}
    for warning in (warning for p in predictions for warning in p.warnings):
        found.setdefault(re.sub(_NUMBER, "0", warning), {})[warning] = None
    return [
        next(iter(alike)) + (f" (and {len(alike) - 1} more like this)" if len(alike) > 1 else "")
        for alike in found.values()
    ]


def _titles(predictions: Sequence[Prediction], told: Collection[str]) -> str:
    """Return which kernel and GPU predictions are of, as far as it is one."""
    first = predictions[0]
    if not {"kernel", "mapping", "GPU"} & {*told}:
        return title(first)
    mapping = None if "mapping" in told else first.mapping
    kernel = f"{len(predictions)} launches" if "kernel" in told else first.kernel
    gpu = "" if "GPU" in told else f"on {first.device} ({first.details.device.title})"
    return " ".join(filter(None, (kernel, mapping, gpu)))


def answer(prediction: Prediction) -> str:
    """Return the time with its interval: ``"23.2 ms (90%: 21.1 to 27.0 ms)"``."""
    return f"{units.seconds(prediction.time_s)} (90%: {units.span(*prediction.interval_s)})"


def doubted(prediction: Prediction) -> tuple[str, ...]:
    """Return what was assumed or left out of a kernel: to be said before its time."""
    return prediction.details.instance.kernel.doubt.reasons


def title(prediction: Prediction) -> str:
    """Return which kernel and GPU a prediction is of: ``"gemm coalesced on h100-sxm (...)"``."""
    return f"{prediction.label} on {prediction.device} ({prediction.details.device.title})"


def parameters(prediction: Prediction) -> str:
    """Return a launch's parameters: ``"N=4096, M=4096"``."""
    return ", ".join(f"{name}={value}" for name, value in prediction.params.items())


def launch(prediction: Prediction) -> str:
    """Return a launch's grid and block."""
    return f"grid {_dimensions(prediction.grid)}, block {_dimensions(prediction.block)}"


def _dimensions(sizes: tuple[int, int, int]) -> str:
    """Return the sizes of a grid or a block without trailing ones: ``"128 x 128"``."""
    most = max((i for i, size in enumerate(sizes) if size > 1), default=0)
    return " x ".join(str(size) for size in sizes[: most + 1])


def protocol(prediction: Prediction) -> str:
    """Return what is timed, what L2 holds at the start, and who counted the traffic."""
    return (
        f"timing {_TIMED[prediction.timing]}, L2 {prediction.cache} at the start, "
        f"traffic {prediction.method}"
    )


def rate(prediction: Prediction) -> str:
    """Return FLOP/s, or bytes a second that the threads ask for, called effective."""
    flop = prediction.roofline.flop > 0
    return _rate(prediction, flop) + ("" if flop else " effective")


def _rate(prediction: Prediction, flop: bool) -> str:
    """Return FLOP/s, or bytes a second that the threads ask for: what the launch is good for."""
    if flop:
        return units.flop_rate(prediction.roofline.flop_per_s)
    wanted = sum(scalar(a.wanted_bytes) for a in prediction.details.traffic.accesses)
    return units.bandwidth(wanted / prediction.time_s)


def ranked_terms(prediction: Prediction) -> list[tuple[str, float]]:
    """Return the terms that take any time [s], largest first."""
    ranked = sorted(prediction.terms_s.items(), key=lambda item: -item[1])
    return [(name, value) for name, value in ranked if value > 0]


def _terms(prediction: Prediction) -> Piece:
    rows = [
        (
            name,
            units.seconds(value),
            units.percent(value / prediction.time_s),
            Bar(value / prediction.time_s),
            TERMS.get(name, ""),
        )
        for name, value in ranked_terms(prediction)
    ]
    return table(("term", "alone", "of time", "", "what it is"), rows, "lrr")


def access_table(prediction: Prediction, each: bool = True) -> Table:
    """Return what accesses ask for and get from where: each that is made, or those alike as one."""
    accesses = prediction.details.traffic.accesses
    made = [access for access in accesses if scalar(access.requests)] or accesses
    packed = scalar(prediction.details.traffic.compression)
    groups = [[access] for access in made] if each else _alike(prediction)
    columns = ("access", "requests", "sectors", "per request", "L1 hits", "L2", "DRAM")
    note = (
        "Sectors of 32 B. L2 and DRAM: bytes from there; L2 writes lines back whoever wrote them, "
        "so stores have no DRAM bytes of their own."
    )
    rows = tuple(_access(group, packed) for group in groups)
    return Table("Accesses", columns, rows, note, "lrrrrrr")


def _alike(prediction: Prediction) -> list[list[AccessTraffic]]:
    """Return the accesses that are made; those of one source line, as an unrolled loop has, as one.

    They agree in buffer and kind, and in sectors per request as far as these are shown.
    """
    accesses = prediction.details.traffic.accesses
    source = {a.name: a.source for a in prediction.details.instance.kernel.accesses}
    found: dict[tuple[str, ...], list[AccessTraffic]] = {}
    for access in [a for a in accesses if scalar(a.requests)] or accesses:
        line = source.get(access.name) or access.name
        each = scalar(access.sectors) / max(scalar(access.requests), 1e-9)
        key = (line, access.buffer, access.kind, units.number(each))
        found.setdefault(key, []).append(access)
    return list(found.values())


def _access(accesses: Sequence[AccessTraffic], packed: float) -> tuple[str, ...]:
    """Return a row of accesses that are alike, with their count if there are several.

    `packed` is how many times fewer bytes DRAM moves, as they are compressed.
    """
    first = accesses[0]
    requests = sum(scalar(a.requests) for a in accesses)
    sectors = sum(scalar(a.sectors) for a in accesses)
    filled = sum(scalar(a.l1_fill_sectors) for a in accesses)
    dram = sum(scalar(a.dram_bytes) for a in accesses) / packed
    loads = first.kind == "load"
    return (
        f"{first.kind} {first.name}" + (f" ({len(accesses)} times)" if len(accesses) > 1 else ""),
        units.count(requests),
        units.count(sectors),
        units.number(sectors / requests) if requests else "-",
        units.percent(1 - filled / sectors) if loads and sectors else "-",
        units.data(sum(scalar(a.asked_sectors) for a in accesses) * SECTOR),
        # L2 writes lines back whoever wrote them: stores have no DRAM bytes of their own.
        units.data(dram) if loads else "-",
    )


def facts(prediction: Prediction) -> Iterator[tuple[str, str]]:
    """Yield a label and a line for each level, for occupancy and for the roofline."""
    yield from _levels(prediction)
    yield from _occupancy(prediction)
    yield from _roofline(prediction)


def _levels(prediction: Prediction) -> Iterator[tuple[str, str]]:
    traffic = prediction.traffic
    if traffic["shared_requests"]:
        each = traffic["shared_wavefronts"] / traffic["shared_requests"]
        yield (
            "shared",
            f"{units.count(traffic['shared_requests'])} requests, "
            f"{units.several(each, 'wavefront')} each",
        )
    atomics = traffic["l2_atomic_sectors"]
    yield (
        "L2",
        f"{units.data(traffic['l2_read_sectors'] * SECTOR)} read, "
        f"{units.data(traffic['l2_write_sectors'] * SECTOR)} written"
        + (f", {units.count(atomics)} atomic transactions" if atomics else "")
        + f"; L2 hit rate {units.percent(traffic['l2_hit_rate'])}",
    )
    read, written = traffic["dram_read_bytes"], traffic["dram_write_bytes"]
    setting = prediction.details.setting
    if parts := control_parts(setting.control, setting.claimed):
        yield "L2 control", "; ".join(parts)
    yield (
        "DRAM",
        f"{units.data(read)} read, {units.data(written)} written: "
        f"{units.bandwidth((read + written) / prediction.time_s)} on average",
    )
    if (wasted := over_fetch_text(prediction)) is not None:
        yield "over-fetch", wasted


def over_fetch_text(prediction: Prediction) -> str | None:
    """Return which loads make DRAM move more than they ask for, or None."""
    parts = []
    for alike in _alike(prediction):
        if (given := over_fetch(alike)) is not None:
            moved, asked = units.data(scalar(given["moved"])), units.data(scalar(given["asked"]))
            times = units.number(float(f"{scalar(OVER_FETCH(**given)):.3g}"))
            parts.append(f"{alike[0].name} {times} times: {moved} for {asked} asked of L2")
    if not parts:
        return None
    fetched = prediction.details.setting.control.fetch_granularity
    return f"{'; '.join(parts)} (a miss fetches {fetched} B: --fetch-granularity)"


def control_parts(control: L2Control, claimed: float = 0) -> list[str]:
    """Return what L2 control is in effect, a phrase each; none where it is the driver's.

    `claimed` are bytes of the set-aside that windows of other kernels mark.
    """
    parts = []
    if control.set_aside:
        parts.append(f"{units.capacity(control.set_aside)} set aside")
        if claimed:
            marked = units.capacity(claimed)
            parts.append(f"windows of concurrent kernels mark {marked} for it as well")
    if (w := control.window) is not None:
        parts.append(
            f"window of {units.capacity(w.num_bytes)} over {w.buffer}: hitRatio {w.hit_ratio:g}, "
            f"{w.hit_prop}, else {w.miss_prop}"
        )
    if control.fetch_granularity != DEFAULT_FETCH:
        parts.append(f"fetches of {control.fetch_granularity} B")
    if control.compression > 1:
        parts.append(f"compressed {control.compression:g} times")
    return parts


def _occupancy(prediction: Prediction) -> Iterator[tuple[str, str]]:
    found = prediction.occupancy
    most = prediction.details.device.max_warps_per_sm
    blocks = "1 block" if found.blocks_per_sm == 1 else f"{found.blocks_per_sm} blocks"
    waves = units.count(found.waves) if found.waves >= 0.01 else "<0.01"
    yield (
        "occupancy",
        f"{found.warps_per_sm} of {most} warps per SM ({units.percent(found.fraction)}) in "
        f"{blocks}, limited by {found.limiter}; {waves} waves",
    )


def _roofline(prediction: Prediction) -> Iterator[tuple[str, str]]:
    place = placement(prediction)
    if not place.points:
        yield "roofline", "no floating-point work, so no point on it"
        return
    near = {p.level: (LEVELS[p.level], p.attainable) for p in place.points}
    name, roof = near.get(place.nearest, (f"the {place.precision} peak", place.peak or 0.0))
    listed = ", ".join(f"{units.number(p.intensity)} at {LEVELS[p.level]}" for p in place.points)
    yield (
        "roofline",
        f"{units.percent(place.flop_per_s / roof)} of the {units.flop_rate(roof)} that {name} "
        f"allows; FLOP/B {listed}",
    )
