"""delta(eps) of two steps of noisy SGD to 20 digits: E_Q[delta_1(eps - L(x))] in 50 digits, delta_1 a formula.

    python tests/composition/truth_two_steps.py

rewrites truth_two_steps.json. No line, no cut, no jumps: nothing of the method under test is shared. Far out the
integrand has a layer about L(x) = eps as thin as the rate; panels that halve towards it resolve it. mpmath ends an
integral by its absolute error: the integrand is scaled, and a second value on other panels has to agree to 1e-18.
"""

import json
from pathlib import Path

import mpmath as mp

#: sigma, rate, eps: one far jump and a step of the bulk, or two jumps
CASES = [
    (1.0, 1e-3, 2.0416535),
    (1.0, 1e-3, 6.2278227),
    (1.0, 1e-6, 0.25549829),
    (1.0, 1e-6, 6.0367158),
    (0.3, 1e-5, 19.81466525),
    (2.0, 0.01, 0.90269005),
    (10.0, 1e-3, 0.02),
]
HALVINGS = 44


def profile(mu, p, epsilon):
    """delta_1(eps) = Q[x > x*] - e^eps P[x > x*], L(x*) = eps; below the least loss 1 - e^eps."""
    above = mp.expm1(epsilon) / p
    if above <= -1:
        return -mp.expm1(epsilon)
    x = (mp.log1p(above) + mu * mu / 2) / mu
    null = mp.ncdf(-x)
    return (1 - p) * null + p * mp.ncdf(mu - x) - mp.exp(epsilon) * null


def delta(case, panels):
    """The integral over the outcome of the other step, on so many panels to a unit."""
    mu, p, epsilon = 1 / mp.mpf(case[0]), mp.mpf(case[1]), mp.mpf(case[2])
    layer = (mp.log1p(mp.expm1(epsilon) / p) + mu * mu / 2) / mu

    def integrand(x):
        loss = mp.log1p(p * mp.expm1(mu * x - mu * mu / 2))
        return ((1 - p) * mp.npdf(x) + p * mp.npdf(x, mu)) * profile(mu, p, epsilon - loss)

    near = [layer + sign * mp.mpf(2) ** -k for k in range(HALVINGS) for sign in (-1, 1)]
    edges = sorted([layer, *near, *(mp.mpf(k) / panels for k in range(-20 * panels, 50 * panels + 1))])
    scale = max(integrand(edge) for edge in edges)
    return scale * mp.quad(lambda x: integrand(x) / scale, edges, maxdegree=9)


def main():
    """Write the values."""
    found = []
    with mp.workdps(50):
        for case in CASES:
            first, second = (delta(case, panels) for panels in (2, 3))
            if not abs(first / second - 1) < 1e-18:
                raise ArithmeticError(f"{case}: {first} and {second} differ")
            found.append({"case": case, "delta": mp.nstr(first, 20)})
            print(found[-1], flush=True)
    Path(__file__).with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
