"""Powers of anything that has products: the law of many independent copies from that of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["power"]

_T = TypeVar("_T")


def power(one: _T, n: int, times: Callable[[_T, _T], _T]) -> _T:
    """The product of n >= 1 copies, by squares: n - 1 products or fewer.

    >>> power(3, 13, lambda a, b: a * b) == 3**13
    True
    """
    found: _T | None = None
    while n:
        if n % 2:
            found = one if found is None else times(found, one)
        n //= 2
        if n:
            one = times(one, one)
    assert found is not None
    return found
