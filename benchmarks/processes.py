"""A process of its own for every measurement: a fresh one, or one that a host forks when the imports are behind it.

A fresh one takes seconds to import. A forked one starts at once, and its times are those of a fresh one to some tenths
of a millisecond, which is too much for the shortest.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from benchmarks import pages

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.cases import Case
    from benchmarks.packages import Package

ROOT = Path(__file__).parent.parent
PYTHON = (sys.executable, "-W", "ignore")
HOST = (*PYTHON, "-m", "benchmarks.host")
TIME_LIMIT = 120.0
STARTING = 15.0  # seconds granted to all that comes before the readings, which no timing contains
CAN_FORK = pages.can_be_owned()  # elsewhere every process is fresh

Found = dict[str, Any]


def job(package: Package, case: Case, points: int, limit: float) -> str:
    """What is to be measured, on one line."""
    return json.dumps({"package": package.name, "case": case.to_dict(), "points": points, "limit": limit})


def gathered(told: Iterable[str], ending: str) -> Found:
    """All that a process told; where no reading is among it, why."""
    found: Found = {}
    for line in told:
        found |= json.loads(line)
    return found if "first" in found else {"failure": found.get("failure", ending)}


def fresh(package: Package, case: Case, *, points: int = 0, limit: float = TIME_LIMIT) -> Found:
    """What a fresh process told before it ended or the limit struck."""
    try:
        ran = subprocess.run(  # noqa: S603
            [*PYTHON, "-m", "benchmarks.worker"],
            input=job(package, case, points, limit),
            capture_output=True,
            text=True,
            cwd=ROOT,
            timeout=limit + STARTING,
            check=False,
        )
        told, ending = ran.stdout, f"ended with {ran.returncode}"
    except subprocess.TimeoutExpired as late:
        told, ending = (late.stdout or b"").decode(), f"> {limit:g} s"
    return gathered(told.splitlines(), ending)


class Host:
    """A process that has imported one package, and forks another for every job."""

    def __init__(self, package: Package) -> None:
        self.process = subprocess.Popen(  # noqa: S603
            [*HOST, package.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            start_new_session=True,  # so that it can be ended with what it forked
        )

    def ask(self, work: str) -> Found:
        """What the process of this job told before it ended or the limit struck."""
        print(work, file=self.process.stdin, flush=True)
        told = []
        for line in self.process.stdout:
            ending = json.loads(line).get("ending")
            if ending:
                return gathered(told, ending)
            told.append(line)
        self.end()
        return gathered(told, f"host ended with {self.process.returncode}")

    def end(self) -> None:
        """Kill it, and a process that it may be waiting for."""
        with self.process:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)


class Hosts(dict[str, Host]):
    """Those started so far, by package; all are ended with the `with` that they are in."""

    def forked(self, package: Package, case: Case, *, points: int = 0, limit: float = TIME_LIMIT) -> Found:
        """What a process told that the host of the package forked."""
        if package.name not in self or self[package.name].process.poll() is not None:
            self[package.name] = Host(package)
        return self[package.name].ask(job(package, case, points, limit))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for host in self.values():
            host.end()
