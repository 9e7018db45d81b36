"""What one call of the optimizer adds to the account, given how the engine draws its batches.

Opacus tells an accountant the rate of its loader, 1/len(loader), and how many batches were accumulated into a step.
Both can say less than they seem to.

- With ``poisson_sampling=False`` the batches come from the loader that was given, shuffled or not. No amplification is
  known to be sound then, so such steps count at rate 1: any record may be in every batch.
- If k batches are drawn by themselves and their sum gets noise sigma, a record can be in several of them and move the
  sum by up to k clipping norms, so k q is not the rate of such a step. But noise sigma on the sum is noise
  sigma/sqrt(k) on each of the k batches, added up. The step is thus a function of k steps with that noise at rate q,
  and costs no more than they do. The same holds at rate 1.
"""

from __future__ import annotations

import inspect
import math
import warnings
from typing import Any

from edgeworth.errors import Unsupported

__all__ = ["asked_for_poisson_sampling", "noise_of_one", "refuse_adaptive_clipping", "warn_of_other_sampling"]

_ULPS = 4e-16  # of a square root and a quotient


def asked_for_poisson_sampling() -> bool | None:
    """The `poisson_sampling` of the call of `make_private` that we are in; None outside of one.

    The engine does not pass it on to the accountant. It does ask for the accountant's hook inside `make_private`, so
    the argument is a local name there.
    """
    frame = inspect.currentframe()
    while frame is not None and not (frame.f_code.co_name == "make_private" and "poisson_sampling" in frame.f_locals):
        frame = frame.f_back
    return None if frame is None else bool(frame.f_locals["poisson_sampling"])


def warn_of_other_sampling() -> None:
    """Say what ``poisson_sampling=False`` means for the figures."""
    warnings.warn(
        "poisson_sampling=False: amplification is proved for Poisson batches, so these steps are accounted at sample "
        "rate 1, and noise that was calibrated for Poisson batches will miss its target. If your own loader draws "
        "Poisson batches, say its rate: optimizer.attach_step_hook(lambda o: engine.accountant.step("
        "noise_multiplier=o.noise_multiplier, sample_rate=...))",
        stacklevel=4,  # whoever called make_private
    )


def refuse_adaptive_clipping(optimizer: Any) -> None:
    """Raise where the noise does not cover all that a step reveals."""
    if hasattr(optimizer, "unclipped_num_std"):
        raise Unsupported(
            "clipping='adaptive' has no guarantee: Opacus divides the noisy number of unclipped gradients by the exact "
            "size of the batch, and no noise hides that; use clipping='flat' or 'per_layer'"
        )


def noise_of_one(noise_multiplier: float, batches: int) -> float:
    """Returns at most noise_multiplier/sqrt(batches), the noise of one of the batches that share it."""
    return noise_multiplier if batches == 1 else noise_multiplier / math.sqrt(batches) * (1 - _ULPS)
