"""How answers are shown: a statement, every method side by side, and pictures."""

from edgeworth.report.compare import CompareDisplay
from edgeworth.report.displays import ProfileDisplay, RocDisplay, TradeoffDisplay
from edgeworth.report.methods import MethodAnswer, MethodsTable
from edgeworth.report.statement import Statement

__all__ = [
    "CompareDisplay",
    "MethodAnswer",
    "MethodsTable",
    "ProfileDisplay",
    "RocDisplay",
    "Statement",
    "TradeoffDisplay",
]
