"""Points for one reading: against 30 digits, against lines, and where they are."""

import mpmath
import numpy as np
import pytest
from tests.composition.spread.examples import DIRECTIONS, laplace, normal, total_of
from tests.composition.spread.test_spread import one_sample, relative, two_samples

import edgeworth as ew
from edgeworth.composition import contour, spread, work
from edgeworth.composition.spread import engine
from edgeworth.composition.spread.effort import products_of_masses
from edgeworth.composition.spread.graded import Graded
from edgeworth.composition.spread.resolution import Focus, centred_for, graded_for
from edgeworth.composition.spread.rest import Sides
from edgeworth.composition.spread.steps import one_step, shares_of
from edgeworth.errors import Unsupported
from edgeworth.losses import privacy_loss

LITTLE_WORK, LITTLE_IN_FOCUS = 1e8, 1e9


@pytest.fixture
def little_work(monkeypatch):
    """Few points, and not many more for one reading."""
    monkeypatch.setattr(engine, "_WORK", LITTLE_WORK)
    monkeypatch.setattr(engine, "_MORE_WORK", 1.0)
    monkeypatch.setattr(engine, "_WORK_IN_FOCUS", LITTLE_IN_FOCUS)
    for made in (engine.prepared, engine.prepared_closely, engine._law):
        made.cache_clear()
    yield
    for made in (engine.prepared, engine.prepared_closely, engine._law):
        made.cache_clear()


def beside_laplace(truth, epsilon, theta, mu, p, direction):
    """The profile of samples over both atoms and the density of one step of Laplace noise, -R under the other law."""

    def shifted(v):
        return truth(epsilon - v, mu, p, direction)

    def density(v):
        return mpmath.exp((v - theta) / 2) / 4 * shifted(v)

    near = [theta - theta * mpmath.mpf(0.5) ** k for k in range(1, 12)]
    places = sorted({-theta, mpmath.mpf(0), *near, theta, *(x for x in [epsilon] if abs(x) < theta)})
    return shifted(theta) / 2 + mpmath.exp(-theta) * shifted(-theta) / 2 + mpmath.quad(density, places)


@pytest.mark.parametrize(
    ("sigma", "rate", "scale", "beyond"),
    [(1.86, 7.37e-5, 0.9, 0.003), (0.8, 1e-3, 4.0, 0.5), (31.1, 0.469, 2.5, 0.02), (3.0, 0.01, 0.5, -0.004)],
)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_one_sample_beside_laplace_noise(sigma, rate, scale, beyond, direction):
    """Just beyond the largest loss of the noise, far beyond it, and just before it."""
    total, eps = total_of(normal(sigma, rate) * ew.Laplace(scale)), 1 / scale + beyond
    ends = spread.prepared_closely(total).delta(direction, np.array([eps]))
    with mpmath.workdps(30):
        theta, mu = mpmath.mpf(1) / mpmath.mpf(scale), mpmath.mpf(1) / mpmath.mpf(sigma)
        truth = beside_laplace(one_sample, mpmath.mpf(eps), theta, mu, mpmath.mpf(rate), direction)
    assert ends.lower[0] <= truth <= ends.upper[0]
    assert ends.upper[0] == 0 or ends.upper[0] < 1e-30 or relative(ends) < 5e-7


@pytest.mark.parametrize(("sigma", "rate", "eps"), [(0.823, 3.8e-4, 0.9), (20.0, 0.05, 0.51), (2.0, 1e-3, 0.503)])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.usefixtures("little_work")
def test_two_samples_beside_a_response(sigma, rate, eps, direction):
    """With little work, so that there are points for the reading alone."""
    total = total_of(normal(sigma, rate) ** 2 * ew.RandomizedResponse(0.5))
    first, closely = spread.prepared(total), spread.prepared_closely(total)
    ends, before = (made.delta(direction, np.array([eps])) for made in (closely, first))
    with mpmath.workdps(30):
        yes = 1 / (1 + mpmath.exp(mpmath.mpf(-0.5)))
        shift = mpmath.mpf(0.5)
        mu, p = 1 / mpmath.mpf(sigma), mpmath.mpf(rate)
        truth = yes * two_samples(eps - shift, mu, p, direction) + (1 - yes) * two_samples(
            eps + shift, mu, p, direction
        )
    assert ends.lower[0] <= truth <= ends.upper[0]
    assert ends.upper[0] < 1e-30 or 3 * relative(ends) < relative(before) or relative(ends) < 1e-7


@pytest.mark.parametrize(
    ("mix", "direction", "eps"),
    [
        (normal(8.68, 6.69e-5) ** 14 * ew.Laplace(4.44) ** 2 * ew.Laplace(7.73), "forward", 0.58),
        (laplace(1.0, 0.02) ** 4 * normal(2.1, 0.03) ** 3 * ew.Laplace(3.0), "forward", 0.7),
    ],
)
@pytest.mark.usefixtures("little_work")
def test_lines_say_the_same(mix, direction, eps):
    """Lines have nine digits here, and points fewer."""
    total = total_of(mix)
    lines = contour.prepared(total).delta(direction, np.array([eps]))
    ends = spread.prepared_closely(total).delta(direction, np.array([eps]))
    assert relative(lines) < 1e-6
    assert ends.lower[0] <= lines.upper[0]
    assert lines.lower[0] <= ends.upper[0]


