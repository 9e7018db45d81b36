"""delta(eps) of one sample or two at a tiny rate beside Gaussian noise and responses, to 20 digits.

    python tests/composition/contour/truth_beside_gaussian.py

rewrites truth_beside_gaussian.json. T = S + G + R: the formula of Gaussian noise G at eps - S - R, summed over the
values of the responses R and integrated over the outcomes x of the samples under Q by the trapezoidal rule,

    delta(eps) = sum over R and integral over x of dQ(R) dQ(x) delta_G(eps - L(x) - R),

and delta'(eps) the same under P with delta_G(eps + L(x) + R). Each is computed with two spacings that must agree to
1e-18.
"""

import itertools
import json
from pathlib import Path

import mpmath as mp

#: direction, sigma, rate, samples, sigma and number of the Gaussian steps, epsilon and number of the responses, eps
CASES = [
    ("forward", 0.821, 5.83e-5, 1, 31.313, 13, 0.795, 16, 14.79),
    ("forward", 1.001, 6.58e-4, 1, 20.0, 3, 0.0, 0, 3.0),
    ("forward", 0.483, 1.66e-6, 1, 10.05, 2, 0.0, 0, 8.5),
    ("backward", 0.825, 2.34e-5, 1, 3.613, 3, 0.131, 6, 3.39),
    ("forward", 0.901, 1.51e-4, 2, 26.8, 4, 0.0, 0, 0.4),
]
FAR = 16  # deviations beyond both laws that are left out: 1e-57


def gaussian(mu, epsilon):
    """Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2), without cancellation that digits would miss."""
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def outcomes(sigma, rate, spacing, side):
    """The losses of one sample at even outcomes, with their masses under Q or P."""
    mu, p = 1 / mp.mpf(sigma), mp.mpf(rate)
    for k in range(int(-FAR / spacing), int((FAR + mu) / spacing) + 1):
        x = k * mp.mpf(spacing)
        loss = mp.log(1 - p + p * mp.exp(mu * x - mu * mu / 2))
        log_mass = -x * x / 2 + (loss if side == "forward" else 0)
        yield loss, mp.exp(log_mass) * spacing / mp.sqrt(2 * mp.pi)


def responses(epsilon, n, side):
    """The values of n responses, with their masses under Q or P."""
    e = mp.mpf(epsilon)
    up = 1 / (1 + mp.exp(-e if side == "forward" else e))
    return [((2 * k - n) * e, mp.binomial(n, k) * up**k * (1 - up) ** (n - k)) for k in range(n + 1)]


def delta(case, spacing):
    """The sum over all runs of outcomes and responses."""
    side, sigma, rate, samples, noise, count, e, n, epsilon = case
    mu, sign = mp.sqrt(count) / mp.mpf(noise), -1 if side == "forward" else 1
    one, total = list(outcomes(sigma, rate, mp.mpf(spacing), side)), mp.mpf(0)
    for run in itertools.combinations_with_replacement(one, samples):
        loss, mass = mp.fsum(l for l, _ in run), mp.fprod(m for _, m in run)
        ways = 2 if samples == 2 and run[0] is not run[1] else 1
        if ways * mass < mp.mpf(10) ** -60:
            continue
        for value, share in responses(e, n, side):
            total += ways * mass * share * gaussian(mu, mp.mpf(epsilon) + sign * (loss + value))
    return total


def main():
    """Write the values, each confirmed by a second one."""
    mp.mp.dps = 70
    found = []
    for case in CASES:
        spacings = (0.01, 0.013) if case[3] == 1 else (0.06, 0.07)
        first, second = (delta(case, spacing) for spacing in spacings)
        if not abs(first / second - 1) < mp.mpf(10) ** -18:
            raise ArithmeticError(f"{case}: {first} and {second} differ")
        found.append({"case": case, "delta": mp.nstr(first, 20)})
        print(found[-1], flush=True)
    Path(__file__).with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
