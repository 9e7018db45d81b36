"""What is summed in decimals: moments of which very many count, and sums of so few atoms that each can have eighty."""

from edgeworth.composition.decimals.answers import applies, prepared

__all__ = ["applies", "prepared"]
