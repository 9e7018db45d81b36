"""The distribution functions of one step: four numbers, each accurate on its own side."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy import stats

import edgeworth as ew
from edgeworth.losses import privacy_loss

sigmas = st.floats(0.2, 50)
thetas = st.floats(1e-3, 20)
epsilons = st.floats(1e-3, 20)
rates = st.floats(1e-4, 0.999)
bases = st.one_of(
    st.builds(ew.Gaussian, sigmas),
    st.builds(lambda theta: ew.Laplace(1.0, theta), thetas),
    st.builds(ew.RandomizedResponse, epsilons),
    st.builds(ew.ApproxDP, epsilons, st.floats(0, 0.3)),
)
steps = bases | st.builds(ew.PoissonSampled, bases, rates)
places = st.lists(st.floats(-30, 30), min_size=2, max_size=12, unique=True).map(np.sort)


@given(steps, places)
def test_monotone_and_complementary(step, loss):
    null_below, null_above, below, above = privacy_loss(step).distribution(loss)
    for law in (null_below, null_above, below, above):
        assert np.all((law >= 0) & (law <= 1 + 2e-15))
    for rising, falling in ((null_below, null_above), (below, above)):
        assert np.all(np.diff(rising) >= -1e-15)
        assert np.all(np.diff(falling) <= 1e-15)
        assert np.max(np.abs(rising + falling - 1)) < 2e-15


@given(steps, places)
def test_q_is_never_less_likely_to_exceed(step, loss):
    """Q[L > l] >= P[L > l]: the loss is larger under the alternative."""
    null_below, null_above, below, above = privacy_loss(step).distribution(loss)
    assert np.all(above >= null_above * (1 - 4e-15))
    assert np.all(below <= null_below * (1 + 4e-15))


@settings(max_examples=60)
@given(steps, places)
def test_q_is_p_weighted_by_the_exponential_of_the_loss(step, loss):
    """e^a P[a < L <= b] <= Q[a < L <= b] <= e^b P[a < L <= b] on every interval, both ends of the line included."""
    null_below, null_above, below, above = privacy_loss(step).distribution(loss)
    with np.errstate(over="ignore"):
        growth = np.exp(loss)
    slack = 1 + 1e-12  # of values that are themselves rounded; P[L > l] and Q[L <= l] carry all their digits
    assert np.all(growth * null_above <= above * slack)  # on {L > l}, dQ > e^l dP
    assert np.all(below <= growth * null_below * slack)  # on {L <= l}, dQ <= e^l dP


@pytest.mark.parametrize(
    "step",
    [
        ew.Gaussian(0.8),
        ew.Laplace(1.0, 2.0),
        ew.PoissonSampled(ew.Gaussian(0.8), 0.1),
        ew.PoissonSampled(ew.Laplace(1.0, 2.0), 0.1),
        ew.PoissonSampled(ew.ApproxDP(1.0, 0.2), 0.3),
        ew.RandomizedResponse(1.5),
    ],
)
def test_q_is_the_integral_of_the_exponential_of_the_loss_against_p(step):
    """Q[L > l] between the lower and upper Riemann–Stieltjes sums of e^l dP, on cells of width 1e-3."""
    loss = privacy_loss(step)
    low, high = max(loss.support[0], -8.0) - 0.5, min(loss.support[1], 12.0) + 0.5
    edges = np.arange(low, high, 1e-3)
    null_below, null_above, below, above = loss.distribution(edges)
    cells = np.where(null_below[1:] < 0.5, np.diff(null_below), -np.diff(null_above))
    from_left, from_right = np.exp(edges[:-1]) * cells, np.exp(edges[1:]) * cells
    tail = above[-1]
    for place in range(0, edges.size - 1, 997):
        slack = 1e-13
        assert from_left[place:].sum() + tail <= above[place] + slack
        assert above[place] <= from_right[place:].sum() + tail + slack
    del below


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 10.0, 100.0])
def test_atoms_belong_to_the_left(epsilon):
    """P[L <= l] contains an atom at l itself, and P[L > l] does not."""
    loss = privacy_loss(ew.RandomizedResponse(epsilon))
    at = np.array([np.nextafter(-epsilon, -np.inf), -epsilon, np.nextafter(epsilon, 0.0), epsilon])
    null_below, null_above, below, above = loss.distribution(at)
    truth, lie = 1 / (1 + math.exp(-epsilon)), math.exp(-epsilon) / (1 + math.exp(-epsilon))
    np.testing.assert_allclose(null_below, [0, truth, truth, 1], rtol=1e-15, atol=0)
    np.testing.assert_allclose(null_above, [1, lie, lie, 0], rtol=1e-15, atol=0)
    np.testing.assert_allclose(below, [0, lie, lie, 1], rtol=1e-15, atol=0)
    np.testing.assert_allclose(above, [1, truth, truth, 0], rtol=1e-15, atol=0)


@pytest.mark.parametrize("theta", [1e-3, 0.3, 3.0, 30.0])
def test_laplace_noise_has_an_atom_at_either_end(theta):
    loss = privacy_loss(ew.Laplace(1.0, theta))
    at = np.array([np.nextafter(-theta, -np.inf), -theta, np.nextafter(theta, 0.0), theta])
    null_below, null_above, below, above = loss.distribution(at)
    small = 0.5 * math.exp(-theta)
    np.testing.assert_allclose(null_below, [0, 0.5, 1 - small, 1], rtol=1e-15, atol=0)
    np.testing.assert_allclose(null_above, [1, 0.5, small, 0], rtol=1e-14, atol=0)
    np.testing.assert_allclose(below, [0, small, 0.5, 1], rtol=1e-14, atol=0)
    np.testing.assert_allclose(above, [1, 1 - small, 0.5, 0], rtol=1e-15, atol=0)


@pytest.mark.parametrize(("leak", "rate"), [(0.1, 0.3), (1e-6, 0.01), (0.5, 0.999)])
def test_what_only_p_could_produce_becomes_an_atom_of_the_sample(leak, rate):
    loss = privacy_loss(ew.PoissonSampled(ew.ApproxDP(1.0, leak), rate))
    floor = math.log1p(-rate) - math.log1p(-rate * leak)
    assert loss.support[0] == pytest.approx(floor, rel=1e-14)
    assert loss.null_only == 0.0
    assert loss.alternative_only == pytest.approx(rate * leak, rel=1e-15)
    null_below, _, below, _ = loss.distribution(np.array([floor - 1e-9, floor + 1e-9]))
    np.testing.assert_allclose(null_below, [0, leak], rtol=1e-13, atol=0)
    np.testing.assert_allclose(below, [0, (1 - rate) * leak / (1 - rate * leak)], rtol=1e-13, atol=0)


@pytest.mark.parametrize("sigma", [0.5, 2.0, 20.0])
@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.5])
def test_the_tails_of_noisy_sgd_to_thirteen_digits_down_to_1e_minus_250(sigma, rate):
    """P[L > l] = Phi(-x), x = (log(1 + (e^l - 1)/p))/mu + mu/2, and the mixture under Q, against mpmath."""
    mu = 1 / sigma
    x = np.concatenate([np.linspace(-8, 8, 17) + mu / 2, [12.0, 20.0, 33.0]])
    losses = np.log1p(rate * np.expm1(mu * x - mu * mu / 2))
    _, null_above, _, above = privacy_loss(ew.PoissonSampled(ew.Gaussian(sigma), rate)).distribution(losses)
    with mp.workdps(60):
        p, m = mpf(rate), 1 / mpf(sigma)
        for place, loss in enumerate(losses):
            whole = mp.log(1 + mp.expm1(mpf(loss)) / p)
            exact = [mp.ncdf(-(whole / m + m / 2)), mp.ncdf(-(whole / m - m / 2))]
            # An ulp of l moves x by (dx/dl) l eps, and log Phi(-x) by about x + 1 times that.
            slope = abs(float(mp.exp(loss) / (p * mp.exp(whole)) / m)) * abs(loss) + abs(x[place])
            allowed = 1e-15 * (4 + (abs(x[place]) + 1) * (slope + 1))
            assert float(abs(null_above[place] / exact[0] - 1)) <= allowed
            assert float(abs(above[place] / ((1 - p) * exact[0] + p * exact[1]) - 1)) <= allowed


DENSITIES = [
    (stats.norm(0, 1), stats.norm(1.3, 1), ew.Gaussian(1 / 1.3)),
    (stats.norm(5, 2), stats.norm(3, 2), ew.Gaussian(1.0)),
    (stats.laplace(0, 1), stats.laplace(2.0, 1), ew.Laplace(1.0, 2.0)),
]


@pytest.mark.parametrize(("null", "alternative", "known"), DENSITIES)
@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_two_densities_and_their_samples_have_the_tails_of_the_noise_they_are(null, alternative, known, rate):
    """Relative to each tail down to 1e-30; between the atoms of Laplace noise and around them."""
    pair = privacy_loss(ew.PoissonSampled(ew.DensityPair(null, alternative), rate))
    exact = privacy_loss(ew.PoissonSampled(known, rate))
    loss = np.concatenate([np.linspace(-2.5, 2.5, 41) + 1e-4, [5.0, 10.0, 12.0]])
    for found, truth in zip(pair.distribution(loss), exact.distribution(loss), strict=True):
        usual = truth > 1e-30
        np.testing.assert_allclose(found[usual], truth[usual], rtol=1e-11, atol=0)


def test_two_densities_of_which_neither_side_is_one_interval():
    """N(0, 1) against N(0, 2^2): {L > l} is |x| > t; sums over the nodes, to the weight of a node."""
    pair = privacy_loss(ew.DensityPair(stats.norm(0, 1), stats.norm(0, 2)))
    loss = np.array([-0.5, 0.0, 1.0, 3.0])
    t = np.sqrt((loss + math.log(2)) * 8 / 3)
    _, null_above, _, above = pair.distribution(loss)
    np.testing.assert_allclose(null_above, 2 * stats.norm.sf(t), rtol=0.2, atol=0)
    np.testing.assert_allclose(above, 2 * stats.norm.sf(t / 2), rtol=0.2, atol=0)
