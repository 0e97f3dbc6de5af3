"""Operators of language models: shapes, what each operator must move, and how long it takes."""

from perfmodel.names import shape_names as shape_names
from perfmodel.operators.model_shape import ModelShape as ModelShape
from perfmodel.operators.model_shape import load_shape as load_shape
from perfmodel.operators.model_shape import parse_shape as parse_shape
from perfmodel.operators.predict import OperatorTime as OperatorTime
from perfmodel.operators.predict import StepTimes as StepTimes
from perfmodel.operators.predict import predict_operators as predict_operators
from perfmodel.operators.step import Operator as Operator
from perfmodel.operators.step import operators as operators
