"""One calibration: which way the family goes, a guess, and the certified search from there."""

from __future__ import annotations

import math
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.calibration.calibrated import Calibrated
from edgeworth.calibration.search import Search, Shape
from edgeworth.errors import ComputationFailed, EdgeworthError, TooLarge, Unsupported
from edgeworth.losses import TotalLoss

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from edgeworth.account import Account
    from edgeworth.calibration.families import Family, Parameter
    from edgeworth.calibration.targets import Target
    from edgeworth.mechanisms import Mechanism

__all__ = ["Calibration"]

_RANGE = math.log(1e18)
_GUESSED = 1e-3  # how well an estimate is solved before the certified search starts
_KEPT = 0.8  # of the tolerance for the search; the rest is for bounds that give something away
_ADJACENT = 1e-18  # between whole numbers there is no tolerance
_PROBES = (4.0, 0.25, 64.0, 1 / 64, 4096.0, 1 / 4096, 1e6, 1e-6, 1e9, 1e-9, 1e12, 1e-12)
_ENOUGH = 2  # probes that show a difference: the larger one tells which way it goes
_MOST_MOVES, _LEAST_MOVE = 60, 1e-15
_MOST_HALVINGS = 8  # on the way back from a mechanism whose loss has too many values to be written down


class Calibration:
    """One run: the way the family goes, a guess, and the certified search from there."""

    def __init__(self, family: Family, targets: tuple[Target, ...], tolerance: float) -> None:
        self.family, self.targets, self.tolerance = family, targets, tolerance
        self.sign = 1.0
        self.parameter: dict[float, Parameter] = {}  # of a place: exp(log x) is not x
        self.best: tuple[float, Account | None] | None = None  # the account is None where none was needed
        self.estimates: dict[Parameter, float] = {}
        self.evaluations = 0
        self.failure: EdgeworthError | None = None

    def run(self) -> Calibrated:
        """The parameter, or an error that says what can be reached."""
        if any(target.is_perfect for target in self.targets):
            return self._perfect()
        self.sign = self._direction()
        start, low, high, shape = self._guessed()
        certified = self._search(self._certified, low, high, shape)
        certified.run(start)
        if math.isinf(certified.good):
            return self._none_left(certified)
        return self._checked(certified)

    # --- places -------------------------------------------------------------------------------------------

    def place(self, x: Parameter) -> float:
        """The place of a parameter: larger is more private."""
        v = self.sign * math.log(x)
        self.parameter[v] = x
        return v

    def x(self, v: float) -> Parameter:
        """The parameter at a place."""
        if v not in self.parameter:
            self.parameter[v] = self.family.rounded(math.exp(self.sign * v))
        return self.parameter[v]

    def snap(self, v: float, side: float) -> float:
        """A place that a parameter has: the next whole number on that side, or the place itself moved a hair."""
        if not self.family.integer:
            return v + side
        exact = math.exp(min(self.sign * v, _RANGE))
        up = side * self.sign
        whole = round(exact) if up == 0 else (math.ceil(exact) if up > 0 else math.floor(exact))
        return self.place(max(whole, 1))

    def reach(self, inside: float, place: float) -> float:
        """The place, or the last one before it that the family accepts and whose loss can be written down, about."""
        if self.family.at(self.x(place)) is None:
            place = self.place(self.family.edge(self.x(inside), self.x(place)))
        for _ in range(_MOST_HALVINGS):
            if not self._is_too_large(place):
                return place
            place = self.snap(0.5 * (inside + place), 0.0)
        return inside

    def _is_too_large(self, v: float) -> bool:
        mechanism = self.family.at(self.x(v))
        try:
            TotalLoss.of(mechanism) if mechanism is not None else None
        except TooLarge:
            return True
        return False

    def _search(self, excess: Callable[[float], float], low: float, high: float, shape: Shape) -> Search:
        tolerance = _ADJACENT if self.family.integer else _KEPT * math.log1p(self.tolerance)
        return Search(excess, low, high, tolerance, shape, snap=self.snap, reach=self.reach)

    # --- readings -----------------------------------------------------------------------------------------

    def _estimate(self, x: Parameter) -> float:
        """The worst excess by estimates, remembered; nan where there is none."""
        if x not in self.estimates:
            self.estimates[x] = self._estimated(x)
        return self.estimates[x]

    def _estimated(self, x: Parameter) -> float:
        mechanism = self.family.at(x)
        if mechanism is None:
            return math.nan
        try:
            with np.errstate(all="ignore"):  # a search tries extremes
                return max(target.guess(mechanism) for target in self.targets)
        except (EdgeworthError, ArithmeticError, ValueError):
            return math.nan

    def _guess(self, v: float) -> float:
        y = self._estimate(self.x(v))
        if math.isnan(y):
            raise ComputationFailed(f"no estimate at {self.x(v)!r}")
        return y

    def _certified(self, v: float) -> float:
        return self._measured(v, self.x(v))

    def _measured(self, v: float, x: Parameter) -> float:
        """The worst excess over all targets; what cannot be computed is not certified."""
        mechanism = self.family.at(x)
        if mechanism is None:
            return math.inf
        try:
            worst, found = self._worst(mechanism, x)
        except (ComputationFailed, MemoryError, Unsupported) as failure:
            self.failure = failure if isinstance(failure, EdgeworthError) else None
            return math.inf
        if worst <= 0:
            self._keep(v, found)
        return math.inf if math.isnan(worst) else worst

    def _worst(self, mechanism: Mechanism, x: Parameter) -> tuple[float, Account | None]:
        """The worst excess, and the account that says so; none where the law of the loss told it at once."""
        total = TotalLoss.of(mechanism)
        known = [target.at_once(total) for target in self.targets]
        told = max((y for y in known if y is not None), default=-math.inf)
        if told > 0 or None not in known:
            return told, None
        self.evaluations += 1
        found = self.family.account(x)
        pairs = zip(self.targets, known, strict=True)
        with np.errstate(all="ignore"):  # a search tries extremes; what is not a number there is not certified
            return max(target.excess(found) if y is None else y for target, y in pairs), found

    def _keep(self, v: float, found: Account | None) -> None:
        """Remember the least private place that meets the targets."""
        if self.best is None or v <= self.best[0]:
            self.best = v, found

    # --- phases -------------------------------------------------------------------------------------------

    def _direction(self) -> float:
        """1 if a larger parameter is more private, else -1: by estimates, or by certified readings where they fail.

        For few steps estimates may go up and down: what does not agree with itself is not believed.
        """
        for measure in (self._estimate, lambda x: self._measured(math.inf, x)):
            slopes = list(islice(self._slopes(measure), _ENOUGH))
            disagree = min(slopes, default=0.0) < 0 < max(slopes, default=0.0)
            if slopes and not (disagree and measure == self._estimate):
                return math.copysign(1.0, -max(filter(math.isfinite, slopes), key=abs, default=slopes[0]))
        raise Unsupported(
            f"{self.words} cannot be solved for; at every parameter that was tried the family reaches "
            f"{self._reached(self.place(self.family.start))}"
        )

    def _slopes(self, measure: Callable[[Parameter], float]) -> Iterator[float]:
        """How much more a larger parameter leaks, or a smaller one less, for the probes that show a difference."""
        start = self.family.start
        here = measure(start)
        for factor in _PROBES:
            x = self.family.rounded(start * factor)
            if x == start or self.family.at(x) is None:
                continue
            there = measure(x)
            if there != here and not math.isnan(there) and not math.isnan(here):
                yield there - here if x > start else here - there

    def _guessed(self) -> tuple[float, float, float, Shape]:
        """Where the estimate meets the target, how far the family reaches, and the shape of the excess."""
        start = self.place(self.family.start)
        low, high = (
            self.place(1) if self.family.integer and way == self.sign else -way * _RANGE for way in (1.0, -1.0)
        )
        search = self._search(self._guess, low, high, Shape())
        search.tolerance = max(search.tolerance, _GUESSED)
        try:
            search.run(start)
        except ComputationFailed:
            return start, low, high, Shape()
        root = search.predicted()
        _, _, shape = search.parabola()
        if not math.isfinite(root) or not search.low <= root <= search.high:
            root = search.good if math.isfinite(search.good) else search.bad
        if not (math.isfinite(shape.slope) and shape.slope < 0 and math.isfinite(shape.bend)):
            shape = Shape()
        return self.snap(root, 0.0), search.low, search.high, shape

    def _checked(self, search: Search) -> Calibrated:
        """The good end, read once more in the words of the targets; moved on where rounding makes the difference."""
        assert self.best is not None
        v, found = self.best
        missed = self.x(search.bad) if math.isfinite(search.bad) else None
        if missed is None and search.low <= -_RANGE:
            raise Unsupported(
                f"{self.words} is met by every parameter that was tried; it sets no limit, so give a harder target"
            )
        for _ in range(_MOST_MOVES):
            answer = self._answer(self.x(v), found or self.family.account(self.x(v)), missed)
            if answer is not None:
                return answer
            v = self.reach(v, self.snap(v + max(search.tolerance, _LEAST_MOVE), search.tolerance))
            found = self.family.account(self.x(v))
            self.evaluations += 1
        raise ComputationFailed(f"{self.words}: no reading keeps to the target near {self.x(v)!r}")

    def _answer(self, x: Parameter, found: Account, missed: Parameter | None) -> Calibrated | None:
        """The answer at x, or None if a reading does not keep to its target."""
        achieved = {target.name: target.reading(found) for target in self.targets}
        if not all(target.met_by(achieved[target.name]) for target in self.targets):
            return None
        readings = MappingProxyType(achieved)
        return Calibrated(x, found.mechanism, found, self.targets, readings, missed, self.evaluations)

    def _perfect(self) -> Calibrated:
        """No steps at all, where that is a member of the family; otherwise there is nothing to look for."""
        answer = self._nothing()
        if answer is not None:
            return answer
        raise Unsupported(
            f"{self.words} is perfect privacy, which only a mechanism that releases nothing has; "
            f"at {self.family.start:g} this family reaches {self._reached(self.place(self.family.start))}"
        )

    def _nothing(self) -> Calibrated | None:
        """The answer 0, where that is a member of the family and meets the targets."""
        if not self.family.integer or self.family.at(0) is None:
            return None
        return self._answer(0, self.family.account(0), 1)

    def _none_left(self, search: Search) -> Calibrated:
        """No steps at all, where that is a member of the family; otherwise the reason, with what can be reached."""
        x = self.x(search.bad)
        answer = self._nothing() if self.sign < 0 and x == 1 else None
        if answer is not None:
            return answer
        readable = [v for v, y in search.readings.items() if math.isfinite(y)]
        if self.failure is not None and not readable:
            raise Unsupported(f"{self.words} could not be certified up to parameter {x:.6g}: {self.failure}")
        farthest = max(readable, default=search.bad)
        raise Unsupported(
            f"{self.words} cannot be met by this family; at its most private end that could be read, "
            f"{self.x(farthest):.6g}, it reaches {self._reached(farthest)}"
        )

    def _reached(self, v: float) -> str:
        found = self.family.account(self.x(v))
        return ", ".join(f"{target.name} {target.reading(found)}" for target in self.targets)

    @property
    def words(self) -> str:
        """The targets as text."""
        return " and ".join(map(str, self.targets))
