"""Outcomes that are dropped: their mass, what is kept, and that a reading of the whole lies between the two."""

import math
import runpy
from pathlib import Path

import mpmath
import numpy as np
import pytest
from flint import acb, arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_ndtr, ndtr, roots_hermitenorm

from edgeworth.composition.contour.answers import Answers
from edgeworth.composition.contour.line_answers import LineAnswers
from edgeworth.composition.contour.sampled_gaussian import _SOFTNESS, SampledGaussian, Steps
from edgeworth.losses import GaussianLoss, LaplaceLoss, SampledLoss, TotalLoss

dropped = runpy.run_path(str(Path(__file__).with_name("truth_line.py")))["dropped"]


def sampled(mu, rate, cut=math.inf):
    return SampledGaussian(SampledLoss(GaussianLoss(mu), rate), mu, rate, cut)


def total_of(mu, rate, n):
    return TotalLoss(((SampledLoss(GaussianLoss(mu), rate), n),))


def chi(x, cut):
    return mpmath.ncdf((cut - x) / mpmath.mpf(_SOFTNESS))


@pytest.mark.parametrize(("mu", "rate", "cut"), [(0.25, 3.3e-4, 6.0), (1.0, 0.01, 9.0), (2.0, 1e-5, 30.0)])
def test_the_dropped_masses_are_those_of_an_integral(mu, rate, cut):
    null, shifted = dropped(0.0, cut), dropped(mu, cut)
    truths = null, (1 - arb(rate)) * null + arb(rate) * shifted
    for truth, found in zip(truths, sampled(mu, rate, cut).log_dropped, strict=True):
        assert abs(float(truth.log().mid()) - found) <= 1e-12 * abs(found)


@pytest.mark.parametrize("n", [1, 10**4, 10**9])
@pytest.mark.parametrize("log_dropped", [-40.0, -200.0, -700.0, -720.0])
def test_all_steps_together_drop_no_more_than_they_may_and_no_less_than_is_stated(n, log_dropped):
    steps = Steps.of(total_of(0.25, 3.3e-4, n), log_dropped)
    (step, _), *_ = steps.others
    with mpmath.workdps(40):
        wide = mpmath.sqrt(1 + mpmath.mpf(step.softness) ** 2)
        null = mpmath.ncdf(-mpmath.mpf(step.cut) / wide)
        shifted = mpmath.ncdf((mpmath.mpf(step.mu) - mpmath.mpf(step.cut)) / wide)
        rate = mpmath.mpf(step.rate)
        truths = n * null, n * ((1 - rate) * null + rate * shifted)
        for truth, stated in zip(truths, steps.dropped, strict=True):
            assert truth <= stated + 5e-324  # the least double, where all of it is that small
            assert stated <= truth * (1 + mpmath.mpf(1e-9)) + mpmath.mpf(10) ** -322
        assert truths[1] <= mpmath.exp(log_dropped) * (1 + mpmath.mpf(1e-9))
        assert truths[1] >= mpmath.exp(log_dropped) / 2  # and not far less


@pytest.mark.parametrize(("sigma", "rate", "n", "softest"), [(0.8, 5e-3, 5000, True), (36.0, 2e-6, 6, False)])
def test_a_cut_is_sharp_only_where_a_tilt_would_pass_it(sigma, rate, n, softest):
    (step, _), *_ = Steps.of(total_of(1 / sigma, rate, n), -80.0).others
    assert (step.softness == _SOFTNESS) == softest
    tilt = math.sqrt(160) / (rate * math.sqrt(n * math.expm1(1 / sigma**2)))
    assert step.steepest[1] > 1 + tilt


def test_without_a_depth_nothing_is_dropped():
    steps = Steps.of(total_of(0.25, 3.3e-4, 100))
    assert steps.dropped == (0.0, 0.0)
    assert math.isinf(steps.others[0][0].cut)


@pytest.mark.parametrize("theta", [0.2, 3.0])
def test_runs_that_meet_nothing_but_atoms_count_as_dropped_where_nothing_smooths_them(theta):
    laplace = (LaplaceLoss(theta), 40)
    truth = ((1 + math.exp(-theta)) / 2) ** 40
    for mass in Steps.of(TotalLoss((laplace,))).dropped:
        assert truth <= mass <= truth * (1 + 2e-9)
    assert Steps.of(TotalLoss((laplace, (GaussianLoss(0.5), 1)))).dropped == (0.0, 0.0)


