"""A bad argument is refused with its name, its value and the way out."""

from __future__ import annotations

import math

import pytest
from tests.account.examples import METHODS, SGD

import edgeworth as ew
from edgeworth.errors import InvalidArgument


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ew.account(1.0),
            "mechanism=1.0 is not a mechanism; give one, e.g. Gaussian(noise_multiplier=1.0) ** 10",
        ),
        (
            lambda: ew.account(SGD, direction="up"),
            "direction='up' is unknown; give one of 'both', 'forward', 'backward'",
        ),
        (
            lambda: ew.account(SGD, method="edgeworth", degree=9),
            "degree=9 is out of range for method='edgeworth'; give an int from 0 to 8",
        ),
        (
            lambda: ew.account(SGD, method="cornish-fisher", degree=0),
            "degree=0 is out of range for method='cornish-fisher'; give an int from 1 to 4",
        ),
        (
            lambda: ew.account(SGD, method="edgeworth", degree=-1),
            "degree=-1 is out of range; give an int >= 0",
        ),
        (
            lambda: ew.account(SGD, method="edgeworth", degree=2.0),
            "degree=2.0 is not a whole number; give an int >= 0",
        ),
        (lambda: ew.account(SGD).tradeoff(1.5), "alpha=1.5 is out of range; give numbers between 0 and 1"),
        (
            lambda: ew.account(SGD).tradeoff([0.1, -0.1]),
            "alpha=-0.1 is out of range; give numbers between 0 and 1",
        ),
        (lambda: ew.account(SGD).tradeoff(math.nan), "alpha=nan has a nan; give real numbers"),
        (lambda: ew.account(SGD).delta(math.nan), "epsilon=nan has a nan; give real numbers"),
        (lambda: ew.account(SGD).delta("1"), "epsilon='1' is not a number or an array of numbers"),
        (lambda: ew.account(SGD).epsilon(2.0), "delta=2.0 is out of range; give numbers between 0 and 1"),
        (
            lambda: ew.account(SGD).raw_tradeoff(0.1),
            "method='closed-form' has no raw expansion; its curve is the answer",
        ),
    ],
)
def test_refusals_name_the_argument_its_value_and_the_way_out(call, message):
    with pytest.raises(InvalidArgument) as caught:
        call()
    assert str(caught.value) == message


def test_an_unknown_method_is_told_the_known_ones():
    with pytest.raises(
        InvalidArgument, match=r"^method='magic' is unknown; give one of 'auto', 'closed-form'"
    ) as caught:
        ew.account(SGD, method="magic")
    for name in METHODS:
        assert f"'{name}'" in str(caught.value)
