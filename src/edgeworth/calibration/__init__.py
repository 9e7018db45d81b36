"""Noise, rate or number of steps from what the result must reach."""

from edgeworth.calibration.calibrate import calibrate
from edgeworth.calibration.calibrated import Calibrated
from edgeworth.calibration.shortcuts import max_rate, max_steps, noise_multiplier

__all__ = ["Calibrated", "calibrate", "max_rate", "max_steps", "noise_multiplier"]
