"""Groups of records: f^(k) = 1 - (1 - f) o … o (1 - f), exact where there is a formula, never optimistic elsewhere."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.curves import (
    ApproxDPTradeOff,
    GaussianTradeOff,
    Group,
    Identity,
    LaplaceTradeOff,
    PiecewiseLinear,
    Subsampled,
    group,
)
from edgeworth.errors import InvalidArgument, TooLarge

ALPHAS = np.concatenate([[0.0], np.geomspace(1e-250, 0.5, 60), 1 - np.geomspace(0.45, 1e-12, 25), [1.0]])
FEW = np.concatenate([[0.0], np.geomspace(1e-30, 0.5, 9), [0.9, 1 - 1e-9, 1.0]])
EPSILONS = np.array([-20.0, -3.0, -0.5, -1e-3, 0.0, 1e-3, 0.2, 1.0, 3.0, 8.0])

LAW = settings(max_examples=20, deadline=None)
curves = st.one_of(
    st.builds(Identity),
    st.builds(GaussianTradeOff, st.floats(1e-3, 4)),
    st.builds(LaplaceTradeOff, st.floats(1e-3, 4)),
    st.builds(ApproxDPTradeOff, st.floats(0, 3), st.floats(0, 0.2)),
    st.builds(Subsampled, st.builds(GaussianTradeOff, st.floats(0.1, 3)), st.floats(1e-2, 0.99)),
    st.builds(lambda mu, p: Subsampled(GaussianTradeOff(mu), p).symmetrise(), st.floats(0.1, 3), st.floats(1e-2, 0.99)),
)
broken_lines = st.lists(st.tuples(st.floats(1e-6, 1 - 1e-6), st.floats(0, 1)), min_size=1, max_size=6).map(
    lambda points: PiecewiseLinear.hull([p[0] for p in points], [p[1] for p in points])
)
sizes = st.integers(1, 6)


@given(curves | broken_lines)
def test_one_record_is_no_group(f):
    assert f.group(1) is f


@pytest.mark.parametrize("size", [2, 3, 10, 10**6])
def test_shifts_of_log_concave_noise_add_up(size):
    assert GaussianTradeOff(0.25).group(size) == GaussianTradeOff(0.25 * size)
    assert LaplaceTradeOff(0.25).group(size) == LaplaceTradeOff(0.25 * size)
    assert Identity().group(size) == Identity()


# The generic code, which has no formula to lean on, on both sides of one.
@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 2.5])
@pytest.mark.parametrize("size", [2, 3, 7])
def test_the_ends_enclose_the_gaussian_curve(mu, size):
    exact = GaussianTradeOff(mu * size)
    lower, upper = (Group(GaussianTradeOff(mu), size, end, 1e-13) for end in ("lower", "upper"))
    truth = exact(ALPHAS)
    slack = 1e-13  # of the exact curve's own evaluation
    assert np.all(lower(ALPHAS) <= truth * (1 + slack))
    assert np.all(truth * (1 - slack) <= upper(ALPHAS))
    for usual, width in ((truth > 1e-6, 1e-6), (truth > 1e-290, 1e-3)):
        np.testing.assert_allclose(lower(ALPHAS)[usual], truth[usual], rtol=width, atol=0)
        np.testing.assert_allclose(upper(ALPHAS)[usual], truth[usual], rtol=width, atol=0)


@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 2.5])
@pytest.mark.parametrize("size", [2, 3, 7])
def test_the_profiles_of_the_ends_enclose_that_of_the_gaussian_curve(mu, size):
    exact = GaussianTradeOff(mu * size).profile()
    lower, upper = (Group(GaussianTradeOff(mu), size, end, 1e-13).profile() for end in ("lower", "upper"))
    epsilon = np.concatenate([EPSILONS, mu * size * np.array([0.1, 1.0, 5.0, 20.0])])
    truth = exact(epsilon)
    usual = truth > 1e-200
    assert np.all(upper(epsilon) <= truth * (1 + 1e-12))
    assert np.all(truth * (1 - 1e-12) <= lower(epsilon))
    np.testing.assert_allclose(lower(epsilon)[usual], truth[usual], rtol=1e-6, atol=0)
    np.testing.assert_allclose(upper(epsilon)[usual], truth[usual], rtol=1e-6, atol=0)
    for delta in (1e-2, 1e-5, 1e-30):
        assert upper.epsilon(delta) <= exact.epsilon(delta) * (1 + 1e-12) <= lower.epsilon(delta) * (1 + 3e-12)
        assert lower.epsilon(delta) == pytest.approx(upper.epsilon(delta), rel=1e-6)


@pytest.mark.parametrize("theta", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("size", [2, 5])
def test_the_profiles_of_the_ends_enclose_that_of_the_laplace_curve(theta, size):
    """Straight parts and a bounded loss: the table of slopes has gaps here, the bounds have none."""
    exact = LaplaceTradeOff(theta * size).profile()
    lower, upper = (Group(LaplaceTradeOff(theta), size, end, 1e-13).profile() for end in ("lower", "upper"))
    epsilon = np.concatenate([EPSILONS, theta * size * np.array([0.1, 0.5, 0.9])])
    truth = exact(epsilon)
    assert np.all(upper(epsilon) <= truth * (1 + 1e-12))
    assert np.all(truth * (1 - 1e-12) <= lower(epsilon))
    np.testing.assert_allclose(lower(epsilon), upper(epsilon), rtol=1e-2, atol=1e-4)


def response_group(truth, size, alpha):
    """f^(size)(alpha) of a response with odds truth to 1, in fractions."""

    def f(x):
        return max(1 - truth * x, (1 - x) / truth)

    x = alpha
    for _ in range(size):
        x = 1 - f(x)
    return 1 - x


def response_delta(truth, size, ratio):
    """sup_alpha 1 - f^(size)(alpha) - ratio alpha: at a vertex, where some step meets the fixed point 1/(1 + truth)."""
    vertices, at = [Fraction(0), Fraction(1)], Fraction(1, 1 + truth)
    for _ in range(size):
        vertices.append(at)
        at = at / truth if at / truth <= Fraction(1, 1 + truth) else 1 - truth * (1 - at)
    return max(1 - response_group(truth, size, v) - ratio * v for v in vertices)


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("generic", [False, True])
def test_randomized_response_against_fractions(size, generic):
    base = ApproxDPTradeOff(math.log(3))
    lower, upper = ((Group if generic else group)(base, size, end, 1e-14) for end in ("lower", "upper"))
    for alpha in (Fraction(1, 1000), Fraction(1, 36), Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), Fraction(15, 16)):
        exact = float(response_group(3, size, alpha))
        assert lower(float(alpha)) <= exact * (1 + 1e-14)
        assert exact * (1 - 1e-14) <= upper(float(alpha))
        assert lower(float(alpha)) == pytest.approx(upper(float(alpha)), rel=1e-11)
    for ratio in (Fraction(1, 5), Fraction(1), Fraction(2), Fraction(8), Fraction(3**size)):
        exact = float(response_delta(3, size, ratio))
        epsilon = math.log(ratio)
        assert upper.profile()(epsilon) <= exact * (1 + 1e-13) + 1e-15
        assert exact * (1 - 1e-13) <= lower.profile()(epsilon) + 1e-15
        assert lower.profile()(epsilon) == pytest.approx(
            upper.profile()(epsilon), rel=0.2 if generic else 1e-12, abs=2e-13
        )


@pytest.mark.parametrize("size", [2, 4])
def test_the_classical_bound_is_never_beaten(size):
    """(eps, delta) for one record is (k eps, delta (e^(k eps) - 1)/(e^eps - 1)) for k of them."""
    epsilon, delta = 0.3, 1e-6
    classical = delta * math.expm1(size * epsilon) / math.expm1(epsilon)
    found = ApproxDPTradeOff(epsilon, delta).group(size).profile()(size * epsilon)
    assert found == pytest.approx(classical, rel=1e-9)


@LAW
@given(curves | broken_lines, st.integers(2, 5))
def test_a_group_is_a_trade_off_function(f, size):
    g = f.group(size)
    values = g(FEW)
    assert np.all((values >= 0) & (values <= 1 - FEW))
    assert np.all(np.diff(values) <= 1e-12)
    before, after = np.diff(FEW)[1:], np.diff(FEW)[:-1]
    chord = (before * values[:-2] + after * values[2:]) / (before + after)
    assert np.all(values[1:-1] <= chord * (1 + 1e-9) + 1e-13)


@LAW
@given(curves | broken_lines, st.integers(1, 4))
def test_a_larger_group_is_less_private(f, size):
    smaller, larger = f.group(size), f.group(size + 1)
    assert np.all(larger(FEW) <= smaller(FEW) * (1 + 1e-11) + 1e-14)
    assert np.all(larger.profile()(EPSILONS) >= smaller.profile()(EPSILONS) * (1 - 2e-2) - 1e-4)


@LAW
@given(curves | broken_lines, st.integers(2, 4), st.floats(0.2, 0.99))
def test_order_is_preserved(f, size, rate):
    """rate f + (1 - rate) Id >= f."""
    more = f.subsample(rate)
    assert np.all(group(f, size, "lower")(FEW) <= group(more, size, "upper")(FEW) * (1 + 1e-11) + 1e-14)


@LAW
@given(curves | broken_lines, st.integers(2, 3), st.integers(2, 3))
def test_groups_of_groups(f, one, other):
    nested, flat = f.group(one).group(other), f.group(one * other)
    np.testing.assert_allclose(nested(FEW), flat(FEW), rtol=1e-6, atol=1e-12)


@LAW
@given(curves | broken_lines, st.integers(2, 5))
def test_the_inverse_of_a_group_is_the_group_of_the_inverse(f, size):
    one, other = f.group(size).inverse(), f.inverse().group(size)
    inner = FEW[(FEW > 1e-9) & (FEW < 1 - 1e-9)]
    np.testing.assert_allclose(one(inner), other(inner), rtol=1e-6, atol=1e-10)


@LAW
@given(curves, st.integers(2, 4))
def test_fenchel_young(f, size):
    """The profile of the lower end lies above every line of that end: duality is never optimistic."""
    g = group(f, size, "lower", 0.0)
    delta = g.profile()(EPSILONS)[:, None]
    gain = g.power(FEW) - np.exp(EPSILONS)[:, None] * FEW
    assert np.all(gain <= delta * (1 + 1e-11) + 1e-14)


@pytest.mark.parametrize("size", [0, -1, 2.0, True, None])
def test_a_size_is_a_count(size):
    with pytest.raises(InvalidArgument, match=r"^size=.*(is not a whole number; give an int >= 0|give an int >= [01])"):
        GaussianTradeOff(1.0).group(size)


def test_a_size_of_nobody_is_refused():
    with pytest.raises(InvalidArgument) as refused:
        ew.account(ew.Gaussian(1.0)).group(0)
    assert str(refused.value) == "size=0 is out of range; give an int >= 1, the records of a group"


def test_a_very_large_group_of_a_curve_without_formula_is_refused():
    with pytest.raises(TooLarge) as refused:
        GaussianTradeOff(1.0).subsample(0.5).group(10_001)
    assert str(refused.value) == (
        "size=10001 is more than 10000, and a curve without a formula takes that many steps; give a smaller group"
    )


# --- accounts ---------------------------------------------------------------------------------------------


def test_an_account_of_gaussian_noise_for_a_group_is_one_of_less_noise():
    found = ew.account(ew.Gaussian(8.0) ** 4).group(4)
    exact = ew.account(ew.Gaussian(1.0))
    for delta in (1e-2, 1e-8, 1e-60):
        assert found.epsilon(delta).lower <= exact.epsilon(delta).upper
        assert exact.epsilon(delta).lower <= found.epsilon(delta).upper
        assert found.epsilon(delta).upper_bound() == pytest.approx(exact.epsilon(delta).value, rel=1e-10)
    assert found.group_size == 4
    assert found.certificate.notes == ("for groups of 4 records",)
    assert found.group(2).group_size == 8


@pytest.mark.parametrize(
    "mechanism",
    [
        ew.RandomizedResponse(0.4) ** 5,
        ew.PoissonSampled(ew.Gaussian(1.0), 0.2),
        ew.Laplace(2.0) ** 2,
        ew.SampledWithoutReplacement(ew.RandomizedResponse(1.0, 3), 1, 4) ** 2,
    ],
)
def test_brackets_of_a_group_stay_in_order_and_hold_what_the_value_says(mechanism):
    account = ew.account(mechanism)
    found = account.group(3)
    assert found.adjacency == account.adjacency
    for one, many in (
        (account.delta(EPSILONS), found.delta(EPSILONS)),
        (account.epsilon([1e-3, 1e-6]), found.epsilon([1e-3, 1e-6])),
    ):
        assert many.certified
        assert np.all(many.lower <= many.value)
        assert np.all(many.value <= many.upper)
        assert np.all(many.upper >= one.lower)
    f = account.tradeoff(0.01)
    assert found.tradeoff(0.01).lower <= account.tradeoff(1 - account.tradeoff(1 - f.upper).upper).upper


def test_an_estimate_stays_one():
    found = ew.account(ew.Laplace(1.0) ** 30, method="clt").group(2).epsilon(1e-5)
    assert not found.certified
    assert (found.lower, found.upper) == (0.0, math.inf)


def test_one_direction_is_for_records_that_all_move_one_way():
    step = ew.PoissonSampled(ew.Gaussian(1.0), 0.3)
    ways = {way: ew.account(step, direction=way).group(2).delta(0.5) for way in ("forward", "backward", "both")}
    assert ways["both"].upper >= max(ways["forward"].lower, ways["backward"].lower)
