"""Which names a kernel uses, itself and through the functions that it calls."""

from __future__ import annotations

from collections.abc import Iterator

from perfmodel.cuda.parse.syntax import (
    Address,
    Arguments,
    Function,
    Module,
    Operand,
    Symbol,
    Vector,
)


def reached(module: Module, kernel: Function) -> tuple[frozenset[str], tuple[Function, ...]]:
    """Return all names that are used from a kernel on, and the functions: it and its callees."""
    by_name = {f.name: f for f in module.functions if f.defined}
    functions = [kernel]
    known = {kernel.name}
    named: set[str] = set()
    for function in functions:  # grows while it is gone through
        here = {
            name
            for instruction in function.instructions
            for operand in instruction.operands
            for name in _symbols(operand)
        }
        named |= here
        fresh = sorted(here & by_name.keys() - known)
        known.update(fresh)
        functions += [by_name[name] for name in fresh]
    return frozenset(named), tuple(functions)


def _symbols(operand: Operand) -> Iterator[str]:
    match operand:
        case Symbol():
            yield operand.name
        case Address():
            yield from _symbols(operand.base)
        case Vector() | Arguments():
            for element in operand.elements:
                yield from _symbols(element)
        case _:
            pass
