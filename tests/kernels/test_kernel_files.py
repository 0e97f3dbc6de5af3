"""Kernel files: what they give, and every way in which one can be wrong."""

from __future__ import annotations

import doctest
import os
import pickle
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Number, parse
from perfmodel.kernels import (
    Access,
    Arithmetic,
    Buffer,
    Loop,
    Parameter,
    kernel_from_table,
    load_kernel,
    parse_kernel,
    tables,
)
from perfmodel.prediction import predict

Refusal = Callable[..., str]


def test_complete_file(complete: str) -> None:
    # independent: the records written out by hand
    kernel = parse_kernel(complete)
    assert (kernel.name, kernel.precision, kernel.mapping) == ("scale", "fp64", "")
    assert kernel.summary == "y = a x, one thread an element"
    assert kernel.parameters == (
        Parameter("n", None, 2, 2**30, "elements"),
        Parameter("block", Number(256), 1, 2**40, "", (128, 256, 512)),
        Parameter("rounds", Number(1)),
        Parameter("half", parse("n // 2")),
    )
    assert kernel.launch.grid == (parse("ceil_div(n, block)"), Number(1), Number(1))
    assert kernel.launch.block == (parse("block"), Number(1), Number(1))
    assert kernel.launch.registers == Number(16)
    assert kernel.launch.shared_bytes == parse("4*block")
    assert [name for name, _ in kernel.definitions] == ["threads", "i", "j"]
    assert kernel.buffers == (
        Buffer("x", parse("n + rounds"), Number(8)),
        Buffer("y", parse("n"), Number(8)),
        Buffer("tile", parse("block"), Number(4), "shared"),
    )
    assert kernel.loops == (
        Loop("r", parse("rounds")),
        Loop("s", parse("threads"), "r"),
    )
    assert kernel.accesses == (
        Access("x", "load", parse("j"), loop="s", cache="l2", name="x"),
        Access("x", "load", parse("i"), guard=parse("i % 2 == 0"), name="x again"),
        Access("tile", "store", parse("threadIdx.x"), name="tile"),
        Access("y", "atomic", parse("i"), returns=True, name="y"),
    )
    assert kernel.arithmetic == (
        Arithmetic("fma64", parse("157/100"), "s"),
        Arithmetic("other", Number(2.5)),
    )
    assert kernel.guard == parse("i < n")
    assert kernel.flop == parse("n*rounds")
    assert kernel.loads_in_flight == parse("min(rounds, 4)")
    assert [loop.variable for loop in kernel.loop_nest("s")] == ["r", "s"]


def test_file_text_and_dict_agree(complete: str, tmp_path: Path) -> None:
    path = tmp_path / "scale.toml"
    path.write_bytes(b"\xef\xbb\xbf" + complete.encode())  # some editors start files with a BOM
    kernel = load_kernel(path)
    assert kernel == load_kernel(str(path)) == parse_kernel(complete)
    assert kernel == kernel_from_table(tomllib.loads(complete))
    assert hash(kernel) == hash(parse_kernel(complete))
    assert pickle.loads(pickle.dumps(kernel)) == kernel


def test_accesses_without_a_name_get_different_ones() -> None:
    table = minimal()
    table["accesses"] = [{"load": "x", "index": 0} for _ in range(3)]
    table["accesses"].insert(0, {"store": "x", "index": 0, "name": "x-2"})
    names = [access.name for access in kernel_from_table(table).accesses]
    assert names == ["x-2", "x", "x-3", "x-4"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"name = \n", "'.*bad.toml' is not valid TOML: .*line 1"),
        (b'name = "a"\nname = "b"\n', "Cannot overwrite a value.*line 2"),
        (b"a = 1979-05-27T07:32:00Z\n", "unknown key 'a'"),
        (b"name = '\xff'", r"is not UTF-8 text \(byte 8\)"),
        (b"a = " + b"[" * 5000, "not valid TOML"),
        (b"#" * (2**20 + 1), "larger than 1 MiB"),
        (b"", "has no name"),
        (b"a = " + b"9" * 5000, "not valid TOML"),
    ],
)
def test_files_that_are_no_kernel(
    content: bytes, message: str, tmp_path: Path, refusal: Refusal
) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    text = refusal(load_kernel, path)
    assert text.startswith(f"kernel file {str(path)!r}")
    assert re.search(message, text), text


