"""The two nodes of a tree of mechanisms: several run on the same data, or one run several times."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from edgeworth import validation
from edgeworth.errors import InvalidArgument
from edgeworth.mechanisms.adjacency import Adjacency, agreed
from edgeworth.mechanisms.base import Mechanism, as_mechanism

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Composed", "Repeated"]


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Composed(Mechanism):
    """Several mechanisms run on the same data; the order does not matter. ``Composed(())`` runs nothing.

    >>> from edgeworth.mechanisms import Gaussian, Laplace
    >>> Composed([Gaussian(2), Laplace(3)]) == Laplace(3) * Gaussian(2)
    True
    """

    mechanisms: tuple[Mechanism, ...]
    _adjacency: Adjacency | None = field(init=False)

    def __init__(self, mechanisms: Iterable[Mechanism]) -> None:
        if not hasattr(mechanisms, "__iter__"):
            raise InvalidArgument(f"mechanisms={mechanisms!r} is not a list of mechanisms; give one, such as [a, b]")
        checked = tuple(
            as_mechanism(**{f"mechanisms[{position}]": mechanism}) for position, mechanism in enumerate(mechanisms)
        )
        object.__setattr__(self, "mechanisms", checked)
        object.__setattr__(self, "_adjacency", agreed(mechanism.adjacency for mechanism in checked))

    @property
    def adjacency(self) -> Adjacency | None:
        """What the mechanisms agree on; two that do not cannot be composed."""
        return self._adjacency

    def parts(self) -> tuple[tuple[Mechanism, int], ...]:
        """Each of the mechanisms once."""
        return tuple([(mechanism, 1) for mechanism in self.mechanisms])

    def nested(self) -> tuple[Mechanism, ...]:
        """The mechanisms."""
        return self.mechanisms


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Repeated(Mechanism):
    """One mechanism run count times on the same data.

    >>> from edgeworth.mechanisms import Gaussian
    >>> Repeated(Repeated(Gaussian(2), 10**12), 10**12).releases
    1000000000000000000000000
    """

    mechanism: Mechanism
    count: int
    _adjacency: Adjacency | None = field(init=False)  # kept, so that a deep tree needs no recursion

    def __post_init__(self) -> None:
        object.__setattr__(self, "mechanism", as_mechanism(mechanism=self.mechanism))
        object.__setattr__(self, "count", validation.count(count=self.count))
        object.__setattr__(self, "_adjacency", self.mechanism.adjacency if self.count else None)

    @property
    def adjacency(self) -> Adjacency | None:
        """That of the mechanism; None when it never runs."""
        return self._adjacency

    def parts(self) -> tuple[tuple[Mechanism, int], ...]:
        """The mechanism, count times."""
        return ((self.mechanism, self.count),)

    def nested(self) -> tuple[Mechanism, ...]:
        """The mechanism."""
        return (self.mechanism,)