def test_the_larger_direction_alone_is_read_closely(monkeypatch):
    """Where the other one is surely smaller, it is not asked for."""
    total = total_of(normal(1.86, 7.37e-5) * ew.Laplace(1.84) ** 2)
    made, asked = spread.prepared_closely(total), []
    at = made.at
    monkeypatch.setattr(made, "at", lambda side, eps: asked.append(side) or at(side, eps))
    both = made.delta("both", np.array([1.0869]))
    assert asked in (["forward"], ["backward"])
    assert float(made.delta(asked[0], np.array([1.0869])).lower[0]) == both.lower[0]


def test_epsilon_is_read_closely():
    """Where delta falls by a power of the distance from the largest loss, an epsilon has more digits than it."""
    total = total_of(normal(3.0, 1e-3) * ew.Laplace(1.06) ** 12)
    first, closely = (
        made.epsilon("both", np.array([1e-9])) for made in (spread.prepared(total), spread.prepared_closely(total))
    )
    assert first.lower[0] <= closely.upper[0]
    assert closely.lower[0] <= first.upper[0]
    assert relative(closely) < 1e-9


def test_of_f_and_of_many_values_it_says_nothing():
    made = spread.prepared_closely(total_of(normal(1.86, 7.37e-5) * ew.Laplace(1.84) ** 2))
    with pytest.raises(Unsupported):
        made.tradeoff("forward", np.array([0.1]))
    for ask in (made.delta, made.epsilon):
        with pytest.raises(Unsupported):
            ask("forward", np.array([0.1, 0.2, 0.3]))


def test_the_engine_is_asked_where_the_table_leaves_most_open():
    """And nowhere else; its ends take the place of those of the table where they are nearer."""
    asked = []

    def ask(t):
        asked.extend(t.tolist())
        return ew.composition.answered.Ends(np.full(t.size, 0.4), np.full(t.size, 0.6))

    known = Sides(lambda t: np.where(t > 2, 0.0, 0.5), lambda t: np.where(t > 2, 1.0, 0.5))
    closely = known.closely(ask, np.array([1.0, 1.0, 1e-30]))
    t = np.array([1.0, 3.0, 4.0])
    assert closely.lower(t).tolist() == [0.5, 0.4, 0.0]
    assert closely.upper(t).tolist() == [0.5, 0.6, 1.0]
    assert asked == [3.0, 3.0]


@pytest.mark.parametrize("points", [graded_for, centred_for])
def test_points_are_closest_in_the_octave_in_focus(points):
    samples = ((privacy_loss(normal(2.0, 1e-4)), 40),)
    plain, focused = points(samples, 0.01), points(samples, 0.01, 1.0, Focus(6, 8))
    assert len(focused.halves) == 9
    assert max(focused.halves) == focused.halves[6] == focused.halves[8]
    assert sum(focused.halves) < sum(plain.halves)
    assert 0.7 * plain.steps[6] < focused.steps[6] < 2.1 * plain.steps[6]


@pytest.mark.parametrize("mix", [((2.0, 1e-4, 40),), ((0.5, 1e-3, 3), (4.0, 1e-4, 90)), ((30.0, 0.2, 2),)])
def test_work_is_about_what_it_was_said_to_be(mix):
    """Of a law above and one below, within a factor of two and some overhead."""
    samples = tuple((privacy_loss(normal(sigma, rate)), n) for sigma, rate, n in mix)
    grid = engine._grid(samples, effort="usual")
    before = work.spent()
    for side in ("above", "forward"):
        engine._law.__wrapped__(samples, side)
    said, spent = products_of_masses(grid, samples) / 500, work.spent() - before
    assert 0.5 * spent - 1e4 < said < 2 * spent + 1e4


@pytest.mark.parametrize(("sigma", "rate"), [(0.4, 1e-3), (2.0, 0.3), (30.0, 1e-4)])
def test_what_spreading_one_sample_raises_is_below_its_tents(sigma, rate):
    """E[(x - u)_+] of the law above less that of the sample itself, in the middle of each cell, by its formula."""
    loss = privacy_loss(normal(sigma, rate))
    p, grid = loss.rate, Graded(2.0**-10 * rate, 64, [False, True, True, False, True, True, True])
    law, tents = one_step(grid, loss, 1, "above"), shares_of(grid, loss, 1).step(grid).sums.tents
    x, scale = grid.x, np.exp(law.least)
    some = [k for k in range(2, x.size - 1, x.size // 90) if law.mass[k] > 1e-30]
    for k in some:
        u = mpmath.mpf(float(0.5 * (x[k] + x[k + 1])))
        chord = mpmath.fsum(
            mpmath.mpf(float(m)) * (mpmath.mpf(float(y)) - u)
            for m, y in zip(law.mass[k + 1 :], x[k + 1 :], strict=True)
        )
        with mpmath.workdps(30):
            truth = one_sample(
                mpmath.log(u * mpmath.mpf(float(scale))), 1 / mpmath.mpf(sigma), mpmath.mpf(p), "forward"
            ) / mpmath.mpf(float(scale))
        assert chord - truth <= 1.0001 * tents[k] + 1e-12 * truth
    assert len(some) > 5
