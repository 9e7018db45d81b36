"""The lattice against closed forms, exact rationals, integrals to many digits, the other engines, and itself."""

import functools
import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import edgeworth as ew
from edgeworth.composition import contour, lattice, recursion
from edgeworth.composition.lattice.answers import LatticeAnswers
from edgeworth.errors import Unsupported
from edgeworth.losses import TotalLoss

DIRECTIONS = ["forward", "backward", "both"]


def sgd(sigma, rate, n):
    return ew.PoissonSampled(ew.Gaussian(sigma), rate) ** n


def answers(mechanism):
    return LatticeAnswers(TotalLoss.of(mechanism))


@functools.cache
def shared_answers(mechanism):
    """The same answers for every test that reads them elsewhere."""
    return answers(mechanism)


def read(made, what, direction, argument):
    ends = getattr(made, what)(direction, np.array([argument]))
    return float(ends.lower[0]), float(ends.upper[0])


def narrow(ends, width):
    return 0 <= ends[1] - ends[0] <= width * ends[1]


# --- Gaussian composition: a closed form in every tail


def gaussian_delta(mu, epsilon):
    mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
    return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_gaussian_readings_are_enclosed(direction):
    made, mu = shared_answers(ew.GaussianDP(1.0) ** 3), mpmath.sqrt(3)
    with mpmath.workdps(40):
        for delta in (1e-3, 1e-9, 1e-30):
            lower, upper = read(made, "epsilon", direction, delta)
            assert gaussian_delta(mu, lower) >= delta >= gaussian_delta(mu, upper)
            assert narrow((lower, upper), 1e-6)
            ends = read(made, "delta", direction, upper)
            assert ends[0] <= gaussian_delta(mu, upper) <= ends[1]
            assert narrow(ends, 1e-6)
        for alpha in (1e-10, 0.01, 0.4, 0.9, 1 - 1e-6):
            ends = read(made, "tradeoff", direction, alpha)
            quantile = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * mpmath.mpf(alpha))
            assert ends[0] <= mpmath.ncdf(quantile - mu) <= ends[1]
            assert narrow(ends, 1e-6)


# --- exact lattices: rational arithmetic is the truth


def rational_delta(ratios, epsilon_ratio):
    """Delta of randomized responses with e^eps = r rational, at e^eps rational: sums over all answers."""
    total = Fraction(0)
    for signs in itertools.product((0, 1), repeat=len(ratios)):
        null = alternative = Fraction(1)
        for sign, r in zip(signs, ratios, strict=True):
            truth, lie = r / (1 + r), 1 / (1 + r)
            null, alternative = null * (lie if sign else truth), alternative * (truth if sign else lie)
        total += max(alternative - epsilon_ratio * null, Fraction(0))
    return total


@pytest.mark.parametrize("powers", [(1,) * 7, (1, 1, 1, 2, 2), (1, 3, 3, 3)])
def test_responses_by_exact_rationals(powers):
    ratio = Fraction(3, 2)
    mechanism = math.prod(
        (ew.RandomizedResponse(k * math.log(1.5)) for k in powers[1:]), start=ew.RandomizedResponse(math.log(1.5))
    )
    made = answers(mechanism)
    assert made.exact
    for top in (Fraction(1), Fraction(7, 5), Fraction(3), ratio ** sum(powers) * Fraction(999, 1000)):
        truth = rational_delta([ratio**k for k in powers], top)
        # ln(3/2) and ln(top) were rounded to doubles: a few ulps of delta's argument
        lower, upper = read(made, "delta", "both", math.log(top))
        slope = float(top) / max(float(truth), 1e-300)
        assert lower * (1 - 1e-14 * (1 + slope)) <= truth <= upper * (1 + 1e-14 * (1 + slope))
        assert narrow((lower, upper), 1e-9)


