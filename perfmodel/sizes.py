"""Whole numbers as people write them: ``4096``, ``1e6``, ``0x1000``, ``16MiB``, ``16Mi``."""

import re
from collections.abc import Mapping
from typing import Final

from perfmodel.errors import PerfmodelError, shown

LARGEST: Final = 2**62
"""Largest value of a parameter, so that sums of a few still fit 64 bits."""

SUFFIXES: Final[Mapping[str, int]] = {
    **{"B": 1, "KB": 1000},
    **{f"{letter}B": 1000**i for i, letter in enumerate("kMGT", 1)},
    **{f"{letter}i{b}": 1024**i for i, letter in enumerate("KMGT", 1) for b in ("", "B")},
}
"""Sizes by suffix, counts without a B; case matters, for a lower-case b is a bit."""

_NUMBER: Final = re.compile(
    r"(?P<number>[0-9]+(?:_[0-9]+)*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?) ?(?P<suffix>[A-Za-z]*)"
)
_HEXADECIMAL: Final = re.compile(r"0[xX][0-9a-fA-F]+(?:_[0-9a-fA-F]+)*")
_MOST_CHARACTERS: Final = 64
_ALLOWED: Final = "a whole number such as 4096, 1e6, 0x1000 or 16MiB"


def parse_size(text: str, what: str) -> int:
    """Return a whole number from 0 to `LARGEST`: decimal, hexadecimal, scientific or with a size.

    `text`: such as ``"4096"``, ``"1_000"``, ``"1e6"``, ``"0x1000"``, ``"16MiB"`` or ``"1.5GB"``.
    `what`: start of the error messages.

    Raises `PerfmodelError` if it is something else, not whole, or out of range.
    """
    if not text:
        raise PerfmodelError(f"{what} has no value: give {_ALLOWED}")
    if text.startswith("-"):
        raise PerfmodelError(f"{what} must not be negative, not {shown(text)}")
    if _HEXADECIMAL.fullmatch(text):
        value = int(text, 16)
    else:
        matched = _NUMBER.fullmatch(text)
        # The length limit keeps exponents and digits short enough for exact arithmetic.
        if matched is None or (len(text) > _MOST_CHARACTERS and not text.isdecimal()):
            raise PerfmodelError(f"{what} must be {_ALLOWED}, not {shown(text)}")
        value = _exact(matched["number"], matched["suffix"], text, what)
    if value > LARGEST:
        raise _too_large(text, what)
    return value


def _exact(number: str, suffix: str, text: str, what: str) -> int:
    if suffix and suffix not in SUFFIXES:
        raise PerfmodelError(f"{what} has an unknown suffix {shown(suffix)}{_meant(suffix)}")
    if len(number) > _MOST_CHARACTERS:
        raise _too_large(text, what)
    from decimal import Decimal  # late, for the time that it takes

    try:
        value = Decimal(number.replace("_", ""))
    except ArithmeticError:  # an exponent beyond what Decimal has: it is huge, or no whole number
        if "-" in number:
            raise PerfmodelError(f"{what} must be a whole number, not {shown(text)}") from None
        raise _too_large(text, what) from None
    if value and value.adjusted() > 20:
        raise _too_large(text, what)
    # Below this even TiB make nothing whole, and the exact fraction would be huge.
    scaled = value.as_integer_ratio() if value.adjusted() > -2 * _MOST_CHARACTERS else (1, 0)
    numerator, denominator = scaled[0] * SUFFIXES.get(suffix, 1), scaled[1]
    if denominator == 0 or numerator % denominator:
        raise PerfmodelError(f"{what} must be a whole number, not {shown(text)}")
    return numerator // denominator


def _meant(suffix: str) -> str:
    letter = suffix[0].upper()
    if letter in "KMGT":
        decimal = "kB" if letter == "K" else f"{letter}B"
        return f"; did you mean {decimal!r} (power of 1000) or '{letter}iB' (power of 1024)?"
    return ": use kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024)"


def _too_large(text: str, what: str) -> PerfmodelError:
    return PerfmodelError(f"{what} must be at most 2**62, not {shown(text)}")
