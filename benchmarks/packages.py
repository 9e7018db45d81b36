"""Who takes part: each package with its version, what it claims and the settings it is run at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from benchmarks import readers

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.cases import Case


@dataclass(frozen=True)
class Package:
    """A way to get an answer."""

    name: str
    distribution: str  # its name for pip
    settings: str
    load: Callable[[], readers.Reader]  # imports it
    tight: bool = True  # whether it computes the composition itself and not a bound of it
    noises: tuple[str, ...] = ("Gaussian", "Laplace")

    def describes(self, case: Case) -> bool:
        """Whether the case can be put to this package at all."""
        return all(phase.noise in self.noises for phase in case.phases)


def _ours(name: str, method: str, degree: int = 2) -> Package:
    return Package(name, "edgeworth", f'method="{method}"', partial(readers.Edgeworth, method, degree))


OURS = _ours("edgeworth", "auto")
PLD = Package("dp-accounting PLD", "dp-accounting", "grid of 1e-4, the default", readers.PLD)
RDP = Package(
    "Opacus RDP",
    "opacus",
    "default orders",
    partial(readers.Opacus, "RDPAccountant"),
    tight=False,
    noises=("Gaussian",),
)
PEERS = (
    PLD,
    Package("prv-accountant", "prv-accountant", "eps_error 0.1, delta_error delta/1000, as it documents", readers.PRV),
    Package(
        "Opacus PRV",
        "opacus",
        "eps_error 0.01, delta_error delta/1000, the defaults",
        partial(readers.Opacus, "PRVAccountant"),
        noises=("Gaussian",),
    ),
    RDP,
)
ESTIMATES = (
    _ours("clt", "clt", 0),
    _ours("edgeworth 2", "edgeworth", 2),
    _ours("edgeworth 4", "edgeworth", 4),
    _ours("saddlepoint 2", "saddlepoint", 2),
)
RECURSION = _ours("recursion", "recursion")
PLAIN_LOOP = Package("plain loop", "edgeworth", "a root finder for every alpha", readers.PlainLoop)

BY_NAME = {each.name: each for each in (OURS, *PEERS, *ESTIMATES, RECURSION, PLAIN_LOOP)}