def test_paths_that_are_no_file(tmp_path: Path, refusal: Refusal) -> None:
    missing = refusal(load_kernel, tmp_path / "none.toml")
    assert "does not exist: give the path of a kernel file" in missing
    assert "is a directory" in refusal(load_kernel, tmp_path)
    assert "a\\x00b.toml" in refusal(load_kernel, "a\0b.toml")
    assert "cannot be read" in refusal(load_kernel, "a" * 300 + ".toml")
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    assert "not a regular file" in refusal(load_kernel, pipe)


def minimal() -> dict[str, Any]:
    return {
        "name": "t",
        "parameters": {"n": {"minimum": 1}, "m": 4},
        "launch": {"grid": "ceil_div(n, 256)", "block": 256},
        "definitions": {"i": "blockIdx.x*blockDim.x + threadIdx.x", "d": "i + k"},
        "guard": "i < n",
        "buffers": {"x": {"length": "n"}},
        "loops": [{"variable": "k", "trips": "n"}],
        "accesses": [{"load": "x", "index": "i"}],
        "arithmetic": [{"pipe": "other", "count": 1}],
    }


def changed(keys: str, value: Any) -> dict[str, Any]:
    """Return the minimal table with the value at, say, ``loops.0.trips`` replaced."""
    table = minimal()
    *path, last = (int(key) if key.isdigit() else key for key in keys.split("."))
    place: Any = table
    for key in path:
        place = place[key]
    place[last] = value
    return table


