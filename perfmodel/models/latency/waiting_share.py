"""Waiting share: in which share of its batches a warp waits for what L1 does not have."""

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.models.l1.l1_tables import early_misses
from perfmodel.models.latency.batch_loads import BatchLoads
from perfmodel.models.latency.sector_phases import in_step
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.placement import reached_bytes


def waiting_share(b: BatchLoads) -> tuple[Array, Array]:
    """Return the share of batches that wait, and that of a batch's sectors that are new to L1.

    Before what earlier passes and other loops have left: see
    `perfmodel.models.latency.batches`.
    """
    each = b.execution.warps / b.execution.blocks
    # A warp waits for its own lines; where warps meet, or end together, for those of all of them.
    met = b.loop is None or any(i.loop == b.loop for i in b.execution.kernel.barriers)
    apart = summed(in_step(r, each) for r in b.own) * b.unroll
    at_most = np.asanyarray(b.execution.instance.runs(b.loop), dtype=float)
    done = np.where(at_most > 0, b.times / np.maximum(at_most, 1e-9), 1.0)
    asked = (in_step(r, each) * np.minimum(_there(b, r) / done, b.part) for r in b.own)
    new = np.minimum(b.filled / np.maximum(summed(asked) * b.unroll, 1e-9), 1.0)
    if b.regular:
        share = np.minimum(np.minimum(b.filled, 1.0), b.brought)
    else:
        at_once = apart if met else np.minimum(b.fresh, apart)
        share = np.minimum(_some_new(b, new, at_once, apart), b.brought)
    if b.loop is None:
        return share, new
    if np.any(b.unroll < 1):
        share = np.where(b.unroll < 1, np.minimum(share, _share_of_waits(b)), share)
    # Bisections of 8 warps a block miss L1 in 9% of their requests, and wait in most of them.
    counts = (r.access.counted for r in b.own)
    waiting = min((1.0 if c is None else c.met for c in counts), default=1.0)
    return np.minimum(share * waiting, 1.0), new


def _some_new(b: BatchLoads, new: Array, at_once: Array, apart: Array) -> Array:
    """Return the probability that some of the lines that are waited for at once are new to L1."""
    some = np.asanyarray(1 - (1 - new) ** at_once)
    if b.loop is None or any(r.strides is not None for r in b.own):
        return some
    once = summed(reached_bytes(b.execution.instance, r) for r in b.own) / SECTOR
    blocks, device = b.execution.blocks, b.execution.device
    early = early_misses(
        *(new, at_once, b.scattered, b.execution.warps / blocks * b.unroll * len(b.members)),
        *(blocks, once / np.maximum(apart, 1e-9), device),
    )
    kept = b.sectors <= 1.05 * np.minimum(blocks, device.sm_count) * once
    return np.where(kept, early if not b.scattered else np.minimum(some, early), some)


def _share_of_waits(b: BatchLoads) -> Array:
    """Return the share of waits in which a load misses L1, where an iteration waits several times.

    Each wait is for as many of the loads as any other; which of them is taken for chance.
    """
    misses = np.zeros(1)
    blocks = b.execution.blocks
    warps, turns = b.execution.warps / blocks, b.execution.instance.runs(b.loop) * blocks
    for r, access in zip(b.own, b.traffic, strict=True):
        asked = np.maximum(in_step(r, warps) * turns * _there(b, r), 1e-9)
        new = np.clip(access.l1_fill_sectors / asked, 0.0, 1.0)
        lines = np.maximum(r.lines / np.maximum(r.requests, 1e-9), 1.0)
        misses = misses + (1 - (1 - new) ** lines) / len(b.members)
    none = 1 - np.minimum(misses, 1.0)  # shares of many may add up to a bit more than all
    return np.asanyarray(1 - none ** (len(b.members) * b.unroll))


def _there(b: BatchLoads, r: Requests) -> Array:
    """Return the share of warps that a load has work for, in the batches that have any.

    The others wait for nothing: those that a guard of the load's own lets through take the time.
    Batches that it keeps out are waited for by nobody, and count among the waits.
    """
    if r.access.guard is None:
        return b.part
    found = r.requests / np.maximum(r.executions, 1e-9)
    least = 1 / np.maximum(b.count, 1.0)  # one batch has what there is
    for v in r.variables:
        if not v.target.startswith(("threadIdx", "blockIdx")):
            found = found / np.maximum(r.warp_shares.get(v.name, 1.0), least)
    return np.asanyarray(np.minimum(found, b.part))
