"""Arguments that mean nothing are refused by name, with their value and the way out."""

import re

import numpy as np
import pytest

from edgeworth.curves import (
    ApproxDPTradeOff,
    GaussianTradeOff,
    Identity,
    LaplaceTradeOff,
    PiecewiseLinear,
    Rescaled,
    Subsampled,
    from_points,
)
from edgeworth.errors import InvalidArgument

G = GaussianTradeOff(1.0)

TABLE = [
    (lambda: GaussianTradeOff(-1.0), "mu=-1.0 is out of range; give a finite number >= 0"),
    (lambda: GaussianTradeOff(np.inf), "mu=inf is out of range; give a finite number >= 0"),
    (lambda: GaussianTradeOff(np.nan), "mu=nan is out of range; give a finite number >= 0"),
    (lambda: GaussianTradeOff("1"), "mu='1' is not a number; give a finite number >= 0"),
    (lambda: LaplaceTradeOff(-0.5), "theta=-0.5 is out of range; give a finite number >= 0"),
    (lambda: ApproxDPTradeOff(-1.0, 0.1), "epsilon=-1.0 is out of range; give a finite number >= 0"),
    (lambda: ApproxDPTradeOff(1.0, 1.5), "delta=1.5 is out of range; give a number between 0 and 1"),
    (lambda: Subsampled(G, 1.1), "rate=1.1 is out of range; give a number between 0 and 1"),
    (lambda: Subsampled(G, 0.0), "rate=0.0 is out of range; a curve sampled at rate 0 is Identity()"),
    (lambda: G.subsample(-0.1), "rate=-0.1 is out of range; give a number between 0 and 1"),
    (lambda: Rescaled(G, null_only=2.0), "null_only=2.0 is out of range; give a number between 0 and 1"),
    (
        lambda: Rescaled(G, alternative_only=np.nan),
        "alternative_only=nan is out of range; give a number between 0 and 1",
    ),
    (lambda: G(1.5), "alpha=1.5 is out of range; give numbers between 0 and 1"),
    (lambda: G([0.5, -0.1]), "alpha=-0.1 is out of range; give numbers between 0 and 1"),
    (lambda: G(np.nan), "alpha=nan has a nan; give real numbers"),
    (lambda: G("half"), "alpha='half' is not a number or an array of numbers"),
    (lambda: G.power(2.0), "alpha=2.0 is out of range; give numbers between 0 and 1"),
    (lambda: G.profile()(np.nan), "epsilon=nan has a nan; give real numbers"),
    (lambda: G.profile().log(np.nan), "epsilon=nan has a nan; give real numbers"),
    (lambda: G.profile().epsilon(-1e-5), "delta=-1e-05 is out of range; give numbers between 0 and 1"),
    (lambda: G.piecewise_linear(points=1), "points=1 is out of range; give an int >= 2"),
    (lambda: G.piecewise_linear(points=10.0), "points=10.0 is not a whole number; give an int >= 0"),
    (
        lambda: G.piecewise_linear(smallest=0.0),
        "smallest=0.0 is out of range; give a number between 0 and 0.5",
    ),
    (
        lambda: PiecewiseLinear([0, 1], [1, 0.5, 0]),
        "alpha, beta, power, acceptance have shapes (2,), (3,), (3,), (2,); give equal lengths >= 2",
    ),
    (
        lambda: PiecewiseLinear([0.1, 1], [0.9, 0]),
        "the vertices go from (0.1, 0.9) to (1.0, 0.0); start at alpha=0.0 and end at (1.0, 0.0)",
    ),
    (
        lambda: PiecewiseLinear([0, 0.5, 0.25, 1], [1, 0.25, 0.5, 0]),
        "alpha must not decrease and beta must not increase; sort the vertices by alpha",
    ),
    (
        lambda: PiecewiseLinear([0, 0.25, 0.5, 1], [1, 0.25, 0.5, 0]),
        "alpha must not decrease and beta must not increase; sort the vertices by alpha",
    ),
    (
        lambda: PiecewiseLinear([0, 0.25, 0.5, 1], [1, 0.5, 0.4999, 0]),
        (
            "vertices 1, 2, 3 turn the wrong way: not convex; "
            "use PiecewiseLinear.hull for the largest convex function below the points"
        ),
    ),
    (lambda: PiecewiseLinear.hull([0.5], [np.nan]), "beta=[nan] has a nan; give real numbers"),
    (
        lambda: from_points([0.0, 1.0], [0.5], symmetric=True),
        "epsilons, deltas have shapes (2,), (1,); give equal lengths",
    ),
    (
        lambda: from_points([-1.0], [0.9], symmetric=True),
        "epsilons=-1.0 is out of range; give numbers >= 0, or symmetric=False",
    ),
    (
        lambda: from_points([-1.0], [0.5], symmetric=False),
        "deltas=0.5 at epsilon -1.0 is below 1 - e^epsilon; no profile goes there",
    ),
]


@pytest.mark.parametrize(("call", "message"), TABLE, ids=[message[:40] for _, message in TABLE])
def test_message(call, message):
    with pytest.raises(InvalidArgument, match=f"^{re.escape(message)}$"):
        call()


@pytest.mark.parametrize("value", [G, Identity(), PiecewiseLinear([0, 1], [1, 0]), G.profile()])
def test_values_are_frozen(value):
    with pytest.raises(AttributeError, match=r"cannot assign to field|has no setter"):
        value.mu = 2.0


def test_stored_arrays_are_read_only():
    f = PiecewiseLinear([0, 0.25, 1], [1, 0.25, 0])
    with pytest.raises(ValueError, match="read-only"):
        f.alpha[0] = 0.5


def test_the_slack_is_some_ulps_and_not_more():
    third = 1 / 3
    PiecewiseLinear([0, third, 1], [1, 1 - third, 0])
    PiecewiseLinear([0, third, 1], [1, np.nextafter(1 - third, 1), 0])
    with pytest.raises(InvalidArgument, match=r"^vertices 0, 1, 2 turn the wrong way"):
        PiecewiseLinear([0, third, 1], [1, (1 - third) * (1 + 1e-13), 0])
