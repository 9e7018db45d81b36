"""Few samples with atoms: runs sorted by their jumps, beside a bulk that a little noise makes smooth."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from edgeworth.composition.rare_atoms import listed_runs
from edgeworth.composition.rare_atoms.beside_bulk import Beside
from edgeworth.composition.rare_atoms.jumping_atoms import JumpingAtoms, Jumps, Split, bulk_without
from edgeworth.composition.rare_atoms.smooth_bulk import SmoothBulk, StepLaw
from edgeworth.errors import Unsupported
from edgeworth.losses import SampledLoss
from edgeworth.losses.atomic import MovedAtoms

if TYPE_CHECKING:
    from edgeworth.composition.answered import Direction, Ends
    from edgeworth.losses import TotalLoss
    from edgeworth.losses.law import Array

__all__ = ["ROUGH", "prepared", "prepared_bulk"]

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
        *others, (atoms, steps) = bulk.parts
        assert isinstance(atoms, MovedAtoms)
        if not self._ways:  # the first has all steps
            law, depth = StepLaw.of(atoms), (self._nats, self._fine)
            self._ways = {
                "forward": SmoothBulk(law, steps, *depth, Beside(tuple(others))),
                "backward": SmoothBulk(law.mirrored(), steps, *depth, Beside(tuple(others), mirrored=True)),
            }
        return _Steps(self._ways, steps)


def _splits(total: TotalLoss, nats: float) -> list[Split]:
    """Which atoms may be those of the bulk, the best first: as few jumps as leave no lumps in it, nor too many points.

    The more atoms jump the smoother is the bulk, but there are more numbers of jumps, and more values of these.
    """
    found: dict[Split, float] = {}
    for number in jumping_parts(total):
        loss, n = total.parts[number]
        assert isinstance(loss, SampledLoss)
        assert loss.atoms is not None
        for most in _MOST_JUMPS:
            split = Split(number, _least_kept(loss, n, nats, min(most, n)))
            jumps = min(Jumps(loss, n, split.kept).likely(nats, _MOST_JUMPS[-1]), n)
            values = math.comb(loss.atoms.loss.size - split.kept + jumps, jumps)
            if split not in found and values <= _MOST_VALUES:
                found[split] = _badness(total, split, nats)
                if found[split] == 1:
                    break
    return sorted(found, key=lambda split: (found[split], -split.kept))


def jumping_parts(total: TotalLoss) -> list[int]:
    """The numbers of the samples with finitely many atoms, and not too many steps."""
    return [number for number, part in enumerate(total.parts) if listed_runs.are_few(*part)]


def _badness(total: TotalLoss, split: Split, nats: float) -> float:
    """1 for a bulk that has neither lumps nor too many points, and how many times more of these elsewhere."""
    *others, (atoms, n) = bulk_without(total, split, 0).parts
    assert isinstance(atoms, MovedAtoms)
    made = SmoothBulk(StepLaw.of(atoms), n, nats, _USUAL, Beside(tuple(others)))
    return max(made.largest_lump() / _SMALL_LUMP, made.most_points() / _MANY_POINTS, 1.0)


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
    """The answers of a total loss, which are searched with rougher ones; the last few are kept."""
    before = next(width for width in _WIDTHS[::-1] if width > fine) if fine < _WIDTHS[0] else None
    quick = None if before is None else prepared(total, nats, before)
    return _made(total, nats, fine, quick)


@lru_cache(maxsize=1)
def prepared_bulk(total: TotalLoss, nats: float, fine: float) -> JumpingAtoms:
    """The same alone, for readings of delta; with its transforms the last one takes up to a hundred megabytes."""
    return _made(total, nats, fine, None)


def _made(total: TotalLoss, nats: float, fine: float, quick: JumpingAtoms | None) -> JumpingAtoms:
    for split in [quick.split] if quick is not None else _splits(total, nats):
        with suppress(Unsupported):
            return JumpingAtoms(total, split, (nats, _NEGLIGIBLE * fine), _Bulks(nats, fine), quick)
    raise Unsupported("too many values of jumps count")
