"""A program of scalars as machine code for many launches, a few of them at a time in vectors.

Compiled by LLVM, which numba brings along. What goes by calls of Python's functions splits the
program into stages: each is one loop over the launches, and columns hold what passes between them.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.prediction.compiled.array_functions import NoProgramError
from perfmodel.prediction.compiled.division_code import divisions
from perfmodel.prediction.compiled.lowering import Program
from perfmodel.prediction.compiled.python_code import LARGEST
from perfmodel.prediction.compiled.scalars import Kind, Scalar, Scalars
from perfmodel.prediction.compiled.vector_operators import (
    DECLARATIONS,
    LANES,
    VectorOperators,
    by_logarithm,
)
from perfmodel.prediction.compiled.writer import in_order, sources

_DTYPES: Final[Mapping[Kind, Any]] = {"b": np.bool_, "i": np.int64, "f": np.float64}
LONGEST: Final = 128
"""Operations in one basic block: LLVM's selection of instructions takes longer for long ones."""
_LARGE: Final = 1 << 13
_OFTEN: Final = 1 << 22
"""Operations from which on LLVM compiles a program quickly at first: in a fifth of the time, code
that takes a third longer. And launches after which it has paid to compile it well."""
_PAGE: Final = 4096
_CACHE_LINE: Final = 64
"""Bytes [B]."""

_LOOP: Final = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)
"""A loop over so many launches, of columns at these places."""


def vector_function(program: Program) -> VectorFunction:
    """Return a function of the inputs' columns, as `array_function` does.

    The outputs are columns that the next call in the same thread writes again.

    Raises `NoProgramError` if LLVM is not there, or something in the program has no instruction.
    """
    if sys.platform not in ("linux", "darwin") or find_spec("llvmlite") is None:
        raise NoProgramError("no LLVM that finds the C library's functions")
    return VectorFunction(program)


def held_by(program: Program) -> Any:
    """Return the scalar that says whether a program holds, and no power is of a negative number."""
    scalars = Scalars()
    held: Any = True
    for guard in program.guards:
        met = guard.value
        if not isinstance(guard.answer, bool):
            met = scalars.apply("equal", met, guard.answer)
        elif not guard.answer:
            met = scalars.apply("not", met)
        held = scalars.apply("and", held, met)
    for product in program.products:
        first, second = (scalars.cast(operand, "f") for operand in product.operands)
        if product.operator == "left_shift":
            second = scalars.apply("power", 2.0, second)
        operator = "power" if product.operator == "integer_power" else "multiply"
        size = scalars.apply("absolute", scalars.apply(operator, first, second))
        held = scalars.apply("and", held, scalars.apply("less_equal", size, float(LARGEST)))
    of = (*(g.value for g in program.guards), *program.products, *program.outputs)
    for scalar in in_order([value for value in of if isinstance(value, Scalar)]):
        if by_logarithm(scalar) and isinstance(scalar.operands[1], Scalar):
            base = scalars.apply("greater_equal", scalar.operands[0], 0.0)
            held = scalars.apply("and", held, base)
    return held


