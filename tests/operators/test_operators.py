"""Operators: bytes and operations by hand, where each lives, and what a token adds up to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perfmodel.errors import PerfmodelError
from perfmodel.hardware import load_device
from perfmodel.kernels import bind, builtin, check_bounds
from perfmodel.operators import StepTimes, load_shape, operators, predict_operators
from perfmodel.operators.model_shape import with_context
from perfmodel.operators.predict import tier
from perfmodel.operators.step import Operator
from perfmodel.prediction import predict

LLAMA = load_shape("llama-2-7b")
A100 = load_device("a100-sxm-80")
HOW = ("direct", "copy", "index_copy")

# By hand, Llama 2 7B at 4096 tokens, one sequence, 2 bytes a number: (read, written, times, FLOP).
BY_HAND = {
    # a row of 4096, weight and bias; a row out. Two a layer and one at the end.
    "layernorm": (3 * 4096 * 2, 4096 * 2, 65, 8 * 4096),
    # 12288 x 4096 weights and x; 12288 out
    "qkv projection": (12288 * 4096 * 2 + 4096 * 2, 12288 * 2, 32, 2 * 12288 * 4096),
    # a row of keys and one of values
    "kv append": (2 * 4096 * 2, 2 * 4096 * 2, 32, 0),
    # 4096 keys and values of 4096, and a query; 32 heads of 32 parts of 128 tokens, each 128
    # floats and 2 more
    "decode attention": (
        2 * 4096 * 4096 * 2 + 4096 * 2,
        32 * 32 * 130 * 4,
        32,
        4 * 4096 * 4096,
    ),
    "decode combine": (32 * 32 * 130 * 4, 4096 * 2, 32, 4 * 32 * 32 * 128),
    "output projection": (4096 * 4096 * 2 + 4096 * 2, 4096 * 2, 32, 2 * 4096 * 4096),
    # gate and up: 64 of them
    "ffn up": (11008 * 4096 * 2 + 4096 * 2, 11008 * 2, 64, 2 * 11008 * 4096),
    "ffn down": (4096 * 11008 * 2 + 11008 * 2, 4096 * 2, 32, 2 * 11008 * 4096),
    "logits": (32000 * 4096 * 2 + 4096 * 2, 32000 * 2, 1, 2 * 32000 * 4096),
    # a row of logits; one 64-bit position
    "argmax": (32000 * 2, 8, 1, 32000),
    # queries, keys, values; the result
    "prefill attention, tiled": (3 * 4096 * 4096 * 2, 4096 * 4096 * 2, 32, 4 * 4096**3),
    # besides, 32 x 4096 x 4096 scores as floats, written and read
    "prefill attention, naive": (
        3 * 4096 * 4096 * 2 + 32 * 4096**2 * 4,
        4096 * 4096 * 2 + 32 * 4096**2 * 4,
        32,
        4 * 4096**3,
    ),
    "softmax of its scores": (32 * 4096**2 * 2, 32 * 4096**2 * 2, 32, 5 * 32 * 4096**2),
}


@pytest.fixture(scope="module")
def llama() -> StepTimes:
    return predict_operators(LLAMA, A100)


@pytest.fixture(scope="module")
def minigpt() -> StepTimes:
    return predict_operators(load_shape("minigpt"), A100)


def named(times: StepTimes, name: str) -> Operator:
    return next(e.operator for e in times.each if e.operator.name == name)


@pytest.mark.parametrize("name", BY_HAND)
def test_bytes_and_operations_by_hand(llama: StepTimes, name: str) -> None:
    found = next(e for e in llama.each if e.operator.name == name)
    read, written, times, flop = BY_HAND[name]
    o = found.operator
    assert (o.read_bytes, o.written_bytes, o.count) == (read, written, times)
    assert found.flop == flop
    assert found.intensity == pytest.approx(flop / (read + written))


def test_every_operator_is_worked_out_by_hand(llama: StepTimes) -> None:
    assert [e.operator.name for e in llama.each] == list(BY_HAND)


@pytest.mark.parametrize(
    "name", ["qkv projection", "decode attention", "ffn up", "ffn down", "logits", "argmax"]
)
def test_kernels_fetch_what_the_operator_must_read(name: str) -> None:
    # independent: the kernels' own accesses, cold; fetched in units of 64 bytes
    o = next(o for o in operators(LLAMA) if o.name == name)
    moved = predict(o.kernel, device=A100, cache="cold", **o.params).traffic
    assert moved["dram_read_bytes"] == pytest.approx(o.read_bytes, rel=0.02)


@pytest.mark.parametrize(
    ("kernel", "params", "read", "written"),
    [
        # by hand: 8192 rows of 4096 halves; weight and bias once. Larger than L2, so that what is
        # written goes out too, but for what L2 holds at the end (at most its 50 MiB)
        ("layernorm", {"rows": 8192, "cols": 4096}, 8192 * 4096 * 2 + 2 * 8192, 8192 * 4096 * 2),
        ("softmax", {"rows": 8192, "cols": 8192}, 8192 * 8192 * 2, 8192 * 8192 * 2),
        ("argmax", {"rows": 512, "cols": 128256}, 512 * 128256 * 2, 0),
        # 4096 sequences of 32 heads of 128 halves, keys and values
        ("kv-append", {"batch": 4096, "context": 16}, 2 * 4096 * 32 * 128 * 2, 0),
    ],
)
def test_large_kernels_move_each_array_once(
    kernel: str, params: dict[str, int], read: int, written: int
) -> None:
    moved = predict(kernel, device="h100-sxm", cache="cold", **params).traffic
    assert moved["dram_read_bytes"] == pytest.approx(read, rel=0.1)
    assert written - (50 << 20) <= moved["dram_write_bytes"] <= written + (64 << 20)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # published (GPU Memory Hierarchy): where the notes place them on an A100
        ("prefill attention, tiled", "L1/SMEM"),
        ("decode attention", "HBM"),
        ("ffn up", "HBM"),
        ("ffn down", "HBM"),
        ("kv append", "HBM"),
        ("argmax", "L2"),
        # by hand: a row of 4096 halves is 8 KiB; 32 x 4096 x 4096 floats are 2 GiB
        ("layernorm", "L1/SMEM"),
        ("prefill attention, naive", "HBM"),
    ],
)
def test_tiers_of_llama(llama: StepTimes, name: str, expected: str) -> None:
    assert next(e.tier for e in llama.each if e.operator.name == name) == expected


def test_minigpts_cache_fits_into_an_a100s_l2(minigpt: StepTimes) -> None:
    # published (GPU Memory Hierarchy): 16 MiB into 40 MiB
    decode = named(minigpt, "decode attention")
    assert decode.working_set == 16 << 20
    assert A100.l2_size == 40 << 20
    assert tier(decode, A100) == "L2"


def test_the_cache_read_leg(llama: StepTimes) -> None:
    # by hand: 2*32*4096*4096*2 B = 2.147 GB over 2.039 TB/s; the notes have 1.07 ms at 2 TB/s
    assert llama.cache_read_bytes == 2 * 32 * 4096 * 4096 * 2 == 2_147_483_648
    assert llama.cache_read_s == pytest.approx(2.147483648e9 / A100.dram_bandwidth)
    assert llama.cache_read_bytes / 2e12 == pytest.approx(1.07e-3, rel=0.005)


def test_a_token_adds_up(llama: StepTimes) -> None:
    # by hand: layers' 291 launches and the 32 that combine; weights and cache over the peak are
    # the least that a token takes
    assert llama.launches == 65 + 32 * 3 + 32 + 64 + 32 + 32 + 1 + 1
    assert llama.token_s == pytest.approx(
        sum(e.operator.count * e.time_s for e in llama.each if e.operator.phase == "token")
    )
    low, high = llama.token_interval_s
    assert low < llama.token_s < high
    assert llama.token_s > llama.cache_read_s + llama.weight_read_s
    read = sum(BY_HAND[n][2] * (BY_HAND[n][0] + BY_HAND[n][1]) for n in list(BY_HAND)[:10])
    assert llama.token_bytes == read
    # published: people quote 10 to 20 ms a token on such GPUs, most of it the weights
    assert 8e-3 < llama.token_s < 20e-3


def test_a_prompt_is_no_part_of_a_token(llama: StepTimes) -> None:
    assert {e.operator.phase for e in llama.token} == {"token"}
    assert {e.operator.name for e in llama.each if e.operator.beside} == {
        "prefill attention, naive",
        "softmax of its scores",
    }


def test_tiling_pays_in_traffic_and_time(llama: StepTimes) -> None:
    # property: no scores in memory
    by_name = {e.operator.name: e for e in llama.each}
    tiled, naive = (by_name[f"prefill attention, {n}"] for n in ("tiled", "naive"))
    assert tiled.operator.bytes < naive.operator.bytes / 30
    assert tiled.time_s < naive.time_s / 10


def test_grouped_heads_read_a_quarter() -> None:
    # by hand: 8 of 32 heads have keys
    shape = with_context(load_shape("llama-3-8b"), 4096, 1)
    decode = next(o for o in operators(shape) if o.name == "decode attention")
    assert decode.read_bytes == 2 * 4096 * 1024 * 2 + 4096 * 2


def test_sequences_share_the_weights_on_the_tensor_cores() -> None:
    # by hand: 20 sequences read the weights once and 20 vectors; their caches are 20 times one
    times = predict_operators(load_shape("minigpt"), A100, batch=20, context=256)
    up = named(times, "ffn up")
    assert (up.kernel, up.mapping, up.count) == ("gemm", "tensor-core", 4)
    assert up.read_bytes == 1024 * 256 * 2 + 20 * 256 * 2
    assert up.written_bytes == 20 * 1024 * 2
    assert times.cache_read_bytes == 20 * 2 * 4 * 256 * 256 * 2
    # property: far less than 20 tokens one after the other
    assert times.token_s < 5 * predict_operators(load_shape("minigpt"), A100, context=256).token_s


def test_sequences_in_fp32_take_several_launches() -> None:
    # by hand: 20 sequences are 3 launches of 7
    shape = replace(load_shape("minigpt"), dtype="fp32")
    times = predict_operators(shape, A100, batch=20, context=256)
    up = named(times, "ffn up")
    assert (up.kernel, up.count, up.params["batch"]) == ("ffn-gemv", 4 * 3, 7)
    assert any("3 launches of at most 8" in w for w in times.warnings)


def test_what_l2_keeps_shortens_a_step(minigpt: StepTimes) -> None:
    # property: the more of it is in L2, the faster; a step lies between all and nothing
    shape = with_context(load_shape("minigpt"), 256, 1)
    cold, step, warm = (
        predict_operators(shape, A100, cache=cache) for cache in ("cold", "step", "warm")
    )
    assert step.kept == 1.0
    assert warm.token_s <= step.token_s < cold.token_s
    assert minigpt.kept == 0.0  # 40 MB of weights and cache in 40 MiB


def test_words_are_checked() -> None:
    with pytest.raises(ValueError, match="choose step, cold or warm"):
        predict_operators(LLAMA, A100, cache="hot")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kernel", "mapping"),
    [
        ("decode-attention", "split"),
        ("decode-attention", "flash"),
        ("prefill-attention", "tiled"),
        ("prefill-attention", "naive"),
    ],
)
def test_heads_that_keys_cannot_share_are_refused(kernel: str, mapping: str) -> None:
    # 5 heads of queries on 2 of keys: a kernel would leave one out
    with pytest.raises(PerfmodelError, match="grid y must be 1 to 65535, not 0"):
        predict(kernel, mapping=mapping, heads=5, kv_heads=2)


ODD_SIZES = [
    *(
        ("softmax", None, {"rows": r, "cols": c})
        for r in (1, 7)
        for c in (1, 33, 2049, 8200, 40001)
    ),
    *(("layernorm", None, {"rows": 3, "cols": c}) for c in (1, 127, 5001)),
    *(("argmax", None, {"rows": r, "cols": c}) for r in (1, 2, 17, 700) for c in (1, 4095, 140001)),
    *(("ffn-gemv", m, {"rows": r, "columns": 1001}) for m in ("warp", "rows") for r in (1, 70)),
    *(("kv-append", None, {"batch": 3, "width": w, "how": h}) for w in (32, 256) for h in HOW),
    *(
        ("decode-attention", "split", {"context": c, "width": w})
        for c in (1, 777)
        for w in (64, 256)
    ),
    *(("decode-attention", "flash", {"context": c, "batch": b}) for c in (1, 777) for b in (1, 9)),
    *(("decode-combine", None, {"context": c, "part": 100}) for c in (1, 777)),
    *(("prefill-attention", m, {"tokens": t}) for m in ("naive", "tiled") for t in (1, 333)),
    *(("prefill-attention", "tiled", {"tokens": t, "causal": "true"}) for t in (1, 333)),
]


@pytest.mark.parametrize(("kernel", "mapping", "params"), ODD_SIZES)
def test_odd_sizes_stay_in_their_buffers(
    kernel: str, mapping: str | None, params: dict[str, int | str]
) -> None:
    check_bounds(bind(builtin(kernel, mapping), params))
