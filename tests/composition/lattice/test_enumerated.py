"""Sums of few-valued losses, listed atom by atom, against sums of many digits."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.composition import fourier, lattice, recursion
from edgeworth.composition.lattice.enumerated import Enumeration, _without, enumerable
from edgeworth.composition.lattice.enumerated_answers import EnumeratedAnswers
from edgeworth.errors import Unsupported
from edgeworth.losses import PairedValues, TotalLoss

MIXES = {
    "responses": ew.RandomizedResponse(0.37) ** 6 * ew.RandomizedResponse(0.81) ** 3,
    "categories": ew.RandomizedResponse(0.5, categories=4) ** 4 * ew.RandomizedResponse(0.23) ** 2,
    "sampled": ew.PoissonSampled(ew.RandomizedResponse(1.3), 0.2) ** 4 * ew.RandomizedResponse(0.4) ** 2,
    "discrete": ew.PoissonSampled(ew.DiscreteLaplace(scale=1.5, sensitivity=2), 0.3) ** 3,
}


def exact_atoms(mechanism):
    """All outcomes of a composition: X and P, each of 40 digits."""
    made = [(mpmath.mpf(1), mpmath.mpf(1))]
    for loss, n in TotalLoss.of(mechanism).parts:
        nodes = loss.nodes()
        atoms = [(mpmath.mpf(x), mpmath.exp(mpmath.mpf(w))) for x, w in zip(nodes.loss, nodes.log_weight, strict=True)]
        whole = mpmath.fsum(p for _, p in atoms)
        for _ in range(n):
            made = [(x * mpmath.exp(y), p * q / whole) for (x, p), (y, q) in itertools.product(made, atoms)]
    return made


def exact_delta(atoms, t, backward):
    u = mpmath.exp(mpmath.mpf(-t if backward else t))
    return mpmath.fsum(p * (max(1 - x / u, 0) if backward else max(x - u, 0)) for x, p in atoms)


def exact_tradeoff(atoms, alpha, backward):
    """The highest of the lines through the vertices."""
    best = mpmath.mpf(0)
    for u in {x for x, _ in atoms}:
        overlap = mpmath.fsum(p * min(x, u) for x, p in atoms)
        best = max(best, (overlap - alpha) / u if backward else overlap - u * alpha)
    return best


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("name", MIXES)
def test_readings_enclose_sums_of_many_digits(name, direction):
    made, backward = EnumeratedAnswers(TotalLoss.of(MIXES[name])), direction == "backward"
    with mpmath.workdps(40):
        atoms = exact_atoms(MIXES[name])
        for epsilon in (-0.7, 0.0, 0.3, 1.1):
            ends = made.delta(direction, np.array([epsilon]))
            exact = exact_delta(atoms, epsilon, backward)
            assert ends.lower[0] <= exact <= ends.upper[0]
            assert ends.upper[0] - ends.lower[0] <= 1e-11 * ends.upper[0]
        for delta in (0.1, 1e-3):
            ends = made.epsilon(direction, np.array([delta]))
            assert ends.upper[0] - ends.lower[0] <= 1e-11 * ends.upper[0]
            assert exact_delta(atoms, ends.upper[0], backward) <= delta
            assert ends.lower[0] == 0 or exact_delta(atoms, ends.lower[0], backward) >= delta


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("name", ["responses", "sampled"])
def test_tests_enclose_the_lines_through_the_vertices(name, direction):
    made, backward = EnumeratedAnswers(TotalLoss.of(MIXES[name])), direction == "backward"
    with mpmath.workdps(30):
        atoms = merged(exact_atoms(MIXES[name]))
        for alpha in (1e-8, 0.03, 0.4, 0.8):
            ends = made.tradeoff(direction, np.array([alpha]))
            exact = exact_tradeoff(atoms, mpmath.mpf(alpha), backward)
            assert ends.lower[0] <= exact <= ends.upper[0]
            assert ends.upper[0] - ends.lower[0] <= 1e-9 * ends.upper[0]


def merged(atoms):
    """Equal outcomes together: some hundred instead of some thousand."""
    made = {}
    for x, p in atoms:
        key = mpmath.nstr(x, 20)
        made[key] = (x, made[key][1] + p) if key in made else (x, p)
    return list(made.values())


@given(
    epsilons=st.tuples(st.floats(0.05, 2.0), st.floats(0.05, 2.0)),
    counts=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    alpha=st.floats(1e-9, 1 - 1e-9),
)
@settings(max_examples=8)
def test_the_recursion_overlaps(epsilons, counts, alpha):
    total = TotalLoss.of(
        ew.RandomizedResponse(epsilons[0]) ** counts[0] * ew.RandomizedResponse(epsilons[1]) ** counts[1]
    )
    made, wide = EnumeratedAnswers(total), recursion.compose(total)
    ends = made.tradeoff("forward", np.array([alpha]))
    assert ends.lower[0] <= wide.upper(alpha)
    assert ends.upper[0] >= wide.lower(alpha)
    assert ends.upper[0] - ends.lower[0] <= 1e-8 * ends.upper[0]


def test_a_vertex_of_f_is_as_narrow_as_any_other_place():
    made = EnumeratedAnswers(TotalLoss.of(MIXES["sampled"]))
    law = Enumeration.of(TotalLoss.of(MIXES["sampled"]))
    for t in (-0.3, 0.2, 0.9):
        alpha = law.above(t)
        ends = made.tradeoff("forward", np.array([alpha]))
        assert ends.upper[0] - ends.lower[0] <= 1e-11


def test_both_directions_are_joined_by_their_chord():
    """The two curves differ, and the hull is below both of them where they cross."""
    made = EnumeratedAnswers(TotalLoss.of(ew.PoissonSampled(ew.RandomizedResponse(1.5), 0.3) ** 3))
    for alpha in np.linspace(0.02, 0.7, 18):
        one, other, both = (made.tradeoff(way, np.array([alpha])) for way in ("forward", "backward", "both"))
        assert both.upper[0] <= min(one.upper[0], other.upper[0])
        assert both.upper[0] - both.lower[0] <= 1e-9 * both.upper[0]


def test_what_is_left_out_of_endless_laws_is_added():
    total = TotalLoss.of(ew.PoissonSampled(ew.DiscreteGaussian(scale=1.0), 0.1) ** 2)
    assert Enumeration.of(total).lost > 0
    made = EnumeratedAnswers(total)
    ends = made.delta("forward", np.array([50.0]))
    assert ends.lower[0] < 1e-121 < ends.upper[0]
    assert math.isinf(made.epsilon("forward", np.array([1e-130])).upper[0])


def exact_runs(mechanism):
    """The same for equal steps, by how often every value comes."""
    ((loss, n),) = TotalLoss.of(mechanism).parts
    nodes = loss.nodes()
    for times in itertools.product(range(n + 1), repeat=nodes.loss.size - 1):
        if sum(times) <= n:
            many = [*times, n - sum(times)]
            ways = mpmath.factorial(n) / mpmath.fprod(mpmath.factorial(m) for m in many)
            loss_of_all = mpmath.fsum(m * mpmath.mpf(x) for m, x in zip(many, nodes.loss, strict=True))
            log_mass = mpmath.fsum(m * mpmath.mpf(w) for m, w in zip(many, nodes.log_weight, strict=True))
            yield mpmath.exp(loss_of_all), ways * mpmath.exp(log_mass)


@pytest.mark.parametrize(
    ("run", "places"),
    [
        (ew.PoissonSampled(ew.RandomizedResponse(1.3, categories=5), 0.2) ** 60, (-2.0, 0.0, 0.9, 7.0, 40.0)),
        (ew.PoissonSampled(ew.RandomizedResponse(0.2, categories=3), 0.01) ** 33, (0.0, 1e-3, 0.02)),
        (ew.PoissonSampled(ew.DiscreteLaplace(1.5, sensitivity=3), 0.3) ** 12, (-0.5, 0.1, 2.0, 9.0)),
    ],
)
def test_equal_steps_of_few_values_are_listed_by_how_often_each_comes(run, places):
    made = EnumeratedAnswers(TotalLoss.of(run))
    with mpmath.workdps(40):
        atoms = list(exact_runs(run))
        assert abs(mpmath.fsum(p for _, p in atoms) - 1) < 1e-12
        for backward, direction in enumerate(("forward", "backward")):
            for epsilon in places:
                ends = made.delta(direction, np.array([epsilon]))
                truth = exact_delta(atoms, epsilon, backward)
                assert ends.lower[0] <= truth <= ends.upper[0]
                assert ends.upper[0] - ends.lower[0] <= max(1e-9 * ends.upper[0], 1e-300)


def test_hundreds_of_samples_with_three_values_are_one_list():
    total = TotalLoss.of(ew.PoissonSampled(ew.RandomizedResponse(1.2, categories=4), 0.01) ** 400)
    made = Enumeration.of(total)
    assert 0.5 * math.comb(402, 2) < made.corners[0].size <= math.comb(402, 2)  # some have masses that no doubles hold
    assert enumerable(TotalLoss.of(ew.PoissonSampled(ew.RandomizedResponse(1.2, categories=4), 0.01) ** 1000))
    assert not enumerable(TotalLoss.of(ew.PoissonSampled(ew.RandomizedResponse(1.2, categories=4), 0.01) ** 2000))


def test_only_short_lists_are_enumerable():
    assert enumerable(TotalLoss.of(ew.RandomizedResponse(0.1) ** 300 * ew.RandomizedResponse(0.13) ** 300))
    assert not enumerable(TotalLoss.of(ew.PoissonSampled(ew.DiscreteGaussian(scale=20.0), 0.1) ** 9))
    assert not enumerable(TotalLoss.of(ew.RandomizedResponse(5.0) ** 1000))
    assert not enumerable(TotalLoss.of(ew.Laplace(1.0)))
    with pytest.raises(Unsupported, match="too many atoms to be listed"):
        Enumeration.of(TotalLoss.of(ew.PoissonSampled(ew.DiscreteGaussian(scale=20.0), 0.1) ** 9))


def test_the_lattice_lists_atoms_where_it_can():
    assert isinstance(lattice.prepared(TotalLoss.of(MIXES["responses"])), EnumeratedAnswers)


def sampled_discrete_gaussian_delta(scale, rate, epsilon):
    """delta(eps) of one Poisson sample, atom by atom, an mpf."""
    weight = [mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * mpmath.mpf(scale) ** 2)) for k in range(-61, 62)]
    whole = mpmath.fsum(weight)
    terms = []
    for before, here in itertools.pairwise(weight):
        null, moved = here / whole, before / whole
        terms.append(max((1 - mpmath.mpf(rate)) * null + mpmath.mpf(rate) * moved - mpmath.exp(epsilon) * null, 0))
    return mpmath.fsum(terms)


@pytest.mark.parametrize("delta", [1e-10, 1e-48, 1e-60, 1e-100, 1e-120, 1e-150])
def test_epsilon_is_enclosed_beyond_what_is_left_out(delta):
    """Where delta is below the mass left out there is no upper end, and the lower end is still one."""
    scale, rate = 1.4696997613620928, 0.038041454235179545
    total = TotalLoss.of(ew.PoissonSampled(ew.DiscreteGaussian(scale), rate))
    lower, upper = (float(end[0]) for end in EnumeratedAnswers(total).epsilon("forward", np.array([delta])))
    with mpmath.workdps(200):
        assert sampled_discrete_gaussian_delta(scale, rate, mpmath.mpf(lower)) >= delta
        if delta >= 1e-100:
            assert sampled_discrete_gaussian_delta(scale, rate, mpmath.mpf(upper)) <= delta
            assert upper <= lower * (1 + 1e-9)
        else:
            assert upper > lower


@pytest.mark.parametrize(
    "mechanism",
    [
        ew.RandomizedResponse(1.5) ** 300 * ew.RandomizedResponse(0.75) ** 234,
        ew.PoissonSampled(ew.RandomizedResponse(2.0), rate=0.3) ** 600,
        ew.DiscreteGaussian(0.7) ** 12,
    ],
)
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_masses_that_doubles_do_not_hold_are_lost_and_the_rest_is_as_fourier_sums_say(mechanism, direction):
    total = TotalLoss.of(mechanism)
    made, truth = EnumeratedAnswers(total), fourier.prepared(total)
    assert 0 < made.lost < 1e-35
    top = min(total.support[1], 300.0)
    levels = np.array([1e-30, 1e-12, 1e-3, 0.4])
    for kind, asked in (("delta", top * np.array([-0.4, 0.0, 0.3, 0.7])), ("epsilon", levels), ("tradeoff", levels)):
        one, other = (getattr(answers, kind)(direction, asked) for answers in (made, truth))
        assert np.all(one.lower <= other.upper * (1 + 1e-15))
        assert np.all(one.upper >= other.lower * (1 - 1e-15))


def test_a_list_of_which_nothing_is_left_is_refused():
    law = PairedValues(np.array([-1.0, 1.0]), np.array([-0.3, -1.3]))
    assert _without(law, np.array([False, False])) is law
    assert _without(law, np.array([True, False])).lost == pytest.approx(np.exp(-0.3), rel=0.01)
    with pytest.raises(Unsupported):
        _without(law, np.array([True, True]))
