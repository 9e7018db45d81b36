"""A kernel on flat arrays, called with a number or an array: a number gives a float, an array its shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Numbers", "elementwise", "read_only", "times_exp"]

Array: TypeAlias = NDArray[np.float64]
Numbers: TypeAlias = Sequence[float] | NDArray[Any]

_HALF_RANGE = 700.0  # exp(700) is finite; beyond exp(1400) every positive double overflows


def elementwise(kernel: Callable[[Array], Array], argument: Array) -> float | Array:
    """kernel(argument), in the shape of the argument; a float when the argument has no axes."""
    values = kernel(argument.ravel())
    return float(values[0]) if argument.ndim == 0 else values.reshape(argument.shape)


def read_only(values: Array) -> Array:
    """A copy of the values that cannot be written to."""
    copy = np.array(values, dtype=np.float64)
    copy.flags.writeable = False
    return copy


def times_exp(values: Array, exponent: Array | float) -> Array:
    """The product values * e^exponent for values >= 0: 0 stays 0 whatever the exponent, overflow is inf."""
    root = np.exp(np.clip(exponent, -2 * _HALF_RANGE, 2 * _HALF_RANGE) / 2)
    with np.errstate(over="ignore"):
        return np.asarray(values * root * root)
