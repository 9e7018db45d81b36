"""Runs sorted by their jumps: the windows, the bounds of one step against balls, and the masses."""

import functools
import math
import runpy
from itertools import pairwise
from pathlib import Path

import mpmath
import numpy as np
import pytest
from flint import acb, arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from edgeworth.composition.contour.jumps import _log_jumping, _windows, applies, likely_jumps, sorted_runs
from edgeworth.composition.contour.log_moments import LogMoments
from edgeworth.composition.contour.sampled_gaussian import Edge, SampledGaussian, Steps, log_overlap
from edgeworth.composition.contour.tilted_part import tilt_part
from edgeworth.errors import Unsupported
from edgeworth.losses import GaussianLoss, LaplaceLoss, SampledLoss, TotalLoss

LINE = runpy.run_path(str(Path(__file__).with_name("truth_line.py")))


def shell(mu, rate, start, cut, softness, start_softness=None, further=()):
    whole = SampledLoss(GaussianLoss(mu), rate)
    return SampledGaussian(whole, mu, rate, cut, start, softness, start_softness or softness, further)


def total_of(sigma, rate, n):
    return TotalLoss(((SampledLoss(GaussianLoss(1 / sigma), rate), n),))


# --- the windows

soft = st.floats(0.002, 0.15)


edges = st.builds(
    lambda first, gaps: [Edge(first + sum(gaps[:k, 0]), gaps[k, 1]) for k in range(len(gaps))],
    st.floats(2, 12),
    st.lists(st.tuples(st.floats(1.4, 5), soft), min_size=1, max_size=5).map(np.array),
)


@given(x=st.floats(-15, 60), edges=edges)
def test_the_windows_add_up_to_one(x, edges):
    bulk, shells = _windows(shell(1.0, 0.01, -math.inf, math.inf, 0.15), edges)
    logs = [step.log_window(np.array([x]))[0] for step in (bulk, *shells)]
    assert max(logs) <= 0
    assert abs(math.fsum(map(math.exp, logs)) - 1) < 1e-14 * max(1.0, abs(x) / min(edge.softness for edge in edges))


@given(x=st.floats(-3, 3), y=st.floats(-0.3, 0.3), width=st.floats(1.4, 4), softness=soft, other=soft)
def test_a_window_grows_no_faster_than_its_strip_factor_says(x, y, width, softness, other):
    step = shell(1.0, 0.01, 0.0, width, softness, other, (Edge(width + 2, 0.15),))
    with mpmath.workdps(60):

        def beyond(z, place, s):
            return mpmath.erfc(-(z - place) / mpmath.mpf(s) / mpmath.sqrt(2)) / 2

        def window(z):
            return beyond(z, 0, other) * beyond(width, z, softness) * beyond(width + 2, z, 0.15)

        most = mpmath.exp((step.strip_factor - 1) * mpmath.mpf(y) ** 2 / 2) * window(mpmath.mpf(x))
        assert abs(window(mpmath.mpc(x, y))) <= most * (1 + mpmath.mpf(10) ** -20) + mpmath.mpf(10) ** -50


@pytest.mark.parametrize(
    ("mu", "rate", "edge", "further"),
    [
        (1.0, 1e-3, Edge(5.0, 0.1), Edge(6.4, 0.13)),
        (2.0, 1e-5, Edge(9.0, 0.02), Edge(10.4, 0.15)),
        (0.1, 0.02, Edge(3.0, 0.15), Edge(5.0, 0.15)),
        (1.0, 1e-6, Edge(12.7, 0.06), Edge(14.5, 0.12)),
    ],
)
def test_what_lies_before_one_edge_and_beyond_another_is_at_most_the_overlap(mu, rate, edge, further):
    def share(mean):
        def integrand(x):
            after = mpmath.ncdf((x - further.place) / mpmath.mpf(further.softness))
            return mpmath.npdf(x, mean) * mpmath.ncdf((edge.place - x) / mpmath.mpf(edge.softness)) * after

        return mpmath.quad(integrand, mpmath.linspace(edge.place - 3, further.place + 3, 30))

    with mpmath.workdps(25):
        null, shifted = share(0), share(mpmath.mpf(mu))
        bounds = log_overlap(mu, rate, edge, further)
        for truth, bound in zip((null, (1 - mpmath.mpf(rate)) * null + rate * shifted), bounds, strict=True):
            assert mpmath.log(truth) <= bound <= mpmath.log(truth) + 7


