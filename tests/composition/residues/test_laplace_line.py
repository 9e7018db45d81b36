"""Many different steps of Laplace noise along a line: against residues, stored 50 digits, and its own bounds."""

import functools
import json
import math
import operator
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.composition import moments, residues
from edgeworth.composition.residues import laplace_line
from edgeworth.errors import Unsupported
from edgeworth.losses import LaplaceLoss, TotalLoss, privacy_loss

ROWS = json.loads((Path(__file__).parent / "truth_residues.json").read_text(encoding="utf-8"))


def noise(scales):
    return functools.reduce(operator.mul, [ew.Laplace(scale) for scale in scales])


def lines(mechanism):
    return laplace_line.LaplaceLines(TotalLoss.of(mechanism))


@pytest.fixture(scope="module", autouse=True)
def _short_lines():
    """Lines of a few thousand nodes: wider ends, which hold as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(laplace_line, "_MOST_NODES", 4_000)
        yield


def overlaps(one, other):
    return bool((one.lower <= other.upper).all() and (other.lower <= one.upper).all())


@settings(max_examples=5, deadline=None)
@given(
    thetas=st.lists(st.floats(0.6, 3.0), min_size=4, max_size=7),
    epsilon=st.floats(0.1, 2.0),
    shares=st.tuples(st.floats(-1.0, 1.0), st.floats(0.05, 0.9), st.floats(0.01, 0.99)),
)
def test_readings_meet_the_residues(thetas, epsilon, shares):
    total = TotalLoss.of(noise([1 / theta for theta in thetas]) * ew.RandomizedResponse(epsilon) ** 2)
    found, exact = laplace_line.LaplaceLines(total), residues.prepared(total)
    place = np.array([shares[0] * total.support[1]])
    for direction in ("forward", "backward"):
        assert overlaps(found.delta(direction, place), exact.delta(direction, place))
    target = exact.delta("both", np.array([shares[1] * total.support[1]])).upper
    assert overlaps(found.epsilon("both", target), exact.epsilon("both", target))
    for alpha in (shares[2], 1e-7):
        assert overlaps(found.tradeoff("both", np.array([alpha])), exact.tradeoff("both", np.array([alpha])))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['steps']}-{row['responses']}-{row['t']:.3g}")
def test_stored_truth_is_enclosed(row):
    steps = [(ew.Laplace(1 / theta) ** n) for theta, n in row["steps"]]
    steps += [ew.RandomizedResponse(epsilon) ** n for epsilon, n in row["responses"]]
    total = TotalLoss.of(functools.reduce(operator.mul, steps))
    if not residues.lines_apply(total) or any(1 / (1 / theta) != theta for theta, _ in row["steps"]):
        with pytest.raises(Unsupported, match="this line is for Laplace noise"):
            laplace_line.LaplaceLines(TotalLoss.of(ew.Gaussian(1.0)))
        return
    ends = laplace_line.LaplaceLines(total).delta("forward", np.array([row["t"]]))
    assert ends.lower[0] <= mpmath.mpf(row["delta"]) <= ends.upper[0]


def test_three_hundred_different_scales_have_nine_digits():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(laplace_line, "_MOST_NODES", 40_000)
        _three_hundred_scales()


def _three_hundred_scales():
    account = ew.account(noise(1 + 0.05 * np.arange(300)))
    epsilon = account.epsilon(1e-10)
    assert epsilon.upper - epsilon.lower <= 1e-9 * epsilon.upper
    known = moments.prepared(account.total).epsilon("both", np.array([1e-10]))
    assert known.lower[0] <= epsilon.lower < epsilon.upper <= known.upper[0]
    tests = account.tradeoff(np.array([1e-5, 0.1]))
    assert (tests.upper - tests.lower <= 1e-9 * tests.upper).all()
    assert any("line integral comes first" in note for note in account.certificate.notes)


def test_a_reading_is_the_same_in_every_company():
    alone, together = lines(noise([0.5, 0.7, 0.9, 1.1])), lines(noise([0.5, 0.7, 0.9, 1.1]))
    places = np.array([0.3, 2.0, 4.0])
    whole = together.delta("forward", places)
    for k, place in enumerate(places.tolist()):
        one = alone.delta("forward", np.array([place]))
        assert (one.lower[0], one.upper[0]) == pytest.approx((whole.lower[k], whole.upper[k]), rel=1e-13)


@pytest.mark.parametrize("theta", [0.01, 0.7, 5.0, 40.0])
@pytest.mark.parametrize("c", [0.55, 1.02, 4.0])
def test_the_transform_of_a_step_is_within_its_bound(theta, c):
    y = np.array([0.0, 0.3, 2.0, 77.0, 1e4])
    phi, error = laplace_line._laplace(theta, c, y)
    with mpmath.workdps(50):

        def moment(s):
            return ((s - 1) * mpmath.exp(-s * theta) + s * mpmath.exp((s - 1) * theta)) / (2 * s - 1)

        whole = moment(mpmath.mpf(c))
        for k, frequency in enumerate(y.tolist()):
            truth = moment(mpmath.mpc(c, frequency)) / whole
            assert abs(truth - mpmath.mpc(phi[k])) <= error[k]
            if frequency > 0:
                assert abs(truth) <= math.exp(laplace_line._log_atoms([(LaplaceLoss(theta), 1)], c, frequency))
        value, room = laplace_line._log_moment(LaplaceLoss(theta), c)
        assert abs(mpmath.log(whole) - value) <= room


def test_the_transform_of_atoms_is_within_its_bound():
    loss = privacy_loss(ew.DiscreteLaplace(2.0, sensitivity=3))
    y = np.array([0.0, 0.4, 50.0, 1e4])
    phi, error = laplace_line._atoms(loss, 1.3, y)
    with mpmath.workdps(50):
        q = mpmath.exp(mpmath.mpf(-1) / 2)
        masses = [1, (1 - q) * q, (1 - q) * q**2, q**3]
        places = [mpmath.mpf(2 * j - 3) / 2 for j in range(4)]
        tilted = [m * mpmath.exp(mpmath.mpf(1.3) * p) for m, p in zip(masses, places, strict=True)]
        for k, frequency in enumerate(y.tolist()):
            waves = (w * mpmath.exp(1j * frequency * p) for w, p in zip(tilted, places, strict=True))
            assert abs(mpmath.fsum(waves) / mpmath.fsum(tilted) - mpmath.mpc(phi[k])) <= error[k]
