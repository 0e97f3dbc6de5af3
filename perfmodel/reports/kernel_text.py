"""Kernels as reports: the library, and what one kernel does to memory and to the pipes."""

from collections.abc import Iterable, Iterator, Sequence

from perfmodel.expressions import Node, Number, text
from perfmodel.fields import default_of
from perfmodel.kernels import Access, Kernel, Parameter
from perfmodel.kernels.kernel import LARGEST_PARAMETER, PIPES, Launch
from perfmodel.reports.lines import Piece, plain, stack
from perfmodel.reports.tables import labelled, table

_ONE = Number(1)


def kernels_report(listed: Iterable[tuple[str, Sequence[str], Kernel]]) -> Piece:
    """Return a table of kernels: name, mappings, and the kernel of the default mapping."""
    rows = []
    for name, mappings, kernel in listed:
        parameters = " ".join(_brief(parameter) for parameter in kernel.parameters)
        known = f"\nmappings: {', '.join(mappings)}" if mappings else ""
        rows.append((name, f"{parameters}{known}", kernel.summary))
    return table(("kernel", "parameters", "what it does"), rows)


def kernel_report(kernel: Kernel) -> Piece:
    """Return all that a kernel states: parameters, launch, buffers, accesses, loops, arithmetic."""
    name = " ".join(filter(None, (kernel.name, kernel.mapping)))
    return stack(
        plain(f"{name}: {kernel.summary}", "bold"),
        "",
        table(
            ("parameter", "default", "allowed", "what it is"),
            [_parameter(parameter) for parameter in kernel.parameters],
        ),
        "",
        labelled([*_launch(kernel.launch), *_work(kernel)], width=12),
        *_table(("name", "stands for"), [(name, text(node)) for name, node in kernel.definitions]),
        "",
        table(
            ("buffer", "elements", "bytes each", "space"),
            [(b.name, text(b.length), text(b.element_bytes), b.space) for b in kernel.buffers],
        ),
        "",
        table(
            ("access", "element", "in loop", "how"),
            [
                (
                    f"{a.kind} {a.name or a.buffer}",
                    f"{a.buffer}[{text(a.index)}]",
                    a.loop or "-",
                    _how(a),
                )
                for a in kernel.accesses
            ],
        ),
        *_table(
            ("loop", "iterations", "in loop"),
            [(i.variable, text(i.trips), i.parent or "-") for i in kernel.loops],
        ),
        *_table(
            ("instructions", "pipe", "in loop", "what it is"),
            [(text(w.count), w.pipe, w.loop or "-", PIPES[w.pipe]) for w in kernel.arithmetic],
        ),
    )


def _brief(parameter: Parameter) -> str:
    default = default_of(parameter)
    return parameter.name if default is None else f"{parameter.name}={default}"


def _parameter(parameter: Parameter) -> tuple[str, ...]:
    default = default_of(parameter) or "required"
    return parameter.name, default, _allowed(parameter), parameter.summary


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


def _dimensions(nodes: Sequence[Node]) -> str:
    most = max((i for i, node in enumerate(nodes) if node != _ONE), default=0)
    return " x ".join(text(node) for node in nodes[: most + 1])


def _how(access: Access) -> str:
    parts = (
        (access.vector != _ONE, f"vector {text(access.vector)}"),
        (access.cache == "l2", "bypasses L1"),
        (access.cache == "shared", "copied to shared memory, ahead"),
        (access.operation != "add", access.operation),
        (access.returns, _if("returns the old value", access.returns)),
        (access.aggregated, _if("added up in the warp first", access.aggregated)),
        (access.needs, f"waits for {access.needs}"),
        (access.joins, f"waited for with the first loads of loop {access.joins}"),
        (access.multicast != _ONE, f"one read for {text(access.multicast)} blocks"),
        (access.moves != Number(0), f"shifted by {text(access.moves)} blocks per iteration"),
        (access.guard, f"if {text(access.guard)}" if access.guard is not None else ""),
    )
    return ", ".join(told for holds, told in parts if holds)


def _if(what: str, flag: bool | Node) -> str:
    return what if isinstance(flag, bool) else f"{what} if {text(flag)}"


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[Piece | str]:
    """Yield a table below an empty line, if it has rows."""
    if rows:
        yield from ("", table(headers, rows))
