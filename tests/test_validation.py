"""What each validator takes, and the exact words in which it refuses the rest."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from edgeworth import validation
from edgeworth.errors import InvalidArgument

NAN, INF = float("nan"), float("inf")

ACCEPTED = [
    (validation.finite, -2, -2.0),
    (validation.finite, np.float32(0.5), 0.5),
    (validation.finite, Fraction(1, 4), 0.25),
    (validation.finite, np.array(3), 3.0),
    (validation.positive, 5e-324, 5e-324),
    (validation.positive, np.int64(7), 7.0),
    (validation.non_negative, 0, 0.0),
    (validation.non_negative, 1.7976931348623157e308, 1.7976931348623157e308),
    (validation.probability, 0, 0.0),
    (validation.probability, 1, 1.0),
    (validation.probability, 1e-300, 1e-300),
    (validation.count, 0, 0),
    (validation.count, 10**30, 10**30),
    (validation.count, np.uint8(255), 255),
]


@pytest.mark.parametrize(("validator", "value", "expected"), ACCEPTED)
def test_accepted(validator, value, expected):
    result = validator(x=value)
    assert result == expected
    assert type(result) is type(expected)


NUMBERS = [
    (validation.finite, "a finite number", [NAN, INF, -INF]),
    (validation.positive, "a finite number > 0", [NAN, INF, -INF, 0.0, -0.0, -1.0]),
    (validation.non_negative, "a finite number >= 0", [NAN, INF, -INF, -5e-324, -1.0]),
    (validation.probability, "a number between 0 and 1", [NAN, INF, -INF, -5e-324, 1.0000000000000002, 2.0]),
]
NOT_NUMBERS = [True, False, np.True_, "1", b"1", None, [1.0], (), {}, 1j, Decimal(1), np.array([1.0])]

REFUSED = [
    *((take, bad, f"x={bad!r} is out of range; give {want}") for take, want, bads in NUMBERS for bad in bads),
    *((take, bad, f"x={bad!r} is not a number; give {want}") for take, want, _ in NUMBERS for bad in NOT_NUMBERS),
    *(
        (validation.count, bad, f"x={bad!r} is not a whole number; give an int >= 0")
        for bad in [True, np.False_, 3.0, np.float64(3), NAN, INF, "3", None, [3], Fraction(3), np.array([3])]
    ),
    (validation.count, -1, "x=-1 is out of range; give an int >= 0"),
    (validation.count, np.int64(-7), "x=-7 is out of range; give an int >= 0"),
    (validation.count, 2**1023, "x is larger than every float; give an int >= 0"),
    *(
        (take, bad, f"x={bad!r} is not a number or an array of numbers")
        for take in (validation.reals, validation.probabilities)
        for bad in [True, "1", None, 1j, [1.0, "a"], [True], [[1.0], [2.0, 3.0]], {}, object]
    ),
    *(
        (take, bad, f"x={bad!r} has a nan; give real numbers")
        for take in (validation.reals, validation.probabilities)
        for bad in [NAN, [0.0, NAN], np.array([NAN])]
    ),
    (validation.probabilities, [0.5, -0.1, 2], "x=-0.1 is out of range; give numbers between 0 and 1"),
    (validation.probabilities, 1.5, "x=1.5 is out of range; give numbers between 0 and 1"),
    (validation.probabilities, [[INF]], "x=inf is out of range; give numbers between 0 and 1"),
]


@pytest.mark.parametrize(("validator", "value", "message"), REFUSED)
def test_refused(validator, value, message):
    with pytest.raises(InvalidArgument) as refused:
        validator(x=value)
    assert str(refused.value) == message


@pytest.mark.parametrize("value", [1, [1, 2], np.arange(3), (0.0, 1.0), [[0.5]], [], np.float32(0.5)])
def test_arrays(value):
    result = validation.reals(x=value)
    assert result.dtype == np.float64
    assert result.shape == np.shape(value)
    assert (result == np.asarray(value)).all()


def test_arrays_are_not_the_argument():
    given = np.array([0.25, 0.5])
    validation.probabilities(x=given)[0] = 1
    validation.reals(x=given)[0] = 1
    assert given[0] == 0.25


def test_infinities_are_real():
    assert (validation.reals(x=[-INF, INF]) == [-INF, INF]).all()


def test_choice():
    assert validation.choice(["auto", "clt"], method="clt") == "clt"
    for bad in ("CLT", 3, None):
        with pytest.raises(InvalidArgument) as refused:
            validation.choice(["auto", "clt"], method=bad)
        assert str(refused.value) == f"method={bad!r} is unknown; give one of 'auto', 'clt'"


@pytest.mark.parametrize("validator", [validation.finite, validation.count, validation.reals])
def test_one_argument_by_name(validator):
    with pytest.raises(TypeError, match=r"takes 0 positional arguments"):
        validator(1)
    with pytest.raises(ValueError, match=r"too many values to unpack"):
        validator(a=1, b=2)


def test_a_flag_is_true_or_false_and_nothing_else():
    assert validation.flag(clipped=np.True_) is True
    assert validation.flag(clipped=False) is False
    with pytest.raises(InvalidArgument, match=r"^clipped='yes' is neither True nor False; give one of them$"):
        validation.flag(clipped="yes")
