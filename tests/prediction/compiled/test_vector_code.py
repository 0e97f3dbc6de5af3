"""Programs as machine code; expected values are NumPy's, and those of programs on arrays."""

from __future__ import annotations

from importlib import reload

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.prediction.compiled import (
    division_code,
    vector_code,
    vector_library,
    vector_operators,
)
from perfmodel.prediction.compiled.array_functions import NoProgramError
from perfmodel.prediction.compiled.calls import Call, Function, Leaf
from perfmodel.prediction.compiled.lowering import Guard, Program
from perfmodel.prediction.compiled.programs import Form
from perfmodel.prediction.compiled.scalars import OPERATORS, Scalars
from perfmodel.prediction.compiled.vector_code import vector_function

scalars = Scalars()
INPUTS = {
    "f": [scalars.made("float", (scalars.made("input", (n,), "i"),), "f") for n in "ab"],
    "i": [scalars.made("input", (n,), "i") for n in "ab"],
}
OF_ONE = (
    *("negative", "absolute", "sign", "floor", "ceil", "rint", "sqrt", "log", "log2", "exp"),
    *("expm1", "log1p", "float", "integer", "truth", "not"),
)
OF_WHOLE = ("gcd", "left_shift", "right_shift", "and", "or", "xor", "integer_power", "random")
LIMITS = np.iinfo(np.int64)


def made(*outputs, guards=(), products=()):
    try:
        return vector_function(Program(("a", "b"), tuple(guards), tuple(products), outputs))
    except NoProgramError as error:
        if "LLVM" in str(error) or "expected type" in str(error):
            pytest.skip("no LLVM, or one of before its version 15")
        raise


def check(name, kind, a, b):
    inputs = INPUTS[kind][: 1 if name in OF_ONE else 2]
    if kind == "f":  # halves and negative numbers too
        inputs = [scalars.apply("multiply", i, 0.5) for i in inputs]
    found = scalars.apply(name, *inputs)
    _, (ours,) = made(found)(a, b)
    arrays = [column * 0.5 if kind == "f" else column for column in (a, b)]
    with np.errstate(all="ignore"):
        numbers = OPERATORS[name].function(*arrays[: len(inputs)])
    np.testing.assert_allclose(ours, numbers, rtol=1e-14, atol=0)


@pytest.mark.parametrize("name", sorted({*OPERATORS} - {*OF_WHOLE}))
def test_operators_on_floats(name: str) -> None:
    random = np.random.default_rng(3)
    a, b = random.integers(-40, 40, (2, 37))
    if name in ("sqrt", "log", "log2", "log1p", "power"):
        a = np.abs(a)
    check(name, "f", a, b)


@pytest.mark.parametrize("name", sorted({*OPERATORS} - {"power"}))
def test_operators_on_whole_numbers(name: str) -> None:
    random = np.random.default_rng(4)
    a, b = random.integers(-900, 900, (2, 37))
    if "shift" in name or name in ("integer_power", "random"):
        b = np.abs(b) % 6
    elif name in ("exp", "expm1", "sqrt", "log", "log2", "log1p"):
        a = np.abs(a) % 20
    check(name, "i", a, b)


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
@pytest.mark.parametrize("odd", [None, -3.5, 1e300])
def test_divisions_near_whole_quotients(name: str, odd: float | None) -> None:
    # independent: NumPy's, to the last bit; one odd number sends its vector the other way
    random = np.random.default_rng(6)
    divisors = random.choice([0.1, 1 / 3, 3.0, 32.0, 0.7e-9, 1e17], 400) * random.integers(
        1, 99, 400
    )
    near = divisors * random.integers(0, 1 << 40, 400)
    numbers = np.maximum(np.nextafter(near, random.choice([-np.inf, np.inf], 400)), 0.0)
    numbers = np.where(random.random(400) < 0.3, near, numbers)
    if odd is not None:
        numbers[::40] = odd
    a, b = (scalars.made("input", (n,), "f") for n in "ab")
    program = Program(("a", "b"), (), (), (scalars.apply(name, a, b),))
    _, (found,) = vector_code.vector_function(program)(numbers, divisors)
    expected = getattr(np, name)(numbers, divisors)
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_whole_division_never_traps(name: str) -> None:
    a = np.array([LIMITS.min, LIMITS.min, LIMITS.max, 7, -7, 7, -7, 0, 5])
    b = np.array([-1, 0, -1, 2, 2, -2, -2, 0, -1])
    check(name, "i", a, b)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 16))
