"""The name under which Opacus finds the accountant."""

from __future__ import annotations

from typing import Any

import opacus
from opacus import accountants

from edgeworth.errors import InvalidArgument, MissingExtra

__all__ = ["register"]


def register(accountant: type[Any]) -> None:
    """Give Opacus the accountant by its name, again if need be; a name that somebody else holds is refused."""
    if not hasattr(accountants, "register_accountant"):
        raise MissingExtra(
            f"opacus {opacus.__version__} takes no accountants but its own; one that does comes with: "
            "pip install 'edgeworth[opacus]'",
            name="opacus",
        )
    name = accountant.mechanism()
    holder = _holder(name)
    if holder is not None and _path(holder) != _path(accountant):
        raise InvalidArgument(
            f"accountant={name!r} is the name of {_path(holder)} already; import edgeworth.integrations.opacus before "
            "that is registered, or register that under another name"
        )
    accountants.register_accountant(name, accountant, force=True)  # a reloaded module has a new class of the same path


def _holder(name: str) -> type[Any] | None:
    try:
        return type(accountants.create_accountant(name))
    except ValueError:  # how Opacus says that nobody holds it
        return None


def _path(accountant: type[Any]) -> str:
    return f"{accountant.__module__}.{accountant.__qualname__}"
