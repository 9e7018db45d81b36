"""Far outside of what anyone runs there is still an answer, and it holds."""

import pytest

import edgeworth as ew


@pytest.mark.parametrize(("sigma", "rate", "steps"), [(0.03, 0.5, 3), (0.001, 0.3, 100)])
def test_with_next_to_no_noise_a_record_is_seen_whenever_it_is_sampled(sigma, rate, steps):
    """delta = 1 - (1 - rate)^steps at every eps that is small beside 1/sigma^2."""
    account = ew.account(ew.PoissonSampled(ew.Gaussian(sigma), rate) ** steps)
    found = account.delta(3.0)
    assert found.lower <= 1 - (1 - rate) ** steps <= found.upper
    assert found.upper - found.lower < 1e-9
