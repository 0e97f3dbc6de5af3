"""Numbers put in: by hand for the built-in kernels, arrays against scalars, and refusals."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from perfmodel.expressions import Name, evaluate, parse, text
from perfmodel.kernels import (
    Instance,
    bind,
    builtin,
    builtin_names,
    check_bounds,
    kernel_from_table,
    mappings,
    parse_kernel,
)

Refusal = Callable[..., str]


def flat(instance: Instance) -> dict[str, Any]:
    """Return all that an instance holds under one name each."""
    flat: dict[str, Any] = {
        "registers": instance.registers,
        "shared": instance.shared_bytes,
        "flop": instance.flop,
        "threads": instance.threads_per_block,
        "blocks": instance.blocks,
    }
    for what in ("values", "trips", "lengths", "element_bytes"):
        flat |= {f"{what} {name}": value for name, value in getattr(instance, what).items()}
    for what in ("grid", "block", "vectors", "counts"):
        flat |= {f"{what} {n}": value for n, value in enumerate(getattr(instance, what))}
    return flat


def test_gemm_by_hand() -> None:
    # independent: worked out by hand for M = 100, N = 4096, K = 7
    naive = bind(builtin("gemm", "naive"), {"M": 100, "N": 4096, "K": 7})
    assert naive.grid == (4, 128, 1)
    assert naive.block == (32, 32, 1)
    coalesced = bind(builtin("gemm", "coalesced"), {"M": 100, "K": 7})
    assert coalesced.grid == (128, 4, 1)
    assert coalesced.block == (1024, 1, 1)
    for instance in (naive, coalesced):
        assert instance.shape == ()
        assert dict(instance.values) == {"N": 4096, "M": 100, "K": 7}
        assert (instance.blocks, instance.threads_per_block) == (512, 1024)
        assert dict(instance.trips) == {"k": 7}
        assert instance.flop == 2 * 100 * 4096 * 7
        assert dict(instance.lengths) == {"A": 700, "B": 28672, "C": 409600}
        assert dict(instance.element_bytes) == {"A": 4, "B": 4, "C": 4}
        assert instance.vectors == (1, 1, 1)
        assert (instance.registers, instance.shared_bytes) == (32, 0)
        assert instance.loads_in_flight is None


def test_gemm_warps_by_hand() -> None:
    # independent: lanes of a warp have consecutive rows if naive, consecutive columns if coalesced
    for mapping, row, column in (("naive", 1, 0), ("coalesced", 0, 1)):
        instance = bind(builtin("gemm", mapping), {"N": 64})
        index = instance.expression(instance.kernel.accesses[2].index)
        place = dict.fromkeys(("blockIdx.x", "blockIdx.y", "threadIdx.y"), 0)
        lanes = evaluate(index, {**instance.known, **place, "threadIdx.x": np.arange(32)})
        np.testing.assert_array_equal(lanes, np.arange(32) * (64 * row + column))


def test_strided_copy_by_hand() -> None:
    # independent: 1000 elements at 3 i + 5 need 3*999 + 5 + 1 of them
    instance = bind(builtin("strided-copy"), {"n": 1000, "stride": 3, "offset": 5})
    assert instance.grid == (4, 1, 1)
    assert instance.block == (256, 1, 1)
    assert dict(instance.lengths) == {"in": 3003, "out": 1000}
    load, store = instance.kernel.accesses
    last = {**instance.known, "blockIdx.x": 3, "threadIdx.x": 231}
    assert evaluate(instance.expression(load.index), last) == 3002
    assert evaluate(instance.expression(store.index), last) == 999
    guard = instance.condition(load)
    assert guard is not None
    assert evaluate(guard, last) is True
    assert evaluate(guard, {**last, "threadIdx.x": 232}) is False


def test_streams_by_hand() -> None:
    instance = bind(builtin("copy"), {"bytes": 10_000, "vector": 8, "block": 128})
    assert instance.grid == (10, 1, 1)  # 1250 vectors
    assert dict(instance.lengths) == {"in": 1250, "out": 1250}
    assert dict(instance.element_bytes) == {"in": 8, "out": 8}


def test_complete_file_by_hand(complete: str) -> None:
    instance = bind(parse_kernel(complete), {"n": 1000, "rounds": 3, "block": 128})
    assert dict(instance.values) == {"n": 1000, "block": 128, "rounds": 3, "half": 500}
    assert instance.grid == (8, 1, 1)
    assert instance.shared_bytes == 512
    assert dict(instance.trips) == {"r": 3, "s": 256}
    assert dict(instance.lengths) == {"x": 1003, "y": 1000, "tile": 128}
    assert instance.counts == (1.57, 2.5)
    assert instance.loads_in_flight == 3
    assert text(instance.expression(Name("j"))) == "blockIdx.x * blockDim.x + threadIdx.x + r"
    assert instance.number(parse("threads + gridDim.x")) == 264
    both = instance.condition(instance.kernel.accesses[1])
    assert both is not None
    i = "blockIdx.x * blockDim.x + threadIdx.x"
    assert text(both) == f"{i} < n and ({i}) % 2 == 0"


STREAM = {"bytes": [64, 4096], "vector": [1, 4, 8, 16]}
CONFIGURATIONS: dict[str, dict[str, list[int]]] = {
    "gemm": {"N": [1, 31, 4096], "K": [7, 64]},
    "strided-copy": {"n": [1, 256, 257], "stride": [0, 1, 40]},
    "atomic-add": {"n": [1, 257], "addresses": [1, 40]},
    "atomic-privatized": {"n": [1, 1000], "block": [32, 256]},
    "cas-loop": {"n": [1, 1000], "addresses": [1, 40]},
    "lock-loop": {"n": [1, 1000], "addresses": [1, 40]},
    "shared-atomic": {"blocks": [1, 132], "addresses": [1, 64]},
    "data-reset": {"in_bytes": [16, 4096, 1 << 33], "out_bytes": [16, 70_000]},
    "embedding": {"table_bytes": [128, 1 << 20], "lookups": [1, 1000]},
    "gather": {"n": [1, 4097], "run": [1, 24]},
    "stream-persistent": {"persistent_bytes": [16, 1 << 20], "stream_bytes": [16, 70_000]},
    "working-set-read": {"bytes": [16, 1 << 26], "iterations": [1, 7]},
    "argmax": {"rows": [1, 7, 100], "cols": [1, 4096, 32000]},
    "decode-attention": {"context": [1, 100, 4096], "batch": [1, 7, 300]},
    "decode-combine": {"context": [1, 100, 4096], "batch": [1, 7]},
    "ffn-gemv": {"rows": [1, 5], "columns": [1, 8, 4097]},
    "kv-append": {"batch": [1, 33], "context": [1, 4096]},
    "layernorm": {"rows": [1, 100], "cols": [1, 4096]},
    "prefill-attention": {"tokens": [1, 200], "heads": [1, 8]},
    "softmax": {"rows": [1, 100], "cols": [1, 100, 2049, 32000]},
    "copy": STREAM,
    "read": STREAM,
    "write": STREAM,
}


@pytest.mark.parametrize("name", builtin_names())
def test_arrays_and_scalars_agree(name: str) -> None:
    # independent: the scalar evaluation is another code path
    for mapping in mappings(name) or [None]:
        kernel = builtin(name, mapping)
        (first, rows), (second, columns) = CONFIGURATIONS[name].items()
        shape = (len(rows), len(columns))
        many = bind(kernel, {first: np.array(rows)[:, None], second: np.array(columns)})
        assert many.shape == shape
        for (r, a), (c, b) in itertools.product(enumerate(rows), enumerate(columns)):
            one = flat(bind(kernel, {first: a, second: b}))
            for what, values in flat(many).items():
                assert values.shape == shape, what
                assert type(one[what]) in (int, float), what
                assert values[r, c] == one[what], what


def test_other_kinds_of_integers() -> None:
    kernel = builtin("gemm")
    assert type(bind(kernel, {"N": np.int32(64)}).values["N"]) is int
    assert type(bind(kernel, {"N": np.array(64, dtype=np.uint8)}).values["N"]) is int
    assert bind(kernel, {"N": [64, 128]}).shape == (2,)
    narrow = bind(kernel, {"N": np.array([40000], dtype=np.uint16)})
    assert narrow.lengths["A"].tolist() == [1_600_000_000]  # type: ignore[union-attr]
    assert bind(kernel, {"N": np.array([], dtype=int)}).shape == (0,)


def test_values_are_read_only() -> None:
    instance = bind(builtin("gemm"), {"N": np.array([64, 128])})
    with pytest.raises(TypeError):
        instance.values["N"] = 3  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        instance.grid[0][0] = 3  # type: ignore[index]


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("gemm", {"n": 4}, "kernel 'gemm' has no parameter 'n'; did you mean 'N'?"),
        ("copy", {"fetch_granularity": 32}, "give l2=L2Control(fetch_granularity=...)"),
        ("copy", {"hit_ratio": 1}, "give l2=L2Control(window=AccessPolicyWindow(...))"),
        ("gemm", {"size": 4}, "no parameter 'size'; its parameters are N, M, K"),
        ("gemm", {3: 4}, "no parameter 3"),
        ("gemm", {"N": 0}, "parameter 'N' must be 1 to 1099511627776, not 0"),
        ("gemm", {"N": -3}, "parameter 'N' must be 1 to 1099511627776, not -3"),
        ("gemm", {"N": 2**41}, "must be 1 to 1099511627776, not 2199023255552"),
        ("gemm", {"N": 10**400}, "must be 1 to 1099511627776, not an integer of 1329 bits"),
        ("gemm", {"N": 4.0}, "must be a whole number, not 4.0"),
        ("gemm", {"N": float("nan")}, "must be a whole number, not nan"),
        ("gemm", {"N": "4"}, "must be a whole number, not '4'"),
        ("gemm", {"N": None}, "must be a whole number, not None"),
        ("gemm", {"N": True}, "must be a whole number, not True"),
        ("gemm", {"N": [[1], [2, 3]]}, "must be whole numbers"),
        ("gemm", {"N": [1.5, 2]}, "not an array of type float64"),
        ("gemm", {"N": np.array([4, 0, 5])}, "must be 1 to 1099511627776, not 0"),
        ("gemm", {"N": np.array([2**64 - 1], dtype=np.uint64)}, "not 18446744073709551615"),
        ("gemm", {"N": [1, 2], "M": [1, 2, 3]}, "broadcast together, not N (2,), M (3,)"),
        ("gemm", {"N": 2**40}, "grid x must be 1 to 2147483647, not 34359738368, with N = "),
        ("gemm", {"M": 2**21 + 1}, "grid y must be 1 to 65535, not 65537"),
        (
            "gemm",
            {"M": [4, 2**22]},
            "grid y must be 1 to 65535, not 131072, with M = 4194304, N = ",
        ),
        ("gemm", {"M": 2**20, "K": 2**40}, "length of buffer 'A' must be 0 to 281474976710656"),
        ("gemm", {"N": 2**20, "K": 2**27}, "bytes of all global buffers must be 0 to"),
        ("copy", {"vector": 3}, "parameter 'vector' must be one of 1, 2, 4, 8, 16, not 3"),
        ("copy", {"vector": [4, 5]}, "parameter 'vector' must be one of 1, 2, 4, 8, 16, not 5"),
        ("copy", {"bytes": 8}, "grid x must be 1 to 2147483647, not 0, with bytes = 8"),
        ("strided-copy", {"stride": -1}, "parameter 'stride' must be 0 to"),
        ("strided-copy", {"stride": 2**40, "n": 2**30}, "overflows"),
    ],
)
def test_wrong_values(name: str, values: Any, message: str, refusal: Refusal) -> None:
    text = refusal(bind, builtin(name), values)
    assert message in text, text
    assert f"kernel {name!r}" in text


def table(**changes: Any) -> dict[str, Any]:
    return {
        "name": "t",
        "parameters": {"n": {"minimum": 0, "summary": "size"}, "m": {"default": 1, "minimum": 0}},
        "launch": {"grid": 1, "block": 32},
        "buffers": {"x": {"length": 8}},
        **changes,
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"launch": {"grid": 1, "block": ["n", "n"]}}, "threads of a block must be 1 to 1024, not"),
        ({"launch": {"grid": 1, "block": [1, 1, "n"]}}, "block z must be 1 to 64, not 100, with n"),
        ({"launch": {"grid": 1, "block": "m - 1"}}, "block x must be 1 to 1024, not 0"),
        ({"launch": {"grid": "1 // (m - 1)", "block": 1}}, "grid x: '1 // (m - 1)' divides by"),
        ({"launch": {"grid": 1, "block": 1, "registers": 256}}, "registers must be 1 to 255"),
        ({"launch": {"grid": 1, "block": 1, "shared_bytes": "-n"}}, "shared_bytes must be 0 to"),
        ({"buffers": {"x": {"length": "m - n"}}}, "length of buffer 'x' must be 0 to"),
        ({"buffers": {"x": {"length": 1, "element_bytes": "n"}}}, "element_bytes of buffer 'x'"),
        ({"buffers": {"x": {"length": 9, "space": "shared"}}}, "bytes of all shared buffers must"),
        ({"loops": [{"variable": "k", "trips": "m - n"}]}, "trips of loop 'k' must be 0 to"),
        (
            {"accesses": [{"load": "x", "index": 0, "vector": "n % 97"}]},
            "vector of the load 'x': vector = 3 elements of 4 bytes are 12 bytes",
        ),
        ({"arithmetic": [{"pipe": "other", "count": "-n"}]}, "count of 'other' arithmetic must be"),
        ({"flop": "n / (m - 1)"}, "flop: 'n / (m - 1)' divides by zero"),
        ({"flop": "-n"}, "flop must be at least 0, not -100"),
        ({"loads_in_flight": "m - 1"}, "loads_in_flight must be 1 to"),
        ({"parameters": {"n": 1, "m": {"default": "n - 200"}}}, "'m' (its default) must be 1 to"),
        ({"parameters": {"n": 1, "m": "1 // (n - 100)"}}, "'m' (its default): '1 // (n - 100)'"),
    ],
)
def test_launches_that_make_no_sense(
    changes: dict[str, Any], message: str, refusal: Refusal
) -> None:
    kernel = kernel_from_table(table(**changes))
    for n in (100, np.array([100])):
        text = refusal(bind, kernel, {"n": n})
        assert text.startswith("kernel 't'")
        assert message in text, text


def test_missing_parameter(refusal: Refusal) -> None:
    text = refusal(bind, kernel_from_table(table()))
    assert text == "kernel 't', parameter 'n' (size) has no default: give it a value, n = ..."


def test_elements_of_odd_sizes() -> None:
    kernel = kernel_from_table(
        table(
            buffers={"x": {"length": 32, "element_bytes": 12}},
            accesses=[{"load": "x", "index": "threadIdx.x"}],
        )
    )
    instance = bind(kernel, {"n": 1})
    assert dict(instance.element_bytes) == {"x": 12}


def test_deepest_definitions(refusal: Refusal) -> None:
    """Nesting up to the limit stays clear of the end of Python's stack everywhere."""
    chain = "(" * 70 + "{}" + " + n)" * 70
    definitions = {"a": chain.format("threadIdx.x"), "b": chain.format("a")}
    changes = table(
        definitions=definitions,
        buffers={"x": {"length": 10_000}},
        accesses=[{"load": "x", "index": "b*threadIdx.x", "guard": "b >= 0"}],
    )
    kernel = kernel_from_table(changes)
    check_bounds(bind(kernel, {"n": 1}))  # at most (31 + 140)*31
    assert "index" in refusal(check_bounds, bind(kernel, {"n": 100}))
    deeper = {**definitions, "c": chain.format("b")}
    assert "levels deep" in refusal(kernel_from_table, {**changes, "definitions": deeper})


@pytest.mark.parametrize("guard", ["d60 >= 0", "d60 >= 0 and threadIdx.x + n < 100"])
def test_definitions_that_double(guard: str) -> None:
    """Sixty doublings would be 2**60 parts if written out; shared parts keep it quick."""
    doubling = {f"d{n}": f"d{n - 1} + d{n - 1}" for n in range(1, 61)}
    kernel = kernel_from_table(
        table(
            definitions={"d0": "threadIdx.x // 32", **doubling},
            accesses=[{"load": "x", "index": "d60", "guard": guard}],
        )
    )
    check_bounds(bind(kernel, {"n": 1}))
