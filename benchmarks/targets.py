"""What is promised of speed, memory and width, and whether the run kept it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks import calibration
from benchmarks.cases import CASES, HEADLINE, LONG, LONG_AS_SHORT, MANY_PHASES
from benchmarks.expansions import ALPHAS
from benchmarks.packages import OURS, PEERS, PLD, RDP
from benchmarks.processes import TIME_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from benchmarks.measure import Row
    from benchmarks.results import Results

TIGHT = tuple(peer for peer in PEERS if peer.tight)


@dataclass(frozen=True)
class Target:
    """A number, and the bound it must keep."""

    what: str
    measured: float
    bound: float
    at_least: bool

    @property
    def met(self) -> bool:
        """Whether the bound is kept, to the two digits that a noisy machine gives."""
        rounded = float(f"{self.measured:.2g}")
        return rounded >= self.bound if self.at_least else rounded <= self.bound

    @property
    def promise(self) -> str:
        """The bound in words."""
        return f"at {'least' if self.at_least else 'most'} {self.bound:g}"


def seconds(row: Row | None) -> float | None:
    """The first reading; the limit where it was struck, which the truth exceeds."""
    if row is None:
        return None
    return TIME_LIMIT if row.status == f"> {TIME_LIMIT:g} s" else row.first


def quickest(rows: Iterable[Row | None]) -> float | None:
    """The shortest first reading of those that answered."""
    return min((spent for spent in map(seconds, rows) if spent is not None), default=None)


def _ratios(results: Results) -> Iterator[tuple[str, float | None, float | None, float, bool]]:
    headline = results.find(HEADLINE, OURS)
    ours, again = seconds(headline), headline and headline.second
    tight = quickest(results.find(HEADLINE, peer) for peer in TIGHT)
    anyone = quickest(results.find(HEADLINE, peer) for peer in PEERS)
    curve = seconds(results.find(HEADLINE, OURS, points=ALPHAS))
    many = [seconds(results.find(MANY_PHASES, package)) for package in (PLD, OURS)]
    growth = [seconds(results.find(case, OURS)) for case in (LONG, LONG_AS_SHORT)]
    yield f"{HEADLINE.title}: fastest tight peer / edgeworth", tight, ours, 50, True
    yield f"{HEADLINE.title}: Opacus RDP / edgeworth", seconds(results.find(HEADLINE, RDP)), ours, 1, True
    yield "the same: fastest tight peer / second reading of edgeworth", tight, again, 100, True
    yield "the same: fastest peer of all / second reading of edgeworth", anyone, again, 100, True
    yield f"the same: {ALPHAS} certified points of f / one epsilon", curve, ours, 10, False
    yield f"{MANY_PHASES.title}: dp-accounting PLD / edgeworth", *many, 50, True
    for peer in (calibration.PLD, calibration.PRV):
        found = [results.calibration(name) for name in (peer, calibration.OURS)]
        yield f"noise multiplier from its target: {peer} / edgeworth", *(row and row.seconds for row in found), 50, True
    yield "edgeworth, n = 1e8 with rate 1e-4 / n = 1e4 with rate 0.01, delta 1e-09", *growth, 1, False


def _extremes(results: Results) -> Iterator[tuple[str, float | None, float]]:
    asked = list(results.of(OURS))
    rows = [row for row in asked if not row.status]
    if asked:
        yield "edgeworth, all cases: cases without an answer", len(asked) - len(rows), 0
    yield (
        "edgeworth, all cases: most memory beyond the imports, MB",
        max((row.memory for row in rows), default=None),
        300,
    )
    yield "edgeworth, all cases: longest first reading, s", max(filter(None, map(seconds, asked)), default=None), 10
    for bound in sorted({case.promised_width for case in CASES}):
        promised = {case.title for case in CASES if case.promised_width == bound}
        widths = [(row.upper - row.lower) / row.value for row in rows if row.title in promised]
        yield f"edgeworth, cases promised {bound:g}: widest relative bracket", max(widths, default=None), bound


def targets(results: Results) -> list[Target]:
    """Every promise that the rows are enough to judge."""
    found = [
        Target(what, above / below, bound, at_least)
        for what, above, below, bound, at_least in _ratios(results)
        if above is not None and below is not None
    ]
    found += [
        Target(what, measured, bound, at_least=False)
        for what, measured, bound in _extremes(results)
        if measured is not None
    ]
    return found
