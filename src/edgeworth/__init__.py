"""How much privacy is left: certified f-differential-privacy accounting."""

from edgeworth._version import __version__
from edgeworth.account import Account, account
from edgeworth.curves import Bracket, Certificate, Comparison, Profile, TradeOff, compare
from edgeworth.errors import (
    ComputationFailed,
    EdgeworthError,
    InvalidArgument,
    MissingExtra,
    NotCertified,
    TooLarge,
    Unsupported,
)
from edgeworth.mechanisms import (
    ApproxDP,
    Composed,
    DensityPair,
    Gaussian,
    GaussianDP,
    Laplace,
    Mechanism,
    PoissonSampled,
    RandomizedResponse,
    Repeated,
    from_json,
    to_json,
)

__all__ = [
    "Account",
    "ApproxDP",
    "Bracket",
    "Certificate",
    "Comparison",
    "Composed",
    "ComputationFailed",
    "DensityPair",
    "EdgeworthError",
    "Gaussian",
    "GaussianDP",
    "InvalidArgument",
    "Laplace",
    "Mechanism",
    "MissingExtra",
    "NotCertified",
    "PoissonSampled",
    "Profile",
    "RandomizedResponse",
    "Repeated",
    "TooLarge",
    "TradeOff",
    "Unsupported",
    "__version__",
    "account",
    "compare",
    "from_json",
    "to_json",
]
