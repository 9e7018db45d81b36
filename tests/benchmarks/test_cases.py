"""The list of cases is the promised one, and the same run reaches every package."""

from __future__ import annotations

import json

import pytest
from benchmarks import packages, readers
from benchmarks.cases import CASES, DELTAS, ESTIMATED_TOO, HEADLINE, LONG, LONG_AS_SHORT, MANY_PHASES, Case, Phase, sgd

import edgeworth as ew

EVERY = (*CASES, *ESTIMATED_TOO, LONG_AS_SHORT)


def phases_of(name):
    return [(case.phases, case.delta) for case in CASES if case.name.startswith(name)]


@pytest.mark.parametrize(
    ("name", "phase"),
    [
        ("Gaussian 1, n 1", Phase("Gaussian", 1.0, 1)),
        ("Gaussian 20, n 1000", Phase("Gaussian", 20.0, 1000)),
        ("SGD 0.8, 256/50000, n 1000", Phase("Gaussian", 0.8, 1000, 256 / 50_000)),
        ("SGD 0.8, 256/50000, n 5000", Phase("Gaussian", 0.8, 5000, 256 / 50_000)),
        ("SGD 0.8, 256/50000, n 20000", Phase("Gaussian", 0.8, 20_000, 256 / 50_000)),
        ("SGD 1, 0.01, n 10000", Phase("Gaussian", 1.0, 10_000, 0.01)),
    ],
)
def test_these_are_asked_at_four_deltas(name, phase):
    found = [(case.phases, case.delta) for case in CASES if case.name == name]
    assert found == [((phase,), delta) for delta in DELTAS]


def test_the_papers_runs_span_1_to_500_steps():
    found = [phases for (phases,), _ in phases_of("SGD 1, 0.5/n^(1/4)")]
    assert (found[0].steps, found[-1].steps) == (1, 500)
    assert all(abs(phase.rate**4 * phase.steps / 0.5**4 - 1) < 1e-12 for phase in found)


def test_the_laplace_runs_have_sensitivity_3_over_root_n():
    found = [phase for (phase,), _ in phases_of("Laplace")]
    assert [phase.steps for phase in found] == [1, 2, 5, 10]
    assert all(abs(phase.multiplier**2 * 9 / phase.steps - 1) < 1e-12 for phase in found)


def test_two_hundred_different_phases():
    first, *_, last = MANY_PHASES.phases
    assert len(set(MANY_PHASES.phases)) == 200
    assert {phase.steps for phase in MANY_PHASES.phases} == {50}
    assert (first.multiplier, first.rate) == (0.8, 0.001)
    assert (last.multiplier, last.rate) == (2.0, 0.05)
    assert MANY_PHASES.delta == 1e-6


def test_the_long_runs():
    assert CASES[-2] == sgd(0.6, "0.001", 10**6, 1e-6)
    assert CASES[-1] == LONG == sgd(1.0, "1e-4", 10**8, 1e-9)
    (long,), (short,) = LONG.phases, LONG_AS_SHORT.phases
    assert abs(long.steps * long.rate**2 / (short.steps * short.rate**2) - 1) < 1e-12


def test_titles_tell_cases_apart():
    assert len({case.title for case in EVERY}) == len(EVERY)


@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.title)
def test_a_case_survives_json(case):
    assert Case.from_dict(json.loads(json.dumps(case.to_dict()))) == case


@pytest.mark.parametrize(
    ("case", "width"),
    [
        (HEADLINE, 1e-9),
        (MANY_PHASES, 1e-9),
        (sgd(1.0, "0.1", 49, 1e-5), 1e-6),
        (sgd(1.0, "0.001", 999, 1e-5), 1e-6),
        (sgd(1.0, "0.001", 1001, 1e-5), 1e-9),
        (CASES[0], 1e-9),
    ],
)
def test_the_promised_width(case, width):
    assert case.promised_width == width


def test_this_package_gets_every_step(monkeypatch):
    monkeypatch.setattr(ew, "account", lambda mechanism, **_: mechanism)
    for case in EVERY:
        reader = readers.Edgeworth()
        reader.compose(case)
        assert reader.account.releases == sum(phase.steps for phase in case.phases)


def test_this_package_is_given_the_case_as_written(monkeypatch):
    monkeypatch.setattr(ew, "account", lambda mechanism, **_: mechanism)
    reader = readers.Edgeworth()
    reader.compose(ESTIMATED_TOO[1])
    assert reader.account == ew.PoissonSampled(ew.Gaussian(0.7), 0.004) ** 3000 * ew.Laplace(1.0)


def test_opacus_is_not_asked_about_laplace_noise():
    names = [package.name for package in packages.PEERS if not package.describes(ESTIMATED_TOO[1])]
    assert names == ["Opacus PRV", "Opacus RDP"]
