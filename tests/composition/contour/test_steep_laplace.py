"""Laplace noise at steep tilts: its nodes against the formula of its moments, and readings beyond its largest loss."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition import contour
from edgeworth.composition.contour.steep_laplace import real_nodes, sample_nodes, steepest_of
from edgeworth.composition.log_sums import log_sum
from edgeworth.losses import LaplaceLoss, SampledLoss, TotalLoss


def moment(theta: float, c: float) -> mpmath.mpf:
    """log E_P[e^(cL)] by its formula."""
    with mpmath.workdps(60):
        t, s = mpmath.mpf(theta), mpmath.mpf(c)
        return +mpmath.log(((1 - s) * mpmath.exp(-s * t) - s * mpmath.exp((s - 1) * t)) / (1 - 2 * s))


@pytest.mark.parametrize("theta", [0.003, 0.9, 40.0])
@pytest.mark.parametrize("share", [1.0, -1.0, 0.3, 1e-3, -1e-5, 0.0])
def test_nodes_serve_every_tilt_up_to_the_steepest(theta: float, share: float) -> None:
    """One set of them for all tilts of its reach, in the middle and at both ends."""
    loss = LaplaceLoss(theta)
    least, most = steepest_of(loss)
    nodes, c = real_nodes(loss, (least, most)), share * most
    found, truth = log_sum(c * nodes.loss + nodes.log_weight), moment(theta, c)
    assert nodes.loss.size < 2_000
    assert abs(found - truth) <= 1e-14 + 4e-15 * abs(truth)


def test_what_nodes_served_before_is_as_it_was() -> None:
    """Tilts that are not steep have the same nodes as at any frequency."""
    loss = LaplaceLoss(1.5)
    assert np.array_equal(real_nodes(loss, (-100.0, 2000.0)).loss, loss.nodes((-100.0, 2000.0)).loss)


@pytest.mark.parametrize(("theta", "rate"), [(1.5, 1e-3), (0.2, 0.004), (6.0, 1e-6)])
@pytest.mark.parametrize("turn", [0.0, 0.7, -1.3])
def test_nodes_of_a_sample_serve_steep_tilts_and_frequencies(theta: float, rate: float, turn: float) -> None:
    """E_P[e^(sL)] of a sample at s = c + it, against panels that are short enough for its base twice over."""
    loss = SampledLoss(LaplaceLoss(theta), rate)
    c = 5_000 / theta
    s = complex(c, turn * c)
    assert -steepest_of(loss)[0] == steepest_of(loss)[1] > abs(s)
    few, many = sample_nodes(loss, abs(s)), loss.nodes((-2 * abs(s), 2 * abs(s)))
    assert 20 * few.loss.size < many.loss.size
    top = float(np.max(c * many.loss + many.log_weight))
    found, truth = (np.sum(np.exp(s * nodes.loss + nodes.log_weight - top)) for nodes in (few, many))
    whole = float(np.sum(np.exp(c * many.loss + many.log_weight - top)))
    assert abs(found - truth) <= 1e-14 * (4 + abs(s) * loss.support[1]) * whole


def beyond_laplace(theta: float, mu: float, eps: float) -> mpmath.mpf:
    """The profile of Laplace beside Gaussian noise: that of the latter over the atoms and the density of the former."""
    with mpmath.workdps(50):
        t, m, e = mpmath.mpf(theta), mpmath.mpf(mu), mpmath.mpf(eps)

        def normal(d: mpmath.mpf) -> mpmath.mpf:
            return mpmath.ncdf(m / 2 - d / m) - mpmath.exp(d) * mpmath.ncdf(-m / 2 - d / m)

        def density(v: mpmath.mpf) -> mpmath.mpf:
            return mpmath.exp((v - t) / 2) / 4 * normal(e - v)

        tail = mpmath.quad(density, [t - 40 * m, t - 10 * m, t - 4 * m, t - 2 * m, t - m, t])
        return normal(e - t) / 2 + tail + 0 * e


@pytest.mark.parametrize(("scale", "sigma", "beyond"), [(1.0, 2000.0, 0.004), (0.25, 1e4, 0.0008), (12.0, 3e4, 3e-4)])
def test_readings_beyond_the_largest_loss_of_laplace_noise(scale: float, sigma: float, beyond: float) -> None:
    """Some eight deviations of the other noise beyond: a tilt by 2e4 and more, at which panels were too many."""
    total = TotalLoss.of(ew.Laplace(scale) * ew.Gaussian(sigma))
    eps = 1 / scale + beyond
    ends = contour.prepared(total).delta("forward", np.array([eps]))
    truth = beyond_laplace(1 / scale, 1 / sigma, eps)
    assert 0 < ends.lower[0] <= truth <= ends.upper[0] <= ends.lower[0] * (1 + 1e-8)


def test_samples_beside_laplace_noise_just_beyond_its_largest_loss() -> None:
    """Sums of very small losses; the ends are those of graded points, which have three digits."""
    mix = ew.PoissonSampled(ew.Gaussian(22.2), rate=2.96e-5) ** 250 * ew.Laplace(2.23) ** 2
    ends = contour.prepared(TotalLoss.of(mix)).delta("backward", np.array([0.897]))
    assert 1.078346344581746e-17 <= ends.lower[0] <= ends.upper[0] <= 1.078622974492387e-17
    assert ends.upper[0] <= ends.lower[0] * (1 + 1e-7)
