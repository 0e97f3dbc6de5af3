"""What others' PTX has: calls, pointers in structures, copies past registers, local arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from programs import HEADER, launch, program, written

from perfmodel import predict
from perfmodel.cuda.addresses.launch import bound
from perfmodel.cuda.emulate.launch import emulated_launch
from perfmodel.cuda.emulate.run import emulate
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.spec import Buffer, LaunchSpec, structure
from perfmodel.cuda.parse.inline import inlined
from perfmodel.cuda.parse.memory_parts import memory_parts
from perfmodel.cuda.parse.pointers import pointer_fields
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.sass.machine_code import MachineInstruction
from perfmodel.cuda.sass.tensor_work import tensor_counts
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Number, text
from perfmodel.kernels.kernel import Kernel

SCALE = """
.func (.param .b32 result) scale(.param .b32 x, .param .b64 p) {
  .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p<2>;
  ld.param.b32 %r1, [x]; ld.param.b64 %d1, [p];
  setp.lt.s32 %p1, %r1, 3; @%p1 bra small;
  mul.lo.s32 %r1, %r1, 4;
small:
  ld.global.u32 %r2, [%d1]; add.s32 %r1, %r1, %r2;
  st.param.b32 [result], %r1; ret;
}
"""
CALL = """
  ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x;
  { .param .b32 a; .param .b64 b; .param .b32 c;
    st.param.b32 [a], %r1; st.param.b64 [b], %d1;
    call (c), scale, (a, b); ld.param.b32 %r2, [c]; }
  { .param .b32 a; .param .b64 b; .param .b32 c;
    st.param.b32 [a], %r1; st.param.b64 [b], %d1;
    call (c), scale, (a, b); ld.param.b32 %r3, [c]; }
  mul.wide.u32 %d2, %r1, 4; add.s64 %d2, %d1, %d2; st.global.u32 [%d2+64], %r2; ret;
"""


def made(body: str, grid: Any = 4, block: Any = 64, declared: str = "", **named: Any) -> Kernel:
    parameters = named.pop("parameters", ".param .u64 out")
    module = written(body, parameters=parameters, declared=declared)
    return translated(program(module), launch(grid, block, **({"out": 1 << 20} | named)))


def test_functions_are_put_in_where_they_are_called() -> None:
    module = written(CALL, declared=SCALE)
    found = inlined(module, module.kernels[0])
    # by hand: no call is left, each copy has labels and registers of its own
    assert not any(i.opcode in ("call", "ret") for i in found.function.instructions[:-1])
    assert len([name for name in found.function.labels if name.startswith("small")]) == 2
    kernel = made(CALL, declared=SCALE)
    assert [(a.kind, text(a.index)) for a in kernel.accesses] == [
        ("load", "0"),
        ("load", "0"),
        ("store", "threadIdx.x + 16"),
    ]


@pytest.mark.parametrize(("guard", "warps"), [("", 2), ("@%p1 ", 1), ("@!%p1 ", 1)])
def test_a_guarded_call_is_put_in_behind_a_branch(guard: str, warps: int) -> None:
    body = "mov.u32 %r9, %tid.x; setp.lt.u32 %p1, %r9, 32;"
    body += CALL.replace("call (c), scale, (a, b); ld.param.b32 %r3", "ld.param.b32 %r3")
    kernel = made(body.replace("call", f"{guard}call"), declared=SCALE)
    assert "calls of" not in " ".join(kernel.doubt.reasons)
    # by hand: the called function loads one word, in the warps that call it, of 4 blocks of 2
    assert predict(kernel).traffic["global_load_requests"] == 4 * warps


def test_functions_without_a_body_are_named() -> None:
    kernel = made(
        "call elsewhere, (%r1); ld.param.u64 %d1, [out]; st.global.u32 [%d1], %r1; ret;",
        declared=".extern .func elsewhere(.reg .b32 x);",
    )
    assert "calls of elsewhere are left out" in " ".join(kernel.doubt.reasons)


VIEW = ".param .align 8 .b8 view[24]"
READ = """
  ld.param.u64 %d1, [view+8]; ld.param.u32 %r2, [view+16];
  mov.u32 %r1, %tid.x; mul.lo.s32 %r1, %r1, %r2; mul.wide.s32 %d2, %r1, 4;
  add.s64 %d1, %d1, %d2; ld.global.f32 %f1, [%d1]; ret;
