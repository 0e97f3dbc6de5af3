"""PTX instructions as functions on a machine's arrays, made once and run many times."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.cuda.emulate import bitwise, values
from perfmodel.cuda.emulate.machine import WIDE, Active, Machine, Step, halves
from perfmodel.cuda.emulate.narrow_floats import NARROW, NARROW_WORK, narrow_conversion, narrow_step
from perfmodel.cuda.emulate.warps import exchange
from perfmodel.cuda.parse.opcodes import written_registers
from perfmodel.cuda.parse.syntax import SIZES, Immediate, Instruction, Register, Sink, Vector

_BOOL: Final = np.dtype(bool)
_WORD: Final = np.dtype(np.uint32)
_NOTHING: Final = frozenset(
    {
        *("bar", "barrier", "membar", "fence", "bra", "brx", "ret", "exit", "trap", "pmevent"),
        *("prefetch", "prefetchu", "applypriority", "discard", "nanosleep", "brkpt"),
        *("griddepcontrol", "setmaxnreg", "tensormap", "createpolicy"),
    }
)
_CHAINED: Final = frozenset({"add", "sub", "mad", "addc", "subc", "madc"})
_CARRY: Final = "CC.CF"
"""The carry that they hand on, as a register."""
_JOINS: Final = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
_COUNTS: Final = {"popc": bitwise.population, "clz": bitwise.leading, "brev": bitwise.reversed_bits}


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
    opcode, operands = instruction.opcode, instruction.operands
    if not operands:
        return None
    maker = _MAKERS.get(opcode, _computed)
    if opcode in _CHAINED and (opcode.endswith("c") or "cc" in instruction.modifiers):
        maker = _carried
    elif opcode == "mov" and instruction.type_name == WIDE:
        maker = _moved_wide
    elif opcode in ("mov", "cvta") and any(isinstance(o, Vector) for o in operands):
        maker = _packed
    elif instruction.type_name in NARROW and opcode in NARROW_WORK:
        maker = narrow_step
    return maker(machine, instruction)


def _computed(machine: Machine, instruction: Instruction) -> Step | None:
    operands, kind = instruction.operands, values.kind_of(instruction.modifiers)
    last = instruction.type_name
    unknown = last in SIZES and values.dtype_of(last) is None and last not in values.HALVES
    if unknown or not isinstance(operands[0], Register | Sink):
        return None
    (write,) = machine.setters(operands[0])
    dtype = values.type_of(instruction.modifiers)
    found = _special_work(instruction, dtype) or _work(instruction, dtype, kind)
    if found is None:
        return None
    work, types = found
    getters = [machine.getter(o, t) for o, t in zip(operands[1:], types, strict=False)]

    def run(active: Active) -> None:
        write(work(*[get(active) for get in getters]), active)

    return run


Work = tuple[Callable[..., Array], Sequence[Any]]
"""What an instruction computes, and the types that it reads."""


def _special_work(instruction: Instruction, dtype: Any) -> Work | None:
    """Return what an instruction computes that is no row of `values.work`; None of others."""
    opcode, modifiers, operands = instruction.opcode, instruction.modifiers, instruction.operands
    if opcode in ("mov", "cvta", "mapa"):  # another block's shared memory counts as the own
        return lambda a: a, (dtype,)
    if opcode == "selp":
        return _chosen, (dtype, dtype, _BOOL)
    if opcode == "slct":
        last = values.dtype_of(modifiers[-1])
        first = values.dtype_of(modifiers[-2]) if len(modifiers) > 1 else None
        if first is None or last is None:
            return None
        return lambda a, b, c: _chosen(a, b, c >= 0), (first, first, last)
    if opcode in _COUNTS:
        return _COUNTS[opcode], (np.dtype(f"u{dtype.itemsize}"),)
    if opcode == "bfind":
        return partial(_highest, dtype, "shiftamt" in modifiers), (dtype,)
    if opcode == "lop3":
        table = operands[4] if len(operands) > 4 else None
        if not isinstance(table, Immediate):
            return None
        number = table.value
        return lambda a, b, c: bitwise.logic_of_three(a, b, c, number), (_WORD, _WORD, _WORD)
    if opcode == "shf":
        left, clamped = "l" in modifiers, "clamp" in modifiers
        return lambda a, b, c: bitwise.funnel(a, b, c, left, clamped), (_WORD, _WORD, _WORD)
    return None


def _highest(dtype: Any, shifts: bool, a: Array) -> Array:
    """Return the place of the highest bit that is no sign, or by how much to shift it up."""
    bits = 8 * dtype.itemsize
    magnitude = np.where(a < 0, ~a, a).view(np.dtype(f"u{dtype.itemsize}"))
    place = np.uint32(bits - 1) - bitwise.leading(np.atleast_1d(magnitude))
    found = np.uint32(bits - 1) - place if shifts else place
    return np.asarray(np.where(magnitude == 0, np.uint32(0xFFFFFFFF), found))


def _work(instruction: Instruction, dtype: Any, kind: str) -> Work | None:
    """Return what `values.work` says that an instruction computes; None if it does not."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
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
    return work, types[: len(instruction.operands) - 1]


