"""What every mechanism can do: be repeated, be composed, be compared, say which steps it runs."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from edgeworth.abstract import Abstract
from edgeworth.errors import InvalidArgument
from edgeworth.mechanisms.flatten import repr_of, tally

if TYPE_CHECKING:
    from edgeworth.mechanisms.adjacency import Adjacency
    from edgeworth.mechanisms.composed import Repeated

__all__ = ["Mechanism", "Step", "as_mechanism"]

_WRITTEN = object()  # equal to no value: the field is written whatever it is


class Mechanism(Abstract):
    """A description of what ran on the data: frozen, comparable, without any mathematics.

    ``m ** n`` runs m n times, ``a * b`` runs both on the same data. Two descriptions are equal when they run
    the same steps the same number of times, however the tree was built:

    >>> from edgeworth.mechanisms import Composed, Gaussian, Repeated
    >>> m = Gaussian(noise_multiplier=2)
    >>> m**3 == m * m * m == Composed([m] * 3) == Repeated(m, 3)
    True
    """

    __slots__ = ()
    __array_ufunc__ = None  # numpy scalars and arrays leave ** and * to the methods below

    #: fields that came later, with the value at which they are neither written nor shown
    unwritten: ClassVar[dict[str, object]] = {}
    __match_args__: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def parts(self) -> tuple[tuple[Mechanism, int], ...] | None:
        """What one run of this runs, each with its count; None when this is itself one step."""

    @property
    @abstractmethod
    def adjacency(self) -> Adjacency | None:
        """The neighbours that the sampling inside means, "add-remove" or "replace"; None where nothing is sampled."""

    def steps(self) -> tuple[tuple[Step, int], ...]:
        """The distinct steps with their total counts, in an order that does not depend on how this was built.

        >>> from edgeworth.mechanisms import Gaussian, Laplace
        >>> for step, count in ((Laplace(3) * Gaussian(2) ** 10) ** 4).steps():
        ...     print(count, step)
        40 Gaussian(noise_multiplier=2.0)
        4 Laplace(scale=3.0, sensitivity=1.0)
        """
        return tuple(tally(self).values())

    @property
    def releases(self) -> int:
        """How many releases were made in all: the sum of the counts of ``steps()``."""
        return sum(count for _, count in self.steps())

    def canonical(self) -> Mechanism:
        """The one tree that stands for all descriptions equal to this one.

        >>> from edgeworth.mechanisms import Gaussian
        >>> m = Gaussian(noise_multiplier=2)
        >>> (m * m * m).canonical()
        Repeated(mechanism=Gaussian(noise_multiplier=2.0), count=3)
        """
        from edgeworth.mechanisms.composed import Composed, Repeated  # noqa: PLC0415  they are mechanisms too

        if isinstance(self, Step) and self.parts() is None:
            return self.canonical_step()
        parts = [step if count == 1 else Repeated(step, count) for step, count in self.steps()]
        return parts[0] if len(parts) == 1 else Composed(parts)

    def arguments(self) -> dict[str, object]:
        """The fields by name, as they were given and normalised."""
        given = {name: getattr(self, name) for name in self.__match_args__}  # those that the constructor takes
        return {name: value for name, value in given.items() if value not in (None, self.unwritten.get(name, _WRITTEN))}

    def nested(self) -> tuple[Mechanism, ...]:
        """The mechanisms this description is made of, one level down."""
        return ()

    def to_json(self) -> str:
        """This description as versioned JSON; ``Mechanism.from_json`` reads it back."""
        from edgeworth.mechanisms.serialise import to_json  # noqa: PLC0415  it knows every mechanism

        return to_json(self)

    @staticmethod
    def from_json(text: str) -> Mechanism:
        """The description that ``to_json`` wrote."""
        from edgeworth.mechanisms.serialise import from_json  # noqa: PLC0415  it knows every mechanism

        return from_json(text)

    def __pow__(self, count: int) -> Repeated:
        from edgeworth.mechanisms.composed import Repeated  # noqa: PLC0415  it is a mechanism too

        return Repeated(self, count)

    def __mul__(self, other: Mechanism) -> Mechanism:
        from edgeworth.mechanisms.composed import Composed  # noqa: PLC0415  it is a mechanism too

        if not isinstance(other, Mechanism):
            raise TypeError(f"{self!r} * {other!r} means nothing; a * b runs two mechanisms, m ** n runs m n times")
        return Composed((self, other))

    def __rmul__(self, other: object) -> Mechanism:
        raise TypeError(f"{other!r} * {self!r} means nothing; a * b runs two mechanisms, m ** n runs m n times")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mechanism):
            return NotImplemented
        return self is other or _signature(self) == _signature(other)

    def __hash__(self) -> int:
        return hash(_signature(self))

    def __repr__(self) -> str:
        return repr_of(self)


class Step(Mechanism):
    """A mechanism that is not a composition: one release."""

    __slots__ = ()

    def parts(self) -> tuple[tuple[Mechanism, int], ...] | None:
        """None: this is one step."""
        return None

    @property
    def adjacency(self) -> Adjacency | None:
        """None: the sensitivity says which neighbours are meant."""
        return None

    def canonical_step(self) -> Step:
        """The step that stands for all steps equal to this one."""
        return self

    def identity(self) -> str:
        """A text that two steps share exactly when they are equal; it also orders the steps."""
        return repr({"type": type(self).__name__} | self.arguments())


def as_mechanism(**argument: object) -> Mechanism:
    """The one keyword argument, refused unless it is a mechanism."""
    ((name, value),) = argument.items()
    if not isinstance(value, Mechanism):
        raise InvalidArgument(f"{name}={value!r} is not a mechanism; give one, such as Gaussian(noise_multiplier=1.0)")
    return value


def _signature(mechanism: Mechanism) -> tuple[tuple[str, int], ...]:
    return tuple((identity, count) for identity, (_, count) in tally(mechanism).items())
