"""Which names an expression of a kernel may use, and parsing it with just these.

Three kinds of place know different names. A default, the grid and the block are fixed before the
launch: parameters only. What is the same for all threads (trips, lengths, counts) also knows the
launch: ``blockDim`` and ``gridDim``. An index or a guard is a thread's: ``threadIdx``,
``blockIdx`` and the variables of the loops around it too.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from perfmodel.errors import PerfmodelError, shown
from perfmodel.expressions import Name, Node, Number, Operation, names, parse, substitute
from perfmodel.expressions.nodes import FUNCTIONS
from perfmodel.tables import choice

SIZES: Final = tuple(f"{base}.{axis}" for base in ("blockDim", "gridDim") for axis in "xyz")
"""What a launch fixes."""

INDEXES: Final = tuple(f"{base}.{axis}" for base in ("threadIdx", "blockIdx") for axis in "xyz")
"""What differs from thread to thread."""

MOST_NAMES: Final = 64
"""Parameters, definitions and loop variables of a kernel, each."""

DEEPEST: Final = 150
"""Levels of nesting of an expression once definitions are put in; Python's stack ends later."""

_BASES: Final = ("threadIdx", "blockIdx", "blockDim", "gridDim")


@dataclass
class Scope:
    """The names of a kernel as far as it is read."""

    where: str  # start of the error messages
    # Name to what it is: "parameter", "definition" or "loop variable".
    kinds: dict[str, str] = field(default_factory=dict)
    definitions: dict[str, Node] = field(default_factory=dict)  # name to expression, in order
    # Loop variable to the variables of the loops around its body, itself included.
    nests: dict[str, frozenset[str]] = field(default_factory=dict)
    # Word that a parameter can be, to the integer that it stands for.
    words: dict[str, int] = field(default_factory=dict)
    _depths: dict[str, int] = field(default_factory=dict)
    # What each definition is made of in the end.
    _origins: dict[str, frozenset[str]] = field(default_factory=dict)

    def add(self, name: object, kind: str) -> None:
        """Make a name known.

        Raises `PerfmodelError` if it is no name, clashes with another or with CUDA's own, or is one
        too many.
        """
        what = f"{self.where}: {kind} {shown(name)}"
        if not isinstance(name, str):
            raise PerfmodelError(f"{what} must be text in quotes")
        if name.split(".")[0] in _BASES:
            raise PerfmodelError(f"{what} clashes with CUDA's own {name.split('.')[0]}: rename it")
        if name in self.kinds:
            raise PerfmodelError(f"{what} clashes with the {self.kinds[name]} of that name")
        try:
            Name(name)
        except PerfmodelError as error:
            raise PerfmodelError(f"{what}: {error}") from None
        if sum(known == kind for known in self.kinds.values()) == MOST_NAMES:
            raise PerfmodelError(f"{self.where} has more than {MOST_NAMES} {kind}s: use fewer")
        self.kinds[name] = kind

    def add_words(self, words: Sequence[str], values: Sequence[int]) -> None:
        """Make the words of a parameter known, and what integer each stands for."""
        for name, value in zip(words, values, strict=True):
            if self.words.get(name, value) != value:
                raise PerfmodelError(
                    f"{self.where}: the choice {shown(name)} comes at another place in another "
                    "parameter: put the choices in the same order"
                )
            if name in FUNCTIONS:
                continue  # it can be chosen, but an expression cannot name it
            if name not in self.words:
                self.add(name, "choice")
            self.words[name] = value

    def define(self, name: str, value: object) -> None:
        """Add a definition over everything known so far."""
        where = f"{self.where}, definition {shown(name)}"
        allowed = {*SIZES, *INDEXES, *self._of_kind("parameter"), *self._of_kind("loop variable")}
        node = self._expression(value, where, allowed, "")
        self.add(name, "definition")
        self.definitions[name] = node
        self._origins[name] = self._made_of(node)
        self._depths[name] = self._depth(node)

    def of_parameters(self, value: object, where: str) -> Node:
        """Return the expression of a default, the grid or the block."""
        allowed = self._of_kind("parameter")
        hint = "parameters, or definitions made of them"
        return self._expression(value, where, allowed, hint)

    def loop(self, value: object, where: str) -> str:
        """Return the variable of a loop."""
        return choice(value, tuple(self.nests), where, "the variable of a loop")

    def of_launch(self, value: object, where: str, *, integer: bool = True) -> Node:
        """Return an expression whose value all threads share."""
        allowed = {*SIZES, *self._of_kind("parameter")}
        hint = "parameters, blockDim, gridDim, or definitions made of them"
        return self._expression(value, where, allowed, hint, integer=integer)

    def number_of_launch(self, value: object, where: str) -> Node:
        """Return the same where it may be a fraction."""
        return self.of_launch(value, where, integer=False)

    def of_bin(self, value: object, where: str) -> Node:
        """Return the weight of a random index's value ``bin``."""
        if "bin" in self.kinds:
            raise PerfmodelError(
                f"{where}: bin is the value of the index here, so the "
                f"{self.kinds['bin']} of that name must be called otherwise"
            )
        allowed = {*SIZES, *self._of_kind("parameter"), "bin"}
        return self._expression(value, where, allowed, "bin and parameters", integer=False)

    def of_thread(self, value: object, where: str, loop: str | None = None) -> Node:
        """Return an index or a guard inside ``loop``."""
        around = self.nests[loop] if loop is not None else frozenset()
        allowed = {*SIZES, *INDEXES, *self._of_kind("parameter"), *around}
        hint = "the variables of the loops around it only (loop = ... says which loop it is in)"
        return self._expression(value, where, allowed, hint)

    def _of_kind(self, kind: str) -> set[str]:
        return {name for name, known in self.kinds.items() if known == kind}

    def _expression(
        self,
        value: object,
        where: str,
        allowed: Collection[str],
        hint: str,
        *,
        integer: bool = True,
    ) -> Node:
        if isinstance(value, str):
            known = {*allowed, *self.kinds, *SIZES, *INDEXES}
            node = parse(value, where=where, allowed=known, integer=integer)
            node = substitute(node, {name: Number(code) for name, code in self.words.items()})
        else:
            node = _number(value, where, integer)
        for name in sorted(names(node)):
            wrong = sorted(self._origins.get(name, frozenset((name,))) - set(allowed))
            if wrong:
                via = f" (by way of {name})" if wrong[0] != name else ""
                raise PerfmodelError(f"{where} uses {wrong[0]}{via}: use {hint}")
        depth = self._depth(node)
        if depth > DEEPEST:
            raise PerfmodelError(
                f"{where} is {depth} levels deep once definitions are put in, over {DEEPEST}: "
                "make the definitions simpler"
            )
        return node

    def _made_of(self, node: Node) -> frozenset[str]:
        parts = (self._origins.get(name, frozenset((name,))) for name in names(node))
        return frozenset().union(*parts)

    def _depth(self, node: Node) -> int:
        if isinstance(node, Operation):
            return 1 + max(map(self._depth, node.operands))
        return self._depths.get(node.name, 1) if isinstance(node, Name) else 1


def _number(value: object, where: str, integer: bool) -> Node:
    wanted = "a whole number" if integer else "a number"
    kinds = int if integer else (int, float)
    # bool is an int in Python, but not a number in a kernel file.
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise PerfmodelError(
            f"{where} must be {wanted} or an expression in quotes, not {shown(value)}"
        )
    try:
        return Number(value)
    except PerfmodelError as error:
        raise PerfmodelError(f"{where}: {error}") from None
