"""Calls of device functions, put into their caller: what the analyses see has no calls.

Each copy of a body is an inner block of its own, so that its names stay its own. What a call hands
over in parameter space goes in registers instead. What cannot be put in, because the file has no
body or a pointer decides which function it is, stays a call; what calls itself is refused.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Final

from perfmodel.cuda.parse import syntax as ptx
from perfmodel.cuda.parse.once import once
from perfmodel.errors import PerfmodelError
from perfmodel.records import record

MOST_INSTRUCTIONS: Final = 200_000
"""Of a kernel with all its calls put in."""
MOST_COPIES: Final = 4000
"""Calls that are put in."""
MOST_DEPTH: Final = 64
"""Calls inside of calls."""

RUNTIME: Final = frozenset({"vprintf", "malloc", "free", "__assertfail"})
"""Functions of the driver, which no file has a body for; their time is known, or few call them."""
_OWN: Final = ("local", "param")
"""Spaces of variables that each copy of a body has for itself."""


@record(slots=False)
class Inlined:
    """A kernel with its calls put in."""

    function: ptx.Function
    notes: tuple[str, ...] = ()  # what could not be put in
    left: tuple[str, ...] = ()  # functions whose calls could not be


@once
def inlined(module: ptx.Module, kernel: ptx.Function) -> Inlined:
    """Return a kernel with the functions that it calls put in where it calls them.

    Raises `PerfmodelError` if a function calls itself, directly or not, or the whole becomes too
    long.
    """
    if len(kernel.instructions) > MOST_INSTRUCTIONS:
        raise PerfmodelError(
            f"kernel {kernel.name!r} has {len(kernel.instructions)} instructions, more than the "
            f"{MOST_INSTRUCTIONS} that are analysed"
        )
    if not any(i.opcode == "call" for i in kernel.instructions):
        return Inlined(kernel)
    return _Inliner(module, kernel).run()


@once
def reached(
    module: ptx.Module, kernel: ptx.Function
) -> tuple[frozenset[str], tuple[ptx.Function, ...]]:
    """Return all names that are used from a kernel on, and the functions: it and its callees."""
    by_name = {f.name: f for f in module.functions if f.defined}
    functions = [kernel]
    named: set[str] = set()
    for function in functions:  # grows while it is gone through
        operands = (
            o for i in function.instructions for each in i.operands for o in ptx.leaves(each)
        )
        here = {o.name for o in operands if isinstance(o, ptx.Symbol)}
        named |= here
        functions += [
            by_name[n] for n in sorted(here & by_name.keys()) if by_name[n] not in functions
        ]
    return frozenset(named), tuple(functions)


@record(slots=False)
class _Copy:
    """One copy of a function's body: what its names become."""

    function: ptx.Function
    shift: int  # added to the numbers of its inner blocks
    # Its parameters and results in parameter space, as the caller calls them.
    bound: Mapping[str, str]

    @cached_property
    def own(self) -> frozenset[str]:
        """Variables of which each copy has its own."""
        return frozenset(v.name for v in self.function.variables if v.space in _OWN)

    def name(self, text: str) -> str:
        """Return a name of this copy, by its name in the function."""
        if not self.shift:
            return text
        stem, _, scope = text.partition("@")
        return f"{stem}@{int(scope or 0) + self.shift}"

    def symbol(self, text: str) -> str:
        """Return what a symbol is called."""
        if text in self.bound:
            return self.bound[text]
        return self.name(text) if text in self.own else text

    def operand(self, o: ptx.Operand) -> ptx.Operand:
        """Return an operand with this copy's names."""
        match o:
            case ptx.Register(name):
                return ptx.Register(self.name(name))
            case ptx.Symbol(name, offset):
                return ptx.Symbol(self.symbol(name), offset)
            case ptx.Label(name):
                return ptx.Label(self.name(name))
            case ptx.Vector(elements):
                return ptx.Vector(tuple(map(self.operand, elements)))
            case ptx.Arguments(elements):
                return ptx.Arguments(tuple(map(self.operand, elements)))
            case ptx.Address(base, offset, coordinates):
                return ptx.Address(
                    self.operand(base), offset, tuple(map(self.operand, coordinates))
                )
            case ptx.Pair(first, second):
                return ptx.Pair(self.operand(first), self.operand(second))
            case ptx.Negated(inner):
                return ptx.Negated(self.operand(inner))
            case ptx.Component(register, part):
                return ptx.Component(ptx.Register(self.name(register.name)), part)
        return o

    def instruction(self, i: ptx.Instruction) -> ptx.Instruction:
        """Return an instruction with this copy's names."""
        if not self.shift:
            return i
        guard = i.guard and ptx.Guard(
            ptx.Register(self.name(i.guard.register.name)), i.guard.negated
        )
        return replace(i, operands=tuple(map(self.operand, i.operands)), guard=guard)