steps = st.builds(
    lambda mu, rate, start, width, softness, other: shell(
        mu, rate, start, start + width, softness, other, (Edge(start + width + 2, 0.15),)
    ),
    st.floats(0.05, 4),
    st.floats(1e-6, 0.03),
    st.floats(3, 20),
    st.floats(1.4, 5),
    soft,
    soft,
)


@given(step=steps, c=st.floats(-30, 2000), far=st.floats(0, 20))
def test_beyond_a_shell_the_tilted_density_falls_as_fast_as_stated(step, c, far):
    x = step.falling_from(c) + far
    ends = np.array([x, x + 1e-4])
    exponent = c * step.loss(ends) + step.log_density(ends)
    least = 1 + max(x - step.cut, 0.0) / (2 * step.softness**2)
    assert exponent[1] - exponent[0] <= -1e-4 * least + 1e-11 * (1 + float(np.max(np.abs(exponent))))


@given(step=steps, c=st.floats(-30, 60), x=st.floats(-12, 30))
def test_the_bend_of_a_shell_is_bounded(step, c, x):
    at = x + 1e-3 * np.array([-1.0, 0.0, 1.0])
    exponent = c * step.loss(at) + step.log_density(at)
    second = float(np.diff(exponent, 2)[0]) / 1e-6
    assert abs(second) <= step.bend(c) + 1e-8 * (1 + float(np.max(np.abs(exponent))))


# --- one step, against balls


def window_moment(step, s):
    """E_P[chi e^(sL)] as a complex ball."""
    ctx.prec = 200
    m, p, c = arb(step.mu), arb(step.rate), float(s.real.mid())
    kept = [(Edge(step.cut, step.softness), -1), *((edge, -1) for edge in step.further)]
    kept = [(edge, sign) for edge, sign in [*kept, (Edge(step.start, step.start_softness), 1)] if abs(edge[0]) < 1e3]

    def integrand(x, analytic):
        inner = 1 - p + p * LINE["log_odds"](m, x).exp()
        value = (s * inner.log(analytic=analytic) - x * x / 2).exp()
        for (place, softness), sign in kept:
            value *= (sign * (arb(place) - x) / (arb(softness) * arb(2).sqrt())).erfc() / 2  # Phi(+-(x - place)/s)
        return value

    low = -17.0 if math.isinf(step.start) else step.start - 30 * step.start_softness - 1
    high = step.cut + 30 * step.softness + 1 if math.isfinite(step.cut) else max(step.start, c * step.mu) + 17
    edges = [low, *np.arange(math.ceil(low), high).tolist(), high]
    total = acb(0)
    for a, b in pairwise(edges):
        if a < b:
            total += acb.integral(integrand, acb(a), acb(b), rel_tol=arb(2) ** -90, abs_tol=arb(2) ** -500)
    return total / (2 * arb.pi()).sqrt()


@functools.cache
def plain_moment(step, c):
    """That of the step on the real line, which several tests divide by."""
    return window_moment(step, acb(c))


STEPS = [
    (shell(0.9, 2e-5, 9.8, 11.9, 0.06), 44.8, 250.0),
    (shell(0.9, 2e-5, 11.9, math.inf, 0.06), 7.1, 180.0),
    (shell(1.0, 1e-6, 8.5, 10.6, 0.021), 870.0, 2000.0),
    (shell(2.0, 1e-5, 6.0, 7.5, 0.05), 20.0, 100.0),
    (shell(0.4, 5e-4, 14.2, 16.9, 0.12), 220.0, 200.0),
    (shell(0.9, 2e-5, 9.8, 11.9, 0.06), -30.0, 60.0),
    (shell(1.0, 1e-6, -math.inf, 7.4, 0.023), 3800.0, 3000.0),
    (shell(1.0, 1e-3, -math.inf, 4.0, 0.1), 30.0, 40.0),
    (shell(0.9, 2e-5, -math.inf, 9.8, 0.06), -235.0, 200.0),
    (shell(1.0, 1e-6, 12.7, 14.6, 0.12, 0.06, (Edge(16.9, 0.12), Edge(20.0, 0.15))), 60.0, 200.0),
    (shell(1.0, 1e-6, 16.9, math.inf, 0.12), 22.7, 90.0),
    (shell(2.0, 1e-3, -math.inf, 4.6, 0.15, None, (Edge(6.5, 0.1),)), 3.4, 150.0),
]