@given(z=st.floats(-30, 30), y=st.floats(-3, 3))
def test_the_cut_grows_no_faster_than_a_normal_density_off_the_real_line(z, y):
    with mpmath.workdps(40):
        turned = abs(mpmath.erfc(-mpmath.mpc(z, y) / mpmath.sqrt(2)) / 2)
        assert turned <= mpmath.exp(mpmath.mpf(y) ** 2 / 2) * mpmath.ncdf(z) * (1 + mpmath.mpf(10) ** -25)


@given(
    mu=st.floats(0.05, 4), rate=st.floats(1e-6, 0.5), cut=st.floats(3, 20), c=st.floats(-30, 200), far=st.floats(0, 40)
)
def test_the_slope_of_the_density_beyond_where_it_must_fall(mu, rate, cut, c, far):
    step = sampled(mu, rate, cut)
    x = step.falling_from(c) + far
    ends = np.array([x, x + 1e-4])
    exponent = c * step.loss(ends) + step.log_density(ends)
    assert exponent[1] - exponent[0] <= -1e-4 + 1e-11 * (1 + float(np.max(np.abs(exponent))))


@given(
    mu=st.floats(0.05, 4), rate=st.floats(1e-6, 0.5), cut=st.floats(3, 20), c=st.floats(-30, 60), x=st.floats(-12, 25)
)
def test_the_bend_of_the_log_density_is_bounded(mu, rate, cut, c, x):
    step = sampled(mu, rate, cut)
    gap = 1e-2
    at = np.array([x - gap, x, x + gap])
    exponent = c * step.loss(at) + step.log_density(at)
    second = float(np.diff(exponent, 2)[0]) / gap**2
    assert abs(second) <= step.bend(c) + 1e-10 * (1 + float(np.max(np.abs(exponent))))


@pytest.mark.parametrize("c", [-5.0, 0.3, 60.0])
def test_the_moment_of_what_is_kept_in_small_terms(c):
    """E[chi e^(cL)] = 1 - dP + c (dP - dQ) + E[chi (e2(cL) - c e2(L))]: the terms left out are within (1 + 2|c|) dQ."""
    mu, rate, cut = arb(0.5), arb(0.01), 4.0
    ctx.prec = 130

    def mean(g):
        def integrand(x, analytic):
            loss = (1 - rate + rate * (mu * x - mu * mu / 2).exp()).log(analytic=analytic)
            kept = ((x - cut) / (arb(_SOFTNESS) * arb(2).sqrt())).erfc() / 2
            return (-x * x / 2).exp() * kept * g(loss)

        return acb.integral(integrand, acb(-15), acb(cut + 3)).real / (2 * arb.pi()).sqrt()

    def e2(z):
        return z.expm1() - z

    whole = mean(lambda value: (c * value).exp())
    small = mean(lambda value: e2(c * value) - c * e2(value))
    null, alternative = (arb(log).exp() for log in sampled(0.5, 0.01, cut).log_dropped)
    assert abs(whole - (1 - null + c * (null - alternative) + small)) < 1e-14
    assert abs(whole - 1 - small) <= (1 + 2 * abs(c)) * alternative


# --- a reading of the whole lies between what is kept and that plus what was dropped

CASES = [(1.0, 0.01, 5), (0.5, 0.02, 3), (2.0, 0.05, 4)]


def one_step_delta(mu, rate, epsilon):
    """delta of one step, closed form: p (Phi(a) - e^e' Phi(b)) at e' = log((e^eps - 1 + p)/p), in mpmath."""
    mu, rate, epsilon = (mpmath.mpf(value) for value in (mu, rate, epsilon))
    if mpmath.exp(epsilon) <= 1 - rate:
        return 1 - mpmath.exp(epsilon)
    base = mpmath.log((mpmath.expm1(epsilon) + rate) / rate)
    return rate * (mpmath.ncdf(mu / 2 - base / mu) - mpmath.exp(base) * mpmath.ncdf(-mu / 2 - base / mu))


def kept_delta(mu, rate, cut, n, epsilon):
    """delta of the kept measures for n = 1 or 2: even sums in x of what is kept of (e^T - e^eps)_+."""
    x = np.linspace(-11, 14, 60_001 if n == 1 else 3001)
    step = sampled(mu, rate, cut)
    loss = step.loss(x)
    weight = np.exp(step.log_density(x)) * (x[1] - x[0])
    if n == 1:
        return float(np.sum(weight * np.maximum(np.exp(loss) - math.exp(epsilon), 0)))
    total = np.maximum(np.exp(np.add.outer(loss, loss)) - math.exp(epsilon), 0)
    return float(weight @ total @ weight)


