"""Kernels that tests of the simulator launch, and how they launch them."""

from __future__ import annotations

from typing import Any

from perfmodel.hardware import load_device
from perfmodel.kernels import Instance, Kernel, bind, find_kernel, kernel_from_table
from perfmodel.models.launch.occupancy import occupancy
from perfmodel.trace.counts import Simulation
from perfmodel.trace.launch import Residency
from perfmodel.trace.simulate import Simulator

MIB = 2**20
H200 = load_device("h200-sxm")

WORKING_SET: dict[str, Any] = {
    "name": "working-set",
    "summary": "2 blocks of 1024 threads an SM move a set again and again, past L1",
    "guard": "1 == 1",
    "parameters": {"bytes": {"summary": "set"}, "iterations": {"default": 2}},
    "launch": {"grid": 264, "block": 1024},
    "buffers": {"x": {"length": "bytes // 16", "element_bytes": 16}},
    "loops": [
        {"variable": "r", "trips": "iterations"},
        {"variable": "k", "trips": "ceil_div(bytes // 16, 264*1024)", "parent": "r"},
    ],
    "definitions": {"i": "(k*264 + blockIdx.x)*1024 + threadIdx.x"},
}


def working_set(access: str) -> Kernel:
    """Return the kernel that reads ("load") or writes ("store") a set."""
    made = {access: "x", "index": "i", "loop": "k", "guard": "i < bytes // 16"}
    if access == "load":
        made["cache"] = "l2"
    table = {k: v for k, v in WORKING_SET.items() if k != "guard"}
    return kernel_from_table(table | {"accesses": [made]})


def residency(instance: Instance) -> Residency:
    """Return what an SM of an H200 holds."""
    found = occupancy(H200, instance.threads_per_block, instance.registers, instance.shared_bytes)
    return Residency(int(found.blocks_per_sm), int(found.l1_size))


def bound(kernel: str | Kernel, mapping: str | None = None, **params: int) -> Instance:
    """Return a built-in kernel, or another, with numbers."""
    return bind(find_kernel(kernel, mapping) if isinstance(kernel, str) else kernel, params)


def launched(
    instance: Instance, simulator: Simulator | None = None, share: float = 1.0
) -> Simulation:
    """Return a launch's counts on an H200."""
    return (simulator or Simulator(H200)).launch(instance, residency(instance), share=share)


def counts(found: Simulation) -> tuple[Any, ...]:
    """Return all that must not depend on how the simulation went about it."""
    return found.accesses, found.buffers, found.dirty_left_bytes, found.series