@pytest.mark.parametrize(("step", "c", "t"), STEPS)
def test_a_windowed_step_is_within_its_stated_errors(step, c, t):
    part = tilt_part(step, 1, c, t)
    plain = plain_moment(step, c)
    at = np.array([0.13 * t, 0.5 * t, t])
    value, error = part.characteristic(at)
    for frequency, found, bound in zip(at.tolist(), value, error, strict=True):
        truth = window_moment(step, acb(c, frequency)) / plain - 1
        assert float(abs(truth - acb(complex(found))).mid()) <= bound
    tilts = 0.0 if step.is_jump else (abs(c) + abs(c - 1)) * math.exp(-part.log_moment)
    stated = part.log_moment_error + 2 * part.quadrature * (1 + tilts)
    assert float(abs(plain.real.log() - arb(part.log_moment)).mid()) <= stated
    assert stated < 1e-11


@pytest.mark.parametrize(("step", "c", "t"), STEPS)
def test_the_bound_far_out_holds_at_every_frequency_and_only_falls(step, c, t):
    part = tilt_part(step, 1, c, t)
    at = np.geomspace(0.2 * t, 8 * t, 6)
    bounds = part.log_far_bound(at)
    assert np.all(np.diff(bounds) <= 0)
    plain = plain_moment(step, c)
    for frequency, bound in zip(at.tolist(), bounds, strict=True):
        modulus = (window_moment(step, acb(c, frequency)) / plain).abs_lower()
        assert modulus <= arb(bound).exp()


def test_the_bound_of_a_shell_far_out_is_not_held_up_by_rounding():
    part = tilt_part(shell(1.0, 1e-6, 16.9, math.inf, 0.12), 1, 22.7, 200.0)
    assert part.log_far_bound(np.array([200.0]))[0] < -60


RAISED = [
    (shell(1.0, 1e-6, 8.5, 10.6, 0.03, 0.021, (Edge(13.0, 0.1),)), 870.0, 4e4),
    (shell(1.0, 1e-6, 5.5, 8.1, 0.04, 0.02), 7000.0, 2e6),
    (shell(0.3, 1e-4, 9.0, 14.0, 0.15), -200.0, 4e7),
]


@pytest.mark.parametrize(("step", "c", "t"), RAISED)
def test_at_high_frequencies_a_shell_is_within_its_stated_errors(step, c, t):
    part = tilt_part(step, 1, c, t)
    assert part.raised is not None
    assert part.points < 10_000
    plain = plain_moment(step, c)
    at = t * np.array([0.02, 0.1])
    value, error = part.characteristic(at)
    for frequency, found, bound in zip(at.tolist(), value, error, strict=True):
        truth = window_moment(step, acb(c, frequency)) / plain - 1
        assert float(abs(truth - acb(complex(found))).mid()) <= bound < 1e-9


def test_left_of_the_bulk_the_bound_far_out_is_deep():
    part = tilt_part(shell(1.0, 1e-6, -math.inf, 8.0, 0.025), 10**6, -2000.0, 8000.0)
    assert 10**6 * part.log_far_bound(np.array([8000.0]))[0] < -20


# --- the sum of the measures

RUNS = [(1.09, 2.1e-5, 2_700_000, -60.0), (1.0, 1e-3, 40, -40.0), (0.5, 1e-5, 100_000, -45.0), (2.0, 1e-3, 3, -30.0)]


