"""How answers are shown: every method side by side, and pictures."""

from edgeworth.report.displays import MethodsDisplay, TradeoffDisplay
from edgeworth.report.methods import MethodAnswer, MethodsTable

__all__ = ["MethodAnswer", "MethodsDisplay", "MethodsTable", "TradeoffDisplay"]
