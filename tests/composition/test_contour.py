"""The line integrals against closed forms, 40-digit integrals, the recursion, and themselves."""

import itertools
import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from flint import acb, arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.composition.contour.engine import prepared
from edgeworth.composition.contour.integrals import Integrals
from edgeworth.composition.contour.sampled_gaussian import Steps
from edgeworth.losses import LaplaceLoss, TotalLoss


def sgd(sigma, rate, n):
    return ew.PoissonSampled(ew.Gaussian(sigma), rate) ** n


def contour(mechanism, direction="both"):
    return ew.account(mechanism, method="contour", direction=direction)


def gaussian_delta(mu, epsilon):
    mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
    p, q = epsilon / mu + mu / 2, epsilon / mu - mu / 2
    return mpmath.ncdf(-q) - mpmath.exp(epsilon) * mpmath.ncdf(-p)


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(40):
        yield


# --- Gaussian composition: a closed form in every tail


@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
@pytest.mark.parametrize("mu", [0.05, 1.0, 4.0])
def test_gaussian_delta_and_epsilon_are_enclosed(mu, direction):
    account = contour(ew.GaussianDP(mu / 2) ** 4, direction)
    for exponent in (-1, -5, -12, -30, -80, -140, -200):
        target = mpmath.mpf(10) ** exponent
        bracket = account.epsilon(10.0**exponent)
        if gaussian_delta(mu, 0) <= target:
            assert bracket.lower == 0
            continue
        # delta is decreasing: the ends are on the right sides exactly when delta is there
        assert gaussian_delta(mu, bracket.lower) >= mpmath.mpf(10.0**exponent) * (1 - mpmath.mpf(10) ** -14)
        assert gaussian_delta(mu, bracket.upper) <= mpmath.mpf(10.0**exponent)
        assert bracket.upper - bracket.lower <= 1e-9 * bracket.upper
        read = account.delta(bracket.value)
        assert read.lower <= gaussian_delta(mu, bracket.value) <= read.upper
        assert read.upper <= read.lower * (1 + 1e-9)


def test_the_trivial_end_is_rounded_down():
    assert contour(ew.GaussianDP(1.0), "forward").delta(-11.5).lower <= gaussian_delta(1.0, -11.5)


def test_the_trivial_end_of_f_is_rounded_up():
    alpha = 1.6 * 2.0**-54
    quantile = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * mpmath.mpf(alpha))
    truth = mpmath.ncdf(quantile - mpmath.mpf(1e-6))
    assert contour(ew.GaussianDP(1e-6), "forward").tradeoff(alpha).upper >= truth


def test_gaussian_delta_is_enclosed_for_negative_epsilon():
    account = contour(ew.GaussianDP(1.0), "forward")
    epsilon = np.linspace(-12, 2, 29)
    bracket = account.delta(epsilon)
    for e, low, high in zip(epsilon, bracket.lower, bracket.upper, strict=True):
        assert low <= gaussian_delta(1.0, float(e)) <= high


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("mu", [0.05, 1.0, 4.0])
def test_gaussian_tradeoff_is_enclosed(mu, direction):
    account = contour(ew.GaussianDP(mu / 2) ** 4, direction)
    tails = np.geomspace(1e-10, 0.4, 12)
    alpha = np.concatenate([tails, 1 - tails[::-1]])
    bracket = account.tradeoff(alpha)
    for a, low, high in zip(alpha, bracket.lower, bracket.upper, strict=True):
        quantile = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * mpmath.mpf(float(a)))
        assert low <= mpmath.ncdf(quantile - mpmath.mpf(mu)) <= high
    assert np.all(bracket.upper - bracket.lower <= 1e-8 * bracket.upper)


def test_a_symmetric_composition_has_a_narrow_bracket():
    bracket = contour(ew.GaussianDP(1.0)).tradeoff(0.01)
    assert bracket.upper - bracket.lower < 1e-9


# --- noisy SGD: the same integral, independently, in 40 digits


