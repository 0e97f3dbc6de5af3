"""From a CUDA source or PTX file and a launch to a `Kernel` that predictions take."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import prod
from typing import Final

from perfmodel.cuda.addresses.launch import KernelLaunch, bound
from perfmodel.cuda.compile.program import Program, Resources
from perfmodel.cuda.emulate.assumed_contents import stand_ins, variants, with_assumption
from perfmodel.cuda.emulate.lock_step import ENDLESS, Progress
from perfmodel.cuda.kernel.accesses import THREAD
from perfmodel.cuda.kernel.analysed import decided
from perfmodel.cuda.kernel.fragments import with_fragments
from perfmodel.cuda.kernel.kernel_from_ptx import kernel_from_ptx
from perfmodel.cuda.launch.spec import LaunchSpec
from perfmodel.cuda.parse.inline import RUNTIME, Inlined, inlined
from perfmodel.cuda.parse.once import once
from perfmodel.cuda.parse.signatures import base_name
from perfmodel.cuda.parse.syntax import Function
from perfmodel.cuda.sass.asynchronous import (
    asynchronous_notes,
    asynchronous_parts,
    least_capability,
)
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Number, evaluate
from perfmodel.kernels.access import Access, AccessKind
from perfmodel.kernels.counted import Counted
from perfmodel.kernels.doubt import Doubt
from perfmodel.kernels.kernel import Buffer, Kernel, Parameter

_LEFT_OUT: Final = Doubt(longer=4.0)
"""How much longer it may take for memory or functions that are left out: assumed."""
_SPILLED: Final = "spilled-registers"
_WORD: Final = 4
"""[B]"""
_TEXTURES: Final = frozenset({"tex", "tld4", "suld", "sust", "sured"})


def translated(
    program: Program,
    launch: LaunchSpec,
    kernel: str | None = None,
    progress: Progress | None = None,
    *,
    assume: bool = False,
    compared: bool = True,
) -> Kernel:
    """Return the kernel that a launch of a loaded program runs, by `kernel` or the launch's name.

    `assume` says whether to go on where contents that nobody states decide most of the time, or
    keep a loop from ending, and where most accesses have to be left out. Raises `PerfmodelError` if
    an argument is missing or wrong, the kernel cannot be followed, or, unless `assume`, unknown
    contents keep a loop from ending.

    Where contents that nobody states decide what threads do, `compared` says whether the kernel has
    the same launch with other contents with it.
    """
    whole = inlined(program.module, program.kernel(kernel or launch.kernel))
    function = with_fragments(whole.function)
    found = bound(launch, function, program.parameter_names(function))

    def made_of(contents: KernelLaunch) -> Kernel:
        return _made(program, launch, whole, function, contents, progress, assume)

    assumed = stand_ins(program.module, function, found, assume)
    if not assumed:
        return made_of(found)
    taken = {s.key: s.taken for s in assumed if s.taken is not None}
    main = made_of(replace(found, buffers={**found.buffers, **taken}))
    # A loop that was left unended says nothing of other contents.
    ended = main.doubt.longer < ENDLESS.longer
    others = variants(assumed) if compared and ended else ()
    changed = (replace(found, buffers={**found.buffers, **taken, **c}) for c in others)
    return with_assumption(main, assumed, [made_of(each) for each in changed], assume)


def _made(
    program: Program,
    launch: LaunchSpec,
    whole: Inlined,
    function: Function,
    found: KernelLaunch,
    progress: Progress | None,
    assume: bool,
) -> Kernel:
    """Return the kernel of a launch whose arguments are matched."""
    resources = program.resources[function.name]
    try:
        made = kernel_from_ptx(
            *(program.module, function, found, resources.registers, progress, resources.code),
            assume=assume,
        )
    except RecursionError:
        raise PerfmodelError(
            f"kernel {function.name!r} makes expressions nested too deeply to follow"
        ) from None
    made, left_out = _without(with_spills(made, resources), launch, whole, function, assume)
    parts = asynchronous_parts(function)
    others = (note for note in whole.notes if note not in left_out)
    notes = (*asynchronous_notes(parts), *made.notes, *others)
    if resources.origin == "estimated":
        notes = (*notes, "registers are estimated from PTX: no assembler here takes it")
    return replace(
        made,
        name=base_name(function.name),
        summary=f"from {program.name}",
        notes=notes,
        parameters=_with_given(made, launch.follows_from),
        compute_capability=least_capability(parts),
        asynchronous=parts,
    )


def _without(
    made: Kernel, launch: LaunchSpec, whole: Inlined, function: Function, assume: bool
) -> tuple[Kernel, tuple[str, ...]]:
    """Return a kernel that doubts its time by what is left out of it, and that in words."""
    if "malloc" in whole.left:
        # One heap serves all threads, one after the other.
        threads = float(prod(launch.grid) * prod(launch.block))
        made = replace(made, doubt=made.doubt.combined(Doubt(in_turn=threads)))
    missing = [name for name in whole.left if name not in RUNTIME]
    if missing and not made.accesses and not assume:
        raise PerfmodelError(
            f"kernel {base_name(function.name)} has no memory access but what {missing[0]} does, "
            "which has no body here: put it in the same file, or --assume to go on without it"
        )
    left_out = (*(whole.notes if missing else ()), *_left_out(function))
    if left_out:
        # First of all: what is missing is no detail of what is there.
        doubt = replace(_LEFT_OUT, reasons=left_out).combined(made.doubt)
        made = replace(made, doubt=doubt)
    return made, left_out


def _with_given(made: Kernel, given: Mapping[str, int]) -> tuple[Parameter, ...]:
    """Return a kernel's parameters with the numbers that its launch follows from besides."""
    taken = {p.name for p in made.parameters}
    other = {name for name, _ in made.definitions} | {loop.variable for loop in made.loops}
    found = list(made.parameters)
    for name, value in given.items():
        if name not in taken:
            found.append(decided(f"{name}_" if name in other else name, value))
    return tuple(found)


