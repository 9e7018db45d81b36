"""The answer as a function: f(alpha), delta(eps), and what is read off them.

Signs: P is the null, Q the alternative, L = log dQ/dP. f(alpha) is the least type II error at type I error
alpha; delta(eps) = sup_alpha 1 - f(alpha) - e^eps alpha for every real eps.
"""

from edgeworth.curves.approx_dp import ApproxDPTradeOff
from edgeworth.curves.bracket import (
    Bracket,
    Certificate,
    trivial_delta_ends,
    trivial_epsilon_ends,
    trivial_tradeoff_ends,
)
from edgeworth.curves.dual import DualTradeOff
from edgeworth.curves.envelope import from_points
from edgeworth.curves.gaussian import GaussianTradeOff
from edgeworth.curves.group import Group, group, knows_power
from edgeworth.curves.group_guide import Guide
from edgeworth.curves.identity import Identity
from edgeworth.curves.interpret import Comparison, compare, gamma, mu_star
from edgeworth.curves.inverse import Inverse
from edgeworth.curves.laplace import LaplaceTradeOff
from edgeworth.curves.order import Order, pointwise_order
from edgeworth.curves.piecewise import PiecewiseLinear
from edgeworth.curves.piecewise_profile import PiecewiseProfile
from edgeworth.curves.profile import Profile
from edgeworth.curves.replaced_gaussian import ReplacedGaussianTradeOff
from edgeworth.curves.rescaled import Rescaled
from edgeworth.curves.subsampled import Subsampled
from edgeworth.curves.symmetrised import Symmetrised
from edgeworth.curves.threshold import ThresholdCurve
from edgeworth.curves.tradeoff import TradeOff

__all__ = [
    "ApproxDPTradeOff",
    "Bracket",
    "Certificate",
    "Comparison",
    "DualTradeOff",
    "GaussianTradeOff",
    "Group",
    "Guide",
    "Identity",
    "Inverse",
    "LaplaceTradeOff",
    "Order",
    "PiecewiseLinear",
    "PiecewiseProfile",
    "Profile",
    "ReplacedGaussianTradeOff",
    "Rescaled",
    "Subsampled",
    "Symmetrised",
    "ThresholdCurve",
    "TradeOff",
    "compare",
    "from_points",
    "gamma",
    "group",
    "knows_power",
    "mu_star",
    "pointwise_order",
    "trivial_delta_ends",
    "trivial_epsilon_ends",
    "trivial_tradeoff_ends",
]
