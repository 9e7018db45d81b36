"""Long products of matrices, and convolutions, on one thread.

They are made of many small ones. A BLAS library that shares each of these out to threads gains little where the cores
are idle, and where they are not it waits for its threads most of the time: a reading of two seconds took fifteen.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from threadpoolctl import ThreadpoolController

    from edgeworth.losses.law import Array

__all__ = ["convolution", "one_thread"]

_LONG = 2_500  # terms of a sum of products, from which on blocks are two to four times as fast as one sum at a time
_BLOCK, _COLUMNS = 128, 2_048  # what stays in the cache


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
    """All sums of products: each adds up its terms, in some order, and nothing else.

    >>> convolution(np.array([1.0, 2.0]), np.array([3.0, 4.0])).tolist()
    [3.0, 10.0, 8.0]
    """
    short, long = (one, other) if one.size <= other.size else (other, one)
    if short.size < _LONG:
        return np.convolve(long, short)
    with one_thread():
        return _by_blocks(short, long)


def _by_blocks(one: Array, other: Array) -> Array:
    """Blocks of the one times columns of the other shifted by 0, 1, …: products of matrices, put where they belong.

    >>> one, other = np.arange(300.0), np.arange(5000.0)
    >>> np.array_equal(_by_blocks(one, other), np.convolve(one, other))
    True
    """
    blocks = np.pad(one, (0, -one.size % _BLOCK)).reshape(-1, _BLOCK)
    sums = np.zeros(blocks.size + other.size + _BLOCK)
    for start in range(0, other.size, _COLUMNS):
        padded = np.pad(other[start : start + _COLUMNS], _BLOCK - 1)
        width = padded.size - _BLOCK + 1
        products = blocks @ np.ascontiguousarray(sliding_window_view(padded, width)[::-1])
        for i, row in enumerate(products):
            place = start + i * _BLOCK
            sums[place : place + width] += row
    return sums[: one.size + other.size - 1]


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    """Made when it is first needed: it looks through all libraries that are loaded."""
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415  milliseconds that short lines do not need

    return ThreadpoolController()