def test_discrete_noise_is_exact():
    made = answers(ew.DiscreteLaplace(scale=2.0, sensitivity=3) ** 6)
    assert made.exact
    for delta in (1e-2, 1e-6, 1e-10):
        assert narrow(read(made, "epsilon", "both", delta), 1e-9)
    noise = answers(ew.DiscreteGaussian(scale=4.0, sensitivity=1) ** 3)
    with mpmath.workdps(40):
        weight = {k: mpmath.exp(-mpmath.mpf(k * k) / 32) for k in range(-160, 161)}
        whole = sum(weight.values())
        three = {0: mpmath.mpf(1)}
        for _ in range(3):
            step = {}
            for a, p in three.items():
                for k, w in weight.items():
                    if p * w > mpmath.mpf(10) ** -60:
                        step[a + k] = step.get(a + k, 0) + p * w / whole
            three = step
        for epsilon in (0.0, 0.5, 2.0):
            u = mpmath.exp(mpmath.mpf(epsilon))
            truth = sum(p * max(mpmath.exp(mpmath.mpf(2 * k - 3) / 32) - u, 0) for k, p in three.items())
            lower, upper = read(noise, "delta", "forward", epsilon)
            assert lower <= truth <= upper
            assert narrow((lower, upper), 1e-9)


# --- few steps: one integral over a closed form


def two_step_delta(sigma, rate, epsilon):
    """delta_2(eps) = integral of q(x) delta_1(eps - L(x)) dx, delta_1 in closed form, to 25 digits."""
    with mpmath.workdps(30):
        mu, p, target = 1 / mpmath.mpf(sigma), mpmath.mpf(rate), mpmath.mpf(epsilon)

        def one(ratio):
            """E[(X - u)_+] at u = ratio: p times that of the base at e^l = 1 + (u-1)/p."""
            rise = 1 + (ratio - 1) / p
            if rise <= 0:
                return 1 - ratio
            level = mpmath.log(rise)
            return p * (mpmath.ncdf(mu / 2 - level / mu) - rise * mpmath.ncdf(-mu / 2 - level / mu))

        def integrand(x):
            ratio = 1 - p + p * mpmath.exp(mu * x - mu * mu / 2)
            return mpmath.npdf(x) * ratio * one(mpmath.exp(target) / ratio)

        turn = mpmath.log((mpmath.expm1(target) + p) / p) / mu + mu / 2 if target > 0 else mpmath.mpf(0)
        ends = sorted({mpmath.mpf(k) for k in range(-14, 15, 2)} | {turn + k for k in (-1, -0.1, 0, 0.1, 1, 4, 12)})
        return mpmath.quad(integrand, ends, maxdegree=8)


@pytest.mark.parametrize(
    ("sigma", "rate", "epsilon"),
    [(1.0, 0.01, 0.05), (1.0, 0.01, 1.0), (0.5, 1e-3, 0.3), (1.0, 1e-6, 3e-5), (2.0, 0.1, 0.4), (10.0, 0.5, 0.1)],
)
def test_two_steps_by_an_integral(sigma, rate, epsilon):
    made = answers(sgd(sigma, rate, 2))
    truth = two_step_delta(sigma, rate, epsilon)
    lower, upper = read(made, "delta", "forward", epsilon)
    assert lower <= truth <= upper
    assert narrow((lower, upper), 1e-6)


# --- one step: everything has a closed form


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize(
    "mechanism",
    [
        ew.PoissonSampled(ew.Gaussian(1.0), 0.05),
        ew.PoissonSampled(ew.Gaussian(1.0), 1e-6),
        ew.Laplace(0.6),
        ew.PoissonSampled(ew.Laplace(0.6), 0.2),
        ew.ApproxDP(0.7, 1e-4),
    ],
    ids=repr,
)
def test_one_step_encloses_its_closed_form(mechanism, direction):
    total = TotalLoss.of(mechanism)
    made = lattice.compose(total)
    truth = ew.account(mechanism, method="closed-form", direction=direction)
    pick = (lambda f: f) if direction == "forward" else (lambda f: f.inverse())
    for epsilon in (-0.3, 0.0, 1e-5, 0.08, 0.5):
        exact = truth.delta(epsilon)
        assert pick(made.upper).profile()(epsilon) <= exact.upper
        assert pick(made.lower).profile()(epsilon) * (1 + 4e-15) >= exact.lower
    for alpha in (1e-8, 0.03, 0.5, 0.8, 0.9999):
        exact = truth.tradeoff(alpha)
        assert pick(made.lower)(alpha) <= exact.upper
        assert pick(made.upper)(alpha) * (1 + 4e-15) >= exact.lower


# --- the other engines


