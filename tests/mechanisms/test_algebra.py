"""Laws of composition: what is equal does not depend on how it was built."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import counts, leaves, mechanisms, rates

from edgeworth.mechanisms import Composed, Gaussian, GaussianDP, Laplace, PoissonSampled, Repeated

small_counts = st.integers(0, 6)


def assert_same(a, b):
    assert a == b
    assert hash(a) == hash(b)
    assert a.steps() == b.steps()
    assert repr(a.steps()) == repr(b.steps())


@given(mechanisms(), mechanisms())
def test_commutative(a, b):
    assert_same(a * b, b * a)


@given(mechanisms(), mechanisms(), mechanisms())
def test_associative(a, b, c):
    assert_same((a * b) * c, a * (b * c))
    assert_same((a * b) * c, Composed([c, a, b]))


@given(mechanisms(), small_counts)
def test_repeated_is_composed(m, n):
    assert_same(m**n, Composed([m] * n))


@given(mechanisms(), counts, counts)
def test_powers_add_and_multiply(m, n, k):
    assert_same(m**n * m**k, m ** (n + k))
    assert_same((m**n) ** k, m ** (n * k))


@given(mechanisms(), mechanisms(), counts)
def test_power_of_a_product(a, b, n):
    assert_same((a * b) ** n, a**n * b**n)


@given(mechanisms())
def test_one_and_nothing(m):
    assert_same(m**1, m)
    assert_same(m**0, Composed(()))
    assert_same(m * Composed(()), m)


@given(mechanisms())
def test_sampling_at_rate_one_and_zero(m):
    assert_same(PoissonSampled(m, rate=1), m)
    assert_same(PoissonSampled(m, rate=0), Composed(()))


@given(mechanisms(), mechanisms(), rates)
def test_sampling_sees_only_the_steps(a, b, rate):
    assert_same(PoissonSampled(a * b, rate), PoissonSampled(b * a, rate))
    assert_same(PoissonSampled(a**2, rate), PoissonSampled(a * a, rate))


@given(mechanisms())
def test_canonical_is_equal_and_unique(m):
    assert_same(m.canonical(), m)
    assert repr(m.canonical().canonical()) == repr(m.canonical())
    assert repr((m**2).canonical()) == repr((m * m).canonical())


@given(mechanisms())
def test_steps_are_sound(m):
    steps = m.steps()
    assert m.steps() == steps
    assert all(type(count) is int and count > 0 for _, count in steps)
    assert all(step.parts() is None for step, _ in steps)
    assert len({step for step, _ in steps}) == len(steps)
    assert m.releases == sum(count for _, count in steps)
    assert_same(Composed(step**count for step, count in reversed(steps)), m)


@given(leaves(), leaves())
def test_equality_of_steps_is_equality_of_text(a, b):
    assert (a == b) is (repr(a) == repr(b))


@given(mechanisms())
def test_pickle_keeps_the_description(m):
    copy = pickle.loads(pickle.dumps(m))  # noqa: S301
    assert_same(copy, m)
    assert repr(copy) == repr(m)


def test_different_things_differ():
    m = Gaussian(1)
    distinct = [
        m,
        m**2,
        Gaussian(2),
        GaussianDP(1),
        PoissonSampled(m, 0.5),
        PoissonSampled(m, 0.25),
        PoissonSampled(m**2, 0.5),
        PoissonSampled(m, 0.5) ** 2,
        PoissonSampled(PoissonSampled(m, 0.5), 0.5),
        Composed(()),
    ]
    assert len(set(distinct)) == len(distinct)
    assert m != "Gaussian(noise_multiplier=1.0)"
    assert m.__eq__(1) is NotImplemented


def test_a_sampled_composition_is_one_release():
    sampled = PoissonSampled(Gaussian(1) ** 3 * Laplace(2), rate=0.1)
    assert sampled.steps() == ((sampled, 1),)
    assert (sampled**5).releases == 5


def test_steps_that_leak_nothing_stay():
    assert GaussianDP(0).releases == 1
    assert Laplace(1, sensitivity=0).releases == 1
    assert PoissonSampled(Composed(()), rate=0.5).releases == 0  # nothing runs on the sample


def test_order_of_steps():
    built = Laplace(3) * Gaussian(2) ** 4 * Gaussian(1)
    assert built.steps() == ((Gaussian(1), 1), (Gaussian(2), 4), (Laplace(3), 1))


def test_huge_counts_stay_exact():
    m = Repeated(Repeated(Gaussian(1), 10**12), 10**12) * Gaussian(1)
    assert m.steps() == ((Gaussian(1), 10**24 + 1),)
    assert type(m.releases) is int


DEPTH = 100_000


def deep_product():
    step, m = Gaussian(1), Composed(())
    for _ in range(DEPTH):
        m = m * step
    return m


def deep_power():
    m = Gaussian(1)
    for _ in range(DEPTH):
        m = m**1
    return m


def deep_sampling():
    m = Gaussian(1)
    for _ in range(DEPTH // 10):
        m = PoissonSampled(m**2, rate=0.5)
    return m


@pytest.mark.parametrize("build", [deep_product, deep_power, deep_sampling])
def test_depth_is_no_limit(build):
    m, again = build(), build()
    assert m == again
    assert hash(m) == hash(again)
    assert len(m.steps()) == 1
    assert repr(m).endswith("...")
    assert len(repr(m)) < 20_000


def test_shared_branches_cost_nothing():
    m = Gaussian(1)
    for _ in range(1000):
        m = m * m
    assert m == Gaussian(1) ** (2**1000)
    assert repr(m).endswith("...")


@given(mechanisms(max_leaves=4))
def test_repr_builds_it_again(m):
    if "DensityPair" not in repr(m):
        names = {"Composed": Composed, "Repeated": Repeated, "PoissonSampled": PoissonSampled}
        from edgeworth import mechanisms as em  # noqa: PLC0415

        assert_same(eval(repr(m), vars(em) | names), m)  # noqa: S307


def test_numpy_counts():
    assert Gaussian(1) ** np.int64(3) == Gaussian(1) ** 3
    assert type((Gaussian(1) ** np.int64(3)).count) is int


@pytest.mark.parametrize("other", [3, 2.5, "x", None, Gaussian, np.int64(3), np.array([1.0, 2.0])])
def test_only_mechanisms_multiply(other):
    m = Gaussian(1)
    ending = "means nothing; a * b runs two mechanisms, m ** n runs m n times"
    with pytest.raises(TypeError, match=re.escape(f"{m!r} * {other!r} {ending}")):
        m * other
    with pytest.raises(TypeError, match=re.escape(f"{other!r} * {m!r} {ending}")):
        other * m
