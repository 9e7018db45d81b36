"""One fresh process a measurement; of several the best; failures and limits are told, not hidden."""

from __future__ import annotations

import math
import subprocess

import pytest
from benchmarks import measure
from benchmarks.cases import HEADLINE, gaussian, laplace
from benchmarks.measure import Row, best, once
from benchmarks.packages import OURS, PEERS, PLAIN_LOOP, RDP

CASE = gaussian(1.0, 1, 1e-5)


def test_a_fresh_process_reads_twice():
    found = once(OURS, CASE)
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
    found = once(PLAIN_LOOP, HEADLINE, points=5)
    assert found["answer"] == [None, None, None]
    assert "second" not in found


def test_a_failure_is_told():
    found = once(PLAIN_LOOP, CASE)
    assert found == {"failure": "AttributeError: 'PlainLoop' object has no attribute 'epsilon'"}


def test_the_time_limit_is_told(monkeypatch):
    monkeypatch.setattr(measure, "STARTING", 0.0)
    assert once(OURS, CASE, limit=0.01) == {"failure": "> 0.01 s"}


def test_a_process_that_dies_is_told(monkeypatch):
    died = subprocess.CompletedProcess([], returncode=-9, stdout="", stderr="")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: died)
    assert once(OURS, CASE) == {"failure": "ended with -9"}


def test_a_first_reading_survives_the_time_limit(monkeypatch):
    def late(command, **_):
        raise subprocess.TimeoutExpired(command, 1.0, output=b'{"first": 1.0, "answer": [1, 2, 3]}\n')

    monkeypatch.setattr(subprocess, "run", late)
    assert once(OURS, CASE) == {"first": 1.0, "answer": [1, 2, 3]}


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


def test_packages_take_turns_and_long_ones_are_not_repeated(monkeypatch):
    asked = []

    def fake(package, _case, **_):
        asked.append(package.name)
        return told({OURS: 0.1, RDP: 9.0}[package])

    monkeypatch.setattr(measure, "once", fake)
    rows = measure.measure((OURS, RDP), CASE)
    assert asked == [OURS.name, RDP.name, OURS.name]
    assert [(row.package, row.runs) for row in rows] == [(OURS.name, 2), (RDP.name, 1)]
    assert len(measure.measure((OURS,), HEADLINE)) == 1
    assert len(asked) == 3 + 7


def test_who_cannot_be_asked_has_a_row_too(monkeypatch):
    monkeypatch.setattr(measure, "once", lambda *_, **__: pytest.fail("asked"))
    assert [row.status for row in measure.measure(PEERS[2:], laplace(1, 1e-5))] == ["no such noise"] * 2


def test_a_row_is_plain_data():
    row = Row("a", 1e-5, "b", "")
    assert Row(**row.to_dict()) == row
