from __future__ import annotations

import json

import pytest

import edgeworth as ew
from edgeworth.composition import METHODS
from edgeworth.report import MethodsTable

MECHANISM = ew.Gaussian(noise_multiplier=5.0) ** 10


def test_auto_comes_first_and_no_method_twice():
    table = MethodsTable.of(MECHANISM)
    names = [answer.name for answer in table.answers]
    assert names[0] == "auto (closed-form)"
    assert len(set(names)) == len(names)
    assert {answer.method for answer in table.answers} == {"auto", *METHODS} - {"closed-form"}


def test_every_method_agrees_on_gaussian_noise_where_it_should():
    for answer in MethodsTable.of(MECHANISM, deltas=[1e-5]).answers:
        if answer.method != "recursion":
            assert answer.epsilon.value[0] == pytest.approx(2.59438338053, rel=1e-9), answer.name


def test_a_refusal_is_kept_with_its_reason():
    table = MethodsTable.of(ew.Laplace(scale=5.0) ** 7)
    (closed_form,) = (answer for answer in table.answers if answer.method == "closed-form")
    assert closed_form.account is None
    assert not closed_form.certified
    assert 'method="closed-form" has no formula' in closed_form.notes[0]
    assert "closed-form" not in table.accounts


def test_progress_counts_to_the_end():
    told = []
    MethodsTable.of(MECHANISM, progress=lambda *told_now: told.append(told_now))
    done = [count for _, count, _ in told]
    assert done == list(range(len(told)))
    assert done[-1] == told[-1][2]


def test_the_same_question_twice_gives_the_same_numbers():
    first, second = (json.loads(MethodsTable.of(MECHANISM).to_json()) for _ in range(2))
    for table in (first, second):
        for answer in table["methods"]:
            answer.pop("milliseconds", None)
    assert first == second


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"deltas": []}, r"deltas=\(\) is empty; give at least one number between 0 and 1"),
        ({"deltas": [-1.0]}, "delta=-1.0 is out of range"),
        ({"degrees": [9]}, "degree=9 is out of range; give an int from 0 to 8"),
        ({"degrees": [2.0]}, "degree=2.0 is not a whole number"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ew.InvalidArgument, match=message):
        MethodsTable.of(MECHANISM, **arguments)
