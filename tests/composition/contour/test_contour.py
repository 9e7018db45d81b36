"""The line integrals against closed forms, 40-digit integrals, the recursion, and themselves."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from flint import acb, arb, ctx

import edgeworth as ew
from edgeworth.composition.contour.integrals import Integrals
from edgeworth.composition.contour.line_answers import LineAnswers
from edgeworth.composition.contour.overlap_ceiling import OverlapCeiling
from edgeworth.composition.contour.sampled_gaussian import Steps
from edgeworth.losses import TotalLoss


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


@pytest.mark.parametrize("mu", [4.0, 30.0, 300.0])
@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
def test_gaussian_delta_near_one_is_enclosed(mu, direction):
    """Also where e^eps and P[T > eps] are no doubles: 1 - delta is one integral."""
    account = contour(ew.GaussianDP(mu / 2) ** 4, direction)
    for away in (1.4, 1.6, 3.0, 6.0, 8.0, 40.0):
        epsilon = max(mu * mu / 2 - away * mu, 1e-3)
        read = account.delta(epsilon)
        assert read.lower <= gaussian_delta(mu, epsilon) <= read.upper
        assert read.upper - read.lower < 1e-11


@pytest.mark.parametrize(
    ("mechanism", "direction", "epsilon"),
    [
        (ew.PoissonSampled(ew.Gaussian(8.433), 0.2) ** 19_383_890, "both", 2140.0),
        (ew.PoissonSampled(ew.Gaussian(0.314), 0.701) ** 107_291_050, "forward", 329_387_112.0),
        (ew.PoissonSampled(ew.Gaussian(0.388), 0.0887) ** 7945, "backward", 5.914),
        (ew.Laplace(0.112) ** 8048, "both", 37_200.0),
    ],
)
def test_a_delta_near_one_has_nine_digits_at_any_epsilon(mechanism, direction, epsilon):
    read = ew.account(mechanism, direction=direction).delta(epsilon)
    assert read.upper - read.lower <= 1e-9 * read.upper
    assert read.lower > 0.99


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


@pytest.mark.parametrize(("sigma", "rate", "n"), [(3.0, 0.2, 20_000), (0.8, 0.05, 5000), (0.5, 0.1, 10**6)])
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_one_less_delta_encloses_the_40_digit_integral(sigma, rate, n, direction):
    """Between the poles the same integral is delta - 1, and e^t (delta' - 1) at eps' = -t."""
    integrals = Integrals(Steps.of(TotalLoss.of(sgd(sigma, rate, n))))
    ladder = integrals.ladder("inner" if direction == "forward" else "middle")
    kind = "overlap" if direction == "forward" else "reverse overlap"
    ladder.climb_to_the_end()
    away = np.minimum(ladder.table[:, 0], 1 - ladder.table[:, 0]) * integrals.spread  # nearer to a pole it has aliases
    for c, _, t, _ in ladder.table[away > 0.6][:6:2].tolist():
        truth = -reference_delta(1 / sigma, rate, n, t, c) * (1 if direction == "forward" else mpmath.exp(-t))
        ends = integrals(kind, np.array([t]))
        assert ends.lower[0] <= truth <= ends.upper[0]
        assert ends.upper[0] <= ends.lower[0] * (1 + 2e-8)
        assert OverlapCeiling(integrals.moments, direction, n)(np.array([abs(t)]))[0] >= truth


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


# --- known values and widths

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


@pytest.mark.parametrize(
    ("sigma", "rate", "n"), [(0.8, 0.00512, 5000), (2.0, 0.1, 60), (5.0, 0.9, 40), (0.5, 0.01, 500)]
)
def test_the_line_of_the_lower_branch_supports_the_symmetrised_curve(sigma, rate, n):
    """The lines of both branches say no more than a rounding."""
    answers, alpha = LineAnswers(TotalLoss.of(sgd(sigma, rate, n)), 0), np.linspace(0.01, 0.99, 45)
    found = answers.tradeoff("both", alpha)
    slopes = [np.zeros(1), *(answers._threshold(way, alpha)[0] for way in ("forward", "backward"))]
    best = np.maximum.reduce([answers._supported(alpha, t) for t in slopes])
    assert np.all(found.lower >= best * (1 - 1e-9))
    assert np.all(found.upper - found.lower <= 1e-9 * found.upper)
