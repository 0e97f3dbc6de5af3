"""PTX instructions as functions on a machine's arrays, made once and run many times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.cuda.emulate import values
from perfmodel.cuda.emulate.machine import Active, Getter, Machine, Step
from perfmodel.cuda.emulate.narrow_floats import (
    NARROW,
    NARROW_WORK,
    narrow_conversion,
    narrow_step,
)
from perfmodel.cuda.emulate.warps import exchange
from perfmodel.cuda.parse import opcodes
from perfmodel.cuda.parse.syntax import (
    Immediate,
    Instruction,
    Pair,
    Register,
    Sink,
    Vector,
)

Array = npt.NDArray[Any]

_BOOL: Final = np.dtype(bool)
_WORD: Final = np.dtype(np.uint32)
_NOTHING: Final = frozenset(
    {
        *("bar", "barrier", "membar", "fence", "bra", "brx", "ret", "exit", "trap", "pmevent"),
        *("prefetch", "prefetchu", "applypriority", "discard", "nanosleep", "brkpt"),
        *("griddepcontrol", "setmaxnreg", "tensormap", "createpolicy"),
    }
)
_EXCHANGES: Final = frozenset({"shfl", "vote", "match", "redux", "activemask", "elect"})
_COUNTS: Final = {"popc": values.population, "clz": values.leading, "brev": values.reversed_bits}


def step(machine: Machine, instruction: Instruction) -> Step | None:
    """Return what an instruction that is no memory access does; None if it does nothing here."""
    opcode = instruction.opcode
    if opcode in _NOTHING:
        return None
    try:
        made = _make(machine, instruction)
    except (IndexError, ValueError):
        made = None  # too few operands
    if made is None:
        return _unfollowed(machine, instruction)
    return made


def _make(machine: Machine, instruction: Instruction) -> Step | None:
    opcode, modifiers, operands = instruction.opcode, instruction.modifiers, instruction.operands
    if not operands:
        return None
    if opcode in _EXCHANGES:
        return exchange(machine, instruction)
    if opcode in ("mov", "cvta") and any(isinstance(o, Vector) for o in operands):
        return _packed(machine, instruction)
    if not isinstance(operands[0], Register | Sink | Pair):
        return None
    if opcode == "setp":
        return _compared(machine, instruction)
    target = operands[0].name if isinstance(operands[0], Register) else ""
    kind = values.kind_of(modifiers)
    dtype = values.dtype_of(kind)
    if dtype is None:
        return None
    if modifiers and modifiers[-1] in NARROW and opcode in NARROW_WORK:
        return narrow_step(machine, instruction)

    def reads(*types: Any) -> list[Getter]:
        return [machine.getter(o, t) for o, t in zip(operands[1:], types, strict=False)]

    def binds(work: Callable[..., Array], getters: list[Getter]) -> Step:
        def run(active: Active) -> None:
            machine.write(target, work(*(get(active) for get in getters)), active)

        return run

    if opcode in ("mov", "cvta"):
        return binds(lambda a: a, reads(dtype))
    if opcode == "selp":
        return binds(_chosen, reads(dtype, dtype, _BOOL))
    if opcode == "cvt":
        return _convert(machine, instruction, target)
    if opcode == "set":
        return _set(machine, instruction, target)
    if opcode == "slct":
        last = values.dtype_of(modifiers[-1])
        first = values.dtype_of(modifiers[-2]) if len(modifiers) > 1 else None
        if first is None or last is None:
            return None
        return binds(lambda a, b, c: _chosen(a, b, c >= 0), reads(first, first, last))
    if opcode in _COUNTS:
        return binds(_COUNTS[opcode], reads(np.dtype(f"u{dtype.itemsize}")))
    if opcode == "bfind":
        bits = 8 * dtype.itemsize

        def highest(a: Array) -> Array:
            magnitude = np.where(a < 0, ~a, a).view(np.dtype(f"u{dtype.itemsize}"))
            place = np.uint32(bits - 1) - values.leading(np.atleast_1d(magnitude))
            shifts = "shiftamt" in modifiers
            found = np.uint32(bits - 1) - place if shifts else place
            return np.asarray(np.where(magnitude == 0, np.uint32(0xFFFFFFFF), found))

        return binds(highest, reads(dtype))
    if opcode == "lop3":
        table = operands[4] if len(operands) > 4 else None
        if not isinstance(table, Immediate):
            return None
        number = table.value
        return binds(
            lambda a, b, c: values.logic_of_three(a, b, c, number),
            reads(_WORD, _WORD, _WORD),
        )
    if opcode == "shf":
        return binds(
            lambda a, b, c: values.funnel(a, b, c, "l" in modifiers, "clamp" in modifiers),
            reads(_WORD, _WORD, _WORD),
        )
    if opcode in ("add", "sub", "addc", "subc", "madc", "mad") and "cc" in modifiers:
        return None
    work = values.work(opcode, modifiers)
    if work is None or (kind == "pred" and opcode not in ("and", "or", "xor", "not")):
        return None
    if kind == "pred" and opcode == "not":
        work = np.logical_not
    types: list[Any] = [dtype] * 4
    if opcode in ("shl", "shr"):
        types[1] = _WORD
    if opcode in ("bfe", "bfi", "prmt"):
        types = [dtype, _WORD, _WORD] if opcode == "bfe" else [dtype, dtype, _WORD, _WORD]
    if "wide" in modifiers:
        types[2] = np.dtype(f"{dtype.kind}{2 * dtype.itemsize}")
    return binds(work, reads(*types[: len(operands) - 1]))


def _chosen(a: Array, b: Array, condition: Array) -> Array:
    return np.asarray(np.where(condition, a, b))


def _compared(machine: Machine, instruction: Instruction) -> Step | None:
    modifiers, operands = instruction.modifiers, instruction.operands
    dtype = values.dtype_of(modifiers[-1])
    if modifiers[-1] in ("f16x2", "bf16x2") or dtype is None:
        return None
    first = operands[0]
    parts = (first.first, first.second) if isinstance(first, Pair) else (first,)
    targets = [p.name if isinstance(p, Register) else None for p in parts]
    a, b = (machine.getter(o, dtype) for o in operands[1:3])
    other = machine.getter(operands[3], _BOOL) if len(operands) > 3 else None
    join = next((m for m in modifiers[1:-1] if m in ("and", "or", "xor")), None)
    operator = modifiers[0]

    def joined(found: Array, more: Array) -> Array:
        if join == "and":
            return found & more
        return found | more if join == "or" else found ^ more

    def run(active: Active) -> None:
        found = values.compare(operator, a(active), b(active))
        results = (found, ~found)
        for target, result in zip(targets, results, strict=False):
            if target is not None:
                value = result if other is None else joined(result, other(active))
                machine.write(target, value, active)

    return run


def _convert(machine: Machine, instruction: Instruction, target: str) -> Step | None:
    modifiers = instruction.modifiers
    if len(modifiers) < 2:
        return None
    to, source = modifiers[-2], modifiers[-1]
    if to in NARROW or source in NARROW:
        return narrow_conversion(machine, instruction)
    dtype = values.dtype_of(source)
    if dtype is None or values.dtype_of(to) is None:
        return None
    get = machine.getter(instruction.operands[1], dtype)

    def run(active: Active) -> None:
        machine.write(target, values.converted(get(active), to, modifiers), active)

    return run


def _set(machine: Machine, instruction: Instruction, target: str) -> Step | None:
    modifiers, operands = instruction.modifiers, instruction.operands
    to, dtype = values.dtype_of(modifiers[-2]), values.dtype_of(modifiers[-1])
    if to is None or dtype is None or len(operands) > 3:
        return None
    a, b = (machine.getter(o, dtype) for o in operands[1:3])
    yes = np.ones((), to) if to.kind == "f" else np.asarray(-1).astype(to)

    def run(active: Active) -> None:
        found = values.compare(modifiers[0], a(active), b(active))
        machine.write(target, np.where(found, yes, np.zeros((), to)), active)

    return run


def _packed(machine: Machine, instruction: Instruction) -> Step | None:
    """Return a move between a register and the parts that it is made of."""
    to, source = instruction.operands[:2]
    dtype = values.dtype_of(values.kind_of(instruction.modifiers))
    if dtype is None:
        return None
    whole = np.dtype(f"u{dtype.itemsize}")
    if isinstance(to, Vector):
        size = dtype.itemsize // max(len(to.elements), 1)
        if size not in (1, 2, 4):
            return None
        names = [e.name if isinstance(e, Register) else None for e in to.elements]
        read = machine.getter(source, whole)

        def unpack(active: Active) -> None:
            value = np.broadcast_to(read(active), (len(active.lanes),))
            for i, name in enumerate(names):
                if name is not None:
                    part = (value >> whole.type(8 * size * i)).astype(np.dtype(f"u{size}"))
                    machine.write(name, part, active)

        return unpack
    if not isinstance(source, Vector) or not isinstance(to, Register):
        return None
    size = dtype.itemsize // max(len(source.elements), 1)
    if size not in (1, 2, 4):
        return None
    parts = [machine.getter(e, np.dtype(f"u{size}")) for e in source.elements]

    def pack(active: Active) -> None:
        value = np.zeros(len(active.lanes), dtype=whole)
        for i, part in enumerate(parts):
            value |= part(active).astype(whole) << whole.type(8 * size * i)
        machine.write(to.name, value, active)

    return pack


def _unfollowed(machine: Machine, instruction: Instruction) -> Step | None:
    """Return a step that sets what an instruction writes to 0, and notes that."""
    names = list(opcodes.written(instruction))
    if not names:
        return None
    zero = np.zeros((), dtype=np.uint32)

    def run(active: Active) -> None:
        machine.skip(instruction.name)
        for name in names:
            machine.write(name, zero, active)

    return run
