"""Tiles chosen by programs are those that the models, asked for every tile, find fastest."""

import numpy as np
import pytest

from perfmodel import load_device, predict, predict_many
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import evaluate
from perfmodel.kernels import bind, find_kernel
from perfmodel.kernels.expansion import expanded
from perfmodel.kernels.parameter_values import parameter_values
from perfmodel.models.time.least_time import least_times
from perfmodel.prediction import conditions, menu
from perfmodel.prediction.compiled import choices
from perfmodel.prediction.compiled import least_times as of_least_times
from perfmodel.prediction.compiled.forms import forms_of
from perfmodel.prediction.compiled.layouts import read_numbers
from perfmodel.prediction.compiled.programs import Programs
from perfmodel.prediction.conditions import Conditions, by_the_models
from perfmodel.prediction.menu import combinations, offered, open_parameters
from perfmodel.prediction.predict_many import picked

PRODUCT = find_kernel("gemm", "tensor-core")


def sizes(seed: int, count: int, multiple: int, most: float = 13) -> dict[str, np.ndarray]:
    """Draw products whose sides are multiples, as many small as large ones."""
    random = np.random.default_rng(seed)
    return {
        side: multiple * np.maximum(2 ** random.uniform(4, most, count) / multiple, 1).astype(int)
        for side in "MNK"
    }


@pytest.mark.parametrize(
    ("device", "multiple", "others"),
    [
        ("h100-sxm", 8, {}),
        ("h100-sxm", 1, {}),
        ("a100-sxm-80", 8, {"dtype": "fp16", "batch": 3}),
        ("a100-sxm-80", 2, {"dtype": "fp16", "operation": "matmul"}),
        ("a100-sxm-80", 2, {"dtype": "tf32"}),  # has no shared memory for some tiles
    ],
)
def test_the_same_tiles_as_of_all(device: str, multiple: int, others: dict[str, str | int]) -> None:
    # independent: the models time every tile of 15 products each
    given = sizes(multiple, 15, multiple)
    given |= {name: np.full(15, value) for name, value in others.items()}
    under = Conditions(load_device(device), "profiler", "cold")
    every = picked(PRODUCT, given, under, compiled=False)
    for _ in range(2):  # programs are made, and used
        found = picked(PRODUCT, given, under, compiled=True)
        # tiles whose times differ in the last bit may change places: Python's powers, NumPy's
        same = np.all([found[name] == values for name, values in every.items()], axis=0)
        assert same.sum() >= 14
        with by_the_models():
            times = [
                predict_many(PRODUCT, device=under.device, **given, **some).time_s
                for some in (found, every)
            ]
        np.testing.assert_allclose(*times, rtol=1e-12)
    words = {n: v for n, v in others.items() if isinstance(v, str)}
    numbers = dict.fromkeys([*(n for n in given if n not in words), *every], 0)
    forms = forms_of(PRODUCT, under.device, {**numbers, **words}, "profiler", "cold")
    assert forms is not None
    assert forms.of_bounds is not None
    assert forms.of_bounds.programs.known
    assert not forms.of_bounds.programs.failed


def test_tiles_that_a_gpu_has_no_shared_memory_for_are_not_picked() -> None:
    # by hand: pairs of TF32 go by steps of 64 columns, two of which of 256 + 128 rows are
    # 2*384*64*4 = 196608 B; an A100's block has at most 163 KiB = 166912 B, an H100's 227 KiB
    tiles, fits = {"BM": [256, 192], "BN": 128, "split_k": 1}, {}
    for name in ("a100-sxm-80", "h100-sxm"):
        launches = bind(PRODUCT, {"N": 4002, "dtype": "tf32", **tiles})
        fits[name] = offered(launches, load_device(name)).tolist()
    assert launches.shared_bytes.tolist() == [196608, 163840]
    assert fits == {"a100-sxm-80": [False, True], "h100-sxm": [True, True]}
    found = predict(PRODUCT, device="a100-sxm-80", N=4002, dtype="tf32")
    assert 2 * (found.params["BM"] + found.params["BN"]) * 64 * 4 <= 166912
    with pytest.raises(PerfmodelError, match="over the 166912 B"):  # what is given is kept
        predict(PRODUCT, device="a100-sxm-80", N=4002, dtype="tf32", BM=256, BN=128)


def test_more_than_are_looked_at_may_be_fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    # independent: the models time every tile; those that take the least are not enough
    monkeypatch.setattr(choices, "_NEAR", 1)
    given, under = sizes(21, 12, 8), Conditions(load_device("h100-sxm"), "profiler", "cold")
    found = picked(PRODUCT, given, under, compiled=True)
    every = picked(PRODUCT, given, under, compiled=False)
    same = np.all([found[name] == values for name, values in every.items()], axis=0)
    assert same.sum() >= 11


def test_many_that_were_chosen_go_by_the_same_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    # independent: the models, of the chosen tiles
    monkeypatch.setattr(choices, "_WORTH", 256)  # a program is made at once
    given = sizes(13, 300, 64)
    words = {"dtype": "fp16", "operation": "matmul"}
    found = predict_many(PRODUCT, **given, **words)
    under = Conditions(load_device("h100-sxm"), "profiler", "cold")
    tiles = picked(PRODUCT, given | {n: np.full(300, w) for n, w in words.items()}, under, True)
    with by_the_models():
        expected = predict_many(PRODUCT, **given, **words, **tiles)
    np.testing.assert_allclose(found.time_s, expected.time_s, rtol=1e-11)
    assert np.all(found.bottleneck == expected.bottleneck)
    for name, column in expected.traffic.items():
        np.testing.assert_allclose(found.traffic[name], column, rtol=1e-9, atol=1e-3)


