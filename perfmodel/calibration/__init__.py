"""Fits: device coefficients to hardware measurements."""

from perfmodel.calibration.calibrate import Calibration, calibrate

__all__ = ["Calibration", "calibrate"]
