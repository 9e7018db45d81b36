"""Samples at tiny rates read at delta = 1e-40 … 1e-100: between the bulk of the law and one jump nothing is lost."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.amplification import base_loss
from edgeworth.composition import spread
from edgeworth.composition.contour import jumps
from edgeworth.composition.contour.quadrature import Sharp, even_nodes, panels
from edgeworth.composition.contour.sampled_gaussian import Edge, SampledGaussian
from edgeworth.losses import GaussianLoss, SampledLoss, TotalLoss

DEPTHS = [1e-50, 1e-70, 1e-100]


def samples(sigma, rate, n):
    return ew.PoissonSampled(ew.Gaussian(sigma), rate=rate) ** n


@pytest.mark.parametrize(("sigma", "rate", "n"), [(3.86, 6.95e-5, 169), (4.269, 1.49e-6, 36), (4.703, 0.00104, 279)])
def test_epsilon_is_narrow_at_every_depth_and_agrees_with_graded_points(sigma, rate, n):
    run = samples(sigma, rate, n)
    found = ew.account(run, direction="forward").epsilon(np.array(DEPTHS))
    assert (found.upper - found.lower <= 2e-9 * found.upper).all()
    assert (np.diff(found.lower) > 0).all()
    lower, upper = spread.prepared_alone(TotalLoss.of(run)).epsilon("forward", np.array(DEPTHS))
    assert (lower <= found.upper).all()
    assert (found.lower <= upper).all()
    assert (upper - lower <= 1e-4 * upper).all()


def test_beside_responses_that_have_no_more_to_give_the_tilt_is_far_beyond_that_of_a_normal_law():
    run = samples(4.114, 0.00129, 151) * samples(1.862, 7.55e-5, 124) * ew.RandomizedResponse(0.292) ** 17
    found = ew.account(run, direction="forward").epsilon(9.90703e-82)
    assert found.lower > 17 * 0.292
    assert found.upper - found.lower <= 1e-9 * found.upper


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_wide_shell_is_split_where_its_balanced_density_is_higher_at_its_ends(most):
    runs = jumps.sorted_runs(TotalLoss.of(samples(3.86, 6.95e-5, 169)), -220.0, most)
    shells = {step for term in runs.terms for step, _ in term.others if isinstance(step, SampledGaussian)}
    for shell in (step for step in shells if step.is_jump and math.isfinite(step.cut)):
        x = np.linspace(shell.start, shell.cut, 400)
        slope = x[-1] ** 2 / 2 - x[0] ** 2 / 2
        balanced = slope / (shell.loss(x[-1:]) - shell.loss(x[:1]))  # both ends as high as each other
        exponent = balanced * shell.loss(x) - 0.5 * x * x
        assert exponent[0] - exponent.min() < 12


sharp_steps = st.builds(
    lambda mu, log_rate, cut, softness, jumps_from, start_softness: SampledGaussian(
        SampledLoss(GaussianLoss(mu), math.exp(log_rate)),
        mu,
        math.exp(log_rate),
        cut,
        cut - jumps_from if jumps_from else -math.inf,
        softness,
        start_softness,
        (Edge(cut + 4, softness),),
    ),
    st.floats(0.05, 2),
    st.floats(-13.8, -4),
    st.floats(6, 16),
    st.floats(0.002, 0.02),
    st.sampled_from([0.0, 2.0, 5.0]),
    st.floats(0.002, 0.02),
)


FAR_BEYOND = SampledGaussian(
    SampledLoss(GaussianLoss(0.375), 2.26e-6), 0.375, 2.26e-6, 6.0, -math.inf, 0.0156, 0.0156, (Edge(10.0, 0.0156),)
)


@settings(max_examples=40)
@example(step=FAR_BEYOND, share=1.0, left=0.0)  # a tilt that outweighs the edge itself, a hundred deviations beyond it
@given(step=sharp_steps, share=st.floats(0, 1), left=st.floats(0, 1))
def test_panels_and_even_nodes_have_the_same_log_moments(step, share, left):
    steepest = share * 1.2 * step.cut**2 / (2 * float(step.loss(np.array([step.cut]))[0]))
    tilt = (-0.1 * left * steepest, 1 + steepest)
    nodes = step.nodes(tilt)
    h = min(edge.softness for edge, _ in step.edges) / 8
    farthest = (float(base_loss(nodes.loss.max(), step.rate)) + step.mu**2 / 2) / step.mu  # steep tilts reach far
    x = even_nodes(h, (step.start - 1 if step.is_jump else -14.0, max(step.cut, farthest) + 1), 10**7)
    log_weight = step.log_density(x) + math.log(h)
    for c in (tilt[0], 0.0, 1.0, 0.5 * tilt[1], tilt[1]):
        fine = np.logaddexp.reduce(c * step.loss(x) + log_weight)
        assert abs(np.logaddexp.reduce(c * nodes.loss + nodes.log_weight) - fine) <= 1e-11 * (1 + abs(fine))


def test_panels_are_few_and_refused_where_they_would_be_many():
    x, log_weight = panels((-10.0, 12.0), [Sharp(8.0, 0.002)], 5_000)
    assert x.size < 2_000
    assert np.exp(log_weight).sum() == pytest.approx(22, rel=1e-14)
    assert panels((-10.0, 12.0), [Sharp(8.0, 0.002, after=math.inf)], 5_000) is None


def test_nothing_beyond_the_end_of_a_steeply_tilted_law_has_weight():
    step = SampledGaussian(SampledLoss(GaussianLoss(0.0892), 3.13e-6), 0.0892, 3.13e-6, 11.0, softness=0.0065)
    steep = replace(step, cut=11.0).falling_from(2.8e7)
    assert steep > 50
    nodes = step.nodes((0.0, 2.8e7))
    assert nodes.loss.max() < float(step.loss(np.array([20.0]))[0])
    x = even_nodes(1e-4, (11.0, steep + 1), 10**7)
    beyond = x > 13
    exponent = 2.8e7 * step.loss(x) + step.log_density(x)
    assert exponent[beyond].max() < (2.8e7 * nodes.loss + nodes.log_weight).max() - 30