def log_mass(term, side):
    """Under P or Q: that of the bulk by its formula, those of the shells by sums of positive terms."""
    log = term.log_ways
    for step, n in term.others:
        nodes = step.nodes((0.0, 1.0))
        alone = np.logaddexp.reduce(nodes.log_weight + side * nodes.loss)
        log += n * (alone if step.is_jump else math.log1p(-math.exp(step.log_dropped[side])))
    return log


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize(("sigma", "rate", "n", "log_budget"), RUNS)
def test_the_measures_and_what_was_dropped_make_up_the_whole_law(sigma, rate, n, log_budget, most):
    runs = sorted_runs(total_of(sigma, rate, n), log_budget, most)
    for side in (0, 1):
        masses = [math.exp(log_mass(term, side)) for term in runs.terms]
        assert abs(math.fsum(masses) - 1) <= 1e-13 + runs.dropped[side]
        assert math.fsum(masses[1:]) <= runs.jumping[side] * (1 + 1e-8)
    assert runs.dropped[1] <= math.exp(log_budget) * len(runs.terms)


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize(("sigma", "rate", "n", "log_budget"), RUNS)
def test_runs_with_too_many_jumps_weigh_no_more_than_is_stated(sigma, rate, n, log_budget, most):
    runs = sorted_runs(total_of(sigma, rate, n), log_budget, most)
    bulk = runs.terms[0].others[0][0]
    with mpmath.workdps(60):
        wide = mpmath.sqrt(1 + mpmath.mpf(bulk.softness) ** 2)
        null = mpmath.ncdf(-bulk.cut / wide)
        shifted = mpmath.ncdf((mpmath.mpf(bulk.mu) - bulk.cut) / wide)
        for side, far in enumerate((null, (1 - mpmath.mpf(rate)) * null + rate * shifted)):
            few = mpmath.fsum(mpmath.binomial(n, k) * far**k * (1 - far) ** (n - k) for k in range(most + 1))
            assert 1 - few <= runs.dropped[side]


@pytest.mark.parametrize("c", [-20.0, 0.3, 5.0])
def test_the_moments_of_the_measures_add_up(c):
    total = total_of(1.0, 1e-3, 40)
    runs = sorted_runs(total, -60.0, 3)
    whole = LogMoments(Steps.of(total))(np.array([c]))[0, 0]
    terms = [LogMoments(term)(np.array([c]))[0, 0] for term in runs.terms]
    assert np.logaddexp.reduce(terms) == pytest.approx(whole, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize(("sigma", "rate", "n", "log_budget"), RUNS)
def test_beyond_the_last_shell_there_is_nothing_left_to_read(sigma, rate, n, log_budget):
    for most in (1, 3):
        shells = [
            step for term in sorted_runs(total_of(sigma, rate, n), log_budget, most).terms for step, _ in term.others
        ]
        assert all(math.isfinite(step.cut) for step in shells)


@pytest.mark.parametrize(
    ("sigma", "rate", "n", "digits", "jumps"),
    [(0.5, 1e-3, 100, 4, 4), (0.5, 1e-3, 100, 60, 19), (1.0, 1e-6, 1000, 50, 1), (46.3, 3.6e-6, 128_553, 100, 1)],
)
def test_deep_readings_of_steep_losses_want_many_jumps(sigma, rate, n, digits, jumps):
    assert likely_jumps(total_of(sigma, rate, n), -digits * math.log(10)) == jumps


def test_shells_that_lie_too_close_are_refused():
    bulk, _ = _windows(shell(1.0, 1e-3, -math.inf, math.inf, 0.15), [Edge(5.0, 0.15), Edge(5.5, 0.15)])
    with pytest.raises(Unsupported, match="the shells of this composition lie too close to one another"):
        _log_jumping(bulk, 10)


def test_jumps_of_different_parts_are_told_apart():
    one, other = (SampledLoss(GaussianLoss(1.0), rate) for rate in (1e-4, 1e-3))
    total = TotalLoss(((one, 500), (LaplaceLoss(0.1), 2), (other, 100)))
    runs = sorted_runs(total, -50.0, 2)
    assert all(sum(n for _, n in term.others) == 602 for term in runs.terms)
    for tilt in (0.0, 1.0):
        masses = [math.exp(LogMoments(term)(np.array([tilt]))[0, 0]) for term in runs.terms]
        assert math.fsum(masses) == pytest.approx(1.0, rel=1e-9)


def test_where_jumps_are_not_told_apart():
    assert not applies(total_of(1.0, 0.1, 100))
    assert not applies(total_of(1.0, 1e-3, 1))
    assert not applies(TotalLoss(((LaplaceLoss(1.0), 5),)))
    assert applies(total_of(1.0, 1e-3, 100))
    with pytest.raises(Unsupported, match="the jumps of this composition are part of its bulk"):
        sorted_runs(total_of(1.0, 0.02, 2), -0.5, 3)
