"""What the rewrites of a kernel's record have in common: parts of expressions, names and CUDA."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from perfmodel.expressions import Node, Number, Operation, evaluate, substitute, text
from perfmodel.kernels import Access, Instance, Kernel, expanded
from perfmodel.kernels.counted import Unequal
from perfmodel.prediction.record import Prediction

ISSUE: Final = 2
"""Clocks that a lone warp takes for an instruction that waits for none before it."""
SETUP: Final = 12
"""Moves, reads of special registers and exits of a thread that its addresses may take."""
TOGETHER: Final = frozenset({"shuffle", "tensor16", "bf16_tensor", "fp16_tensor", "tf32_tensor"})
"""Pipes whose work is a warp's as a whole."""
_EQUAL: Final = 1.02
"""Work of the slowest warp or block over the mean, below which all have as much."""
_MOST_REGISTERS: Final = 255
_TYPES: Final = {1: "char", 2: "half", 4: "float", 8: "double", 16: "float4"}
_LONGEST: Final = 200
"""Letters of an index that a person still reads."""
_OTHER_CALL: Final = re.compile(r"\b(?!min\b|max\b)\w+\(")
"""A function that CUDA has not, such as ceil_div."""


def kernel_of(base: Prediction) -> Kernel:
    """Return the kernel of a launch."""
    return base.details.instance.kernel


def known_values(instance: Instance) -> dict[str, Any]:
    """Return what is fixed in a launch, by name."""
    return {name: np.asarray(value).reshape(-1)[0] for name, value in instance.known.items()}


def count_of(base: Prediction, node: Node) -> float:
    """Return the value of a count or a size that all threads share."""
    instance = base.details.instance
    return float(np.max(evaluate(expanded(instance.kernel, node), instance.known)))


def element_of(base: Prediction, buffer: str) -> int:
    """Return the bytes of a buffer's element."""
    return int(np.max(base.details.instance.element_bytes[buffer]))


def element_type(size: int) -> str:
    """Return a type of so many bytes, for arrays in shared memory."""
    return _TYPES.get(size, f"std::array<char, {size}>")


def equal_work(unequal: Unequal | None) -> bool:
    """Say whether warps and blocks have as much to do as each other, though data may decide it."""
    most = 1.0 if unequal is None else max(unequal.slowest, unequal.longest, 1 + unequal.spread)
    return most < _EQUAL


def total(*parts: Node) -> Node:
    """Return a sum without what is nothing."""
    kept = [part for part in parts if part != Number(0)]
    found = kept[0] if kept else Number(0)
    for part in kept[1:]:
        found = found + part
    return found


def times(node: Node, factor: int) -> Node:
    """Return a product; the node itself where it is once."""
    return node if factor == 1 else node * factor


def both(guards: Iterable[Node | None]) -> Node | None:
    """Return conditions that hold together as one; None: there is none."""
    found = tuple(guard for guard in guards if guard is not None)
    return Operation("and", found) if len(found) > 1 else next(iter(found), None)


def put(kernel: Kernel, node: Node, puts: Mapping[str, Node]) -> Node:
    """Return an expression with its definitions, and other expressions for some variables."""
    return substitute(expanded(kernel, node), puts)


def moved(
    kernel: Kernel, access: Access, puts: Mapping[str, Node], there: Node | None, **other: Any
) -> Access:
    """Return an access with other expressions for some variables, and all guards as its own.

    `there`: one more than the kernel's and the access's.
    """
    guards = [put(kernel, g, puts) for g in (kernel.guard, access.guard) if g is not None]
    index = put(kernel, access.index, puts)
    return replace(access, index=index, guard=both([*guards, there]), **other)


def more_registers(kernel: Kernel, more: int) -> Node:
    """Return the registers of a thread that takes some more, as many as there are."""
    return Operation("min", (kernel.launch.registers + more, Number(_MOST_REGISTERS)))


def unused(name: str, kernel: Kernel) -> str:
    """Return a name that no loop, definition or buffer of a kernel has."""
    taken = {*(x.variable for x in kernel.loops), *(n for n, _ in kernel.definitions)}
    while name in taken or any(b.name == name for b in kernel.buffers):
        name += "_"
    return name


def fraction(count: int) -> str:
    """Return one of so many in words: "half", "quarter", "1/8"."""
    return {2: "half", 4: "quarter"}.get(count, f"1/{count}")


def cuda_text(node: Node) -> str:
    """Return an expression in CUDA's operators."""
    return text(node).replace("//", "/")


def plain_index(node: Node) -> str:
    """Return an index as CUDA says it; empty where it cannot, or nobody could read it."""
    found = cuda_text(node)
    if len(found) > _LONGEST or "**" in found or _OTHER_CALL.search(found):
        return ""
    return found
