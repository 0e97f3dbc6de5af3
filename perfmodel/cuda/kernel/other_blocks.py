"""The same launch in blocks of other sizes, of a kernel whose threads work each on its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from perfmodel.cuda.compile.program import Program
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.spec import LaunchSpec
from perfmodel.errors import PerfmodelError
from perfmodel.kernels.kernel import Kernel


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
