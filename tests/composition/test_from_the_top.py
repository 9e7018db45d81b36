"""Delta next to a largest loss that is a rational number, against fractions and many digits."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb, arb_series, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

import edgeworth as ew
from edgeworth.composition import from_the_top
from edgeworth.composition.answered import Ends
from edgeworth.composition.from_the_top import FromTheTop
from edgeworth.losses import TotalLoss


def exact(responses, epsilon):
    """delta of responses (epsilon, categories, count) at an eps above all losses but the largest."""
    with mpmath.workdps(50):
        gap = sum(n * Fraction(e) for e, _, n in responses) - Fraction(epsilon)
        if gap <= 0:
            return mp.mpf(0)
        mass = mp.mpf(1)
        for e, k, n in responses:
            mass *= (mpmath.exp(mp.mpf(e)) / (mpmath.exp(mp.mpf(e)) + k - 1)) ** n
        return mass * -mpmath.expm1(-mp.mpf(gap.numerator) / gap.denominator)


def composed(responses):
    return ew.Composed([ew.RandomizedResponse(e, categories=k) ** n for e, k, n in responses])


SUMS = {
    "below": ([(2.33, 13, 1), (0.165, 2, 3), (0.131, 2, 5)], 3.48),
    "just below": ([(0.68, 2, 4), (1.22, 2, 4)], 7.6),
    "beyond": ([(1.51, 2, 5), (2.41, 2, 1)], 9.96),
    "far enough": ([(1.32, 2, 1), (2.37, 5, 2)], 5.9),
}


@pytest.mark.parametrize(("responses", "epsilon"), SUMS.values(), ids=SUMS)
@pytest.mark.parametrize("direction", ["both", "forward", "backward"])
def test_the_sum_of_all_epsilons_has_all_digits_of_delta(responses, epsilon, direction):
    found, truth = ew.account(composed(responses), direction=direction).delta(epsilon), exact(responses, epsilon)
    assert found.lower <= truth <= found.upper
    assert found.upper - found.lower <= 1e-12 * found.upper


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.1, 3.0), st.integers(2, 9), st.integers(1, 6)), min_size=2, max_size=4),
    st.floats(0.0, 0.09),
)
def test_below_the_largest_loss_it_is_that_of_one_atom(responses, below):
    total = TotalLoss.of(composed(responses))
    epsilon = float(total.largest) - below
    answers = FromTheTop(Nobody(), total)
    (low,), (high,) = answers.delta("forward", np.array([epsilon]))
    truth = exact(responses, epsilon)
    assert low <= truth <= high
    assert high - low <= 1e-12 * high


class Nobody:
    """Counts what is not read from the top."""

    def __init__(self, lower=0.25, upper=0.5):
        self.asked, self.ends = [], (lower, upper)

    def delta(self, _, epsilon):
        self.asked.append(epsilon.tolist())
        return Ends(*(np.full(epsilon.size, end) for end in self.ends))


def test_farther_down_and_at_infinity_others_are_asked():
    total, nobody = TotalLoss.of(composed([(1.0, 2, 1), (0.7, 2, 1)])), Nobody()
    found = FromTheTop(nobody, total).delta("both", np.array([0.0, 2.0, 0.29, math.inf, 1.65]))
    assert nobody.asked == [[0.0, 0.29, math.inf]]
    assert found.lower[[0, 1, 2]].tolist() == [0.25, 0.0, 0.25]


def test_beside_laplace_noise_the_series_reaches_some_way_down():
    total, nobody = TotalLoss.of(ew.Laplace(2.0) * ew.RandomizedResponse(0.7)), Nobody()
    end = float(total.largest)
    found = FromTheTop(nobody, total).delta("both", np.array([end - 0.9, end - 1e-3, end]))
    assert nobody.asked == [[end - 0.9]]
    assert (found.lower[2], found.upper[2]) == (0.0, 0.0) or Fraction(end) < total.largest
    with mpmath.workdps(40):  # one response says yes, and Laplace noise its own profile at what is left
        left = mp.mpf(end - 1e-3) - mp.mpf(0.7)
        truth = -mpmath.expm1((left - 0.5) / 2) / (1 + mpmath.exp(-mp.mpf(0.7)))
        assert found.lower[1] <= truth <= found.upper[1]
        assert found.upper[1] - found.lower[1] < 1e-12 * truth


def laplace_delta(theta, rate, direction):
    """The profile of one sample of Laplace noise, an mpf for an mpf; a rate of 1 is no sampling."""

    def base(epsilon):
        return 0 if epsilon >= theta else -mp.expm1(min((epsilon - theta) / 2, epsilon)) if epsilon > -theta else None

    def forward(epsilon):
        rise = mp.expm1(epsilon) / rate
        inner = base(mp.log1p(rise)) if rise > -1 else None
        return -mp.expm1(epsilon) if inner is None else rate * inner

    return forward if direction == "forward" else lambda epsilon: 1 - mp.exp(epsilon) * (1 - forward(-epsilon))


def two_laplace_delta(first, second, direction, epsilon):
    """E_Q[delta_1(eps - L_2)] over the outcome x of the second step: its atom at the top, and what lies near that."""
    (theta, rate), sign = second, 1 if direction == "forward" else -1
    profile = laplace_delta(*first, direction)
    end = sign * mp.log1p(first[1] * mp.expm1(sign * first[0]))

    def loss(x):
        return sign * mp.log1p(rate * mp.expm1(2 * x - theta))

    def mass(x):
        null = mp.exp(-x) / 2
        return (1 - rate) * null + rate * mp.exp(x - theta) / 2 if sign > 0 else null

    top, atom = (loss(theta), mass(theta)) if sign > 0 else (loss(mp.mpf(0)), mp.mpf(1) / 2)
    # between where no more is left for the first step, and where it is all at its other end
    low = sign * mp.log1p(first[1] * mp.expm1(-sign * first[0]))
    edges = [(mp.log1p(mp.expm1(sign * (epsilon - own)) / rate) + theta) / 2 for own in (end, low)]
    last = theta if sign > 0 else mp.mpf(0)
    inside = [edges[0], *(x for x in edges[1:] if abs(x - edges[0]) < abs(last - edges[0])), last]
    near = mp.quad(lambda x: mass(x) * profile(epsilon - loss(x)), sorted(inside))
    return atom * profile(epsilon - top) + near


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((1.25, 0.01), (1.25, 0.01)),
        ((0.3, 1.0), (2.0, 0.4)),
        ((5.0, 1e-5), (5.0, 1e-5)),
        ((0.03, 0.999), (3.0, 2e-4)),
        ((1e-4, 1.0), (3.0, 1.0)),
    ],
)
@pytest.mark.parametrize("away", [1e-3, 1e-6, 1e-9, 1e-12, 1e-15])
def test_two_samples_of_laplace_noise_near_their_largest_loss(first, second, direction, away):
    steps = [
        ew.Laplace(1.0, theta) if p == 1 else ew.PoissonSampled(ew.Laplace(1.0, theta), p)
        for theta, p in (first, second)
    ]
    total = TotalLoss.of(ew.Composed(steps))
    answers = FromTheTop(Nobody(0.0, 1.0), total)
    with mpmath.workdps(50):
        first, second = ((mp.mpf(theta), mp.mpf(p)) for theta, p in (first, second))
        sign = 1 if direction == "forward" else -1
        top = mp.fsum(sign * mp.log1p(p * mp.expm1(sign * theta)) for theta, p in (first, second))
        epsilon = float(top * (1 - mp.mpf(away)))
        truth = two_laplace_delta(first, second, direction, mp.mpf(epsilon))
    (low,), (high,) = answers.delta(direction, np.array([epsilon]))
    assert low <= truth <= high
    assert away > 1e-9 or high - low <= 1e-12 * high
    found = ew.account(ew.Composed(steps), direction=direction).delta(epsilon)
    assert found.lower <= truth <= found.upper
    assert found.upper - found.lower <= 1e-6 * found.upper


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("share", [1e-6, 0.01, 0.1, 0.3])
@pytest.mark.parametrize(("first", "second"), [((1.25, 0.01), (0.4, 0.3)), ((3.0, 1.0), (2.0, 1e-4))])
def test_the_series_is_within_its_error_wherever_it_is_read(first, second, direction, share):
    """And that error is the first term left out, far down: its ends are apart where others are asked."""
    steps = [ew.Laplace(1.0, t) if p == 1 else ew.PoissonSampled(ew.Laplace(1.0, t), p) for t, p in (first, second)]
    tops = from_the_top._tops(TotalLoss.of(ew.Composed(steps)), direction)
    with mpmath.workdps(50):
        first, second = ((mp.mpf(theta), mp.mpf(p)) for theta, p in (first, second))
        y = share * tops.scale
        top = mp.mpf(tops.largest.numerator) / tops.largest.denominator
        truth = two_laplace_delta(first, second, direction, top - mp.mpf(y)) / mp.exp(mp.mpf(tops.log_mass))
    low, high = tops.ends(y)
    assert low * (1 - 1e-14) <= truth <= high * (1 + 1e-14)
    assert high - low <= max(1e-12, 1e3 * share**20) * high


TERMS = 150


@pytest.fixture
def _long_balls():
    before, (ctx.prec, ctx.cap) = (ctx.prec, ctx.cap), (300, TERMS)
    yield
    ctx.prec, ctx.cap = before


def by_series(k, sign, n, y):
    """Delta over the mass of the atom, y below the top of n samples: the same series in balls, to its end."""
    k, y, w = arb(k), arb(y), arb_series([0, 1])
    steep, bent = (-2 * w, k * ((-w).exp() - 1)) if sign < 0 else (w, k * (w.exp() - 1))
    density = k / 2 * steep.exp() / ((1 + bent) * (1 + bent).sqrt())
    power, square = arb_series([1]), arb_series([1, *(density[j] * arb(j).fac() for j in range(TERMS - 1))])
    while n:
        power, square, n = power * square if n % 2 else power, square * square, n // 2
    whole = w * w / (1 + w) * power
    return sum((whole[m] * y ** (m - 1) / arb(m - 1).fac() for m in range(2, TERMS)), arb(0))


@pytest.mark.usefixtures("_long_balls")
@pytest.mark.parametrize(
    ("theta", "rate", "n", "direction", "share"),
    [
        (1 / 0.716, 0.0153, 81, "backward", 0.03),
        (1 / 0.649, 1.36e-5, 21, "backward", 0.2),
        (0.5, 0.3, 40, "forward", 0.05),
        (2.0, 0.001, 9, "forward", 0.2),
        (0.2, 1.0, 300, "forward", 0.01),
        (0.2, 1.0, 5, "backward", 0.3),
    ],
)
def test_many_samples_of_laplace_noise_near_their_largest_loss(theta, rate, n, direction, share):
    noise = ew.Laplace(1.0, theta)
    total = TotalLoss.of((noise if rate == 1 else ew.PoissonSampled(noise, rate)) ** n)
    tops = from_the_top._tops(total, direction)
    ((step, _),) = tops.steps
    y = share * tops.scale
    low, high = tops.ends(y)
    truth = by_series(abs(step.slope), step.slope, n, y)
    assert arb(low) < truth < arb(high)
    assert high - low <= 1e-9 * high


@pytest.mark.parametrize("run", [ew.Laplace(2.0) ** 3, ew.PoissonSampled(ew.Laplace(0.5), 0.01) ** 7 * ew.Laplace(1.0)])
def test_the_mean_order_of_the_terms_is_the_logarithmic_slope_of_their_sum(run):
    tops = from_the_top._tops(TotalLoss.of(run), "forward")
    for y in (1e-3 * tops.scale, 0.4 * tops.scale):
        slope = math.log(tops.most(y * (1 + 1e-5)) / tops.most(y * (1 - 1e-5))) / 2e-5
        assert abs(tops._order(y) - slope) < 1e-6 * slope


def test_the_best_of_some_circles_bounds_what_the_series_leaves_out():
    """At three tenths of the way, where the outermost is of no use: with 81 samples its majorant is e^100."""
    tops = from_the_top._tops(TotalLoss.of(ew.PoissonSampled(ew.Laplace(0.716), 0.0153) ** 81), "backward")
    y = 0.1 * tops.scale
    assert tops._left_out(y) < 1e-12 * y < tops.most(tops.scale) * 0.1**from_the_top._TERMS


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("away", [0.3, 1e-3, 1e-9, 1e-15])
@pytest.mark.parametrize(
    ("epsilon", "categories", "rate", "n", "adjacency"),
    [
        (0.5, 2, 0.01, 5, "add-remove"),
        (1.7, 4, 0.3, 3, "add-remove"),
        (3.0, 3, 1e-6, 8, "add-remove"),
        (0.02, 2, 0.99999, 2, "add-remove"),
        (1.7, 4, 0.3, 3, "replace"),
        (0.5, 2, 0.01, 2, "replace"),
    ],
)
def test_samples_of_responses_near_their_largest_loss(epsilon, categories, rate, n, adjacency, direction, away):
    """Above the next loss there is one atom: of n answers that all say the same."""
    response = ew.RandomizedResponse(epsilon, categories=categories)
    total = TotalLoss.of(ew.PoissonSampled(response, rate, adjacency=adjacency) ** n)
    with mpmath.workdps(50):
        e, p = mp.mpf(epsilon), mp.mpf(rate)
        whole = mp.exp(e) + categories - 1
        true, lie = mp.exp(e) / whole, 1 / whole
        if direction == "forward" or adjacency == "replace":
            null, alternative = lie, (1 - p) * lie + p * true
            inner = (1 - p) + p * (1 if categories > 2 else mp.exp(-e))
        else:
            null, alternative = (1 - p) * true + p * lie, true
            inner = 1 / ((1 - p) + p * (1 if categories > 2 else mp.exp(e)))
        top = mp.log(alternative / null)
        next_one = max(mp.log(inner), 0) if adjacency == "replace" else mp.log(inner)
        at = float(n * top - away * (top - next_one))
        truth = alternative**n - mp.exp(mp.mpf(at)) * null**n
    (low,), (high,) = FromTheTop(Nobody(), total).delta(direction, np.array([at]))
    assert low <= truth <= high
    assert high - low <= 1e-12 * high
    found = ew.account(ew.PoissonSampled(response, rate, adjacency=adjacency) ** n, direction=direction).delta(at)
    assert found.lower <= truth <= found.upper
    assert found.upper - found.lower <= 1e-9 * found.upper