"""


def test_pointers_and_numbers_in_structures() -> None:
    module = written(READ, parameters=VIEW)
    assert pointer_fields(module.kernels[0]) == {"view": (8,)}
    # PTX ISA 8.1: parameters have up to 32764 B
    far = READ.replace("view+8", "view+32752")
    large = written(far, parameters=VIEW.replace("[24]", "[32760]"))
    assert pointer_fields(large.kernels[0]) == {"view": (32752,)}
    stated = structure(["pad 8", "ptr 64KiB", "i32 3", "pad 4"], "view")
    assert len(stated.data) == 24
    assert stated.buffers == {8: Buffer(1 << 16)}
    spec = LaunchSpec((4, 1, 1), (64, 1, 1), named={"view": stated})
    kernel = translated(program(module), spec)
    (load,) = kernel.accesses
    # by hand: the structure's 3 is the stride
    assert (load.buffer, text(load.index)) == ("view-at-8", "threadIdx.x * 3")
    assert text(kernel.buffers[0].length) == str((1 << 16) // 4)


def test_a_structure_that_nobody_states_is_spelled_out() -> None:
    with pytest.raises(PerfmodelError, match=r"--arg 'view=pad 8, ptr, i32 0, pad 4'"):
        translated(program(written(READ, parameters=VIEW)), launch(1, 32))


def test_parameters_that_nobody_reads_may_be_left_out() -> None:
    kernel = made(
        "ld.param.u64 %d1, [out]; st.global.u32 [%d1], 1; ret;",
        parameters=".param .u64 out, .param .u32 unused, .param .align 64 .b8 map[128]",
    )
    assert len(kernel.accesses) == 1


COPY = """
  ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, {step};
  add.s64 %d1, %d1, %d2; mov.u32 %r2, s; mad.lo.s32 %r2, %r1, {size}, %r2;
  setp.lt.u32 %p1, %r1, 32; selp.b32 %r3, {size}, 0, %p1;
  cp.async.{how}.shared.global{hint} [%r2], [%d1], {size}{source}; cp.async.wait_all; ret;
