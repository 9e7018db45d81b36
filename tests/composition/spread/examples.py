"""What the tests of graded points share."""

import numpy as np

import edgeworth as ew
from edgeworth.losses import TotalLoss

DIRECTIONS = ("forward", "backward")
NEARLY = 1 + 1e-13


def normal(sigma, rate):
    return ew.PoissonSampled(ew.Gaussian(sigma), rate=rate)


def laplace(scale, rate):
    return ew.PoissonSampled(ew.Laplace(scale), rate=rate)


def total_of(mechanism):
    return TotalLoss.of(mechanism).finite


def above(x, mass, v):
    """E[(x - v)_+] of a measure."""
    return np.sum(mass * np.maximum(x - v[:, None], 0.0), axis=1)
