"""Every figure and table of the paper, computed again, with its error against the truth."""

from edgeworth.paper.run import reproduce

__all__ = ["reproduce"]
