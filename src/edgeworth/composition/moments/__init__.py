"""Ends from tilted moments alone: every mechanism, any number of steps, whatever the other engines leave open."""

from edgeworth.composition.moments.answers import prepared

__all__ = ["prepared"]
