"""Arithmetic expressions: one safe grammar for users' index expressions and for our formulas."""

from perfmodel.expressions.evaluate import evaluate as evaluate
from perfmodel.expressions.grammar import parse as parse
from perfmodel.expressions.nodes import Name as Name
from perfmodel.expressions.nodes import Node as Node
from perfmodel.expressions.nodes import Number as Number
from perfmodel.expressions.nodes import Operation as Operation
from perfmodel.expressions.nodes import exchanged as exchanged
from perfmodel.expressions.nodes import names as names
from perfmodel.expressions.nodes import substitute as substitute
from perfmodel.expressions.nodes import text as text
from perfmodel.expressions.symbolic import to_sympy as to_sympy
