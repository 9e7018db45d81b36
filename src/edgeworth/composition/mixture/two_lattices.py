"""Steps that share one lattice beside others that take few values: a mixture of Fourier sums over these."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from edgeworth.composition import fourier
from edgeworth.composition.mixture.atoms import atoms_of
from edgeworth.losses import TotalLoss

if TYPE_CHECKING:
    from edgeworth.losses import MergedValues, PrivacyLoss

    Part = tuple[PrivacyLoss, int]

__all__ = ["LatticeAndValues", "lattice_and_values"]

_MOST_PARTS = 8  # different steps, of which every pair is looked at
_MOST_VALUES = 140  # of the others: a Fourier sum for each takes about .2 ms, and f some hundred of them


class LatticeAndValues(NamedTuple):
    """The steps of one lattice, and all values of the others."""

    lattice: TotalLoss
    values: MergedValues


@lru_cache(maxsize=8)
def lattice_and_values(total: TotalLoss) -> LatticeAndValues | None:
    """The split of steps without noise that leaves the fewest values; None where none leaves few, or one has all.

    >>> import edgeworth as ew
    >>> two = ew.DiscreteGaussian(2.1) ** 15 * ew.RandomizedResponse(0.3) ** 4
    >>> lattice_and_values(TotalLoss.of(two)).values.place.round(9).tolist()
    [-1.2, -0.6, 0.0, 0.6, 1.2]
    """
    parts = [(loss, n) for loss, n in total.parts if n > 0]
    if not all(loss.is_atomic for loss, _ in parts) or not 1 < len(parts) <= _MOST_PARTS:
        return None
    found: LatticeAndValues | None = None
    for seed in parts:
        lattice = _sharing_its_lattice(seed, parts)
        if lattice is None:
            continue
        others = TotalLoss(tuple(part for part in parts if part not in lattice.parts), is_finite=True)
        if not others.parts:
            return None
        values = atoms_of(others, _MOST_VALUES if found is None else found.values.place.size - 1)
        if values is not None:
            found = LatticeAndValues(lattice, values)
    return found


def _sharing_its_lattice(seed: Part, parts: list[Part]) -> TotalLoss | None:
    """This step and all that lie on its lattice; itself alone where these do not share one; None where it has none."""
    alone = TotalLoss((seed,), is_finite=True)
    if not fourier.applies(alone):
        return None
    pairs = {part: TotalLoss((seed, part), is_finite=True) for part in parts if part != seed}
    together = TotalLoss((seed, *(part for part, pair in pairs.items() if fourier.applies(pair))), is_finite=True)
    return together if fourier.applies(together) else alone
