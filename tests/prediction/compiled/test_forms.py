"""Compiled forms: the same numbers as the models give on arrays, wherever a program holds."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel import load_device, predict
from perfmodel.errors import PerfmodelError
from perfmodel.kernels import bind, check_bounds, find_kernel, kernel_from_table
from perfmodel.kernels.bounds import surely_fits
from perfmodel.models.launch.occupancy import LIMITERS
from perfmodel.prediction.compiled.forms import Forms
from perfmodel.prediction.compiled.layouts import read_numbers
from perfmodel.prediction.compiled.programs import Form, run
from perfmodel.prediction.compiled.python_code import python_function
from perfmodel.prediction.compiled.recording import record_bounds, record_launches
from perfmodel.prediction.conditions import Conditions
from perfmodel.prediction.launch_numbers import LaunchNumbers

UNDER = Conditions(load_device("h100-sxm"), "profiler", "cold")
# Kernels of several kinds: name and mapping, and what is drawn: from, to, and a multiple of what.
KINDS = [
    ("copy", None, {"bytes": (1 << 20, 1 << 30, 16)}),
    ("gemm", "coalesced", {"M": (300, 4096, 1), "N": (300, 4096, 1), "K": (300, 4096, 1)}),
    ("gemm", "warptile", {"M": (1024, 8192, 128), "N": (1024, 8192, 128)}),
    ("strided-copy", None, {"n": (1 << 20, 1 << 26, 1), "stride": (4, 40, 1)}),
    ("data-reset", None, {"in_bytes": (1 << 24, 1 << 26, 1 << 20)}),
    ("atomic-add", None, {"n": (1 << 20, 1 << 26, 1), "addresses": (4, 1 << 12, 1)}),
    ("layernorm", None, {"rows": (1024, 8192, 4)}),
    ("decode-attention", "flash", {"context": (1024, 1 << 15, 64)}),
]
IDS = [f"{name}-{mapping}" for name, mapping, _ in KINDS]
# Bytes that a difference of large numbers leaves: nothing moves.
NOTHING = 1e-5


def draw(sizes: dict[str, tuple[int, int, int]], seed: int, count: int) -> list[dict[str, int]]:
    random = np.random.default_rng(seed)
    return [
        {n: m * int(2 ** random.uniform(*np.log2([a, b])) / m) for n, (a, b, m) in sizes.items()}
        for _ in range(count)
    ]


def flat(numbers: LaunchNumbers) -> dict[str, object]:
    found: dict[str, object] = {}
    for each in fields(numbers):
        value = getattr(numbers, each.name)
        if isinstance(value, dict) or hasattr(value, "items"):
            for name, several in value.items():
                inside = several if isinstance(several, tuple) else (several,)
                found |= {f"{each.name} {name} {i}": v for i, v in enumerate(inside)}
        elif isinstance(value, tuple):
            found |= {f"{each.name} {i}": v for i, v in enumerate(value)}
        else:
            found[each.name] = value
    return found


def check_same(ours: LaunchNumbers, models: LaunchNumbers) -> None:
    a, b = flat(ours), flat(models)
    assert list(a) == list(b)
    for name, value in b.items():
        if isinstance(value, float):
            # NumPy's powers and logarithms may end in another bit than Python's.
            assert math.isclose(a[name], value, rel_tol=1e-12, abs_tol=NOTHING), name
        else:
            assert a[name] == value, name


@pytest.mark.parametrize(("name", "mapping", "sizes"), KINDS, ids=IDS)
def test_a_program_gives_what_the_models_give(name, mapping, sizes) -> None:
    # independent: the models evaluate the same launches on arrays
    kernel = find_kernel(name, mapping)
    forms = Forms.of(kernel, UNDER.device, tuple(sizes), "profiler", "cold")
    launches = draw(sizes, 1, 20)
    for launch in launches:
        if forms.numbers(launch) is None:
            made = len(forms.of_numbers.known)
            forms.learn(launch, UNDER.evaluated)
            # a program holds for the launch that it was made for, whatever others it was made of
            assert len(forms.of_numbers.known) == made or forms.numbers(launch) is not None
    assert forms.of_numbers.failed == 0
    held = 0
    for launch in [*launches[-8:], *draw(sizes, 2, 12)]:
        found = forms.numbers(launch)
        if found is not None:
            held += 1
            check_same(found, LaunchNumbers.of(UNDER.details(kernel, launch)).plain())
    assert held >= 4


def test_what_no_program_holds_for_is_refused_in_the_same_words() -> None:
    for size in (512, 640, 768, 896):
        predict("gemm", mapping="naive", N=size)
    for wrong in (0, -4, 2**40):
        with pytest.raises(PerfmodelError) as error:
            predict("gemm", mapping="naive", N=wrong)
        assert f"{wrong}" in str(error.value)


def test_warnings_and_interval_are_those_of_the_models() -> None:
    # independent: a first prediction is not compiled
    first = predict("copy", bytes=3 << 24, device="h200-sxm")
    for step in range(1, 5):
        predict("copy", bytes=(3 << 24) + 256 * step, device="h200-sxm")
    again = predict("copy", bytes=3 << 24, device="h200-sxm")
    assert again.time_s == pytest.approx(first.time_s, rel=1e-12)
    assert again.warnings == first.warnings
    assert again.interval_s == pytest.approx(first.interval_s, rel=1e-12)
    assert again.to_json().keys() == first.to_json().keys()


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([("gemm", "vectorized"), ("gemm", "blocktile-1d"), ("gather", None)]),
    st.integers(1, 600),
    st.integers(1, 600),
)
def test_what_intervals_show_to_fit_does(kind: tuple[str, str | None], m: int, k: int) -> None:
    # independent: threads are tried one by one
    name, mapping = kind
    sizes = {"M": m, "N": 64, "K": k} if name == "gemm" else {"n": 64 * m, "run": k}
    instance = bind(find_kernel(name, mapping), sizes)
    if surely_fits(instance):
        check_bounds(instance)


def test_a_program_that_gives_other_numbers_is_not_taken() -> None:
    kernel = find_kernel("copy")
    launches = [{"bytes": size} for size in (1 << 26, 1 << 27)]
    found = record_launches(kernel, launches, UNDER.evaluated, read_numbers)
    form = Form(found.program, found.layout)
    assert form.agrees(found)
    for place in (0, -3):  # the time, and a part of the traffic
        row = list(found.outputs[0])
        row[place] = row[place] * 1.001 + 1.0
        assert not form.agrees(replace(found, outputs=(tuple(row), *found.outputs[1:])))


def test_a_program_of_bounds_serves_other_tiles_and_sizes() -> None:
    # independent: what the intervals of each launch by itself show
    kernel, random = find_kernel("gemm", "tensor-core"), np.random.default_rng(5)
    launch = {"N": 760, "M": 6660, "K": 1522, "BM": 160, "BN": 128, "split_k": 3}
    shows, holds = python_function(record_bounds(kernel, launch)), []
    for _ in range(40):
        sizes = {name: 2 * int(random.integers(32, 4096)) for name in "NMK"}
        tile = {"BM": int(random.choice([64, 128, 160])), "BN": int(random.choice([64, 128]))}
        other = {**launch, **sizes, **tile, "split_k": int(random.choice([1, 2, 3]))}
        if run(shows, [*other.values()]) is not None:
            holds.append((other["BM"], other["BN"], other["split_k"]))
            assert surely_fits(bind(kernel, other))
    assert len({*holds}) > 4  # a program of one tile and split alone would have one
    assert run(shows, [*(launch | {"K": 1521}).values()]) is None  # of single elements


def test_stores_of_one_warp_to_two_places_share_other_sectors_at_other_sizes() -> None:
    # independent: the models; which sectors are distinct decided nothing while it was recorded,
    # and of 8 to 12 floats the halves have as many
    halves = kernel_from_table(
        {
            "name": "halves",
            "summary": "both halves of a vector changed",
            "parameters": {"n": {}},
            "launch": {"grid": 1, "block": 256},
            "guard": "threadIdx.x < n // 2",
            "buffers": {"x": {"length": "n"}},
            "accesses": [
                {kind: "x", "index": f"threadIdx.x{at}"}
                for kind in ("load", "store")
                for at in ("", " + n // 2")
            ],
        }
    )
    launches = [{"n": n} for n in (8, 10, 12)]
    found = record_launches(halves, launches, UNDER.evaluated, read_numbers)
    function, held = python_function(found.program), 0
    for n in range(8, 40, 2):
        if (numbers := run(function, [n])) is not None:
            held += 1
            models = LaunchNumbers.of(UNDER.details(halves, {"n": n})).plain()
            check_same(found.layout.record(numbers), models)
    assert held > 3


def test_the_first_of_many_launches_decide_which_form_a_program_is_of() -> None:
    # independent: the models; of softmax rows to 2048 columns are a warp's, longer ones a block's
    kernel = find_kernel("softmax")
    short = [{"rows": 4096 + n, "cols": 1000} for n in range(3)]
    long = [{"rows": 4096 + n, "cols": 4000} for n in range(6)]
    for first, others in ((short, long), (long, short)):
        given = [*first, *others]
        found = record_launches(kernel, given, UNDER.evaluated, read_numbers, usual=len(first))
        function, numbers = python_function(found.program), first[1]
        made = run(function, [*numbers.values()])
        assert made is not None
        models = LaunchNumbers.of(UNDER.details(kernel, numbers)).plain()
        check_same(found.layout.record(made), models)
        assert run(function, [*others[0].values()]) is None


def test_a_program_serves_launches_that_other_resources_limit() -> None:
    # independent: the models; 32 registers a thread up to 512 columns, 48 from there on
    kernel = find_kernel("softmax")
    launches = [{"rows": 4096, "cols": cols} for cols in (300, 500)]
    found = record_launches(kernel, launches, UNDER.evaluated, read_numbers)
    limiters = []
    for launch in (launches[0], {"rows": 4096, "cols": 1000}):
        numbers = run(python_function(found.program), [*launch.values()])
        assert numbers is not None
        models = LaunchNumbers.of(UNDER.details(kernel, launch)).plain()
        check_same(found.layout.record(numbers), models)
        limiters.append(models.limiter)
    assert limiters == [LIMITERS.index("warps"), LIMITERS.index("registers")]
