"""What holds a launch back, as one sentence with the numbers behind it."""

from pathlib import Path
from typing import Final

import numpy as np

from perfmodel.kernels.kernel import PIPES
from perfmodel.models.l1.throughput import PORT_CLOCKS
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.time.issue import TENSOR_PIPES
from perfmodel.models.time.pipeline import PORT
from perfmodel.packaged import packaged_toml
from perfmodel.prediction import Prediction
from perfmodel.reports import units
from perfmodel.reports.step import scalar

TERMS: Final[dict[str, str]] = packaged_toml(Path(__file__).with_name("terms.toml"))
"""What each term is the time of."""


def binding(prediction: Prediction) -> str:
    """Return what holds the launch back, as one sentence with the numbers behind it."""
    name = prediction.bottleneck
    term = prediction.terms_s[name]
    what, why = _BINDING.get(name, _other_binds)(prediction, name)
    share = units.percent(term / prediction.time_s)
    return f"{what} {share} of the time ({units.seconds(term)}): {why}."


def _latency_binds(prediction: Prediction, name: str) -> tuple[str, str]:
    found = prediction.details.time.resources
    assert found is not None
    chain = units.seconds(scalar(found.latency.chain_s))
    waves = units.several(max(1.0, prediction.occupancy.waves), "wave")
    loads = any(a.kind == "load" for a in prediction.details.instance.kernel.accesses)
    return "Waiting for loads takes" if loads else "The critical path takes", (
        f"a block lasts {chain} from its first instruction to its last, an SM holds "
        f"{prediction.occupancy.blocks_per_sm} at a time, and the grid takes {waves} of that"
    )


def _l1_binds(prediction: Prediction, name: str) -> tuple[str, str]:
    traffic, device = prediction.traffic, prediction.details.device
    found = prediction.details.time.resources
    assert found is not None
    stages = found.sm.l1.stages
    data, fills, tags, port = map(scalar, (stages.data, stages.fills, stages.tags, stages.port))
    requests = (
        traffic["global_load_requests"]
        + traffic["global_store_requests"]
        + traffic["shared_requests"]
    )
    each = requests / device.sm_count
    filled = units.count(float(np.max(prediction.details.traffic.l1_fill_sectors)))
    if port > max(data + fills, tags):
        return "The SM's port from L2 is busy", (
            f"{filled} sectors, {PORT_CLOCKS(device)} clocks each"
        )
    if tags > data + fills:
        return "The L1 tag stage is busy", (
            f"{units.count(requests)} requests, {units.several(tags / each, 'wavefront')} each"
        )
    return "The L1 data stage is busy", (
        f"{units.count(requests)} requests, {units.number((data + fills) / each)} clocks each, "
        f"and {filled} sectors filled from L2"
    )


def _l2_binds(prediction: Prediction, name: str) -> tuple[str, str]:
    streams = prediction.details.time.l2_streams
    reads, writes = scalar(streams.read_bytes), scalar(streams.written_bytes)
    moves = (
        (reads, "read", streams.read_bandwidth),
        (writes, "written", streams.write_bandwidth),
    )
    parts = [
        f"{units.data(moved)} {verb} at {units.bandwidth(rate)}"
        for moved, verb, rate in moves
        if moved
    ]
    return "L2 is busy", " and ".join(parts)


def _dram_binds(prediction: Prediction, name: str) -> tuple[str, str]:
    moved = prediction.traffic["dram_read_bytes"] + prediction.traffic["dram_write_bytes"]
    streamed = scalar(prediction.details.time.dram.cost_bytes)
    reached = streamed / prediction.terms_s[name]
    peak = units.percent(reached / prediction.details.device.dram_bandwidth)
    cost = prediction.traffic["dram_read_cost"]
    apart = f", reads {units.number(cost)} times as expensive as a stream's" if cost > 1.005 else ""
    return "DRAM is busy", (
        f"{units.data(moved)} at {units.bandwidth(reached)}, {peak} of its peak{apart}"
    )


def _port_binds(prediction: Prediction, name: str) -> tuple[str, str]:
    loads = (a for a in prediction.details.traffic.accesses if a.kind == "load")
    taken = sum(scalar(a.sectors) for a in loads) * SECTOR
    port = PORT(prediction.details.device)
    return "The SMs' ports from L2 are busy", (
        f"{units.data(taken)} in tiles, {units.number(port)} B per clock and SM"
    )


def _writeback_binds(prediction: Prediction, name: str) -> tuple[str, str]:
    aside = units.capacity(prediction.details.setting.control.set_aside)
    return "Write-backs take", (
        f"dirty lines may not use the {aside} set aside, so L2 hands "
        f"{units.data(prediction.traffic['dram_write_bytes'])} to DRAM in short runs"
    )


_BUSY: Final = {
    "issue": "Instruction issue is busy",
    "wide": "The integer multiply pipe is busy with products of 64 bits",
    "tensor16": "The tensor cores are busy",
    "lsu": "L1's data banks are busy",
    "constant": "Constant memory is busy",
}
"""Pipes whose terms are no singular with an article."""


def _pipe_binds(prediction: Prediction, name: str) -> tuple[str, str]:
    what = _BUSY.get(name, f"The {TERMS[name]} is busy")
    clocks = scalar(prediction.details.time.sm.clocks[name])
    return what, f"{units.count(clocks)} clocks on each SM"


def _tensor_binds(prediction: Prediction, name: str) -> tuple[str, str]:
    device = prediction.details.device
    reached, peak = device.tensor_rate(name), device.require(f"peak_{name}")
    return "The tensor cores are busy", (
        f"{units.flop_rate(reached)} while they are, {units.percent(reached / peak)} of the peak"
    )


def _dispatch_binds(prediction: Prediction, name: str) -> tuple[str, str]:
    details = prediction.details
    blocks = scalar(np.asarray(details.instance.blocks, dtype=float))
    rate = details.device.require("block_dispatch_rate")
    return "Starting blocks takes", f"{units.count(blocks)} of them, {units.count(rate)} a second"


def _atomics_bind(prediction: Prediction, name: str) -> tuple[str, str]:
    passes = prediction.traffic["l2_atomic_sectors"]
    each = prediction.terms_s[name] * prediction.details.device.sm_clock / max(passes, 1)
    return "Atomics in L2 take", (
        f"{units.count(passes)} passes through its slices, one every {units.number(each)} clocks"
    )


_TAKES: Final = {
    "launch": "The launch takes",
    "ramp": "Start-up takes",
    "shared-loops": "Serialised updates take",
    "stalls": "Stalls take",
    "waits": "Waiting in the pipeline takes",
    "tiles": "Starting and ending tiles takes",
    "parts": "Adding up parts takes",
}
"""Terms that are no resource."""


def _other_binds(prediction: Prediction, name: str) -> tuple[str, str]:
    return _TAKES[name], TERMS[name]


_BINDING: Final = {
    "latency": _latency_binds,
    "l1": _l1_binds,
    "l2": _l2_binds,
    "dram": _dram_binds,
    "port": _port_binds,
    "writeback": _writeback_binds,
    "dispatch": _dispatch_binds,
    "atomics": _atomics_bind,
    **dict.fromkeys(("issue", *PIPES), _pipe_binds),
    **dict.fromkeys(TENSOR_PIPES, _tensor_binds),
}
