"""One calibration: which way the family goes, a guess, and the certified search from there."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING

from edgeworth.account import Account, account
from edgeworth.calibration.calibrated import Calibrated
from edgeworth.calibration.search import Search, Shape
from edgeworth.errors import ComputationFailed, EdgeworthError, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.calibration.families import Family, Parameter
    from edgeworth.calibration.targets import Target
    from edgeworth.mechanisms import Mechanism

__all__ = ["Calibration"]

_RANGE = math.log(1e18)
_GUESSED = 1e-3  # how well an estimate is solved before the certified search starts
_ADJACENT = 1e-18  # between whole numbers there is no tolerance
_PROBES = (4.0, 0.25, 64.0, 1 / 64, 4096.0, 1 / 4096, 1e6, 1e-6, 1e9, 1e-9, 1e12, 1e-12)
_MOST_MOVES, _LEAST_MOVE = 60, 1e-15


class Calibration:
    """One run: the way the family goes, a guess, and the certified search from there."""

    def __init__(self, family: Family, targets: tuple[Target, ...], tolerance: float) -> None:
        self.family, self.targets, self.tolerance = family, targets, tolerance
        self.sign = 1.0
        self.parameter: dict[float, Parameter] = {}  # of a place: exp(log x) is not x
        self.best: tuple[float, Account] | None = None
        self.evaluations = 0
        self.failure: EdgeworthError | None = None

    def run(self) -> Calibrated:
        """The parameter, or an error that says what can be reached."""
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
        """The place, or the last one before it that the family accepts."""
        if self.family.at(self.x(place)) is not None:
            return place
        return self.place(self.family.edge(self.x(inside), self.x(place)))

    def _search(self, excess: Callable[[float], float], low: float, high: float, shape: Shape) -> Search:
        tolerance = _ADJACENT if self.family.integer else math.log1p(self.tolerance)
        return Search(excess, low, high, tolerance, shape, snap=self.snap, reach=self.reach)

    # --- readings -----------------------------------------------------------------------------------------

    def _estimate(self, x: Parameter) -> float:
        mechanism = self.family.at(x)
        if mechanism is None:
            return math.nan
        try:
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
        self.evaluations += 1
        try:
            found = account(mechanism)
            worst = max(target.excess(found) for target in self.targets)
        except (ComputationFailed, MemoryError, Unsupported) as failure:
            self.failure = failure if isinstance(failure, EdgeworthError) else None
            return math.inf
        if worst <= 0 and (self.best is None or v <= self.best[0]):
            self.best = v, found
        return math.inf if math.isnan(worst) else worst

    # --- phases -------------------------------------------------------------------------------------------

    def _direction(self) -> float:
        """1 if a larger parameter is more private, else -1: by estimates, or by certified readings where they fail."""
        for measure in (self._estimate, lambda x: self._measured(math.inf, x)):
            start = self.family.start
            here = measure(start)
            for factor in _PROBES:
                x = self.family.rounded(start * factor)
                if x == start or self.family.at(x) is None:
                    continue
                there = measure(x)
                if there != here and not math.isnan(there) and not math.isnan(here):
                    return 1.0 if (there < here) == (x > start) else -1.0
        raise Unsupported(
            f"{self.words} cannot be solved for; at every parameter that was tried the family reaches "
            f"{self._reached(self.place(self.family.start))}"
        )

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
            answer = self._answer(self.x(v), found, missed)
            if answer is not None:
                return answer
            v = self.reach(v, self.snap(v + max(search.tolerance, _LEAST_MOVE), search.tolerance))
            found = account(self._member(v))
            self.evaluations += 1
        raise ComputationFailed(f"{self.words}: no reading keeps to the target near {self.x(v)!r}")

    def _answer(self, x: Parameter, found: Account, missed: Parameter | None) -> Calibrated | None:
        """The answer at x, or None if a reading does not keep to its target."""
        achieved = {target.name: target.reading(found) for target in self.targets}
        if not all(target.met_by(achieved[target.name]) for target in self.targets):
            return None
        readings = MappingProxyType(achieved)
        return Calibrated(x, found.mechanism, found, self.targets, readings, missed, self.evaluations)

    def _none_left(self, search: Search) -> Calibrated:
        """No steps at all, where that is a member of the family; otherwise the reason, with what can be reached."""
        x, nothing = self.x(search.bad), self.family.at(0) if self.family.integer and self.sign < 0 else None
        if x == 1 and nothing is not None:
            answer = self._answer(0, account(nothing), 1)
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

    def _member(self, v: float) -> Mechanism:
        mechanism = self.family.at(self.x(v))
        assert mechanism is not None
        return mechanism

    def _reached(self, v: float) -> str:
        found = account(self._member(v))
        return ", ".join(f"{target.name} {target.reading(found)}" for target in self.targets)

    @property
    def words(self) -> str:
        """The targets as text."""
        return " and ".join(map(str, self.targets))