def reference_delta(mu, rate, n, epsilon, c):
    """delta(eps) by sums in x and along Re s = c, all in balls; spacings from the tilted deviation.

    A complex ball that is turned becomes wider by up to sqrt(2): 800 bits survive a thousand turns.
    """
    ctx.prec = 800
    m, p = arb(mu), arb(rate)
    step = arb(1) / 20
    reach = 10
    x = [
        step * k for k in range(math.floor((min(0.0, c * mu) - reach) * 20), math.ceil((max(1.0, c) * mu + reach) * 20))
    ]
    loss = [(1 - p + p * (m * z - m * m / 2).exp()).log() for z in x]
    weight = [(arb(c) * l - z * z / 2).exp() for z, l in zip(x, loss, strict=True)]
    total = sum(weight, arb(0))
    keep = [k for k, w in enumerate(weight) if w > total * arb(10) ** -26]
    weight, loss = [weight[k] / total for k in keep], [loss[k] for k in keep]
    log_moment = (total * step / (2 * arb.pi()).sqrt()).log()
    mean = sum((w * l for w, l in zip(weight, loss, strict=True)), arb(0))
    variance = sum((w * (l - mean) ** 2 for w, l in zip(weight, loss, strict=True)), arb(0))
    h = arb(1) / 12 / (n * variance).sqrt()
    turn = [acb(0, h * l).exp() for l in loss]
    power = [acb(w) for w in weight]
    result = acb(0)
    for k in range(2000):
        s = acb(c, h * k)
        term = sum(power, acb(0)) ** n * acb(0, -h * k * arb(epsilon)).exp()
        result += term / (s * (s - 1)) / (2 if k == 0 else 1)
        if float(abs(term).mid()) < 1e-22:
            break
        power = [a * b for a, b in zip(power, turn, strict=True)]
    front = (n * log_moment + arb(epsilon) * (1 - arb(c))).exp() * h / arb.pi()
    return mpmath.mpf((front * result.real).str(30, radius=False))


def tilt_of(mechanism, epsilon):
    """About the saddle point of epsilon: any line c > 1 would do, this one is short."""
    ladder = Integrals(Steps.of(TotalLoss.of(mechanism))).ladder("right")
    ladder.reach(epsilon)
    tilts, _, thresholds, _ = ladder.table.T
    return float(np.interp(epsilon, thresholds, tilts))


REFERENCES = [
    (3.0, 0.2, 50, (1e-3, 1e-12, 1e-30)),
    (0.8, 256 / 50_000, 5000, (1e-2, 1e-8, 1e-30)),
    (0.6, 0.001, 10**6, (1e-5, 1e-20)),
    (1.0, 1e-4, 10**8, (1e-5, 1e-12)),
]


@pytest.mark.parametrize(("sigma", "rate", "n", "deltas"), REFERENCES)
def test_noisy_sgd_encloses_the_40_digit_integral(sigma, rate, n, deltas):
    mechanism = sgd(sigma, rate, n)
    account = contour(mechanism, "forward")
    for delta in deltas:
        epsilon = float(account.epsilon(delta).value)
        truth = reference_delta(1 / sigma, rate, n, epsilon, tilt_of(mechanism, epsilon))
        bracket = account.delta(epsilon)
        assert bracket.lower <= truth <= bracket.upper
        assert bracket.upper <= bracket.lower * (1 + 2e-8)
        assert abs(truth / mpmath.mpf(delta) - 1) < 1e-8


# --- against the other engines


SWEEP = np.random.default_rng(20262)
CASES = [
    (
        round(float(SWEEP.uniform(0.7, 3.0)), 3),
        round(float(SWEEP.uniform(0.02, 0.4)), 3),
        int(SWEEP.integers(25, 400)),
    )
    for _ in range(20)
]


