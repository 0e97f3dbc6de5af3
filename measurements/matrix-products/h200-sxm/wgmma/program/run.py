"""Matrix products and attention of Triton on Hopper: wgmma fed by cp.async, or by TMA.

    python run.py OUT           # compiles and checks; writes ptx/, launches.jsonl and checks.csv
    python run.py OUT profile   # each launch once, between cudaProfilerStart and Stop

The second is for `ncu --profile-from-start off --clock-control none --cache-control all`.
"""

import csv
import functools
import json
import sys
from pathlib import Path

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

KINDS = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp8": torch.float8_e4m3fn}


@triton.jit
def product_async(
    a,
    b,
    c,
    M,
    N,
    K,
    sa,
    sb,
    sc,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    STAGES: tl.constexpr,
):
    """C = A B; tiles come through pointers, which Triton copies by cp.async."""
    tile = tl.program_id(0)
    across = tl.cdiv(N, BN)
    row, column = tile // across, tile % across
    rows = row * BM + tl.arange(0, BM)
    columns = column * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    pa = a + rows[:, None] * sa + inner[None, :]
    pb = b + inner[:, None] * sb + columns[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in tl.range(0, K // BK, num_stages=STAGES):
        total = tl.dot(tl.load(pa), tl.load(pb), total)
        pa += BK
        pb += BK * sb
    tl.store(c + rows[:, None] * sc + columns[None, :], total.to(c.dtype.element_ty))


@triton.jit
def product_tma(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr
):
    """C = A B^T; tiles come through tensor maps made by the host."""
    tile = tl.program_id(0)
    across = tl.cdiv(N, BN)
    row, column = tile // across, tile % across
    total = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K // BK, num_stages=STAGES):
        x = a.load([row * BM, k * BK])
        y = b.load([column * BN, k * BK])
        total = tl.dot(x, y.T, total)
    c.store([row * BM, column * BN], total.to(c.dtype))


@triton.jit
def product_tma_persistent(
    a,
    b,
    c,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    STAGES: tl.constexpr,
    SMS: tl.constexpr,
):
    """C = A B^T by as many blocks as SMs, each of which goes from tile to tile."""
    across = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * across
    for tile in tl.range(tl.program_id(0), tiles, SMS, flatten=True):
        row, column = tile // across, tile % across
        total = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, K // BK, num_stages=STAGES):
            x = a.load([row * BM, k * BK])
            y = b.load([column * BN, k * BK])
            total = tl.dot(x, y.T, total)
        c.store([row * BM, column * BN], total.to(c.dtype))


@triton.jit
def attention_async(
    q, k, v, o, S, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, STAGES: tl.constexpr
):
    """Attention of one head a block row: softmax(scale Q K^T) V, streamed over keys."""
    head = tl.program_id(1) * S * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    inner = tl.arange(0, D)
    keys = tl.arange(0, BN)
    x = tl.load(q + head + rows[:, None] * D + inner[None, :])
    most = tl.full((BM,), float("-inf"), tl.float32)
    weight = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    pk = k + head + keys[None, :] * D + inner[:, None]
    pv = v + head + keys[:, None] * D + inner[None, :]
    for _ in tl.range(0, S // BN, num_stages=STAGES):
        score = tl.dot(x, tl.load(pk)) * scale
        higher = tl.maximum(most, tl.max(score, 1))
        share = tl.exp2(score - higher[:, None])
        shrink = tl.exp2(most - higher)
        weight = weight * shrink + tl.sum(share, 1)
        total = tl.dot(share.to(x.dtype), tl.load(pv), total * shrink[:, None])
        most = higher
        pk += BN * D
        pv += BN * D
    tl.store(o + head + rows[:, None] * D + inner[None, :], (total / weight[:, None]).to(x.dtype))


def products():
    """Yield what is launched: by hand over tiles, then types and shapes by turns."""
    tiles = [
        (64, 64, 64, 3, 4),
        (64, 128, 64, 4, 4),
        (128, 64, 64, 4, 4),
        (128, 128, 32, 3, 4),
        (128, 128, 64, 3, 4),
        (128, 128, 64, 4, 8),
        (128, 256, 64, 3, 8),
        (64, 256, 64, 3, 4),
        (128, 256, 32, 4, 8),
        (64, 256, 32, 4, 4),
        (128, 128, 128, 2, 8),
        (64, 64, 128, 3, 4),
    ]
    shapes = [
        (4096, 4096, 4096),
        (2048, 2048, 8192),
        (8192, 8192, 1024),
        (1024, 1024, 1024),
        (256, 8192, 4096),
        (8192, 512, 2048),
    ]
    for i, (bm, bn, bk, stages, warps) in enumerate(tiles):
        for j, kind in enumerate(("bf16", "fp16", "fp8")):
            shape = shapes[(i + 2 * j) % len(shapes)]
            if j < 2 or bk >= 64:
                yield "product_tma", kind, shape, (bm, bn, bk, stages, warps)
            if j < 2:
                yield "product_async", kind, shapes[(i + 3 * j) % 6], (bm, bn, bk, stages, warps)
        if i % 2 == 0:
            yield "product_tma_persistent", "bf16", shapes[i % 6], (bm, bn, bk, stages, warps)


def attentions():
    """Yield heads, length, width of a head, tiles."""
    yield from [
        (64, 4096, 64, 128, 64, 3, 4),
        (64, 4096, 128, 128, 64, 3, 8),
        (16, 1024, 64, 64, 64, 2, 4),
        (32, 2048, 128, 64, 64, 3, 4),
        (32, 8192, 64, 128, 128, 2, 8),
        (128, 512, 128, 128, 128, 2, 8),
    ]


def drawn(shape, kind):
    """Return random numbers of a type."""
    return torch.randn(shape, device="cuda", dtype=torch.float32).mul_(0.3).to(kind)


def described(array):
    """Return a buffer as a launch file has it."""
    return {"bytes": array.numel() * array.element_size()}


def cases(sms):
    """Yield name, a function that launches, its reference, its output, and its arguments."""
    for kernel, kind, (m, n, k), (bm, bn, bk, stages, warps) in products():
        if m % bm or n % bn or k % bk:
            continue
        type_ = KINDS[kind]
        out = torch.float16 if kind == "fp8" else type_
        a = drawn((m, k), type_)
        b = drawn((n, k), type_)
        c = torch.full((m, n), float("nan"), device="cuda", dtype=out)
        name = f"{kernel}-{kind}-{m}-{n}-{k}-{bm}x{bn}x{bk}-s{stages}-w{warps}"
        tiles = (m // bm) * (n // bn)
        more = {"num_warps": warps, "num_stages": stages}
        if kernel == "product_async":
            given = b.T.contiguous()
            args = (a, given, c, m, n, k, k, n, n, bm, bn, bk, stages)
            yield name, product_async, (tiles,), args, more, [a, given, c], (a, b, c)
            continue
        maps = [
            TensorDescriptor.from_tensor(x, s)
            for x, s in ((a, [bm, bk]), (b, [bn, bk]), (c, [bm, bn]))
        ]
        args = (*maps, m, n, k, bm, bn, bk, stages)
        if kernel == "product_tma":
            yield name, product_tma, (tiles,), args, more, [a, b, c], (a, b, c)
        else:
            yield (
                name,
                product_tma_persistent,
                (min(sms, tiles),),
                (*args, sms),
                more,
                [a, b, c],
                (a, b, c),
            )
    for heads, length, width, bm, bn, stages, warps in attentions():
        q, k, v = (drawn((heads, length, width), torch.bfloat16) for _ in range(3))
        o = torch.full_like(q, float("nan"))
        scale = 1.44269504 / width**0.5
        args = (q, k, v, o, length, scale, width, bm, bn, stages)
        name = f"attention_async-bf16-{heads}-{length}-{width}-{bm}x{bn}-s{stages}-w{warps}"
        yield (
            name,
            attention_async,
            (length // bm, heads),
            args,
            {"num_warps": warps, "num_stages": stages},
            [q, k, v, o],
            (q, k, v, o),
        )


def reference(arrays):
    """Return the right answer in FP32, or for attention through PyTorch in BF16."""
    if len(arrays) == 3:
        a, b, _ = arrays
        return a.float() @ b.float().T
    q, k, v, _ = arrays
    return torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0].float()


def main():
    """Compile and check everything, then launch each once more for a profiler."""
    out = Path(sys.argv[1])
    (out / "ptx").mkdir(parents=True, exist_ok=True)
    profile = len(sys.argv) > 2
    torch.manual_seed(0)
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    rows, launches, failed = [], [], []
    for name, kernel, grid, args, more, arrays, checked in cases(sms):
        try:
            made = kernel[grid](*args, **more)
            torch.cuda.synchronize()
        except Exception as error:
            failed.append((name, str(error).splitlines()[-1][:150]))
            continue
        if profile:
            torch.cuda.cudart().cudaProfilerStart()
            kernel[grid](*args, **more)
            torch.cuda.synchronize()
            torch.cuda.cudart().cudaProfilerStop()
            rows.append([name])
            continue
        came, wanted = checked[-1].float(), reference(checked)
        error = float((came - wanted).norm() / wanted.norm())
        launch = functools.partial(kernel[grid], *args, **more)
        times = triton.testing.do_bench(launch, warmup=5, rep=25, return_mode="median")
        (out / "ptx" / f"{name}.ptx").write_text(made.asm["ptx"])
        launches.append(
            {
                "name": name,
                "kernel": made.metadata.name,
                "grid": [*grid],
                "block": [32 * made.metadata.num_warps],
                "shared_bytes": made.metadata.shared,
                "buffers": [described(x) for x in arrays],
                "numbers": [x for x in args if isinstance(x, (int, float))],
            }
        )
        rows.append([name, f"{1e3 * times:.3f}", f"{error:.3e}"])
    with open(out / ("profiled.csv" if profile else "checks.csv"), "w", newline="") as file:
        csv.writer(file).writerows(rows)
    if not profile:
        (out / "launches.jsonl").write_text("".join(json.dumps(x) + "\n" for x in launches))
    print(len(rows), "ran;", len(failed), "failed", *failed[:8], sep="\n")


main()
