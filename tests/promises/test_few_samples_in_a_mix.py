"""Fewer samples of Gaussian noise than lines are chosen for, beside discrete noise and responses: lines come first."""

import pytest

import edgeworth as ew


def sampled(sigma, rate):
    return ew.PoissonSampled(ew.Gaussian(sigma), rate)


@pytest.mark.parametrize(
    ("mechanism", "reading", "argument"),
    [
        (
            ew.PoissonSampled(ew.RandomizedResponse(2.5), 0.0063) ** 142
            * ew.DiscreteLaplace(0.91) ** 142
            * sampled(5.6, 0.0015) ** 14,
            "delta",
            103.6,
        ),
        (
            ew.PoissonSampled(ew.DiscreteGaussian(1.35), 0.29) ** 6
            * ew.PoissonSampled(ew.DiscreteGaussian(1.09), 0.076) ** 3
            * ew.DiscreteLaplace(9.5) ** 14
            * sampled(0.9, 0.012) ** 2
            * sampled(0.6, 0.002) ** 8,
            "tradeoff",
            2.7e-4,
        ),
    ],
    ids=["responses and noise", "six kinds"],
)
def test_few_samples_are_enough_for_a_line(mechanism, reading, argument):
    account = ew.account(mechanism)
    found = getattr(account, reading)(argument)
    assert found.upper - found.lower <= 1e-9 * found.upper
    assert account.certificate.notes[-1].startswith("few samples beside others: line integrals come first")
    by_lattice = getattr(ew.account(mechanism, method="lattice"), reading)(argument)
    assert by_lattice.lower <= found.upper
    assert by_lattice.upper >= found.lower
