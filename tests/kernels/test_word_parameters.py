"""Parameters whose values are words, and what an atomic says about itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from perfmodel import PerfmodelError, predict, predict_many
from perfmodel.kernels import bind, builtin
from perfmodel.kernels.access import DATA_TYPES
from perfmodel.kernels.tables import kernel_from_table

Refusal = Callable[..., str]


def table(**access: Any) -> dict[str, Any]:
    return {
        "name": "count",
        "parameters": {
            "n": {},
            "dtype": {"default": "uint32", "choices": ["uint32", "float64"]},
            "kind": {"default": "b", "choices": ["a", "b", "c"]},
            "quick": {"default": True},
        },
        "launch": {"grid": "ceil_div(n, 64)", "block": 64},
        "definitions": {"i": "blockIdx.x*blockDim.x + threadIdx.x"},
        "buffers": {
            "bins": {"length": "n", "element_bytes": "where(dtype == float64, 8, 4)"},
        },
        "accesses": [
            {"atomic": "bins", "index": "random(i, n)", "guard": "kind != c", "dtype": "dtype"}
            | access
        ],
    }


def test_words_stand_for_integers() -> None:
    kernel = kernel_from_table(table(returns="quick"))
    types = list(DATA_TYPES)
    usual = bind(kernel, {"n": 100})
    assert usual.values["dtype"] == types.index("uint32")
    assert usual.values["kind"] == 1
    assert usual.element_bytes["bins"] == 4
    assert usual.atomics[0] is not None
    assert usual.atomics[0].returns == 1
    other = bind(kernel, {"n": 100, "dtype": "float64", "kind": "c", "quick": False})
    assert (other.values["kind"], other.values["quick"]) == (2, 0)
    assert other.element_bytes["bins"] == 8
    assert kernel.word_parameters == ("dtype", "kind", "quick")


def test_arrays_of_words() -> None:
    kernel = kernel_from_table(table())
    many = bind(kernel, {"n": 100, "dtype": np.array(["float64", "uint32"])})
    assert many.element_bytes["bins"].tolist() == [8, 4]
    found = predict_many("atomic-add", n=1 << 20, dtype=["int32", "float32"], addresses=1)
    for dtype, time in zip(("int32", "float32"), found.time_s, strict=True):
        one = predict("atomic-add", n=1 << 20, dtype=dtype, addresses=1)
        assert time == pytest.approx(one.time_s)


def test_predictions_say_words() -> None:
    prediction = predict("atomic-add", n=4096, addresses=8, dtype="half2", returns=True)
    assert prediction.params["dtype"] == "half2"
    assert prediction.params["returns"] == "true"
    assert prediction.to_json()["kernel"]["params"]["pattern"] == "modulo"


@pytest.mark.parametrize(
    ("kernel", "parameter", "given", "word"),
    [
        ("atomic-add", "dtype", "float", "float32"),
        ("atomic-add", "dtype", "double", "float64"),
        ("atomic-add", "dtype", "int", "int32"),
        ("atomic-add", "returns", "1", "true"),
        ("softmax", "dtype", "float32", "fp32"),
        ("softmax", "dtype", "half", "fp16"),
        ("prefill-attention", "causal", "True", "true"),
    ],
)
def test_other_names_of_a_word(kernel: str, parameter: str, given: str, word: str) -> None:
    named, other = (predict(kernel, **{parameter: value}) for value in (word, given))
    assert other.params[parameter] == word
    assert other.time_s == named.time_s


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"dtype": "float31"}, "dtype' must be one of int32, .*did you mean 'float32'"),
        ({"dtype": 1}, "must be one of int32"),
        ({"pattern": "zipf"}, "must be one of modulo, random, warp"),
        ({"returns": 2}, "must be one of false, true"),
    ],
)
def test_words_that_are_none(values: dict[str, Any], message: str) -> None:
    with pytest.raises(PerfmodelError, match=message):
        bind(builtin("atomic-add"), {"n": 64, **values})


@pytest.mark.parametrize(
    ("access", "message"),
    [
        ({"dtype": "float31"}, "dtype must be one of int32, .*did you mean 'float32'"),
        ({"operation": "sub"}, "operation must be one of add, increment, raise, exchange, cas"),
        ({"aggregated": 1}, "aggregated must be true or false, or an expression"),
        ({"weights": [1, -1]}, "weights must be numbers of 0 or more, not -1"),
        ({"weights": [0, 0]}, "sum of the weights must be above 0"),
        ({"weights": "k + 1"}, "'k' is not a known variable"),
        ({"atomic": None, "load": "bins"}, "dtype is for atomics only"),
    ],
)
def test_atomics_that_are_wrong(access: dict[str, Any], message: str, refusal: Refusal) -> None:
    import re

    whole = table(**access)
    whole["accesses"][0] = {k: v for k, v in whole["accesses"][0].items() if v is not None}
    text = refusal(kernel_from_table, whole)
    assert re.search(message, text), text


def test_dtype_must_fit_the_buffer() -> None:
    whole = table()
    whole["buffers"]["bins"]["element_bytes"] = 4
    kernel = kernel_from_table(whole)
    with pytest.raises(PerfmodelError, match="must be 8, not 4"):
        bind(kernel, {"n": 10, "dtype": "float64"})


def test_choices_of_one_name_mean_one_thing(refusal: Refusal) -> None:
    whole = table()
    whole["parameters"]["other"] = {"default": "b", "choices": ["b", "a"]}
    assert "comes at another place in another parameter" in refusal(kernel_from_table, whole)
