"""What launches whose blocks copy ahead take at least, beside what they are predicted to take."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.kernels import bind, builtin
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.time.least_time import _moved, least_times
from perfmodel.prediction import predict, predict_many
from perfmodel.prediction.menu import combinations, offered, open_parameters

H200 = load_device("h200-sxm")
PRODUCTS = [
    # large ones; a short walk; a thin product; tiles that do not fit; FP32; batches
    ({"N": 8192}, 0.9),
    ({"N": 4096}, 0.9),
    ({"M": 4096, "N": 4096, "K": 64}, 0.4),
    ({"M": 16, "N": 8192, "K": 8192, "BM": 16, "split_k": 4}, 0.35),
    ({"M": 1000, "N": 1000, "K": 1000, "BM": 64, "BN": 64}, 0.6),
    ({"N": 2048, "dtype": "fp32"}, 0.7),
    ({"N": 256, "batch": 64}, 0.6),
    # odd rows, which share sectors: of the buffer that most is asked of, and of what is stored
    ({"M": 2001, "N": 3001, "K": 1001}, 0.999),
    ({"M": 100, "N": 4003, "K": 4001, "split_k": 4}, 0.99),
    ({"M": 500, "N": 1000, "K": 136}, 0.98),
]


@pytest.mark.parametrize("cache", ["cold", "warm"])
@pytest.mark.parametrize(("params", "share"), PRODUCTS)
def test_it_is_below_the_time_and_near_it(params: dict[str, int], share: float, cache: str) -> None:
    # property: a bound, and so near that it leaves few tiles of a menu
    kernel = builtin("gemm", "tensor-core")
    found = predict(kernel, device=H200, cache=cache, **params)  # type: ignore[arg-type]
    launch = bind(kernel, found.params)  # with the tile that was chosen
    least = float(least_times(launch, H200, "profiler", cache == "cold")[1][0])
    assert share * found.time_s < least <= found.time_s * (1 + 1e-12), least / found.time_s


@pytest.mark.parametrize("device", ["h100-sxm", "a100-sxm-80"])
@pytest.mark.parametrize("dtype", ["bf16", "tf32"])
def test_what_is_stated_bounds_what_moves(device: str, dtype: str) -> None:
    # independent: the models' own counts of 400 drawn launches, a few of which share few bytes
    kernel, gpu, count = builtin("gemm", "tensor-core"), load_device(device), 400
    random = np.random.default_rng(6)
    multiples = random.choice([1, 2, 8, 16], (3, count))
    sides = multiples * np.maximum(2 ** random.uniform(4, 12, (3, count)) // multiples, 1)
    tiles = combinations(kernel, {})[random.integers(0, len(combinations(kernel, {})), count)]
    columns = dict(zip((*"MNK", *open_parameters(kernel, {})), (*sides, *tiles.T), strict=True))
    columns = {name: column.astype(int) for name, column in columns.items()}
    there = offered(bind(kernel, {**columns, "dtype": dtype}), gpu)
    launches = {name: column[there] for name, column in columns.items()}
    found = predict_many(kernel, device=gpu, timing="profiler", dtype=dtype, **launches)
    launch = bind(kernel, {**launches, "dtype": dtype})
    moved = _moved(launch, gpu, cold=True)
    traffic = {name: found.traffic[name] * (1 + 1e-9) for name in found.traffic}
    assert np.all(traffic["dram_read_bytes"] >= moved.once)
    assert np.all(traffic["global_store_sectors"] * SECTOR >= moved.stored)
    assert np.all(traffic["global_load_sectors"] >= moved.sectors)
    assert np.all(found.traffic["l2_read_sectors"] * SECTOR <= moved.given * (1 + 1e-9))
    assert np.median(moved.stored / traffic["global_store_sectors"]) > 0.97 * SECTOR
