from __future__ import annotations

import json

import pytest

import edgeworth as ew
from edgeworth.composition import METHODS
from edgeworth.report import MethodsTable

MECHANISM = ew.Gaussian(noise_multiplier=5.0) ** 10


#: how far the value of a method may be from the truth, relatively, where that is not rounding alone
LOOSE = {"lattice": 1e-6, "recursion": 1e-3}


@pytest.fixture(scope="module")
def asked():
    """The table of all methods, and what was told on the way."""
    told = []
    return MethodsTable.of(MECHANISM, progress=lambda *told_now: told.append(told_now)), told


def test_auto_comes_first_and_no_method_twice(asked):
    names = [answer.name for answer in asked[0].answers]
    assert names[0] == "auto (closed-form)"
    assert len(set(names)) == len(names)
    assert {answer.method for answer in asked[0].answers} == {"auto", *METHODS} - {"closed-form"}


def test_every_method_agrees_on_gaussian_noise_where_it_should(asked):
    for answer in asked[0].answers:
        if answer.refusal is None:
            expected = pytest.approx(2.59438338053, rel=LOOSE.get(answer.method, 1e-9), abs=0)
            assert answer.epsilon.value[0] == expected, answer.name


def test_a_refusal_is_kept_with_its_reason():
    table = MethodsTable.of(ew.Laplace(scale=5.0) ** 7)
    (closed_form,) = (answer for answer in table.answers if answer.method == "closed-form")
    assert closed_form.account is None
    assert not closed_form.certified
    assert 'method="closed-form" has no formula' in closed_form.notes[0]
    assert "closed-form" not in table.accounts


def test_progress_counts_to_the_end(asked):
    done = [count for _, count, _ in asked[1]]
    assert done == list(range(len(done)))
    assert done[-1] == asked[1][-1][2]


def test_the_same_question_twice_gives_the_same_numbers(asked):
    first, second = (json.loads(table.to_json()) for table in (asked[0], MethodsTable.of(MECHANISM)))
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


def test_the_error_is_known_as_far_as_the_truth_is(asked):
    table = asked[0]
    truth = table.answers[0].epsilon
    for answer in table.answers:
        (ends,) = answer.error(truth) or [None]
        if answer.refusal is None:
            low, high = ends
            assert low <= high
            assert (1 + low) * truth.upper[0] == pytest.approx(answer.epsilon.value[0], rel=1e-14, abs=0)
            assert (1 + high) * truth.lower[0] == pytest.approx(answer.epsilon.value[0], rel=1e-14, abs=0)
        else:
            assert ends is None


def test_without_a_certified_truth_there_is_no_error_to_tell():
    nothing = MethodsTable.of(ew.Composed(()))
    assert nothing.answers[-1].error(nothing.answers[0].epsilon) == [None]  # relative to an epsilon of 0
    assert nothing.answers[-1].error(nothing.answers[-1].epsilon) == []  # an estimate is no truth
