"""Inspected kernels as a report, a line each or one in full, and as a JSON object."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from perfmodel.cuda.compile.program import Program, Resources, by_origin
from perfmodel.cuda.kernel.inspection import KernelFacts, LoopFacts
from perfmodel.cuda.parse.syntax import SourceLine
from perfmodel.fields import fields_of
from perfmodel.reports import units
from perfmodel.reports.lines import Cell, Piece, plain, stack
from perfmodel.reports.tables import Bar, labelled, table
from perfmodel.text_files import source_lines

_LONGEST_LINE: Final = 60
_LONGEST_NAME: Final = 48
_MOST_ROWS: Final = 40


def kernels_report(program: Program, facts: Sequence[KernelFacts]) -> Piece:
    """Return the report of several kernels, a row each."""
    rows = []
    for each in facts:
        taken = each.resources
        rows.append(
            [
                _shortened(each.kernel.name, _LONGEST_NAME),
                str(len(each.parameters)),
                str(each.instructions),
                str(len(each.loops)),
                "" if taken is None else str(taken.registers),
                "" if taken is None else _shared(taken, each.dynamic_shared),
                "" if taken is None else _spilled(taken),
            ]
        )
    headers = ["kernel", "parameters", "PTX", "loops", "registers", "shared", "local"]
    parts: list[Piece | str] = [
        plain(_title(program), "bold"),
        plain(f"{len(facts)} kernels; registers and shared memory {by_origin(program.resources)}"),
        "",
        table(headers, rows, "lrrrrrr"),
    ]
    parts += [plain(f"warning  {line}") for each in facts for line in each.warnings]
    return stack(*parts)


def kernel_report(program: Program, facts: KernelFacts) -> Piece:
    """Return the report of one kernel."""
    parts: list[Piece | str] = [plain(_title(program), "bold"), ""]
    parts.append(labelled(_heading(program, facts)))
    if facts.parameters:
        rows = [
            [p.name, p.parameter.type, str(p.parameter.size), "pointer" if p.pointer else ""]
            for p in facts.parameters
        ]
        headers = ["parameter", "type", "bytes", ""]
        parts += ["", table(headers, rows, "llr")]
    if facts.loops:
        rows = [
            [
                "  " * (loop.depth - 1) + _lines(program, loop),
                str(loop.instructions),
                str(loop.accesses),
                str(loop.exits),
            ]
            for loop in _in_order(facts.loops)[:_MOST_ROWS]
        ]
        headers = ["loop", "PTX", "accesses", "exits"]
        parts += ["", table(headers, rows, "lrrr")]
    if facts.accesses:
        accesses = [
            [
                _place(program, a.source, a.ptx_line),
                *(str(a.count), str(a.depth), a.name, _text(program, a.source)),
            ]
            for a in facts.accesses[:_MOST_ROWS]
        ]
        headers = ["line", "times", "loops", "access", "source"]
        parts += ["", table(headers, accesses, "lrr")]
        if len(facts.accesses) > _MOST_ROWS:
            parts.append(plain(f"and {len(facts.accesses) - _MOST_ROWS} more: see --json"))
    mix: list[list[str | Cell | None]] = [
        [name, str(count), units.percent(share := count / facts.instructions), Bar(share)]
        for name, count in facts.mix.items()
    ]
    headers = ["instructions", "count", "share", ""]
    parts += ["", table(headers, mix, "lrr")]
    parts += [plain(f"warning  {line}") for line in facts.warnings]
    return stack(*parts)


def _title(program: Program) -> str:
    version = ".".join(map(str, program.module.version))
    maker = f"{program.compiler}, " if program.compiler else ""
    return f"{program.name}: {maker}PTX {version} for {program.module.target}"


def _heading(program: Program, facts: KernelFacts) -> list[tuple[str, str]]:
    lines = [("kernel", facts.kernel.name)]
    taken = facts.resources
    if taken is not None:
        local = f", {_spilled(taken)} B local memory per thread" if taken.local_bytes else ""
        lines.append(
            (
                "takes",
                f"{taken.registers} registers per thread, {_shared(taken, facts.dynamic_shared)} "
                f"of shared memory per block{local} (for {program.architecture}, "
                f"{by_origin({'': taken})})",
            )
        )
    if facts.kernel.directives:
        bounds = ", ".join(
            f"{name} {' x '.join(map(str, numbers))}".strip()
            for name, numbers in facts.kernel.directives.items()
        )
        lines.append(("bounds", bounds))
    if facts.calls:
        lines.append(("calls", ", ".join(facts.calls)))
    return lines


def _shared(taken: Resources, dynamic: bool) -> str:
    size = units.capacity(taken.shared_bytes)
    return f"{size} + dynamic" if dynamic else size


def _spilled(taken: Resources) -> str:
    spilled = (taken.spill_store_bytes or 0) + (taken.spill_load_bytes or 0)
    return f"{taken.local_bytes}" + (f" ({spilled} spilled)" if spilled else "")


def _in_order(loops: Sequence[LoopFacts]) -> list[LoopFacts]:
    """Return loops with inner ones behind those around them."""
    children: dict[int | None, list[int]] = {}
    for i, loop in enumerate(loops):
        children.setdefault(loop.parent, []).append(i)
    found: list[LoopFacts] = []
    waiting = sorted(children.get(None, []), key=lambda i: -loops[i].ptx_line)
    while waiting:
        i = waiting.pop()
        found.append(loops[i])
        waiting += sorted(children.get(i, []), key=lambda i: -loops[i].ptx_line)
    return found


def _lines(program: Program, loop: LoopFacts) -> str:
    if loop.first is None or loop.last is None:
        return f"PTX line {loop.ptx_line}"
    behind = f"-{loop.last.line}" if loop.last.line > loop.first.line else ""
    return f"{_place(program, loop.first, loop.ptx_line)}{behind}"


def _place(program: Program, source: SourceLine | None, ptx_line: int) -> str:
    if source is None:
        return f"PTX line {ptx_line}"
    return f"{Path(program.module.files.get(source.file, '?')).name}:{source.line}"


def _text(program: Program, source: SourceLine | None) -> str:
    """Return the source line, if its file is here."""
    if source is None:
        return ""
    lines = source_lines(program.module.files.get(source.file, ""))
    text = lines[source.line - 1].strip() if 0 < source.line <= len(lines) else ""
    return _shortened(text, _LONGEST_LINE)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def program_record(program: Program, facts: Sequence[KernelFacts]) -> dict[str, Any]:
    """Return a program and what is known of its kernels; sizes in bytes."""
    return {
        "schema": "perfmodel.inspection/1",
        "file": program.name,
        "compiler": program.compiler,
        "ptx_version": ".".join(map(str, program.module.version)),
        "target": program.module.target,
        "architecture": program.architecture,
        "kernels": [_kernel(program, each) for each in facts],
    }


def _kernel(program: Program, facts: KernelFacts) -> dict[str, Any]:
    return {
        "name": facts.kernel.name,
        "parameters": [
            {
                "name": p.name,
                "ptx_name": p.parameter.name,
                **fields_of(p.parameter, "type", "size", "alignment"),
                "pointer": p.pointer,
            }
            for p in facts.parameters
        ],
        "resources": None if facts.resources is None else asdict(facts.resources),
        "dynamic_shared": facts.dynamic_shared,
        "bounds": {name: list(numbers) for name, numbers in facts.kernel.directives.items()},
        **fields_of(facts, "instructions", "mix"),
        "loops": [
            {
                **fields_of(loop, "depth", "parent", "instructions", "accesses", "exits"),
                "first_line": _line(program, loop.first),
                "last_line": _line(program, loop.last),
                "ptx_line": loop.ptx_line,
            }
            for loop in facts.loops
        ],
        "accesses": [
            {
                "instruction": access.name,
                **fields_of(access, "count", "depth"),
                "line": _line(program, access.source),
                "ptx_line": access.ptx_line,
            }
            for access in facts.accesses
        ],
        **fields_of(facts, "calls", "warnings"),
    }


def _line(program: Program, source: SourceLine | None) -> dict[str, Any] | None:
    if source is None:
        return None
    return {"file": program.module.files.get(source.file), "line": source.line}
