"""Operators of a program's scalars in LLVM's language, on vectors of several launches' numbers."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, Final

from perfmodel.expressions.mixing import LAST, MIXED_BY, ROUNDS, UPPER
from perfmodel.prediction.compiled.array_functions import NoProgramError
from perfmodel.prediction.compiled.scalars import OPERATORS, Kind, Scalar, widest
from perfmodel.prediction.compiled.vector_library import vector_functions


def _lanes() -> int:
    """Return launches in a vector: as many as AVX-512 has doubles, or AVX2.

    More than the processor has are taken in parts, which LLVM compiles four times as long.
    """
    try:
        from llvmlite import binding

        features = binding.get_host_cpu_features()
    except (ImportError, RuntimeError):  # the latter where LLVM does not know the processor
        return 4
    return 8 if features.get("avx512f") else 4


LANES: Final = _lanes()
"""Launches in a vector."""

_ELEMENTS: Final[Mapping[Kind, str]] = {"f": "double", "i": "i64", "b": "i1"}
TYPES: Final = {kind: f"<{LANES} x {element}>" for kind, element in _ELEMENTS.items()}
"""Types of vectors by the kind of number."""
PAIRS: Final = {kind: f"{{{vector}, {vector}}}" for kind, vector in TYPES.items()}
"""Types of two of them."""
_BYTES: Final = f"<{LANES} x i8>"

_ARITHMETIC: Final = {
    "add": {"f": "fadd", "i": "add"},
    "subtract": {"f": "fsub", "i": "sub"},
    "multiply": {"f": "fmul", "i": "mul"},
    "divide": {"f": "fdiv"},
    "and": {"b": "and", "i": "and"},
    "or": {"b": "or", "i": "or"},
    "xor": {"b": "xor", "i": "xor"},
    "left_shift": {"i": "shl"},
    "right_shift": {"i": "ashr"},
}
_COMPARISONS: Final = {
    "less": ("olt", "slt"),
    "less_equal": ("ole", "sle"),
    "greater": ("ogt", "sgt"),
    "greater_equal": ("oge", "sge"),
    "equal": ("oeq", "eq"),
    "not_equal": ("une", "ne"),
}
_INTRINSICS: Final = {
    **{name: name for name in ("floor", "ceil", "rint", "sqrt", "log", "log2", "exp", "copysign")},
    "absolute": "fabs",
    "power": "pow",
}
_SMALL_POWERS: Final = frozenset(range(1, 17))
"""Powers that a few multiplications give, each within a unit in the last place."""
_BY_LANES: Final = frozenset({"expm1", "log1p"})
"""Functions of single numbers."""
_ON_VECTORS: Final = vector_functions(("exp", "expm1", "log", "log1p", "log2"), LANES)

DECLARATIONS: Final = "\n".join(
    [
        *(f"declare {TYPES['f']} @{symbol}({TYPES['f']})" for symbol in _ON_VECTORS.values()),
        *(
            f"declare {TYPES['f']} @llvm.{name}.v{LANES}f64({', '.join(each)})"
            for name in (*_INTRINSICS.values(), "fma")
            for each in [[TYPES["f"]] * {"pow": 2, "copysign": 2, "fma": 3}.get(name, 1)]
        ),
        *(f"declare double @{name}(double)" for name in sorted(_BY_LANES)),
    ]
)
"""What the operators call: LLVM's own functions, and the C library's."""


def by_logarithm(scalar: Scalar) -> bool:
    """Say whether a power is computed as exp(y log x), which is NaN of a negative base."""
    if scalar.operator != "power" or not {"exp", "log"} <= _ON_VECTORS.keys():
        return False
    exponent = scalar.operands[1]
    return isinstance(exponent, Scalar) or not float(exponent).is_integer()


class VectorOperators:
    """Lines that work out scalars, each of those before it.

    Of the launches or choices from one `at` a place on; the names of lines begin with a `letter`.
    """

    def __init__(self, at: str = "%at", letter: str = "v") -> None:
        self.lines: list[str] = []
        self.block = "block0"
        self.at, self.letter = at, letter
        self._names: dict[tuple[Scalar, Kind], str] = {}
        self._count = 0

    def unrolled(self, at: str, letter: str) -> VectorOperators:
        """Return a writer of lines among these for another vector, which knows the same so far."""
        found = VectorOperators(at, letter)
        found.lines, found._names = self.lines, dict(self._names)
        return found

    def next_block(self) -> None:
        """Begin a basic block."""
        self._count += 1
        block = f"block{self._count}"
        self.lines += [f"br label %{block}", f"{block}:"]
        self.block = block

    def named(self, scalar: Scalar) -> str:
        """Return the name of a scalar that was worked out."""
        return self._names[scalar, scalar.kind]

    def rename(self, scalar: Scalar, name: str) -> None:
        """Have a scalar by another name from here on."""
        self._names[scalar, scalar.kind] = name

    def any_of(self, truths: Sequence[str]) -> str:
        """Return the name of one truth value: whether any is true in some vectors of them."""
        found = reduce(lambda a, b: self._operation("or", "b", [a, b]), truths)
        bits = self._line(f"bitcast {TYPES['b']} {found} to i{LANES}")
        return self._line(f"icmp ne i{LANES} {bits}, 0")

    def load(self, scalar: Scalar, column: int) -> None:
        """Take a scalar from its column."""
        stored = _BYTES if scalar.kind == "b" else TYPES[scalar.kind]
        element = "i8" if scalar.kind == "b" else _ELEMENTS[scalar.kind]
        place = self._line(f"getelementptr {element}, ptr %column{column}, i64 {self.at}")
        found = self._line(f"load {stored}, ptr {place}, align 1")
        if scalar.kind == "b":
            found = self._line(f"trunc {_BYTES} {found} to {TYPES['b']}")
        self._names[scalar, scalar.kind] = found

    def spread(self, scalar: Scalar, column: int) -> None:
        """Take one number of a scalar's column, the one at `%row`, for all of a vector."""
        element = _ELEMENTS[scalar.kind]
        stored = "i8" if scalar.kind == "b" else element
        place = self._line(f"getelementptr {stored}, ptr %column{column}, i64 %row")
        found = self._line(f"load {stored}, ptr {place}, align 1")
        if scalar.kind == "b":
            found = self._line(f"trunc i8 {found} to i1")
        kind = TYPES[scalar.kind]
        first = self._line(f"insertelement {kind} undef, {element} {found}, i32 0")
        every = f"<{LANES} x i32> zeroinitializer"
        spread = self._line(f"shufflevector {kind} {first}, {kind} undef, {every}")
        self._names[scalar, scalar.kind] = spread

    def store(self, scalar: Scalar, column: int) -> None:
        """Put a scalar that was worked out into its column."""
        value, stored, element = self._names[scalar, scalar.kind], TYPES[scalar.kind], "i8"
        if scalar.kind == "b":
            value, stored = self._line(f"zext {TYPES['b']} {value} to {_BYTES}"), _BYTES
        else:
            element = _ELEMENTS[scalar.kind]
        place = self._line(f"getelementptr {element}, ptr %column{column}, i64 {self.at}")
        self.lines.append(f"store {stored} {value}, ptr {place}, align 1")

    def work_out(self, scalar: Scalar) -> None:
        """Work a scalar out, as NumPy does of numbers of its operands' kinds.

        Raises `NoProgramError` if there is no instruction for it.
        """
        name, operands = scalar.operator, scalar.operands
        kind = scalar.kind
        if name == "where":
            condition, chosen, other = operands
            found = self._chosen(
                self._of(condition, "b"), self._of(chosen, kind), self._of(other, kind), kind
            )
        elif name in ("float", "integer", "truth"):
            found = self._of(operands[0], kind)
        elif name == "power" and operands[1] in _SMALL_POWERS:
            found = self._power(self._of(operands[0], "f"), int(operands[1]))
        elif by_logarithm(scalar):
            found = self._power_of_floats(*(self._of(operand, "f") for operand in operands))
        else:
            given = "f" if OPERATORS[name].kind == "f" else widest(operands)
            found = self._operation(name, given, [self._of(o, given) for o in operands])
        self._names[scalar, scalar.kind] = found

    def _operation(self, name: str, kind: Kind, given: list[str]) -> str:
        if name in _COMPARISONS:
            return self._compared(name, kind, *given)
        if name == "not":
            return self._line(f"xor {TYPES['b']} {self._cast(given[0], kind, 'b')}, {splat(True)}")
        if kind in _ARITHMETIC.get(name, {}):
            return self._line(f"{_ARITHMETIC[name][kind]} {TYPES[kind]} {', '.join(given)}")
        if name in ("minimum", "maximum") and kind != "b":
            less = self._compared("less" if name == "minimum" else "greater", kind, *given)
            return self._chosen(less, given[0], given[1], kind)
        if kind == "f" and name in _ON_VECTORS:
            return self._line(f"call {TYPES['f']} @{_ON_VECTORS[name]}({TYPES['f']} {given[0]})")
        if kind == "f" and name in _INTRINSICS:
            each = ", ".join(f"{TYPES['f']} {value}" for value in given)
            return self._line(f"call {TYPES['f']} @llvm.{_INTRINSICS[name]}.v{LANES}f64({each})")
        if name in ("floor_divide", "remainder") and kind != "b":
            return self._divided(kind, *given)[name == "remainder"]
        own: Callable[..., str] | None = getattr(self, f"_{name}_{kind}", None)
        if own is not None:
            return own(*given)
        if kind == "f" and name in _BY_LANES:
            return self._by_lanes(name, given[0])
        raise NoProgramError(f"{name} of numbers of kind {kind}")

    def _power(self, base: str, exponent: int) -> str:
        """Return a small whole power, by multiplying."""
        found = (
            self._power(self._operation("multiply", "f", [base, base]), exponent // 2)
            if (exponent > 1)
            else ""
        )
        if exponent % 2:
            return self._operation("multiply", "f", [found, base]) if found else base
        return found

    def _power_of_floats(self, base: str, exponent: str) -> str:
        """Return a power of no negative base, to 1e-13 of it; NaN of a negative one.

        The C library's power of vectors takes as long as one of each number.
        """
        do = self._operation
        power = do("exp", "f", [do("multiply", "f", [exponent, do("log", "f", [base])])])
        nothing = self._compared("equal", "f", exponent, splat(0.0))  # of 0 too
        return self._chosen(nothing, splat(1.0), power, "f")

    def _negative_f(self, value: str) -> str:
        return self._line(f"fneg {TYPES['f']} {value}")

    def _negative_i(self, value: str) -> str:
        return self._line(f"sub {TYPES['i']} {splat(0)}, {value}")

    def _absolute_i(self, value: str) -> str:
        below = self._compared("less", "i", value, splat(0))
        return self._chosen(below, self._negative_i(value), value, "i")

    def _sign_f(self, value: str) -> str:
        return self._cast(self._sign_i(value, "f"), "i", "f")

    def _sign_i(self, value: str, kind: Kind = "i") -> str:
        zero = splat(0.0 if kind == "f" else 0)
        above, below = (
            self._cast(self._compared(name, kind, value, zero), "b", "i")
            for name in ("greater", "less")
        )
        return self._operation("subtract", "i", [above, below])

    def _random_i(self, key: str, count: str) -> str:
        """Return what `mixed_arrays` does: products wrap around, shifts bring zeros in."""
        do, z = self._operation, self._operation("add", "i", [key, splat(1)])
        z = do("multiply", "i", [z, splat(MIXED_BY - 2**64)])
        for shift, factor in ROUNDS:
            z = do("multiply", "i", [self._folded(z, shift), splat(factor - 2**64)])
        z = self._line(f"lshr {TYPES['i']} {self._folded(z, LAST)}, {splat(UPPER)}")
        return self._divided("i", z, count)[1]

    def _folded(self, value: str, shift: int) -> str:
        return self._operation(
            "xor", "i", [value, self._line(f"lshr {TYPES['i']} {value}, {splat(shift)}")]
        )

    def _divided(self, kind: Kind, first: str, second: str) -> tuple[str, str]:
        """Return quotient, rounded down, and rest."""
        given = f"{TYPES[kind]} {first}, {TYPES[kind]} {second}"
        both = self._line(f"call {PAIRS[kind]} @divided_{kind}({given})")
        quotient, rest = (
            self._line(f"extractvalue {PAIRS[kind]} {both}, {place}") for place in range(2)
        )
        return quotient, rest

    def _gcd_i(self, first: str, second: str) -> str:
        return self._line(f"call {TYPES['i']} @gcd({TYPES['i']} {first}, {TYPES['i']} {second})")

    def _integer_power_i(self, base: str, exponent: str) -> str:
        power = self._operation(
            "power", "f", [self._cast(base, "i", "f"), self._cast(exponent, "i", "f")]
        )
        return self._cast(power, "f", "i")

    def _compared(self, name: str, kind: Kind, first: str, second: str) -> str:
        of_floats, of_others = _COMPARISONS[name]
        how = f"fcmp {of_floats}" if kind == "f" else f"icmp {of_others}"
        return self._line(f"{how} {TYPES[kind]} {first}, {second}")

    def _chosen(self, condition: str, chosen: str, other: str, kind: Kind) -> str:
        of = TYPES[kind]
        return self._line(f"select {TYPES['b']} {condition}, {of} {chosen}, {of} {other}")

    def _by_lanes(self, name: str, given: str) -> str:
        """Call a function of a single number for each launch."""
        found = "undef"
        for lane in range(LANES):
            number = self._line(f"extractelement {TYPES['f']} {given}, i32 {lane}")
            one = self._line(f"call double @{name}(double {number})")
            found = self._line(f"insertelement {TYPES['f']} {found}, double {one}, i32 {lane}")
        return found

    def _of(self, value: Any, kind: Kind) -> str:
        """Return the name of a scalar, or a constant, as of a kind."""
        if not isinstance(value, Scalar):
            return splat({"f": float, "i": int, "b": bool}[kind](value))
        found = self._names.get((value, kind))
        if found is None:
            found = self._cast(self._names[value, value.kind], value.kind, kind)
            self._names[value, kind] = found
        return found

    def _cast(self, value: str, given: Kind, wanted: Kind) -> str:
        if given == wanted:
            return value
        if wanted == "b":
            zero = splat(0.0 if given == "f" else 0)
            return self._compared("not_equal", given, value, zero)
        how = {"if": "sitofp", "bf": "uitofp", "bi": "zext", "fi": "fptosi"}[given + wanted]
        return self._line(f"{how} {TYPES[given]} {value} to {TYPES[wanted]}")

    def _line(self, text: str) -> str:
        """Write an instruction, and return the name of its result."""
        self._count += 1
        name = f"%{self.letter}{self._count}"
        self.lines.append(f"{name} = {text}")
        return name


def splat(value: bool | int | float) -> str:
    """Return a constant, the same for all launches."""
    if isinstance(value, bool):
        element, text = "i1", str(value).lower()
    elif isinstance(value, int):
        element, text = "i64", str(value)
    else:
        element, text = "double", f"0x{struct.pack('>d', value).hex().upper()}"
    return f"<{', '.join([f'{element} {text}'] * LANES)}>"
