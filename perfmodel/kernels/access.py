"""Access: what a load, store or atomic of a kernel asks of memory, as expressions."""

from typing import Final, Literal

from perfmodel.expressions import Node, Number
from perfmodel.kernels.counted import Counted
from perfmodel.records import record

# Defaults; nodes are immutable, so all records can share them.
_ZERO: Final = Number(0)
_ONE: Final = Number(1)

AccessKind = Literal["load", "store", "atomic"]
CacheLevel = Literal["l1", "l2", "shared"]
AtomicOperation = Literal["add", "increment", "raise", "exchange", "cas", "cas-loop", "lock-loop"]
RETRYING: Final = ("cas-loop", "lock-loop")
"""Operations of which lanes try again until they succeed."""
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


@record
class Access:
    """A load, store or atomic of every thread for which `guard` holds."""

    buffer: str
    kind: AccessKind
    index: Node  # index of the first element, in elements of the buffer
    # Consecutive elements that a thread moves at once; `vector` elements are at most 16 bytes.
    vector: Node = _ONE
    loop: str | None = None  # variable of the innermost loop around it; None is outside all loops
    # Condition under which a thread takes part, besides the kernel's own guard.
    guard: Node | None = None
    # Nearest cache that may hold a load: "l2" is ``ld.global.cg``. "shared" is a copy from L2 to
    # shared memory, past registers (``cp.async.cg``), that is under way while its block works on
    # what came before: nobody waits for it but at the start.
    cache: CacheLevel = "l1"
    returns: bool | Node = False  # whether an atomic gives the old value back
    name: str = ""  # how reports call it
    # Type of an atomic's operand, as its position in `DATA_TYPES`; None is an integer of the
    # buffer's element size.
    dtype: Node | None = None
    # What an atomic does: an addition (or any other arithmetic), one of a constant 1 (in shared
    # memory lanes do not wait for one another), a minimum or maximum that seldom changes what is
    # there, an exchange, a compare-and-swap, or a loop of it.
    operation: AtomicOperation = "add"
    # Whether the compiler adds up a warp's values first, so that one lane's atomic does for all: it
    # does so for 32-bit integers at an address that it knows all lanes share.
    aggregated: bool | Node = False
    # How often an index made with ``random(key, n)`` takes each of its n values, in proportion: an
    # expression in ``bin``, from 0 to n - 1, or a number for each; None makes all as likely.
    weights: Node | tuple[float, ...] | None = None
    # Name of a load whose value the index is made from, or empty: this access waits for it.
    needs: str = ""
    # Which of several random numbers of one key it goes by, such as those of a vector's words;
    # below 0 another one each time.
    draw: int = 0
    # Variable of a loop, or empty: a thread uses the value only once the loop's first loads are
    # under way, and waits for both together.
    joins: str = ""
    source: str = ""  # where it is in a source, such as "kernel.cu:12", or empty
    # What it asks for, if it was counted; then its index is only an example.
    counted: Counted | None = None
    # Blocks of a cluster that get the data of one read of L2, on GPUs that have clusters.
    multicast: Node = _ONE
    # Blocks by which the part that a block reads moves on with each turn of the outermost loop; the
    # index says where it is in the first. 0: each comes back to its own.
    moves: Node = _ZERO
    # Whether the same instruction stores what it loads in shared memory (``cp.async.ca``): what L1
    # has goes there in the passes that the store takes.
    copied: bool = False
    # Whether such a copy is for a later turn of its loop, and not waited for in its own.
    ahead: bool = False
    # Whether nothing writes what it loads meanwhile (``ld.global.nc``): it may go out before what
    # is stored earlier in the program.
    read_only: bool = False


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
