"""Our degree-2 estimates against what the authors' published code prints."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from edgeworth import Gaussian, Laplace, PoissonSampled, account

PRINTED = defaultdict(list)
with (Path(__file__).parent / "published-code.csv").open(encoding="utf-8") as file:
    for row in csv.DictReader(file):
        PRINTED[row["experiment"], int(row["n"]), row["p"]].append(row)
CASES = sorted(PRINTED)
