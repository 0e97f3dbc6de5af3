"""Operators of language models: shapes, what each operator must move, and how long it takes."""

from perfmodel.names import shape_names
from perfmodel.operators.model_shape import ModelShape, load_shape, parse_shape
from perfmodel.operators.predict import OperatorTime, StepTimes, predict_operators
from perfmodel.operators.step import Operator, operators

__all__ = [
    "ModelShape",
    "Operator",
    "OperatorTime",
    "StepTimes",
    "load_shape",
    "operators",
    "parse_shape",
    "predict_operators",
    "shape_names",
]