@pytest.mark.parametrize(("mu", "rate", "cut"), CASES)
def test_one_step_loses_between_nothing_and_the_dropped_mass(mu, rate, cut):
    _, alternative = (math.exp(log) for log in sampled(mu, rate, cut).log_dropped)
    for epsilon in (0.0, 0.003, 0.05, 0.3):
        kept, whole = kept_delta(mu, rate, cut, 1, epsilon), float(one_step_delta(mu, rate, epsilon))
        slack = 1e-5 * whole  # of the kink between two nodes
        assert kept <= whole + slack
        assert whole <= kept + alternative + slack


def two_step_delta(mu, rate, epsilon):
    """E_Q[delta_1(eps - L)] with 200 Gauss-Hermite nodes about each of the two means of Q."""
    node, weight = roots_hermitenorm(200)
    step = sampled(mu, rate)
    total = 0.0
    for mean, share in ((0.0, 1 - rate), (mu, rate)):
        loss = step.loss(node + mean)
        inner = np.array([float(one_step_delta(mu, rate, epsilon - value)) for value in loss])
        total += share * float(weight @ inner) / math.sqrt(2 * math.pi)
    return total


@pytest.mark.parametrize(("mu", "rate", "cut"), CASES[:2])
def test_two_steps_lose_between_nothing_and_twice_the_dropped_mass(mu, rate, cut):
    alternative = math.exp(sampled(mu, rate, cut).log_dropped[1])
    for epsilon in (0.05, 0.3):
        kept, whole = kept_delta(mu, rate, cut, 2, epsilon), two_step_delta(mu, rate, epsilon)
        slack = 1e-4 * whole
        assert kept <= whole + slack
        assert whole <= kept + 2 * alternative + slack


@pytest.mark.parametrize(("sigma", "rate", "n"), [(1.0, 0.01, 3000), (2.0, 0.02, 500), (0.8, 0.00512, 5000)])
def test_all_six_readings_of_two_levels_overlap(sigma, rate, n):
    """Nothing dropped, e^-30 and e^-60 dropped: three enclosures of the same numbers."""
    total = total_of(1 / sigma, rate, n)
    levels = [LineAnswers(total, level) for level in (0, 3, 6)]
    spread, middle = levels[0].integrals.spread, levels[0].integrals.middle
    t = middle + spread * np.array([-3.0, -1.0, 0.0, 1.0, 3.0])
    for kind in ("delta", "reverse", "alpha", "acceptance", "beta", "power"):
        ends = [answers._read(kind, t) for answers in levels]
        assert np.all(np.max([one.lower for one in ends], axis=0) <= np.min([one.upper for one in ends], axis=0))
        assert np.all(ends[2].upper - ends[2].lower <= 1e-8 * ends[2].upper + 2 * math.exp(-60))


def test_the_density_of_a_random_hard_cut_is_that_of_the_soft_one():
    """chi(x) = P[X + sZ > x]: minus its derivative is the density of the hard cut, here relative to chi."""
    step, x = sampled(0.5, 0.01, 6.0), np.linspace(4.0, 8.0, 41)
    gap = 1e-6
    rise = (log_ndtr((6.0 - x + gap) / _SOFTNESS) - log_ndtr((6.0 - x - gap) / _SOFTNESS)) / (2 * gap)
    assert np.allclose(step.window(x)[1], rise, rtol=1e-6, atol=1e-300)
    assert np.all(step.window(x)[1] * ndtr((6.0 - x) / _SOFTNESS) <= 1 / (_SOFTNESS * math.sqrt(2 * math.pi)))


@pytest.mark.parametrize(("sigma", "rate", "n", "delta"), [(3.71, 8.2e-5, 9, 3.7e-10), (4.87, 3.8e-6, 15508, 1.5e-22)])
def test_the_whole_lines_of_a_law_that_splits_are_asked_for_last(sigma, rate, n, delta):
    answers = Answers(total_of(1 / sigma, rate, n))
    ends = answers.epsilon("both", np.array([delta]))
    assert 0 < ends.lower[0] <= ends.upper[0] <= ends.lower[0] * (1 + 1e-7)
    assert 0 not in answers._levels


def test_lines_tell_how_deep_a_reading_is_before_jumps_are_followed():
    answers = Answers(total_of(1 / 36.44, 2.35e-6, 6))
    ends = answers.delta("both", np.array([1.186e-6]))
    assert 0 < ends.lower[0] <= ends.upper[0] <= ends.lower[0] * (1 + 1e-7)
    assert "_jumping" not in vars(answers)
