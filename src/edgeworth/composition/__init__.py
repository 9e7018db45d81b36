"""How leaks add up: one engine a folder or file, and the table that chooses among them."""

from edgeworth.composition.answered import AnsweredTradeOff
from edgeworth.composition.automatic import METHODS, choose, compose
from edgeworth.composition.result import LIMITS, ComposedCurve
from edgeworth.composition.work import one_reading

__all__ = ["LIMITS", "METHODS", "AnsweredTradeOff", "ComposedCurve", "choose", "compose", "one_reading"]