def test_small_powers_are_multiplied(exponent: int) -> None:
    base = scalars.apply("multiply", INPUTS["f"][0], 0.37)
    numbers = np.arange(-8, 9)
    _, (found,) = made(scalars.apply("power", base, float(exponent)))(numbers, numbers)
    np.testing.assert_allclose(found, (numbers * 0.37) ** float(exponent), rtol=1e-15 * exponent)


def test_powers_by_logarithms() -> None:
    # independent: NumPy's powers; a variable exponent's are refused of negative numbers
    a, b = INPUTS["i"]
    variable = scalars.apply("power", scalars.apply("multiply", a, 0.5), b)
    constant = scalars.apply("power", scalars.apply("absolute", a), -1.3)
    bases, exponents = np.array([0, 0, 0, 1, 3, 900, 7, -3]), np.array([0, 2, -2, 9, -40, 60, 0, 2])
    held, (found, fixed) = made(variable, constant)(bases, exponents)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(
            found[held], (bases * 0.5)[held] ** exponents.astype(float)[held], rtol=1e-13
        )
        np.testing.assert_allclose(fixed, np.abs(bases) ** -1.3, rtol=1e-14)
    assert held[:-1].all()
    assert held[-1] == (not vector_operators.by_logarithm(variable))


def test_a_library_of_vectors_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    binding = pytest.importorskip("llvmlite.binding")
    assert vector_library.vector_functions(("exp",), 3) == {}
    assert vector_library.vector_functions(("no_such_function",), vector_code.LANES) == {}
    with monkeypatch.context() as patched:
        patched.setattr(vector_library, "_NAME", "no-such-library.so")
        assert vector_library.vector_functions(("exp",), vector_code.LANES) == {}
    monkeypatch.setattr(binding, "get_host_cpu_features", dict)
    assert vector_library.vector_functions(("exp",), vector_code.LANES) == {}


def test_choices_guards_and_products() -> None:
    # by hand: where a > b, a * b, elsewhere b, of launches whose a is above 1
    a, b = INPUTS["i"]
    product = scalars.apply("multiply", a, b)
    chosen = scalars.where(scalars.apply("greater", a, b), product, b)
    guard = Guard(scalars.apply("greater", a, 1), True)
    other = Guard(scalars.apply("remainder", b, 2), 1)
    run = made(chosen, 4.5, guards=[guard, other], products=[product])
    held, (outputs, constant) = run(
        np.array([5, 1, 2, 1 << 40, 3]), np.array([3, 3, 7, 2**31 + 1, 2])
    )
    assert held.tolist() == [True, False, True, False, False]
    assert outputs[held].tolist() == [15, 7]
    assert constant == 4.5


def test_fewer_launches_after_more() -> None:
    run = made(scalars.apply("add", *INPUTS["i"]))
    for size in (100, 3, 41):
        numbers = np.arange(size)
        held, (found,) = run(numbers, numbers)
        assert held.all()
        assert found.tolist() == (2 * numbers).tolist()