@pytest.mark.parametrize(("sigma", "rate", "n"), CASES)
def test_contour_and_recursion_overlap(sigma, rate, n):
    line, grid = contour(sgd(sigma, rate, n)), ew.account(sgd(sigma, rate, n), method="recursion")
    epsilon = np.array([0.1, 0.7, 2.0, 4.0])
    ours, theirs = line.delta(epsilon), grid.delta(epsilon)
    assert np.all(np.maximum(ours.lower, theirs.lower) <= np.minimum(ours.upper, theirs.upper))
    alpha = np.array([1e-4, 0.05, 0.5, 0.95])
    ours, theirs = line.tradeoff(alpha), grid.tradeoff(alpha)
    assert np.all(np.maximum(ours.lower, theirs.lower) <= np.minimum(ours.upper, theirs.upper))


@pytest.mark.parametrize(("sigma", "rate", "n"), [(1.0, 0.01, 10_000), (0.8, 256 / 50_000, 5000), (2.0, 0.1, 300)])
def test_the_saddle_point_estimate_is_within_its_own_error_scale(sigma, rate, n):
    for delta in (1e-3, 1e-6, 1e-12):
        truth = contour(sgd(sigma, rate, n), "forward").epsilon(delta)
        coarse, fine = (
            ew.account(sgd(sigma, rate, n), method="saddlepoint", degree=d, direction="forward").epsilon(delta).value
            for d in (0, 2)
        )
        # the correction of order 1/n is the scale of what the leading term leaves
        assert abs(fine - truth.value) <= abs(fine - coarse) + 1e-6 * truth.value


@pytest.mark.parametrize(("mu", "response"), [(0.5, 1.0), (1.0, 0.3), (0.01, 20.0), (2.0, 4.0)])
def test_gaussian_and_one_randomized_response_is_a_mixture_of_gaussian_deltas(mu, response):
    account = contour(ew.GaussianDP(mu) * ew.RandomizedResponse(response), "forward")
    shift = mpmath.mpf(response)
    honest = 1 / (1 + mpmath.exp(-shift))
    epsilon = response + mu * np.array([-2.0, 0.0, 1.0, 3.0, 6.0])
    bracket = account.delta(epsilon)
    for e, low, high in zip(epsilon, bracket.lower, bracket.upper, strict=True):
        e = mpmath.mpf(float(e))  # noqa: PLW2901 - the same number in more digits
        truth = honest * gaussian_delta(mu, e - shift) + (1 - honest) * gaussian_delta(mu, e + shift)
        assert low <= truth <= high


@pytest.mark.parametrize(("mu", "theta"), [(0.7, 1.0), (1.5, 0.2)])
def test_gaussian_and_one_laplace_is_an_integral_of_gaussian_deltas(mu, theta):
    account = contour(ew.GaussianDP(mu) * ew.Laplace(1 / theta), "forward")
    for e in (0.3, 2.0, 5.0):
        bracket = account.delta(e)

        def weighted(loss, e=e):  # under Q: density e^(-(theta - l)/2)/4 between the atoms
            return mpmath.exp((loss - theta) / 2) / 4 * gaussian_delta(mu, e - loss)

        inside = mpmath.quad(weighted, mpmath.linspace(-theta, theta, 5))
        atoms = gaussian_delta(mu, e - theta) / 2 + mpmath.exp(-theta) / 2 * gaussian_delta(mu, e + theta)
        assert bracket.lower <= inside + atoms <= bracket.upper


@pytest.mark.parametrize(("theta", "n"), [(0.5, 200), (1.0, 90), (0.1, 2000)])
def test_laplace_noise_alone_overlaps_with_the_residues(theta, n):
    """Its atoms are not read: what they weigh must be in the ends."""
    line, other = (ew.account(ew.Laplace(1 / theta) ** n, method=method) for method in ("contour", "residues"))
    spread = theta * math.sqrt(n)
    epsilon = n * theta**2 / 2 + spread * np.array([-2.0, 0.0, 2.0, 5.0])
    for direction in ("forward", "backward", "both"):
        ours, theirs = (replace(account, direction=direction).delta(epsilon) for account in (line, other))
        assert np.all(np.maximum(ours.lower, theirs.lower) <= np.minimum(ours.upper, theirs.upper))
        assert np.all(ours.upper - ours.lower <= 1e-6 * ours.upper + 1e-9)


