"""One-parameter families of mechanisms: what they accept, found out by asking them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from edgeworth.account import Account, account, described
from edgeworth.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from edgeworth.account import Accountable
    from edgeworth.mechanisms import Mechanism

__all__ = ["Family", "Parameter"]

Parameter: TypeAlias = float | int

_LARGEST = 1e18  # how far from 1 a parameter is looked for, up and down
_DECADES = 12  # of places that are tried for a start


class Family:
    """A callable from a positive number to a mechanism or a run; where it refuses its argument is outside of it.

    Whether it takes whole numbers only is found out by offering it 1.0.
    """

    def __init__(self, build: Callable[..., Accountable], *, integer: bool | None) -> None:
        if not callable(build):
            raise InvalidArgument(
                f"family={build!r} is not callable; give a function from one number to a mechanism, "
                "e.g. lambda sigma: Gaussian(sigma) ** 10"
            )
        self.build = build
        self.integer = self._takes_integers_only() if integer is None else integer
        self.start = self._some_member()

    def at(self, x: Parameter) -> Mechanism | None:
        """The member at x, or None where the family refuses x."""
        try:
            return self._member(x)
        except InvalidArgument:
            return None

    def account(self, x: Parameter) -> Account:
        """The certified account at an accepted x; if the family is one of runs, it knows its run."""
        return account(self.build(x))

    def _member(self, x: Parameter) -> Mechanism:
        built = self.build(x)
        try:
            return described(built)[0]
        except InvalidArgument:
            raise TypeError(f"family({x!r}) is {built!r}, which is not a mechanism") from None

    def _takes_integers_only(self) -> bool:
        try:
            self._member(1.0)
        except InvalidArgument:
            return self.at(1) is not None
        return False

    def _some_member(self) -> Parameter:
        """1, or the nearest power of ten that the family accepts; its own refusal of 1 if there is none."""
        for x in self._powers_of_ten():
            if self.at(x) is not None:
                return x
        self._member(1 if self.integer else 1.0)
        raise AssertionError  # pragma: no cover - the line above raises

    def _powers_of_ten(self) -> Iterator[Parameter]:
        for k in range(_DECADES + 1):
            yield 10**k if self.integer else 10.0**k
            if k and not self.integer:
                yield 10.0**-k

    def rounded(self, x: float) -> Parameter:
        """X within the limits of the search; the nearest whole number where only those are taken."""
        x = min(max(x, 1 / _LARGEST), _LARGEST)
        return max(1, round(x)) if self.integer else x

    def edge(self, inside: Parameter, outside: Parameter) -> Parameter:
        """The last accepted parameter on the way from one that is accepted to one that is not."""
        while True:
            if self.integer:
                middle: Parameter = (int(inside) + int(outside)) // 2
            else:
                middle = math.sqrt(inside) * math.sqrt(outside) if outside > 0 else inside / 2
            if not min(inside, outside) < middle < max(inside, outside):
                return inside
            inside, outside = (inside, middle) if self.at(middle) is None else (middle, outside)
