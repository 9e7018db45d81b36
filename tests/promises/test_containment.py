"""Brackets contain truths that share nothing with the package: line integrals in 300 bits, exact sums over outcomes."""

import functools
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flint import arb, ctx

import edgeworth as ew

ROWS = json.loads(Path(__file__).with_name("truth_mixes.json").read_text(encoding="utf-8"))
KINDS = {
    "sample": lambda sigma, rate: ew.PoissonSampled(ew.Gaussian(sigma), rate),
    "gaussian": ew.Gaussian,
    "laplace": ew.Laplace,
    "discrete laplace": ew.DiscreteLaplace,
    "discrete gaussian": ew.DiscreteGaussian,
    "response": ew.RandomizedResponse,
    "known": ew.ApproxDP,
}


@pytest.fixture(autouse=True)
def _bits():
    before, ctx.prec = ctx.prec, 400
    yield
    ctx.prec = before


def mechanism_of(parts):
    first, *others = (KINDS[kind](*numbers) ** times for kind, *numbers, times in parts)
    for other in others:
        first = first * other
    return first


def holds(bracket, truth):
    """Whether both ends, taken as the exact numbers they are, enclose the truth."""
    return arb(bracket.lower) <= truth <= arb(bracket.upper)


def relative_width(bracket):
    return (bracket.upper - bracket.lower) / bracket.upper


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['parts']}, {row['direction']}")
def test_runs_and_mixes_by_a_line_integral_of_300_bits(row):
    account = ew.account(mechanism_of(row["parts"]), direction=row["direction"])
    truth, epsilon = arb(row["delta"]), row["epsilon"]
    found = account.delta(epsilon)
    assert holds(found, truth)
    assert relative_width(found) < 1e-9
    if epsilon > 0:  # a delta below the truth costs more than this epsilon, one above it costs less
        beside = float(row["delta"])
        above, below = (account.epsilon(math.nextafter(beside, end)) for end in (1.0, 0.0))
        assert above.lower <= epsilon <= below.upper
        assert relative_width(above) < 1e-9


def outcomes(*laws):
    """All sums of losses with their masses under P, the largest loss first."""
    sums = [(arb(0), arb(1))]
    for law in laws:
        sums = [(loss + more, mass * share) for loss, mass in sums for more, share in law]
    return sorted(sums, key=lambda outcome: float(outcome[0]), reverse=True)


def response(epsilon, categories=2):
    whole = arb(epsilon).exp() + categories - 1
    ends = [(arb(epsilon), 1 / whole), (-arb(epsilon), arb(epsilon).exp() / whole)]
    return [*ends, (arb(0), (categories - 2) / whole)] if categories > 2 else ends


def discrete_gaussian(scale, sensitivity):
    def weight(k):
        return (-(arb(k) ** 2) / (2 * arb(scale) ** 2)).exp()

    places = range(-int(60 * scale) - 9, int(60 * scale) + 10)
    whole = sum(map(weight, places), arb(0))
    return [((2 * k - sensitivity) * arb(sensitivity) / (2 * arb(scale) ** 2), weight(k) / whole) for k in places]


def sample(law, rate):
    return [((1 + arb(rate) * (loss.exp() - 1)).log(), mass) for loss, mass in law]


def exact_delta(sums, epsilon, kept=1):
    """E_P[(e^L - e^eps)_+], and what is disclosed."""
    limit = arb(epsilon).exp()
    gains = (mass * (loss.exp() - limit) for loss, mass in sums if loss > arb(epsilon))
    return 1 - kept + kept * sum(gains, arb(0))


def exact_tradeoff(sums, alpha, kept=1):
    """The miss rate of the best test: outcomes are rejected from the largest loss on, the last one with a coin."""
    left, power = arb(alpha) / kept, arb(0)
    for loss, mass in sums:
        power += loss.exp() * min(mass, left, key=lambda ball: ball.mid())
        left -= mass
        if left <= 0:
            break
    return kept * (1 - power)