MIXES = [
    sgd(1.0, 0.05, 100) * ew.Laplace(1.0) ** 2,
    sgd(0.9, 0.1, 60) * ew.RandomizedResponse(0.5) ** 3,
    ew.Gaussian(3.0) ** 5 * ew.ApproxDP(0.2, 1e-6) ** 4,
    sgd(1.2, 0.04, 200) * ew.Gaussian(4.0) * ew.Laplace(2.0),
]


@pytest.mark.parametrize("mechanism", MIXES, ids=range(len(MIXES)))
def test_mixes_overlap_with_the_recursion(mechanism):
    line, grid = contour(mechanism), ew.account(mechanism, method="recursion")
    epsilon = np.array([0.05, 0.5, 1.5, 3.0])
    for direction in ("forward", "backward", "both"):
        ours, theirs = (replace(account, direction=direction).delta(epsilon) for account in (line, grid))
        assert np.all(np.maximum(ours.lower, theirs.lower) <= np.minimum(ours.upper, theirs.upper))


# --- widths, and what must be true of any curve


#: epsilon to some eleven digits; the test finds each delta again by another sum, in balls
KNOWN = [
    (0.8, 256 / 50_000, 1000, 1e-5, 1.63040472865),
    (0.8, 256 / 50_000, 5000, 1e-5, 3.26197674524),
    (0.8, 256 / 50_000, 20_000, 1e-5, 6.80594543556),
    (1.0, 0.01, 10_000, 1e-5, 6.18771238997),
    (1.0, 0.01, 10_000, 1e-12, 10.3466898377),
    (0.6, 0.001, 10**6, 1e-6, 25.4978407828),
    (1.0, 1e-4, 10**8, 1e-9, 8.3508347065),
    (50.0, 0.001, 1000, 1e-6, 0.0016308641358),
]


@pytest.mark.parametrize(("sigma", "rate", "n", "delta", "known"), KNOWN)
def test_known_values(sigma, rate, n, delta, known):
    bracket = contour(sgd(sigma, rate, n)).epsilon(delta)
    assert bracket.upper - bracket.lower <= 1e-9 * bracket.upper
    assert bracket.lower <= known * (1 + 1e-11)
    assert bracket.upper >= known * (1 - 1e-11)
    truth = reference_delta(1 / sigma, rate, n, known, tilt_of(sgd(sigma, rate, n), known))
    assert abs(truth / mpmath.mpf(delta) - 1) < 1e-9


@pytest.mark.parametrize(("sigma", "rate", "n"), [*{row[:3]: None for row in KNOWN}, (3.0, 0.2, 50)])
def test_epsilon_has_nine_digits(sigma, rate, n):
    bracket = contour(sgd(sigma, rate, n)).epsilon(np.array([1e-5, 1e-7, 1e-9, 1e-12]))
    assert np.all(bracket.upper - bracket.lower <= 1e-9 * bracket.upper)


#: across levels of dropped mass, across rungs, and where nothing is dropped at all; and how deep the line goes. For the
#: second the tilted law splits in two from 1e-45 on: there the lattice takes over.
DEEP = [
    (4.0, 3.3e-4, 10_000, 1e-100),
    (2.5, 4.9e-4, 13_500, 1e-44),
    (0.8, 0.00512, 5000, 1e-100),
    (1.0, 0.01, 10_000, 1e-100),
]


@pytest.mark.parametrize(("sigma", "rate", "n", "deepest"), DEEP)
def test_epsilon_grows_steadily_over_a_hundred_decades(sigma, rate, n, deepest):
    delta = np.geomspace(1e-1, deepest, 120)
    bracket = contour(sgd(sigma, rate, n)).epsilon(delta)
    above = bracket.value > 0  # delta(0) may be below the first of them
    assert np.all(bracket.upper[~above] == 0)
    lower, upper = bracket.lower[above], bracket.upper[above]
    assert np.all(lower[1:] > upper[:-1])  # ever less delta, ever more epsilon, beyond all doubt
    assert np.all(upper - lower <= 1e-9 * upper)
    step = np.diff(bracket.value[above])
    assert np.all(step[2:] < 1.5 * step[1:-1])  # no jump from one line, or level, to the next
    assert np.all(step[2:] > 0.6 * step[1:-1])


