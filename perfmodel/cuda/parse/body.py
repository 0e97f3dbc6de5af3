"""The body of a function: statements to instructions, declarations and labels."""

from dataclasses import dataclass, field, replace
from typing import Final

from perfmodel.cuda.parse import declarations
from perfmodel.cuda.parse import syntax as ptx
from perfmodel.cuda.parse.opcodes import fewest_operands
from perfmodel.cuda.parse.operands import OperandReader
from perfmodel.cuda.parse.tokens import END, Tokens
from perfmodel.errors import PerfmodelError

_DEEPEST: Final = 64
"""Nesting of blocks."""
_LONGEST: Final = 4096
"""Tokens of one instruction."""
_BRANCHES: Final = frozenset({"bra", "brx"})
_TABLES: Final = frozenset({".branchtargets", ".calltargets", ".callprototype"})


@dataclass(slots=True)
class Body:
    """What was read of a function."""

    registers: list[ptx.RegisterDeclaration] = field(default_factory=list)
    variables: list[ptx.Variable] = field(default_factory=list)
    instructions: list[ptx.Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    branch_tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    pragmas: list[tuple[int, str]] = field(default_factory=list)


class BodyReader:
    """Reads one body, keeping which names the enclosing blocks declare."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._texts = tokens.texts
        self._body = Body()
        self._operands = OperandReader(tokens, self._meaning)
        self._blocks: list[int] = [0]
        self._count = 0
        # By block: names that it declares, and whether each is a register.
        self._names: list[dict[str, bool]] = [{}]
        # By block: stems of numbered registers, and how many there are.
        self._ranges: list[dict[str, int]] = [{}]
        self._source: ptx.SourceLine | None = None
        self._opcodes: dict[str, tuple[str, tuple[str, ...]]] = {}
        # Branches inside of inner blocks, whose labels may still come.
        self._pending: list[tuple[int, tuple[int, ...]]] = []

    def read(self, at: int) -> tuple[Body, int]:
        """Return the body whose first token is `at`, and the token behind its closing brace."""
        texts = self._texts
        while True:
            text = texts[at]
            first = text[0]
            if first == ".":
                at = self._directive(at)
            elif first == "@":
                at = self._guarded(at)
            elif first == "{":
                at = self._open(at)
            elif first == "}":
                at += 1
                if len(self._blocks) == 1:
                    break
                self._close()
            elif first == ";":
                at += 1
            elif texts[at + 1] == ":":
                at = self._label(at)
            else:
                at = self._instruction(at, None)
        self._resolve_labels()
        return self._body, at

    def _open(self, at: int) -> int:
        if len(self._blocks) > _DEEPEST:
            self._tokens.refuse(at, f"at most {_DEEPEST} blocks inside each other")
        self._count += 1
        self._blocks.append(self._count)
        self._names.append({})
        self._ranges.append({})
        self._operands.forget()
        return at + 1

    def _close(self) -> None:
        self._blocks.pop()
        self._names.pop()
        self._ranges.pop()
        self._operands.forget()

    def _suffix(self) -> str:
        return f"@{self._blocks[-1]}" if len(self._blocks) > 1 else ""

    def _meaning(self, name: str) -> ptx.Operand:
        """Return what a name means in the innermost block that declares it."""
        stem = name.rstrip("0123456789")
        for block, names, ranges in zip(
            reversed(self._blocks), reversed(self._names), reversed(self._ranges), strict=True
        ):
            suffix = f"@{block}" if block else ""
            if name in names:
                return ptx.Register(name + suffix) if names[name] else ptx.Symbol(name + suffix)
            if ranges and _numbered(name, stem, ranges):
                return ptx.Register(name + suffix)
        return ptx.Register(name) if name[0] == "%" else ptx.Symbol(name)

    def _directive(self, at: int) -> int:
        tokens, text = self._tokens, self._texts[at]
        if text == ".loc":
            return self._location(at + 1)
        if text == ".reg":
            found, at = declarations.registers(tokens, at, self._blocks[-1])
            self._body.registers += found
            for declared in found:
                if declared.count is None:
                    self._names[-1][declared.name] = True
                else:
                    self._ranges[-1][declared.name] = declared.count
            self._operands.forget()
            return at
        linkage, at = declarations.read_linkage(tokens, at)
        if self._texts[at] in declarations.SPACES:
            suffix = self._suffix()
            variables, at = declarations.variables(tokens, at, linkage, suffix)
            self._body.variables += variables
            for variable in variables:
                self._names[-1][variable.name.removesuffix(suffix)] = False
            self._operands.forget()
            return at
        if text == ".pragma":
            if self._texts[at + 1][0] != '"':
                tokens.refuse(at + 1, "a string")
            pragma = self._texts[at + 1][1:-1]
            self._body.pragmas.append((len(self._body.instructions), pragma))
            return declarations.expect(tokens, at + 2, ";")
        tokens.refuse(at, "a statement")

    def _location(self, at: int) -> int:
        texts = self._texts
        numbers: list[int] = []
        while texts[at][0].isdigit() and len(numbers) < 3:  # file, line and column
            numbers.append(int(texts[at][:12]) if texts[at].isdecimal() else 0)
            at += 1
        if len(numbers) < 2:
            self._tokens.refuse(at, "the numbers of a file and a line")
        inlined: ptx.SourceLine | None = None
        while texts[at] == ",":  # function_name $L__info_string0, inlined_at 1 20 3
            if texts[at + 1] == "inlined_at":
                outer = [int(t[:12]) for t in texts[at + 2 : at + 5] if t.isdecimal()]
                if len(outer) == 3:
                    inlined = ptx.SourceLine(outer[0], outer[1])
                at += 5
            else:
                at += 3
                if texts[at : at + 1] == ["+"]:
                    at += 2
        if numbers[1]:  # line 0: the compiler does not know, the line before is nearest
            self._source = ptx.SourceLine(numbers[0], numbers[1], inlined)
        return at

    def _label(self, at: int) -> int:
        tokens, texts = self._tokens, self._texts
        name, _ = declarations.word(tokens, at, "a label")
        at += 2
        if texts[at] in _TABLES:
            kind = texts[at]
            at += 1
            members: list[str] = []
            while texts[at] not in (";", END, "{", "}"):
                members.append(texts[at])
                at += 1
            at = declarations.expect(tokens, at, ";")
            if kind == ".branchtargets":
                suffix = self._suffix()
                self._body.branch_tables[name + suffix] = tuple(
                    m + suffix for m in members if m != ","
                )
            return at
        unique = name + self._suffix()
        if unique in self._body.labels:
            tokens.refuse(at - 2, f"a label that there is only once, not {name[:40]} again,")
        self._body.labels[unique] = len(self._body.instructions)
        return at

    def _guarded(self, at: int) -> int:
        negated = self._texts[at + 1] == "!"
        at += 2 if negated else 1
        name, at = declarations.word(self._tokens, at, "a predicate")
        meaning = self._meaning(name)
        register = meaning if isinstance(meaning, ptx.Register) else ptx.Register(name)
        return self._instruction(at, ptx.Guard(register, negated))

    def _instruction(self, at: int, guard: ptx.Guard | None) -> int:
        texts = self._texts
        text = texts[at]
        if not (text[0].isalpha() or text[0] == "_"):
            self._tokens.refuse(at, "an instruction")
        line = self._tokens.line(at)
        split = self._opcodes.get(text)
        if split is None:
            opcode, *modifiers = text.split(".")
            split = self._opcodes[text] = (opcode, tuple(modifiers))
        opcode, told = split
        at += 1
        while texts[at][0] == ".":  # ptxas allows spaces before modifiers
            told = (*told, texts[at][1:])
            at += 1
        readable = True
        try:
            operands, at = self._operands.operands(at, opcode == "call")
        except PerfmodelError:
            operands, readable = (), False
            at = self._skip(at)
        fewest = fewest_operands(opcode)
        if readable and len(operands) < fewest:
            self._tokens.refuse(at - 1, f"{fewest} operands of {opcode}")
        if opcode in _BRANCHES:
            operands = tuple(
                ptx.Label(o.name) if isinstance(o, ptx.Symbol) else o for o in operands
            )
            if len(self._blocks) > 1:
                self._pending.append((len(self._body.instructions), tuple(self._blocks)))
        self._body.instructions.append(
            ptx.Instruction(opcode, told, operands, guard, line, self._source, readable)
        )
        return at

    def _skip(self, at: int) -> int:
        """Return the token behind an instruction that has operands of an unknown form."""
        for behind in range(at, at + _LONGEST):
            text = self._texts[behind]
            if text == ";":
                return behind + 1
            if text == END:
                self._tokens.refuse(behind, "';'")
        self._tokens.refuse(at, "operands and ';'")

    def _resolve_labels(self) -> None:
        """Give branches out of inner blocks the labels of the innermost block that has them."""
        instructions, labels = self._body.instructions, self._body.labels

        def resolved(operand: ptx.Operand, blocks: tuple[int, ...]) -> ptx.Operand:
            if not isinstance(operand, ptx.Label):
                return operand
            names = [f"{operand.name}@{b}" if b else operand.name for b in reversed(blocks)]
            known = (n for n in names if n in labels or n in self._body.branch_tables)
            return ptx.Label(next(known, operand.name))

        for index, blocks in self._pending:
            branch = instructions[index]
            operands = tuple(resolved(o, blocks) for o in branch.operands)
            instructions[index] = replace(branch, operands=operands)


def _numbered(name: str, stem: str, ranges: dict[str, int]) -> bool:
    """Return whether a name is one of numbered registers: a stem and a number below its count."""
    while len(stem) < len(name):
        count = ranges.get(stem)
        if count is not None and int(name[len(stem) :][:12]) < count:
            return True
        stem = name[: len(stem) + 1]
    return False