#: a mechanism and the laws of its steps, made when asked for: with as many bits as the test has
EXACT = {
    "responses at the end of their support": (
        ew.RandomizedResponse(0.0012575865443661299) ** 7,
        lambda: [response(0.0012575865443661299)] * 7,
    ),
    "strong responses": (ew.RandomizedResponse(26.229397542033787) ** 3, lambda: [response(26.229397542033787)] * 3),
    "responses of many categories": (ew.RandomizedResponse(0.9, 17) ** 5, lambda: [response(0.9, 17)] * 5),
    "different responses": (
        ew.RandomizedResponse(0.31) ** 3 * ew.RandomizedResponse(0.77) * ew.RandomizedResponse(1.9, 4),
        lambda: [*[response(0.31)] * 3, response(0.77), response(1.9, 4)],
    ),
    "sampled responses": (
        ew.PoissonSampled(ew.RandomizedResponse(0.5004165954440704), 0.0013712791992530767) ** 2,
        lambda: [sample(response(0.5004165954440704), 0.0013712791992530767)] * 2,
    ),
    "whole-number noise of scale 2.55": (
        ew.DiscreteLaplace(2.552088529630458) ** 6,
        lambda: [response(1 / arb(2.552088529630458))] * 6,
    ),
    "little discrete noise": (
        ew.DiscreteGaussian(0.29661088373637196, 4),
        lambda: [discrete_gaussian(0.29661088373637196, 4)],
    ),
    "a sample of discrete noise": (
        ew.PoissonSampled(ew.DiscreteGaussian(1.4696997613620928), 0.038041454235179545),
        lambda: [sample(discrete_gaussian(1.4696997613620928, 1), 0.038041454235179545)],
    ),
}


@functools.cache
def outcomes_of(name):
    """The outcomes of one of these, made once for all tests, with the bits that each of them has."""
    return outcomes(*EXACT[name][1]())


@pytest.mark.parametrize("name", EXACT)
def test_atoms_by_exact_sums_down_to_delta_1e_minus_100(name):
    """eps(delta) first, then delta at both of its ends, at its middle, and where the support ends."""
    sums, account = outcomes_of(name), ew.account(EXACT[name][0], direction="forward")
    for delta in (0.2, 1e-3, 1e-12, 1e-30, 1e-48, 1e-70, 1e-100):
        found = account.epsilon(delta)
        if found.lower > 0:
            assert exact_delta(sums, found.lower) >= arb(delta), delta
        if found.upper < math.inf:
            assert exact_delta(sums, found.upper) <= arb(delta), delta
        for epsilon in (found.lower, found.value, -0.4 * found.value):
            if math.isfinite(epsilon):
                assert holds(account.delta(epsilon), exact_delta(sums, epsilon)), epsilon


@pytest.mark.parametrize("name", EXACT)
def test_the_trade_off_function_of_atoms_by_exact_sums(name):
    sums, account = outcomes_of(name), ew.account(EXACT[name][0], direction="forward")
    for alpha in (1e-10, 1e-3, 0.3, 0.9, 0.999996010994868):
        assert holds(account.tradeoff(alpha), exact_tradeoff(sums, alpha)), alpha


def test_near_alpha_one_what_is_disclosed_costs_no_containment():
    """There f falls as fast as alpha/(1 - delta) is rounded."""
    parts = [(1.8415785699672076, 6.797113245300668e-09, 4), (0.2106688422691602, 1.5210551143778857e-11, 3)]
    sums = outcomes(*(response(epsilon) for epsilon, _, times in parts for _ in range(times)))
    kept = arb(1)
    for _, delta, times in parts:
        kept *= (1 - arb(delta)) ** times
    (first, second) = (ew.ApproxDP(epsilon, delta) ** times for epsilon, delta, times in parts)
    account = ew.account(first * second, direction="forward")
    for alpha in (0.5, 0.999961590127027, 0.999996010994868, 0.9999997):
        assert holds(account.tradeoff(alpha), exact_tradeoff(sums, alpha, kept)), alpha
    for epsilon in (-2.0, 0.3, 5.0, 7.9):
        assert holds(account.delta(epsilon), exact_delta(sums, epsilon, kept)), epsilon