"""


@pytest.mark.parametrize(
    ("how", "size", "step", "sectors"),
    [("ca", 4, 4, 4), ("ca", 8, 8, 8), ("ca", 4, 128, 32), ("cg", 16, 16, 16), ("cg", 16, 64, 32)],
)
def test_asynchronous_copies_read_and_write(how: str, size: int, step: int, sectors: int) -> None:
    body = COPY.format(how=how, size=size, step=step, hint="", source=", %r3")
    kernel = made(body, declared=".shared .align 16 .b8 s[1024];")
    load, store = kernel.accesses
    found = predict(kernel).traffic
    # by hand: of 2 warps of 4 blocks one reads, the other is given zeros; both write
    assert (found["global_load_requests"], found["global_load_sectors"]) == (4, 4 * sectors)
    assert found["shared_requests"] == 8
    assert found["shared_wavefronts"] == 8 * size / 4
    assert (load.cache, store.kind) == ("l2" if how == "cg" else "l1", "store")


@pytest.mark.parametrize("emulated", [False, True])
@pytest.mark.parametrize(
    ("source", "warps"), [("", 2), (", %r3", 1), (", %p1", 1), (", 16", 2), (", 0", 0)]
)
@pytest.mark.parametrize("policy", ["", ", %d3"])
def test_what_a_copy_reads_whatever_its_cache_policy(
    source: str, warps: int, policy: str, emulated: bool
) -> None:
    # PTX ISA, cp.async: a source size or a predicate to ignore the source, then a policy
    hint = ".L2::cache_hint" if policy else ""
    body = "createpolicy.fractional.L2::evict_first.b64 %d3, 1.0;"
    body += COPY.format(how="cg", size=16, step=16, hint=hint, source=source + policy)
    module = written(body, declared=".shared .align 16 .b8 s[1024];")
    spec = launch(4, 64, out=Buffer(1 << 16))
    if emulated:
        (kernel,) = module.kernels
        counts = emulate(module, kernel, emulated_launch(bound(spec, kernel), kernel)).counts
        loads = [c for at, c in counts.items() if at < 1 << 32]
        assert sum(c.requests for c in loads) == 4 * warps
    else:
        found = predict(translated(program(module), spec)).traffic
        assert found["global_load_requests"] == 4 * warps


@pytest.mark.parametrize("mapped", ["mapa.shared::cluster.u32", "mapa.u64"])
@pytest.mark.parametrize("emulated", [False, True])
def test_another_blocks_shared_memory_is_shared_memory(mapped: str, emulated: bool) -> None:
    # PTX ISA, mapa: the address in another block of the cluster of what is at that of this one
    bits, far, space = (64, "%d4", "") if "u64" in mapped else (32, "%r4", ".shared::cluster")
    body = f"mov.u{bits} {far}, s; {mapped} {far}, {far}, 1; ld{space}.u32 %r3, [{far}+4]; ret;"
    module = written(body, declared=".shared .align 16 .b8 s[1024];")
    spec = launch(4, 64, out=Buffer(1 << 16))
    # by hand: one request of each of 2 warps of 4 blocks
    if emulated:
        (kernel,) = module.kernels
        found = emulate(module, kernel, emulated_launch(bound(spec, kernel), kernel))
        assert [(c.region, c.requests) for c in found.counts.values()] == [(-1, 8)]  # shared
    else:
        assert predict(translated(program(module), spec)).traffic["shared_requests"] == 8


BULK = """
  ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra wait;
  mov.u32 %r2, s; mov.u32 %r3, bar; mov.u32 %r4, %ctaid.x; mul.wide.u32 %d2, %r4, 2048;
  add.s64 %d1, %d1, %d2;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 2048;
  {copy}
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra wait; ret;
"""
STAGE = ".shared .align 128 .b8 s[4096]; .shared .align 8 .b64 bar;"
TO = "cp.async.bulk{kind}.shared::cluster.global{tile}.mbarrier::complete_tx::bytes [%r2], "


def test_bulk_copies_count_runs_past_l1() -> None:
    copy = TO.format(kind="", tile="") + "[%d1], 2048, [%r3];"
    kernel = made(BULK.replace("{copy}", copy), grid=8, declared=STAGE)
    found = predict(kernel, cache="cold").traffic
    # by hand: one thread a block, 2048 B = 64 sectors, all different
    assert (found["global_load_requests"], found["global_load_sectors"]) == (8, 8 * 64)
    assert found["l1_hit_sectors"] == 0
    assert found["dram_read_bytes"] == 8 * 2048


def test_tensor_copies_take_what_the_barrier_expects() -> None:
    copy = TO.format(kind=".tensor.2d", tile=".tile") + "[%d1, {%r4, %r1}], [%r3];\n"
    kernel = made(BULK.replace("{copy}", copy + copy), grid=8, declared=STAGE)
    found = predict(kernel).traffic
    # by hand: two boxes a block share 2048 B
    assert (found["global_load_requests"], found["global_load_sectors"]) == (16, 8 * 64)
    assert "boxes of tensor copies are not in PTX" in " ".join(kernel.notes)


def test_matrix_loads_take_rows_of_some_lanes() -> None:
    body = """
      mov.u32 %r1, %laneid; mov.u32 %r2, s; mad.lo.s32 %r2, %r1, 16, %r2;
      ldmatrix.sync.aligned.m8n8.{n}.shared.b16 {v}, [%r2]; ret;
    """
    four = "{%r3,%r4,%r5,%r6}"
    for n, v, clocks in (("x1", "{%r3}", 1), ("x2", "{%r3,%r4}", 2), ("x4", four, 4)):
        kernel = made(
            body.replace("{n}", n).replace("{v}", v), declared=".shared .align 16 .b8 s[1024];"
        )
        found = predict(kernel).traffic
        # by hand: 128 B of neighbouring rows are a clock
        assert (found["shared_requests"], found["shared_wavefronts"]) == (8, 8 * clocks)


def test_products_are_tensor_work() -> None:
    def counts(name: str) -> dict[str, float] | None:
        return tensor_counts(written(f"{name} {{%r1}}, %r2, %r3;").kernels[0].instructions[0])

    # by hand: 16 x 8 x 16 multiply-accumulates by 32 lanes; 64 x 256 x 16 by 128
    assert counts("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32") == {"tensor16": 64.0}
    assert counts("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16") == {
        "bf16_tensor": 2048.0,
        "other": 1.0,
    }
    assert counts("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32") == {"tensor16": 64.0}
    assert counts("mul.lo.s32") is None


@pytest.mark.parametrize("block", [64, (16, 4)])
@pytest.mark.parametrize(("kind", "words"), [("u32", 1), ("u64", 2), ("v4.f32", 4), ("u8", 1)])
def test_local_words_lie_beside_the_neighbours(block: Any, kind: str, words: int) -> None:
    registers = {"u32": "%r2", "u64": "%d2", "u8": "%r2", "v4.f32": "{%f1,%f2,%f3,%f4}"}
    body = f"""
      ld.param.u64 %d1, [out]; mov.u64 %d3, a; ld.local.{kind} {registers[kind]}, [%d3+16];
      st.global.u32 [%d1], %r2; ret;
    """
    module = written(".local .align 16 .b8 a[64];\n" + body)
    kernel = translated(program(module), launch(4, block, out=1 << 20))
    assert {b.name: b.space for b in kernel.buffers}["local-memory"] == "local"
    found = predict(kernel).traffic
    # by hand, and so the profiler counts: a request a word, four sectors each; of 8 warps
    assert found["local_load_requests"] == 8 * words
    assert found["local_load_sectors"] == 8 * words * 4
    assert found["global_load_requests"] == 0


def test_a_local_array_of_no_whole_words_has_its_last_word() -> None:
    # by hand: 17 bytes of each of 256 threads are five words, the last of which is stored to
    body = """
      ld.param.u64 %d1, [out]; mov.u64 %d3, a; st.local.u8 [%d3+16], %r2; ld.local.u8 %r2, [%d3+1];
      st.global.u32 [%d1], %r2; ret;
    """
    module = written(".local .align 1 .b8 a[17];\n" + body)
    kernel = translated(program(module), launch(4, 64, out=1 << 20))
    (local,) = (b for b in kernel.buffers if b.space == "local")
    assert local.length == Number(5 * 256)
    assert predict(kernel).traffic["local_store_sectors"] == 8 * 4


@pytest.mark.parametrize(("opcode", "left"), [(0x183, True), (0x187, True), (0x181, False)])
def test_arrays_that_ptxas_keeps_in_registers_are_no_memory(opcode: int, left: bool) -> None:
    # by hand: LDL and STL reach local memory, LDG does not. Measured: sixteen words of a thread,
    # local in PTX, of which machine code has none, and the profiler counts none
    # (measurements/source-kernels/h100-sxm/mixed-sizes, local_array)
    body = """
      ld.param.u64 %d1, [out]; mov.u64 %d3, a; ld.global.u32 %r2, [%d1]; st.local.u32 [%d3], %r2;
      ld.local.u32 %r3, [%d3+16]; st.global.u32 [%d1], %r3; ret;
    """
    module = written(".local .align 16 .b8 a[64];\n" + body)
    one = program(module)
    (name, taken), *_ = one.resources.items()
    code = (MachineInstruction(opcode, False, 1, (), None, None, None),)
    one = replace(one, resources={name: replace(taken, code=code)})
    kernel = translated(one, launch(4, 64, out=1 << 20))
    assert ("local" in {b.space for b in kernel.buffers}) is left
    assert [a.kind for a in kernel.accesses if a.buffer == "out"] == ["load", "store"]


def test_waits_for_other_blocks_are_left() -> None:
    kernel = made(
        "ld.param.u64 %d1, [out];\nl: ld.volatile.global.u32 %r1, [%d1];"
        "setp.ne.u32 %p1, %r1, 77; @%p1 bra l; st.global.u32 [%d1+4], %r1; ret;"
    )
    assert "wait in a loop" in " ".join(kernel.notes)


def test_unknown_lengths_are_made_small_where_they_keep_a_kernel_from_ending() -> None:
    kernel = made(
        "ld.param.u64 %d1, [out]; ld.global.u32 %r1, [%d1]; mov.u32 %r2, 0;\n"
        "l: add.u32 %r2, %r2, 1; xor.b32 %r3, %r2, %r1; st.global.u32 [%d1+8], %r3;"
        "setp.lt.u32 %p1, %r2, %r1; @%p1 bra l; ret;",
    )
    assert "integers below 64" in " ".join(kernel.doubt.reasons)
    assert np.isfinite(predict(kernel).time_s)


def test_parts_of_instructions() -> None:
    module = parse_ptx(
        HEADER + ".visible .entry k() { .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>;"
        "red.global.add.v4.f32 [%d1], {%f1,%f2,%f3,%f4}; multimem.st.global.f32 [%d1], %f1;"
        "multimem.ld_reduce.global.add.f32 %f1, [%d1]; cp.async.commit_group;"
        "ld.const.f32 %f1, [%d1]; ld.global.nc.v4.f32 {%f1,%f2,%f3,%f4}, [%d1]; ret; }"
    )
    found = [
        [(p.kind, p.space, p.width) for p in memory_parts(i)]
        for i in module.kernels[0].instructions
    ]
    assert found == [
        [("atomic", "global", 16)],
        [("store", "global", 4)],
        [("load", "global", 4)],
        [],
        [],
        [("load", "global", 16)],
        [],
    ]


def test_a_grid_that_waits_for_all_its_blocks_goes_on_and_says_so() -> None:
    # as nvcc writes grid.sync(): a trap where there is no workspace, an atomic, and a wait
    kernel = made(
        "mov.u32 %r1, %envreg2; mov.u32 %r2, %envreg1; cvt.u64.u32 %d2, %r1;"
        "cvt.u64.u32 %d3, %r2; bfi.b64 %d2, %d3, %d2, 32, 32; setp.ne.s64 %p1, %d2, 0;"
        "@%p1 bra a; trap;\na: atom.add.release.gpu.u32 %r3, [%d2+4], 1;\n"
        "l: ld.acquire.gpu.u32 %r1, [%d2+4]; xor.b32 %r1, %r1, %r3; setp.gt.s32 %p1, %r1, -1;"
        "@%p1 bra l; ld.param.u64 %d1, [out]; st.global.u32 [%d1+4], %r1; ret;"
    )
    assert "grid.sync()" in " ".join(kernel.notes)
    assert any(a.kind == "store" for a in kernel.accesses)
