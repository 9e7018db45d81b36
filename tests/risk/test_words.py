"""Odds, sentences and tables."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.risk.words import odds


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 in 100"),
        (0.5, "50 in 100"),
        (0.01, "1 in 100"),
        (0.010_01, "1.01 in 100"),
        (1 / 3, "33.4 in 100"),
        (0.001, "10 in 10 000"),
        (1.23456e-7, "12.4 in 100 000 000"),
        (0.999_99, "100 in 100"),
        (1.0, "100 in 100"),
    ],
)
def test_odds(share, text):
    assert odds(share) == text


@given(st.floats(0, 1))
def test_odds_never_say_less(share):
    count, whole = odds(share).split(" in ")
    assert Fraction(count) / Fraction(whole.replace(" ", "")) >= Fraction(share) * (1 - Fraction(1, 10**15))


def test_a_sentence_is_a_promise_or_says_that_it_is_not():
    run = ew.PoissonSampled(ew.Gaussian(0.8), 256 / 50_000) ** 5000
    promise, guess = (ew.account(run, method=method).risk.sentence(0.01) for method in ("auto", "edgeworth"))
    assert promise == (
        "Whoever wrongly accuses 1 in 100 of the people whose record was not used recognises at most 5.4 in 100 of "
        "those whose record was; guessing without the output, it would be 1 in 100."
    )
    assert "about 5.38 in 100" in guess
    assert "(an estimate, not a guarantee)" in guess


def test_the_table_names_the_range_and_keeps_both_ends():
    text = ew.account(ew.Gaussian(2.0)).risk.table()
    assert "mu, over tests with both errors >= 1e-10                  in [0.4999, 0.5001]" in text
    assert "advantage (TPR - FPR at its greatest)                     in [0.1974, 0.1975]" in text


def test_the_risk_as_plain_data():
    risk = ew.account(ew.Gaussian(2.0)).risk
    data = json.loads(json.dumps(risk.to_dict()))
    found = data["true positive rate at 1 % false alarms"]
    assert found["lower"] <= found["value"] <= found["upper"]
    assert found["certified"] is True
    assert data["sentence"] == risk.sentence()
    assert str(risk).endswith(risk.sentence())
