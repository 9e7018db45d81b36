"""Whole curves: expansions as n grows, against the plain loop; the reference that took the paper hours.

Each is a case, the number of alphas and the package that answers; the delta of these cases is not read.
"""

from __future__ import annotations

from benchmarks.cases import HEADLINE, Case, paper, sgd
from benchmarks.packages import BY_NAME, OURS, PLAIN_LOOP, RECURSION, Package

ALPHAS, FEW_ALPHAS = 1000, 99
GROWING = tuple(sgd(1.0, "0.1", steps, 1e-5) for steps in (10**3, 10**6, 10**9))
LARGEST = paper(500, 1e-5)  # took the authors' recursion 14212 seconds

CURVES: tuple[tuple[Package, Case, int], ...] = (
    (PLAIN_LOOP, GROWING[0], ALPHAS),
    *((BY_NAME["edgeworth 2"], case, ALPHAS) for case in GROWING),
    (RECURSION, LARGEST, FEW_ALPHAS),
    (OURS, LARGEST, FEW_ALPHAS),
    (OURS, HEADLINE, ALPHAS),
)
