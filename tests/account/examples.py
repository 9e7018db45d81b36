"""What the tests of accounts share: methods, grids of arguments, and random mechanisms that are quick to compose."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from tests.strategies import rates

import edgeworth as ew

ESTIMATES = ["clt", "edgeworth", "cornish-fisher", "saddlepoint"]
METHODS = ["auto", *ESTIMATES]
ALPHAS = np.concatenate([[0.0], np.geomspace(1e-12, 0.5, 40), 1 - np.geomspace(0.45, 1e-6, 25), [1.0]])
DELTAS = np.append(ALPHAS[::4], 1.0)  # fewer: a certified epsilon is sought, one at a time
EPSILONS = np.array([-8.0, -2.0, -0.3, 0.0, 0.2, 1.0, 3.0, 9.0])
SGD = ew.PoissonSampled(ew.Gaussian(1.0), 0.05)

# An account by recursion takes a second: few examples, and no shrinking, which would ask for hundreds.
few = settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    derandomize=True,
)
many = settings(few, max_examples=25)

noise = st.one_of(
    st.builds(ew.Gaussian, st.floats(0.4, 30)),
    st.builds(ew.Laplace, st.floats(0.3, 30)),
    st.builds(ew.RandomizedResponse, st.floats(1e-3, 4)),
)
smooth_steps = st.builds(
    ew.PoissonSampled,
    st.builds(ew.Gaussian, st.floats(0.4, 30)),
    rates.filter(lambda rate: rate in (0, 1) or rate > 1e-5),
)
steps = noise | smooth_steps | st.builds(ew.PoissonSampled, noise, st.floats(1e-4, 1))
modest = st.builds(lambda a, n, b, k: a**n * b**k, steps, st.integers(1, 12), noise, st.integers(0, 2))
