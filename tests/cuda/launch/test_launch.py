"""Launches: what files may say, what a kernel makes of it, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from perfmodel.cuda.launch.content import generate
from perfmodel.cuda.launch.launch_file import launch_from_table, read_launches
from perfmodel.cuda.launch.spec import (
    Buffer,
    LaunchSpec,
    Scalar,
    Structure,
    bind,
    parameter_names,
    structure,
)
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.parse.syntax import Function
from perfmodel.errors import PerfmodelError

CORPUS = Path(__file__).parents[3] / "measurements" / "source-kernels/h200-sxm/corpus/program"


def kernel(parameters: str, directives: str = "") -> Function:
    text = f".version 8.0 .target sm_90 .address_size 64 .entry k({parameters}) {directives}"
    return parse_ptx(text + " { ret; }").kernels[0]


SAXPY = kernel(
    ".param .u64 k_param_0, .param .u64 .ptr .global .align 4 k_param_1, "
    ".param .f32 k_param_2, .param .u32 k_param_3"
)
NAMES = ("x", "y", "a", "n")
GOOD = {"grid": [4, 2], "block": 256, "kernel": "k"}


def spec(**arguments: object) -> LaunchSpec:
    return launch_from_table({**GOOD, "arguments": arguments}, "test")


FULL = {"x": {"bytes": "4KiB"}, "y": {"bytes": 4096}, "a": 2.5, "n": 1000}


def test_a_launch_by_name_or_in_order() -> None:
    expected = (Buffer(4096), Buffer(4096), Scalar(2.5), Scalar(1000))
    assert bind(spec(**FULL), SAXPY, NAMES) == expected
    in_order = launch_from_table({**GOOD, "arguments": list(FULL.values())}, "test")
    assert bind(in_order, SAXPY) == expected
    assert (in_order.grid, in_order.block) == ((4, 2, 1), (256, 1, 1))


def test_arguments_by_the_names_of_ptx_or_by_number() -> None:
    given = spec(**{"k_param_0": FULL["x"], "param_1": FULL["y"], "2": 2.5, "3": 1000})
    assert bind(given, SAXPY)[3] == Scalar(1000)
    assert parameter_names(SAXPY, ()) == ("param_0", "param_1", "param_2", "param_3")
    assert parameter_names(SAXPY, NAMES) == NAMES


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": None}, "no argument for n: give it a value, such as --arg n=1"),
        ({"n": None, "a": None}, "no argument for a, n: give each a value, such as --arg a=1"),
        ({"m": 3}, "no parameter 'm'"),
        ({"n": 2.5}, "argument n of kernel k must be a whole number, not 2.5"),
        ({"n": float("nan")}, "argument n of kernel k must be a whole number, not nan"),
        ({"n": float("inf")}, "argument n of kernel k must be a whole number, not inf"),
        ({"n": 1e30}, "argument n of kernel k must fit 32 bits"),
        ({"n": 1 << 32}, "argument n of kernel k must fit 32 bits"),
        ({"n": {"bytes": 64}}, "the parameter has 4 B, not the 8 of a pointer"),
        ({"y": 5}, "argument y of kernel k is a pointer"),
        ({"x": {"bytes": 0}}, "argument x of kernel k: bytes must be 1 to"),
        ({"x": {"bytes": "4TB"}}, "bytes must be 1 to"),
        ({"a": 1e39}, "must fit a float"),
        ({"a": {"fields": ["i32 1", "i32 2"]}}, "the fields make 8 B, the parameter has 4"),
    ],
)
def test_arguments_that_do_not_fit(change: dict[str, object], message: str) -> None:
    arguments = {k: v for k, v in {**FULL, **change}.items() if v is not None}
    with pytest.raises(PerfmodelError, match=message):
        bind(spec(**arguments), SAXPY, NAMES)


def test_a_wrong_number_of_arguments() -> None:
    three = launch_from_table({**GOOD, "arguments": [1, 2, 3]}, "test")
    with pytest.raises(PerfmodelError, match=r"4 parameters \(x, y, a, n\).* 3 arguments"):
        bind(three, SAXPY, NAMES)


def test_structures() -> None:
    takes = kernel(".param .align 8 .b8 k_param_0[16]")
    made = structure(["i32 -1", "f64 0.5"], "s")
    # C's layout: the double starts at 8, where it is aligned
    assert made.data == b"\xff\xff\xff\xff\0\0\0\0" + np.float64(0.5).tobytes()
    assert bind(LaunchSpec((1, 1, 1), (1, 1, 1), positional=(made,)), takes) == (made,)
    assert structure(["f64 0.5", "u8 1"], "s").data[8:] == b"\x01" + bytes(7)
    with pytest.raises(PerfmodelError, match="structure of 16 B: give its fields"):
        bind(LaunchSpec((1, 1, 1), (1, 1, 1), positional=(Scalar(1),)), takes)
    for field in ("i32", "i32 x", "q4 1", "u8 300", "", 5):
        with pytest.raises(PerfmodelError, match="a field must be"):
            structure([field], "s")
    assert isinstance(made, Structure)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grid": [2**31]}, "grid x must be 1 to 2147483647"),
        ({"grid": [1, 65536]}, "grid y must be 1 to 65535"),
        ({"grid": [1, 1, 10**30]}, "grid"),
        ({"grid": [0]}, "grid must be 1 to"),
        ({"grid": []}, "grid must be 1 to 3 numbers"),
        ({"grid": [1, 2, 3, 4]}, "grid must be 1 to 3 numbers"),
        ({"grid": "big"}, "grid must be a number .* 'big' has none: give -D big=VALUE"),
        ({"block": [1, 1, 65]}, "block z must be 1 to 64"),
        ({"block": [32, 33]}, "at most 1024 threads, not 1056"),
        ({"shared_bytes": 1 << 20}, "shared_bytes must be 0 to"),
        ({"shared_bytes": -1}, "shared_bytes must be 0 to"),
        ({"kernel": 5}, "kernel must be a name"),
        ({"blocks": 5}, "unknown key 'blocks'; did you mean 'block'"),
        ({"arguments": 5}, "arguments must be a table or a list"),
        ({"arguments": {"n": [1]}}, "argument 'n' must be a number"),
        ({"arguments": {"n": {"byte": 1}}}, "unknown key 'byte'"),
        ({"arguments": {"n": {}}}, "has no bytes"),
        ({"arguments": {"n": {"bytes": 8, "fill": "uniform"}}}, "fill needs the elements' type"),
        ({"arguments": {"n": {"bytes": 8, "type": "int"}}}, "type must be one of"),
        ({"arguments": {"n": {"bytes": 8, "type": "i32", "fill": "ones"}}}, "fill must be one of"),
        ({"arguments": {"n": "many"}}, "argument 'n' must be a number .* 'many' has none"),
    ],
)
def test_tables_that_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(PerfmodelError, match=message):
        launch_from_table({**GOOD, **change}, "launch file x.toml, launch 1")


@pytest.mark.parametrize(
    ("directives", "block", "message"),
    [
        (".maxntid 128, 1, 1", (256, 1, 1), "at most 128 threads"),
        (".reqntid 128", (64, 1, 1), "exactly 128 threads"),
    ],
)
def test_the_bounds_of_the_kernel(
    directives: str, block: tuple[int, int, int], message: str
) -> None:
    bounded = kernel("", directives)
    assert bind(LaunchSpec((1, 1, 1), (128, 1, 1)), bounded) == ()
    with pytest.raises(PerfmodelError, match=message):
        bind(LaunchSpec((1, 1, 1), block), bounded)


def test_files(tmp_path: Path) -> None:
    table = {**GOOD, "arguments": FULL}
    lines = tmp_path / "l.jsonl"
    lines.write_text(json.dumps(table) + "\n\n" + json.dumps({**table, "name": "two"}))
    first, second = read_launches(lines)
    assert first == launch_from_table(table, "")
    assert second.name == "two"
    toml = tmp_path / "l.toml"
    toml.write_text(
        '[[launch]]\nkernel = "k"\ngrid = [4, 2]\nblock = 256\n'
        'arguments = { x = { bytes = "4KiB" }, y = { bytes = 4096 }, a = 2.5, n = 1000 }\n'
    )
    assert read_launches(toml) == (first,)
    toml.write_text('kernel = "k"\ngrid = 1\nblock = 32\n')
    assert read_launches(toml)[0].block == (32, 1, 1)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.toml", "", "has no launch"),
        ("x.toml", "[[launch", "is not valid TOML"),
        ("x.toml", "a = " + "[" * 10_000, "is not valid TOML"),
        ("x.jsonl", "{}\n[", "launch file x.jsonl, line 2 is not JSON"),
        ("x.jsonl", "[" * 100_000, "not JSON"),
        ("x.jsonl", "{}", "launch 1 has no grid"),
        ("x.jsonl", "5", "must be a table"),
        ("x.toml", "launch = 5", "must be a table"),
        ("x.toml", "other = 5\n[[launch]]\ngrid=1", "unknown key 'other'"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(PerfmodelError, match=message):
        read_launches(path)


def test_content_from_a_file(tmp_path: Path) -> None:
    np.save(tmp_path / "index.npy", np.arange(6, dtype=np.int32).reshape(2, 3))
    table = {**GOOD, "arguments": {"i": {"bytes": 24, "npy": "index.npy"}}}
    made = launch_from_table(table, "", tmp_path).named["i"]
    assert isinstance(made, Buffer)
    found = made.content("i")
    assert found is not None
    assert found.tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(PerfmodelError, match="holds 24 B, but the buffer has 20"):
        Buffer(20, npy=tmp_path / "index.npy").content("i")
    with pytest.raises(PerfmodelError, match="does not exist"):
        Buffer(20, npy=tmp_path / "none.npy").content("i")
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY nonsense")
    with pytest.raises(PerfmodelError, match="is no array of numbers"):
        Buffer(20, npy=tmp_path / "bad.npy").content("i")
    np.save(tmp_path / "object.npy", np.array([{}], dtype=object))
    with pytest.raises(PerfmodelError, match="array of numbers"):
        Buffer(20, npy=tmp_path / "object.npy").content("i")
    assert Buffer(20).content("i") is None


def test_recipes_give_what_they_say() -> None:
    """Property: by the definitions in `FILLS`."""
    assert generate("zeros", "f32", 3, "a").tolist() == [0, 0, 0]
    assert generate("index", "i32", 4, "a", step=3).tolist() == [0, 3, 6, 9]
    assert sorted(generate("permutation", "u32", 100, "a")) == list(range(100))
    sums = generate("cumulative", "i32", 1000, "a", below=5)
    assert sums[0] == 0
    assert set(np.diff(sums)) == set(range(5))
    numbers = generate("uniform", "i32", 10_000, "a", below=10)
    assert set(numbers) == set(range(10))
    floats = generate("uniform", "f64", 10_000, "a")
    assert floats.min() >= 0
    assert floats.max() < 1
    assert len(set(floats)) == 10_000
    assert (generate("uniform", "f64", 100, "b") != floats[:100]).all()
    assert (generate("uniform", "f64", 10_000, "a") == floats).all()


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.toml")), ids=lambda p: p.stem)
def test_the_launches_of_the_corpus_are_sound(path: Path) -> None:
    for launch in read_launches(path):
        assert launch.kernel is not None
        assert f"{launch.kernel}(" in path.with_suffix(".cu").read_text()
