"""Each mechanism: its fields, what it refuses and in which words."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from scipy import stats
from tests.strategies import mechanisms

from edgeworth import mechanisms as em
from edgeworth.errors import InvalidArgument

m = em.Gaussian(1)
DISTRIBUTION = "give a frozen continuous distribution of scipy.stats, such as scipy.stats.norm(loc=0, scale=1)"
WHOLE = (
    "is not a whole number, but whole answers are whole numbers apart; "
    "give an int >= 0, in units in which the query is whole"
)
MECHANISM = "is not a mechanism; give one, such as Gaussian(noise_multiplier=1.0)"

REFUSED = [
    (lambda: em.Gaussian(0), "noise_multiplier=0.0 is out of range; give a finite number > 0"),
    (lambda: em.Gaussian(-1), "noise_multiplier=-1.0 is out of range; give a finite number > 0"),
    (lambda: em.Gaussian(np.nan), "noise_multiplier=nan is out of range; give a finite number > 0"),
    (lambda: em.Gaussian(np.inf), "noise_multiplier=inf is out of range; give a finite number > 0"),
    (
        lambda: em.Gaussian(noise_multiplier=True),
        "noise_multiplier=True is not a number; give a finite number > 0",
    ),
    (lambda: em.Gaussian("1"), "noise_multiplier='1' is not a number; give a finite number > 0"),
    (lambda: em.Gaussian(None), "noise_multiplier=None is not a number; give a finite number > 0"),
    (lambda: em.Gaussian([1.0]), "noise_multiplier=[1.0] is not a number; give a finite number > 0"),
    (lambda: em.Laplace(0), "scale=0.0 is out of range; give a finite number > 0"),
    (lambda: em.Laplace(1, -1), "sensitivity=-1.0 is out of range; give a finite number >= 0"),
    (lambda: em.Laplace(1, np.nan), "sensitivity=nan is out of range; give a finite number >= 0"),
    (lambda: em.RandomizedResponse(-1), "epsilon=-1.0 is out of range; give a finite number >= 0"),
    (lambda: em.RandomizedResponse(np.inf), "epsilon=inf is out of range; give a finite number >= 0"),
    (lambda: em.RandomizedResponse(1, 1), "categories=1 is out of range; give an int >= 2"),
    (lambda: em.RandomizedResponse(1, 3.0), "categories=3.0 is not a whole number; give an int >= 0"),
    (lambda: em.DiscreteGaussian(0), "scale=0.0 is out of range; give a finite number > 0"),
    (lambda: em.DiscreteGaussian(1, 0.5), f"sensitivity=0.5 {WHOLE}"),
    (lambda: em.DiscreteGaussian(1, -1), "sensitivity=-1 is out of range; give an int >= 0"),
    (lambda: em.DiscreteLaplace(np.nan), "scale=nan is out of range; give a finite number > 0"),
    (lambda: em.DiscreteLaplace(1, 3.0), f"sensitivity=3.0 {WHOLE}"),
    (lambda: em.DiscreteLaplace(1, True), "sensitivity=True is not a whole number; give an int >= 0"),  # noqa: FBT003
    (
        lambda: em.PoissonSampled(m, 0.5, "remove"),
        "adjacency='remove' is unknown; give one of 'add-remove', 'replace'",
    ),
    (lambda: em.PoissonSampled(m, 0.5, None), "adjacency=None is unknown; give one of 'add-remove', 'replace'"),
    (lambda: em.PoissonSampled(m, 0.5, "replace", clipped=1), "clipped=1 is neither True nor False; give one of them"),
    (
        lambda: em.PoissonSampled(m, 0.5, clipped=True),
        'clipped=True is about a replaced record; give it with adjacency="replace" alone',
    ),
    (lambda: em.SampledWithoutReplacement(3, 1, 2), f"mechanism=3 {MECHANISM}"),
    (lambda: em.SampledWithoutReplacement(m, 1, 0), "population=0 is out of range; give an int >= 1"),
    (lambda: em.SampledWithoutReplacement(m, 0.5, 2), "size=0.5 is not a whole number; give an int >= 0"),
    (
        lambda: em.SampledWithoutReplacement(m, 3, 2),
        "size=3 is more than population=2; a batch holds every record at most once",
    ),
    (lambda: em.ApproxDP(-1, 0), "epsilon=-1.0 is out of range; give a finite number >= 0"),
    (lambda: em.ApproxDP(1, 1.5), "delta=1.5 is out of range; give a number between 0 and 1"),
    (lambda: em.ApproxDP(1, np.nan), "delta=nan is out of range; give a number between 0 and 1"),
    (lambda: em.GaussianDP(-1), "mu=-1.0 is out of range; give a finite number >= 0"),
    (lambda: em.GaussianDP(np.nan), "mu=nan is out of range; give a finite number >= 0"),
    (lambda: em.PoissonSampled(m, 1.1), "rate=1.1 is out of range; give a number between 0 and 1"),
    (lambda: em.PoissonSampled(m, -0.1), "rate=-0.1 is out of range; give a number between 0 and 1"),
    (lambda: em.PoissonSampled(m, np.nan), "rate=nan is out of range; give a number between 0 and 1"),
    (lambda: em.PoissonSampled(m, rate=True), "rate=True is not a number; give a number between 0 and 1"),
    (lambda: em.PoissonSampled(0.8, 0.1), f"mechanism=0.8 {MECHANISM}"),
    (lambda: em.Repeated(m, 3.0), "count=3.0 is not a whole number; give an int >= 0"),
    (lambda: em.Repeated(m, count=True), "count=True is not a whole number; give an int >= 0"),
    (lambda: em.Repeated(m, -1), "count=-1 is out of range; give an int >= 0"),
    (lambda: em.Repeated(3, 1), f"mechanism=3 {MECHANISM}"),
    (lambda: m**2.5, "count=2.5 is not a whole number; give an int >= 0"),
    (lambda: m**m, "count=Gaussian(noise_multiplier=1.0) is not a whole number; give an int >= 0"),
    (lambda: m ** np.float64(2), f"count={np.float64(2)!r} is not a whole number; give an int >= 0"),
    (lambda: em.Composed([m, 3]), f"mechanisms[1]=3 {MECHANISM}"),
    (lambda: em.Composed("m"), f"mechanisms[0]='m' {MECHANISM}"),
    (
        lambda: em.Composed(m),
        "mechanisms=Gaussian(noise_multiplier=1.0) is not a list of mechanisms; give one, such as [a, b]",
    ),
    (
        lambda: em.DensityPair(3, stats.norm()),
        f"null=3 is not a frozen distribution; {DISTRIBUTION}",
    ),
    (
        lambda: em.DensityPair(stats.norm(), stats.poisson(1)),
        f"alternative=poisson(...) is discrete; {DISTRIBUTION}",
    ),
    (
        lambda: em.DensityPair(stats.norm([0]), stats.norm()),
        f"null=norm(...) has parameters that are not numbers; {DISTRIBUTION}",
    ),
    (
        lambda: em.DensityPair(stats.norm(0, -1), stats.norm()),
        f"null=norm(loc=0.0, scale=-1.0) has parameters out of range; {DISTRIBUTION}",
    ),
    (
        lambda: em.DensityPair(stats.norm(), stats.gamma(-2)),
        f"alternative=gamma(a=-2.0, loc=0.0, scale=1.0) has parameters out of range; {DISTRIBUTION}",
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message[:30] for _, message in REFUSED])
def test_refused(call, message):
    with pytest.raises(InvalidArgument) as refused:
        call()
    assert str(refused.value) == message


def test_an_unfrozen_distribution_is_refused():
    with pytest.raises(InvalidArgument, match=r"^null=.* is not a frozen distribution; give a frozen"):
        em.DensityPair(stats.norm, stats.norm())


@pytest.mark.parametrize(
    ("built", "fields"),
    [
        (em.Gaussian(np.float32(2)), {"noise_multiplier": 2.0}),
        (em.Gaussian(np.array(2)), {"noise_multiplier": 2.0}),
        (em.Gaussian(Fraction(1, 2)), {"noise_multiplier": 0.5}),
        (em.Laplace(np.int64(3), -0.0), {"scale": 3.0, "sensitivity": 0.0}),
        (em.RandomizedResponse(-0.0), {"epsilon": 0.0}),
        (em.RandomizedResponse(1, np.int32(5)), {"epsilon": 1.0, "categories": 5}),
        (em.DiscreteGaussian(np.int64(3), np.int8(2)), {"scale": 3.0, "sensitivity": 2}),
        (em.DiscreteLaplace(3), {"scale": 3.0, "sensitivity": 1}),
        (
            em.SampledWithoutReplacement(m, np.uint8(3), 4),
            {"mechanism": m, "size": 3, "population": 4},
        ),
        (em.ApproxDP(1, np.float64(0)), {"epsilon": 1.0, "delta": 0.0}),
        (em.GaussianDP(1), {"mu": 1.0}),
        (em.PoissonSampled(m, np.float32(0.5)), {"mechanism": m, "rate": 0.5}),
        (em.Repeated(m, np.uint8(3)), {"mechanism": m, "count": 3}),
        (em.Composed(iter([m, m])), {"mechanisms": (m, m)}),
    ],
    ids=str,
)
def test_fields_are_plain_python(built, fields):
    assert {name: getattr(built, name) for name in fields} == fields
    assert [type(getattr(built, name)) for name in fields] == [type(value) for value in fields.values()]
    assert repr(getattr(built, [*fields][-1])) == repr([*fields.values()][-1])
    assert built.arguments() == fields


def test_the_kind_of_number_does_not_matter():
    assert em.Gaussian(1) == em.Gaussian(1.0) == em.Gaussian(np.float64(1))
    assert hash(em.Gaussian(1)) == hash(em.Gaussian(1.0))


@given(mechanisms(max_leaves=3))
def test_frozen(mechanism):
    name = next(iter(mechanism.arguments()))
    with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot assign to field '{name}'"):
        setattr(mechanism, name, 1)
    with pytest.raises((AttributeError, TypeError), match=r"other|super"):
        mechanism.other = 1
    assert not hasattr(mechanism, "__dict__")


def test_the_list_given_to_composed_is_not_kept():
    given_list = [m]
    composed = em.Composed(given_list)
    given_list.append(m)
    assert composed.releases == 1


def test_replace_makes_another():
    sampled = em.PoissonSampled(m, 0.5)
    assert dataclasses.replace(sampled, rate=0.25) == em.PoissonSampled(m, 0.25)
    assert sampled.rate == 0.5


def test_pattern_matching():
    match em.PoissonSampled(em.Gaussian(2), 0.5):
        case em.PoissonSampled(em.Gaussian(noise_multiplier), rate):
            assert (noise_multiplier, rate) == (2, 0.5)


def test_mechanism_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        em.Mechanism()


def test_density_pair_compares_what_is_meant():
    pair = em.DensityPair(stats.norm(0, 1), stats.gamma(2, scale=3))
    same = em.DensityPair(stats.norm(loc=np.float32(0), scale=1), stats.gamma(a=2, loc=-0.0, scale=3))
    assert pair == same
    assert hash(pair) == hash(same)
    assert repr(pair) == repr(same)
    assert repr(pair) == ("DensityPair(null=norm(loc=0.0, scale=1.0), alternative=gamma(a=2.0, loc=0.0, scale=3.0))")
    assert pair != em.DensityPair(stats.gamma(2, scale=3), stats.norm(0, 1))


def test_density_pair_keeps_its_own_copy():
    null = stats.norm(0, 1)
    pair = em.DensityPair(null, stats.norm(1))
    null.kwds["loc"] = 5
    assert pair.null.mean() == 0


def test_a_distribution_of_ones_own_equals_only_itself():
    class Triangle(stats.rv_continuous):
        def _pdf(self, x):
            return 2 * x

    mine = Triangle(a=0, b=1, name="norm")()  # the name of another
    pair = em.DensityPair(mine, stats.norm())
    assert pair == pair * em.Composed(())
    assert pair * pair == pair**2
    assert pair != em.DensityPair(stats.norm(), stats.norm())
    assert pair.null.pdf(0.25) == 0.5


def test_scipy_stats_is_not_imported():
    code = "import edgeworth.mechanisms, sys; sys.exit('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603
