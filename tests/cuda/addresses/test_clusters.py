"""Special registers of clusters and of SMs, followed and emulated."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from programs import launch, program, text_of

from perfmodel.cuda.addresses.launch import bound
from perfmodel.cuda.emulate.launch import emulated_launch
from perfmodel.cuda.emulate.run import emulate
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.spec import Buffer
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.expressions import evaluate

GRID = (4, 6, 2)
READ = """
  ld.param.u64 %d1, [out]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ctaid.y; mov.u32 %r4, %ctaid.z;
  mad.lo.s32 %r5, %r4, 6, %r3; mad.lo.s32 %r5, %r5, 4, %r2; mov.u32 %r1, %{name};
  mad.lo.s32 %r6, %r5, 8, %r1; mul.wide.s32 %d2, %r6, 4; add.s64 %d2, %d1, %d2;
  st.global.u32 [%d2], 7; ret;
"""


# PTX ISA, special registers: a block's place in its cluster, x first, the cluster's in the grid
@pytest.mark.parametrize(
    ("name", "clustered", "alone"),
    [
        ("cluster_ctaid.x", lambda x, y, z: x % 2, lambda x, y, z: 0),
        ("cluster_ctaid.y", lambda x, y, z: y % 3, lambda x, y, z: 0),
        ("cluster_nctaid.y", lambda x, y, z: 3, lambda x, y, z: 1),
        ("cluster_ctarank", lambda x, y, z: x % 2 + 2 * (y % 3), lambda x, y, z: 0),
        ("cluster_nctarank", lambda x, y, z: 6, lambda x, y, z: 1),
        ("clusterid.x", lambda x, y, z: x // 2, lambda x, y, z: x),
        ("clusterid.z", lambda x, y, z: z, lambda x, y, z: z),
        ("nclusterid.y", lambda x, y, z: 2, lambda x, y, z: 6),
    ],
)
@pytest.mark.parametrize("cluster", ["", ".reqnctapercluster 2, 3"])
def test_places_in_clusters(name: str, clustered: Any, alone: Any, cluster: str) -> None:
    text = text_of(READ.replace("{name}", name)).replace("out)\n", f"out) {cluster}\n")
    module, spec = parse_ptx(text), launch(GRID, 1, out=Buffer(48 * 32))
    (kernel,) = module.kernels
    prepared = emulated_launch(bound(spec, kernel), kernel)
    assert not emulate(module, kernel, prepared).notes
    (region,) = prepared.buffers.values()
    held = region.load(np.arange(0, 48 * 32, 4), 4, "b32")
    (access,) = translated(program(module), spec).accesses
    for number, (z, y, x) in enumerate(product(range(2), range(6), range(4))):
        at = 8 * number + (clustered if cluster else alone)(x, y, z)
        assert held[at] == 7
        place = {"blockIdx.x": x, "blockIdx.y": y, "blockIdx.z": z, "threadIdx.x": 0}
        sides = {f"gridDim.{axis}": n for axis, n in zip("xyz", GRID, strict=True)}
        assert evaluate(access.index, place | sides) == at


def test_what_no_register_stands_for_is_said() -> None:
    # PTX ISA: %clock64 counts clocks, which an emulation has none of
    body = "ld.param.u64 %d1, [out]; mov.u64 %d2, %clock64; st.global.u64 [%d1], %d2; ret;"
    module = parse_ptx(text_of(body))
    (kernel,) = module.kernels
    spec = launch(1, 1, out=Buffer(64))
    found = emulate(module, kernel, emulated_launch(bound(spec, kernel), kernel))
    assert found.notes == ("not emulated, results taken as 0: %clock64",)