def normal(x):
    return (-x / arb(2).sqrt()).erfc() / 2


@pytest.mark.parametrize(("sigma", "size", "population"), [(4.95, 3, 953), (0.7, 14, 248), (12.4, 1623, 619_873)])
def test_one_batch_of_fixed_size_by_its_formula_with_the_share_as_a_fraction(sigma, size, population):
    """p delta(log(1 + (e^eps - 1)/p)): the share is rounded by no one but the package."""
    account = ew.account(ew.SampledWithoutReplacement(ew.Gaussian(sigma), size, population))
    share, mu = arb(size) / population, 1 / arb(sigma)

    def truth(epsilon):
        inner = (1 + (arb(epsilon).exp() - 1) / share).log()
        return share * (normal(mu / 2 - inner / mu) - inner.exp() * normal(-mu / 2 - inner / mu))

    for epsilon in (0.001, 0.1, 1.0):
        assert holds(account.delta(epsilon), truth(epsilon)), epsilon
    for delta in (1e-6, 1e-20, 1e-89):
        found = account.epsilon(delta)
        assert found.lower == 0 or truth(found.lower) >= arb(delta), delta
        assert truth(found.upper) <= arb(delta), delta


@pytest.mark.parametrize("size", [2, 3, 7])
def test_groups_of_a_gaussian_mix_are_one_gaussian(size):
    """k records of G_mu are G_(k mu), mu^2 the sum over the steps."""
    account = ew.account(ew.Gaussian(7.3) ** 3 * ew.GaussianDP(0.11)).group(size)
    mu = size * (3 / arb(7.3) ** 2 + arb(0.11) ** 2).sqrt()
    for epsilon in np.array([-1.0, 0.2, 3.0]):
        e = arb(float(epsilon))
        assert holds(account.delta(epsilon), normal(mu / 2 - e / mu) - e.exp() * normal(-mu / 2 - e / mu))


def test_far_left_of_all_losses_the_recursion_holds_to_the_last_digit():
    """There delta is 1 - e^eps and e^eps times next to nothing: a difference of 1 and nearly 1 would lose digits."""
    run = ew.PoissonSampled(ew.Gaussian(66.58773413018012), 5.957665195514798e-06) ** 69_530
    account = ew.account(run, method="recursion")  # which takes seconds to make, for all directions
    for direction in ("forward", "backward", "both"):
        reader = replace(account, direction=direction)
        for epsilon in (-0.5, -0.1, -0.01332488620681876):
            assert ew.account(run).delta(-epsilon).upper < 1e-300
            assert holds(reader.delta(epsilon), 1 - arb(epsilon).exp()), (direction, epsilon)


