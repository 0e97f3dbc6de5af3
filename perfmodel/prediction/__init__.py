"""Predictions: one launch or arrays of launches, from a kernel and a device."""

from perfmodel.prediction.predict import Predictions, predict, predict_many
from perfmodel.prediction.record import Prediction

__all__ = ["Prediction", "Predictions", "predict", "predict_many"]
