"""What one record can do to a run, for every way of drawing batches and every notion of neighbour.

Each step adds Gaussian noise of standard deviation noise_multiplier * C to a sum of vectors of norm at most C.
A *unit* is what repeats: one step or, for "shuffle", one pass over the data. ``moves`` says how far a record
moves the noisy sums of one unit, in clipping norms C: a sum moved by d is Gaussian noise of multiplier sigma/d.

| sampler    | add-remove          | replace              | zero-out            |
|---|---|---|---|
| poisson    | step (1), amplified | step (2), amplified  | step (1), amplified |
| fixed-size | step (2)            | step (2), amplified  | step (1)            |
| shuffle    | pass (2, 1)         | pass (2)             | pass (1)            |
| none       | step (1)            | step (2)             | step (1)            |

Why each row holds
- A replaced record leaves with norm C and another enters with norm C: 2 C.
- poisson. A record that is absent and one that adds nothing have the same law: both are the pair
  (P, (1 - q) P + q Q). A record that is replaced adds at most C before and after, half of what it moves: the pair
  of docs/proofs/replace-one.md.
- fixed-size, add-remove. The batch keeps its size, so when a record leaves, another takes its place: couple
  every batch that has the record with the one where a random other record stands in for it; the sum moves by 2.
- shuffle. The order is drawn without looking at the data, so it may be given away. Given the order, a record
  is in one batch of the pass; every other step is the same function of earlier outputs. A pass is therefore one
  release, and by joint convexity this stays true when the order is drawn at random.
- shuffle, add-remove. With one record less, all later batches would shift by one place. Couple the orders
  otherwise: the last record of the order takes the place of the missing one. Each order of the smaller data
  then arises from equally many orders of the larger, so both are uniform. One batch has a record exchanged (2)
  and the last one is short of a record (1).

Amplification is claimed where a pair of laws is known that dominates one step and composes: for Poisson sampling,
and for batches of a fixed size when a record is replaced: the subsampling theorem of Dong, Roth and Su, "Gaussian
differential privacy", J. R. Stat. Soc. B 84 (2022), arXiv:1905.02383. Shuffled batches get none: the true figure can
be far above that of Poisson sampling (Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha and Zhang, "How private are DP-SGD
implementations?", ICML 2024, arXiv:2403.17673).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from edgeworth.mechanisms import Gaussian, PoissonSampled, SampledWithoutReplacement

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.mechanisms import Mechanism

__all__ = ["ADJACENCIES", "RULES", "SAMPLERS", "Rule"]

#: what each sampler means
SAMPLERS = {
    "poisson": "every record enters every batch by itself, with probability batch_size/examples",
    "fixed-size": "every batch is batch_size different records, drawn afresh from all of them",
    "shuffle": "the records are shuffled and dealt into batches, each record once per epoch",
    "none": "nothing is drawn at random, any record may be in every batch",
}

#: what each notion of neighbour means
ADJACENCIES = {
    "add-remove": "one record is added or removed",
    "replace": "one record is replaced by any other",
    "zero-out": "one record is replaced by one that adds nothing to any sum",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """How far one record moves the sums of one unit, and the sampling that hides whether it was there at all."""

    moves: tuple[int, ...]
    amplify: Callable[[Mechanism, Any], Mechanism] | None = None
    per_pass: bool = False
    notes: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()

    def plain(self, run: Any) -> Mechanism:
        """One unit as if the record were known to be in it: the product of Gaussian(sigma/d) over the moves d."""
        first, *others = (Gaussian(noise_multiplier=run.noise_multiplier / move) for move in self.moves)
        unit: Mechanism = first
        for other in others:
            unit = unit * other
        return unit

    def unit(self, run: Any) -> Mechanism:
        """One unit, amplified where that is sound."""
        return self.amplify(self.plain(run), run) if self.amplify else self.plain(run)


def _poisson(noise: Mechanism, run: Any) -> Mechanism:
    return PoissonSampled(noise, rate=run.rate)


def _poisson_replace(noise: Mechanism, run: Any) -> Mechanism:
    return PoissonSampled(noise, rate=run.rate, adjacency="replace", clipped=True)


def _without_replacement(noise: Mechanism, run: Any) -> Mechanism:
    return SampledWithoutReplacement(noise, size=run.batch_size, population=run.examples)


_TWICE = "a replaced record moves a sum by twice the clipping norm: the noise multiplier counts half"
_FIXED_SIZE = 'no amplification: batches of a fixed size are amplified under adjacency="replace" alone'
_STAND_IN = "another record takes the place of a removed one and moves the sum by twice the clipping norm"
_SHUFFLE = "no amplification: none is known to be sound for shuffled batches, so an epoch is one release of each record"
_SHIFT = "the last record of the order takes the place of a removed one: two batches of each epoch change"
_NONE = "no amplification: every record counts as being in every batch"
_FRESH = "the first step begins an epoch"
_SAME_NUMBER = "the number of batches in an epoch does not depend on the record"
_SAME_OTHERS = "a record that is added or removed does not change which others are in a batch"

#: every sampler under every notion of neighbour; the docstring of this file says why
RULES = {
    ("poisson", "add-remove"): Rule((1,), _poisson),
    ("poisson", "replace"): Rule((2,), _poisson_replace, notes=(_TWICE,)),
    ("poisson", "zero-out"): Rule((1,), _poisson),
    ("fixed-size", "add-remove"): Rule((2,), notes=(_FIXED_SIZE, _STAND_IN)),
    ("fixed-size", "replace"): Rule((2,), _without_replacement, notes=(_TWICE,)),
    ("fixed-size", "zero-out"): Rule((1,), notes=(_FIXED_SIZE,)),
    ("shuffle", "add-remove"): Rule(
        (2, 1), per_pass=True, notes=(_SHUFFLE, _SHIFT), assumptions=(_FRESH, _SAME_NUMBER)
    ),
    ("shuffle", "replace"): Rule((2,), per_pass=True, notes=(_SHUFFLE, _TWICE), assumptions=(_FRESH,)),
    ("shuffle", "zero-out"): Rule((1,), per_pass=True, notes=(_SHUFFLE,), assumptions=(_FRESH,)),
    ("none", "add-remove"): Rule((1,), notes=(_NONE,), assumptions=(_SAME_OTHERS,)),
    ("none", "replace"): Rule((2,), notes=(_NONE, _TWICE)),
    ("none", "zero-out"): Rule((1,), notes=(_NONE,)),
}
