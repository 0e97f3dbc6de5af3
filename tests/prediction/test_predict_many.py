"""Arrays of launches equal single ones; protocols and monotone behaviour."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.errors import PerfmodelError
from perfmodel.kernels import find_kernel
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.models.time.launch import CODE_FETCH, COLD_CODE, GRAPH_SHARE
from perfmodel.prediction import predict, predict_many
from perfmodel.prediction.compiled import many
from perfmodel.prediction.conditions import by_the_models
from perfmodel.prediction.predict_many import batches_of

DEVICES = ("h100-sxm", "h200-sxm", "a100-sxm-80")


def assert_alike(kernel: str, arrays: dict[str, Any], **options: Any) -> None:
    """Compare every element of `predict_many` with its own `predict`."""
    many = predict_many(kernel, **options, **arrays)
    shaped = np.broadcast_arrays(*map(np.asarray, arrays.values()))
    assert many.time_s.shape == shaped[0].shape
    for place in np.ndindex(shaped[0].shape):
        params = {name: int(a[place]) for name, a in zip(arrays, shaped, strict=True)}
        one = predict(kernel, **options, **params)
        assert many.time_s[place] == pytest.approx(one.time_s, rel=1e-12), params
        assert many.bottleneck[place] == one.bottleneck, params
        for name, term in one.terms_s.items():
            assert many.terms_s[name][place] == pytest.approx(term, rel=1e-12, abs=1e-18), (
                name,
                params,
            )
        for name, value in one.traffic.items():
            found = many.traffic[name][place]
            assert found == pytest.approx(value, rel=1e-12, abs=1e-9), (name, params)


@pytest.mark.parametrize("mapping", ["naive", "coalesced"])
def test_products(mapping: str) -> None:
    generator = np.random.default_rng(0)
    sizes = generator.integers(1, 5000, (3, 25))
    sizes[:, 0] = 1
    sizes[:, 1] = 32
    arrays = dict(zip("MNK", sizes, strict=True))
    assert_alike("gemm", arrays, mapping=mapping, device="h200-sxm")


@pytest.mark.parametrize("mapping", ["naive", "coalesced"])
def test_cores_change_nothing(mapping: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # property: what is worked on together does not depend on who works on it
    module = import_module(
        "perfmodel.prediction.predict_many"
    )  # the package has a function of its name
    monkeypatch.setattr(module, "_CHUNK", 128)
    sizes = dict(zip("MNK", np.random.default_rng(3).integers(1, 5000, (3, 1000)), strict=True))
    found = []
    for cores in (1, 3, 16):
        monkeypatch.setattr("perfmodel.chunks.cores", lambda cores=cores: cores)
        found.append(predict_many("gemm", mapping=mapping, **sizes))
    for other in found[1:]:
        assert np.array_equal(found[0].time_s, other.time_s)
        assert np.array_equal(found[0].bottleneck, other.bottleneck)
        for name, term in found[0].terms_s.items():
            assert np.array_equal(term, other.terms_s[name]), name
        for name, moved in found[0].traffic.items():
            assert np.array_equal(moved, other.traffic[name]), name


@pytest.mark.parametrize(
    ("kernel", "mapping", "most"),
    [
        ("gemm", "coalesced", {"M": 4000, "N": 4000, "K": 4000}),
        ("strided-copy", None, {"n": 1 << 24, "stride": 64}),
        ("layernorm", None, {"rows": 1 << 14}),
    ],
)
def test_programs_give_what_arrays_give(
    kernel: str, mapping: str | None, most: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    # independent: the models on arrays; powers of NumPy's arrays and of Python's are alike here
    module = import_module("perfmodel.prediction.predict_many")
    random = np.random.default_rng(11)
    columns = {name: random.integers(1, largest, 1500) for name, largest in most.items()}
    with by_the_models():
        expected = predict_many(kernel, mapping=mapping, **columns)
    by_arrays: list[int] = []
    whole = module._Launches._by_arrays
    monkeypatch.setattr(module, "LEAST", 1)
    monkeypatch.setattr(many, "_WORTH", 15)
    monkeypatch.setattr(many, "COMPILED", 1)
    monkeypatch.setattr(
        module._Launches,
        "_by_arrays",
        lambda self, rows: (by_arrays.append(len(rows)), whole(self, rows)),
    )
    found = predict_many(kernel, mapping=mapping, **columns)
    assert sum(by_arrays) < 750  # most are of programs
    np.testing.assert_allclose(found.time_s, expected.time_s, rtol=1e-12)
    for name, moved in expected.traffic.items():
        np.testing.assert_allclose(found.traffic[name], moved, rtol=1e-12, atol=1e-5)
    for name, term in expected.terms_s.items():
        np.testing.assert_allclose(found.terms_s[name], term, rtol=1e-12)


def test_streams_of_all_widths() -> None:
    sizes = np.array([[16], [4096], [100_000_000], [1 << 30]])
    arrays = {"bytes": sizes, "vector": np.array([1, 2, 4, 8, 16])}
    for kernel in ("copy", "read", "write"):
        assert_alike(kernel, arrays, device="h100-sxm")


def test_blocks_of_several_sizes() -> None:
    # also irregular ones, which are counted instead of solved
    arrays = {"bytes": 1 << 20, "block": np.array([32, 100, 256, 1024, 48])}
    assert_alike("copy", arrays, device="h200-sxm")


def test_strided_copies() -> None:
    generator = np.random.default_rng(1)
    arrays = {
        "n": generator.integers(1, 1 << 22, 30),
        "stride": generator.integers(0, 70, 30),
        "offset": generator.integers(0, 40, 30),
    }
    assert_alike("strided-copy", arrays, device="h200-sxm")


@pytest.mark.parametrize("timing", ["profiler", "events"])
@pytest.mark.parametrize("cache", ["cold", "warm"])
def test_protocols(timing: str, cache: str) -> None:
    arrays = {"N": np.array([64, 500, 2048])}
    assert_alike("gemm", arrays, device="h100-sxm", timing=timing, cache=cache)


def test_events_read_more_than_the_profiler_by_the_floors() -> None:
    for device in DEVICES:
        short, long = (
            predict("copy", device=device, timing=t, bytes=1 << 20) for t in ("profiler", "events")
        )
        gpu = short.details.device
        # The profiler's floor is of cold launches, that of events of warm ones.
        extra = gpu.event_floor - gpu.launch_floor + COLD_CODE(gpu)
        assert long.time_s - short.time_s == pytest.approx(extra)
        assert extra > 0


def test_a_replayed_graph_spares_what_the_profiler_adds() -> None:
    # derived: an empty kernel's overhead, and the code, which is fetched while the one before runs
    for device in DEVICES:
        alone, replayed = (
            predict("read", device=device, timing=t, cache="warm", bytes=1 << 20)
            for t in ("profiler", "graph")
        )
        gpu = alone.details.device
        code = CODE_FETCH(gpu) if gpu.launch_code is None else gpu.launch_code
        warm = gpu.launch_floor - COLD_CODE(gpu)
        spared = (1 - GRAPH_SHARE(gpu)) * warm + code
        assert alone.time_s - replayed.time_s == pytest.approx(spared, rel=1e-6)
        assert spared < warm


def test_launches_of_a_replayed_graph_write_back_as_much_as_they_store() -> None:
    # property: what one leaves in L2 is written back by those after it
    for kernel in ("copy", "write"):
        for size in (1 << 20, 1 << 24, 1 << 28):
            found = predict(kernel, device="h100-sxm", timing="graph", bytes=size)
            assert found.traffic["dram_write_bytes"] == pytest.approx(size, rel=1e-9)


def test_warm_caches_never_slow_a_launch_down() -> None:
    sizes = 1 << np.arange(12, 31)
    for kernel in ("copy", "read", "write"):
        cold, warm = (
            predict_many(kernel, device="h200-sxm", cache=c, bytes=sizes) for c in ("cold", "warm")
        )
        assert np.all(warm.traffic["dram_read_bytes"] <= cold.traffic["dram_read_bytes"] + 1e-6)
        if kernel == "read":
            assert np.all(warm.time_s <= cold.time_s * (1 + 1e-9))
            assert np.all(warm.traffic["dram_read_bytes"][sizes < 20e6] < 1)
            share = warm.traffic["dram_read_bytes"] / sizes
            assert np.all(share[sizes < 40e6] < 0.05)  # near L2's size some of it is lost


@pytest.mark.parametrize("option", ["timing", "cache"])
def test_unknown_protocols_are_refused(option: str) -> None:
    with pytest.raises(PerfmodelError, match=f"{option} 'lukewarm' is unknown"):
        predict("copy", **{option: "lukewarm"})  # type: ignore[arg-type]
    with pytest.raises(PerfmodelError, match=f"{option} 'lukewarm' is unknown"):
        predict_many("copy", **{option: "lukewarm"})  # type: ignore[arg-type]


def test_arrays_belong_to_predict_many() -> None:
    with pytest.raises(PerfmodelError, match="predict_many takes arrays"):
        predict("gemm", N=np.array([1, 2]))  # type: ignore[arg-type]
    with pytest.raises(PerfmodelError, match="an array of parameters is empty"):
        predict_many("gemm", mapping="naive", N=[])
    with pytest.raises(PerfmodelError, match="do not broadcast"):
        predict_many("gemm", N=np.arange(1, 3), M=np.arange(1, 4))


# ---- properties


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kernel", ["copy", "read", "write"])
def test_more_bytes_never_go_faster(device: str, kernel: str) -> None:
    sizes = np.unique(np.geomspace(1 << 10, 1 << 33, 400).astype(int) // 4096 * 4096 + 4096)
    found = predict_many(kernel, device=device, bytes=sizes)
    # A block more can even the load out between SMs, hence a per cent.
    assert np.all(found.time_s[1:] >= found.time_s[:-1] * 0.99)
    for name in ("global_load_sectors", "global_store_sectors", "dram_read_bytes"):
        assert np.all(np.diff(found.traffic[name]) >= -1e-6)


@pytest.mark.parametrize("mapping", ["naive", "coalesced"])
def test_deeper_products_never_go_faster(mapping: str) -> None:
    depth = np.arange(32, 4097, 32)
    found = predict_many("gemm", mapping=mapping, device="h200-sxm", M=1024, N=1024, K=depth)
    assert np.all(np.diff(found.traffic["global_load_sectors"]) > 0)
    # Strides of K move through the tag banks, so that neighbours differ; not over four steps.
    assert np.all(found.time_s[64:] > found.time_s[:-64])


@settings(max_examples=40, deadline=None)
@given(
    *(st.integers(1, 3000) for _ in "MNK"),
    st.sampled_from(DEVICES),
    st.sampled_from(("naive", "coalesced")),
)
def test_predictions_are_possible(m: int, n: int, k: int, device: str, mapping: str) -> None:
    found = predict("gemm", mapping=mapping, device=device, M=m, N=n, K=k)
    t = found.traffic
    assert all(np.isfinite(value) and value >= 0 for value in t.values()), t
    assert t["l1_hit_sectors"] <= t["global_load_sectors"]
    assert t["l2_read_sectors"] <= t["global_load_sectors"]
    assert 0 <= t["l2_hit_rate"] <= 1
    # Each byte of A and B is read from DRAM once at least, by atoms of 64 B.
    # The mean over alignments of A's and B's rows is within a thousandth of a whole atom count.
    assert t["dram_read_bytes"] >= 4 * (m * k + k * n) * 0.998
    assert found.time_s >= max(found.terms_s.values()) - 1e-12
    assert found.interval_s[0] < found.time_s < found.interval_s[1]
    assert found.roofline.flop == 2 * m * n * k
    gpu = found.details.device
    assert t["dram_read_bytes"] / found.time_s < gpu.dram_bandwidth


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 1 << 22), st.integers(0, 60), st.integers(0, 31))
def test_wider_strides_never_move_less(n: int, stride: int, offset: int) -> None:
    near, far = (
        predict("strided-copy", device="h200-sxm", n=n, stride=s, offset=offset).traffic
        for s in (stride, stride + 8)
    )
    for name in ("global_load_sectors", "dram_read_bytes"):
        assert far[name] >= near[name] * (1 - 1e-9)


def test_l2_control_in_arrays() -> None:
    # independent: one launch at a time takes the scalar path
    control = L2Control(8 << 20, AccessPolicyWindow("in", 16 << 20, 0.5), 32)
    sizes = np.array([[1, 4, 16], [24, 32, 64]]) << 20
    many = predict_many("data-reset", in_bytes=sizes, out_bytes=1 << 30, l2=control)
    for at, size in np.ndenumerate(sizes):
        one = predict("data-reset", in_bytes=int(size), out_bytes=1 << 30, l2=control)
        assert many.time_s[at] == pytest.approx(one.time_s, rel=1e-9)
        found = many.traffic["dram_read_bytes"][at]
        assert found == pytest.approx(one.traffic["dram_read_bytes"], rel=1e-9)


def test_compression_divides_dram_bytes_only() -> None:
    plain = predict("copy", bytes=1 << 30)
    half = predict("copy", bytes=1 << 30, l2=L2Control(compression=2.0))
    for name in ("dram_read_bytes", "dram_write_bytes"):
        assert half.traffic[name] == pytest.approx(plain.traffic[name] / 2)
    assert half.traffic["l2_read_sectors"] == plain.traffic["l2_read_sectors"]
    assert plain.terms_s["dram"] / half.terms_s["dram"] == pytest.approx(2)


def test_two_gigabytes_asked_six_moved() -> None:
    # the article's over-fetch of 3 x and more: isolated sectors, at 128 B four times, at 32 B once
    moved = {
        granularity: predict(
            "strided-copy", n=1 << 22, stride=64, l2=L2Control(fetch_granularity=granularity)
        ).traffic["dram_read_bytes"]
        for granularity in (32, 64, 128)
    }
    assert moved[64] == pytest.approx(2 * moved[32])
    assert moved[128] == pytest.approx(4 * moved[32])


def test_blocks_that_copy_ahead_are_together_whatever_runs_once() -> None:
    # property: their loops over rows of B run once and twice; independent: each launch alone
    product = find_kernel("gemm", "tensor-core")
    sizes = {"M": 512, "N": 768, "K": 640, "BM": 128, "BN": np.array([64, 128])}
    assert len(list(batches_of(product, sizes, np.arange(2)))) == 1
    with by_the_models():
        found = predict_many(product, **sizes)
        alone = [predict(product, **sizes | {"BN": int(tile)}).time_s for tile in sizes["BN"]]
    np.testing.assert_allclose(found.time_s, alone, rtol=1e-12)


def test_loops_that_run_once_part_launches_only_where_loads_go_out_with_others() -> None:
    # by hand: no loop around those of softmax has loads, and rows of the matrix lie around x
    rows = {"rows": 64, "cols": np.array([8303, 20000])}
    assert len(list(batches_of(find_kernel("softmax"), rows, np.arange(2)))) == 1
    batch = {"rows": 1056, "columns": 5120, "batch": np.array([1, 2])}
    assert len(list(batches_of(find_kernel("ffn-gemv", "warp"), batch, np.arange(2)))) == 2
