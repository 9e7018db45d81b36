"""Runs in phases, from Python, JSON and TOML."""

from __future__ import annotations

import dataclasses
import json
import tomllib

import pytest

import edgeworth as ew
from edgeworth.errors import InvalidArgument
from edgeworth.training import DPSGD, Training, training_from_dict

FIRST = DPSGD(examples=60_000, batch_size=600, epochs=2, noise_multiplier=2.0, sampler="poisson")
SECOND = dataclasses.replace(FIRST, batch_size=1_200, noise_multiplier=1.0, epochs=1, steps=None)
RUN = Training([FIRST, SECOND])

TOML = """
examples = 60000
sampler = "poisson"

[[phases]]
batch_size = 600
epochs = 2
noise_multiplier = 2.0

[[phases]]
batch_size = 1200
epochs = 1
noise_multiplier = 1
"""


def test_phases_compose():
    quiet = ew.PoissonSampled(ew.Gaussian(2.0), rate=0.01) ** 200
    loud = ew.PoissonSampled(ew.Gaussian(1.0), rate=0.02) ** 50
    assert RUN.mechanism == quiet * loud
    assert RUN.without_amplification == ew.Gaussian(2.0) ** 200 * ew.Gaussian(1.0) ** 50
    assert (RUN.steps, RUN.mechanism.releases, RUN.adjacency, RUN.amplified) == (250, 250, "add-remove", True)


def test_one_phase_is_the_run_itself():
    alone = Training([FIRST])
    assert alone.mechanism == FIRST.mechanism
    assert alone.assumptions == FIRST.assumptions
    assert alone.describe() == FIRST.describe()


def test_a_run_cut_in_two_costs_the_same_to_the_last_bit():
    run = DPSGD(examples=60_000, batch_size=600, steps=300, noise_multiplier=2.0, sampler="poisson")
    cut = Training([dataclasses.replace(run, steps=100), dataclasses.replace(run, steps=200)])
    first, second = run.account().epsilon(1e-5), cut.account().epsilon(1e-5)
    assert (first.lower, first.value, first.upper) == (second.lower, second.value, second.upper)


def test_toml_and_json_read_the_same():
    assert training_from_dict(tomllib.loads(TOML)) == RUN
    assert training_from_dict(json.loads(json.dumps(RUN.to_dict()))) == RUN
    assert training_from_dict(FIRST.to_dict()) == FIRST


def test_each_assumption_and_note_is_said_once():
    texts = [*RUN.assumptions, *RUN.notes]
    assert len(texts) == len(set(texts))
    assert RUN.describe().count("assumed") == len(RUN.assumptions)


def test_the_table_has_a_row_per_phase():
    rows = RUN.describe().splitlines()[1:3]
    assert [row.split()[0] for row in rows] == ["1", "2"]
    assert "1200/60000 = 0.02" in rows[1]
    assert "2 x 100 = 200" in rows[0]


KEYS = "examples, batch_size, noise_multiplier, sampler, epochs, steps, drop_last, adjacency"
REFUSED = [
    (lambda: Training([]), "phases is empty; give at least one DPSGD"),
    (lambda: Training(3), "phases[0]=3 is not a phase; give a DPSGD"),
    (
        lambda: Training([FIRST, dataclasses.replace(FIRST, adjacency="replace")]),
        (
            "phases have adjacency='add-remove' and adjacency='replace'; "
            "a guarantee is about one kind of neighbour, give all phases the same"
        ),
    ),
    (
        lambda: Training([FIRST, dataclasses.replace(FIRST, examples=600, steps=None)]),
        "phases have examples=60000 and examples=600; one run sees one set of records, give all phases the same",
    ),
    (lambda: training_from_dict({"phases": 3}), "phases=3 is not a list; give a list of runs"),
    (
        lambda: training_from_dict({"phases": [FIRST.to_dict(), {"examples": 3}]}),
        f"phases[1]: batch_size is missing from the run; give {KEYS}",
    ),
    (
        lambda: training_from_dict({"phases": [3]}),
        f"phases[0]: run=3 is not an object; give one with {KEYS}",
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message[:30] for _, message in REFUSED])
def test_refused(call, message):
    with pytest.raises(InvalidArgument) as refused:
        call()
    assert str(refused.value) == message
