"""Laplace steps and atoms composed directly, term by term in real space, to 50 digits and more.

    python tests/composition/residues/truth_residues.py

writes truth_residues.json. At the tilt 1/2 a Laplace step is the sum over signs of e^(z s theta) (1 + s w)/2, w = 1/2z.
The product is expanded with exact integers into terms e^(z tau) w^k, and each is inverted by hand: dividing by z
is an integral from the right, so with x = tau - t > 0

    I_k(x) = 4 (I_(k-2)(x) - x^(k-1)/(k-1)!),   I_0 = 2 sinh(x/2),  I_1 = 4 (cosh(x/2) - 1)      for the profile,
    A_k(x) = 2 (x^(k-1)/(k-1)! - A_(k-1)(x)),   A_0 = e^(-x/2)                                   for P[T > t].

The terms cancel; the digits that are worked with grow with the number of steps.
"""

from __future__ import annotations

import itertools
import json
from math import comb
from pathlib import Path

import mpmath as mp

#: steps are (theta, n) for Laplace noise; responses are (epsilon, n) for randomized response
CASES = [
    ([(1.0, 2)], []),
    ([(0.25, 3)], []),
    ([(1.0, 10)], []),
    ([(20.0, 4)], []),
    ([(1e-4, 200)], []),
    ([(0.1, 300)], []),
    ([(1.0, 1), (0.5, 2), (0.3, 1)], []),
    ([(0.7, 3), (2.0, 1)], [(0.4, 2)]),
    ([(1.5, 1)], [(0.25, 3), (1.0, 1)]),
]
SHARES = [0.0, 0.0137, 0.1013, 0.371, 0.803, 0.9907]  # beside the atoms, but for the first


def expand(steps, responses):
    """All (weight, up, down, tau): weights as products of binomials and masses at the tilt 1/2."""
    choices = []
    for theta, n in steps:
        choices.append([(mp.mpf(comb(n, j)) / 2**n, j, n - j, (2 * j - n) * mp.mpf(theta)) for j in range(n + 1)])
    for epsilon, n in responses:
        mass = 1 / (2 * mp.cosh(mp.mpf(epsilon) / 2))
        choices.append([(comb(n, j) * mass**n, 0, 0, (2 * j - n) * mp.mpf(epsilon)) for j in range(n + 1)])
    for pick in itertools.product(*choices):
        weight = mp.fprod(one[0] for one in pick)
        yield weight, sum(one[1] for one in pick), sum(one[2] for one in pick), mp.fsum(one[3] for one in pick)


def coefficients(up, down):
    """Of (1 + w)^up (1 - w)^down, exact integers."""
    row = [comb(up, k) for k in range(up + 1)]
    for _ in range(down):
        row = [a - b for a, b in zip([*row, 0], [0, *row], strict=True)]
    return row


def inverted(kind, size, x):
    """I_0 … or A_0 …, `size` of them."""
    powers, term = [], mp.mpf(1)
    for k in range(size):
        powers.append(term)
        term = term * x / (k + 1)
    if kind == "delta":
        values = [2 * mp.sinh(x / 2), 4 * (mp.cosh(x / 2) - 1)]
        for k in range(2, size):
            values.append(4 * (values[k - 2] - powers[k - 1]))
    else:
        values = [mp.exp(-x / 2)]
        for k in range(1, size):
            values.append(2 * (powers[k - 1] - values[k - 1]))
    return values


def truth(kind, steps, responses, t):
    """delta(t), or P[T > t] for kind "alpha"; t is taken as the double it is."""
    count = sum(n for _, n in steps)
    with mp.workdps(60 + 2 * count):
        t = mp.mpf(t)
        front = -mp.fsum(n * mp.mpf(theta) for theta, n in steps) / 2
        total, rows = mp.mpf(0), {}
        for weight, up, down, tau in expand(steps, responses):
            if tau <= t:
                continue
            if (up, down) not in rows:
                rows[up, down] = coefficients(up, down)
            values = inverted(kind, count + 1, tau - t)
            total += weight * mp.fsum(
                a * v / 2**k for k, (a, v) in enumerate(zip(rows[up, down], values, strict=False))
            )
        return mp.exp(front + (t if kind == "delta" else -t) / 2) * total


def main():
    rows = []
    for steps, responses in CASES:
        top = sum(n * theta for theta, n in [*steps, *responses])
        for share in SHARES:
            t = share * top
            values = {kind: mp.nstr(truth(kind, steps, responses, t), 50) for kind in ("delta", "alpha")}
            rows.append({"steps": steps, "responses": responses, "t": t, **values})
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(f"{len(rows)} rows in {path.name}")


if __name__ == "__main__":
    main()
