"""Cold measurements: every one in a fresh process, with a time limit; of several, the one least disturbed."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.cases import HEADLINE, LONG, LONG_AS_SHORT, Case

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.packages import Package

ROOT = Path(__file__).parent.parent
TIME_LIMIT = 120.0
STARTING = 15.0  # seconds granted to imports, which no timing contains
FEW, MANY = 2, 7  # fresh processes for a time, and for one whose ratio is promised
LONG_ENOUGH = 5.0  # seconds; what takes longer is not repeated, since noise is small beside it
CAREFUL = frozenset(case.title for case in (HEADLINE, LONG, LONG_AS_SHORT))  # ratios of these are promised


@dataclass(frozen=True)
class Row:
    """What one package said on one case, and what that cost: seconds, and megabytes beyond its imports."""

    case: str
    delta: float
    package: str
    status: str  # empty when there is an answer
    lower: float | None = None
    value: float | None = None
    upper: float | None = None
    first: float | None = None
    second: float | None = None
    memory: float | None = None
    peak: float | None = None
    points: int = 0  # alphas of a trade-off function; 0 for epsilon
    runs: int = 0

    @property
    def title(self) -> str:
        """The case and its delta."""
        return f"{self.case}, delta {self.delta:.0e}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)


def once(package: Package, case: Case, *, points: int = 0, limit: float = TIME_LIMIT) -> dict[str, Any]:
    """One fresh process; what it told before it ended or the limit struck."""
    job = json.dumps({"package": package.name, "case": case.to_dict(), "points": points})
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.worker"]
    try:
        ran = subprocess.run(  # noqa: S603
            command, input=job, capture_output=True, text=True, cwd=ROOT, timeout=limit + STARTING, check=False
        )
        told, ending = ran.stdout, f"ended with {ran.returncode}"
    except subprocess.TimeoutExpired as late:
        told, ending = (late.stdout or b"").decode(), f"> {limit:g} s"
    found: dict[str, Any] = {}
    for line in told.splitlines():
        found |= json.loads(line)
    return found if "first" in found else {"failure": found.get("failure", ending)}


def repeats(case: Case) -> int:
    """How many fresh processes."""
    return MANY if case.title in CAREFUL else FEW


def best(package: Package, case: Case, found: list[dict[str, Any]], points: int = 0) -> Row:
    """The shortest of the times, the most of the memory, and the answer of the first."""
    about = {"case": case.name, "delta": case.delta, "package": package.name, "points": points, "runs": len(found)}
    if not found:
        return Row(**about, status="no such noise")
    failures = [each["failure"] for each in found if "first" not in each]
    if failures:
        return Row(**about, status=failures[0])
    lower, value, upper = found[0]["answer"]
    seconds = [each["second"] for each in found if "second" in each]
    return Row(
        **about,
        status="" if points or value is not None else "infinite",
        lower=lower,
        value=value,
        upper=upper,
        first=min(each["first"] for each in found),
        second=min(seconds, default=None),
        memory=max(each["memory"] for each in found),
        peak=max(each["peak"] for each in found),
    )


def measure(packages: Iterable[Package], case: Case, *, points: int = 0, runs: int | None = None) -> list[Row]:
    """A row for each package, in turns, so that a busy moment of the machine meets all of them."""
    found: dict[Package, list[dict[str, Any]]] = {each: [] for each in packages}
    for _ in range(runs or repeats(case)):
        for package, so_far in found.items():
            if package.describes(case) and (not so_far or so_far[-1].get("first", LONG_ENOUGH) < LONG_ENOUGH):
                so_far.append(once(package, case, points=points))
    return [best(package, case, so_far, points) for package, so_far in found.items()]
