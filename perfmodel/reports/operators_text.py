"""Operators of a model as a report: where each lives, what it moves, how long it takes."""

from collections.abc import Iterator, Sequence

from perfmodel.operators.predict import OperatorTime, StepTimes
from perfmodel.reports import units
from perfmodel.reports.lines import Piece, plain, stack
from perfmodel.reports.tables import labelled, table

_HEADERS = ("", "times", "tier", "bytes", "FLOP", "FLOP/B", "time", "90%", "binds")


def operators_report(times: StepTimes) -> Piece:
    """Return the report of a shape's operators, at most 80 columns wide."""
    shape = times.shape
    heads = f"{shape.heads} heads of {shape.head_width}"
    if shape.kv_heads != shape.heads:
        heads += f" ({shape.kv_heads} of keys)"
    ffn = f"{shape.ffn_matrices} FFN matrices of {shape.width} x {shape.ffn_width}"
    prompt = [e for e in times.each if e.operator.phase == "prompt"]
    batch = f", {times.batch} sequences" if times.batch > 1 else ""
    return stack(
        plain(f"{shape.title or shape.name} on {times.device.name}", "bold"),
        plain(
            f"{shape.layers} layers of {shape.width}, {heads}, {ffn}, vocabulary {shape.vocab}, "
            f"{shape.dtype}; context {shape.context}{batch}"
        ),
        "",
        plain("One token", "bold"),
        _table(times.token),
        "",
        labelled(_totals(times), width=11),
        "",
        plain(f"A prompt of {shape.context} tokens: attention, a layer", "bold"),
        _table(prompt),
        "",
        plain(
            "bytes: every array once. tier: the nearest memory that holds the working set (all "
            "layers of it, for weights and cache). times: launches of all layers; time: of one."
        ),
        *(plain(f"warning  {warning}") for warning in times.warnings),
    )


def _table(each: Sequence[OperatorTime]) -> Piece:
    return table(_HEADERS, (_row(e) for e in each), "lrlrrrrrl", gap=1)


def _row(e: OperatorTime) -> list[str]:
    low, high = e.interval_s
    return [
        e.operator.name.replace("prefill attention, ", ""),
        str(e.operator.count),
        e.tier,
        units.data(e.operator.bytes).replace(" ", ""),
        units.count(e.flop),
        units.number(e.intensity) if e.intensity >= 0.005 else "0",
        units.seconds(e.time_s).replace(" ", ""),
        units.span(low, high).replace(" to ", "-").replace(" ", ""),
        e.prediction.bottleneck,
    ]


def _totals(times: StepTimes) -> Iterator[tuple[str, str]]:
    low, high = times.token_interval_s
    rate = times.batch / times.token_s
    yield (
        "token",
        f"{units.seconds(times.token_s)} (90%: {units.span(low, high)}) in {times.launches} "
        f"launches, {units.number(rate)} tokens/s; {units.data(times.token_bytes)}, "
        f"{units.count(times.token_flop)} FLOP",
    )
    peak = units.bandwidth(times.device.dram_bandwidth)
    sequences = f" x {times.batch} sequences" if times.batch > 1 else ""
    shape = times.shape
    yield (
        "cache read",
        f"K and V: 2 x {shape.layers} layers x {shape.context} tokens x {shape.kv_width} wide x "
        f"{shape.element_bytes} B{sequences} = {units.data(times.cache_read_bytes)} "
        f"({units.capacity(times.cache_read_bytes)}): {units.seconds(times.cache_read_s)} at "
        f"the peak of {peak}",
    )
    yield (
        "weights",
        f"{units.data(shape.weight_bytes)}: {units.seconds(times.weight_read_s)} at the same peak",
    )
    if times.kept > 0:
        yield (
            "L2",
            f"keeps {units.percent(times.kept)} of weights and cache from one token to the next",
        )
