"""Certified composition by line integrals: all digits, both tails, any number of steps.

The engine needs one part whose loss has a density with a bounded tail in frequency: Gaussian noise, or a Poisson sample
of it. Other parts (Laplace, randomized response, …) may be mixed in. `docs/proofs/contour.md` proves every bound.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from edgeworth.composition.contour import jumps
from edgeworth.composition.contour.answers import Answers
from edgeworth.composition.contour.certified_moment import NATS
from edgeworth.composition.contour.rung import ALIAS_NATS
from edgeworth.composition.remembered import answered
from edgeworth.composition.samples import density, gaussian_samples
from edgeworth.curves import Certificate
from edgeworth.errors import Unsupported
from edgeworth.losses import GaussianLoss, LaplaceLoss, PrivacyLoss, ReplacedGaussianLoss, SampledLoss, TotalLoss

if TYPE_CHECKING:
    from edgeworth.composition.result import ComposedCurve

__all__ = ["answers_well", "applies", "compose", "has_dense_samples", "prepared"]

_NOTE = "every reading carries its own bound on all of these, and on rounding"
_AIMED_AT = {  # what the nodes are chosen for, relative to the reading
    "aliases of the trapezoidal rule": math.exp(-ALIAS_NATS),
    "quadrature of the characteristic function": math.exp(-NATS),
    "tail beyond the last node": math.exp(-NATS),
}
_CERTIFICATE = Certificate("contour", certified=True, sources=_AIMED_AT, notes=(_NOTE,))
_FEWEST_STEPS = 3
_MANY_STEPS = 50
_SURELY_DENSE = 0.02  # n p^2 of samples, from which on every reading is one of a whole line
_SMOOTH = 0.02  # from here on a reading takes well below a second
_ENOUGH_DENSITY = 30.0
_SMALL_MU = 3.0
_DENSE = 1e-4  # n p^2 of few samples, from which on their jumps are part of the bulk
_DENSE_CLIPPED = 1e-5  # the same of samples in which a clipped record is replaced, by measurement
_MOST_NODES = 1e6  # about, of a line through the bulk
_NATS = 25.0  # by which |phi| falls along it
_LOG_FREQUENCIES = np.linspace(0.0, 60.0, 601)
_LARGEST_MU = 60.0  # of a sample: beyond, its two bumps have nothing between them
_MOST_REPEATS = 10**15  # of one step: whole numbers beyond are no longer exact doubles


@lru_cache(maxsize=8)
def applies(total: TotalLoss) -> bool:
    """Whether the line integral can be tried: densities that are formulas, and something that smooths the total.

    Gaussian noise smooths any mix, samples of it do if there are three at least, and Laplace noise does once the
    runs that meet nothing but its atoms are rarer than e^-30.
    """
    sampled = gaussian_samples(total)
    if not total.is_exact or any(_mu(loss) > _LARGEST_MU for loss, _ in sampled):
        return False
    if any(n > _MOST_REPEATS for loss, n in total.parts if not isinstance(loss, GaussianLoss)):
        return False
    if any(isinstance(loss, GaussianLoss) and 0 < loss.mu < math.inf for loss, _ in total.parts):
        return True
    if sum(n for _, n in sampled) >= _FEWEST_STEPS or _clipped(total) >= _FEWEST_STEPS:
        return True
    return _density_nats(total) >= _ENOUGH_DENSITY


@lru_cache(maxsize=8)
def has_dense_samples(total: TotalLoss) -> bool:
    """Whether many dense samples of Gaussian noise are all there is: no other engine comes before their lines.

    >>> import edgeworth as ew
    >>> step = ew.PoissonSampled(ew.Gaussian(2.0), rate=0.01)
    >>> [has_dense_samples(TotalLoss.of(run)) for run in (step**500, step**50, step**500 * ew.Laplace(1.0))]
    [True, False, False]
    """
    sampled = gaussian_samples(total)
    if len(sampled) < len(total.parts) or density(sampled) < _SURELY_DENSE:
        return False
    return sum(n for _, n in sampled) >= _MANY_STEPS and applies(total)


def _clipped(total: TotalLoss) -> int:
    """How many samples there are in which a clipped record is replaced; 0 where their jumps spoil every line."""
    parts = [(loss, n) for loss, n in total.parts if isinstance(loss, ReplacedGaussianLoss) and loss.mu <= _LARGEST_MU]
    dense = math.fsum(n * loss.rate**2 for loss, n in parts) >= _DENSE_CLIPPED
    return sum(n for _, n in parts) if dense else 0


def _mu(loss: PrivacyLoss) -> float:
    """The mu of Gaussian noise, sampled or not; 0 for everything else."""
    base = loss.base if isinstance(loss, SampledLoss) else loss
    return base.mu if isinstance(base, GaussianLoss) else 0.0


def _density_nats(total: TotalLoss) -> float:
    """Minus the log of the mass of runs of atoms only, at the tilt 1/2: a step of Laplace noise has 1/(1 + theta/2)."""
    return math.fsum(n * math.log1p(loss.theta / 2) for loss, n in total.parts if isinstance(loss, LaplaceLoss))


def _smoothness(total: TotalLoss) -> float:
    """What decides how fast the characteristic function of samples falls, by measurement: sum of n p^2 sigma^2.5."""
    sampled = gaussian_samples(total)
    return math.fsum(n * loss.rate**2 / _mu(loss) ** 2.5 for loss, n in sampled)


def _enough_samples(total: TotalLoss) -> bool:
    """Samples at rates so small that their jumps can be told apart, or fifty or more with n p^2 >= 1e-3.

    A few samples must be alone for that: their jumps do not smooth what other steps leave.
    """
    sampled = gaussian_samples(total)
    many, alone = sum(n for _, n in sampled) >= _MANY_STEPS, len(sampled) == len(total.parts)
    if jumps.applies(total) and (many or alone):
        return True
    return many and density(sampled) >= 1e-3


def _likely_nodes(total: TotalLoss) -> float:
    """About how many nodes a line through the bulk of samples has, by measurement.

    |phi| falls like e^(-sum n log^2(p t)/(2 mu^2)), and aliases are some mu^2 apart.
    """
    parts = [(n, math.log(loss.rate), _mu(loss)) for loss, n in gaussian_samples(total)]
    fallen = sum(n * np.maximum(_LOG_FREQUENCIES + log_rate, 0.0) ** 2 / (2 * mu**2) for n, log_rate, mu in parts)
    far = np.flatnonzero(fallen > _NATS)
    period = 10 + 20 * max((mu for _, _, mu in parts), default=0.0) ** 2
    return math.exp(_LOG_FREQUENCIES[far[0]]) * period / (2 * math.pi) if far.size else math.inf


def _few_samples(total: TotalLoss) -> bool:
    """Fewer samples than that, and nothing else, but with lines that can be had."""
    sampled = gaussian_samples(total)
    return len(sampled) == len(total.parts) and density(sampled) >= _DENSE and _likely_nodes(total) < _MOST_NODES


def answers_well(total: TotalLoss) -> bool:
    """Whether it applies and its lines can be had: by formula for samples of Gaussian noise, else they are tried."""
    if not applies(total):
        return False
    if any(isinstance(loss, GaussianLoss) and loss.mu > 0 for loss, _ in total.parts):
        clear = _smoothness(total) > _SMOOTH / 2 and all(0 < _mu(loss) < _SMALL_MU for loss, _ in total.parts)
        return clear or prepared(total).usable
    if _smoothness(total) > _SMOOTH or _enough_samples(total) or _few_samples(total):
        alone = len(gaussian_samples(total)) == len(total.parts)
        return alone or prepared(total).usable  # beside steps with atoms a few smooth ones may not be enough
    dense = _clipped(total) >= _FEWEST_STEPS or _density_nats(total) >= _ENOUGH_DENSITY
    return dense and prepared(total).usable


@lru_cache(maxsize=8)
def prepared(total: TotalLoss) -> Answers:
    """The answers of a total loss; the last few are kept, so that asking whether they can be had costs nothing."""
    return Answers(total)


def compose(total: TotalLoss, *, degree: int = 2) -> ComposedCurve:
    """The enclosure by line integrals, prepared lazily: a reading builds only the lines that it needs."""
    del degree
    if not applies(total):
        raise Unsupported(
            'method="contour" needs Gaussian noise, three samples of it, or very many steps of Laplace noise; '
            'use method="auto", which falls back on others'
        )
    return answered(prepared(total), total, _CERTIFICATE)
