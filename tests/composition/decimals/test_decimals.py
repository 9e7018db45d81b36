"""Atoms in decimals against all atoms at 150 digits: next to an atom, in the tail, in both directions."""

import decimal
import itertools
import math

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

import edgeworth as ew
from edgeworth.composition import decimals
from edgeworth.composition.decimals.atoms import is_listable
from edgeworth.errors import Unsupported
from edgeworth.losses import TotalLoss


def response(epsilon, categories=2):
    e = mpf(epsilon)
    whole = mp.exp(e) + categories - 1
    middle = [(mpf(0), (categories - 2) / whole)] if categories > 2 else []
    return [(e, 1 / whole), (-e, mp.exp(e) / whole), *middle]


def discrete_gaussian(sigma, sensitivity=1):
    half, reach = 1 / (2 * mpf(sigma) ** 2), math.ceil(34 * sigma) + 3
    weight = {k: mp.exp(-k * k * half) for k in range(-reach, reach + 1)}
    whole = mp.fsum(weight.values())
    return [((2 * k - sensitivity) * sensitivity * half, w / whole) for k, w in weight.items()]


def discrete_laplace(scale, sensitivity):
    q = mp.exp(-1 / mpf(scale))
    share = [(1 if j in (0, sensitivity) else 1 - q) * q**j / (1 + q) for j in range(sensitivity + 1)]
    return [((2 * j - sensitivity) / mpf(scale), share[j]) for j in range(sensitivity + 1)]


def sampled(law, rate):
    return [(mp.log1p(mpf(rate) * mp.expm1(place)), null) for place, null in law]


def replaced(law, rate):
    right = [(place, null) for place, null in sampled(law, rate) if place > 0]
    left = [(-place, null * mp.exp(place)) for place, null in right]
    return [*right, *left, (mpf(0), 1 - mp.fsum(null for _, null in right + left))]


CASES = {
    "records replaced": (
        ew.PoissonSampled(ew.DiscreteGaussian(0.5), 0.2, adjacency="replace") ** 2
        * ew.PoissonSampled(ew.RandomizedResponse(0.3), 1 - 1e-9, adjacency="replace"),
        lambda: [*[replaced(discrete_gaussian(0.5), 0.2)] * 2, replaced(response(0.3), 1 - 1e-9)],
    ),
    "sampled response beside discrete noise": (
        ew.PoissonSampled(ew.RandomizedResponse(0.7, categories=4), 0.01) ** 2 * ew.DiscreteGaussian(0.4),
        lambda: [*[sampled(response(0.7, 4), 0.01)] * 2, discrete_gaussian(0.4)],
    ),
    "rare samples of two kinds": (
        ew.PoissonSampled(ew.DiscreteLaplace(3.3, sensitivity=3), 1.7e-5)
        * ew.PoissonSampled(ew.DiscreteGaussian(0.43), 3.2e-5) ** 2,
        lambda: [sampled(discrete_laplace(3.3, 3), 1.7e-5), *[sampled(discrete_gaussian(0.43), 3.2e-5)] * 2],
    ),
    "nearly always sampled": (
        ew.PoissonSampled(ew.DiscreteGaussian(0.5, sensitivity=2), 1 - 1e-13) * ew.RandomizedResponse(0.1) ** 3,
        lambda: [sampled(discrete_gaussian(0.5, 2), 1 - 1e-13), *[response(0.1)] * 3],
    ),
    "one sample": (
        ew.PoissonSampled(ew.DiscreteGaussian(0.557), 0.055),
        lambda: [sampled(discrete_gaussian(0.557), 0.055)],
    ),
}


@pytest.fixture(scope="module", params=CASES, ids=CASES.keys())
def case(request):
    mechanism, laws = CASES[request.param]
    with mpmath.workdps(150):
        atoms = []
        for one in itertools.product(*laws()):
            place, null = mp.fsum(x for x, _ in one), mp.fprod(p for _, p in one)
            atoms.append((place, null, null * mp.exp(place)))
        return mechanism, sorted(atoms)


def of_way(atoms, direction):
    return atoms if direction == "forward" else sorted((-x, q, p) for x, p, q in atoms)


