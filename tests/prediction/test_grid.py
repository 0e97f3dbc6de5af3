"""Grids: every combination of values in its order, in chunks, each as it is predicted alone."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfmodel.errors import PerfmodelError
from perfmodel.hardware import load_device
from perfmodel.kernels import Kernel, find_kernel, load_kernel
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.prediction import grid as module
from perfmodel.prediction import predict, predict_many
from perfmodel.prediction.compiled import many
from perfmodel.prediction.conditions import by_the_models
from perfmodel.prediction.grid import Axis, Grid, Launches, predicted_rows
from perfmodel.prediction.sweep import sweep

H100 = load_device("h100-sxm")


def grid(
    kernel: Kernel | Callable[[Mapping[str, int]], Kernel], axes: dict[str, Any], **more: Any
) -> Grid:
    found = tuple(Axis(name, np.array(values)) for name, values in axes.items())
    given: dict[str, Any] = {"params": {}, "control": L2Control(), "platform": {"device": H100}}
    return Grid(Launches(kernel, **{**given, **more}), found)


def all_rows(some: Grid, among: Mapping[str, Any] = module.NOTHING) -> dict[str, list[Any]]:
    chunks = (some.values(at, at + some.step) for at in range(0, some.size, some.step))
    parts = [predicted_rows(some.launches, values, among) for values in chunks]
    return {name: [v for part in parts for v in part[name].tolist()] for name in parts[0]}


def test_every_combination_is_predicted_the_last_axis_fastest() -> None:
    # independent: single predictions, and the order of itertools.product
    kernel = find_kernel("gemm", "naive")
    values = {"M": [64, 100], "N": [32, 1000, 500], "K": [256, 8]}
    rows = all_rows(grid(kernel, values))
    combinations = list(product(*values.values()))
    assert list(zip(rows["M"], rows["N"], rows["K"], strict=True)) == combinations
    for place, (m, n, k) in enumerate(combinations):
        one = predict(kernel, device=H100, M=m, N=n, K=k)
        assert rows["time_s"][place] == pytest.approx(one.time_s, rel=1e-12)
        assert rows["bottleneck"][place] == one.bottleneck
        assert rows["dram_read_bytes"][place] == pytest.approx(one.traffic["dram_read_bytes"])
        assert rows["l2_hit_rate"][place] == pytest.approx(one.traffic["l2_hit_rate"])
    assert set(rows["refused"]) == {""}


def test_numbers_are_those_of_one_call_to_the_last_bit() -> None:
    # property: of as many configurations as are worked on together
    sizes = np.random.default_rng(5).integers(1, 5000, 200)
    rows = all_rows(grid(find_kernel("gemm", "coalesced"), {"N": sizes}))
    many = predict_many("gemm", mapping="coalesced", device=H100, N=sizes)
    assert rows["time_s"] == many.time_s.tolist()
    assert rows["dram_write_bytes"] == many.traffic["dram_write_bytes"].tolist()


def test_knobs_and_words_stand_among_parameters() -> None:
    # independent: sweeps over the knob, one for each value of the others
    window = AccessPolicyWindow("in", 32 << 20)
    control = L2Control(set_aside=16 << 20, window=window)
    kernel = find_kernel("data-reset")
    values = {"out_bytes": [64 << 20, 1 << 30], "hit-ratio": [0.0, 0.5, 1.0]}
    rows = all_rows(grid(kernel, values, params={"in_bytes": 32 << 20}, control=control))
    expected = [
        found.time_s
        for size in values["out_bytes"]
        for found in sweep(
            kernel,
            "hit-ratio",
            values["hit-ratio"],
            control=control,
            params={"in_bytes": 32 << 20, "out_bytes": size},
            device=H100,
        ).predictions
    ]
    assert rows["time_s"] == pytest.approx(expected, rel=1e-12)
    words = {"dtype": ["int32", "float32"], "n": [1 << 20, 1 << 21]}
    rows = all_rows(grid(find_kernel("atomic-add"), words))
    for place, (kind, n) in enumerate(product(*words.values())):
        one = predict("atomic-add", device=H100, dtype=kind, n=n)
        assert rows["dtype"][place] == kind
        assert rows["time_s"][place] == pytest.approx(one.time_s, rel=1e-12)


def test_what_memory_cannot_hold_is_refused_row_by_row() -> None:
    # by hand: a copy of b bytes needs 2 b, and an H100 has 85 GB
    rows = all_rows(grid(find_kernel("copy"), {"bytes": [1 << 20, 1 << 40, 1 << 30]}))
    assert rows["refused"][1] == "needs 2 TiB of 79.18 GiB of memory"
    assert np.isnan(rows["time_s"][1])
    assert [rows["refused"][place] for place in (0, 2)] == ["", ""]
    for place, size in ((0, 1 << 20), (2, 1 << 30)):
        one = predict("copy", device=H100, bytes=size)
        assert rows["time_s"][place] == pytest.approx(one.time_s, rel=1e-12)


def test_chunks_cover_the_grid_and_know_of_menus(monkeypatch: pytest.MonkeyPatch) -> None:
    # property: each configuration once, in order, and fewer where each has many choices
    some = grid(find_kernel("copy"), {"bytes": range(16, 16000, 16), "vector": [4, 8, 16]})
    whole = all_rows(some)
    monkeypatch.setattr(module, "CHUNK", 1000)
    assert some.step == 1000
    assert all_rows(some) == whole
    tiles = grid(find_kernel("gemm", "tensor-core"), {"N": range(1, 100)})
    assert tiles.step < 1000 / 4


def test_a_kernel_of_a_launch_is_made_once_for_all_knobs(tmp_path: Path) -> None:
    # property: here a kernel file whose default is what is asked for, as a launch's kernel has it
    file = Path(module.__file__).parents[1] / "kernels" / "library" / "read.toml"
    asked = []

    def made(values: Mapping[str, int]) -> Kernel:
        asked.append(dict(values))
        path = tmp_path / "read.toml"
        path.write_text(file.read_text("utf-8").replace('"1 << 28"', f'"{values["n"]}"'))
        return load_kernel(path)

    rows = all_rows(grid(made, {"n": [1 << 20, 1 << 22], "fetch-granularity": [32, 64]}))
    assert asked == [{"n": 1 << 20}, {"n": 1 << 22}]
    for place, (n, granularity) in enumerate(product([1 << 20, 1 << 22], [32, 64])):
        control = L2Control(fetch_granularity=granularity)
        assert rows["time_s"][place] == predict("read", device=H100, l2=control, bytes=n).time_s


def test_chunks_of_a_large_grid_share_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    # independent: the models; property: the same to the last bit from any chunk on, as where
    # another process works or it is gone on with, from launches as another process sends them
    monkeypatch.setattr(module, "_LARGE", 1)
    monkeypatch.setattr(many, "_WORTH", 0.001)
    monkeypatch.setattr(many, "COMPILED", 1)
    monkeypatch.setattr(module, "CHUNK", 500)
    some = grid(find_kernel("strided-copy"), {"stride": [2, 3], "n": range(4096, 600000, 768)})
    whole = all_rows(some, some.among)
    (programs,) = module._last[0].programs.values()
    assert programs is not None
    assert programs.programs
    with by_the_models():
        expected = all_rows(some)
    assert whole["time_s"] == pytest.approx(expected["time_s"], rel=1e-12)
    assert whole["bottleneck"] == expected["bottleneck"]
    later = slice(2 * some.step, 3 * some.step)
    sent = pickle.loads(pickle.dumps(some.launches))
    module._last.clear()
    rows = predicted_rows(sent, some.values(later.start, later.stop), some.among)
    assert rows["time_s"].tolist() == whole["time_s"][later]


def test_few_launches_and_words_have_no_programs() -> None:
    # by hand: few launches, and a word; of the others those that memory holds
    assert not grid(find_kernel("copy"), {"bytes": range(16, 16000, 16)}).among
    words = {"dtype": ["int32", "float32"], "n": range(1, 1 << 20)}
    assert not grid(find_kernel("atomic-add"), words).among
    some = grid(find_kernel("copy"), {"bytes": range(1 << 20, 1 << 41, 1 << 20)})
    assert 0 < max(some.among["bytes"]) <= H100.dram_size / 2


def test_what_reaches_outside_its_buffers_is_refused_row_by_row() -> None:
    # independent: `predict` refuses the same launches, with the same words, one at a time
    kernel, sizes = find_kernel("gemm", "vectorized"), np.array([64, 65, 66, 68, 128, 130])
    rows = all_rows(grid(kernel, {"N": sizes}))
    for n, time, refused in zip(sizes, rows["time_s"], rows["refused"], strict=True):
        if n % 4 == 0:
            assert predict(kernel, device=H100, N=int(n)).time_s == pytest.approx(time, rel=1e-11)
            assert refused == ""
            continue
        with pytest.raises(PerfmodelError) as error:
            predict(kernel, device=H100, N=int(n))
        assert refused == str(error.value)
        assert np.isnan(time)