class VectorFunction:
    """Loops over columns of launches, and the calls between them."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.held = held_by(program)
        ends = [end for end in (self.held, *program.outputs) if isinstance(end, Scalar)]
        order = list(in_order(ends))
        self.stages = _stages(order, ends)
        self.columns = {s: i for i, s in enumerate(self._passed_on(order, ends))}
        self.calls = [s for s in order if s.operator == "call"]
        first = [end for end in (self.held, *program.outputs[:1]) if isinstance(end, Scalar)]
        self.first_calls = [s for s in in_order(first) if s.operator == "call"]
        self.parts: dict[Scalar, list[Scalar]] = {call: [] for call in self.calls}
        for scalar in self.columns:
            if scalar.operator == "part":
                self.parts[scalar.operands[0]].append(scalar)
        for call in self.calls:
            call.operands[0].function.check_rows()
        last = max(self.stages.values(), default=0)
        work = [[s for s in order if self.stages[s] == stage] for stage in range(last + 1)]
        text = "\n".join(_loop(f"stage{i}", some, self.columns) for i, some in enumerate(work))
        self.names = [f"stage{i}" for i in range(len(work))]
        self.quick, self.came = len(order) > _LARGE, 0
        engine, self.loops = machine_code(text, self.names, _LOOP, self.quick)
        self.engines, self.text = [engine], text if self.quick else ""
        self.kept, self.compiling = threading.local(), threading.Lock()

    def _passed_on(self, order: Sequence[Scalar], ends: Sequence[Scalar]) -> dict[Scalar, None]:
        """Return the scalars that need a column: what a later stage, a call or the end takes."""
        given = [s for s in order if s.operator in ("input", "part")]
        later = (
            s
            for scalar in order
            for s in sources(scalar)
            if s.operator != "call"
            and (scalar.operator == "call" or self.stages[s] < self.stages[scalar])
        )
        return dict.fromkeys(itertools.chain(given, later, ends))

    def __call__(self, *inputs: Array) -> tuple[Array, tuple[Any, ...]]:
        """Return of which launches the outputs hold, and those: columns or plain numbers."""
        return self._worked_out(inputs, self.calls, self.program.outputs)

    def first(self, *inputs: Array) -> tuple[Array, tuple[Any, ...]]:
        """Return the same of the first output alone, without calls that only others need."""
        return self._worked_out(inputs, self.first_calls, self.program.outputs[:1])

    def _worked_out(
        self, inputs: Sequence[Array], calls: Sequence[Scalar], outputs: Sequence[Any]
    ) -> tuple[Array, tuple[Any, ...]]:
        size = len(inputs[0])
        self.came += size
        if self.quick and self.came >= _OFTEN:
            self._compile_well()
        columns, pointers = self._space(size)
        named = dict(zip(self.program.inputs, inputs, strict=True))
        for scalar, place in self.columns.items():
            if scalar.operator == "input":
                columns[place][:size] = named[scalar.operands[0]]
        for stage, loop in enumerate(self.loops):
            for call in calls:
                if self.stages[call] == stage:
                    self._call(call, columns, size)
            loop(size, pointers)
        return self._value(self.held, columns, size), tuple(
            self._value(output, columns, size) for output in outputs
        )

    def _compile_well(self) -> None:
        """Compile the loops once more; those that others are in stay until they are done."""
        with self.compiling:
            if self.quick:
                engine, self.loops = machine_code(self.text, self.names, _LOOP)
                self.engines.append(engine)
                self.quick, self.text = False, ""

    def _call(self, call: Scalar, columns: Sequence[Array], size: int) -> None:
        made = call.operands[0]
        rows = made.function.of_rows(*(self._value(o, columns, size) for o in made.operands))
        for part in self.parts[call]:
            columns[self.columns[part]][:size] = rows[part.operands[1]]

    def _value(self, value: Any, columns: Sequence[Array], size: int) -> Any:
        if isinstance(value, Scalar):
            return columns[self.columns[value]][:size]
        return np.full(size, value) if isinstance(value, bool) else value

    def _space(self, size: int) -> tuple[list[Array], Any]:
        """Return columns for so many launches, and where they are."""
        if size > getattr(self.kept, "size", 0):
            whole = -(-size // LANES) * LANES
            self.kept.size = whole
            self.kept.columns = _columns([np.dtype(_DTYPES[s.kind]) for s in self.columns], whole)
            places = [column.ctypes.data for column in self.kept.columns]
            self.kept.pointers = (ctypes.c_void_p * len(places))(*places)
        return self.kept.columns, self.kept.pointers


def _columns(types: Sequence[np.dtype[Any]], size: int) -> list[Array]:
    """Return columns of zeros of these types, in one array, each a cache line off the one before.

    Where all begin at the same place of a page, they push each other out of the same cache sets.
    """
    places = [-(-size * kind.itemsize // _PAGE) * _PAGE + _CACHE_LINE for kind in types]
    whole = np.zeros(sum(places), dtype=np.uint8)
    ends = itertools.accumulate(places)
    return [
        whole[end - place : end][: size * kind.itemsize].view(kind)
        for end, place, kind in zip(ends, places, types, strict=True)
    ]


def _stages(order: Sequence[Scalar], ends: Sequence[Scalar]) -> dict[Scalar, int]:
    """Return the stage that each scalar is worked out in: a call begins one.

    Each in the one that first takes it, as then fewer have to pass from stage to stage.
    """
    stages: dict[Scalar, int] = {}
    for scalar in order:
        before = max((stages[s] for s in sources(scalar)), default=0)
        stages[scalar] = before + (scalar.operator == "call")
    first = dict.fromkeys(ends, max(stages.values(), default=0))
    for scalar in reversed(order):
        call = scalar.operator == "call"
        if scalar.operator not in ("input", "part", "call"):
            stages[scalar] = first[scalar]
        for source in sources(scalar):
            needed = stages[scalar] - call
            first[source] = min(first.get(source, needed), needed)
    return stages


def _loop(name: str, scalars: Sequence[Scalar], columns: Mapping[Scalar, int]) -> str:
    """Return the text of a loop that works out some scalars, of columns, `LANES` at a time."""
    made = {s for s in scalars if s.operator not in ("input", "part", "call")}
    taken = dict.fromkeys(s for scalar in made for s in sources(scalar) if s not in made)
    written = [s for s in scalars if s in made and s in columns]
    code = VectorOperators()
    entry = [pointer(place) for place in (columns[s] for s in (*taken, *written))]
    for scalar in taken:
        code.load(scalar, columns[scalar])
    for count, scalar in enumerate(s for s in scalars if s in made):
        code.work_out(scalar)
        if scalar in columns:
            code.store(scalar, columns[scalar])
        if count % LONGEST == LONGEST - 1:
            code.next_block()
    body = "\n ".join(code.lines)
    return f"""define void @{name}(i64 %size, ptr %columns) {{
entry:
 {f"{chr(10)} ".join(dict.fromkeys(entry))}
 br label %head
head:
 %at = phi i64 [0, %entry], [%next, %{code.block}]
 br label %block0
block0:
 {body}
 %next = add i64 %at, {LANES}
 %more = icmp slt i64 %next, %size
 br i1 %more, label %head, label %done
done:
 ret void
}}"""


def pointer(place: int) -> str:
    """Return the lines that find a column."""
    return (
        f"%where{place} = getelementptr ptr, ptr %columns, i64 {place}\n "
        f"%column{place} = load ptr, ptr %where{place}"
    )


def machine_code(
    text: str, names: Sequence[str], kind: Any, quick: bool = False
) -> tuple[Any, list[Any]]:
    """Return an engine that holds machine code, and its functions, all of one type of ctypes.

    Code that is made quickly gives the same and takes longer. Raises `NoProgramError` if the text
    is not of this LLVM's language: before its version 15, it has other pointers.
    """
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    try:
        module = binding.parse_assembly("\n".join((DECLARATIONS, divisions(), text)))
    except RuntimeError as error:
        raise NoProgramError(str(error)) from error
    module.verify()
    machine = binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(),
        features=binding.get_host_cpu_features().flatten(),
        opt=0 if quick else 2,
    )
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine, [kind(engine.get_function_address(name)) for name in names]
