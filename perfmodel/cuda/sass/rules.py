"""Machine instructions of PTX where no ptxas is at hand: a table, whatever stands around.

What it is worth is in docs/decisions/0006: with ptxas's own code counts are exact as a rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from perfmodel.cuda.parse.registers import is_memory
from perfmodel.cuda.parse.syntax import Instruction, SpecialRegister
from perfmodel.cuda.sass.tensor_work import multiply_accumulates
from perfmodel.packaged import packaged_toml

TABLE: Final = Path(__file__).with_suffix(".toml")
_NOTHING: Final[Mapping[str, float]] = MappingProxyType({})
_READ: Final[Mapping[str, float]] = MappingProxyType({"other": 1.0})
_INTEGERS: Final = ("s", "u", "b")


@lru_cache(maxsize=1)
def _rules() -> Mapping[str, tuple[tuple[frozenset[str], Mapping[str, float]], ...]]:
    entries = packaged_toml(TABLE)["rule"]
    found: dict[str, tuple[tuple[frozenset[str], Mapping[str, float]], ...]] = {}
    for e in entries:
        row = (frozenset(e.get("modifiers", ())), MappingProxyType(e["counts"]))
        for opcode in e["opcodes"]:
            found[opcode] = (*found.get(opcode, ()), row)
    return found


def rule_counts(instruction: Instruction) -> Mapping[str, float]:
    """Return what an instruction becomes, by pipe: nothing of what is counted otherwise.

    That is accesses to memory and products on tensor cores.
    """
    if is_memory(instruction) or multiply_accumulates(instruction):
        return _NOTHING
    if instruction.opcode == "mov" and any(
        isinstance(o, SpecialRegister) for o in instruction.operands
    ):
        return _READ
    kind = instruction.type_name
    given = {*instruction.modifiers, kind[-2:]}
    for modifiers, counts in _rules().get(instruction.opcode, ()):
        if modifiers <= given:
            return counts
    integer = kind[:1] in _INTEGERS and instruction.opcode not in ("ld", "vote", "match")
    return {"int32" if integer else "other": 1.0}
