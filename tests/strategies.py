"""Hypothesis strategies for what the tests of every folder are about."""

from __future__ import annotations

from hypothesis import strategies as st
from scipy import stats

from edgeworth import mechanisms as em

positives = st.floats(min_value=1e-3, max_value=1e6)
non_negatives = st.just(0.0) | positives
rates = st.sampled_from([0.0, 1.0]) | st.floats(min_value=0, max_value=1)
counts = st.integers(0, 5) | st.integers(0, 10**12)


def leaves():
    """Steps that wrap no other mechanism."""
    return st.one_of(
        st.builds(em.Gaussian, positives),
        st.builds(em.Laplace, positives, non_negatives),
        st.builds(em.DiscreteGaussian, positives, st.integers(0, 5)),
        st.builds(em.DiscreteLaplace, positives, st.integers(0, 5)),
        st.builds(em.RandomizedResponse, non_negatives, st.integers(2, 4)),
        st.builds(em.ApproxDP, non_negatives, rates),
        st.builds(em.GaussianDP, non_negatives),
        st.builds(em.DensityPair, distributions(), distributions()),
    )


def distributions():
    """Frozen continuous distributions of scipy.stats."""
    locs = st.floats(min_value=-10, max_value=10)
    return st.one_of(
        st.builds(stats.norm, locs, positives),
        st.builds(stats.gamma, positives, loc=locs, scale=positives),
        st.builds(stats.truncnorm, st.just(-float("inf")), positives),
    )


batches = st.integers(1, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def mechanisms(*, max_leaves=10, adjacency="add-remove"):
    """Trees of mechanisms, whose samplers all mean the same neighbours."""

    def bigger(inner):
        kinds = [
            st.builds(em.Repeated, inner, counts),
            st.builds(em.Composed, st.lists(inner, max_size=4)),
            st.builds(em.PoissonSampled, inner, rates, st.just(adjacency)),
        ]
        if adjacency == "replace":
            kinds.append(st.builds(em.PoissonSampled, inner, rates, st.just(adjacency), clipped=st.booleans()))
            kinds.append(st.builds(lambda m, batch: em.SampledWithoutReplacement(m, *batch), inner, batches))
        return st.one_of(kinds)

    return st.recursive(leaves() | st.just(em.Composed(())), bigger, max_leaves=max_leaves)
