"""Ends of delta of few samples of discrete Gaussian noise, in whole numbers: writes truth_few_samples.json.

    python tests/composition/rare_atoms/truth_few_samples.py

Losses are put on points h apart in two ways. Spread to both neighbours so that the mean of X = e^L stays what it is,
delta does not fall. With nothing known of a step but the number of its nearest point, and of a run but the sum of these
numbers, delta does not rise: it is the sum of (Q - u P)_+ over all sums. Powers of the laws are products of polynomials
whose coefficients are whole multiples of 2^-400, and

    delta = 1 - u + E[(u - X)_+],      delta' = u E[(1/u - X)_+]

ask for no losses above the threshold.
"""

import json
from pathlib import Path

from flint import fmpz_poly
from mpmath import exp, expm1, floor, log1p, mp, mpf, nint

mp.dps = 140
BITS = 400

# scale, sensitivity, rate, steps, direction, epsilon, step of the lattice
CASES = [
    (2.06, 1, 0.003, 36, "forward", 0.0695, 1e-6),
    (2.06, 1, 0.003, 36, "forward", 0.54, 1e-5),
    (1.0, 1, 0.001, 20, "forward", 0.03, 5e-7),
    (1.0, 1, 0.001, 20, "backward", 0.0185, 2e-8),
    (0.763, 3, 0.0246, 39, "backward", 0.9, 1e-6),
    (0.695, 1, 0.258, 16, "backward", 4.7, 1e-6),
    (0.92, 1, 0.0002, 60, "forward", 0.08, 1e-6),
    (0.44, 2, 2e-05, 88, "forward", 0.4785, 5e-6),
    (2.06, 1, 0.003, 36, "backward", 0.05, 5e-7),
    (0.335, 1, 2.44e-5, 1360, "forward", 23.3, 1e-4),
    (0.43, 1, 0.0002, 3000, "forward", 9.0, 2e-5),
]


def atoms(scale, shift, rate):
    """Losses of one sample, and their masses under P, rising."""
    scale, rate = mpf(scale), mpf(rate)
    last = int(23 * scale + shift) + 12
    weight = [exp(-(mpf(k) ** 2) / (2 * scale**2)) for k in range(-last, last + 1)]
    whole = sum(weight)
    losses = [log1p(rate * expm1(mpf((2 * k - shift) * shift) / (2 * scale**2))) for k in range(-last, last + 1)]
    return list(zip(losses, [w / whole for w in weight], strict=True))


def power(masses, n, length):
    """The first coefficients of the n-th power of a polynomial with coefficients masses[k], in multiples of 2^-BITS."""
    row = [0] * length
    for k, mass in masses:
        if k < length:
            row[k] += int(floor(mass * mpf(2) ** BITS))
    square, made = fmpz_poly(row), None
    while n:
        if n % 2:
            made = square if made is None else scaled(made.mul_low(square, length))
        n //= 2
        square = scaled(square.mul_low(square, length)) if n else square
    return [int(c) for c in made.coeffs()] + [0] * (length - made.length())


def scaled(product):
    return fmpz_poly([int(c) >> BITS for c in product.coeffs()])


def ends(scale, shift, rate, n, direction, epsilon, h):
    """A lower and an upper end of delta."""
    law, h, u = atoms(scale, shift, rate), mpf(h), exp(mpf(epsilon))
    threshold = mpf(epsilon) if direction == "forward" else -mpf(epsilon)
    first = law[0][0]
    length = int((threshold - n * first) / h) + n + 3
    spread, null, alternative = [], [], []
    for loss, mass in law:
        k = int(floor((loss - first) / h))
        if k + 1 < length:
            share = expm1(loss - first - k * h) / expm1(h)
            spread += [(k, mass * (1 - share)), (k + 1, mass * share)]
            nearest = int(nint((loss - first) / h))
            null.append((nearest, mass))
            alternative.append((nearest, mass * exp(loss)))
    unit, place, growth = mpf(2) ** -BITS, exp(n * first), exp(h)
    limit, above = exp(threshold), mpf(0)
    for mass in power(spread, n, length):
        if place >= limit:
            break
        above += mass * unit * (limit - place)
        place *= growth
    rows = zip(power(null, n, length), power(alternative, n, length), strict=True)
    below = sum(max(limit * p - q, 0) for p, q in rows) * unit
    if direction == "forward":
        return 1 - u + below, 1 - u + above
    return u * below, u * above


def main():
    """Write the table."""
    rows = []
    for case in CASES:
        low, high = ends(*case)
        print(*case, mp.nstr(low, 15), mp.nstr(high, 15), mp.nstr(high / low - 1, 3), flush=True)
        rows.append([*case[:-1], mp.nstr(low, 18), mp.nstr(high, 18)])
    Path(__file__).with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
