"""Devices and kernels as JSON objects, in SI and with expressions as text."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from perfmodel.cuda.launch.spec import Argument, Buffer, LaunchSpec, Scalar
from perfmodel.expressions import Number, text
from perfmodel.fields import default_of, fields_of
from perfmodel.hardware import Device, Figure, hierarchy
from perfmodel.kernels import Access, Kernel
from perfmodel.kernels.sources import Source

KERNEL_SCHEMA: Final = "perfmodel.kernel/1"


def device_summary(device: Device) -> dict[str, Any]:
    """Return a device's names and its numbers in SI."""
    return {
        "schema": "perfmodel.device/1",
        **fields_of(device, "name", "title", "compute_capability"),
        "values": {name: getattr(device, name) for name in device.figures},
    }


def device_record(device: Device) -> dict[str, Any]:
    """Return a device with every figure as its source gives it, and the memory hierarchy."""
    return {
        **device_summary(device),
        "figures": {name: _figure(figure) for name, figure in device.figures.items()},
        "coefficients": {
            "compute_capability": device.coefficients.compute_capability,
            "inherited": device.coefficients.compute_capability != device.compute_capability,
            "values": {n: asdict(value) for n, value in device.coefficients.origins.items()},
        },
        "hierarchy": [
            {
                **fields_of(level, "name", "scope", "managed_by", "size_per"),
                "size_bytes": level.size,
                "bandwidth_bytes_per_s": level.bandwidth,
                "latency_s": level.latency,
                "latency_cycles": level.latency and level.latency * device.sm_clock,
            }
            for level in hierarchy(device)
        ],
    }


def kernel_summary(name: str, mappings: list[str], kernel: Kernel) -> dict[str, Any]:
    """Return a built-in kernel's name, its mappings, what it does and its parameters."""
    return {
        "schema": KERNEL_SCHEMA,
        "name": name,
        "mappings": mappings,
        "summary": kernel.summary,
        "parameters": _parameters(kernel),
    }


def kernel_record(kernel: Kernel) -> dict[str, Any]:
    """Return all that a kernel states, in the words of kernel files."""
    buffer = ("name", "length", "element_bytes", "space")
    pipeline = (
        *("tiles", "launched", "resident", "waits", "parts", "parts_ns"),
        *("part_bytes", "result_bytes", "loaded_bytes", "loaded_sectors", "loaded_lines"),
        *("asked_sectors", "asked_of_one", "distinct_bytes", "stored_bytes"),
    )
    menus = {
        "menus": [fields_of(menu, "parameters", "rows") for menu in kernel.menus],
        "offered": text(kernel.offered),
        **fields_of(kernel, "alike"),
    }
    return {
        "schema": KERNEL_SCHEMA,
        "name": kernel.name,
        "mapping": kernel.mapping or None,
        "summary": kernel.summary,
        "parameters": _parameters(kernel),
        "definitions": {name: text(node) for name, node in kernel.definitions},
        **fields_of(kernel, "guard"),
        "launch": fields_of(kernel.launch, "grid", "block", "registers", "shared_bytes"),
        "buffers": [fields_of(each, *buffer) for each in kernel.buffers],
        "loops": [fields_of(loop, "variable", "trips", "parent") for loop in kernel.loops],
        "accesses": [_access(access) for access in kernel.accesses],
        "arithmetic": [fields_of(work, "pipe", "count", "loop") for work in kernel.arithmetic],
        **fields_of(kernel, "flop", "precision", "loads_in_flight", "dependent"),
        "barriers": [fields_of(barrier, "count", "loop") for barrier in kernel.barriers],
        "paces": [fields_of(pace, "clocks", "loop", "abreast") for pace in kernel.paces],
        **fields_of(kernel, "strands", "longest"),
        **(menus if kernel.menus else {}),
        **({"pipeline": fields_of(kernel.pipeline, *pipeline)} if kernel.pipeline else {}),
    }


def _access(access: Access) -> dict[str, Any]:
    """Return what an access states; what few have, only where it does."""
    stated = {
        "dtype": access.dtype is not None,
        "operation": access.kind == "atomic",
        "aggregated": bool(access.aggregated),
        "weights": access.weights is not None,
        "needs": True,
        "joins": bool(access.joins),
        "multicast": access.multicast != Number(1),
        "moves": access.moves != Number(0),
    }
    common = ("kind", "buffer", "index", "vector", "loop", "guard", "cache", "returns")
    found = {
        "name": access.name or access.buffer,
        **fields_of(access, *common, *(name for name, has in stated.items() if has)),
    }
    return found | {"needs": access.needs or None}


def source_record(
    kernel: Kernel, source: Source, launch: LaunchSpec, options: Sequence[str]
) -> dict[str, Any]:
    """Return a built-in's CUDA source, and a launch of it as launch files state one."""
    return {
        "schema": "perfmodel.source/1",
        "name": kernel.name,
        "mapping": kernel.mapping or None,
        "file": source.path.name,
        "source": source.text(),
        "compiler_options": list(options),
        "launch": {
            **fields_of(launch, "kernel", "grid", "block", "shared_bytes"),
            "arguments": {name: _argument(value) for name, value in launch.named.items()},
        },
    }


def _argument(value: Argument) -> Any:
    if isinstance(value, Scalar):
        return value.value
    assert isinstance(value, Buffer)
    if value.fill is None:
        return {"bytes": value.bytes}
    found = {"bytes": value.bytes, "type": value.dtype, "fill": value.fill}
    return found if value.below is None else {**found, "below": value.below}


def _figure(figure: Figure) -> dict[str, Any]:
    found = asdict(figure)
    for one in (found, *found["also"]):
        if not one["values"]:
            del one["values"]
    return found


def _parameters(kernel: Kernel) -> list[dict[str, Any]]:
    return [
        {
            "name": parameter.name,
            "default": default_of(parameter),
            **fields_of(parameter, "minimum", "maximum"),
            "choices": list(parameter.words or parameter.choices),
            "summary": parameter.summary,
        }
        for parameter in kernel.parameters
    ]
