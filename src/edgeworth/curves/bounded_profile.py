"""Profiles that come down at a largest loss which is a rational number, read there from what is left to it."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

from edgeworth.curves.profile import SymmetricProfile
from edgeworth.exact import TwoDoubles

if TYPE_CHECKING:
    from fractions import Fraction

    from edgeworth.curves.elementwise import Array

__all__ = ["BoundedProfile"]


class BoundedProfile(SymmetricProfile):
    """Of symmetric laws of which no finite loss is larger than T: delta next to T asks for the digits of T - eps."""

    @property
    @abstractmethod
    def largest(self) -> Fraction:
        """T itself, which a double may be rounded from."""

    @abstractmethod
    def _delta_below(self, gap: Array) -> Array:
        """Delta so far below T, for gaps from 0 to T."""

    @cached_property
    def _top(self) -> TwoDoubles:
        return TwoDoubles.of(self.largest)
