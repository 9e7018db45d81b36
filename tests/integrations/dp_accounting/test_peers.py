"""Beside dp_accounting's own accountants: never above them, and where they are exact, equal."""

from __future__ import annotations

import dp_accounting
import pytest
from dp_accounting import dp_event
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeworth.integrations.dp_accounting import EdgeworthAccountant

GAUSSIAN = dp_event.GaussianDpEvent


def _epsilon(accountant, event, delta=1e-5):
    return accountant.compose(event).get_epsilon(delta)


@pytest.mark.parametrize(
    "event",
    [
        GAUSSIAN(1.0),
        dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(2.0), 10),
        dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(0.01, GAUSSIAN(1.0)), 1000),
        dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(0.1, dp_event.LaplaceDpEvent(1.0)), 10),
        dp_event.ComposedDpEvent(
            [
                dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(0.02, GAUSSIAN(1.1)), 300),
                dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(0.01, GAUSSIAN(0.9)), 200),
                dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(20.0), 3),
            ]
        ),
    ],
    ids=["Gaussian", "Laplace", "DP-SGD", "sampled Laplace", "mix"],
)
def test_the_pld_accountant_is_met_from_below(event):
    ours, theirs = _epsilon(EdgeworthAccountant(), event), _epsilon(dp_accounting.pld.PLDAccountant(), event)
    assert theirs * (1 - 1e-3) <= ours <= theirs * (1 + 1e-9)


@settings(max_examples=10)
@given(noise=st.floats(0.7, 5), rate=st.floats(0.001, 0.1), steps=st.integers(1, 10_000))
def test_the_rdp_accountant_is_never_below(noise, rate, steps):
    event = dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(rate, GAUSSIAN(noise)), steps)
    assert _epsilon(EdgeworthAccountant(), event) <= _epsilon(dp_accounting.rdp.RdpAccountant(), event)
