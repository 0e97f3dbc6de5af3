"""Blocks that copy ahead: terms against sums by hand, and what must hold whatever the constants."""

import math

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.errors import PerfmodelError
from perfmodel.hardware import load_device
from perfmodel.models.time.pipeline import (
    DRAM_SHARE,
    LINE_CLOCKS,
    OVERLAP,
    PORT,
)
from perfmodel.models.time.tiles import STORE_RATE, TURN
from perfmodel.prediction.predict import predict_many
from perfmodel.reports.explain import explain

H200 = load_device("h200-sxm")
TILE = {"BM": 128, "BN": 128, "split_k": 1}


def product(device="h200-sxm", **params):
    return predict("gemm", mapping="tensor-core", device=device, **params)


def test_terms_by_hand():
    # 16 x 16 tiles of 128 x 128 on 132 SMs: the busiest makes 2. Steps of 64: 32 of them.
    found = product(M=2048, N=2048, K=2048, cache="warm", **TILE)
    terms = found.terms_s
    assert found.grid == (12, 16, 2)  # the last rows of tiles have blocks without work
    operations = 2 * 128 * 128 * 2048 * 2  # of the busiest SM
    assert terms["bf16_tensor"] == pytest.approx(operations / (855e12 / 132))
    # Each tile takes in 2 x 128 rows of 2048 elements of 2 B, in whole lines.
    taken = 2 * 2 * 128 * 2048 * 2
    assert terms["port"] == pytest.approx(
        max(taken / PORT(H200), taken / 128 * LINE_CLOCKS(H200)) / 1.98e9
    )
    # Two blocks of a cluster share each read of L2; C is 8 MiB.
    read = 256 * 2 * 128 * 2048 * 2 / 2
    written = 2048 * 2048 * 2
    expected = read / H200.l2_read_bandwidth + written / H200.l2_write_bandwidth
    assert terms["l2"] == pytest.approx(expected)
    assert terms["tiles"] == pytest.approx(2 * (TURN(H200) + 128 * 128 * 2 / STORE_RATE(H200)))
    # Copies for the second tile go on while the first is put out: its end adds to the work alone.
    work = terms["bf16_tensor"] + terms["tiles"] / 2
    p = OVERLAP(H200)
    steps = work**p + sum(terms[n] ** p for n in ("port", "l2", "dram"))
    expected = terms["launch"] + terms["ramp"] + terms["tiles"] / 2 + steps ** (1 / p)
    assert found.time_s == pytest.approx(expected)


def test_parts_add_a_launch():
    found = product(M=128, N=512, K=16384, BM=128, BN=128, split_k=16)
    moved = (16 * 4 + 2) * 128 * 512
    expected = 2.4e-6 + moved / H200.l2_read_bandwidth  # the kernel file's time, and the bytes
    assert found.terms_s["parts"] == pytest.approx(expected)
    assert "parts" not in product(M=128, N=512, K=16384, **TILE).terms_s


def test_cold_weights_come_at_the_share_of_dram():
    found = product(M=8, N=16384, K=16384)
    # B is read once: 512 MiB; A and C are small.
    least = 2 * 16384 * 16384 / (H200.dram_read_bandwidth * DRAM_SHARE(H200))
    assert found.bottleneck == "dram"
    assert least < found.terms_s["dram"] < 1.05 * least


@pytest.mark.parametrize("device", ["h100-sxm", "h200-sxm", "a100-sxm-80", "rtx-a6000"])
def test_a_tile_more_than_a_round_costs_a_round(device):
    sms = load_device(device).sm_count
    one = product(device, M=128, N=128 * sms, K=8192, BM=128, BN=128, split_k=1)
    two = product(device, M=128, N=128 * (sms + 1), K=8192, BM=128, BN=128, split_k=1)
    assert two.terms_s["bf16_tensor"] == pytest.approx(2 * one.terms_s["bf16_tensor"])


def test_older_gpus_have_no_multicast():
    newer = product("h100-sxm", M=1024, N=1024, K=1024, **TILE).traffic
    older = product("a100-sxm-80", M=1024, N=1024, K=1024, **TILE).traffic
    assert older["l2_read_sectors"] == 2 * newer["l2_read_sectors"]
    assert older["global_load_sectors"] == newer["global_load_sectors"]


def test_rows_off_a_line_are_slower():
    # A pitch of 8200 elements is no multiple of a sector: rows start in the middle of one.
    whole = product(M=256, N=8192, K=8192, **TILE)
    off = product(M=256, N=8192, K=8200, **TILE)
    assert off.terms_s["port"] > 1.3 * whole.terms_s["port"]