@pytest.mark.parametrize(("sigma", "rate", "n", "deepest"), DEEP)
def test_delta_at_epsilon_encloses_the_delta_that_was_asked(sigma, rate, n, deepest):
    account, delta = contour(sgd(sigma, rate, n)), np.geomspace(1e-2, deepest, 15)
    epsilon = account.epsilon(delta)
    sure = epsilon.lower > 0
    assert np.all(account.delta(epsilon.lower[sure]).upper >= delta[sure])
    assert np.all(account.delta(epsilon.upper[sure]).lower <= delta[sure])
    read = account.delta(epsilon.value[sure])
    assert np.all(read.upper - read.lower <= 2e-8 * read.upper)
    assert np.all(np.abs(np.log(read.value / delta[sure])) <= 1e-6)


@pytest.mark.parametrize(("sigma", "rate", "n"), [row[:3] for row in DEEP[:2]])
def test_what_is_dropped_moves_an_upper_end_only_within_the_width(sigma, rate, n):
    """The trade-off function down to 1e-10 at both ends, where the levels of dropped mass change."""
    tails = np.geomspace(1e-10, 0.4, 9)
    alpha = np.concatenate([tails, 1 - tails[::-1]])
    for direction in ("forward", "backward", "both"):
        bracket = contour(sgd(sigma, rate, n), direction).tradeoff(alpha)
        assert np.all(bracket.lower <= bracket.upper)
        assert np.all(bracket.upper - bracket.lower <= 1e-6 * bracket.upper)
        assert np.all(bracket.lower[1:] <= bracket.upper[:-1])


def epsilon_of(sigma, rate, n, delta):
    return contour(sgd(sigma, rate, n)).epsilon(delta)


RUNS = {
    "sigma": st.floats(0.7, 5.0),
    "rate": st.floats(1e-3, 0.05),
    "n": st.integers(1000, 20_000),
    "nats": st.floats(5.0, 120.0),
    "more": st.floats(1e-6, 0.5),
}


@given(**RUNS)
@settings(max_examples=10)
def test_more_noise_never_costs_more(sigma, rate, n, nats, more):
    less, rather = (epsilon_of(noise, rate, n, math.exp(-nats)) for noise in (sigma * (1 + more), sigma))
    assert less.lower <= rather.upper


@given(**RUNS)
@settings(max_examples=10)
def test_a_higher_rate_never_costs_less(sigma, rate, n, nats, more):
    less, rather = (epsilon_of(sigma, share, n, math.exp(-nats)) for share in (rate, rate * (1 + more)))
    assert less.lower <= rather.upper


@given(**RUNS)
@settings(max_examples=10)
def test_more_steps_never_cost_less(sigma, rate, n, nats, more):
    less, rather = (epsilon_of(sigma, rate, steps, math.exp(-nats)) for steps in (n, n + 1 + int(more * n)))
    assert less.lower <= rather.upper


def test_brackets_do_not_contradict_monotonicity():
    def epsilon(sigma, rate, n):
        return contour(sgd(sigma, rate, n)).epsilon(1e-6)

    for grid in (
        [epsilon(s, 0.02, 1000) for s in (0.9, 0.9001, 1.0, 1.4)][::-1],
        [epsilon(1.1, p, 1000) for p in (0.01, 0.010001, 0.012, 0.02)],
        [epsilon(1.1, 0.02, n) for n in (500, 501, 700, 1500)],
    ):
        for less, more in itertools.pairwise(grid):
            assert less.lower <= more.upper
            assert less.upper < more.upper


def test_the_same_question_gets_the_same_bits():
    mechanism, delta = sgd(0.9, 0.03, 400), np.array([1e-3, 1e-6, 1e-9])
    account = contour(mechanism)
    first, again = account.epsilon(delta), account.epsilon(delta)
    account.tradeoff(0.3)
    later = account.epsilon(delta)
    prepared.cache_clear()
    fresh = contour(mechanism).epsilon(delta)
    for other in (again, later, fresh):
        assert np.array_equal(first.lower, other.lower)
        assert np.array_equal(first.upper, other.upper)


