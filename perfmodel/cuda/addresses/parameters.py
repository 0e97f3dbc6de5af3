"""What loads read of parameters and of structures passed by value; which lanes take part."""

from __future__ import annotations

from collections.abc import Mapping

from perfmodel.cuda.addresses.conditions import all_of
from perfmodel.cuda.addresses.instructions import Interpreter
from perfmodel.cuda.addresses.records import Unknown, Value
from perfmodel.cuda.addresses.sums import Sum, constant, single
from perfmodel.cuda.parse import syntax as ptx
from perfmodel.cuda.parse.memory_parts import Part
from perfmodel.expressions import Name, Node
from perfmodel.hardware.device import WARP_SIZE


def parameters(
    interpreter: Interpreter,
    at: int,
    instruction: ptx.Instruction,
    state: Mapping[str, Value],
    count: int,
) -> list[Value]:
    """Return what a load reads of parameters, for each of its registers."""
    where = instruction.operands[1]
    place = structure_place(interpreter, where, state)
    if isinstance(where, ptx.Address) and where.place is not None:
        place = where.place
    kind = instruction.modifiers[-1]
    size = ptx.SIZES.get(kind, 4)
    if place is None or place[1] is None:
        if kind[:1] in "bsu" and kind[1:].isdecimal():
            return [interpreter.datum(at, {at}, kind, i) for i in range(count)]
        return [Unknown(frozenset({at}))] * count
    name, start = place[0], place[1]
    return [_held(interpreter, name, start + i * size, kind, size) for i in range(count)]


def structure_place(
    interpreter: Interpreter, operand: ptx.Operand, state: Mapping[str, Value]
) -> tuple[str, int | None] | None:
    """Return the structure that an address is in, and where if that is a constant [B]."""
    if not interpreter.structure_names or not isinstance(operand, ptx.Address):
        return None
    value = interpreter.value(operand.base, state)
    if not isinstance(value, Sum):
        return None
    inside = [n for n in value.names if n in interpreter.structure_names]
    if len(inside) != 1 or value.terms.get((Name(inside[0]),)) != 1:
        return None
    offset = (value - single(Name(inside[0]))).number
    name = interpreter.structure_names[inside[0]]
    return name, None if offset is None else offset + operand.offset


def _held(interpreter: Interpreter, name: str, at: int, kind: str, size: int) -> Value:
    """Return what a parameter holds somewhere."""
    known = interpreter.known_parameters.get((name, at))
    if known is not None:
        return known
    data = interpreter.structures.get(name)
    if data is None or kind[:1] not in "bsu" or not 0 <= at <= len(data) - size:
        return Unknown()
    # Registers have no sign; instructions that see none convert.
    small = size < 4 and kind[:1] != "s"
    return constant(int.from_bytes(data[at : at + size], "little", signed=not small))


def takes_part(
    interpreter: Interpreter, part: Part, instruction: ptx.Instruction, state: Mapping[str, Value]
) -> Node:
    """Return the condition for a lane to take part in an access, besides the guard."""
    conditions: list[Node] = []
    if part.lanes < WARP_SIZE and not part.bulk and "%laneid" in interpreter.specials:
        few = constant(part.lanes)
        conditions.append(interpreter.algebra.compared("<", interpreter.specials["%laneid"], few))
    if instruction.opcode == "cp" and part.kind == "load" and not part.bulk:
        size = instruction.operands[3:4]
        if size and isinstance(size[0], ptx.Register | ptx.Immediate):
            # Bytes that are read; the rest of what is written is 0.
            read = interpreter.value(size[0], state)
            if isinstance(read, Sum):
                conditions.append(interpreter.algebra.compared("!=", read, constant(0)))
    return all_of(conditions)