def _carried(machine: Machine, instruction: Instruction) -> Step | None:
    """Return a link of a chain of carries: ``add.cc``, ``addc``, ``mad.lo.cc`` and the like."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    dtype = values.type_of(modifiers)
    whole = np.dtype(f"u{dtype.itemsize}")
    product = values.work("mul", modifiers) if opcode.startswith("mad") else None
    gets = [machine.each(o, dtype) for o in instruction.operands[1:]]
    if len(gets) != (2 if product is None else 3):
        return None
    (write,) = machine.setters(instruction.operands[0])
    carry = machine.each(Register(_CARRY), _BOOL)
    takes, gives, minus = opcode.endswith("c"), "cc" in modifiers, opcode.startswith("sub")

    def run(active: Active) -> None:
        given = [get(active) for get in gets]
        first = given.pop(0) if product is None else product(given.pop(0), given.pop(0))
        a, b = first.view(whole), given[0].view(whole)
        more = carry(active) if takes else np.zeros(len(a), dtype=bool)
        found = a - b - more.astype(whole) if minus else a + b + more.astype(whole)
        write(found, active)
        if gives:
            wraps = a < b if minus else found < a
            machine.write(_CARRY, wraps | more & (a == b if minus else found == a), active)

    return run


def _chosen(a: Array, b: Array, condition: Array) -> Array:
    return np.asarray(np.where(condition, a, b))


def _compared(machine: Machine, instruction: Instruction) -> Step | None:
    modifiers, operands = instruction.modifiers, instruction.operands
    dtype = values.dtype_of(modifiers[-1])
    if modifiers[-1] in ("f16x2", "bf16x2") or dtype is None:
        return None
    writes = machine.setters(operands[0])
    a, b = (machine.getter(o, dtype) for o in operands[1:3])
    other = machine.getter(operands[3], _BOOL) if len(operands) > 3 else None
    join = next((_JOINS[m] for m in modifiers[1:-1] if m in _JOINS), np.bitwise_xor)

    def run(active: Active) -> None:
        found = values.compare(modifiers[0], a(active), b(active))
        for write, result in zip(writes, (found, ~found), strict=False):
            write(result if other is None else join(result, other(active)), active)

    return run


def _convert(machine: Machine, instruction: Instruction) -> Step | None:
    modifiers = instruction.modifiers
    if len(modifiers) < 2:
        return None
    if "pack" in modifiers:
        return _convert_and_pack(machine, instruction)
    to, source = modifiers[-2], modifiers[-1]
    if to in NARROW or source in NARROW:
        return narrow_conversion(machine, instruction)
    dtype = values.dtype_of(source)
    if dtype is None or values.dtype_of(to) is None:
        return None
    get = machine.getter(instruction.operands[1], dtype)
    (write,) = machine.setters(instruction.operands[0])

    def run(active: Active) -> None:
        write(values.converted(get(active), to, modifiers), active)

    return run


def _convert_and_pack(machine: Machine, instruction: Instruction) -> Step | None:
    kind = instruction.modifiers[2] if instruction.modifiers[:2] == ("pack", "sat") else ""
    if kind not in bitwise.PACKED:
        return None
    types = (np.dtype(np.int32), np.dtype(np.int32), _WORD)
    gets = [machine.getter(o, t) for o, t in zip(instruction.operands[1:], types, strict=False)]
    (write,) = machine.setters(instruction.operands[0])

    def run(active: Active) -> None:
        write(bitwise.packed(*[get(active) for get in gets], kind=kind), active)

    return run


def _set(machine: Machine, instruction: Instruction) -> Step | None:
    modifiers, operands = instruction.modifiers, instruction.operands
    to, dtype = values.dtype_of(modifiers[-2]), values.dtype_of(modifiers[-1])
    if to is None or dtype is None or len(operands) > 3:
        return None
    (write,) = machine.setters(operands[0])
    a, b = (machine.getter(o, dtype) for o in operands[1:3])
    yes = np.ones((), to) if to.kind == "f" else np.asarray(-1).astype(to)

    def run(active: Active) -> None:
        found = values.compare(modifiers[0], a(active), b(active))
        write(np.where(found, yes, np.zeros((), to)), active)

    return run


def _packed(machine: Machine, instruction: Instruction) -> Step | None:
    """Return a move between a register and the parts that it is made of."""
    to, source = instruction.operands[:2]
    dtype = values.type_of(instruction.modifiers)
    whole = np.dtype(f"u{dtype.itemsize}")
    if values.dtype_of(instruction.type_name) is None:
        return None
    held = to if isinstance(to, Vector) else source
    if not isinstance(held, Vector):
        return None
    size = dtype.itemsize // max(len(held.elements), 1)
    if size not in (1, 2, 4):
        return None
    part_type = np.dtype(f"u{size}")
    writes = machine.setters(to)
    if isinstance(to, Vector):
        read = machine.each(source, whole)

        def unpack(active: Active) -> None:
            value = read(active)
            for i, write in enumerate(writes):
                write((value >> whole.type(8 * size * i)).astype(part_type), active)

        return unpack
    parts = [machine.getter(e, part_type) for e in held.elements]

    def pack(active: Active) -> None:
        value = np.zeros(len(active.lanes), dtype=whole)
        for i, part in enumerate(parts):
            value |= part(active).astype(whole) << whole.type(8 * size * i)
        writes[0](value, active)

    return pack


def _moved_wide(machine: Machine, instruction: Instruction) -> Step | None:
    """Return a move of 128 bits, between registers or the two halves of one."""
    to, source = map(halves, instruction.operands[:2])
    if not isinstance(to, Vector) or not isinstance(source, Vector):
        return None
    if len(to.elements) != 2 or len(source.elements) != 2:
        return None
    reads = [machine.getter(e, np.dtype(np.uint64)) for e in source.elements]
    writes = machine.setters(to)

    def run(active: Active) -> None:
        for write, value in zip(writes, [read(active) for read in reads], strict=True):
            write(value, active)

    return run


def _unfollowed(machine: Machine, instruction: Instruction) -> Step | None:
    """Return a step that sets what an instruction writes to 0, and notes that."""
    names = written_registers(instruction)
    if not names:
        return None
    zero = np.zeros((), dtype=np.uint32)

    def run(active: Active) -> None:
        machine.unfollowed.add(instruction.name)
        for name in names:
            machine.write(name, zero, active)

    return run


_MAKERS: Final[Mapping[str, Callable[[Machine, Instruction], Step | None]]] = {
    **{"setp": _compared, "cvt": _convert, "set": _set},
    **dict.fromkeys(("shfl", "vote", "match", "redux", "activemask", "elect"), exchange),
}
