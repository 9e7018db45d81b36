"""The search for the largest count: right for every monotone excess, and in few evaluations for a smooth one."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from edgeworth.ledger.largest import largest_within


@given(st.integers(0, 10**12), st.integers(1, 10**12), st.sampled_from(["line", "log", "step", "power"]))
def test_the_answer_is_the_last_one_within(answer, guess, shape):
    excess = {
        "line": lambda k: k - answer - 0.5,
        "log": lambda k: math.log(k) - math.log(answer + 0.5),
        "step": lambda k: math.inf if k > answer else -math.inf,
        "power": lambda k: (k / (answer + 0.5)) ** 3 - 1,
    }[shape]
    assert largest_within(excess, guess=guess, most=10**12) == answer


@given(st.integers(0, 1000), st.integers(1, 10**6))
def test_the_search_stops_at_the_most(most, guess):
    assert largest_within(lambda _: -1.0, guess=guess, most=max(most, 1)) == max(most, 1)


@given(st.integers(100, 10**9), st.floats(0.7, 1.4))
def test_a_good_guess_needs_few_evaluations(answer, off):
    seen = []

    def excess(k):
        seen.append(k)
        return 40 * (1 - ((answer + 0.5) / k) ** 0.4)

    assert largest_within(excess, guess=int(answer * off), most=10**12) == answer
    assert len(seen) <= 22
    assert len(set(seen)) == len(seen)
