"""A run is accounted for as it is: the same figures as its mechanism, and a statement that knows it."""

import dataclasses

import pytest

import edgeworth as ew
from edgeworth.errors import InvalidArgument

RUN = ew.DPSGD(examples=50_000, batch_size=256, epochs=2, noise_multiplier=0.8, sampler="poisson")
SHUFFLED = dataclasses.replace(RUN, sampler="shuffle")
PHASES = ew.Training([RUN, dataclasses.replace(RUN, noise_multiplier=1.0)])


@pytest.mark.parametrize("run", [RUN, SHUFFLED, PHASES], ids=["one phase", "shuffled", "two phases"])
def test_a_run_has_the_account_of_its_mechanism(run):
    found, same = ew.account(run), ew.account(run.mechanism)
    assert found.mechanism == same.mechanism
    assert found.epsilon(1e-5).upper == same.epsilon(1e-5).upper
    assert (found.run, same.run) == (run, None)
    assert run.account().run == run


@pytest.mark.parametrize("run", [RUN, SHUFFLED], ids=["poisson", "shuffle"])
def test_its_statement_tells_about_the_run(run):
    told = ew.account(run).statement(deltas=[1e-5])
    assert told.text() == ew.account(run.mechanism).statement(deltas=[1e-5], run=run).text()
    assert f"{run.sampler}: " in told.text()
    assert ew.account(run).group(2).run == run


def test_neighbours_are_those_of_the_run():
    plain = dataclasses.replace(RUN, sampler="none")
    assert ew.account(plain, adjacency="add-remove").run == plain
    with pytest.raises(
        InvalidArgument,
        match=r"^adjacency='replace' is not what the run means, adjacency='add-remove'; give that, or describe",
    ):
        ew.account(plain, adjacency="replace")


@pytest.mark.parametrize(
    "other", [3, "run", None, ew.Ledger.planned(), RUN.account()], ids=["3", "text", "none", "l", "a"]
)
def test_other_things_are_no_run(other):
    with pytest.raises(
        InvalidArgument, match=r" is not a mechanism; give one, e\.g\. Gaussian\(noise_multiplier=1\.0\)"
    ):
        ew.account(other)
