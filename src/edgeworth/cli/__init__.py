"""The command `edgeworth`: parsing and printing only."""

from edgeworth.cli.app import main

__all__ = ["main"]
