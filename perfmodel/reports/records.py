"""Devices and kernels as JSON objects, in SI and with expressions as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from perfmodel.cuda.launch.spec import Argument, Buffer, LaunchSpec, Scalar
from perfmodel.expressions import Node, Number, text
from perfmodel.hardware import Device, Figure, hierarchy
from perfmodel.kernels import Kernel, Parameter
from perfmodel.kernels.sources import Source

_ONE = Number(1)

DEVICE_SCHEMA: Final = "perfmodel.device/1"
KERNEL_SCHEMA: Final = "perfmodel.kernel/1"
SOURCE_SCHEMA: Final = "perfmodel.source/1"


def device_summary(device: Device) -> dict[str, Any]:
    """Return a device's names and its numbers in SI."""
    return {
        "schema": DEVICE_SCHEMA,
        "name": device.name,
        "title": device.title,
        "compute_capability": device.compute_capability,
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
                "name": level.name,
                "scope": level.scope,
                "managed_by": level.managed_by,
                "size_per": level.size_per,
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
    launch = kernel.launch
    return {
        "schema": KERNEL_SCHEMA,
        "name": kernel.name,
        "mapping": kernel.mapping or None,
        "summary": kernel.summary,
        "parameters": _parameters(kernel),
        "definitions": {name: text(node) for name, node in kernel.definitions},
        "guard": _text(kernel.guard),
        "launch": {
            "grid": [text(node) for node in launch.grid],
            "block": [text(node) for node in launch.block],
            "registers": text(launch.registers),
            "shared_bytes": text(launch.shared_bytes),
        },
        "buffers": [
            {
                "name": buffer.name,
                "length": text(buffer.length),
                "element_bytes": text(buffer.element_bytes),
                "space": buffer.space,
            }
            for buffer in kernel.buffers
        ],
        "loops": [
            {
                "variable": loop.variable,
                "trips": text(loop.trips),
                "parent": loop.parent,
            }
            for loop in kernel.loops
        ],
        "accesses": [
            {
                "name": access.name or access.buffer,
                "kind": access.kind,
                "buffer": access.buffer,
                "index": text(access.index),
                "vector": text(access.vector),
                "loop": access.loop,
                "guard": _text(access.guard),
                "cache": access.cache,
                "returns": _flag(access.returns),
                **({"dtype": _text(access.dtype)} if access.dtype is not None else {}),
                **({"operation": access.operation} if access.kind == "atomic" else {}),
                **({"aggregated": _flag(access.aggregated)} if access.aggregated else {}),
                **({"weights": _weights(access.weights)} if access.weights is not None else {}),
                "needs": access.needs or None,
                **({"joins": access.joins} if access.joins else {}),
                **({"multicast": text(access.multicast)} if access.multicast != _ONE else {}),
                **({"moves": text(access.moves)} if access.moves != Number(0) else {}),
            }
            for access in kernel.accesses
        ],
        "arithmetic": [
            {"pipe": work.pipe, "count": text(work.count), "loop": work.loop}
            for work in kernel.arithmetic
        ],
        "flop": text(kernel.flop),
        "precision": kernel.precision,
        "loads_in_flight": _text(kernel.loads_in_flight),
        "dependent": kernel.dependent,
        "barriers": [{"count": text(b.count), "loop": b.loop} for b in kernel.barriers],
        "paces": [
            {"clocks": text(p.clocks), "loop": p.loop, "abreast": text(p.abreast)}
            for p in kernel.paces
        ],
        "strands": text(kernel.strands),
        "longest": text(kernel.longest),
        **_ahead(kernel),
    }


def source_record(
    kernel: Kernel, source: Source, launch: LaunchSpec, options: Sequence[str]
) -> dict[str, Any]:
    """Return a built-in's CUDA source, and a launch of it as launch files state one."""
    return {
        "schema": SOURCE_SCHEMA,
        "name": kernel.name,
        "mapping": kernel.mapping or None,
        "file": source.path.name,
        "source": source.text(),
        "compiler_options": list(options),
        "launch": {
            "kernel": launch.kernel,
            "grid": list(launch.grid),
            "block": list(launch.block),
            "shared_bytes": launch.shared_bytes,
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


def _ahead(kernel: Kernel) -> dict[str, Any]:
    """Return a kernel's menus and pipeline, if it has any."""
    found: dict[str, Any] = {}
    if kernel.menus:
        found["menus"] = [
            {"parameters": list(menu.parameters), "rows": [list(row) for row in menu.rows]}
            for menu in kernel.menus
        ]
        found["offered"] = text(kernel.offered)
    if kernel.pipeline is not None:
        found["pipeline"] = {
            "tiles": text(kernel.pipeline.tiles),
            "launched": text(kernel.pipeline.launched),
            "resident": text(kernel.pipeline.resident),
            "waits": text(kernel.pipeline.waits),
            "parts": text(kernel.pipeline.parts),
            "parts_ns": text(kernel.pipeline.parts_ns),
            "part_bytes": text(kernel.pipeline.part_bytes),
            "result_bytes": text(kernel.pipeline.result_bytes),
        }
    return found


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
            "default": _default(parameter),
            "minimum": parameter.minimum,
            "maximum": parameter.maximum,
            "choices": list(parameter.words or parameter.choices),
            "summary": parameter.summary,
        }
        for parameter in kernel.parameters
    ]


def _default(parameter: Parameter) -> str | None:
    if parameter.words and isinstance(parameter.default, Number):
        return str(parameter.shown(int(parameter.default.value)))
    return _text(parameter.default)


def _flag(value: bool | Node) -> bool | str:
    return value if isinstance(value, bool) else text(value)


def _weights(weights: Node | tuple[float, ...]) -> str | list[float]:
    return list(weights) if isinstance(weights, tuple) else text(weights)


def _text(node: Node | None) -> str | None:
    return None if node is None else text(node)
