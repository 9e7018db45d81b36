"""An upper end of 0 is a claim: it is made where the truth is 0, not where it underflows."""

import edgeworth as ew


def test_the_upper_end_of_delta_is_positive_where_delta_is():
    bracket = ew.account(ew.Gaussian(1.0)).delta(60.0)  # the truth is about 1e-394
    assert bracket.lower == 0.0
    assert 0.0 < bracket.upper <= 5e-324


def test_the_upper_end_of_f_is_positive_where_f_is():
    bracket = ew.account(ew.RandomizedResponse(800.0)).tradeoff(0.5)  # the truth is about 1e-348
    assert 0.0 < bracket.upper <= 5e-324


def test_beyond_the_support_delta_is_zero():
    account = ew.account(ew.Laplace(scale=2.0) ** 3)
    assert account.delta(1.500001).upper == 0.0
    assert account.tradeoff(1.0).upper == 0.0
