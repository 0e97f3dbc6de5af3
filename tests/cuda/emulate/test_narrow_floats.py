"""Narrow floats and bit masks in the emulator, against the PTX ISA and NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.cuda.emulate.narrow_floats import packed, unpacked
from perfmodel.cuda.emulate.values import work


@pytest.mark.parametrize(
    ("kind", "bits", "value"),
    [
        # published: Micikevicius et al., FP8 Formats for Deep Learning (2022), table 1
        ("e4m3x2", 0x7E, 448.0),
        ("e4m3x2", 0x08, 2.0**-6),
        ("e4m3x2", 0x01, 2.0**-9),
        ("e5m2x2", 0x7B, 57344.0),
        ("e5m2x2", 0x01, 2.0**-16),
        # by hand: the upper half of 1.0f is 0x3f80
        ("bf16", 0x3F80, 1.0),
        ("bf16x2", 0xC040, -3.0),
        ("f16x2", 0x3C00, 1.0),
    ],
)
def test_bits_of_narrow_floats(kind: str, bits: int, value: float) -> None:
    low = unpacked(np.array([bits], dtype=np.uint32), kind)[0]
    assert low[0] == value
    parts = [np.array([value], dtype=np.float32)]
    if kind.endswith("x2"):
        parts.append(np.zeros(1, dtype=np.float32))
    assert packed(parts, kind)[0] == bits


def test_rounding_is_to_the_nearest_even() -> None:
    # by hand: 1 + 2**-8 lies between 1 and 1 + 2**-7, 1 + 3*2**-8 between those of odd and even end
    values = np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8, 1e9], dtype=np.float32)
    assert unpacked(packed([values], "bf16"), "bf16")[0][:2].tolist() == [1.0, 1 + 2.0**-6]
    # larger ones saturate: satfinite
    eights = [values[2:], values[2:]]
    assert unpacked(packed(eights, "e4m3x2"), "e4m3x2")[1][0] == 448.0


@pytest.mark.parametrize("kind", ["bf16", "bf16x2", "f16x2", "e4m3x2", "e5m2x2"])
def test_what_is_unpacked_packs_to_the_same(kind: str) -> None:
    bits = np.arange(256, dtype=np.uint32) * (1 if kind[0] == "e" else 0x0101)
    parts = unpacked(bits, kind)
    finite = np.isfinite(parts[0])
    assert np.array_equal(packed(parts, kind)[finite], bits[finite])


def test_masks_of_bits() -> None:
    mask = work("bmsk", ("clamp", "b32"))
    assert mask is not None
    starts, lengths = (np.array(x, dtype=np.uint32) for x in ([0, 4, 30, 40], [8, 4, 8, 1]))
    # by hand, as the PTX ISA has it: bits from the start on, cut off at the word's end
    assert mask(starts, lengths).tolist() == [0xFF, 0xF0, 0xC0000000, 0]