def gaussian_delta(mu, epsilon):
    return normal(mu / 2 - epsilon / mu) - epsilon.exp() * normal(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize(
    "steps",
    [
        [(36.83157340233739, 15_574), (0.3512771010623338, 579_789)],
        [(0.3, 10**5)],
        [(0.3, 10**9)],
        [(0.7, 3_000)],
        [(0.0013, 1)],
        [(0.31, 1)],
    ],
)
def test_gaussian_noise_whose_mu_is_large_though_it_is_rounded(steps):
    """delta moves by x (x + mu) times the rounding of mu, x = eps/mu - mu/2."""
    first, *others = (ew.Gaussian(sigma) ** times for sigma, times in steps)
    for other in others:
        first = first * other
    account = ew.account(first)
    mu = sum((times / arb(sigma) ** 2 for sigma, times in steps), arb(0)).sqrt()
    for x in np.linspace(-20.0, 36.0, 29).tolist():
        epsilon = float(mu.mid()) * (x + float(mu.mid()) / 2)
        if epsilon > -700:
            assert holds(account.delta(epsilon), gaussian_delta(mu, arb(epsilon))), x
    for delta in (0.1, 1e-5, 1e-30, 1e-100):
        found = account.epsilon(delta)
        assert gaussian_delta(mu, arb(found.lower)) >= arb(delta), delta
        assert gaussian_delta(mu, arb(found.upper)) <= arb(delta), delta
        assert relative_width(found) < 1e-9


@pytest.mark.parametrize(("sigma", "rate"), [(0.0017, 0.3), (0.01, 1e-4), (0.31, 0.02)])
def test_one_sample_of_gaussian_noise_whose_mu_is_large_though_it_is_rounded(sigma, rate):
    account = ew.account(ew.PoissonSampled(ew.Gaussian(sigma), rate), direction="forward")
    mu, share = 1 / arb(sigma), arb(rate)
    for x in np.linspace(-20.0, 36.0, 29).tolist():
        epsilon = x / sigma + 0.5 / sigma**2
        inner = (1 + (arb(epsilon).exp() - 1) / share).log()
        if epsilon > 0:
            assert holds(account.delta(epsilon), share * gaussian_delta(mu, inner)), x


@pytest.mark.parametrize("x", [-8.5, -7.5, -7.0, -6.5, -6.1])
@pytest.mark.parametrize("sigma", [0.02, 0.005])
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_far_left_of_the_mean_a_tail_that_underflows_is_not_nothing(direction, sigma, x):
    """There 1 - delta = Q[T <= eps] + e^eps P[T > eps], whose second part counts though P[T > eps] is no double."""
    account = ew.account(ew.Gaussian(sigma) ** 2, method="contour", direction=direction)
    mu = arb(2).sqrt() / arb(sigma)
    epsilon = float((mu * (arb(x) + mu / 2)).mid())
    assert epsilon > 745
    found = account.delta(epsilon)
    assert holds(found, gaussian_delta(mu, arb(epsilon)))
    assert relative_width(found) < 1e-8


@pytest.mark.parametrize("epsilon", [20.0, 30.0])
def test_of_next_to_no_privacy_the_recursion_does_not_say_there_is_some(epsilon):
    """Where f is far below an ulp of 1, a delta that is rounded down from 1 would be too much of it."""
    account = ew.account(ew.RandomizedResponse(epsilon) ** 4, method="recursion", direction="forward")
    sums = outcomes(*[response(epsilon)] * 4)
    for alpha in (1e-60, 1e-20, 1e-12, 0.1, 0.9):
        assert holds(account.tradeoff(alpha), exact_tradeoff(sums, alpha)), alpha


@pytest.mark.parametrize("scale", [0.0067, 0.005])
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_far_beyond_all_losses_that_were_kept_the_lattice_does_not_fall(direction, scale):
    """E[(1 - X/u)_+] rises with u, also beyond the last point of the lattice."""
    account = ew.account(ew.Laplace(scale) ** 2, method="lattice", direction=direction)
    for share in (0.9, 1.05, 1.2):
        found = account.delta(share / scale)
        assert found.upper == 1
        assert found.lower > 1 - 1e-6


@pytest.mark.parametrize(("sigma", "rate"), [(3.934301346395877, 5.457208940759947e-05), (0.7, 0.003), (20.0, 1e-6)])
def test_the_recursion_reads_one_sample_that_hardly_leaks(sigma, rate):
    """An ulp of a power of 1/2 is a large part of so small a delta."""
    account = ew.account(ew.PoissonSampled(ew.Gaussian(sigma), rate), method="recursion", direction="forward")
    for epsilon in (0.0, 1e-9, 1e-7):
        inner = (1 + (arb(epsilon).exp() - 1) / arb(rate)).log()
        assert holds(account.delta(epsilon), arb(rate) * gaussian_delta(1 / arb(sigma), inner)), epsilon
