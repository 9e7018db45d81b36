"""Ends of delta of few samples of discrete noise beside a response, in whole numbers: writes truth_apart.json.

    python tests/composition/mixture/truth_apart.py

Beside the values l_j of a response, of masses p_j under P and q_j under Q,

    delta(eps) = sum of q_j delta_S(eps - l_j),    delta'(eps) = sum of p_j delta'_S(eps + l_j).

delta_S next to 0 is enclosed by the whole numbers of truth_few_samples. It does not rise: farther to the right than the
last place at which it is, it is between 0 and what it is there, and to the left delta(t) = 1 - e^t + e^t delta'(-t).
"""

import json
import sys
from pathlib import Path

from mpmath import exp, expm1, mp, mpf

sys.path.append(str(Path(__file__).parents[1] / "rare_atoms"))
from truth_few_samples import ends

mp.dps = 140

# scale, sensitivity, rate, steps, the response, its categories, direction, epsilon, step of the lattice, last place
CASES = [
    (3.64, 1, 0.00181, 54, 1.54, 3, "forward", 1.545, 1e-6, 0.03),
    (3.64, 1, 0.00181, 54, 1.54, 3, "backward", 1.535, 1e-6, 0.03),
    (3.64, 1, 0.00181, 54, 1.54, 3, "forward", 0.004, 1e-6, 0.03),
    (1.0, 1, 0.001, 20, 0.9, 2, "forward", 0.93, 1e-6, 0.3),
    (1.0, 1, 0.001, 20, 0.9, 2, "backward", 0.91, 2e-7, 0.02),
]
OTHER = {"forward": "backward", "backward": "forward"}


def far(run, direction, place, h):
    """At most delta_S at a place that is farther than any delta of the sum counts."""
    return ends(*run, direction, place, h)[1]


def term(run, direction, t, h, last):
    """Ends of delta_S at t."""
    if abs(t) < last:
        return ends(*run, direction, t, h)
    if t > 0:
        return mpf(0), far(run, direction, last, 20 * h)
    least = -expm1(t)
    return least, least + exp(t) * far(run, OTHER[direction], last, 20 * h)


def main():
    """Write the table."""
    rows = []
    for *run, response, categories, direction, epsilon, h, last in CASES:
        e = mpf(response)
        whole = exp(e) + categories - 1
        values = [(e, 1 / whole), (-e, exp(e) / whole), (mpf(0), (categories - 2) / whole)]
        low = high = mpf(0)
        for loss, null in values:
            forward = direction == "forward"
            least, most = term(run, direction, mpf(epsilon) + (-loss if forward else loss), h, last)
            mass = null * exp(loss) if forward else null
            low, high = low + mass * least, high + mass * most
        print(*run, direction, epsilon, mp.nstr(low, 15), mp.nstr(high, 15), mp.nstr(high / low - 1, 3), flush=True)
        rows.append([*run, response, categories, direction, epsilon, mp.nstr(low, 18), mp.nstr(high, 18)])
    Path(__file__).with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
