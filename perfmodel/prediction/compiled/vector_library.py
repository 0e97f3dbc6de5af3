"""The C library's functions on vectors: logarithms and exponentials of several numbers at a time.

glibc has them in a library of their own, libmvec, for x86 alone; they are within four units in the
last place, and a third as long as calls with one number after another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

_NAME: Final = "libmvec.so.1"
_NEEDED: Final[Mapping[int, tuple[str, str]]] = {4: ("avx2", "d"), 8: ("avx512f", "e")}
"""By doubles in a vector: the processor's feature, and its letter in the symbols of the x86 vector
function ABI."""


def vector_functions(names: Sequence[str], lanes: int) -> dict[str, str]:
    """Return the symbols of functions of one vector of doubles, of those that are there."""
    try:
        from llvmlite import binding

        feature, letter = _NEEDED[lanes]
        if not binding.get_host_cpu_features().get(feature):
            return {}
        binding.load_library_permanently(_NAME)
    except (ImportError, RuntimeError, KeyError):
        return {}
    symbols = {name: f"_ZGV{letter}N{lanes}v_{name}" for name in names}
    return {name: symbol for name, symbol in symbols.items() if binding.address_of_symbol(symbol)}
