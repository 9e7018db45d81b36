"""Sums of terms times waves e^(iay) at frequencies y = kh, for any a: a wave is the product of two.

With k = jm + l the sum over k is that over j of e^(ia jmh) times the sum over l of e^(ia lh) times the terms: a product
of matrices, which takes a twentieth of the time that a wave for every term would.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.one_thread import one_thread
from edgeworth.composition.work import spend

if TYPE_CHECKING:
    from edgeworth.composition.noisy_lines.step_waves import Complex, Index
    from edgeworth.losses.law import Array

__all__ = ["WaveSums"]

_WAVE, _PRODUCT = 0.6, 0.03  # units of work: for a wave, and for a term that it is multiplied with
_LARGE = 20_000  # terms, from which on BLAS would share a product out to threads
_AT_ONCE = 2**19  # sums that are kept at a time, 8 MB


class WaveSums:
    """Rows of terms at frequencies kh, k in order.

    >>> sums = WaveSums(np.array([[1.0, 2.0, 3.0]]), np.array([0, 4, 9]), 0.5)
    >>> sums.at(np.array([0.0, np.pi])).round(12).tolist()  # 1 + 2 e^(2ia) + 3 e^(4.5ia), its real part
    [[6.0, 3.0]]
    """

    def __init__(self, terms: Complex, k: Index, h: float) -> None:
        side = _side(k)
        rows, row = np.unique(k // side, return_inverse=True)
        self._terms = np.zeros((len(terms), rows.size, side), dtype=complex)
        self._terms[:, row, k % side] = terms
        self._start, self._rest = h * (side * rows), h * np.arange(side)

    @property
    def size(self) -> int:
        """How many terms it keeps, of 16 bytes each; gaps between the k are terms, too."""
        return self._terms.size

    @property
    def longest(self) -> int:
        """How many terms are added one after the other, at most: those of a row, and then all rows."""
        return self._rest.size + self._start.size

    def at(self, a: Array) -> Array:
        """The real parts of the sums: a row for each row of terms, a column for each a."""
        most = max(1, _AT_ONCE // (self._start.size + self._rest.size))
        return np.concatenate([self._some(a[first : first + most]) for first in range(0, a.size, most)], axis=1)

    def _some(self, a: Array) -> Array:
        spend(a.size * (_WAVE * (self._start.size + self._rest.size) + _PRODUCT * self._terms.size))
        far, near = (np.exp(np.multiply.outer(1j * y, a)) for y in (self._start, self._rest))
        with one_thread() if self._terms.size >= _LARGE else nullcontext():
            return np.asarray(np.einsum("sjt,jt->st", self._terms @ near, far).real)


def _side(k: Index) -> int:
    """The length of the rows, a power of two, that makes the fewest waves and terms: gaps between the k are terms, too.

    >>> _side(np.arange(4096)), _side(np.array([0, 10**6, 2 * 10**6]))
    (64, 1)
    """
    if not k.size:
        return 1
    sides = 2 ** np.arange(int(k[-1]).bit_length() // 2 + 2)
    rows = np.array([1 + np.count_nonzero(np.diff(k // side)) for side in sides.tolist()])
    return int(sides[np.argmin(_WAVE * (rows + sides) + 2 * _PRODUCT * rows * sides)])