def nested(levels: int) -> dict[str, str]:
    """Return definitions that are nested some 90 levels each."""
    deep = {"d0": "n"}
    for number in range(1, levels):
        deep[f"d{number}"] = "(" * 40 + f"d{number - 1}" + " + n)" * 40
    return deep


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        # top level
        ("nmae", "x", "t has an unknown key 'nmae'; did you mean 'name'?"),
        ("name", "Bad Name", "t: name must start with a letter and be of a-z"),
        ("name", 3, "t: name must"),
        ("name", "", "t: name must"),
        ("mapping", "A", "t: mapping must"),
        ("summary", 1, "t: summary must be printable text"),
        ("summary", "a\0b", "t: summary must be printable text"),
        ("precision", "fp31", "precision must be one of fp32, .* did you mean 'fp32'"),
        ("guard", "i <", "t, guard: 'i <' is not an expression"),
        ("guard", "k < 1", "t, guard uses k: use the variables of the loops around it"),
        ("guard", "d < 1", r"t, guard uses k \(by way of d\)"),
        ("guard", True, "t, guard must be a whole number or an expression in quotes, not True"),
        ("flop", "i", r"t, flop uses blockIdx.x \(by way of i\): use parameters"),
        ("flop", float("nan"), "t, flop: number nan must be finite"),
        ("loads_in_flight", "threadIdx.x", "loads_in_flight uses threadIdx.x"),
        ("accesses", {}, r"accesses must be a list of tables, each under \[\[accesses\]\]"),
        ("accesses", [1], "accesses must be a list of tables"),
        ("accesses", "x", "accesses must be a list of tables"),
        ("accesses", [{"load": "x", "index": 0}] * 65, "has 65 accesses: at most 64"),
        ("buffers", [], "buffers must be a table"),
        ("buffers", {f"b{n}": {"length": 1} for n in range(65)}, "has 65 buffers: at most 64"),
        # parameters
        ("parameters.m", {"defualt": 4}, "parameter 'm' has an unknown key.*'default'"),
        ("parameters.m", 1.5, "parameter 'm': default must be a whole number"),
        ("parameters.m", "z", "parameter 'm': default: 'z' is not a known variable"),
        ("parameters.m", "threadIdx.x", "default uses threadIdx.x"),
        ("parameters.m", {"minimum": "1"}, "minimum must be a whole number, not '1'"),
        ("parameters.m", {"minimum": True}, "minimum must be a whole number, not True"),
        ("parameters.m", {"minimum": 4, "maximum": 3}, "maximum must be 4 to"),
        ("parameters.m", {"minimum": -1}, "minimum must be 0 to"),
        ("parameters.m", {"choices": 3}, "choices must be a list"),
        ("parameters.m", {"choices": [0]}, "choices must be 1 to"),
        ("parameters.threadIdx", 1, "parameter 'threadIdx' clashes with CUDA's own threadIdx"),
        ("parameters.min", 1, "parameter 'min': min is a function"),
        ("parameters.for", 1, "parameter 'for': 'for' is not a variable name"),
        ("parameters.ä", 1, "is not a variable name"),
        ("parameters.i", 1, "definition 'i' clashes with the parameter of that name"),
        ("parameters.k", 1, "loop variable 'k' clashes with the parameter"),
        # launch
        ("launch", 3, "t, launch must be a table with grid, block, not 3"),
        ("launch", {"grid": 1}, "t, launch has no block"),
        ("launch.gird", 1, "did you mean 'grid'"),
        ("launch.grid", [1, 1, 1, 1], "launch: grid has 4 entries"),
        ("launch.grid", [], "launch: grid has 0 entries"),
        ("launch.grid", "blockDim.x", "launch: grid x uses blockDim.x: use parameters"),
        ("launch.grid", [1, "N"], "launch: grid y: 'N' is not a known variable"),
        ("launch.block", "i", "launch: block x uses blockDim.x .by way of i."),
        ("launch.block", 2**80, "launch: block x: an integer of 81 bits"),
        ("launch.registers", 1.0, "registers must be a whole number"),
        ("launch.shared_bytes", "16KiB", "shared_bytes: 'KiB' after a number"),
        # definitions
        ("definitions.later", "last + 1", "definition 'later': 'last' is not a known variable"),
        ("definitions.self", "self", "'self' is not a known variable"),
        ("definitions.n", 1, "definition 'n' clashes with the parameter"),
        ("definitions.k", 1, "definition 'k' clashes with the loop variable"),
        ("definitions", nested(6), "levels deep once definitions are put in"),
        # buffers
        ("buffers.x", 3, "buffer 'x' must be a table with length, not 3"),
        ("buffers.x", {}, "buffer 'x' has no length"),
        ("buffers.x.length", "i", "buffer 'x': length uses blockIdx.x"),
        ("buffers.x.length", "q", "buffer 'x': length: 'q' is not a known"),
        ("buffers.x.element_bytes", 17, "access 1 .load 'x'.: element_bytes must be 1 to 16"),
        ("buffers.x.element_bytes", 0, "element_bytes must be 1 to 16, not 0"),
        ("buffers.x.space", "local", "space must be one of global, shared, not 'local'"),
        ("buffers.a b", {"length": 1}, "a name is made of letters"),
        # loops
        ("loops.0", {"variable": "k"}, "loop 1 has no trips"),
        ("loops.0.variable", 3, "loop variable 3 must be text"),
        ("loops.0.variable", "n", "clashes with the parameter"),
        ("loops.0.trips", "threadIdx.x", "loop 'k': trips uses threadIdx.x"),
        ("loops.0.trips", "d", "loop 'k': trips uses blockIdx.x .by way of d."),
        ("loops.0.parent", "q", "loop 'k': parent 'q' is no loop"),
        ("loops.0.parent", "k", "loop 'k' is inside itself"),
        ("loops.0.parent", 1, "parent must be printable text"),
        # accesses
        ("accesses.0.load", "y", "access 1: load must be a buffer, not 'y'"),
        ("accesses.0.load", ["x"], "access 1: load must be a buffer"),
        ("accesses.0.store", "x", "one of load, store and atomic, not load and store"),
        ("accesses.0", {"index": "i"}, "one of load, store and atomic, not none"),
        ("accesses.0", {"load": "x"}, "access 1 has no index"),
        ("accesses.0.index", "k", "access 1 .load 'x'.: index uses k"),
        ("accesses.0.index", "i/2", "gives fractions"),
        ("accesses.0.index", "ii", "'ii' is not a known variable; did you mean i?"),
        ("accesses.0.loop", "q", "loop must be the variable of a loop, not 'q'"),
        ("accesses.0.vector", 3, "vector = 3 elements of 4 bytes are 12 bytes"),
        ("accesses.0.vector", 8, "vector = 8 elements of 4 bytes are 32 bytes"),
        ("accesses.0.vector", 0, "vector must be 1 or more"),
        ("accesses.0.vector", "i", "vector uses blockIdx.x"),
        ("accesses.0.cache", "l3", "cache must be one of l1, l2"),
        ("accesses.0.returns", True, "returns is for atomics only"),
        ("accesses.0.returns", 1, "returns must be true or false"),
        ("accesses.0.guard", "x < 1", "guard: 'x' is not a known variable"),
        ("accesses.0.name", 1, "name must be printable text"),
        ("accesses.0", {"store": "x", "index": 0, "cache": "l1"}, "cache is for loads"),
        # arithmetic
        ("arithmetic.0.pipe", "fma16", "pipe must be one of .* did you mean"),
        ("arithmetic.0.count", "i", "arithmetic 1: count uses blockIdx.x"),
        ("arithmetic.0.loop", "n", "loop must be the variable of a loop"),
    ],
)
def test_tables_that_are_wrong(keys: str, value: Any, message: str, refusal: Refusal) -> None:
    text = refusal(kernel_from_table, changed(keys, value), "file t")
    assert text.startswith("file t"), text
    assert re.search(message, text), text


