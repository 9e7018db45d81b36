"""Where samples are split, so that runs without a jump can be left out of a reading that they hardly ever reach.

Between two heaps of a law, or next to where all that cannot jump ends, no tilt makes a reading much of the law: most of
it is runs without a jump, and round-off is relative to them. Everything that is chosen here decides only the width.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeworth.composition.lattice.jump_line import log_rest
from edgeworth.composition.lattice.masses import masses
from edgeworth.composition.lattice.plan import STEEPEST, least_tilt, nats_of_reading, steepest_tilt, tilt_of, within
from edgeworth.composition.log_sums import log_sum
from edgeworth.losses import SampledLoss

if TYPE_CHECKING:
    from edgeworth.composition.lattice.plan import Plan
    from edgeworth.losses.law import Array

__all__ = ["split"]

_CUTS = np.geomspace(1e-5, 1.0, 80)  # of the threshold
_TILTS = 1 + 1.6 ** np.arange(-8.0, 28.0)
_REST = 1e-9  # of the reading: what runs without a jump may add


class _Nodes(NamedTuple):
    """A step within its range, by some thousand masses in order; whether it jumps, and how often it runs."""

    place: Array
    log_mass: Array
    jumps: bool
    n: int

    def below(self, c: float, cut: float) -> tuple[float, float]:
        """K(c) of what is below the cut, and of what is above."""
        terms = c * self.place + self.log_mass
        at = int(np.searchsorted(self.place, cut, side="right")) if self.jumps else terms.size
        return (log_sum(terms[:at]) if at else -math.inf), (log_sum(terms[at:]) if at < terms.size else -math.inf)


def split(plan: Plan) -> Plan | None:
    """The plan for runs with a jump alone; None where there are none, or those without one add too much."""
    goal = plan.goal
    if goal.kind != "delta" or not (goal.least > 0 and goal.reading > 0):
        return None
    nodes = [_nodes(plan, number) for number in range(len(plan.parts))]
    cut = _cut(nodes, goal.least, math.log(_REST * goal.reading))
    if cut is None:
        return None

    def k(c: float) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            found = log_rest([(*one.below(c, cut), one.n) for one in nodes])
        return found if math.isfinite(found) else math.inf  # so steep a tilt is none

    t = 0.5 * (goal.least + goal.greatest)
    reach = least_tilt(plan.parts, plan.spread, t), steepest_tilt(plan.parts, plan.spread, "steeply")
    tilt = tilt_of(k, goal.kind, t, plan.spread, reach)
    with np.errstate(divide="ignore", invalid="ignore"):  # where k is no number, neither are they
        low, high = within(k, tilt, plan.spread, nats_of_reading(k, tilt, goal))
    low, high = min(low, goal.least), max(high, goal.greatest)
    return replace(plan, tilt=tilt, window=(low, high), cut=cut) if -math.inf < low < high < math.inf else None


def _nodes(plan: Plan, number: int) -> _Nodes:
    (loss, n), reach = plan.parts[number], plan.reach[number]
    made = masses(loss, reach, STEEPEST / (reach[1] - reach[0]) if reach[1] > reach[0] else 0.0, 0.0)
    order = np.argsort(made.place)
    return _Nodes(made.place[order], made.log_mass[order], isinstance(loss, SampledLoss), n)


def _cut(nodes: list[_Nodes], t: float, most: float) -> float | None:
    """The largest of some cuts at which runs without a jump add no more than e^most to delta at t."""
    cuts = t * _CUTS
    best = np.full(cuts.size, math.inf)
    for c in _TILTS:
        logs = np.full(cuts.size, (1 - c) * t)
        for one in nodes:
            terms = c * one.place + one.log_mass
            if one.jumps:
                held = np.append(-math.inf, np.logaddexp.accumulate(terms))
                logs = logs + one.n * held[np.searchsorted(one.place, cuts, side="right")]
            else:
                logs = logs + one.n * log_sum(terms)
        best = np.minimum(best, logs)
    above = [any(one.jumps and one.place[0] <= cut < one.place[-1] for one in nodes) for cut in cuts]
    (good,) = np.nonzero((best <= most) & np.array(above))
    return float(cuts[good[-1]]) if good.size else None
