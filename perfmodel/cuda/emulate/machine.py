"""Registers and operands of emulated warps: all lanes of the sampled blocks at once, as arrays."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.cuda.emulate.memory import Memory
from perfmodel.cuda.parse import syntax as ptx
from perfmodel.models.grid.distinct import first_of_equals

LANES: Final = 32
_ADDRESS: Final = np.dtype(np.uint64)
_BITS: Final = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class Active:
    """Lanes that take part: `select` picks them out of an array of all, `lanes` are their numbers.

    Both are in increasing order.
    """

    __slots__ = ("_starts", "lanes", "select")

    def __init__(self, select: Any, lanes: Array) -> None:
        self.select, self.lanes = select, lanes
        self._starts: Array | None = None

    @property
    def warps(self) -> int:
        """How many warps they are in."""
        return len(self.starts)

    @property
    def starts(self) -> Array:
        """Where in `lanes` each warp begins."""
        if self._starts is None:
            self._starts = np.flatnonzero(first_of_equals(self.lanes >> 5))
        return self._starts

    @property
    def numbers(self) -> Array:
        """Numbers of the warps that they are in."""
        return np.asarray(self.lanes[self.starts] >> 5)


SMS: Final = 132
"""SMs of an H100 or H200, among which blocks stand in turn for what asks where it runs."""
WIDE: Final = "b128"
"""Type of registers of 128 bits, which PTX only moves, swaps and compares: held as two halves."""


def halves(operand: ptx.Operand) -> ptx.Operand:
    """Return a register of 128 bits as its two halves, the lower first; others as they are."""
    match operand:
        case ptx.Register(name):
            return ptx.Vector((ptx.Register(f"{name}.low"), ptx.Register(f"{name}.high")))
        case ptx.Sink():
            return ptx.Vector((operand, operand))
    return operand


Getter = Callable[[Active], Array]
Setter = Callable[[Array, Active], None]
Step = Callable[[Active], None]
"""What runs an instruction for some lanes."""
Report = Callable[[int, Array, Array, int], None]
"""Told an instruction, its addresses, their lanes, and the bytes a lane moves."""


class Machine:
    """Registers of all lanes, a multiple of 32; `symbols` are the addresses of variables."""

    def __init__(
        self,
        function: ptx.Function,
        memory: Memory,
        specials: Mapping[str, Array],
        symbols: Mapping[str, int],
        parameters: Mapping[str, bytes],
        lanes: int,
    ) -> None:
        self.function = function
        self.memory = memory
        self.specials = specials
        self.symbols = symbols
        self.parameters = parameters
        self.lanes = lanes
        self.registers: dict[str, Array] = {}
        self.everyone = Active(slice(None), np.arange(lanes))
        # instructions and special registers that are not emulated
        self.unfollowed: set[str] = set()
        self.others = 1.0  # blocks of the launch over those that are run
        self.tickets: frozenset[int] = frozenset()
        # Counters that tickets are drawn from, by address: see `ticket_draws`.
        self.drawn: dict[int, float] = {}

    def some(self, lanes: Array) -> Active:
        """Return lanes, given by their numbers in increasing order, as those that take part."""
        count = len(lanes)
        if count == self.lanes:
            return self.everyone
        # A slice is read and written much faster than places one by one.
        if count and int(lanes[-1]) - int(lanes[0]) == count - 1:
            return Active(slice(int(lanes[0]), int(lanes[-1]) + 1), lanes)
        return Active(lanes, lanes)

    def getter(self, operand: ptx.Operand, dtype: np.dtype[Any]) -> Getter:
        """Return a function that reads an operand as a type."""
        match operand:
            case ptx.Register(name):
                return partial(self.read, name, dtype)
            case ptx.Immediate(value):
                constant = _constant(value, dtype)
                return lambda active: constant
            case ptx.FloatImmediate():
                constant = _float(operand, dtype)
                return lambda active: constant
            case ptx.SpecialRegister(name):
                known = self.specials.get(name)
                if known is None:
                    return partial(self._unknown, name, dtype)
                table = seen(known, dtype)
                return lambda active: table[active.select]
            case ptx.Symbol(name, offset):
                constant = _constant(self.symbols.get(name, 0) + offset, dtype)
                return lambda active: constant
            case ptx.Negated(inner):
                read = self.getter(inner, np.dtype(bool))
                return lambda active: ~read(active)
            case ptx.Component(register, part):
                return lambda active: _part(self.read(register.name, dtype, active), part)
        zero = np.zeros((), dtype=dtype)
        return lambda active: zero

    def each(self, operand: ptx.Operand, dtype: np.dtype[Any]) -> Getter:
        """Return a function that reads an operand as a type, one value a lane."""
        read = self.getter(operand, dtype)
        return lambda active: _for_each(read(active), active)

    def setters(self, operand: ptx.Operand) -> list[Setter]:
        """Return functions that write the parts of an operand; what is no register, they leave."""
        parts: tuple[ptx.Operand, ...] = (operand,)
        if isinstance(operand, ptx.Vector):
            parts = operand.elements
        elif isinstance(operand, ptx.Pair):
            parts = (operand.first, operand.second)
        return [partial(self.write, p.name if isinstance(p, ptx.Register) else "") for p in parts]

    def read(self, name: str, dtype: np.dtype[Any], active: Active) -> Array:
        """Return a register as a type."""
        found = self.registers.get(name)
        if found is None:
            return np.zeros(len(active.lanes), dtype=dtype)
        found = found[active.select]
        return found if found.dtype == dtype else seen(found, dtype)

    def _unknown(self, name: str, dtype: np.dtype[Any], active: Active) -> Array:
        """Return 0 for a special register, such as a clock, and note that."""
        self.unfollowed.add(name)
        return np.zeros(len(active.lanes), dtype=dtype)

    def write(self, name: str, value: Array, active: Active) -> None:
        """Set a register; no name is none."""
        if not name:
            return
        held = self.registers.get(name)
        if held is None:
            held = self._new(name, value)
        if value.dtype != held.dtype:
            if held.dtype == bool:
                value = np.not_equal(value, 0)
            elif value.dtype.itemsize != held.dtype.itemsize or value.dtype.kind == "b":
                value = resized(value, held.dtype)
            else:
                value = value.view(held.dtype)
        held[active.select] = value

    def _new(self, name: str, value: Array) -> Array:
        kind = self.function.register_type(name) or ""
        if kind == "pred":
            dtype: Any = bool
        else:
            digits = "".join(c for c in kind if c.isdigit())
            size = int(digits) // 8 if digits in ("8", "16", "32", "64") else 0
            dtype = _BITS.get(size or np.asarray(value).dtype.itemsize, np.uint64)
        held = np.zeros(self.lanes, dtype=dtype)
        self.registers[name] = held
        return held


def address_of(machine: Machine, operand: ptx.Operand) -> Getter:
    """Return a function that gives the addresses that an operand names."""
    if not isinstance(operand, ptx.Address):
        return machine.getter(operand, _ADDRESS)
    base = machine.getter(operand.base, _ADDRESS)
    offset = np.asarray(operand.offset & (1 << 64) - 1, dtype=np.uint64)

    def read(active: Active) -> Array:
        return _for_each(base(active) + offset, active)

    return read


def _for_each(value: Array, active: Active) -> Array:
    """Return a value a lane."""
    return value if value.ndim else np.broadcast_to(value, (len(active.lanes),))


def seen(value: Array, dtype: np.dtype[Any]) -> Array:
    """Return bits as a type: the same bits if the size allows."""
    if value.dtype == dtype:
        return value
    if dtype.kind == "b":
        return np.asarray(value != 0)
    if value.dtype.itemsize == dtype.itemsize and value.dtype.kind != "b":
        return value.view(dtype)
    if dtype.kind == "f":
        return value.astype(_BITS[dtype.itemsize]).view(dtype)
    return value.astype(dtype)


def resized(value: Array, dtype: np.dtype[Any]) -> Array:
    """Return a value as unsigned bits of another size, with its sign if it has one."""
    if value.dtype.kind == "f":
        value = value.view(_BITS[value.dtype.itemsize])
    if value.dtype.kind == "i":
        return value.astype(np.dtype(f"i{dtype.itemsize}")).view(dtype)
    return value.astype(dtype)


def _constant(value: int, dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "b":
        return np.asarray(value != 0)
    if dtype.kind == "f":
        return np.asarray(value, dtype=dtype)
    unsigned = _BITS[dtype.itemsize]
    return np.asarray(value & (1 << 8 * dtype.itemsize) - 1, dtype=unsigned).view(dtype)


def _float(operand: ptx.FloatImmediate, dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "f":
        return np.asarray(operand.value, dtype=dtype)
    bits = np.asarray(operand.bits, dtype=_BITS[operand.width // 8])
    return bits.astype(dtype) if bits.dtype != dtype else bits


def _part(value: Array, part: str) -> Array:
    """Return a byte or half of a register."""
    number = int(part[1:]) if part[1:].isdigit() else 0
    if part.startswith("b"):
        return np.asarray(value >> value.dtype.type(8 * number) & value.dtype.type(255))
    return np.asarray(value >> value.dtype.type(16 * number) & value.dtype.type(65535))
