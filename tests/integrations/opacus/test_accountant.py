"""The accountant by itself: what it answers, and that it answers from its history alone."""

import copy
import math
import pickle
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from opacus.accountants import PRVAccountant, create_accountant

import edgeworth as ew
from edgeworth.integrations.opacus import EdgeworthAccountant

SAMPLED = ew.PoissonSampled(ew.Gaussian(1.0), rate=0.1)


def of(*history):
    accountant = EdgeworthAccountant()
    accountant.history = list(history)
    return accountant


def test_epsilon_is_the_upper_end_of_the_bracket():
    accountant = of((1.0, 0.1, 200))
    bracket = accountant.epsilon_bracket(1e-5)
    assert accountant.get_epsilon(1e-5) == accountant.get_epsilon(delta=1e-5) == bracket.upper
    assert bracket.upper == ew.account(SAMPLED**200).epsilon(1e-5).upper
    assert bracket.certified
    assert type(accountant.get_epsilon(1e-5)) is float


def test_the_options_of_other_accountants_change_nothing():
    accountant = of((1.0, 0.1, 200))
    assert accountant.get_epsilon(1e-5, [2.0, 3.0], eps_error=0.5, alphas=[2]) == accountant.get_epsilon(1e-5)


def test_nothing_ran():
    accountant = EdgeworthAccountant()
    assert accountant.get_epsilon(1e-5) == accountant.get_epsilon(0.0) == accountant.epsilon_at_most(1e-5) == 0.0
    assert len(accountant) == 0
    assert of((1.0, 0.1, 0)).get_epsilon(1e-5) == 0.0
    assert of((1.0, 0.0, 100)).get_epsilon(1e-5) == 0.0


@pytest.mark.parametrize("rate", [1e-9, 0.01, 1.0])
def test_without_noise_nothing_is_promised(rate):
    accountant = of((1.0, 0.1, 100), (0.0, rate, 1))
    assert accountant.get_epsilon(1e-5) == accountant.epsilon_at_most(1e-5) == math.inf
    assert accountant.steps_left(10.0, 1e-5) == 0


@pytest.mark.parametrize(
    ("delta", "message"),
    [
        (-1e-5, "delta=-1e-05 is out of range; give a number between 0 and 1"),
        (math.nan, "delta=nan is out of range; give a number between 0 and 1"),
        (None, "delta=None is not a number; give a number between 0 and 1"),
    ],
)
def test_a_delta_that_means_nothing_is_refused(delta, message):
    with pytest.raises(ew.InvalidArgument) as refusal:
        of((1.0, 0.1, 100)).get_epsilon(delta)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ((-1.0, 0.1), "noise_multiplier=-1.0 is out of range; give a finite number >= 0"),
        ((1.0, 1.5), "sample_rate=1.5 is out of range; give a number between 0 and 1"),
    ],
)
def test_a_refused_step_leaves_the_history_as_it_was(step, message):
    accountant = of((1.0, 0.1, 100))
    with pytest.raises(ew.InvalidArgument) as refusal:
        accountant.step(noise_multiplier=step[0], sample_rate=step[1])
    assert str(refusal.value) == message
    assert accountant.history == [(1.0, 0.1, 100)]


def test_the_history_decides_whoever_changed_it():
    accountant = of((1.0, 0.1, 100))
    first = accountant.get_epsilon(1e-5)
    accountant.history[0] = (1.0, 0.1, 200)
    assert accountant.get_epsilon(1e-5) == ew.account(SAMPLED**200).epsilon(1e-5).upper > first
    accountant.history = [(2.0, 0.1, 100)]
    assert accountant.get_epsilon(1e-5) < first
    accountant.history.append((1.0, 0.1, 100))
    both = SAMPLED**100 * ew.PoissonSampled(ew.Gaussian(2.0), rate=0.1) ** 100
    assert accountant.get_epsilon(1e-5) == ew.account(both).epsilon(1e-5).upper
    accountant.history.clear()
    assert accountant.get_epsilon(1e-5) == 0.0


def test_the_account_has_curve_risk_and_statement():
    account = of((1.0, 0.1, 200), (2.0, 1.0, 3)).account
    assert account.mechanism == SAMPLED**200 * ew.Gaussian(2.0) ** 3
    assert account.tradeoff(0.01).certified
    assert account.risk.tpr(0.01).upper_bound() < 1
    assert "every record enters every sample by itself" in account.statement().text()


def test_steps_without_sampling_are_told_as_such():
    text = of((2.0, 1.0, 3)).account.statement().text()
    assert "none: every record is in every release" in text
    assert "every record enters every sample by itself" not in text


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])  # noqa: S301 - our own
def test_copies_go_their_own_ways(clone):
    accountant = of((1.0, 0.1, 200))
    before = accountant.get_epsilon(1e-5)
    other = clone(accountant)
    other.step(noise_multiplier=1.0, sample_rate=0.1)
    assert accountant.get_epsilon(1e-5) == before < other.get_epsilon(1e-5)


