"""Every package behind the same two calls: `compose` builds its accountant for a case, `epsilon` reads it.

A reader imports its package when it is made, so that one process holds one package and imports stay out of the
timings. An answer is (lower, value, upper), with None for an end that the package does not claim.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.cases import Case

    Answer = tuple[float | None, float, float | None]


class Reader(Protocol):
    """A package, imported."""

    def compose(self, case: Case) -> None:
        """Build the accountant of the case."""

    def epsilon(self, delta: float) -> Answer:
        """Read it."""


class Edgeworth:
    """This package, by any of its methods."""

    def __init__(self, method: str = "auto", degree: int = 2) -> None:
        import edgeworth  # noqa: PLC0415

        self.package, self.method, self.degree = edgeworth, method, degree

    def compose(self, case: Case) -> None:
        """All phases as one mechanism."""
        ew = self.package
        steps = []
        for phase in case.phases:
            noise = {"Gaussian": ew.Gaussian, "Laplace": ew.Laplace}[phase.noise](phase.multiplier)
            step = noise if phase.rate == 1 else ew.PoissonSampled(noise, phase.rate)
            steps.append(step**phase.steps)
        self.account = ew.account(ew.Composed(steps), method=self.method, degree=self.degree)

    def epsilon(self, delta: float) -> Answer:
        """Both ends if they are certified."""
        found = self.account.epsilon(delta)
        return (found.lower, found.value, found.upper) if found.certified else (None, found.value, None)

    def tradeoff(self, alphas: Sequence[float]) -> list[float]:
        """The certified lower end of f at every alpha, or the estimate."""
        found = self.account.tradeoff(alphas)
        return (found.lower if found.certified else found.value).tolist()


class PLD:
    """dp-accounting: a privacy loss distribution on a grid of 1e-4, rounded up."""

    def __init__(self) -> None:
        import dp_accounting  # noqa: PLC0415
        from dp_accounting.pld import PLDAccountant  # noqa: PLC0415

        self.events, self.Accountant = dp_accounting, PLDAccountant

    def compose(self, case: Case) -> None:
        """One event a phase, repeated."""
        events = self.events
        self.account = self.Accountant()
        for phase in case.phases:
            noise = {"Gaussian": events.GaussianDpEvent, "Laplace": events.LaplaceDpEvent}[phase.noise]
            step = noise(phase.multiplier)
            if phase.rate < 1:
                step = events.PoissonSampledDpEvent(phase.rate, step)
            self.account.compose(step, phase.steps)

    def epsilon(self, delta: float) -> Answer:
        """An upper end."""
        found = float(self.account.get_epsilon(delta))
        return None, found, found


class PRV:
    """prv-accountant, with the errors that its documentation proposes."""

    def __init__(self) -> None:
        import prv_accountant  # noqa: PLC0415

        self.package = prv_accountant

    def compose(self, case: Case) -> None:
        """One random variable a phase; the grid depends on the delta that will be asked for."""
        package = self.package
        laws = []
        for phase in case.phases:
            if phase.noise == "Laplace":
                laws.append(package.LaplaceMechanism(mu=1 / phase.multiplier))
            elif phase.rate == 1:
                laws.append(package.GaussianMechanism(noise_multiplier=phase.multiplier))
            else:
                law = package.PoissonSubsampledGaussianMechanism
                laws.append(law(noise_multiplier=phase.multiplier, sampling_probability=phase.rate))
        self.steps = [phase.steps for phase in case.phases]
        self.account = package.PRVAccountant(
            prvs=laws, max_self_compositions=self.steps, eps_error=0.1, delta_error=case.delta / 1000
        )

    def epsilon(self, delta: float) -> Answer:
        """Both ends and an estimate."""
        lower, value, upper = self.account.compute_epsilon(delta, self.steps)
        return float(lower), float(value), float(upper)


class Opacus:
    """An accountant of Opacus. Its history is set at once: one call a step would only add to its time."""

    def __init__(self, accountant: str) -> None:
        import opacus.accountants  # noqa: PLC0415

        self.Accountant = getattr(opacus.accountants, accountant)

    def compose(self, case: Case) -> None:
        """One entry of the history a phase."""
        self.account = self.Accountant()
        self.account.history = [(phase.multiplier, phase.rate, phase.steps) for phase in case.phases]

    def epsilon(self, delta: float) -> Answer:
        """An upper end."""
        found = float(self.account.get_epsilon(delta))
        return None, found, found


class PlainLoop:
    """The degree-2 expansion as one would first write it."""

    def __init__(self) -> None:
        from benchmarks import plain_loop  # noqa: PLC0415

        self.module = plain_loop

    def compose(self, case: Case) -> None:
        """The only phase."""
        (self.phase,) = case.phases

    def tradeoff(self, alphas: Sequence[float]) -> list[float]:
        """The expansion at every alpha."""
        return self.module.tradeoff(self.phase.multiplier, self.phase.rate, self.phase.steps, alphas)
