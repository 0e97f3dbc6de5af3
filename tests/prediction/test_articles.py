"""The articles' arithmetic for a matrix product, through whole predictions."""

from __future__ import annotations

import pytest
from measured import rows

from perfmodel.prediction import Prediction, predict


def per_request(prediction: Prediction, access: str, what: str = "sectors") -> float:
    """Sectors or lines a warp request of one access."""
    found = next(a for a in prediction.details.traffic.accesses if a.name == access)
    return float(getattr(found, what)[0] / found.requests[0])


# published: in the naive mapping A and C splinter into 32 transactions and B is a broadcast; in
# the coalesced one A is a broadcast, and B and C are one 128-byte transaction (4 sectors) each
@pytest.mark.parametrize("n", [256, 1024, 4096])
@pytest.mark.parametrize(
    ("mapping", "sectors", "lines"),
    [("naive", (32, 1, 32), (32, 1, 32)), ("coalesced", (1, 4, 4), (1, 1, 1))],
)
def test_transactions_of_a_product(
    n: int, mapping: str, sectors: tuple[int, ...], lines: tuple[int, ...]
) -> None:
    found = predict("gemm", mapping=mapping, device="h200-sxm", N=n)
    assert tuple(per_request(found, a) for a in "ABC") == sectors
    assert tuple(per_request(found, a, "lines") for a in "ABC") == lines


def test_coalescing_saves_the_loads_that_the_arithmetic_says() -> None:
    # independent, by hand: (32 + 1)/(1 + 4) load sectors a step of k, 32/4 store sectors
    naive, coalesced = (
        predict("gemm", mapping=m, device="h200-sxm", N=2048).traffic
        for m in ("naive", "coalesced")
    )
    assert naive["global_load_sectors"] / coalesced["global_load_sectors"] == 33 / 5
    assert naive["global_store_sectors"] / coalesced["global_store_sectors"] == 8
    for key in ("global_load_requests", "global_store_requests"):
        assert naive[key] == coalesced[key]


@pytest.mark.parametrize("vector", [1, 2, 4, 8, 16])
def test_streams_move_each_byte_once(vector: int) -> None:
    size = 1 << 26
    found = predict("copy", device="h200-sxm", bytes=size, vector=vector).traffic
    assert found["global_load_sectors"] == found["global_store_sectors"] == size / 32
    assert found["global_load_requests"] == size / vector / 32


def test_stride_of_seven_floats_wastes_six_sevenths() -> None:
    # published exercise, dst[i] = src[i*7]: 4 useful bytes of every 28
    n = 1 << 20
    found = predict("strided-copy", device="h200-sxm", n=n, stride=7).traffic
    assert 4 * n / (32 * found["global_load_sectors"]) == pytest.approx(1 / 7)


def test_gain_of_coalescing_is_the_measured_one() -> None:
    # measured on an H200: square products of gemm.csv; 4 times at N = 2050 and 12 at 4096, where a
    # column's floats share a data bank (published for an RTX A6000: 6.4, "not the clean 8")
    for n in (512, 1000, 1024, 2000, 2050, 4096):
        measured, found = [], []
        for mapping in ("naive", "coalesced"):
            row = rows("gemm", timing="profiler", mapping=mapping, M=n, N=n, K=n)[0]
            measured.append(row["time_us"])
            found.append(predict("gemm", mapping=mapping, device="h200-sxm", N=n).time_s)
        assert found[0] / found[1] == pytest.approx(measured[0] / measured[1], rel=0.15), n