def test_odd_shapes_go_through_registers():
    odd = product(M=1023, N=1023, K=1023)
    even = product(M=1022, N=1022, K=1022)
    aligned = product(M=1024, N=1024, K=1024)
    assert "bf16_tensor" not in odd.terms_s
    # measured (matrix-products/h200-sxm/cublas, some 1000 a side): 75 to 84 TFLOP/s where rows are
    # odd, 72 to 123 where they are even, 270 and more where they are whole pieces of 16 B
    assert odd.time_s > 1.1 * even.time_s
    assert even.time_s > 2.0 * aligned.time_s


def test_types():
    times = {t: product(M=8192, N=8192, K=8192, dtype=t).time_s for t in ("fp8", "bf16", "tf32")}
    assert times["fp8"] < times["bf16"] < times["tf32"]
    assert product(dtype="fp8").details.instance.precision == "fp8_tensor"
    with pytest.raises(PerfmodelError, match="has no figure 'peak_fp8_tensor'"):
        product("a100-sxm-80", dtype="fp8")


def test_the_menu_gives_the_fastest():
    picked = product(M=512, N=4096, K=4096)
    for tile in ((64, 64), (128, 128), (128, 256), (256, 128)):
        for parts in (1, 2, 4):
            other = product(M=512, N=4096, K=4096, BM=tile[0], BN=tile[1], split_k=parts)
            assert other.time_s >= picked.time_s * (1 - 1e-9)


def test_what_is_given_is_kept():
    found = product(M=512, N=512, K=8192, BN=256)
    assert found.params["BN"] == 256
    assert product(M=512, N=512, K=8192, split_k=1).params["split_k"] == 1


def test_what_the_library_has_not_is_not_picked():
    # from what it was seen to take (measurements/matrix-products/h200-sxm/narrow-tiles/rows.csv): 5
    # rows, K of 682 go to one part of tiles of 32 x 32 where B is K x N, to eight of 16 x 16 where
    # it is N x K
    shape = {"M": 5, "N": 2222, "K": 682}
    picked = {name: product(**shape, operation=name).params for name in ("linear", "matmul")}
    assert [picked["linear"][n] for n in ("BM", "BN", "split_k")] == [16, 16, 8]
    assert [picked["matmul"][n] for n in ("BM", "BN", "split_k")] == [32, 32, 1]
    # property: a tile that is given is kept, whatever the library takes
    assert product(**shape, BM=64, BN=128, split_k=3).params["BN"] == 128
    assert product(**shape, split_k=3).params["split_k"] == 3


def test_many_at_once_as_one_by_one():
    m, n, k = np.array([1, 100, 4096, 1001, 512]), 4096, np.array([4096, 512, 4096, 1001, 16384])
    many = predict_many("gemm", mapping="tensor-core", device="h200-sxm", M=m, N=n, K=k)
    for i in range(len(m)):
        one = product(M=int(m[i]), N=n, K=int(k[i]))
        assert many.time_s[i] == pytest.approx(one.time_s)


@pytest.mark.parametrize("shape", [(64, 4096, 8192), (65, 4097, 8192), (128, 512, 16384)])
def test_the_explanation_ends_in_the_time(shape):
    found = product(**dict(zip("MNK", shape, strict=True)))
    steps = explain(found)
    assert steps[-1].result == pytest.approx(found.time_s)
    assert all(math.isfinite(step.result) for step in steps)
    together = next(step for step in steps if step.title == "time of the steps of all tiles")
    assert together.result < found.time_s


def test_an_h100_is_said_to_be_like_an_h200():
    said = "inherited from h200-sxm: not measured on this GPU"
    assert any(said in w for w in product("h100-sxm", N=1024).warnings)
    assert not any("inherited" in w for w in product(N=1024).warnings)


@pytest.mark.parametrize("depth", [32, 64, 128])
def test_what_moves_does_not_depend_on_the_depth_of_a_step(depth):
    found = product(M=256, N=512, K=1024, BK=depth, **TILE).traffic
    # 2 x 4 tiles, of 128 rows of A and of B each; C once.
    assert found["global_load_sectors"] * 32 == 8 * 2 * 128 * 1024 * 2
    assert found["global_store_sectors"] * 32 == 256 * 512 * 2


def test_constants_are_those_of_the_fit():
    # published: 64 B a clock and SM (NVIDIA, A100 and H100 white papers). Fitted to 771 products of
    # cuBLAS (measurements/matrix-products/h200-sxm/cublas/products.csv): another value needs
    # another fit, and two resources of equal time take 10.4% more than one
    assert PORT(H200) == 64
    assert pytest.approx(1.104, rel=2e-3) == 2 ** (1 / OVERLAP(H200))
    assert pytest.approx((1.54, 0.5e-6, 110e9, 0.87)) == (
        *(LINE_CLOCKS(H200), TURN(H200), STORE_RATE(H200)),
        DRAM_SHARE(H200),
    )