@pytest.mark.parametrize(("sigma", "rate", "n"), [(1.0, 0.1, 20), (0.8, 0.02, 30), (2.0, 0.05, 50)])
def test_the_line_integral_agrees(sigma, rate, n):
    made, line = answers(sgd(sigma, rate, n)), contour.prepared(TotalLoss.of(sgd(sigma, rate, n)))
    for direction in ("forward", "backward"):
        for delta in (1e-4, 1e-10):
            mine, theirs = read(made, "epsilon", direction, delta), read(line, "epsilon", direction, delta)
            assert mine[0] <= theirs[1]
            assert theirs[0] <= mine[1]
            assert narrow(mine, 1e-6)
    for alpha in (1e-6, 0.2, 0.7):
        mine, theirs = read(made, "tradeoff", "both", alpha), read(line, "tradeoff", "both", alpha)
        assert mine[0] <= theirs[1]
        assert theirs[0] <= mine[1]
        assert narrow(mine, 1e-6)


@pytest.mark.parametrize("epsilon", [0.02, 0.0475, 0.08, 0.19])
def test_the_left_tail_of_faint_samples_agrees_to_the_last_double(epsilon):
    mechanism = sgd(10.0, 0.01, 50)
    made, line = shared_answers(mechanism), contour.prepared(TotalLoss.of(mechanism))
    mine, theirs = read(made, "delta", "backward", epsilon), read(line, "delta", "backward", epsilon)
    assert mine[0] <= theirs[1]
    assert theirs[0] <= mine[1]
    assert narrow(mine, 1e-5)


MIXES = {
    "laplace scales": ew.Laplace(2.0) ** 2 * ew.Laplace(3.0) ** 3,
    "sampled laplace": ew.PoissonSampled(ew.Laplace(0.8), 0.2) ** 6,
    "everything": sgd(1.0, 0.1, 4) * ew.Laplace(3.0) * ew.RandomizedResponse(0.2) ** 2,
    "replaced": ew.PoissonSampled(ew.Gaussian(1.0), 0.2, adjacency="replace") ** 3,
    "clipped": ew.PoissonSampled(ew.Gaussian(0.5), 0.2, adjacency="replace", clipped=True) ** 3,
    "clipped, smoothed": ew.PoissonSampled(ew.Gaussian(0.5), 0.05, adjacency="replace", clipped=True) ** 40,
    "sampled atoms": ew.PoissonSampled(ew.DiscreteLaplace(scale=3.0, sensitivity=2), 0.1) ** 5,
}


@pytest.mark.parametrize("name", MIXES)
def test_the_recursion_overlaps_and_is_wider(name):
    total = TotalLoss.of(MIXES[name])
    made, wide = lattice.prepared(total), recursion.compose(total)
    for epsilon in (0.0, 0.3, 0.9):
        lower, upper = read(made, "delta", "forward", epsilon)
        assert lower <= wide.lower.profile()(epsilon)
        assert upper >= wide.upper.profile()(epsilon)
        assert narrow((lower, upper), 1e-6)
    for alpha in (0.01, 0.3, 0.8):
        lower, upper = read(made, "tradeoff", "forward", alpha)
        assert lower <= wide.upper(alpha)
        assert upper >= wide.lower(alpha)
        assert narrow((lower, upper), 1e-6)


# --- itself


@settings(max_examples=6, deadline=None)
@given(
    sigma=st.floats(0.4, 20.0), log_rate=st.floats(-6.0, -0.1), n=st.integers(2, 30), log_delta=st.floats(-14.0, -3.0)
)
def test_epsilon_and_delta_are_inverse_to_each_other(sigma, log_rate, n, log_delta):
    made, target = answers(sgd(sigma, 10**log_rate, n)), 10**log_delta
    for direction in ("forward", "backward"):
        lower, upper = read(made, "epsilon", direction, target)
        assert 0 <= lower <= upper < math.inf
        assert read(made, "delta", direction, upper)[0] <= target
        assert lower == 0 or read(made, "delta", direction, lower)[1] >= target
        assert log_rate < -2.5 or narrow((lower, upper), 1e-3)  # at smaller rates others have more digits


