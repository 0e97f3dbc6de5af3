"""What one PTX instruction does to registers, as expressions.

Integers are sums, predicates are conditions, and everything that memory or floating-point
arithmetic decides is a *datum*: a name of its own that says which loads it comes from.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from perfmodel.cuda.addresses.algebra import Algebra
from perfmodel.cuda.addresses.conditions import FALSE, TRUE, all_of, any_of, negated
from perfmodel.cuda.addresses.integers import INTEGER, bits_of, comparison
from perfmodel.cuda.addresses.records import DATUM, Datum, Unknown, Value, base_name
from perfmodel.cuda.addresses.sums import Sum, TooLargeError, constant, plus, single
from perfmodel.cuda.parse import syntax as ptx
from perfmodel.cuda.parse.opcodes import written_registers
from perfmodel.expressions import Name, Node, Number, Operation, names

_HASH: Final = 1 << 20
"""Factors from which on a product that overflows 32 bits is meant to: a hash."""
_BITS: Final = frozenset({"xor", "or", "not", "prmt"})
_LONGEST: Final = 4000
"""Parts of a condition and of what it chooses between, beyond which that is not followed."""
_LARGEST: Final = 400
"""Parts of an expression; what needs more is not followed any further."""


def _parts(value: Value) -> int:
    """Return the parts of an expression, or of the factors of a sum."""
    if isinstance(value, Sum):
        return sum(getattr(factor, "size", 1) for factor in value.factors)
    return getattr(value, "size", 1)


class Interpreter:
    """Follows integers and predicates through instructions.

    `parameters` has the value of each scalar or pointer parameter by name and offset, `structures`
    the parameters that are structures.
    """

    def __init__(
        self,
        algebra: Algebra,
        parameters: Mapping[tuple[str, int], Value],
        specials: Mapping[str, Sum],
        structures: Mapping[str, bytes] = MappingProxyType({}),
    ) -> None:
        self.algebra = algebra
        self.data: dict[str, Datum] = {}
        self.known_parameters = parameters
        self.specials = specials
        self.structures = structures
        self.structure_names = {base_name(name): name for name in structures}
        # How many trial runs of loops are under way: ranges are not to be trusted in one.
        self.trial = 0

    def datum(
        self,
        at: int,
        sources: Iterable[int],
        kind: str = "s32",
        part: int = 0,
        computed: bool = False,
    ) -> Sum:
        """Return a name for an integer that data decides at an instruction."""
        name = f"{DATUM}{at}" + (f"_{part}" if part else "")
        bits = bits_of(kind)
        low, high = -(1 << bits - 1), (1 << bits) - 1
        if kind[:1] == "u" and bits < 32:
            low = 0
        return self._named(name, Datum(at, frozenset(sources), low, high, computed))

    def _named(self, name: str, made: Datum) -> Sum:
        known = self.data.get(name)
        if known is not None:
            made = Datum(
                made.instruction,
                made.sources | known.sources,
                min(known.low, made.low),
                max(known.high, made.high),
                made.computed or known.computed,
            )
        if known != made:
            self.data[name] = made
            self.algebra.add_variable(name, made.low, made.high)
        return single(Name(name))

    def condition_datum(self, at: int, sources: Iterable[int]) -> Node:
        """Return a name for a condition that data decides."""
        name = f"{DATUM}{at}"
        self._named(name, Datum(at, frozenset(sources), 0, 1))
        return Operation("!=", (Name(name), Number(0)))

    def sources(self, *values: Value) -> frozenset[int]:
        """Return the loads that values come from."""
        found: set[int] = set()
        for value in values:
            if isinstance(value, Unknown):
                found |= value.sources
                continue
            known = value.names if isinstance(value, Sum) else names(value)
            for name in known:
                if name in self.data:
                    found |= self.data[name].sources
        return frozenset(found)

    def integer(self, operand: ptx.Operand, state: Mapping[str, Value], at: int = -1) -> Sum:
        """Return an operand as an integer."""
        value = self.value(operand, state)
        if isinstance(value, Sum):
            return value
        return self.datum(at, self.sources(value), "s64", 90)

    def condition(self, operand: ptx.Operand, state: Mapping[str, Value], at: int = -1) -> Node:
        """Return an operand as a condition."""
        if isinstance(operand, ptx.Negated):
            return negated(self.condition(operand.operand, state, at))
        if isinstance(operand, ptx.Immediate):
            return TRUE if operand.value else FALSE
        value = self.value(operand, state)
        if isinstance(value, Number | Name | Operation):
            return value
        return self.condition_datum(at, self.sources(value))

    def value(self, operand: ptx.Operand, state: Mapping[str, Value]) -> Value:
        """Return what an operand stands for."""
        match operand:
            case ptx.Register(name):
                return state.get(name, Unknown())
            case ptx.Immediate(value):
                return constant(value)
            case ptx.SpecialRegister(name):
                return self.specials.get(name, Unknown())
            case ptx.Symbol(name, offset):
                return single(Name(base_name(name))) + offset
            case ptx.Component(register, _):
                return Unknown(self.sources(state.get(register.name, Unknown())))
            case ptx.Vector(elements):
                return Unknown(self.sources(*(self.value(e, state) for e in elements)))
            case ptx.Negated(inner):
                return negated(self.condition(inner, state))
        return Unknown()

    def address(self, operand: ptx.Operand, state: Mapping[str, Value], at: int) -> Sum:
        """Return the address that a memory operand names."""
        if isinstance(operand, ptx.Address):
            return self.integer(operand.base, state, at) + operand.offset
        return self.integer(operand, state, at)

    def run(self, at: int, instruction: ptx.Instruction, state: dict[str, Value]) -> None:
        """Change the registers as the instruction of place `at` does, which is no memory access."""
        targets = written_registers(instruction)
        if not targets:
            return
        if instruction.opcode == "mbarrier" and not {"test_wait", "try_wait"}.isdisjoint(
            instruction.modifiers
        ):
            state[targets[0]] = TRUE  # waits are not followed: what is waited for has come
            return
        try:
            results = self._results(at, instruction, state, len(targets))
        except (TooLargeError, IndexError, ValueError):
            results = None  # too long to follow, or too few operands
        if results is None or len(results) != len(targets):
            results = self._opaque(at, instruction, state, targets)
        for target, result in zip(targets, results, strict=True):
            self.assign(at, instruction, target, result, state)

    def assign(
        self,
        at: int,
        instruction: ptx.Instruction,
        target: str,
        value: Value,
        state: dict[str, Value],
    ) -> None:
        """Write a register, if the instruction's guard holds."""
        guard = instruction.guard
        if guard is None:
            state[target] = value
            return
        condition = self.condition(guard.operand, state, at)
        state[target] = self.merged(condition, value, state.get(target, Unknown()))

    def merged(self, condition: Node, a: Value, b: Value) -> Value:
        """Return a where a condition holds, else b."""
        if isinstance(condition, Number):
            return a if condition.value else b
        if a == b:
            return a
        if _parts(condition) + _parts(a) + _parts(b) > _LONGEST:
            return Unknown(self.sources(a, b, condition))
        try:
            if isinstance(a, Sum) and isinstance(b, Sum):
                return self.algebra.chosen(condition, a, b)
        except TooLargeError:
            return Unknown(self.sources(a, b, condition))
        kinds = (Number, Name, Operation)
        if isinstance(a, kinds) and isinstance(b, kinds):
            return any_of((all_of((condition, a)), all_of((negated(condition), b))))
        # One side may be a register that was never set there: then the other counts.
        if isinstance(b, Unknown) and not b.sources and not isinstance(a, Unknown):
            return a
        if isinstance(a, Unknown) and not a.sources and not isinstance(b, Unknown):
            return b
        return Unknown(self.sources(a, b, condition))

    def _opaque(
        self,
        at: int,
        instruction: ptx.Instruction,
        state: Mapping[str, Value],
        targets: Sequence[str],
    ) -> list[Value]:
        """Return results that are not followed."""
        used = [self.value(o, state) for o in instruction.operands[1:]]
        sources = self.sources(*used)
        kind = instruction.modifiers[-1] if instruction.modifiers else "b32"
        if kind[:1] == "f" or kind.startswith("bf"):
            kind = self._destination(instruction)
        if instruction.opcode in ("setp", "vote", "isspacep", "match", "testp"):
            return [
                self.condition_datum(at, sources)
                if i or not kind.startswith("b32")
                else self.datum(at, sources)
                for i in range(len(targets))
            ]
        if kind[:1] in "bsu" and kind[1:].isdecimal():
            mixed = self._partly_computed(used)
            return [self.datum(at, sources, kind, i, mixed) for i in range(len(targets))]
        return [Unknown(sources)] * len(targets)

    def _partly_computed(self, values: Iterable[Value]) -> bool:
        """Say whether numbers are among values that no load gives, and that are not followed."""
        read = (v.names if isinstance(v, Sum) else frozenset() for v in values)
        made = (self.data[name] for each in read for name in each if name in self.data)
        return any(datum.computed or not datum.sources for datum in made)

    @staticmethod
    def _destination(instruction: ptx.Instruction) -> str:
        """Return the type of a conversion's result."""
        kinds = [m for m in instruction.modifiers if m[:1] in "bsuf" and m[1:2].isdecimal()]
        return kinds[0] if instruction.opcode in ("cvt", "set") and kinds else "f32"

    def _results(
        self, at: int, instruction: ptx.Instruction, state: Mapping[str, Value], count: int
    ) -> list[Value] | None:
        opcode, operands, kind = instruction.opcode, instruction.operands, instruction.type_name
        if opcode == "setp":
            return self._setp(at, instruction, state, count)
        if kind == "pred" and opcode not in ("cvta", "mov"):
            return self._logic(at, instruction, state)
        if opcode == "mov" and kind == "pred":
            return [self.condition(operands[1], state, at)]
        if opcode in ("mov", "cvta", "mapa"):  # each block of a cluster has the same layout
            return self._moved(instruction, state)
        if opcode == "selp":
            condition = self.condition(operands[3], state, at)
            a, b = (self.value(o, state) for o in operands[1:3])
            return [self.merged(condition, a, b)]
        if opcode == "cvt":
            return self._convert(at, instruction, state)
        return self._computed(at, instruction, state) if count == 1 else None

    def _moved(
        self, instruction: ptx.Instruction, state: Mapping[str, Value]
    ) -> list[Value] | None:
        to, source = instruction.operands[:2]
        if not isinstance(to, ptx.Register) or isinstance(source, ptx.Vector):
            return None
        value = self.value(source, state)
        if instruction.type_name[:1] == "f" and isinstance(value, Sum):
            return [Unknown(self.sources(value))]
        unknown = instruction.type_name[:1] in "bus" and isinstance(value, Unknown)
        return None if unknown else [value]

    def _computed(
        self, at: int, instruction: ptx.Instruction, state: Mapping[str, Value]
    ) -> list[Value] | None:
        """Return what arithmetic on integers gives, as far as it is followed."""
        opcode, modifiers, kind = instruction.opcode, instruction.modifiers, instruction.type_name
        work = INTEGER.get(opcode)
        if work is None or kind[:1] not in ("s", "u", "b") or not kind[1:].isdecimal():
            return None
        values = [self.integer(o, state, at) for o in instruction.operands[1:]]
        result = work(self.algebra, modifiers, values)
        if result is None or self._hashes(opcode, modifiers, kind, values, result):
            return None
        joined = opcode == "or" and result == plus(*values[:2])
        if opcode in _BITS and self.sources(result) and not joined:
            return None  # bits of data: nothing that an address shows
        return None if _parts(result) > _LARGEST else [result]

    def _hashes(
        self, opcode: str, modifiers: tuple[str, ...], kind: str, values: list[Sum], result: Sum
    ) -> bool:
        """Say whether an instruction overflows on purpose, as hashes and generators do."""
        if opcode not in ("mul", "mad", "shl", "xor") or "wide" in modifiers or "hi" in modifiers:
            return False
        factors = [abs(v.number) for v in values[:2] if v.number is not None]
        if opcode in ("mul", "mad"):
            large = max(factors, default=0)
            if large < _HASH or large & large - 1 == 0:
                return False
            if self.sources(*values):
                return True
        bits = bits_of(kind)
        if self.trial or bits > 32 or self.sources(*values):
            return False
        return not self.algebra.within(result, -(1 << bits), (1 << bits) - 1)

    def _setp(
        self, at: int, instruction: ptx.Instruction, state: Mapping[str, Value], count: int
    ) -> list[Value] | None:
        modifiers, operands = instruction.modifiers, instruction.operands
        kind = modifiers[-1]
        if kind[:1] not in ("s", "u", "b") or not kind[1:].isdecimal():
            return None
        a, b = (self.integer(o, state, at) for o in operands[1:3])
        condition = comparison(self.algebra, modifiers[0], kind, a, b)
        if condition is None:
            return None
        results = [condition, negated(condition)]
        if len(operands) > 3:
            other = self.condition(operands[3], state, at)
            if "and" in modifiers:
                results = [all_of((r, other)) for r in results]
            elif "or" in modifiers:
                results = [any_of((r, other)) for r in results]
            else:
                return None
        return [*results[:count]]

    def _logic(
        self, at: int, instruction: ptx.Instruction, state: Mapping[str, Value]
    ) -> list[Value] | None:
        parts = [self.condition(o, state, at) for o in instruction.operands[1:]]
        match instruction.opcode:
            case "and":
                return [all_of(parts)]
            case "or":
                return [any_of(parts)]
            case "not":
                return [negated(parts[0])]
            case "xor":
                a, b = parts
                return [any_of((all_of((a, negated(b))), all_of((negated(a), b))))]
        return None

    def _convert(
        self, at: int, instruction: ptx.Instruction, state: Mapping[str, Value]
    ) -> list[Value] | None:
        *_, to, source = instruction.modifiers
        if (
            "pack" in instruction.modifiers
            or to[:1] not in "bsu"
            or source[:1] not in "bsu"
            or source.startswith("bf")
        ):
            return None
        value = self.integer(instruction.operands[1], state, at)
        bits, was = bits_of(to), bits_of(source)
        if bits > was:
            if source[:1] == "u":
                return [self.algebra.unsigned(value, was)]
            half = 1 << was - 1
            if was >= 32 or self.algebra.within(value, -half, half - 1):
                return [value]
            return [self.algebra.remainder(value + half, 2 * half) - half]
        if bits >= 32 or self.algebra.within(value, -(1 << bits - 1), (1 << bits) - 1):
            return [value]
        if to[:1] == "u":
            return [self.algebra.remainder(value, 1 << bits)]
        return None
