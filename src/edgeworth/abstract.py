"""Abstract base classes without virtual subclasses.

`isinstance` then looks at the real bases alone, which takes a fraction of the time: ABCMeta keeps a cache for every
class that is asked about, and fills it when a reading is in a hurry.
"""

from __future__ import annotations

from abc import ABCMeta

__all__ = ["Abstract"]


class _RealBases(ABCMeta):
    """ABCMeta, but for `register`."""

    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__


class Abstract(metaclass=_RealBases):
    """A class whose abstract methods have to be defined before there can be an instance.

    >>> from abc import abstractmethod
    >>> class Shape(Abstract):
    ...     @abstractmethod
    ...     def area(self): ...
    >>> Shape()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    TypeError: Can't instantiate abstract class Shape ...
    """

    __slots__ = ()
