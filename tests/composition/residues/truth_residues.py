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
from functools import cache
from math import comb, prod
from pathlib import Path

import mpmath as mp
from flint import arb, ctx, fmpz_poly

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
        choices.append([(arb(comb(n, j)) / 2**n, j, n - j, (2 * j - n) * arb(theta)) for j in range(n + 1)])
    for epsilon, n in responses:
        mass = 1 / (2 * (arb(epsilon) / 2).cosh())
        choices.append([(comb(n, j) * mass**n, 0, 0, (2 * j - n) * arb(epsilon)) for j in range(n + 1)])
    for pick in itertools.product(*choices):
        weight, tau = prod((one[0] for one in pick), start=arb(1)), sum((one[3] for one in pick), arb(0))
        yield weight, sum(one[1] for one in pick), sum(one[2] for one in pick), tau


@cache
def coefficients(up, down):
    """Of (1 + w)^up (1 - w)^down, exact integers."""
    return (fmpz_poly([1, 1]) ** up * fmpz_poly([1, -1]) ** down).coeffs()


def inverted(kind, size, x):
    """I_0 … or A_0 …, `size` of them."""
    powers, term = [], arb(1)
    for k in range(size):
        powers.append(term)
        term = term * x / (k + 1)
    if kind == "delta":
        values = [2 * (x / 2).sinh(), 4 * ((x / 2).cosh() - 1)]
        for k in range(2, size):
            values.append(4 * (values[k - 2] - powers[k - 1]))
    else:
        values = [(-x / 2).exp()]
        for k in range(1, size):
            values.append(2 * (powers[k - 1] - values[k - 1]))
    return values


def truth(kind, steps, responses, t):
    """delta(t), or P[T > t] for kind "alpha"; t is taken as the double it is."""
    count, before = sum(n for _, n in steps), ctx.prec
    ctx.dps = 60 + 2 * count
    try:
        total = arb(0)
        for weight, up, down, tau in expand(steps, responses):
            if tau > t:
                values = inverted(kind, count + 1, tau - t)
                terms = zip(coefficients(up, down), values, range(count + 1), strict=False)
                total += weight * sum((v * a / 2**k for a, v, k in terms), arb(0))
        front = (sum((-n * arb(theta) for theta, n in steps), arb(0)) + (t if kind == "delta" else -t)) / 2
        found = (front.exp() * total).str(60, radius=False)
    finally:
        ctx.prec = before
    with mp.workdps(60):
        return mp.mpf(found)


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
