"""A run described in examples, batches and epochs: what is derived, what is refused, what is said."""

from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth import mechanisms as em
from edgeworth.errors import InvalidArgument
from edgeworth.training import DPSGD
from edgeworth.training.rules import ADJACENCIES, RULES, SAMPLERS

GIVEN = {"examples": 50_000, "batch_size": 256, "steps": 5_000, "noise_multiplier": 0.8, "sampler": "poisson"}
RUN = DPSGD(**GIVEN)

MEANINGS = (
    "'poisson': every record enters every batch by itself, with probability batch_size/examples; "
    "'fixed-size': every batch is batch_size different records, drawn afresh from all of them; "
    "'shuffle': the records are shuffled and dealt into batches, each record once per epoch; "
    "'none': nothing is drawn at random, any record may be in every batch"
)

REFUSED = [
    (
        {"sampler": ""},
        f"sampler is missing; epsilon depends on how batches are drawn, so say it. {MEANINGS}",
    ),
    ({"sampler": "Poisson"}, f"sampler='Poisson' is unknown; give one of these. {MEANINGS}"),
    ({"examples": 0}, "examples=0 is out of range; give an int >= 1"),
    ({"examples": 5e4}, "examples=50000.0 is not a whole number; give an int >= 0"),
    ({"batch_size": 0}, "batch_size=0 is out of range; give an int >= 1"),
    ({"batch_size": 256.0}, "batch_size=256.0 is not a whole number; give an int >= 0"),
    ({"batch_size": 50_001}, "batch_size=50001 is larger than examples=50000; give at most one batch of all"),
    ({"steps": None}, "epochs and steps are both missing; give one of the two"),
    ({"steps": 1.5}, "steps=1.5 is not a whole number; give an int >= 0"),
    ({"steps": None, "epochs": 1.5}, "epochs=1.5 is not a whole number; give an int >= 0, or give steps"),
    ({"steps": None, "epochs": -1}, "epochs=-1 is out of range; give an int >= 0, or give steps"),
    (
        {"epochs": 2},
        "steps=5000 is not what epochs=2 means, which is 392 steps; give one of the two, and None for the other",
    ),
    ({"noise_multiplier": 0}, "noise_multiplier=0.0 is out of range; give a finite number > 0"),
    ({"noise_multiplier": math.nan}, "noise_multiplier=nan is out of range; give a finite number > 0"),
    ({"drop_last": 1}, "drop_last=1 is not a truth value; give True or False"),
    (
        {"adjacency": "swap"},
        "adjacency='swap' is unknown; give one of 'add-remove', 'replace', 'zero-out'",
    ),
]


@pytest.mark.parametrize(("change", "message"), REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_refused(change, message):
    with pytest.raises(InvalidArgument) as refused:
        DPSGD(**GIVEN | change)
    assert str(refused.value) == message


def test_the_sampler_has_no_default():
    with pytest.raises(InvalidArgument, match=r"^sampler is missing; epsilon depends on how batches are drawn"):
        DPSGD(examples=10, batch_size=1, epochs=1, noise_multiplier=1.0)


def test_one_epoch_at_one_in_93_is_93_steps():
    assert int(1 / (1 / 93)) == 92  # what a quotient of floats gives
    for epochs in (1, 7, 10):
        run = DPSGD(examples=93, batch_size=1, epochs=epochs, noise_multiplier=1.0, sampler="poisson")
        assert run.steps == 93 * epochs
        assert run.mechanism.releases == 93 * epochs


sizes = st.integers(1, 10**12).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n)))


@given(sizes, st.integers(0, 10**6), st.booleans())
def test_an_epoch_covers_the_examples_with_as_few_batches_as_possible(pair, epochs, drop_last):
    examples, batch = pair
    run = DPSGD(
        examples=examples, batch_size=batch, epochs=epochs, noise_multiplier=1, sampler="poisson", drop_last=drop_last
    )
    per_epoch = run.steps_per_epoch
    if drop_last:
        assert per_epoch * batch <= examples < (per_epoch + 1) * batch
    else:
        assert (per_epoch - 1) * batch < examples <= per_epoch * batch
    assert run.steps == epochs * per_epoch
    assert run.passes == epochs


@given(sizes)
def test_the_rate_is_the_float_nearest_to_the_fraction(pair):
    examples, batch = pair
    run = DPSGD(examples=examples, batch_size=batch, steps=1, noise_multiplier=1, sampler="poisson")
    exact = Fraction(batch, examples)
    assert run.exact_rate == exact
    error = abs(Fraction(run.rate) - exact)
    assert all(error <= abs(Fraction(math.nextafter(run.rate, side)) - exact) for side in (0.0, 2.0))


@given(sizes, st.integers(0, 10**9))
def test_a_shuffled_run_counts_the_epochs_it_begins(pair, steps):
    examples, batch = pair
    run = DPSGD(examples=examples, batch_size=batch, steps=steps, noise_multiplier=1, sampler="shuffle")
    assert (run.units - 1) * run.steps_per_epoch < steps <= run.units * run.steps_per_epoch


half, whole = em.Gaussian(0.4), em.Gaussian(0.8)
poisson = em.PoissonSampled(whole, rate=256 / 50_000)
EXPECTED = {
    ("poisson", "add-remove"): poisson**5_000,
    ("poisson", "replace"): em.PoissonSampled(half, 256 / 50_000, "replace", clipped=True) ** 5_000,
    ("poisson", "zero-out"): poisson**5_000,
    ("fixed-size", "add-remove"): half**5_000,
    ("fixed-size", "replace"): em.SampledWithoutReplacement(half, size=256, population=50_000) ** 5_000,
    ("fixed-size", "zero-out"): whole**5_000,
    ("shuffle", "add-remove"): half**26 * whole**26,
    ("shuffle", "replace"): half**26,
    ("shuffle", "zero-out"): whole**26,
    ("none", "add-remove"): whole**5_000,
    ("none", "replace"): half**5_000,
    ("none", "zero-out"): whole**5_000,
}


