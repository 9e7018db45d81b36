"""What an attacker can do: readings of the certified curve that mean something to a person."""

from edgeworth.risk.covering import GaussianFit, gaussian_fit
from edgeworth.risk.risk import Risk

__all__ = ["GaussianFit", "Risk", "gaussian_fit"]