@once
def _left_out(function: Function) -> tuple[str, ...]:
    """Return what to say of memory that no access stands for: textures, fragments of matrices."""
    opcodes = {
        i.opcode + (".load/store" if i.opcode == "wmma" else "")
        for i in function.instructions
        if i.opcode in _TEXTURES or (i.opcode == "wmma" and not {"mma"} & {*i.modifiers})
    }
    if not opcodes:
        return ()
    return (f"memory that {', '.join(sorted(opcodes))} goes to is left out: the time is too short",)


def in_other_blocks(
    program: Program, launch: LaunchSpec, kernel: str | None, made: Kernel, sizes: Iterable[int]
) -> tuple[Kernel, ...]:
    """Return a launch as it would be with as many threads, in blocks of each other size.

    `made` is the launch as it is; `sizes` are threads of a block. None where threads of a block
    share memory or wait for one another, or where blocks or the grid have several dimensions:
    there, other blocks would need other code.
    """
    alone = not made.barriers and all(b.space == "global" for b in made.buffers)
    if not alone or max(*launch.block[1:], *launch.grid[1:]) > 1 or launch.shared_bytes:
        return ()
    threads = launch.grid[0] * launch.block[0]
    found = []
    for size in sizes:
        if size == launch.block[0]:
            continue
        try:
            other = replace(launch, grid=(-(-threads // size), 1, 1), block=(size, 1, 1))
            found.append(translated(program, other, kernel, assume=True, compared=False))
        except PerfmodelError:
            continue  # such as a size that the kernel's launch bounds exclude
    return tuple(found)


def with_spills(kernel: Kernel, resources: Resources) -> Kernel:
    """Return a kernel with the loads and stores of spilled registers, each made once a thread.

    Where they are, in a loop or in a branch, the assembler does not say; nothing is added if it
    does not say how many.
    """
    stored, loaded = resources.spill_store_bytes or 0, resources.spill_load_bytes or 0
    if not stored and not loaded:
        return kernel
    grid, block = (
        prod(int(evaluate(side, {})) for side in sides)
        for sides in (kernel.launch.grid, kernel.launch.block)
    )
    held = max(1, min(stored or loaded, resources.local_bytes or stored or loaded) // _WORD)
    kinds: tuple[tuple[AccessKind, int], ...]
    kinds = (("store", stored // _WORD), ("load", loaded // _WORD))
    accesses = tuple(
        Access(
            buffer=_SPILLED,
            kind=kind,
            index=THREAD,
            name=f"{_SPILLED}-{kind}",
            counted=_counted(count * -(-block // 32) * grid, count * grid * block),
        )
        for kind, count in kinds
        if count
    )
    note = (
        f"registers are spilled: {stored} B stored and {loaded} B loaded a thread, taken to be "
        "outside of loops"
    )
    return replace(
        kernel,
        buffers=(
            *kernel.buffers,
            Buffer(_SPILLED, Number(held * grid * block), Number(_WORD), "local"),
        ),
        accesses=(*kernel.accesses, *accesses),
        notes=(*kernel.notes, note),
    )


def _counted(requests: int, words: int) -> Counted:
    """Return requests of whole warps to words that lie one behind the other."""
    return Counted(
        *(requests, words, words, words / 8, requests, 2 * requests, requests, requests),
        sampled=1.0,
    )
