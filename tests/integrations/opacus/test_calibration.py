"""Opacus' own search for the noise, with this accountant inside."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opacus.accountants.utils import get_noise_multiplier

from edgeworth.integrations.opacus import EdgeworthAccountant


@settings(max_examples=15)
@given(
    epsilon=st.floats(1.0, 10.0),
    epochs=st.integers(10, 100),
    rate=st.sampled_from([2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 1e-1]),
    delta=st.sampled_from([1e-4, 1e-5, 1e-6]),
)
def test_the_noise_meets_the_target_and_not_much_more(epsilon, epochs, rate, delta):
    noise = get_noise_multiplier(
        target_epsilon=epsilon, target_delta=delta, sample_rate=rate, epochs=epochs, accountant="edgeworth"
    )
    accountant = EdgeworthAccountant()
    accountant.history = [(noise, rate, int(epochs / rate))]
    assert epsilon - 0.01 <= accountant.get_epsilon(delta) <= epsilon


def test_an_impossible_target_is_refused_by_opacus():
    with pytest.raises(ValueError, match="The privacy budget is too low"):
        get_noise_multiplier(
            target_epsilon=1e-9, target_delta=1e-12, sample_rate=0.5, steps=10**6, accountant="edgeworth"
        )
