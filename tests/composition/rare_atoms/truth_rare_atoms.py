"""Delta of many rare samples of discrete Gaussian noise, to some twenty digits: writes truth_rare_atoms.json.

    python tests/composition/rare_atoms/truth_rare_atoms.py

The trapezoidal sum of the line integral in 60 digits, of a law without outcomes rarer than 1e-50 in all runs, up to a
frequency at which the transform of all steps has 1e-45 of its size.
"""

import json
from pathlib import Path

from mpmath import exp, expm1, fsum, inf, log, log1p, mp, mpc, mpf, pi

mp.dps = 60

# scale, sensitivity, rate, steps, epsilon, tilt, period
CASES = [
    (1.266, 1, 3.13e-6, 269590, 0.0268, 60, 3),
    (1.05, 1, 2.331e-6, 1238511, 0.0161, 60, 3),
    (3.185, 1, 4.2e-6, 32119, 0.0022, 20000, 0.02),
    (15.51, 2, 1.182e-6, 498209, 0.00048, 30000, 0.01),
    (1.934, 1, 4.639e-5, 7455286, 0.55, 100, 3),
    (0.91, 1, 4.3e-4, 376456792, 162.0, 1.4, 400),
]


def atoms(scale, shift, rate, steps):
    """Losses of one sample, and their masses under P."""
    scale, rate = mpf(scale), mpf(rate)
    last = int(20 * scale + shift) + 30
    weight = {k: exp(-(mpf(k) ** 2) / (2 * scale**2)) for k in range(-last, last + 1)}
    whole = fsum(weight.values())
    found = []
    for k, w in weight.items():
        loss = log1p(rate * expm1((2 * k - shift) * shift / (2 * scale**2)))
        if steps * w * (1 + exp(loss)) / whole > mpf("1e-50"):
            found.append((loss, w / whole))
    return found


def delta(law, steps, epsilon, tilt, period):
    """The sum over the nodes of the line Re s = tilt."""
    epsilon, tilt, h = mpf(epsilon), mpf(tilt), 2 * pi / mpf(period)
    terms, size, k = [], inf, 0
    while size > mpf("1e-45"):
        s = mpc(tilt, k * h)
        less_one = fsum(mass * expm1(s * loss) for loss, mass in law)
        if k == 0:
            front = steps * log1p(less_one.real)
        power = steps * log(1 + less_one)
        size = exp(power.real - front)
        terms.append((1 if k == 0 else 2) * (exp(power + epsilon * (1 - s)) / (s * (s - 1))).real)
        k += 1
    return fsum(terms) / mpf(period)


def main():
    """Write the table."""
    rows = []
    for scale, shift, rate, steps, epsilon, tilt, period in CASES:
        law = atoms(scale, shift, rate, steps)
        value, again = (delta(law, steps, epsilon, tilt, m * period) for m in (1, mpf("1.3")))
        digits = abs(value / again - 1)
        print(scale, steps, mp.nstr(value, 20), mp.nstr(digits, 3), flush=True)
        assert digits < mpf("1e-12")
        rows.append([scale, shift, rate, steps, epsilon, mp.nstr(value, 20)])
    Path(__file__).with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