@pytest.mark.parametrize("reading", ["delta", "tradeoff"])
def test_scalar_and_array_agree_to_the_bit(reading):
    account = contour(sgd(0.9, 0.03, 400))
    arguments = np.array([0.03, 0.2, 0.7])
    together = getattr(account, reading)(arguments)
    for k, argument in enumerate(arguments):
        alone = getattr(account, reading)(float(argument))
        assert (alone.lower, alone.upper) == (together.lower[k], together.upper[k])


def test_scalar_and_array_epsilon_agree_to_the_bit():
    account = contour(sgd(0.9, 0.03, 400))
    together = account.epsilon(np.array([1e-3, 1e-6, 1e-9]))
    for k, delta in enumerate([1e-3, 1e-6, 1e-9]):
        alone = account.epsilon(delta)
        assert (alone.lower, alone.upper) == (together.lower[k], together.upper[k])


def test_the_symmetrised_curve_is_its_own_inverse():
    account = contour(sgd(0.9, 0.05, 300))
    for alpha in (1e-6, 0.01, 0.2, 0.5, 0.9):
        image = account.tradeoff(alpha)
        # f is decreasing: f(upper) <= alpha <= f(lower)
        assert account.tradeoff(image.upper).lower <= alpha * (1 + 1e-12)
        assert account.tradeoff(image.lower).upper >= alpha * (1 - 1e-12)


@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
def test_f_is_decreasing_and_convex(direction):
    alpha = np.linspace(0.0, 1.0, 201)
    bracket = contour(sgd(0.9, 0.05, 300), direction).tradeoff(alpha)
    slack = 2 * float(np.max(bracket.upper - bracket.lower)) + 1e-14
    assert slack < 1e-8
    assert np.all(np.diff(bracket.value) <= slack)
    assert np.all(np.diff(bracket.value, 2) >= -2 * slack)
    assert (bracket.value[0], bracket.value[-1]) == (1.0, 0.0)


def test_repeats_are_served_as_long_as_their_number_is_an_exact_double():
    step = ew.PoissonSampled(ew.Gaussian(50.0), 1e-4)
    assert ew.account(step**10**15).certificate.method == "contour"
    assert ew.account(step ** (10**15 + 1)).certificate.method == "recursion"
    assert ew.account(ew.Gaussian(1e6) ** 10**16).certificate.method == "closed-form"


def test_a_million_million_steps_are_read_to_seven_digits():
    """Nearly Gaussian: mu^2 = n p^2 (e^(1/sigma^2) - 1) up to terms of the order of the rate."""
    found = ew.account(ew.PoissonSampled(ew.Gaussian(20.0), 1e-4) ** 10**12).epsilon(1e-7)
    mu = math.sqrt(1e12 * 1e-8 * math.expm1(1 / 400))
    assert found.upper - found.lower < 1e-7 * found.upper
    assert found.value == pytest.approx(ew.account(ew.GaussianDP(mu)).epsilon(1e-7).value, rel=1e-4)


@pytest.mark.parametrize(("scale", "n"), [(2.0, 3 * 10**7), (0.3, 10**9), (30.0, 10**9)])
def test_very_many_equal_steps_of_laplace_noise_have_all_digits(scale, n):
    """Nearly normal: eps is the mean of the loss under Q and some four deviations."""
    account = ew.account(ew.Laplace(scale) ** n)
    found = account.epsilon(1e-5)
    assert account.certificate.method == "contour"
    assert found.upper - found.lower < 1e-11 * found.upper
    read = account.delta(found.value)
    assert read.upper - read.lower < 2e-8 * read.upper
    assert read.lower <= 1e-5 * (1 + 1e-9)
    assert read.upper >= 1e-5 * (1 - 1e-9)
    mean, variance = (n * float(cumulant) for cumulant in LaplaceLoss(1 / scale).cumulants(2).alternative)
    assert 3.9 < (found.value - mean) / math.sqrt(variance) < 4.3