class _Inliner:
    """Puts one kernel together."""

    def __init__(self, module: ptx.Module, kernel: ptx.Function) -> None:
        self.kernel = kernel
        self.functions = {f.name: f for f in module.functions if f.defined and not f.kernel}
        self.instructions: list[ptx.Instruction] = []
        self.registers: list[ptx.RegisterDeclaration] = []
        self.variables: dict[str, ptx.Variable] = {}
        self.labels: dict[str, int] = {}
        self.tables: dict[str, tuple[str, ...]] = {}
        self.pragmas: list[tuple[int, str]] = []
        self.left: dict[str, None] = {}
        self.handed: dict[str, ptx.RegisterDeclaration] = {}
        self.shift = 0
        self.copies = 0

    def run(self) -> Inlined:
        """Return the kernel."""
        self._body(_Copy(self.kernel, 0, {}), (self.kernel.name,))
        function = replace(
            self.kernel,
            instructions=tuple(self.instructions),
            registers=(*self.registers, *self.handed.values()),
            variables=tuple(self.variables.values()),
            labels=self.labels,
            branch_tables=self.tables,
            pragmas=tuple(sorted(self.pragmas)),
        )
        notes = tuple(
            f"calls of {name} are left out, with all that it does: the PTX has no body for it"
            + ("" if name in RUNTIME or " " in name else "; give the file that has, by --with FILE")
            for name in list(self.left)[:4]
        )
        return Inlined(function, notes, tuple(self.left))

    def _body(self, copy: _Copy, path: tuple[str, ...]) -> None:
        """Put a copy of a body in, at the end of what there is."""
        function = copy.function
        inner = [int(r.scope) for r in function.registers]
        named = (*function.labels, *(v.name for v in function.variables))
        inner += [int(n.rpartition("@")[2]) for n in named if "@" in n]
        self.shift = max(self.shift, copy.shift + max(inner, default=0) + 1)
        self.registers += [replace(r, scope=r.scope + copy.shift) for r in function.registers]
        self.registers += [
            ptx.RegisterDeclaration(p.name, p.type, scope=copy.shift)
            for p in (*function.parameters, *function.results)
            if p.space == "reg"
        ]
        for variable in function.variables:
            name = copy.symbol(variable.name)
            self.variables.setdefault(name, replace(variable, name=name))
        for name, members in function.branch_tables.items():
            self.tables[copy.name(name)] = tuple(map(copy.name, members))
        end = f"$end@{copy.shift}"
        starts = []
        for at, given in enumerate(function.instructions):
            starts.append(len(self.instructions))
            instruction = copy.instruction(given)
            if instruction.opcode == "call":
                self._call(instruction, path)
            elif instruction.opcode == "ret" and copy.shift:
                jump = _jump(instruction, end, instruction.guard)
                if at + 1 < len(function.instructions) or jump.guard is not None:
                    self.instructions.append(jump)
            else:
                self.instructions += self._handed_over(instruction)
            if len(self.instructions) > MOST_INSTRUCTIONS or self.copies > MOST_COPIES:
                raise PerfmodelError(
                    f"kernel {self.kernel.name!r} makes over {MOST_COPIES} calls, or has over "
                    f"{MOST_INSTRUCTIONS} instructions with what it calls: more than are analysed"
                )
        starts.append(len(self.instructions))
        self.labels |= {copy.name(name): starts[at] for name, at in function.labels.items()}
        self.pragmas += [(starts[at], text) for at, text in function.pragmas]
        if copy.shift:
            self.labels[end] = starts[-1]

    def _call(self, call: ptx.Instruction, path: tuple[str, ...]) -> None:
        operands = list(call.operands)
        results: tuple[ptx.Operand, ...] = ()
        if operands and isinstance(operands[0], ptx.Arguments):
            results = operands.pop(0).elements  # type: ignore[union-attr]
        target = operands[0] if operands else None
        given = next((o.elements for o in operands[1:] if isinstance(o, ptx.Arguments)), ())
        name = target.name if isinstance(target, ptx.Symbol) else ""
        callee = self.functions.get(name)
        if callee is None:
            self.left[name or "a function by pointer"] = None
            self.instructions.append(call)
            return
        if name in path or len(path) > MOST_DEPTH:
            raise PerfmodelError(
                f"kernel {self.kernel.name!r}, PTX line {call.line}: {name!r} calls itself; how "
                "deep it goes cannot be told from PTX: write it as a loop"
            )
        copy = self._next_copy(callee, given, results)
        guard, behind = call.guard, f"$behind@{copy.shift}"
        if guard is not None:
            skips = ptx.Guard(guard.register, not guard.negated)
            call = replace(call, guard=None)
            self.instructions.append(_jump(call, behind, skips))
        for p, o in zip(callee.parameters, given, strict=False):
            if p.space == "reg":
                self.instructions.append(_move(call, p.type, ptx.Register(copy.name(p.name)), o))
        self._body(copy, (*path, name))
        for p, o in zip(callee.results, results, strict=False):
            if p.space == "reg" and isinstance(o, ptx.Register):
                self.instructions.append(_move(call, p.type, o, ptx.Register(copy.name(p.name))))
        if guard is not None:
            self.labels[behind] = len(self.instructions)

    def _next_copy(
        self, callee: ptx.Function, given: Iterable[ptx.Operand], results: Iterable[ptx.Operand]
    ) -> _Copy:
        self.shift += 1
        self.copies += 1
        bound = {
            p.name: o.name
            for p, o in (
                *zip(callee.parameters, given, strict=False),
                *zip(callee.results, results, strict=False),
            )
            if p.space == "param" and isinstance(o, ptx.Symbol)
        }
        return _Copy(callee, self.shift, bound)

    def _handed_over(self, i: ptx.Instruction) -> list[ptx.Instruction]:
        """Return an instruction, or the moves that a load or store of parameter space becomes."""
        memory = i.opcode in ("ld", "st") and i.space == "param" and len(i.operands) == 2
        place = i.operands[i.opcode == "ld"] if memory else None
        name, start = (isinstance(place, ptx.Address) and place.place) or ("", 0)
        if not name or any(name == p.name for p in self.kernel.parameters):
            return [i]
        value = i.operands[i.opcode == "st"]
        parts = value.elements if isinstance(value, ptx.Vector) else (value,)
        kind = i.modifiers[-1] if i.modifiers else "b32"
        found = []
        for number, part in enumerate(parts):
            register = self._register(name, start + number * ptx.SIZES.get(kind, 4), kind)
            pair = (part, register) if i.opcode == "ld" else (register, part)
            if isinstance(pair[0], ptx.Register):
                found.append(_move(i, kind, pair[0], pair[1]))
        return found

    def _register(self, name: str, offset: int, kind: str) -> ptx.Register:
        """Return the register that stands for a place in parameter space."""
        stem, _, scope = name.partition("@")
        stem = f"{stem}+{offset}+"
        key = f"{stem}@{scope}" if scope else stem
        if key not in self.handed:
            wide = f"b{8 * max(ptx.SIZES.get(kind, 4), 1)}"
            self.handed[key] = ptx.RegisterDeclaration(stem, wide, scope=int(scope or 0))
        return ptx.Register(key)


def _jump(like: ptx.Instruction, to: str, guard: ptx.Guard | None) -> ptx.Instruction:
    return replace(like, opcode="bra", modifiers=(), operands=(ptx.Label(to),), guard=guard)


def _move(
    like: ptx.Instruction, kind: str, to: ptx.Operand, source: ptx.Operand
) -> ptx.Instruction:
    return replace(like, opcode="mov", modifiers=(kind,), operands=(to, source))