def delta(atoms, epsilon):
    growth = mp.exp(mpf(epsilon))
    return mp.fsum(q - growth * p for x, p, q in atoms if x > epsilon)


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_delta_and_epsilon_have_all_digits_next_to_every_atom(case, direction):
    mechanism, atoms = case
    answers = decimals.prepared(TotalLoss.of(mechanism))
    with mpmath.workdps(150):
        atoms = of_way(atoms, direction)
        masses = [(x, mp.fsum(q for y, _, q in atoms if y >= x)) for x, _, _ in atoms[:: max(1, len(atoms) // 12)]]
        near = [float(x) + k * math.ulp(float(x)) for x, tail in masses if tail > 1e-60 for k in (-1000, -2, 0, 2)]
        found = answers.delta(direction, np.array(near))
        for epsilon, lower, upper in zip(near, *found, strict=True):
            truth = delta(atoms, epsilon)
            assert lower <= truth <= upper
            if truth > 1e-75:
                assert upper - lower <= 1e-14 * upper
            if 1e-60 < truth < 1 and epsilon > 0:
                (low,), (high,) = answers.epsilon(direction, np.array([float(truth)]))
                assert delta(atoms, low) >= float(truth) >= delta(atoms, high)
                assert high - low <= 1e-14 * high


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("alpha", [1e-40, 1e-9, 0.03, 0.6, 1 - 1e-9])
def test_f_is_that_of_the_best_test(case, direction, alpha):
    mechanism, atoms = case
    (low,), (high,) = decimals.prepared(TotalLoss.of(mechanism)).tradeoff(direction, np.array([alpha]))
    with mpmath.workdps(150):
        room, missed = mpf(alpha), mpf(0)
        for _, p, q in reversed(of_way(atoms, direction)):
            rejected = min(p, room) if p > 0 else mpf(0)
            room -= rejected
            missed += q * (1 - rejected / p) if p > 0 else 0
        assert low <= missed <= high
        assert high - low <= 1e-13 * high


def test_auto_has_the_digits_that_a_list_of_doubles_has_not():
    """Eps is next to an atom, beyond which there is little: delta was open by 6e-6."""
    account = ew.account(
        ew.PoissonSampled(ew.DiscreteGaussian(0.5569654648074422), 0.055128996393413225), direction="forward"
    )
    found = account.delta(14.831815546608109)
    assert found.upper - found.lower <= 1e-13 * found.upper


def test_both_directions_and_many_epsilons():
    answers = decimals.prepared(TotalLoss.of(CASES["one sample"][0]))
    epsilon = np.array([-math.inf, -2e5, -1.0, 0.0, 0.3, 2e5, math.inf])
    one, other = (answers.delta(way, epsilon) for way in ("forward", "backward"))
    both = answers.delta("both", epsilon)
    assert both.upper.tolist() == np.maximum(one.upper, other.upper).tolist()
    assert both.lower[:3].tolist() == pytest.approx([1.0, 1.0, -math.expm1(-1.0)], rel=1e-2)
    assert np.all(both.upper[-2:] < 1e-100)
    f = answers.tradeoff("both", np.array([0.0, 0.1, 1.0]))
    assert np.all(f.lower <= f.upper)
    assert f.upper[1] - f.lower[1] <= 1e-9


def test_the_decimals_of_the_caller_do_not_matter():
    mechanism = CASES["rare samples of two kinds"][0]
    usual = ew.account(mechanism, direction="backward").delta(1e-4)
    decimals.prepared.cache_clear()
    with decimal.localcontext(prec=3):
        few = ew.account(mechanism, direction="backward").delta(1e-4)
        assert decimal.getcontext().prec == 3
    assert (few.lower, few.upper) == (usual.lower, usual.upper)


@pytest.mark.parametrize(
    "mechanism",
    [
        ew.Laplace(1.0),
        ew.DiscreteGaussian(30.0),
        ew.PoissonSampled(ew.DiscreteGaussian(0.5), 0.1) ** 12,
        ew.RandomizedResponse(0.5) ** 40_000,
        ew.RandomizedResponse(60_000.0) ** 2,
    ],
    ids=repr,
)
def test_many_atoms_are_refused(mechanism):
    total = TotalLoss.of(mechanism)
    assert not is_listable(total)
    with pytest.raises(Unsupported, match=r"^this composition has too many atoms to be listed in decimals$"):
        decimals.prepared(total)


def test_a_sample_that_may_disclose_is_refused_when_it_is_listed():
    total = TotalLoss.of(ew.PoissonSampled(ew.ApproxDP(0.5, 1e-3), 0.1) ** 2).finite
    with pytest.raises(Unsupported, match=r"^the atoms of a step are not known in decimals$"):
        decimals.prepared(total)
