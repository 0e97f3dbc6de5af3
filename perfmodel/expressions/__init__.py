"""Arithmetic expressions: one safe grammar for users' index expressions and for our formulas."""

from perfmodel.expressions.evaluate import evaluate
from perfmodel.expressions.grammar import parse
from perfmodel.expressions.nodes import (
    Name,
    Node,
    Number,
    Operation,
    exchanged,
    names,
    substitute,
    text,
)
from perfmodel.expressions.symbolic import to_sympy

__all__ = [
    "Name",
    "Node",
    "Number",
    "Operation",
    "evaluate",
    "exchanged",
    "names",
    "parse",
    "substitute",
    "text",
    "to_sympy",
]
