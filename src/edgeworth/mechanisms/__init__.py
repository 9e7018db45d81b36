"""What ran: frozen descriptions of private mechanisms, without any mathematics.

>>> step = PoissonSampled(Gaussian(noise_multiplier=0.8), rate=256 / 50_000)
>>> training = step**5_000
>>> release = Laplace(scale=20.0) ** 3
>>> (training * release).releases
5003
"""

from __future__ import annotations

from edgeworth.mechanisms.base import Mechanism
from edgeworth.mechanisms.composed import Composed, Repeated
from edgeworth.mechanisms.dicts import from_dict, to_dict
from edgeworth.mechanisms.given import ApproxDP, DensityPair, GaussianDP
from edgeworth.mechanisms.noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from edgeworth.mechanisms.responses import RandomizedResponse
from edgeworth.mechanisms.sampling import PoissonSampled, SampledWithoutReplacement
from edgeworth.mechanisms.serialise import from_json, to_json

__all__ = [
    "ApproxDP",
    "Composed",
    "DensityPair",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Gaussian",
    "GaussianDP",
    "Laplace",
    "Mechanism",
    "PoissonSampled",
    "RandomizedResponse",
    "Repeated",
    "SampledWithoutReplacement",
    "from_dict",
    "from_json",
    "to_dict",
    "to_json",
]