def test_a_reading_does_not_depend_on_its_company():
    mechanism, delta = sgd(1.0, 0.01, 5), np.array([1e-4, 1e-9])
    together = answers(mechanism).epsilon("both", delta)
    for k, target in enumerate(delta.tolist()):
        made = answers(mechanism)
        assert read(made, "epsilon", "both", target) == (together.lower[k], together.upper[k])
        assert read(made, "epsilon", "both", target) == (together.lower[k], together.upper[k])


def test_epsilon_decreases_with_delta_and_grows_with_steps():
    made = answers(sgd(1.0, 1e-3, 4))
    deltas = 10.0 ** -np.arange(4, 31, 6)
    ends = made.epsilon("forward", deltas)
    assert (np.diff(ends.lower) > 0).all()
    assert (np.diff(ends.upper) > 0).all()
    more = answers(sgd(1.0, 1e-3, 5)).epsilon("forward", deltas)
    assert (more.lower > ends.upper).all()


def test_both_directions_are_the_worse_of_the_two():
    made = answers(sgd(0.7, 0.05, 3) * ew.Laplace(1.5))
    for epsilon in (0.0, 0.2, 0.7):
        one, other, both = (read(made, "delta", direction, epsilon) for direction in DIRECTIONS)
        assert both == (max(one[0], other[0]), max(one[1], other[1]))
    for alpha in (1e-4, 0.2, 0.35, 0.6, 0.99):
        one, other, both = (read(made, "tradeoff", direction, alpha) for direction in DIRECTIONS)
        assert both[0] <= min(one[1], other[1])
        assert both[1] <= min(one[1], other[1])
        assert narrow(both, 1e-6)


def test_the_ends_of_the_support_are_exact():
    made = answers(ew.Laplace(1.0) ** 3)
    assert read(made, "delta", "forward", 3.0 + 1e-12) == (0.0, 0.0)
    assert read(made, "epsilon", "both", 0.0) == pytest.approx((3.0, 3.0), rel=1e-14)
    assert read(made, "epsilon", "both", 1.0) == (0.0, 0.0)
    assert read(made, "tradeoff", "both", 0.0) == (1.0, 1.0)
    assert read(made, "tradeoff", "both", 1.0) == (0.0, 0.0)


def test_disclosures_come_back_at_the_end():
    made = lattice.compose(TotalLoss.of(ew.ApproxDP(0.5, 1e-3) ** 2 * ew.Laplace(2.0)))
    assert made.certificate.certified
    assert made.lower.profile()(40.0) == pytest.approx(1 - (1 - 1e-3) ** 2, rel=1e-12)


def test_what_leaks_nothing_is_perfectly_private():
    made = lattice.compose(TotalLoss.of(ew.RandomizedResponse(0.0) ** 3))
    assert made.lower is made.upper
    assert made.value(0.3) == 0.7


def test_black_boxes_are_refused():
    total = TotalLoss.of(ew.DensityPair(stats.norm(0, 1), stats.norm(1, 1)))
    assert not lattice.applies(total)
    message = (
        r'^method="lattice" needs Gaussian, Laplace or discrete noise, responses, or samples of them, and at most '
    )
    with pytest.raises(Unsupported, match=message):
        lattice.compose(total)


def test_the_certificate_says_what_was_rounded():
    exact = lattice.compose(TotalLoss.of(ew.RandomizedResponse(1.0) ** 3)).certificate
    rounded = lattice.compose(TotalLoss.of(ew.Laplace(1.0) ** 3)).certificate
    assert exact.sources == {"rounding of losses, relative, aimed at": 0.0}
    assert rounded.sources == {"rounding of losses, relative, aimed at": 4e-7}


@pytest.mark.parametrize(
    ("sigma", "n", "eps"), [(0.05, 2, 519.7), (0.05, 2, 821.6), (0.06, 2, 377.4), (0.04, 3, 1583.3)]
)
def test_far_beyond_the_null_law_a_sample_leaks_no_more_than_all_records(sigma, n, eps):
    """Under P the loss hardly moves, under Q it is in the hundreds: masses underflow, and rungs must reach that far."""
    whole = ew.account(ew.Gaussian(sigma) ** n).delta(eps).upper
    assert ew.account(sgd(sigma, 0.5, n), direction="forward", method="lattice").delta(eps).lower <= whole
