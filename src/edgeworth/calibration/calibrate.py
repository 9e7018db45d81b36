"""The noise, rate or number of steps that meets a target, with the certified reading it achieves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeworth import validation
from edgeworth.calibration.asked import asked
from edgeworth.calibration.families import Family
from edgeworth.calibration.solve import Calibration
from edgeworth.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from edgeworth.account import Accountable
    from edgeworth.calibration.calibrated import Calibrated
    from edgeworth.curves import TradeOff

__all__ = ["calibrate"]


def calibrate(
    family: Callable[..., Accountable],
    *,
    epsilon: ArrayLike | None = None,
    delta: ArrayLike | None = None,
    mu: float | None = None,
    tpr: ArrayLike | None = None,
    fpr: ArrayLike | None = None,
    advantage: float | None = None,
    tradeoff: TradeOff | None = None,
    smallest_error: float = 1e-10,
    integer: bool | None = None,
    tolerance: float = 1e-6,
) -> Calibrated:
    """The least private member of a one-parameter family that certainly meets all targets.

    `family` gives a mechanism or a run. It takes a positive number, or a whole number (found out by itself, unless
    `integer` says so), and must be monotone: which way is found out too. Targets: `epsilon` with `delta`; `mu`, over
    tests with both errors at least `smallest_error`; `tpr` with `fpr`; `advantage`; `tradeoff`, a curve to stay above.
    Pairs may be arrays.

    The answer meets the targets by certified upper ends. A real parameter is within `tolerance` of one that does not
    (relatively); a whole number is next to one that does not.

    >>> import edgeworth as ew
    >>> found = ew.calibrate(lambda sigma: ew.Gaussian(sigma) ** 100, epsilon=1.0, delta=1e-5)
    >>> round(found.value, 4), found.achieved["epsilon"].upper_bound() <= 1.0
    (37.3063, True)
    >>> ew.calibrate(lambda steps: ew.Gaussian(40.0) ** steps, epsilon=1.0, delta=1e-5).value
    114
    """
    targets = asked(epsilon, delta, mu, tpr, fpr, advantage, tradeoff, smallest_error)
    if not 1e-12 <= validation.positive(tolerance=tolerance) <= 0.5:
        raise InvalidArgument(f"tolerance={tolerance!r} is out of range; give a number between 1e-12 and 0.5")
    return Calibration(Family(family, integer=integer), targets, tolerance).run()
