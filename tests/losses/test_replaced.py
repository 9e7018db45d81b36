"""Samples under replace-one adjacency: the law of C_p(f), and that it bounds what it has to bound."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import edgeworth as ew
from edgeworth.curves import ApproxDPTradeOff, GaussianTradeOff, LaplaceTradeOff
from edgeworth.errors import Unsupported
from edgeworth.losses import TotalLoss, privacy_loss

LOG2, LOG3 = math.log(2), math.log(3)
POINT, SHARE = np.polynomial.legendre.leggauss(40)

bases = st.one_of(
    st.builds(ew.Gaussian, st.floats(0.2, 50)),
    st.builds(lambda theta: ew.Laplace(1.0, theta), st.floats(1e-3, 20)),
    st.builds(ew.DiscreteGaussian, st.floats(0.2, 30), st.integers(1, 5)),
    st.builds(ew.DiscreteLaplace, st.floats(0.2, 30), st.integers(1, 20)),
    st.builds(ew.RandomizedResponse, st.floats(1e-3, 20), st.integers(2, 6)),
    st.builds(ew.ApproxDP, st.floats(1e-3, 20), st.floats(0, 0.3)),
)
rates = st.floats(1e-4, 0.999)


def delta_by_tails(loss, epsilon):
    """E_P[(e^L - e^eps)_+] = integral of e^t P[L > t] over t > eps, by panels, to the end of the law."""
    top = min(loss.support[1], 60.0)
    edges = epsilon + np.geomspace(1e-6, max(top - epsilon, 1e-6), 60)
    edges = np.concatenate([[epsilon], edges])
    half = np.diff(edges)[:, None] / 2
    t = edges[:-1, None] + half * (POINT + 1)
    tail = loss.distribution(t.ravel())[1].reshape(t.shape)
    finite = float(np.sum(half * SHARE * np.exp(t) * tail))
    return (1 - loss.alternative_only) * finite + loss.alternative_only


CURVES = [
    (ew.Gaussian(0.5), GaussianTradeOff(2.0)),
    (ew.Gaussian(3.0), GaussianTradeOff(1 / 3)),
    (ew.Laplace(1.0, 2.0), LaplaceTradeOff(2.0)),
    (ew.Laplace(1.0, 0.1), LaplaceTradeOff(0.1)),
]


@pytest.mark.parametrize(("base", "curve"), CURVES)
@pytest.mark.parametrize("rate", [1e-3, 0.1, 0.8])
@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 0.05, 0.5])
def test_delta_of_one_step_is_the_amplified_one(base, curve, rate, epsilon):
    """p delta(log(1 + (e^eps - 1)/p)), for both samplers."""
    expected = rate * curve.profile()(math.log1p(math.expm1(epsilon) / rate))
    sample = privacy_loss(ew.PoissonSampled(base, rate, adjacency="replace"))
    assert delta_by_tails(sample, epsilon) == pytest.approx(expected, rel=1e-10, abs=1e-300)
    assert curve.subsample(rate).symmetrise().profile()(epsilon) == pytest.approx(expected, rel=1e-12, abs=1e-300)
    batch = privacy_loss(ew.SampledWithoutReplacement(base, int(rate * 1000), 1000))
    assert batch.rate == sample.rate
    assert np.array_equal(batch.distribution(np.linspace(-1, 1, 9)), sample.distribution(np.linspace(-1, 1, 9)))


@settings(max_examples=80)
@given(bases, rates, st.lists(st.floats(-6, 6), min_size=1, max_size=8))
def test_the_two_sides_are_mirror_images(base, rate, places):
    loss = privacy_loss(ew.PoissonSampled(base, rate, adjacency="replace"))
    l = np.array(places) + 1e-9 * math.pi  # off the atoms
    null_below, null_above, below, above = loss.distribution(l)
    back = loss.distribution(-l)
    np.testing.assert_allclose([null_below, null_above], [back[3], back[2]], rtol=1e-14, atol=0)
    np.testing.assert_allclose([below, above], [back[1], back[0]], rtol=1e-14, atol=0)
    assert loss.is_symmetric
    assert loss.null_only == loss.alternative_only
    for part in (null_below + null_above, below + above):
        assert np.max(np.abs(part - 1)) < 4e-15
    with np.errstate(over="ignore"):
        assert np.all(np.exp(l) * null_above <= above * (1 + 1e-12))
        assert np.all(below <= np.exp(l) * null_below * (1 + 1e-12))


@settings(max_examples=60)
@given(bases, rates)
def test_the_nodes_carry_both_laws(base, rate):
    loss = privacy_loss(ew.PoissonSampled(base, rate, adjacency="replace"))
    nodes = loss.nodes()
    assert abs(math.fsum(np.exp(nodes.log_weight)) - 1) < 1e-13
    assert abs(math.fsum(np.exp(nodes.log_weight + nodes.loss)) - 1) < 1e-13  # E_P[e^L] = 1
    rows = loss.tilted(np.array([0.0, 0.25, 0.75, 1.0]), 2, (0.0, 1.0))
    assert np.max(np.abs(rows[[0, 3], 0])) < 1e-14
    np.testing.assert_allclose(rows[1, [0, 2]], rows[2, [0, 2]], rtol=1e-9, atol=0)  # K(c) = K(1 - c)
    null, alternative = loss.cumulants(3).null, loss.cumulants(3).alternative
    np.testing.assert_allclose(alternative[:2], null[:2] * [-1, 1], rtol=1e-9, atol=0)


@settings(max_examples=60)
@given(bases, rates, st.floats(1e-6, 4))
def test_the_right_side_is_that_of_the_base(base, rate, y):
    """P[L > y] = P0[l > x] and Q[L > y] = (1-p) P0[l > x] + p Q0[l > x], x = log(1 + (e^y - 1)/p)."""
    y = y + 1e-9 * math.pi
    plain, loss = privacy_loss(base), privacy_loss(ew.PoissonSampled(base, rate, adjacency="replace"))
    _, null, _, alternative = plain.distribution(np.array([math.log1p(math.expm1(y) / rate)]))
    _, found_null, _, found = loss.distribution(np.array([y]))
    leak = plain.alternative_only
    kept = (1 - leak) / (1 - rate * leak)
    # An ulp of y moves x by an ulp of y/p at the most, and the logarithm of a tail by some hundred times that.
    allowed = 1e-13 * (1 + y / rate)
    assert found_null[0] == pytest.approx(kept * null[0], rel=allowed, abs=1e-300)
    assert found[0] == pytest.approx(kept * ((1 - rate) * null[0] + rate * alternative[0]), rel=allowed, abs=1e-300)


@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(11, 10), Fraction(5, 4), Fraction(3, 2), Fraction(4)])
@pytest.mark.parametrize("categories", [2, 5])
def test_atoms_against_fractions(ratio, categories):
    """A tenth of the records, odds 3 to 1: delta(log r) = p delta0(1 + (r-1)/p)."""
    p, lie = Fraction(1, 10), Fraction(1, categories + 2)
    inner = 1 + (ratio - 1) / p
    exact = p * (max(3 * lie - inner * lie, 0) + (categories - 2) * max(lie - inner * lie, 0))
    loss = privacy_loss(ew.SampledWithoutReplacement(ew.RandomizedResponse(LOG3, categories), 1, 10))
    _, null, _, alternative = loss.distribution(np.array([math.log(ratio)]))
    assert alternative[0] - float(ratio) * null[0] == pytest.approx(float(exact), rel=1e-13, abs=0)
    assert loss.lattice.first == -1
    assert loss.lattice.offset == 0
    assert loss.lattice.spacing == loss.support[1] == pytest.approx(math.log(Fraction(12, 10)), rel=1e-15)


# --- what actually runs, in exact fractions ---------------------------------------------------------------


def noisy_sum(total, numbers):
    """Whole-number noise with q = 1/2 around the total."""
    return [Fraction(1, 3) / 2 ** abs(k - total) for k in numbers]


def mixture(weights_and_laws):
    return [sum(w * law[i] for w, law in weights_and_laws) for i in range(len(weights_and_laws[0][1]))]


def poisson(records, p, numbers):
    parts = []
    for kept in itertools.product([0, 1], repeat=len(records)):
        weight = math.prod(p if one else 1 - p for one in kept)
        parts.append((weight, noisy_sum(sum(x for x, one in zip(records, kept, strict=True) if one), numbers)))
    return mixture(parts)


def batches(records, size, numbers):
    subsets = list(itertools.combinations(records, size))
    return mixture([(Fraction(1, len(subsets)), noisy_sum(sum(subset), numbers)) for subset in subsets])


def neighbours(count):
    for rest in itertools.product([0, 1, 2], repeat=count - 1):
        for x, y in itertools.permutations([0, 1, 2], 2):
            yield (x, *rest), (y, *rest)


@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(21, 20), Fraction(5, 4), Fraction(2)])
@pytest.mark.parametrize("sampler", ["poisson", "batch"])
def test_no_replacement_of_a_record_leaks_more(sampler, ratio):
    """Sums of records in {0, 1, 2}: replacing, adding or removing one moves the sum by at most 2."""
    numbers = range(-60, 67)
    noise = ew.DiscreteLaplace(1 / LOG2, sensitivity=2)
    if sampler == "poisson":
        step = ew.PoissonSampled(noise, 0.25, adjacency="replace")
        law = {records: poisson(records, Fraction(1, 4), numbers) for pair in neighbours(3) for records in pair}
    else:
        step = ew.SampledWithoutReplacement(noise, 1, 3)
        law = {records: batches(records, 1, numbers) for pair in neighbours(3) for records in pair}
    bound = privacy_loss(step).distribution(np.array([math.log(ratio)]))
    allowed = float(bound[3][0]) - float(ratio) * float(bound[1][0])
    worst = max(
        sum(max(q - ratio * p, 0) for p, q in zip(law[one], law[other], strict=True)) for one, other in neighbours(3)
    )
    assert float(worst) <= allowed * (1 + 1e-12) + 1e-17
    assert worst > 0 or allowed < 1e-15


# --- whole accounts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "step", [ew.Gaussian(1.0), ew.Laplace(1.0), ew.RandomizedResponse(1.0), ew.DiscreteGaussian(2.0)]
)
def test_accounts_of_few_steps_contain_the_amplified_delta(step):
    sample = ew.SampledWithoutReplacement(step, 1, 10)
    account, base = ew.account(sample), ew.account(step)
    for epsilon in (0.0, 0.05, 0.2):
        inner = base.delta(math.log1p(math.expm1(epsilon) / 0.1))
        found = account.delta(epsilon)
        assert found.certified
        assert found.lower <= 0.1 * inner.upper * (1 + 1e-12)
        assert 0.1 * inner.lower * (1 - 1e-12) <= found.upper


def test_both_directions_are_one():
    run = ew.SampledWithoutReplacement(ew.Gaussian(1.0), 1, 10) ** 3
    forward, backward = (ew.account(run, direction=way).delta(0.1) for way in ("forward", "backward"))
    assert forward.lower <= backward.upper
    assert backward.lower <= forward.upper
    assert TotalLoss.of(run).support == (-math.inf, math.inf)


@pytest.mark.parametrize("curve", [ApproxDPTradeOff(1.0, 0.2)])
def test_full_disclosure_keeps_its_share(curve):
    loss = privacy_loss(ew.SampledWithoutReplacement(ew.ApproxDP(1.0, 0.2), 1, 4))
    assert loss.null_only == loss.alternative_only == 0.25 * 0.2
    sample = curve.subsample(0.25).symmetrise()
    assert sample.profile().alternative_only == pytest.approx(loss.alternative_only, rel=1e-15)
    _, null, _, alternative = loss.distribution(np.array([0.1]))
    delta = 0.05 + 0.95 * (alternative[0] - math.exp(0.1) * null[0])
    assert delta == pytest.approx(sample.profile()(0.1), rel=1e-13)


def test_a_base_whose_directions_differ_is_refused():
    pair = ew.DensityPair(stats.norm(0, 1), stats.norm(1, 2))
    for sample in (ew.PoissonSampled(pair, 0.5, "replace"), ew.SampledWithoutReplacement(pair, 1, 2)):
        with pytest.raises(Unsupported) as refused:
            ew.account(sample)
        assert str(refused.value) == (
            f"no sound pair is known for a sample of {pair!r} when a record is replaced, for its two directions are "
            "not known to be one; sample Gaussian or Laplace noise, discrete noise or a response, or use "
            'PoissonSampled with adjacency="add-remove"'
        )
