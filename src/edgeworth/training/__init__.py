"""Describing a training run: from examples, batches and epochs to a mechanism, in whole numbers."""

from __future__ import annotations

from edgeworth.training.dpsgd import DPSGD
from edgeworth.training.phases import Training, training_from_dict

__all__ = ["DPSGD", "Training", "training_from_dict"]
