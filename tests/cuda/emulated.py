"""What tests of the emulator share: a kernel of some instructions, run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from programs import launch, written

from perfmodel.cuda.addresses.launch import bound
from perfmodel.cuda.emulate.launch import emulated_launch
from perfmodel.cuda.emulate.result import Emulation
from perfmodel.cuda.emulate.run import emulate
from perfmodel.cuda.launch.spec import Buffer
from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.sass.unrolling import counter


def single(
    body: str, grid: int = 1, block: int = 32, declared: str = "", unrolled: Sequence[int] = ()
) -> tuple[Emulation, Any]:
    module = written(body, declared=declared)
    kernel = module.kernels[0]
    prepared = emulated_launch(
        bound(launch(grid, block, out=Buffer(4 * grid * block)), kernel), kernel
    )
    blocks = control_flow(kernel).blocks
    together = {
        n: how
        for n in unrolled
        if (how := counter(kernel, range(blocks[n].start, blocks[n].stop), blocks[n].stop - 1))
    }
    found = emulate(module, kernel, prepared, together=together)
    (region,) = prepared.buffers.values()
    return found, region.load(np.arange(0, region.size, 4), 4, "b32")


STORE = """
    ld.param.u64 %d1, [out]; mov.u32 %r30, %tid.x; mov.u32 %r29, %ctaid.x; mov.u32 %r28, %ntid.x;
    mad.lo.s32 %r30, %r29, %r28, %r30;
    mul.wide.u32 %d2, %r30, 4; add.s64 %d1, %d1, %d2; st.global.u32 [%d1], %r1; ret;
"""
