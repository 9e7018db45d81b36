"""The bounds behind the residues, one by one: logarithms, moduli on circles, aliases and terms left out."""

import math
import runpy
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeworth.composition.residues import circle
from edgeworth.composition.residues.circle import Circles
from edgeworth.composition.residues.expansion import Expansion, _log_binomials
from edgeworth.composition.residues.stations import Station, Sup
from edgeworth.losses import BinaryLoss, LaplaceLoss, TotalLoss

TRUTH = runpy.run_path(str(Path(__file__).with_name("truth_residues.py")))
UNIT = 2.0**-53


def expansion_of(steps, responses=()):
    losses = [(LaplaceLoss(theta), n) for theta, n in steps] + [(BinaryLoss(epsilon), n) for epsilon, n in responses]
    return Expansion.of(TotalLoss(tuple(losses)))


@pytest.mark.parametrize("n", [1, 2, 7, 60, 1500])
def test_log_binomials_are_within_some_ulps(n):
    computed = _log_binomials(n)
    for j in {0, 1, n // 3, n // 2, n}:
        with mpmath.workdps(30):
            truth = mpmath.log(mpmath.binomial(n, j)) - n * mpmath.log(2)
            assert abs(computed[j] - truth) <= 4 * UNIT * (1 + abs(truth))


@given(
    radius=st.floats(math.log(1e-3), math.log(1e12)).map(math.exp).filter(lambda r: abs(r - 0.5) > 0.04),
    share=st.floats(1e-4, 1 - 1e-4),
)
def test_the_logarithms_at_a_node_are_within_the_allowance(radius, share):
    angle = math.pi * share
    half, common = (complex(value[0]) for value in circle._logs_of_w(radius, np.array([angle])))
    q = 0.5 / radius
    with mpmath.workdps(40):
        w = mpmath.expj(-mpmath.mpf(angle)) / (2 * mpmath.mpf(radius))
        up, down = mpmath.log(1 + w), mpmath.log(1 - w)
        assert abs(half - (up - down) / 2) <= 16 * UNIT * abs((up - down) / 2)
        assert abs(common - (up + down)) <= 16 * UNIT * (min(1.0, q * q) + abs(up + down))


def moduli(expansion, radius, angle, t):
    """The sum of the moduli of the terms with tau > t at one node."""
    z = radius * complex(math.cos(angle), math.sin(angle))
    w = 1 / (2 * z)
    small, large = expansion.groups()
    weight, m, tau = ((a[:, None] + b).ravel() for a, b in zip(small, large, strict=True))
    n = expansion.laplace_steps
    logs = weight + (n + m) / 2 * math.log(abs(1 + w)) + (n - m) / 2 * math.log(abs(1 - w)) + z.real * (tau - t)
    return logs[tau > t]


@pytest.mark.parametrize(
    ("steps", "responses"),
    [([(1.0, 5)], []), ([(0.02, 300)], []), ([(8.0, 3)], []), ([(0.5, 2), (2.0, 1)], [(0.7, 2)])],
)
@pytest.mark.parametrize("radius", [0.07, 0.4, 0.62, 3.0, 40.0])
@pytest.mark.parametrize("share", [-0.3, 0.0, 0.4, 0.95])
def test_no_node_exceeds_the_bound_of_its_circle(steps, responses, radius, share):
    expansion = expansion_of(steps, responses)
    t = (share - 1) * expansion.largest
    found = [np.logaddexp.reduce(moduli(expansion, radius, angle, t)) for angle in np.linspace(0.01, 3.13, 60)]
    for tilt in (1e-3, 0.5, 5.0):  # any tilt is a proof
        bound = Sup(expansion, np.array([radius]), tilt).log(np.array([t]))[0, 0]
        assert max(found) <= bound
    tilts = np.geomspace(1e-3, 300.0, 60)
    tightest = min(Sup(expansion, np.array([radius]), float(tilt)).log(np.array([t]))[0, 0] for tilt in tilts)
    assert tightest <= max(found) + 12


@pytest.mark.parametrize(("theta", "n"), [(1.0, 6), (0.01, 400), (9.0, 3)])
def test_no_term_exceeds_its_largest_modulus(theta, n):
    circles = Circles(expansion_of([(theta, n)]))
    for number in range(0, len(circles.stations), 9):
        one = circles._circle(number)
        bound = one._largest_moduli(circles.large)
        for angle in np.linspace(0.001, 3.14, 40):
            w = complex(math.cos(angle), -math.sin(angle)) / (2 * one.radius)
            weight, m, tau = circles.large
            logs = weight + (n + m) / 2 * math.log(abs(1 + w)) + (n - m) / 2 * math.log(abs(1 - w))
            logs = logs + one.radius * math.cos(angle) * (tau - one.centre)
            assert np.all(logs <= bound + 1e-9 * (1 + np.abs(bound)))


@pytest.mark.parametrize(
    ("steps", "responses"), [([(1.0, 5)], []), ([(6.0, 3)], []), ([(0.5, 2), (2.0, 1)], [(0.7, 2)])]
)
@pytest.mark.parametrize("nodes", [4, 8, 12, 16])
@pytest.mark.parametrize("kind", ["delta", "alpha"])
def test_too_few_nodes_widen_the_bound_and_keep_the_truth(monkeypatch, steps, responses, nodes, kind):
    monkeypatch.setattr(circle, "_NODES", (nodes,))
    circles = Circles(expansion_of(steps, responses))
    losses = np.array([0.013, 0.21, 0.57, 0.93]) * circles.expansion.largest
    reading = circles(kind, circles.expansion.below(losses))
    for place, value, error in zip(losses, *reading, strict=True):
        assert abs(TRUTH["truth"](kind, steps, responses, float(place)) - value) <= error
    assert np.max(reading.error) > 1e-12


@pytest.mark.parametrize("kind", ["delta", "alpha"])
def test_terms_left_out_widen_the_bound_and_keep_the_truth(monkeypatch, kind):
    monkeypatch.setattr(circle, "_DROP_NATS", 6.0)
    circles = Circles(expansion_of([(0.05, 60)]))
    losses = np.array([0.013, 0.21, 0.57]) * circles.expansion.largest
    reading = circles(kind, circles.expansion.below(losses))
    for place, value, error in zip(losses, *reading, strict=True):
        assert abs(TRUTH["truth"](kind, [(0.05, 60)], [], float(place)) - value) <= error
    assert np.max(reading.error / reading.value) > 1e-10


@pytest.mark.parametrize("number", [10, 20, 26, 30, 40])
def test_a_circle_on_either_side_of_the_poles_says_the_same(number):
    """The residues at +-1/2 that the rule misses are known exactly, whether the circle holds them or not."""
    circles = Circles(expansion_of([(2.0, 3)]))
    for start in (0, 1, 2):
        loss = np.array([1.1 * start + 0.3])
        truth, t = TRUTH["truth"]("delta", [(2.0, 3)], [], float(loss[0])), circles.expansion.below(loss)
        station = Station(number, -math.inf, float(t[0]), 0.3, 0.0)
        value, error = circle.Circle(circles, station).read("delta", t, t)
        assert abs(truth - value[0]) <= error[0]


def test_memory_stays_bounded(monkeypatch):
    monkeypatch.setattr(circle, "_MOST_KEPT", 2000)
    circles = Circles(expansion_of([(1.0, 20)]))
    first = circles("delta", np.linspace(-20.0, -1.0, 50))
    assert sum(one.size for one in circles._circles.values()) <= 4000
    assert np.array_equal(first, circles("delta", np.linspace(-20.0, -1.0, 50)))