def test_steps_left_is_the_last_count_within_the_budget():
    accountant = of((2.0, 0.1, 50), (1.0, 0.1, 100))
    left = accountant.steps_left(epsilon=8.5, delta=1e-5)
    for taken, fits in ((left, True), (left + 1, False)):
        assert (of((2.0, 0.1, 50), (1.0, 0.1, 100 + taken)).get_epsilon(1e-5) <= 8.5) is fits
    for _ in range(left):
        accountant.step(noise_multiplier=1.0, sample_rate=0.1)
        left -= 1
        assert accountant.steps_left(epsilon=8.5, delta=1e-5) == left
    assert accountant.get_epsilon(1e-5) <= 8.5
    accountant.step(noise_multiplier=1.0, sample_rate=0.1)
    assert accountant.steps_left(epsilon=8.5, delta=1e-5) == 0


def test_steps_left_of_another_kind():
    accountant = of((2.0, 0.1, 200))
    given_both = accountant.steps_left(6.0, 1e-5, noise_multiplier=1.0, sample_rate=0.1)
    assert given_both == accountant.steps_left(6.0, 1e-5, noise_multiplier=1.0)
    assert of((2.0, 0.1, 200), (1.0, 0.1, given_both)).get_epsilon(1e-5) <= 6.0
    assert of((2.0, 0.1, 200), (1.0, 0.1, given_both + 1)).get_epsilon(1e-5) > 6.0
    assert accountant.steps_left(6.0, 1e-5, sample_rate=0.0) == math.inf


def test_steps_left_before_the_first_step_needs_both():
    with pytest.raises(ew.InvalidArgument) as refusal:
        EdgeworthAccountant().steps_left(1.0, 1e-5, noise_multiplier=1.0)
    assert str(refusal.value) == (
        "noise_multiplier and sample_rate are needed: there is no step yet to take them from; give both"
    )


@settings(max_examples=10)
@given(noise=st.floats(0.8, 3.0), rate=st.floats(0.05, 0.3), steps=st.integers(1, 3000))
def test_the_free_figure_is_that_of_the_next_multiple_of_100_steps(noise, rate, steps):
    accountant = of((2.0, 0.1, 50), (noise, rate, steps))
    ahead = of((2.0, 0.1, 50), (noise, rate, steps + -steps % 100))
    assert accountant.epsilon_at_most(1e-5) == ahead.get_epsilon(1e-5)
    assert accountant.epsilon_at_most(1e-5) >= accountant.epsilon_bracket(1e-5).lower


def test_the_free_figure_takes_few_readings():
    accountant = EdgeworthAccountant()
    seen = set()
    for _ in range(1000):
        accountant.step(noise_multiplier=1.0, sample_rate=0.1)
        seen.add(accountant.epsilon_at_most(1e-5))
    assert len(seen) == 10


def test_it_counts_steps_where_others_count_segments():
    ours, theirs = EdgeworthAccountant(), PRVAccountant()
    for accountant in (ours, theirs):
        for _ in range(7):
            accountant.step(noise_multiplier=1.0, sample_rate=0.1)
    assert ours.history == theirs.history
    assert (len(ours), len(theirs)) == (7, 1)


def test_outside_of_an_engine_the_hook_means_what_it_means_in_opacus():
    ours, theirs = create_accountant("edgeworth"), create_accountant("prv")
    for accountant in (ours, theirs):
        hook = accountant.get_optimizer_hook_fn(sample_rate=0.125)
        for batches in (1, 1, 4):
            hook(SimpleNamespace(noise_multiplier=1.0, accumulated_iterations=batches))
    assert ours.history == theirs.history == [(1.0, 0.125, 2), (1.0, 0.5, 1)]


def test_state_goes_round():
    accountant = of((1.0, 0.1, 200), (2.0, 0.5, 7))
    state = accountant.state_dict()
    assert state == {"history": accountant.history, "mechanism": "edgeworth"}
    other = EdgeworthAccountant()
    other.load_state_dict(state)
    assert other.history == accountant.history
    other.step(noise_multiplier=2.0, sample_rate=0.5)
    assert state["history"] == accountant.history == [(1.0, 0.1, 200), (2.0, 0.5, 7)]
    assert accountant.state_dict({"kept": 1})["kept"] == 1


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (None, "either None or empty"),
        ({}, "either None or empty"),
        ({"mechanism": "edgeworth"}, "does not have the key `history`"),
        ({"history": []}, "does not have the key `mechanism`"),
        ({"history": [], "mechanism": "prv"}, "state_dict of prv cannot be loaded"),
        ({"history": [(1.0, 2.0, 3)], "mechanism": "edgeworth"}, r"history\[0\]\.sample_rate=2\.0"),
    ],
)
def test_a_refused_state_leaves_the_history_as_it_was(state, message):
    accountant = of((1.0, 0.1, 200))
    with pytest.raises(ValueError, match=message):
        accountant.load_state_dict(state)
    assert accountant.history == [(1.0, 0.1, 200)]


def test_a_state_of_tensors_is_taken_over_as_plain_numbers():
    accountant = EdgeworthAccountant()
    accountant.load_state_dict({"history": torch.tensor([[1.0, 0.5, 20.0]]), "mechanism": "edgeworth"})
    assert accountant.history == [(1.0, 0.5, 20)]
    assert [type(number) for number in accountant.history[0]] == [float, float, int]
