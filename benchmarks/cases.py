"""What is accounted for: runs described by plain numbers, so that every package can be given the same."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any, Self

DELTAS = (1e-5, 1e-8, 1e-10, 1e-12)
PAPER_STEPS = (1, 10, 50, 100, 200, 500)
LAPLACE_STEPS = (1, 2, 5, 10)


@dataclass(frozen=True)
class Phase:
    """The same step many times: noise of a scale relative to the sensitivity, on a Poisson sample of the records."""

    noise: str
    multiplier: float
    steps: int
    rate: float = 1.0


@dataclass(frozen=True)
class Case:
    """One question: epsilon at delta after all phases."""

    name: str
    phases: tuple[Phase, ...]
    delta: float
    shown: bool = True  # in the README, whose table would be too long with all of them

    @property
    def title(self) -> str:
        """The name and the delta."""
        return f"{self.name}, delta {self.delta:.0e}"

    @property
    def second_delta(self) -> float:
        """Where the second reading is taken."""
        return 2 * self.delta

    @property
    def promised_width(self) -> float:
        """The relative width that a certified epsilon must have by default.

        1e-9; 1e-6 for samples with fewer than 50 steps, or with steps * rate^2 below 1e-3.
        """
        sampled = [phase for phase in self.phases if phase.rate < 1]
        few = sampled and sum(phase.steps for phase in sampled) < 50
        rare = sampled and sum(phase.steps * phase.rate**2 for phase in sampled) < 1e-3
        return 1e-6 if few or rare else 1e-9

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Self:
        """What `to_dict` wrote."""
        return cls(**{**plain, "phases": tuple(Phase(**phase) for phase in plain["phases"])})


def gaussian(sigma: float, steps: int, delta: float, *, shown: bool = True) -> Case:
    """Gaussian noise on all records."""
    return Case(f"Gaussian {sigma:g}, n {steps}", (Phase("Gaussian", sigma, steps),), delta, shown)


def sgd(sigma: float, rate: str, steps: int, delta: float, *, shown: bool = True) -> Case:
    """Noisy SGD; the rate is a number or a quotient."""
    above, _, below = rate.partition("/")
    phase = Phase("Gaussian", sigma, steps, float(above) / float(below or 1))
    return Case(f"SGD {sigma:g}, {rate}, n {steps}", (phase,), delta, shown)


def paper(steps: int, delta: float) -> Case:
    """The paper's noisy SGD."""
    phase = Phase("Gaussian", 1.0, steps, 0.5 / steps**0.25)
    return Case(f"SGD 1, 0.5/n^(1/4), n {steps}", (phase,), delta, steps in {1, 10, 100, 500})


def laplace(steps: int, delta: float) -> Case:
    """The paper's Laplace noise of scale 1 with sensitivity 3 / sqrt(n)."""
    return Case(f"Laplace 3/sqrt(n), n {steps}", (Phase("Laplace", sqrt(steps) / 3, steps),), delta)


def phases(count: int, delta: float) -> Case:
    """Different phases of 50 steps, noise 0.8 to 2 and rate 0.001 to 0.05, both in equal steps."""
    parts = [index / (count - 1) for index in range(count)]
    mix = tuple(Phase("Gaussian", 0.8 + 1.2 * part, 50, 0.001 + 0.049 * part) for part in parts)
    return Case(f"{count} phases of 50 steps", mix, delta)


HEADLINE = sgd(0.8, "256/50000", 5000, 1e-5)
MANY_PHASES = phases(200, 1e-6)
LONG = sgd(1.0, "1e-4", 10**8, 1e-9)
LONG_AS_SHORT = sgd(1.0, "0.01", 10**4, 1e-9, shown=False)  # the same steps * rate^2 as LONG

CASES: tuple[Case, ...] = (
    *(gaussian(1.0, 1, delta, shown=delta == 1e-5) for delta in DELTAS),
    *(gaussian(20.0, 1000, delta, shown=delta == 1e-5) for delta in DELTAS),
    *(
        sgd(sigma, rate, steps, delta, shown=delta in {1e-5, 1e-12})
        for sigma, rate, steps in (
            (0.8, "256/50000", 1000),
            (0.8, "256/50000", 5000),
            (0.8, "256/50000", 20_000),
            (1.0, "0.01", 10_000),
        )
        for delta in DELTAS
    ),
    *(paper(steps, 1e-5) for steps in PAPER_STEPS),
    *(laplace(steps, 1e-5) for steps in LAPLACE_STEPS),
    MANY_PHASES,
    sgd(0.6, "0.001", 10**6, 1e-6),
    LONG,
)
ESTIMATED_TOO: tuple[Case, ...] = (  # where the estimates are at their best and at their worst
    sgd(50.0, "0.001", 1000, 1e-6),
    Case("SGD 0.7, 0.004, n 3000 and Laplace", (Phase("Gaussian", 0.7, 3000, 0.004), Phase("Laplace", 1.0, 1)), 1e-5),
)
