"""Kernels as reports: the library, and what one kernel does to memory and to the pipes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType

from perfmodel.expressions import Node, Number, text
from perfmodel.kernels import Access, Kernel, Parameter
from perfmodel.kernels.kernel import LARGEST_PARAMETER, PIPES, Launch
from perfmodel.reports.tables import labelled, plain, table

_ONE = Number(1)


def kernels_report(listed: Iterable[tuple[str, Sequence[str], Kernel]]) -> RenderableType:
    """Return a table of kernels: name, mappings, and the kernel of the default mapping."""
    rows = []
    for name, mappings, kernel in listed:
        parameters = " ".join(_brief(parameter) for parameter in kernel.parameters)
        known = f"\nmappings: {', '.join(mappings)}" if mappings else ""
        rows.append((name, f"{parameters}{known}", kernel.summary))
    return table(("kernel", "parameters", "what it does"), rows)


def kernel_report(kernel: Kernel) -> RenderableType:
    """Return all that a kernel states: parameters, launch, buffers, accesses, loops, arithmetic."""
    name = " ".join(filter(None, (kernel.name, kernel.mapping)))
    return Group(
        plain(f"{name}: {kernel.summary}", "bold"),
        "",
        table(
            ("parameter", "default", "allowed", "what it is"),
            [_parameter(parameter) for parameter in kernel.parameters],
        ),
        "",
        labelled([*_launch(kernel.launch), *_work(kernel)], width=12),
        *_definitions(kernel),
        "",
        table(
            ("buffer", "elements", "bytes each", "space"),
            [(b.name, text(b.length), text(b.element_bytes), b.space) for b in kernel.buffers],
        ),
        "",
        table(
            ("access", "element", "in loop", "how"),
            [
                (_label(a), f"{a.buffer}[{text(a.index)}]", a.loop or "-", _how(a))
                for a in kernel.accesses
            ],
        ),
        *_loops(kernel),
        *_arithmetic(kernel),
    )


def _brief(parameter: Parameter) -> str:
    return (
        parameter.name
        if parameter.default is None
        else f"{parameter.name}={_default(parameter.default, parameter)}"
    )


def _parameter(parameter: Parameter) -> tuple[str, ...]:
    default = "required"
    if parameter.default is not None:
        default = _default(parameter.default, parameter)
    return parameter.name, default, _allowed(parameter), parameter.summary


def _default(default: Node, parameter: Parameter) -> str:
    if parameter.words and isinstance(default, Number):
        return str(parameter.shown(int(default.value)))
    return text(default)


def _allowed(parameter: Parameter) -> str:
    if parameter.choices:
        return ", ".join(map(str, parameter.words or parameter.choices))
    if parameter.maximum in (LARGEST_PARAMETER, 2**48):
        return f"{parameter.minimum} or more"
    return f"{parameter.minimum} to {parameter.maximum}"


def _launch(launch: Launch) -> Iterator[tuple[str, str]]:
    yield "grid", _dimensions(launch.grid)
    yield "block", _dimensions(launch.block)
    yield "registers", f"{text(launch.registers)} per thread"
    if launch.shared_bytes != Number(0):
        yield "shared", f"{text(launch.shared_bytes)} bytes per block"


def _work(kernel: Kernel) -> Iterator[tuple[str, str]]:
    if kernel.guard is not None:
        yield "threads with", text(kernel.guard)
    if kernel.flop != Number(0):
        yield "FLOP", f"{text(kernel.flop)} ({kernel.precision})"
    for menu in kernel.menus:
        rows = ", ".join(" x ".join(map(str, row)) for row in menu.rows)
        yield "menu", f"{', '.join(menu.parameters)}, the fastest of {rows}"
    if kernel.pipeline is not None:
        yield "pipeline", "blocks copy the data of later steps while they work"
    if kernel.loads_in_flight is not None:
        yield "in flight", f"{text(kernel.loads_in_flight)} loads per thread"
    if kernel.dependent:
        yield "loops", "each instruction waits for the one before"
    if kernel.barriers:
        times = [
            f"{text(b.count)} every {b.loop}" if b.loop else text(b.count) for b in kernel.barriers
        ]
        yield "barriers", ", ".join(times)
    if kernel.strands != Number(1):
        yield "strands", f"{text(kernel.strands)} independent chains of a thread's instructions"
    if kernel.longest != Number(1):
        yield "longest", f"{text(kernel.longest)} of an average block"


def _definitions(kernel: Kernel) -> Iterator[RenderableType]:
    if kernel.definitions:
        yield ""
        yield table(
            ("name", "stands for"), [(name, text(node)) for name, node in kernel.definitions]
        )


def _dimensions(nodes: Sequence[Node]) -> str:
    most = max((i for i, node in enumerate(nodes) if node != _ONE), default=0)
    return " x ".join(text(node) for node in nodes[: most + 1])


def _label(access: Access) -> str:
    return f"{access.kind} {access.name or access.buffer}"


def _how(access: Access) -> str:
    parts = []
    if access.vector != _ONE:
        parts.append(f"vector {text(access.vector)}")
    if access.cache == "l2":
        parts.append("past L1")
    if access.cache == "shared":
        parts.append("to shared memory, ahead")
    if access.operation != "add":
        parts.append(access.operation)
    if access.returns:
        parts.append(_if("returns the old value", access.returns))
    if access.aggregated:
        parts.append(_if("added up in the warp first", access.aggregated))
    if access.needs:
        parts.append(f"waits for {access.needs}")
    if access.joins:
        parts.append(f"waited for with the first loads of loop {access.joins}")
    if access.multicast != _ONE:
        parts.append(f"one read for {text(access.multicast)} blocks")
    if access.moves != Number(0):
        parts.append(f"moving on by {text(access.moves)} blocks per iteration")
    if access.guard is not None:
        parts.append(f"if {text(access.guard)}")
    return ", ".join(parts)


def _if(what: str, flag: bool | Node) -> str:
    return what if isinstance(flag, bool) else f"{what} if {text(flag)}"


def _loops(kernel: Kernel) -> Iterator[RenderableType]:
    if kernel.loops:
        yield ""
        yield table(
            ("loop", "iterations", "in loop"),
            [(i.variable, text(i.trips), i.parent or "-") for i in kernel.loops],
        )


def _arithmetic(kernel: Kernel) -> Iterator[RenderableType]:
    if kernel.arithmetic:
        yield ""
        yield table(
            ("instructions", "pipe", "in loop", "what it is"),
            [(text(w.count), w.pipe, w.loop or "-", PIPES[w.pipe]) for w in kernel.arithmetic],
        )