def test_large_programs_are_compiled_well_after_many_launches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # property: code that is made quickly gives the same to the last bit
    monkeypatch.setattr(vector_code, "_LARGE", 0)
    monkeypatch.setattr(vector_code, "_OFTEN", 100)
    root = scalars.apply("sqrt", scalars.apply("divide", *INPUTS["f"]))
    run = made(scalars.apply("add", root, scalars.apply("log", INPUTS["f"][0])))
    a, b = np.random.default_rng(6).integers(1, 1000, (2, 60))
    quickly = run(a, b)[1][0].copy()
    assert run.quick
    well = run(a, b)[1][0]
    assert not run.quick
    np.testing.assert_array_equal(well, quickly)
    monkeypatch.setattr(vector_code, "_LARGE", 1 << 20)
    assert not made(root).quick


def test_calls_that_the_first_output_does_not_need_are_left_out() -> None:
    # by hand: one function is needed by a guard, one by the first output, one by the second
    called, numbers = [], []
    for place in range(3):

        def work(column: np.ndarray, place: int = place) -> np.ndarray:
            called.append(place)
            return column + place

        function = Function(str(place), work, (Leaf(0),), {}, ("<i8",), ((1,),), ((1,),))
        call = scalars.made("call", (Call(function, (INPUTS["i"][0],)),), "f")
        numbers.append(scalars.made("part", (call, 0), "i"))
    guard = Guard(scalars.apply("greater", numbers[0], 2), True)
    run = made(numbers[1], numbers[2], guards=[guard])
    column = np.arange(5)
    held, outputs = run.first(column, column)
    assert sorted(called) == [0, 1]
    assert held.tolist() == [False] * 3 + [True] * 2
    assert [output.tolist() for output in outputs] == [[1, 2, 3, 4, 5]]
    _, outputs = run(column, column)
    assert sorted(called) == [0, 0, 1, 1, 2]
    assert outputs[1].tolist() == [2, 3, 4, 5, 6]


def test_columns_are_apart_and_in_other_places_of_a_page() -> None:
    # by hand: columns of 8 B and 1 B share no memory, and begin a cache line later each
    columns = vector_code._columns([np.dtype(kind) for kind in ("f8", "?", "i8")], 1000)
    for number, column in enumerate(columns, 1):
        assert not column.any()
        column[:] = number % 2
    assert [column.sum() for column in columns] == [1000, 0, 1000]
    places = [column.ctypes.data % 4096 for column in columns]
    assert [(place - places[0]) % 4096 for place in places] == [0, 64, 128]


@pytest.mark.parametrize(("features", "lanes"), [({"avx512f": True}, 8), ({}, 4)])
def test_vectors_of_other_processors(
    features: dict[str, bool], lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # independent: NumPy, with numbers that calls take one by one and launches that fill no vector
    binding = pytest.importorskip("llvmlite.binding")
    a, b = np.random.default_rng(5).integers(1, 1000, (2, 37))
    least = scalars.apply("minimum", *INPUTS["f"])
    outputs = scalars.apply("gcd", *INPUTS["i"]), scalars.apply("log1p", least)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(binding, "get_host_cpu_features", lambda: features)
            patched.setattr(vector_library, "vector_functions", lambda names, lanes: {})
            reload(vector_operators)
        reload(division_code)
        reload(vector_code)
        assert lanes == vector_code.LANES
        _, (divisors, logarithms) = made(*outputs)(a, b)
        assert divisors.tolist() == np.gcd(a, b).tolist()
        np.testing.assert_allclose(logarithms, np.log1p(np.minimum(a, b)), rtol=1e-15)
    finally:
        for module in (vector_operators, division_code, vector_code):
            reload(module)


def test_without_llvm_numpy_does_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    found = scalars.apply("multiply", *INPUTS["f"])
    program = Program(("a", "b"), (), (), (found,))
    monkeypatch.setattr(vector_code, "find_spec", lambda name: None)
    many = Form(program, None).of_many
    assert many is not None
    held, (products,) = many(np.arange(5), np.arange(5))
    assert held.all()
    assert products.tolist() == [0.0, 1.0, 4.0, 9.0, 16.0]
