"""Every method on one mechanism, side by side: the question users ask first when accountants disagree."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from edgeworth import validation
from edgeworth.account import Account, account
from edgeworth.composition import METHODS
from edgeworth.errors import EdgeworthError, InvalidArgument
from edgeworth.mechanisms import to_json
from edgeworth.report.digits import jsonable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from edgeworth.curves import Bracket
    from edgeworth.mechanisms import Mechanism

    Progress = Callable[[str, int, int], None]

__all__ = ["FORMAT", "MethodAnswer", "MethodsTable"]

FORMAT, VERSION = "edgeworth-comparison", 1

#: the methods that take a degree, with the degrees shown unless others are asked for
_EXPANSIONS = {"edgeworth": (2, 4), "cornish-fisher": (2,), "saddlepoint": (2,)}
_ALPHA = 0.01  # the false-alarm rate at which f is shown


@dataclass(frozen=True, eq=False)
class MethodAnswer:
    """What one method says, or the one line with which it refuses; `degree` is None where it has no meaning."""

    name: str
    method: str
    degree: int | None
    account: Account | None = None
    epsilon: Bracket | None = None  # an array, one entry for each delta
    tradeoff: Bracket | None = None
    mu_star: float = math.nan  # its upper end where the account is certified
    milliseconds: float = math.nan  # to compose, and to read epsilon at every delta
    refusal: str | None = None

    @classmethod
    def of(cls, mechanism: Mechanism, method: str, degree: int | None, deltas: tuple[float, ...]) -> Self:
        """Ask one method; whatever it refuses on purpose becomes its answer."""
        name = method if degree is None else f"{method} {degree}"
        started = time.perf_counter()
        try:
            composed = account(mechanism, method=method, degree=2 if degree is None else degree)
            epsilon = composed.epsilon(np.array(deltas))
            milliseconds = 1e3 * (time.perf_counter() - started)
            tradeoff, mu_star = composed.tradeoff(_ALPHA), composed.mu_star
        except EdgeworthError as refused:
            return cls(name, method, degree, refusal=" ".join(str(refused).split()))
        if method == "auto":
            name = f"auto ({composed.certificate.method})"
        return cls(name, method, degree, composed, epsilon, tradeoff, mu_star, milliseconds)

    @property
    def certified(self) -> bool:
        """Whether the answer is a guarantee."""
        return self.account is not None and self.account.certified

    @property
    def notes(self) -> tuple[str, ...]:
        """Why this method, where its error comes from, what it has to say; or why it refused."""
        if self.account is None:
            return (self.refusal or "",)
        certificate = self.account.certificate
        why = (self.account.why,) if self.method == "auto" else ()
        errors = ", ".join(f"{source} {size:.2g}" for source, size in certificate.sources.items())
        said = tuple(note for note in certificate.notes if note != f"degree {self.degree}")
        return why + ((f"errors: {errors}",) if errors else ()) + said

    def error(self, truth: Bracket | None) -> list[tuple[float, float] | None]:
        """Between which ends epsilon is relatively off the truth, at each delta; a minus promises too much.

        `truth` is a certified bracket of epsilon; None where it does not say, at 0 and at infinity.
        """
        if truth is None or self.epsilon is None or not truth.certified:
            return []
        values, lowers, uppers = (np.ravel(part).tolist() for part in (self.epsilon.value, truth.lower, truth.upper))
        return [
            (value / upper - 1, value / lower - 1) if 0 < lower <= upper < math.inf else None
            for value, lower, upper in zip(values, lowers, uppers, strict=True)
        ]

    def to_dict(self, deltas: tuple[float, ...], truth: Bracket | None) -> dict[str, Any]:
        """Plain dicts, lists and numbers; infinities are the texts "inf" and "-inf"."""
        answer: dict[str, Any] = {"name": self.name, "method": self.method, "degree": self.degree}
        if self.account is None or self.epsilon is None or self.tradeoff is None:
            return answer | {"answered": False, "refusal": self.refusal}
        ends = zip(*(np.ravel(part) for part in _parts(self.epsilon)), strict=True)
        return answer | {
            "answered": True,
            "guarantee": self.certified,
            "epsilon": [_ends(*each, delta=delta) for delta, each in zip(deltas, ends, strict=True)],
            "relative_error": [_error(*each) for each in zip(deltas, self.error(truth), strict=False)],
            "tradeoff": _ends(*_parts(self.tradeoff), alpha=_ALPHA),
            "mu_star": jsonable(self.mu_star),
            "milliseconds": self.milliseconds,
            "errors": {source: jsonable(size) for source, size in self.account.certificate.sources.items()},
            "notes": list(self.account.certificate.notes),
            "why": self.account.why,
        }


@dataclass(frozen=True, eq=False)
class MethodsTable:
    """One mechanism, several deltas, every method.

    >>> import edgeworth as ew
    >>> table = MethodsTable.of(ew.Gaussian(noise_multiplier=5.0) ** 10, deltas=[1e-5])
    >>> print(table.answers[0].name, table.answers[0].epsilon.upper_bound().round(4))
    auto (closed-form) [2.5944]
    """

    mechanism: Mechanism
    deltas: tuple[float, ...]
    answers: tuple[MethodAnswer, ...]
    alpha: float = _ALPHA

    @classmethod
    def of(
        cls,
        mechanism: Mechanism,
        *,
        deltas: Iterable[float] = (1e-5,),
        degrees: Iterable[int] = (),
        progress: Progress | None = None,
    ) -> Self:
        """Ask `auto`, then every other method; the expansions at the given degrees."""
        asked = tuple(validation.probability(delta=delta) for delta in deltas)
        if not asked:
            raise InvalidArgument("deltas=() is empty; give at least one number between 0 and 1")
        plan = list(_plan(tuple(_degree(degree) for degree in degrees)))
        answers: list[MethodAnswer] = []
        for done, (method, degree) in enumerate(plan):
            if progress is not None:
                progress(method if degree is None else f"{method} {degree}", done, len(plan))
            if not (answers and answers[0].account and answers[0].account.certificate.method == method):
                answers.append(MethodAnswer.of(mechanism, method, degree, asked))
        if progress is not None:
            progress("done", len(plan), len(plan))
        return cls(mechanism, asked, tuple(answers))

    @property
    def accounts(self) -> dict[str, Account]:
        """The accounts of the methods that answered, by name."""
        return {answer.name: answer.account for answer in self.answers if answer.account is not None}

    def to_json(self) -> str:
        """One versioned JSON object; its "mechanism" is what `edgeworth.from_json` reads."""
        table = {
            "format": FORMAT,
            "version": VERSION,
            "mechanism": json.loads(to_json(self.mechanism)),
            "deltas": list(self.deltas),
            "alpha": self.alpha,
            "methods": [answer.to_dict(self.deltas, self.answers[0].epsilon) for answer in self.answers],
        }
        return json.dumps(table, indent=2, allow_nan=False)


def _plan(degrees: tuple[int, ...]) -> Iterator[tuple[str, int | None]]:
    """Which methods to ask, each with its degree."""
    yield "auto", None
    for method in METHODS:
        for degree in (degrees or _EXPANSIONS[method]) if method in _EXPANSIONS else (None,):
            yield method, degree


def _degree(degree: int) -> int:
    """The degree, refused when no expansion takes it."""
    known = range(max(METHODS[method][1].stop for method in _EXPANSIONS if method in METHODS))
    if validation.count(degree=degree) not in known:
        raise InvalidArgument(f"degree={degree!r} is out of range; give an int from 0 to {known[-1]}")
    return degree


def _parts(bracket: Bracket) -> tuple[Any, Any, Any]:
    return bracket.value, bracket.lower, bracket.upper


def _ends(value: float, lower: float, upper: float, **at: float) -> dict[str, float | str]:
    return {**at, "value": jsonable(value), "lower": jsonable(lower), "upper": jsonable(upper)}


def _error(delta: float, ends: tuple[float, float] | None) -> dict[str, float | str | None]:
    lower, upper = (None, None) if ends is None else map(jsonable, ends)
    return {"delta": delta, "lower": lower, "upper": upper}