def test_cycle_of_loops(refusal: Refusal) -> None:
    loops = [
        {"variable": "a", "trips": 1, "parent": "b"},
        {"variable": "b", "trips": 1, "parent": "a"},
    ]
    assert "inside itself" in refusal(kernel_from_table, {**minimal(), "loops": loops})


def test_access_names_are_unique(refusal: Refusal) -> None:
    accesses = [{"load": "x", "index": 0, "name": "mine"}] * 2
    text = refusal(kernel_from_table, {**minimal(), "accesses": accesses})
    assert text == "kernel: two accesses have the name 'mine'"


def test_default_may_not_look_ahead(refusal: Refusal) -> None:
    table = {"name": "t", "parameters": {"a": "b", "b": 1}, "launch": {"grid": 1, "block": 1}}
    assert "'b' is not a known variable" in refusal(kernel_from_table, table)


def test_widths_of_parameters_are_left_open() -> None:
    table = changed("accesses.0.vector", "m")
    assert kernel_from_table(table).accesses[0].vector == parse("m")


def test_documented_example_is_a_kernel() -> None:
    assert doctest.testmod(tables).attempted > 0
    assert doctest.testmod(tables).failed == 0


NEEDY = """
name = "needy"
[launch]
grid = 1
block = 32
[buffers]
a = { length = 32 }
b = { length = 32 }
[[accesses]]
load = "a"
index = "threadIdx.x"
[[accesses]]
load = "b"
index = "random(threadIdx.x, 32)"
needs = "NEEDED"
"""


def test_an_access_may_need_another_load(refusal: Refusal) -> None:
    kernel = parse_kernel(NEEDY.replace("NEEDED", "a"))
    assert [access.needs for access in kernel.accesses] == ["", "a"]
    for wrong in ("c", "A"):
        message = refusal(parse_kernel, NEEDY.replace("NEEDED", wrong))
        assert "is no other load of the same loop" in message
    assert "waits for itself" in refusal(parse_kernel, NEEDY.replace("NEEDED", "b"))


JOINED = NEEDY.replace('needs = "NEEDED"', 'joins = "JOINED"').replace(
    "[[accesses]]", '[[loops]]\nvariable = "k"\ntrips = 2\n[[accesses]]', 1
)


def test_a_load_may_be_waited_for_with_those_of_a_loop(refusal: Refusal) -> None:
    kernel = parse_kernel(JOINED.replace("JOINED", "k"))
    assert [access.joins for access in kernel.accesses] == ["", "k"]
    assert "joins must be" in refusal(parse_kernel, JOINED.replace("JOINED", "a"))
    stored = JOINED.replace('joins = "JOINED"', 'joins = "k"\nloop = "k"')
    assert "joins is for loads outside of loops only" in refusal(parse_kernel, stored)


def test_paces_of_a_lone_warp() -> None:
    # derived: what runs once, and so much for each turn of the loop
    table: dict[str, Any] = {
        "name": "paced",
        "parameters": {"n": {"default": 8}},
        "launch": {"grid": 1, "block": 32},
        "buffers": {"x": {"length": "32*n"}},
        "loops": [{"variable": "i", "trips": "n"}],
        "accesses": [{"load": "x", "index": "i*32 + threadIdx.x", "loop": "i"}],
        "paces": [{"clocks": "42*n/10"}, {"clocks": 20, "loop": "i", "abreast": 4}],
    }
    kernel = kernel_from_table(table)
    once, looped = kernel.paces
    assert (once.loop, once.abreast) == (None, Number(1))
    assert (looped.loop, looped.clocks, looped.abreast) == ("i", Number(20), Number(4))
    chain = predict(kernel, n=8).details.time.chain
    assert chain.alone == pytest.approx(33.6)
    assert chain.in_loops == pytest.approx(160)
    assert chain.batches[0].count == pytest.approx(2)
    with pytest.raises(PerfmodelError, match="clocks"):
        kernel_from_table(table | {"paces": [{"loop": "i"}]})
