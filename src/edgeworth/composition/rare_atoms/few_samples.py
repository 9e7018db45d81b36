"""Few samples with atoms: runs sorted by their jumps, beside a bulk that a little noise makes smooth."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from edgeworth.composition.rare_atoms import listed_runs
from edgeworth.composition.rare_atoms.jumping_atoms import JumpingAtoms, Jumps, Split, bulk_without
from edgeworth.composition.rare_atoms.smooth_bulk import SmoothBulk, StepLaw
from edgeworth.errors import Unsupported
from edgeworth.losses.atomic import MovedAtoms

if TYPE_CHECKING:
    from edgeworth.composition.answered import Direction, Ends
    from edgeworth.losses import SampledLoss, TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["ROUGH", "prepared"]

_MOST_JUMPS, _MOST_VALUES = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25), 10**14  # values with the rare ones
_MOST_JUMPING = 0.9  # of all steps, in the mean
_NEGLIGIBLE = 0.1  # of what is aimed at, relative to a reading: what is not read closer
ROUGH = 1e-5  # a width that is enough for an epsilon where delta falls steeply
_WIDTHS = (1e-3, ROUGH)  # those with which a search begins, one after another
_USUAL, _MANY_POINTS, _SMALL_LUMP = 1e-7, 2.0**21, 14.0  # what is asked of a bulk: a width, points, and nats


class _Steps:
    """So many steps that do not jump, in both directions."""

    def __init__(self, ways: dict[Direction, SmoothBulk], steps: int) -> None:
        self._ways, self._steps = ways, steps

    def delta(self, direction: Direction, epsilon: Array) -> Ends:
        """Ends of their profile."""
        return self._ways[direction].delta(self._steps, epsilon)


class _Bulks:
    """The bulks of all numbers of jumps, which share their transforms."""

    def __init__(self, nats: float, fine: float) -> None:
        self._nats, self._fine = nats, fine
        self._ways: dict[Direction, SmoothBulk] = {}

    def __call__(self, bulk: TotalLoss) -> _Steps:
        atoms, steps = bulk.parts[0]
        assert isinstance(atoms, MovedAtoms)
        if not self._ways:  # the first has all steps
            law = StepLaw.of(atoms)
            made = [SmoothBulk(one, steps, self._nats, self._fine) for one in (law, law.mirrored())]
            self._ways = {"forward": made[0], "backward": made[1]}
        return _Steps(self._ways, steps)


def _splits(total: TotalLoss, nats: float) -> list[Split]:
    """Which atoms may be those of the bulk, the best first: as few jumps as leave no lumps in it, nor too many points.

    The more atoms jump the smoother is the bulk, but there are more numbers of jumps, and more values of these.
    """
    loss, n = listed_runs.equal_steps(total)
    assert loss.atoms is not None
    size = loss.atoms.loss.size
    found: dict[int, float] = {}
    for most in _MOST_JUMPS:
        kept = _least_kept(loss, n, nats, min(most, n))
        jumps = min(Jumps(loss, n, kept).likely(nats, _MOST_JUMPS[-1]), n)
        if kept not in found and math.comb(size - kept + jumps, jumps) <= _MOST_VALUES:
            bulk = bulk_without(total, Split(0, kept), 0)
            assert isinstance(bulk.parts[0][0], MovedAtoms)
            made = SmoothBulk(StepLaw.of(bulk.parts[0][0]), n, nats, _USUAL)
            found[kept] = max(made.largest_lump() / _SMALL_LUMP, made.most_points() / _MANY_POINTS, 1.0)
            if found[kept] == 1:
                break
    return [Split(0, kept) for kept in sorted(found, key=lambda kept: (found[kept], -kept))]


def _least_kept(loss: SampledLoss, n: int, nats: float, most: int) -> int:
    """How few atoms leave no more likely jumps than that, nor nearly all steps jumping."""
    assert loss.atoms is not None
    low, high = 1, int(loss.atoms.loss.size)
    while high - low > 1:
        middle = (low + high) // 2
        jumps = Jumps(loss, n, middle)
        enough = min(jumps.likely(nats, _MOST_JUMPS[-1]), n) <= most and jumps.mean < _MOST_JUMPING * n
        low, high = (low, middle) if enough else (middle, high)
    return high


@lru_cache(maxsize=8)
def prepared(total: TotalLoss, nats: float, fine: float) -> JumpingAtoms:
    """The answers of a total loss, the last few of which are kept."""
    before = next(width for width in _WIDTHS[::-1] if width > fine) if fine < _WIDTHS[0] else None
    quick = None if before is None else prepared(total, nats, before)
    for split in [quick.split] if quick is not None else _splits(total, nats):
        with suppress(Unsupported):
            return JumpingAtoms(total, split, (nats, _NEGLIGIBLE * fine), _Bulks(nats, fine), quick)
    raise Unsupported("too many values of jumps count")
