"""A process for every measurement; of several the best; failures and limits are told, not hidden."""

from __future__ import annotations

import math
import subprocess

import pytest
from benchmarks import measure, processes
from benchmarks.cases import HEADLINE, LONG, LONG_AS_SHORT, MANY_PHASES, gaussian, laplace
from benchmarks.measure import Row, best
from benchmarks.packages import ESTIMATES, OURS, PEERS, PLAIN_LOOP, RDP
from benchmarks.processes import Hosts, fresh

CASE = gaussian(1.0, 1, 1e-5)


def test_a_fresh_process_reads_twice():
    found = fresh(OURS, CASE)
    assert sorted(found) == ["answer", "first", "memory", "peak", "second"]
    lower, value, upper = found["answer"]
    assert lower <= value <= upper
    # delta(eps) = Phi(1/2 - eps) - e^eps Phi(-1/2 - eps) for sigma = 1
    tail = [math.erfc((sign + value) / math.sqrt(2)) / 2 for sign in (-0.5, 0.5)]
    assert abs((tail[0] - math.exp(value) * tail[1]) / 1e-5 - 1) < 1e-9
    assert 0 < found["first"] < 60
    assert 0 < found["second"] < 60
    assert 0 <= found["memory"] < found["peak"]


def test_a_fresh_process_reads_a_curve():
    found = fresh(PLAIN_LOOP, HEADLINE, points=5)
    assert found["answer"] == [None, None, None]
    assert "second" not in found


def test_a_failure_is_told():
    found = fresh(PLAIN_LOOP, CASE)
    assert found == {"failure": "AttributeError: 'PlainLoop' object has no attribute 'epsilon'"}


def test_the_time_limit_is_told(monkeypatch):
    monkeypatch.setattr(processes, "STARTING", 0.0)
    assert fresh(OURS, CASE, limit=0.01) == {"failure": "> 0.01 s"}


def test_a_process_that_dies_is_told(monkeypatch):
    died = subprocess.CompletedProcess([], returncode=-9, stdout="", stderr="")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: died)
    assert fresh(OURS, CASE) == {"failure": "ended with -9"}


def test_a_first_reading_survives_the_time_limit(monkeypatch):
    def late(command, **_):
        raise subprocess.TimeoutExpired(command, 1.0, output=b'{"first": 1.0, "answer": [1, 2, 3]}\n')

    monkeypatch.setattr(subprocess, "run", late)
    assert fresh(OURS, CASE) == {"first": 1.0, "answer": [1, 2, 3]}


def told(first, **more):
    return {
        "first": first,
        "second": first / 2,
        "memory": first,
        "peak": 100 + first,
        "answer": [1.0, 2.0, 3.0],
        **more,
    }


def test_the_best_time_and_the_most_memory():
    row = best(OURS, CASE, [told(4.0), told(2.0), told(3.0)])
    assert (row.first, row.second, row.memory, row.peak, row.runs) == (2.0, 1.0, 4.0, 104.0, 3)
    assert (row.lower, row.value, row.upper, row.status) == (1.0, 2.0, 3.0, "")


def test_one_failure_is_a_failure():
    assert best(OURS, CASE, [told(4.0), {"failure": "> 8 GB"}]).status == "> 8 GB"


def test_an_infinite_answer_is_told():
    assert best(OURS, CASE, [told(4.0, answer=[1.0, None, None])]).status == "infinite"


@pytest.fixture
def asked(monkeypatch):
    """Who was asked, and whether in a forked process; RDP takes long."""
    found = []

    def ask(kind):
        def answer(package, _case, **_):
            found.append((package, kind))
            return told(9.0 if package is RDP else 0.1)

        return answer

    monkeypatch.setattr(measure, "fresh", ask("fresh"))
    monkeypatch.setattr(Hosts, "forked", lambda _, *args, **more: ask("forked")(*args, **more))
    return found


def test_packages_take_turns_and_long_ones_are_not_repeated(asked):
    rows = measure.measure((OURS, RDP), CASE, Hosts())
    assert [package for package, _ in asked] == [OURS, RDP, OURS]
    assert [(row.package, row.runs) for row in rows] == [(OURS.name, 2), (RDP.name, 1)]


def test_short_ones_whose_ratio_is_promised_are_repeated_more_often(asked):
    rows = measure.measure((OURS, ESTIMATES[0]), HEADLINE, Hosts())
    assert [row.runs for row in rows] == [12, 2]
    assert [package for package, _ in asked] == [OURS, ESTIMATES[0]] * 2 + [OURS] * 10


def test_as_many_as_asked_for(asked):
    assert [row.runs for row in measure.measure((OURS, ESTIMATES[0]), HEADLINE, Hosts(), runs=3)] == [3, 3]
    assert len(asked) == 6


@pytest.mark.parametrize("promised", [HEADLINE, LONG, LONG_AS_SHORT, MANY_PHASES])
def test_what_is_promised_is_measured_in_fresh_processes(asked, monkeypatch, promised):
    monkeypatch.setattr(measure, "CAN_FORK", True)
    rows = [measure.measure((OURS,), case, Hosts(), points=points)[0] for case, points in ((promised, 9), (CASE, 0))]
    assert [row.forked for row in rows] == [False, True]
    assert {kind for _, kind in asked[:-2]} == {"fresh"}
    assert {kind for _, kind in asked[-2:]} == {"forked"}


def test_all_processes_are_fresh_where_none_can_be_forked(asked, monkeypatch):
    monkeypatch.setattr(measure, "CAN_FORK", False)
    (row,) = measure.measure((OURS,), CASE, Hosts())
    assert not row.forked
    assert {kind for _, kind in asked} == {"fresh"}


def test_who_cannot_be_asked_has_a_row_too(asked):
    rows = measure.measure(PEERS[2:], laplace(1, 1e-5), Hosts())
    assert [row.status for row in rows] == ["no such noise"] * 2
    assert not asked


def test_a_row_is_plain_data():
    row = Row("a", 1e-5, "b", "")
    assert Row(**row.to_dict()) == row
