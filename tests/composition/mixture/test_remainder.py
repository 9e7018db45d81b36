"""1 - delta as a mixture, and f as a difference from it: against sums of normal tails with fifty digits."""

import mpmath
import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition import contour, mixture, moments
from edgeworth.composition.answered import Ends, Forwarding
from edgeworth.composition.by_profile import ByProfile
from edgeworth.composition.mixture.answers import by_answers
from edgeworth.composition.mixture.atoms import atoms_of
from edgeworth.composition.mixture.remainder import Remainder, at_a_glance
from edgeworth.errors import Unsupported
from edgeworth.losses import TotalLoss

mpmath.mp.dps = 50
SIGMA, RESPONSE, N = 12.5, 3.022, 10


class Blurred(Forwarding):
    """Answers that are certain up to a share of themselves."""

    def __init__(self, answers, share):
        super().__init__(answers)
        self.share, self.read = share, 0

    def delta(self, direction, epsilon):
        self.read += epsilon.size
        ends = super().delta(direction, epsilon)
        return Ends(ends.lower * (1 - self.share), np.minimum(ends.upper * (1 + self.share), 1.0))


def remainder(share=0.0):
    others = Blurred(contour.prepared(TotalLoss.of(ew.Gaussian(SIGMA))), share)
    atoms = atoms_of(TotalLoss.of(ew.RandomizedResponse(RESPONSE) ** N), 100)
    return Remainder(atoms, at_a_glance(others), by_answers(others)), others


def values():
    """All losses of the responses, with their masses under P and under Q."""
    e = mpmath.mpf(RESPONSE)
    yes = mpmath.exp(e) / (1 + mpmath.exp(e))
    for k in range(N + 1):
        ways = mpmath.binomial(N, k)
        yield (2 * k - N) * e, ways * yes ** (N - k) * (1 - yes) ** k, ways * yes**k * (1 - yes) ** (N - k)


def left_of_one(t):
    """1 - delta(t): both directions are the same here."""
    mu = 1 / mpmath.mpf(SIGMA)
    return mpmath.fsum(
        q * mpmath.ncdf((t - loss) / mu - mu / 2) + mpmath.exp(t) * p * mpmath.ncdf((loss - t) / mu - mu / 2)
        for loss, p, q in values()
    )


def least_error(alpha):
    """f(alpha), by the test whose threshold is the root of its type I error."""
    mu, values_ = 1 / mpmath.mpf(SIGMA), list(values())

    def rejected(t):
        return mpmath.fsum(p * mpmath.ncdf((loss - t) / mu - mu / 2) for loss, p, _ in values_)

    low, high = mpmath.mpf(-40), mpmath.mpf(40)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if rejected(middle) > alpha else (low, middle)
    return mpmath.fsum(q * mpmath.ncdf((low - loss) / mu - mu / 2) for loss, _, q in values_)


@pytest.mark.parametrize("share", [0.0, 1e-6])
@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
def test_ends_hold_fifty_digits_and_have_relative_digits(direction, share):
    made = remainder(share)[0]
    t = np.array([-300.0, -31.0, -18.13, -6.044, -0.01, 0.0, 0.3, 6.05, 12.088, 29.0, 250.0])
    ends = made(direction, t)
    for x, low, high in zip(t.tolist(), *ends, strict=True):
        assert low <= left_of_one(mpmath.mpf(x)) <= high
        assert high - low <= (1e-7 if share else 4e-8) * high


@pytest.mark.parametrize("alpha", [5e-8, 3e-5, 1e-3, 0.2])
def test_a_small_f_has_its_digits(alpha):
    made, others = remainder(1e-9)
    total = TotalLoss.of(ew.RandomizedResponse(RESPONSE) ** N * ew.Gaussian(SIGMA))
    nothing = moments.prepared(total)
    found = ByProfile(nothing, 1e-6, slow=True, tests_last=True, remainder=made).tradeoff("forward", np.array([alpha]))
    assert found.lower[0] <= least_error(mpmath.mpf(alpha)) <= found.upper[0]
    assert found.upper[0] - found.lower[0] <= 1e-6 * found.upper[0]
    assert others.read < 300


@pytest.mark.parametrize("alpha", [1e-10, 5e-8, 3e-5, 0.2])
def test_auto_has_six_digits_of_a_small_f_of_gaussian_noise_beside_responses(alpha):
    found = ew.account(ew.RandomizedResponse(RESPONSE) ** N * ew.Gaussian(SIGMA), direction="forward").tradeoff(alpha)
    assert found.lower <= least_error(mpmath.mpf(alpha)) <= found.upper
    assert found.upper - found.lower <= 1e-6 * found.upper


def test_terms_that_are_next_to_nothing_are_not_read():
    made, others = remainder()
    made("forward", np.array([3.0]))  # between the values 0 and 6.044, both farther off than the noise reaches
    assert others.read <= 2


@pytest.mark.parametrize(
    ("mechanism", "alpha"),
    [
        (ew.PoissonSampled(ew.Gaussian(8.0), rate=1.3e-5) ** 303 * ew.RandomizedResponse(3.022) ** 10, 5.26e-8),
        (
            ew.PoissonSampled(ew.Gaussian(5.436), rate=2.16e-5) ** 332
            * ew.RandomizedResponse(4.704) ** 8
            * ew.RandomizedResponse(0.037) ** 20,
            1.5e-6,
        ),
    ],
)
def test_auto_has_six_digits_of_a_small_f_beside_responses(mechanism, alpha):
    found = ew.account(mechanism, direction="forward").tradeoff(alpha)
    assert found.upper - found.lower <= 1e-6 * found.upper
    rough = moments.prepared(TotalLoss.of(mechanism)).tradeoff("forward", np.array([alpha]))
    assert found.lower <= rough.upper[0]
    assert rough.lower[0] <= found.upper


def test_it_is_for_samples_beside_listed_values():
    sample, response = ew.PoissonSampled(ew.Gaussian(2.0), rate=0.01), ew.RandomizedResponse(0.5)
    for other in (sample**3, sample**2 * response, ew.Gaussian(2.0) * response, sample**3 * ew.Laplace(2.0)):
        assert not mixture.has_remainder(TotalLoss.of(other))
    with pytest.raises(Unsupported):
        mixture.remainder_of(TotalLoss.of(sample**2 * response))
