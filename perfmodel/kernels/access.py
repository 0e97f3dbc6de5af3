"""Access: what a load, store or atomic of a kernel asks of memory, as expressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from perfmodel.expressions import Node, Number
from perfmodel.kernels.counted import Counted

# Defaults; nodes are immutable, so all records can share them.
_ZERO: Final = Number(0)
_ONE: Final = Number(1)

AccessKind = Literal["load", "store", "atomic"]
CacheLevel = Literal["l1", "l2", "shared"]
AtomicOperation = Literal["add", "increment", "raise", "exchange", "cas", "cas-loop", "lock-loop"]
DATA_TYPES: Final = {
    "int32": 4,
    "uint32": 4,
    "uint64": 8,
    "float32": 4,
    "float64": 8,
    "half2": 4,
}
"""Types of an atomic's operand, and their bytes. In expressions a type stands for its position."""
ELEMENT_BYTES: Final = range(1, 17)
"""Sizes of a buffer's elements in bytes."""


@dataclass(frozen=True, slots=True)
class Access:
    """A load, store or atomic of every thread for which `guard` holds.

    Attributes
    ----------
    buffer : str
    kind : {"load", "store", "atomic"}
    index : Node
        Index of the first element, in elements of the buffer.
    vector : Node
        Consecutive elements that a thread moves at once; `vector` elements are at most 16 bytes.
    loop : str or None
        Variable of the innermost loop around it; None is outside all loops.
    guard : Node or None
        Condition under which a thread takes part, besides the kernel's own guard.
    cache : {"l1", "l2", "shared"}
        Nearest cache that may hold a load: "l2" is ``ld.global.cg``. "shared" is a copy from L2 to
        shared memory, past registers (``cp.async.cg``), that is under way while its block works on
        what came before: nobody waits for it but at the start.
    returns : bool or Node
        Whether an atomic gives the old value back.
    name : str
        How reports call it.
    dtype : Node or None
        Type of an atomic's operand, as its position in `DATA_TYPES`; None is an integer of the
        buffer's element size.
    operation : {"add", "increment", "raise", "exchange", "cas", "cas-loop", "lock-loop"}
        What an atomic does: an addition (or any other arithmetic), one of a constant 1 (in shared
        memory lanes do not wait for one another), a minimum or maximum that seldom changes what is
        there, an exchange, a compare-and-swap, or a loop of it.
    aggregated : bool or Node
        Whether the compiler adds up a warp's values first, so that one lane's atomic does for all:
        it does so for 32-bit integers at an address that it knows all lanes share.
    weights : Node, tuple of float or None
        How often an index made with ``random(key, n)`` takes each of its n values, in proportion:
        an expression in ``bin``, from 0 to n - 1, or a number for each; None makes all as likely.
    needs : str
        Name of a load whose value the index is made from, or empty: this access waits for it.
    joins : str
        Variable of a loop, or empty: a thread uses the value only once the loop's first loads are
        under way, and waits for both together.
    source : str
        Where it is in a source, such as "kernel.cu:12", or empty.
    counted : Counted or None
        What it asks for, if it was counted; then its index is only an example.
    multicast : Node
        Blocks of a cluster that get the data of one read of L2, on GPUs that have clusters.
    moves : Node
        Blocks by which the part that a block reads moves on with each turn of the outermost loop;
        the index says where it is in the first. 0: each comes back to its own.
    copied : bool
        Whether the same instruction stores what it loads in shared memory (``cp.async.ca``): what
        L1 has goes there in the passes that the store takes.
    ahead : bool
        Whether such a copy is for a later turn of its loop, and not waited for in its own.
    """

    buffer: str
    kind: AccessKind
    index: Node
    vector: Node = _ONE
    loop: str | None = None
    guard: Node | None = None
    cache: CacheLevel = "l1"
    returns: bool | Node = False
    name: str = ""
    dtype: Node | None = None
    operation: AtomicOperation = "add"
    aggregated: bool | Node = False
    weights: Node | tuple[float, ...] | None = None
    needs: str = ""
    joins: str = ""
    source: str = ""
    counted: Counted | None = None
    multicast: Node = _ONE
    moves: Node = _ZERO
    copied: bool = False
    ahead: bool = False


def width_fault(element_bytes: int, vector: int) -> str | None:
    """Return what is wrong with `vector` elements of `element_bytes` bytes as one access, or None.

    A CUDA load or store instruction moves 1, 2, 4, 8 or 16 bytes a thread. Elements of another
    size are allowed one at a time: the hardware moves each by several instructions.
    """
    if element_bytes not in ELEMENT_BYTES:
        return f"element_bytes must be 1 to {max(ELEMENT_BYTES)}, not {element_bytes}"
    if vector < 1:
        return f"vector must be 1 or more, not {vector}"
    if vector > 1 and vector * element_bytes not in (2, 4, 8, 16):
        return (
            f"vector = {vector} elements of {element_bytes} bytes are {vector * element_bytes} "
            "bytes, but one access moves 1, 2, 4, 8 or 16"
        )
    return None
