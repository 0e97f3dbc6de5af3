"""Quotients and remainders of a thread's number, as compilers write them, are read back.

Expected: plain Python division of the thread's number. The instructions are those that the theorems
of Granlund and Montgomery (1994) ask for, of any divisor, which nvcc follows.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from programs import launch, program, written

from perfmodel.cuda.addresses.quotients import simplest
from perfmodel.cuda.addresses.sums import sum_of
from perfmodel.cuda.addresses.sums import written as expression
from perfmodel.cuda.kernel.translate import translated
from perfmodel.expressions import evaluate, parse, text
from perfmodel.kernels.kernel import Kernel

LIMITS = settings(max_examples=60, deadline=None)
BLOCK = 256
SIGNED, UNSIGNED = "s", "u"


class Registers:
    """Instructions on integers of one width; `x` is the thread's number, `new` a fresh register."""

    def __init__(self, bits: int, sign: str) -> None:
        self.bits, self.sign, self.used = bits, sign, 9
        self.lines: list[str] = []
        self.kind = f"{sign}{bits}"

    def new(self) -> str:
        self.used += 1
        return f"%{'r' if self.bits == 32 else 'd'}{self.used}"

    def run(self, opcode: str, *operands: str | int) -> str:
        target = self.new()
        self.lines.append(f"{opcode} {target}, {', '.join(map(str, operands))};")
        return target

    def upper(self, a: str, factor: int) -> str:
        """The upper half of a product, its factor written as a signed number, as nvcc does."""
        top = 1 << self.bits
        shown = factor - top if factor >= top // 2 else factor
        return self.run(f"mul.hi.{self.kind}", a, shown)

    def shifted(self, a: str, by: int, sign: str) -> str:
        return self.run(f"shr.{sign}{self.bits}", a, by) if by else a

    def quotient(self, x: str, d: int) -> str:
        """x // d by a reciprocal, for x from 0."""
        if d & d - 1 == 0:
            return self.shifted(x, d.bit_length() - 1, UNSIGNED)
        return self._signed(x, d) if self.sign == SIGNED else self._unsigned(x, d)

    def _unsigned(self, x: str, d: int) -> str:
        even = (d & -d).bit_length() - 1
        for before in (0, even):  # the reciprocal may fit once the factor of two is gone
            odd = d >> before
            for more in range(odd.bit_length() + 1):
                reciprocal = -(-(1 << self.bits + more) // odd)
                error = reciprocal * odd - (1 << self.bits + more)
                if reciprocal < 1 << self.bits and error <= 1 << more + before:
                    high = self.upper(self.shifted(x, before, UNSIGNED), reciprocal)
                    return self.shifted(high, more, UNSIGNED)
        more = d.bit_length()  # one bit more than the register: figure 4.1
        reciprocal = (1 << self.bits) * ((1 << more) - d) // d + 1
        high = self.upper(x, reciprocal)
        half = self.shifted(self.run(f"sub.s{self.bits}", x, high), 1, UNSIGNED)
        both = self.run(f"add.s{self.bits}", half, high)
        return self.shifted(both, more - 1, UNSIGNED)

    def _signed(self, x: str, d: int) -> str:
        more = (d - 1).bit_length() - 1  # figure 5.2
        reciprocal = (1 << self.bits + more) // d + 1
        high = self.upper(x, reciprocal)
        if reciprocal >= 1 << self.bits - 1:
            high = self.run(f"add.s{self.bits}", high, x)
        below = self.shifted(high, self.bits - 1, UNSIGNED)
        return self.run(f"add.s{self.bits}", self.shifted(high, more, SIGNED), below)


def kernel(bits: int, sign: str, grid: int, d: int, how: str) -> Kernel:
    """a[x % d * 3 + x // d]: by reciprocals, by div and rem with an argument, or by masks."""
    at = Registers(bits, sign)
    place = "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;"
    place += "mad.lo.s32 %r4, %r2, %r3, %r1; cvt.u64.u32 %d4, %r4;"
    x = "%r4" if bits == 32 else "%d4"
    if how == "argument":
        at.lines.append(f"ld.param.u{bits} %{'r' if bits == 32 else 'd'}5, [m];")
        m = "%r5" if bits == 32 else "%d5"
        quotient, rest = at.run(f"div.{at.kind}", x, m), at.run(f"rem.{at.kind}", x, m)
    elif how == "mask":
        quotient = at.shifted(x, d.bit_length() - 1, sign)
        at.lines.append(f"ld.param.u{bits} %{'r' if bits == 32 else 'd'}5, [m];")
        m = "%r5" if bits == 32 else "%d5"
        rest = at.run(f"and.b{bits}", at.run(f"add.s{bits}", m, -1), x)
    else:
        quotient = at.quotient(x, d)
        rest = at.run(f"sub.s{bits}", x, at.run(f"mul.lo.s{bits}", quotient, d))
    index = at.run(f"mad.lo.s{bits}", rest, 3, quotient)
    wide = index if bits == 64 else "%d30"
    if bits == 32:
        at.lines.append(f"cvt.u64.u32 %d30, {index};")
    at.lines.append(f"shl.b64 %d31, {wide}, 2; ld.param.u64 %d3, [out]; add.s64 %d3, %d3, %d31;")
    body = place + "\n".join(at.lines) + "\nmov.f32 %f1, 0f00000000; st.global.f32 [%d3], %f1; ret;"
    module = written(body, f".param .u64 out, .param .u{bits} m")
    return translated(program(module), launch(grid, BLOCK, m=d))


def points(grid: int) -> Iterator[tuple[int, int]]:
    chosen = random.Random(grid)
    yield from ((0, 0), (grid - 1, BLOCK - 1))
    for _ in range(20):
        yield chosen.randrange(grid), chosen.randrange(BLOCK)


def checked(made: Kernel, grid: int, d: int) -> None:
    """Hold addresses against Python, and the index against what was meant."""
    (access,) = made.accesses
    index = access.index
    places = dict(made.definitions)
    for block, thread in points(grid):
        env: dict[str, Any] = {"blockIdx.x": block, "threadIdx.x": thread, "blockDim.x": BLOCK}
        env |= {
            p.name: int(evaluate(p.default, {})) for p in made.parameters if p.default is not None
        }
        env |= {name: evaluate(node, env) for name, node in places.items()}
        x = block * BLOCK + thread
        assert evaluate(index, env) == x % d * 3 + x // d
    assert "random" not in text(index)
    assert "&" not in text(index)
    if d < grid * BLOCK and d & d - 1:  # powers of two may go by blocks and threads alone
        numbers = {"m": str(d)}
        # a grid of one block has no other number than the thread's
        named = text(index).replace("threadIdx.x", "x")
        shown = " ".join(numbers.get(word, word) for word in named.split())
        assert shown in (f"x % {d} * 3 + x // {d}", f"x // {d} + x % {d} * 3")


@LIMITS
@example(32, UNSIGNED, 1 << 22, 7)
@example(64, UNSIGNED, 1 << 16, 1000)
@example(64, UNSIGNED, 1 << 16, 365)
@example(32, SIGNED, 1 << 22, 25)
@given(
    st.sampled_from([32, 64]),
    st.sampled_from([SIGNED, UNSIGNED]),
    st.integers(1, 1 << 22),
    st.one_of(st.integers(2, 2000), st.integers(2, 1 << 24)),
)
def test_reciprocals_of_any_divisor(bits: int, sign: str, grid: int, d: int) -> None:
    checked(kernel(bits, sign, grid, d, "reciprocal"), grid, d)


@LIMITS
@given(
    st.sampled_from([32, 64]),
    st.sampled_from([SIGNED, UNSIGNED]),
    st.integers(1, 1 << 20),
    st.integers(2, 1 << 24),
)
def test_divisors_by_argument(bits: int, sign: str, grid: int, d: int) -> None:
    checked(kernel(bits, sign, grid, d, "argument"), grid, d)


@LIMITS
@given(
    st.sampled_from([32, 64]),
    st.sampled_from([SIGNED, UNSIGNED]),
    st.integers(1, 1 << 20),
    st.integers(1, 24),
)
def test_masks_by_argument(bits: int, sign: str, grid: int, power: int) -> None:
    checked(kernel(bits, sign, grid, 1 << power, "mask"), grid, 1 << power)


@LIMITS
@given(st.integers(0, 1 << 20), st.integers(1, 14), st.integers(0, 400))
def test_a_fraction_of_small_numbers_for_a_reciprocal(m: int, power: int, high: int) -> None:
    # property, by trying all
    by = 1 << power
    p, q = simplest(m, by, high)
    assert 1 <= q <= by
    assert all(x * p // q == x * m // by for x in range(high + 1))


@LIMITS
@given(st.integers(2, 50), st.integers(2, 50), st.integers(1, 9), st.booleans())
def test_rows_and_columns_that_start_again_are_one_remainder(
    columns: int, rows: int, times: int, named: bool
) -> None:
    c, r = ("c", "r") if named else (str(columns), str(rows))
    whole = sum_of(parse(f"{times}*(x // {c} % {r}*{c} + x % {c})"))
    x = np.arange(5000)
    found = evaluate(expression(whole), {"x": x, "c": columns, "r": rows})
    assert np.all(found == x % (columns * rows) * times)
    assert text(expression(whole)).count("%") == 1


def _reached(body: str) -> list[int]:
    """Return the elements to which 256 threads store, by what they make of their number %r1."""
    begin = "mov.u32 %r1, %tid.x; ld.param.u32 %r2, [m]; ld.param.u64 %d3, [out];"
    end = "mul.wide.s32 %d2, %r9, 4; add.s64 %d3, %d3, %d2; st.global.u32 [%d3], %r1; ret;"
    module = written(begin + body + end, ".param .u64 out, .param .u32 m")
    made = translated(program(module), launch(1, BLOCK, m=7))
    (access,) = made.accesses
    thread = np.arange(BLOCK)
    values: dict[str, Any] = {"threadIdx.x": thread, "blockIdx.x": 0, "blockDim.x": BLOCK, "m": 7}
    for name, node in made.definitions:
        values[name] = evaluate(node, values)
    return [int(i) for i in np.broadcast_to(evaluate(access.index, values), BLOCK)]


def test_signed_division_is_towards_zero() -> None:
    # PTX ISA, div and rem of signed integers, as C has them
    below = "sub.s32 %r3, %r1, 100;"
    quotients = _reached(f"{below} div.s32 %r4, %r3, %r2; add.s32 %r9, %r4, 20;")
    assert quotients == [int((t - 100) / 7) + 20 for t in range(BLOCK)]
    rests = _reached(f"{below} rem.s32 %r4, %r3, %r2; add.s32 %r9, %r4, 20;")
    assert rests == [t - 100 - 7 * int((t - 100) / 7) + 20 for t in range(BLOCK)]


@pytest.mark.parametrize(("bits", "kind"), [(8, np.int8), (16, np.int16)])
def test_conversions_of_narrow_integers_keep_their_low_bits(bits: int, kind: Any) -> None:
    # PTX ISA, cvt: a source register wider than its type is cut off, and its sign extended
    step = 1 << bits - 7
    body = f"mul.lo.s32 %r3, %r1, {step}; cvt.s32.s{bits} %r4, %r3; add.s32 %r9, %r4, 40000;"
    expected = (np.arange(BLOCK) * step).astype(kind).astype(int) + 40000
    assert _reached(body) == expected.tolist()
