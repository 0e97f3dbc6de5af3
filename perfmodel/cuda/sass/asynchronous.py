"""What a kernel does asynchronously: copies that run while it computes; TMA, mbarriers, wgmma.

Their instructions, their bytes and the clocks of tensor cores are counted. When a copy arrives, who
waits at an mbarrier, how warps share registers and blocks a cluster is not followed
(`perfmodel.prediction.interval` says how far times of such kernels may be off).
"""

from collections.abc import Iterator
from typing import Final

from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.once import once
from perfmodel.cuda.parse.syntax import Function, Immediate, Instruction
from perfmodel.cuda.sass.tensor_work import multiply_accumulates

WGMMA: Final = "wgmma"
BULK: Final = "bulk copies (TMA)"
TENSOR: Final = "tensor copies (TMA)"
PIPELINE: Final = "pipeline"
"""Copies by TMA in a loop."""
MBARRIER: Final = "mbarriers"
REGISTERS: Final = "setmaxnreg"
CLUSTERS: Final = "clusters"
MULTICAST: Final = "multicast"
_SAID: Final = (TENSOR, BULK, MULTICAST, MBARRIER, REGISTERS, CLUSTERS)
"""What a warning names; wgmma alone is modelled."""
_SINCE_HOPPER: Final = frozenset({WGMMA, BULK, TENSOR, MULTICAST, REGISTERS, CLUSTERS})
"""What needs compute capability 9.0 (PTX ISA, target notes); mbarriers need 8.0."""
_CLUSTER_SIZES: Final = frozenset({"reqnctapercluster", "explicitcluster", "maxclusterrank"})


@once
def asynchronous_parts(function: Function) -> frozenset[str]:
    """Return which of the parts that this module names a kernel has."""
    found = {part for i in function.instructions for part in _parts(i)}
    if _CLUSTER_SIZES & function.directives.keys():
        found.add(CLUSTERS)
    if found & {BULK, TENSOR}:
        flow = control_flow(function)
        inside = {at for loop in flow.loops for at in flow.places(loop.blocks)}
        if any({BULK, TENSOR} & {*_parts(function.instructions[at])} for at in inside):
            found.add(PIPELINE)
    return frozenset(found)


def least_capability(parts: frozenset[str]) -> tuple[int, ...]:
    """Return the least compute capability that has these parts; empty where any has them."""
    return (9, 0) if parts & _SINCE_HOPPER else ()


def asynchronous_notes(parts: frozenset[str]) -> tuple[str, ...]:
    """Return in a line what of them is counted and what is not; nothing where all is modelled."""
    named = [part for part in _SAID if part in parts]
    if not named:
        return ()
    wgmma = [WGMMA] if WGMMA in parts else []
    counted = ["instructions", *(["clocks of tensor cores"] if wgmma else [])]
    left = []
    if parts & {BULK, TENSOR}:
        counted.append("bytes of copies")
        left.append("when copies arrive")
    if MBARRIER in parts:
        left.append("waits at mbarriers")
    if REGISTERS in parts:
        left.append("registers that warps hand over")
    if parts & {CLUSTERS, MULTICAST}:
        left.append("what blocks of a cluster share")
    line = (
        f"the pipeline of {_listed([*wgmma, *named])} is not modelled: {_listed(counted)} are "
        f"counted; {_listed(left)} are not"
    )
    if TENSOR in parts:
        line += (
            "; a tensor map's box and base are unknown: bytes through it are not predicted, but "
            "taken from what barriers expect"
        )
    return (line,)


def _parts(i: Instruction) -> Iterator[str]:
    words = {m.partition("::")[0] for m in i.modifiers}
    if i.opcode == "wgmma" and multiply_accumulates(i):
        yield WGMMA
    if i.opcode == "cp" and "bulk" in words and not words & {"commit_group", "wait_group"}:
        yield TENSOR if "tensor" in words else BULK
        if "multicast" in words:
            yield MULTICAST
    if i.opcode == "mbarrier":
        yield MBARRIER
    if i.opcode == "setmaxnreg":
        yield REGISTERS
    if i.opcode == "mapa" or (i.opcode == "barrier" and "cluster" in words):
        yield CLUSTERS


def _listed(words: list[str]) -> str:
    return " and ".join(", ".join(words).rsplit(", ", 1))


@once
def copies_ahead(function: Function) -> frozenset[int]:
    """Return where the asynchronous copies are of loops that leave some of them under way.

    ``cp.async.wait_group N`` goes on while the last N groups are not there yet: with none but 0 in
    a loop its copies are waited for like loads.
    """
    if not any(_leaves_some(i) for i in function.instructions):
        return frozenset()
    flow = control_flow(function)
    found: set[int] = set()
    for loop in flow.loops:
        inside = flow.places(loop.blocks)
        if any(_leaves_some(function.instructions[at]) for at in inside):
            copies = ((at, function.instructions[at]) for at in inside)
            found |= {at for at, i in copies if i.opcode == "cp" and "global" in i.modifiers}
    return frozenset(found)


def _leaves_some(i: Instruction) -> bool:
    if i.opcode != "cp" or "wait_group" not in i.modifiers:
        return False
    return any(isinstance(o, Immediate) and o.value > 0 for o in i.operands)
