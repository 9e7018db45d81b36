"""Cold measurements, each in a process of its own, with a time limit; of several, the one least disturbed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.cases import HEADLINE, LONG, LONG_AS_SHORT, MANY_PHASES, Case
from benchmarks.packages import ESTIMATES
from benchmarks.processes import CAN_FORK, Found, Hosts, fresh

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.packages import Package

FEW, MANY = 2, 12  # processes for a time, and for a short one whose ratio is promised
LONG_ENOUGH = 5.0  # seconds; what takes longer is not repeated, since noise is small beside it
CAREFUL = frozenset(case.title for case in (HEADLINE, LONG, LONG_AS_SHORT))  # short ones
PROMISED = CAREFUL | {MANY_PHASES.title}  # ratios of these are promised: their processes are fresh


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
    forked: bool = False  # by a host after the imports, rather than fresh

    @property
    def title(self) -> str:
        """The case and its delta."""
        return f"{self.case}, delta {self.delta:.0e}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)


def repeats(package: Package, case: Case) -> int:
    """How many processes; no ratio of an estimate is promised."""
    return MANY if case.title in CAREFUL and package not in ESTIMATES else FEW


def best(package: Package, case: Case, found: list[Found], points: int = 0, *, forked: bool = False) -> Row:
    """The shortest of the times, the most of the memory, and the answer of the first."""
    about = {"case": case.name, "delta": case.delta, "package": package.name, "points": points}
    about |= {"runs": len(found), "forked": forked}
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


def measure(
    packages: Iterable[Package], case: Case, hosts: Hosts, *, points: int = 0, runs: int | None = None
) -> list[Row]:
    """A row for each package, in turns, so that a busy moment of the machine meets all of them."""
    forked = CAN_FORK and case.title not in PROMISED
    ask = hosts.forked if forked else fresh
    found: dict[Package, list[Found]] = {each: [] for each in packages}
    for turn in range(runs or MANY):
        for package, so_far in found.items():
            wanted = package.describes(case) and turn < (runs or repeats(package, case))
            if wanted and (not so_far or so_far[-1].get("first", LONG_ENOUGH) < LONG_ENOUGH):
                so_far.append(ask(package, case, points=points))
    return [best(package, case, so_far, points, forked=forked) for package, so_far in found.items()]