@pytest.mark.parametrize("compiled", [0, 1 << 60])
def test_machine_code_and_numpy_choose_alike(
    compiled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # independent: the models time every tile; programs of 300 times and more go by arrays
    monkeypatch.setattr(choices, "COMPILED", compiled)
    monkeypatch.setattr(of_least_times, "_COMPILED", compiled)
    given, under = sizes(9, 300, 64), Conditions(load_device("h100-sxm"), "profiler", "cold")
    found = picked(PRODUCT, given, under, compiled=True)
    some = {name: column[::30] for name, column in given.items()}
    every = picked(PRODUCT, some, under, compiled=False)
    same = np.all([found[name][::30] == values for name, values in every.items()], axis=0)
    assert same.sum() >= 9


def test_programs_of_launches_like_those_that_came(monkeypatch: pytest.MonkeyPatch) -> None:
    # independent: the models, of the chosen tiles
    monkeypatch.setattr(choices, "_WORTH", 256)  # a program is made at once
    monkeypatch.setattr(choices, "_OTHERS", 256)
    monkeypatch.setattr(choices, "_NARROWED", 1)  # and made anew at the second call
    given = sizes(17, 300, 64, 11)
    for _ in range(2):
        found = predict_many(PRODUCT, **given, dtype="fp8")
    chosen = picked(
        PRODUCT,
        given | {"dtype": np.full(300, "fp8")},
        Conditions(load_device("h100-sxm"), "profiler", "cold"),
        compiled=True,
    )
    numbers = dict.fromkeys([*given, *chosen], 0)
    device = load_device("h100-sxm")
    forms = forms_of(PRODUCT, device, {**numbers, "dtype": "fp8"}, "profiler", "cold")
    assert forms is not None
    assert any(forms.narrow.values())
    with by_the_models():
        expected = predict_many(PRODUCT, **given, **chosen, dtype="fp8")
    np.testing.assert_allclose(found.time_s, expected.time_s, rtol=1e-11)


def test_the_first_call_of_many_goes_by_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    # property: not every tile of every product is timed, though nothing came before
    monkeypatch.setattr(conditions, "_asked", set())
    monkeypatch.setattr(menu, "_by_time", None)
    assert predict_many(PRODUCT, **sizes(11, 16, 64)).time_s.shape == (16,)


def test_one_after_another() -> None:
    # independent: the models, asked for all tiles
    for n in (1024, 2048, 3072, 4096):
        found = predict("gemm", mapping="tensor-core", N=n)
        with by_the_models():
            expected = predict("gemm", mapping="tensor-core", N=n)
        assert found.params == expected.params
        assert found.time_s == pytest.approx(expected.time_s, rel=1e-12)


@pytest.mark.parametrize("cold", [True, False])
@pytest.mark.parametrize(
    ("device", "multiple", "most"),
    [("h100-sxm", 8, 13), ("h100-sxm", 8, 7), ("a100-sxm-80", 1, 13), ("a100-sxm-80", 2, 8)],
)
def test_no_tile_takes_less_than_it_must(
    device: str, multiple: int, most: float, cold: bool
) -> None:
    # property: what the models give is never below, also of rows that begin at any place in a line
    gpu, given = load_device(device), sizes(3, 4, multiple, most)
    tiles = combinations(PRODUCT, given)
    every = {name: np.repeat(column, len(tiles)) for name, column in given.items()}
    names = open_parameters(PRODUCT, given)
    every |= {name: np.tile(tiles[:, i], 4) for i, name in enumerate(names)}
    there = offered(bind(PRODUCT, every), gpu)
    every = {name: column[there] for name, column in every.items()}
    with by_the_models():
        times = predict_many(PRODUCT, device=gpu, cache="cold" if cold else "warm", **every).time_s
    bound, least = least_times(bind(PRODUCT, every), gpu, "profiler", cold)
    assert np.all(bound <= least)
    assert np.median(bound / least) > 0.8
    assert np.all(least <= times * (1 + 1e-12))
    # and it tells something: of half of the tiles nearly all that they take
    assert np.median(least / times) > 0.95
    # those that are made alike take the same
    alike = evaluate(expanded(PRODUCT, PRODUCT.alike), parameter_values(PRODUCT, every))
    _, first, which = np.unique(
        np.stack([every["M"], alike]), axis=1, return_index=True, return_inverse=True
    )
    assert len(first) < len(times)
    np.testing.assert_allclose(times[first][which.ravel()], times, rtol=1e-15)


def test_a_general_program_holds_for_more_launches() -> None:
    # property: of a tile, what was learned of whole tiles alone; independent: the models
    tile = {"batch": 1, "BM": 128, "BN": 128, "BK": 64, "split_k": 1, "stages": 3, "group": 8}
    words = {"dtype": "bf16", "operation": "linear"}
    under = Conditions(load_device("h100-sxm"), "profiler", "cold")
    whole = [{**words, **tile, "M": 256 * m, "N": 2048, "K": 1024} for m in (3, 5, 8, 12)]
    columns = sizes(5, 30, 8)
    others = [{**words, **tile, **{s: int(c[i]) for s, c in columns.items()}} for i in range(30)]
    held = {}
    for general in (False, True):
        names = (*tile, *"MNK")
        programs = Programs(PRODUCT, names, read_numbers, 1)
        assert programs.learn_of(whole, under.evaluated, general)
        found = [programs.found(launch) for launch in others]
        held[general] = sum(numbers is not None for numbers in found)
        for launch, numbers in zip(others, found, strict=True):
            if numbers is not None:
                with by_the_models():
                    expected = predict(PRODUCT, device=under.device, **launch)
                assert numbers.time_s == pytest.approx(expected.time_s, rel=1e-11)
    assert held[True] > max(held[False], 15)