def test_every_sampler_and_adjacency_has_a_rule():
    assert set(RULES) == set(EXPECTED) == {(sampler, adjacency) for sampler in SAMPLERS for adjacency in ADJACENCIES}


@pytest.mark.parametrize(("sampler", "adjacency"), EXPECTED)
def test_what_a_run_means(sampler, adjacency):
    run = dataclasses.replace(RUN, sampler=sampler, adjacency=adjacency)
    assert run.mechanism == EXPECTED[sampler, adjacency]
    assert run.mechanism == run.unit**run.units
    assert run.steps == 5_000
    assert run.assumptions[0].startswith(f"sampler {sampler!r}: ")
    assert run.amplified == (run.mechanism != run.without_amplification)
    assert run.amplified != any(note.startswith("no amplification: ") for note in run.notes)


@pytest.mark.parametrize(
    ("sampler", "adjacency"),
    [("poisson", "add-remove"), ("fixed-size", "replace"), ("shuffle", "add-remove"), ("none", "add-remove")],
)
def test_the_adjacency_of_a_sampler_unless_given(sampler, adjacency):
    assert DPSGD(**GIVEN | {"sampler": sampler}).adjacency == adjacency


@pytest.mark.parametrize(
    ("sampler", "adjacency"), [("poisson", "add-remove"), ("poisson", "replace"), ("fixed-size", "replace")]
)
def test_a_batch_of_everything_is_not_amplified(sampler, adjacency):
    run = DPSGD(examples=9, batch_size=9, steps=4, noise_multiplier=2, sampler=sampler, adjacency=adjacency)
    assert run.mechanism == run.without_amplification


def test_nothing_ran():
    run = dataclasses.replace(RUN, steps=0)
    assert run.account().epsilon(1e-5).upper == 0.0
    assert "at most 0 at delta = 1e-05" in run.describe()


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_amplification_only_lowers_epsilon(sampler):
    run = DPSGD(examples=1_000, batch_size=50, steps=40, noise_multiplier=2.0, sampler=sampler)
    with_it, without = run.account().epsilon(1e-5), ew.account(run.without_amplification).epsilon(1e-5)
    assert with_it.lower <= without.upper
    assert (with_it.upper < without.lower) == run.amplified


def test_the_description():
    assert RUN.describe() == (
        "phase  sampler  examples  batch size               rate q  steps n  noise multiplier\n"
        "    1  poisson     50000         256  256/50000 = 0.00512     5000               0.8\n"
        "\n"
        "neighbours              one record is added or removed (add-remove)\n"
        "epsilon                 at most 3.2620 at delta = 1e-05\n"
        "without amplification   at most 4282.3 at delta = 1e-05\n"
        "assumed                 sampler 'poisson': every record enters every batch by itself, with\n"
        "                        probability batch_size/examples\n"
        "assumed                 each step adds Gaussian noise of standard deviation noise_multiplier *\n"
        "                        clipping norm to the sum of the clipped gradients of its batch, before the\n"
        "                        sum is divided by a number that does not depend on the data\n"
        "assumed                 sizes, noise and the number of steps were fixed before the run"
    )


def test_the_description_says_what_was_not_amplified():
    run = dataclasses.replace(RUN, sampler="shuffle", steps=None, epochs=3)
    text = run.describe(delta=1e-6)
    assert "3 x 196 = 588" in text
    assert "noted                   no amplification: none is known to be sound for shuffled batches" in text
    assert "noted                   the last record of the order takes the place of a removed one" in text
    assert text.count("at delta = 1e-06") == 2


def test_the_description_rounds_up():
    stated = float(RUN.describe().partition("epsilon                 at most ")[2].split()[0])
    assert stated >= RUN.account().epsilon(1e-5).upper


runs = st.builds(
    DPSGD,
    examples=st.integers(10**3, 10**6),
    batch_size=st.integers(1, 10**3),
    noise_multiplier=st.floats(0.1, 100),
    sampler=st.sampled_from(list(SAMPLERS)),
    adjacency=st.sampled_from(["", *ADJACENCIES]),
    drop_last=st.booleans(),
    epochs=st.integers(0, 100),
) | st.builds(
    DPSGD,
    examples=st.integers(10**3, 10**6),
    batch_size=st.integers(1, 10**3),
    noise_multiplier=st.floats(0.1, 100),
    sampler=st.sampled_from(list(SAMPLERS)),
    steps=st.integers(0, 10**9),
)


@given(runs)
def test_a_round_trip_through_json_changes_nothing(run):
    again = DPSGD.from_dict(json.loads(json.dumps(run.to_dict())))
    assert again == run
    assert hash(again) == hash(run)
    assert again.mechanism == run.mechanism


def test_numpy_numbers_become_plain_ones():
    run = DPSGD(**GIVEN | {"examples": np.int64(50_000), "noise_multiplier": np.float64(0.8)})
    assert json.dumps(run.to_dict()) == json.dumps(RUN.to_dict())


KEYS = "examples, batch_size, noise_multiplier, sampler, epochs, steps, drop_last, adjacency"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (GIVEN | {"sigma": 1}, f"sigma=1 is not part of a run; give {KEYS}"),
        ({"examples": 3}, f"batch_size is missing from the run; give {KEYS}"),
        ([1], f"run=[1] is not an object; give one with {KEYS}"),
    ],
)
def test_what_is_not_a_run_is_refused(fields, message):
    with pytest.raises(InvalidArgument) as refused:
        DPSGD.from_dict(fields)
    assert str(refused.value) == message
