"""Inspected kernels as a JSON object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from perfmodel.cuda.compile.program import Program
from perfmodel.cuda.kernel.inspection import KernelFacts
from perfmodel.cuda.parse.syntax import SourceLine
from perfmodel.reports.fields import fields_of

SCHEMA: Final = "perfmodel.inspection/1"


def program_record(program: Program, facts: Sequence[KernelFacts]) -> dict[str, Any]:
    """Return a program and what is known of its kernels; sizes in bytes."""
    return {
        "schema": SCHEMA,
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
