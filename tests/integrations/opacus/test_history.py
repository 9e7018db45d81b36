"""The history is read anew each time, in whatever shape a checkpoint brought it back."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.integrations.opacus import EdgeworthAccountant
from edgeworth.integrations.opacus.history import Segment, segments, tally

NOISE = st.floats(0.0, 100.0)
RATE = st.floats(0.0, 1.0)
HISTORY = st.lists(st.tuples(NOISE, RATE, st.integers(0, 10**6)), max_size=8)


@pytest.mark.parametrize(
    "history",
    [
        [[1.0, 0.25, 500], [0.5, 0.5, 100]],
        ((1, 0.25, 500), (0.5, 0.5, 100)),
        np.array([[1.0, 0.25, 500], [0.5, 0.5, 100]]),
        torch.tensor([[1.0, 0.25, 500], [0.5, 0.5, 100]]),
        [(np.float32(1.0), torch.tensor(0.25), np.int64(500)), (torch.tensor([0.5]), np.array(0.5), torch.tensor(100))],
    ],
    ids=["lists", "tuples", "array", "tensor", "scalars"],
)
def test_shapes_of_a_history_that_mean_the_same(history):
    plain = [(1.0, 0.25, 500), (0.5, 0.5, 100)]
    assert segments(history) == plain
    assert {type(number) for each in segments(history) for number in each} == {float, int}
    accountant = EdgeworthAccountant()
    accountant.history = history
    assert len(accountant) == 600
    accountant.step(noise_multiplier=torch.tensor(0.5), sample_rate=np.float64(0.5))
    assert segments(accountant.history) == [(1.0, 0.25, 500), (0.5, 0.5, 101)]
    assert len(accountant) == 601


@pytest.mark.parametrize(
    ("history", "message"),
    [
        (None, "history=None is not a list; give a list of (noise_multiplier, sample_rate, steps)"),
        (7, "history=7 is not a list; give a list of (noise_multiplier, sample_rate, steps)"),
        ("abc", "history='abc' is not a list; give a list of (noise_multiplier, sample_rate, steps)"),
        ([5], "history[0]=5 is no part of a run; give (noise_multiplier, sample_rate, steps)"),
        (
            [(1.0, 0.1, 1), (1.0, 0.1)],
            "history[1]=(1.0, 0.1) is no part of a run; give (noise_multiplier, sample_rate, steps)",
        ),
        ([(-1.0, 0.1, 1)], "history[0].noise_multiplier=-1.0 is out of range; give a finite number >= 0"),
        ([(math.nan, 0.1, 1)], "history[0].noise_multiplier=nan is out of range; give a finite number >= 0"),
        ([(math.inf, 0.1, 1)], "history[0].noise_multiplier=inf is out of range; give a finite number >= 0"),
        ([("1", 0.1, 1)], "history[0].noise_multiplier='1' is not a number; give a finite number >= 0"),
        ([(1.0, 1.5, 1)], "history[0].sample_rate=1.5 is out of range; give a number between 0 and 1"),
        ([(1.0, True, 1)], "history[0].sample_rate=True is not a number; give a number between 0 and 1"),
        (
            [(1.0, torch.tensor([0.5, 0.25]), 1)],
            "history[0].sample_rate=tensor([0.5000, 0.2500]) is not a number; give a number between 0 and 1",
        ),
        ([(1.0, 0.1, 2.5)], "history[0].steps=2.5 is not a whole number; give an int >= 0"),
        ([(1.0, 0.1, -1)], "history[0].steps=-1 is out of range; give an int >= 0"),
        ([(1.0, 0.1, math.inf)], "history[0].steps=inf is not a whole number; give an int >= 0"),
    ],
)
def test_nonsense_is_refused_by_its_place(history, message):
    accountant = EdgeworthAccountant()
    accountant.history = history
    with pytest.raises(ew.InvalidArgument) as refusal:
        accountant.get_epsilon(1e-5)
    assert str(refusal.value) == message
    with pytest.raises(ew.InvalidArgument) as refusal:
        EdgeworthAccountant().load_state_dict({"history": history, "mechanism": "edgeworth"})
    assert str(refusal.value) == message


@given(history=HISTORY)
def test_a_tally_loses_no_step_and_has_no_kind_twice(history):
    put_together = tally(Segment(*each) for each in history)
    assert sum(each.steps for each in put_together) == sum(steps for _, _, steps in history)
    assert len({each[:2] for each in put_together}) == len(put_together)
    assert put_together == tally(Segment(*each) for each in reversed(history))
    assert put_together == tally(put_together)


@given(steps=st.lists(st.tuples(st.sampled_from([0.5, 1.0]), st.sampled_from([0.1, 0.2])), max_size=30))
def test_steps_in_a_row_make_one_entry(steps):
    accountant = EdgeworthAccountant()
    for noise, rate in steps:
        accountant.step(noise_multiplier=noise, sample_rate=rate)
    assert len(accountant) == len(steps)
    unrolled = [entry[:2] for entry in accountant.history for _ in range(entry[2])]
    assert unrolled == steps
    assert all(
        one[:2] != next_one[:2] for one, next_one in zip(accountant.history, accountant.history[1:], strict=False)
    )
