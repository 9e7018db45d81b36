"""The answer of a calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeworth.account import Account
    from edgeworth.calibration.families import Parameter
    from edgeworth.calibration.targets import Target
    from edgeworth.curves import Bracket
    from edgeworth.mechanisms import Mechanism

__all__ = ["Calibrated"]


@dataclass(frozen=True, eq=False, repr=False)
class Calibrated:
    """The parameter that meets a target, with the mechanism it stands for and what is certified about it."""

    value: Parameter
    mechanism: Mechanism
    account: Account
    targets: tuple[Target, ...]
    achieved: Mapping[str, Bracket]
    """The certified readings by name: epsilon, mu, tpr, advantage, tradeoff. No upper end is above its target."""
    missed_at: Parameter | None = None
    """The nearest less private parameter, at which the target is not certified; None at the end of the family."""
    evaluations: int = 0
    """How many accounts were certified on the way."""

    @property
    def target(self) -> str:
        """What was asked for, in words."""
        return " and ".join(map(str, self.targets))

    def __repr__(self) -> str:
        return f"Calibrated({self})"

    def __str__(self) -> str:
        readings = ", ".join(f"{name} {found}" for name, found in self.achieved.items())
        return f"{self.value:.10g} achieves {readings}; asked for: {self.target}"
