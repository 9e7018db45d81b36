"""Long products of matrices, and convolutions, on one thread.

They are made of many small ones. A BLAS library that shares each of these out to threads gains little where the cores
are idle, and where they are not it waits for its threads most of the time: a reading of two seconds took fifteen.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from threadpoolctl import ThreadpoolController

    from edgeworth.losses.law import Array

__all__ = ["convolution", "one_thread"]

_LONG = 10_000  # terms of a dot product, from which on BLAS shares it out to threads


def one_thread() -> AbstractContextManager[object]:
    """A context in which BLAS has one thread; afterwards as many as before.

    >>> from threadpoolctl import threadpool_info
    >>> with one_thread():
    ...     {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
    {1}
    """
    limited: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limited


def convolution(one: Array, other: Array) -> Array:
    """All sums of products, each a dot product: thousands of long ones, if both are long.

    >>> convolution(np.array([1.0, 2.0]), np.array([3.0, 4.0])).tolist()
    [3.0, 10.0, 8.0]
    """
    if min(one.size, other.size) < _LONG:
        return np.convolve(one, other)
    with one_thread():
        return np.convolve(one, other)


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    """Made when it is first needed: it looks through all libraries that are loaded."""
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415  milliseconds that short lines do not need

    return ThreadpoolController()
