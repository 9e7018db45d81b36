"""What one step leaks: the law of L = log dQ/dP under P and under Q."""

from edgeworth.losses.atomic import AtomicLoss, BinaryLoss, CategoricalLoss, LatticeLoss
from edgeworth.losses.density_pair import DensityPairLoss
from edgeworth.losses.discrete import DiscreteGaussianLoss, DiscreteLaplaceLoss
from edgeworth.losses.few_values import FewValues, MergedValues, PairedValues
from edgeworth.losses.gaussian import GaussianLoss
from edgeworth.losses.laplace import LaplaceLoss
from edgeworth.losses.law import Lattice, Nodes, PrivacyLoss
from edgeworth.losses.moments import Cumulants
from edgeworth.losses.of import privacy_loss
from edgeworth.losses.replaced import ReplacedLoss
from edgeworth.losses.replaced_gaussian import ReplacedGaussianLoss
from edgeworth.losses.sampled import SampledLoss
from edgeworth.losses.total import TotalLoss

__all__ = [
    "AtomicLoss",
    "BinaryLoss",
    "CategoricalLoss",
    "Cumulants",
    "DensityPairLoss",
    "DiscreteGaussianLoss",
    "DiscreteLaplaceLoss",
    "FewValues",
    "GaussianLoss",
    "LaplaceLoss",
    "Lattice",
    "LatticeLoss",
    "MergedValues",
    "Nodes",
    "PairedValues",
    "PrivacyLoss",
    "ReplacedGaussianLoss",
    "ReplacedLoss",
    "SampledLoss",
    "TotalLoss",
    "privacy_loss",
]
