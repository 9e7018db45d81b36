"""A host forks a process for each measurement: cold, with its own memory, and the only one to suffer from its end."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest
from benchmarks import processes
from benchmarks.cases import HEADLINE, Case, gaussian
from benchmarks.packages import OURS, PLAIN_LOOP, Package
from benchmarks.processes import Hosts, fresh

HERE = Path(__file__).parent
ODD, MISSING = (Package(name, "none", "none", load=None) for name in ("odd", "missing"))

pytestmark = pytest.mark.skipif(not processes.CAN_FORK, reason="every process is fresh on this system")


@pytest.fixture(scope="module")
def kept():
    with Hosts() as hosts:
        yield hosts


@pytest.fixture
def _odd(monkeypatch):
    monkeypatch.setattr(processes, "HOST", (sys.executable, "-W", "ignore", str(HERE / "odd_host.py")))
    monkeypatch.setenv("PYTHONPATH", str(processes.ROOT), prepend=":")


@pytest.fixture
def odd_hosts(_odd, kept):
    """The same for all tests that leave them as they are: to start one takes seconds."""
    return kept


@pytest.fixture
def own_hosts(_odd):
    with Hosts() as hosts:
        yield hosts


def case(name):
    return Case(name, (), 1e-5)


def runs(process):
    stat = Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text(encoding="ascii").rpartition(")")[2].split()[0] not in "ZX"


def gone(process):
    """Whether it ends within seconds: what was killed still gives its memory back."""
    late = time.monotonic() + 10
    while runs(process) and time.monotonic() < late:
        time.sleep(0.01)
    return not runs(process)


def test_a_forked_process_says_what_a_fresh_one_says():
    question = gaussian(1.0, 1, 1e-5)
    with Hosts() as hosts:
        forked, alone = hosts.forked(OURS, question), fresh(OURS, question)
    assert sorted(forked) == sorted(alone) == ["answer", "first", "memory", "peak", "second"]
    assert forked["answer"] == alone["answer"]
    assert forked["peak"] == pytest.approx(alone["peak"], rel=0.2)  # the host had the rest, too


def test_a_forked_process_reads_a_curve():
    with Hosts() as hosts:
        found = hosts.forked(PLAIN_LOOP, HEADLINE, points=5)
    assert found["answer"] == [None, None, None]
    assert "second" not in found


def test_the_second_measurement_is_as_cold_as_the_first(own_hosts):
    one, two = (own_hosts.forked(ODD, case("counts"))["answer"] for _ in range(2))
    assert one[:2] == two[:2] == [2, 1]  # loaded by the host and again by the process; used by the process alone
    assert one[2] != two[2]
    assert len(own_hosts) == 1


def test_a_process_that_hangs_is_killed_and_told(odd_hosts):
    assert odd_hosts.forked(ODD, case("hangs"), limit=0.1) == {"failure": "> 0.1 s"}
    assert odd_hosts.forked(ODD, case("counts"))["answer"][1] == 1


@pytest.mark.parametrize(("name", "failure"), [("dies", "ended with -9"), ("exits", "ended with 3")])
def test_a_process_that_dies_is_told(odd_hosts, name, failure):
    assert odd_hosts.forked(ODD, case(name)) == {"failure": failure}
    assert odd_hosts.forked(ODD, case("counts"))["answer"][1] == 1


def test_a_failure_is_told(odd_hosts):
    assert odd_hosts.forked(ODD, case("raises")) == {"failure": "LookupError: raises"}
    assert odd_hosts.forked(MISSING, case("counts")) == {"failure": "ModuleNotFoundError: No module named 'odd'"}


def test_memory_is_that_of_the_measurement_alone(odd_hosts):
    held, other = (odd_hosts.forked(ODD, case(name))["memory"] for name in ("holds memory", "counts"))
    assert 64 <= held < 140
    assert other < 2


def test_a_host_that_dies_is_told_and_replaced(own_hosts):
    first = own_hosts.forked(ODD, case("counts"))
    assert own_hosts.forked(ODD, case("kills its host")) == {"failure": "host ended with -9"}
    assert own_hosts.forked(ODD, case("counts"))["answer"][:2] == first["answer"][:2]


def test_hosts_are_ended_with_what_they_wait_for(own_hosts):
    own_hosts.forked(ODD, case("counts"))
    host = own_hosts["odd"].process
    print(processes.job(ODD, case("hangs"), points=0, limit=60.0), file=host.stdin, flush=True)
    process = json.loads(host.stdout.readline())["process"]
    assert runs(process)
    own_hosts.__exit__()
    assert host.returncode == -9
    assert gone(process)
