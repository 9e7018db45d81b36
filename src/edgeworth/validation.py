"""Arguments are refused here, by name.

Every validator takes the argument as a keyword, so that the message says ``noise_multiplier=nan``, and
writes its condition positively (``not value > 0``), so that nan is refused.
"""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeworth.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["choice", "count", "finite", "non_negative", "positive", "probabilities", "probability", "reals"]

_MOST_BITS = 1023  # of a count that is a float as well


def _number(arguments: dict[str, Any], wanted: str) -> tuple[str, float]:
    """The one keyword argument as a float; bool, text, arrays and other objects are refused."""
    ((name, value),) = arguments.items()
    if type(value) is float:  # the usual case, and a quick one
        return name, value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise InvalidArgument(f"{name}={value!r} is not a number; give {wanted}")
    try:
        return name, float(value)
    except OverflowError:
        raise InvalidArgument(f"{name} is larger than every float; give {wanted}") from None


def finite(**argument: Any) -> float:
    """A finite real number."""
    name, value = _number(argument, "a finite number")
    if not np.isfinite(value):
        raise InvalidArgument(f"{name}={value!r} is out of range; give a finite number")
    return value


def positive(**argument: Any) -> float:
    """A finite number greater than 0."""
    name, value = _number(argument, "a finite number > 0")
    if not 0 < value < np.inf:
        raise InvalidArgument(f"{name}={value!r} is out of range; give a finite number > 0")
    return value


def non_negative(**argument: Any) -> float:
    """A finite number at least 0."""
    name, value = _number(argument, "a finite number >= 0")
    if not 0 <= value < np.inf:
        raise InvalidArgument(f"{name}={value!r} is out of range; give a finite number >= 0")
    return value


def probability(**argument: Any) -> float:
    """A number between 0 and 1, both included."""
    name, value = _number(argument, "a number between 0 and 1")
    if not 0 <= value <= 1:
        raise InvalidArgument(f"{name}={value!r} is out of range; give a number between 0 and 1")
    return value


def count(**argument: Any) -> int:
    """A whole number at least 0. Floats are refused, even 3.0: counts are never derived from quotients."""
    ((name, value),) = argument.items()
    if type(value) is not int and (isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral)):
        raise InvalidArgument(f"{name}={value!r} is not a whole number; give an int >= 0")
    whole = int(value)
    if not whole >= 0:
        raise InvalidArgument(f"{name}={whole!r} is out of range; give an int >= 0")
    if whole.bit_length() > _MOST_BITS:
        raise InvalidArgument(f"{name} is larger than every float; give an int >= 0")
    return whole


def flag(**argument: Any) -> bool:
    """True or False, and nothing that merely counts as one of them."""
    ((name, value),) = argument.items()
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidArgument(f"{name}={value!r} is neither True nor False; give one of them")
    return bool(value)


def choice(options: Iterable[str], **argument: Any) -> str:
    """One of the listed words."""
    ((name, value),) = argument.items()
    listed = list(options)
    if not isinstance(value, str) or value not in listed:
        raise InvalidArgument(f"{name}={value!r} is unknown; give one of {', '.join(map(repr, listed))}")
    return str(value)


def reals(**argument: Any) -> NDArray[np.float64]:
    """An array of real numbers, infinities allowed, nan refused."""
    ((name, value),) = argument.items()
    if type(value) is float and value == value:  # noqa: PLR0124 - not nan: the usual case, and a quick one
        return np.array(value)
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            raise TypeError
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name}={value!r} is not a number or an array of numbers") from None
    if np.isnan(array).any():
        raise InvalidArgument(f"{name}={value!r} has a nan; give real numbers")
    return array


def probabilities(**argument: Any) -> NDArray[np.float64]:
    """An array of numbers between 0 and 1, both included."""
    ((name, value),) = argument.items()
    if type(value) is float and 0 <= value <= 1:
        return np.array(value)
    array = reals(**argument)
    inside = (array >= 0) & (array <= 1)
    if not inside.all():
        raise InvalidArgument(f"{name}={float(array[~inside].flat[0])!r} is out of range; give numbers between 0 and 1")
    return array
