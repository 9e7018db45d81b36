"""Writes truth_cumulants.json: cumulants of privacy losses to 25 digits, by mpmath from exact doubles.

    python tests/losses/truth_cumulants.py            # writes the file
    python tests/losses/truth_cumulants.py --check    # fails where the file says something else

Every number is computed twice, with different nodes and different precision; the two must agree to 1e-30 relative
or nothing is written. The quadratures are independent of the package's: finer trapezoidal sums in x for Gaussian
noise, tanh-sinh panels for Laplace noise, the atoms themselves for randomized response.
"""

from __future__ import annotations

import json
import sys
from itertools import product
from math import comb
from pathlib import Path

from mpmath import mp, mpf

FILE = Path(__file__).with_suffix(".json")
ORDER = 10
TILTED_ORDER = 6
AGREE = mpf(10) ** -30

SIGMAS = (0.3, 0.6, 1.0, 5.0, 30.0, 100.0)
RATES = (1e-6, 1e-3, 0.1, 0.5, 0.999, 1.0)
THETAS = (1e-6, 0.01, 0.3, 3.0, 30.0)
EPSILONS = (1e-4, 0.1, 1.0, 10.0)
TILTS = (-3.0, -0.5, 0.25, 0.625, 1.5, 4.0, 12.0)


def gaussian_nodes(sigma, digits, stretch):
    """x, and its weight under N(0, 1), so that L = mu x - mu^2/2: a trapezoidal rule, error below 10^-digits."""
    mu = 1 / mpf(sigma)
    nats = mpf(digits) * mpf("2.31") * stretch
    strip = min(mpf("0.9") * mp.pi / mu, mp.sqrt(2 * nats))
    h = 2 * mp.pi / (nats / strip + strip / 2)
    reach = mp.sqrt(2 * nats) + 1
    first, last = int(mp.floor(-(reach + 4 * mu) / h)), int(mp.ceil((reach + 13 * mu) / h))
    shift = (stretch - 1) * h  # the second rule has other nodes altogether
    front = h / mp.sqrt(2 * mp.pi)
    points = [h * k + shift for k in range(first, last + 1)]
    return [(mu * x - mu * mu / 2, front * mp.exp(-x * x / 2)) for x in points]


def laplace_nodes(theta, digits, stretch):
    """Both atoms, and tanh-sinh panels of length at most 1 for the density e^-x/2 on (0, theta)."""
    theta = mpf(theta)
    nodes = [(-theta, mpf(1) / 2), (theta, mp.exp(-theta) / 2)]
    panels = max(1, int(mp.ceil(theta * stretch)))
    width = theta / panels
    step = mpf(1) / int(digits * mpf("0.4") * stretch)
    reach = mp.asinh(digits * mpf("2.31") / mp.pi) + mpf("0.3")
    rule = []
    for k in range(-int(reach / step), int(reach / step) + 1):
        u = mp.pi / 2 * mp.sinh(step * k)
        left, right = 1 / (1 + mp.exp(-2 * u)), 1 / (1 + mp.exp(2 * u))
        rule.append((left, step * mp.pi * mp.cosh(step * k) * left * right))
    for panel in range(panels):
        for left, share in rule:
            x = width * (panel + left)
            nodes.append((2 * x - theta, width * share * mp.exp(-x) / 2))
    return nodes


def response_nodes(epsilon, _digits, _stretch):
    """The two atoms."""
    epsilon = mpf(epsilon)
    lie = 1 / (1 + mp.exp(epsilon))
    return [(-epsilon, 1 - lie), (epsilon, lie)]


def sampled(nodes, rate, leak=0):
    """Nodes of the sample, given that its loss is finite; the leak of the base becomes an atom at log(1-p)."""
    p, leak = mpf(rate), mpf(leak)
    whole = 1 - p * leak
    return [
        *([(mp.log((1 - p) / whole), leak)] if leak else []),
        *((mp.log((1 - p + p * mp.exp(loss)) / whole), (1 - leak) * weight) for loss, weight in nodes),
    ]


def cumulants(losses, weights, order):
    """From central moments, in as many digits as mp has."""
    total = mp.fsum(weights)
    mean = mp.fsum(w * x for x, w in zip(losses, weights, strict=True)) / total
    moment = [mpf(1), mpf(0)]
    terms = [w * (x - mean) / total for x, w in zip(losses, weights, strict=True)]
    deviations = [x - mean for x in losses]
    for _ in range(2, order + 1):
        terms = [t * d for t, d in zip(terms, deviations, strict=True)]
        moment.append(mp.fsum(terms))
    kappa = [mpf(0), mean]
    for r in range(2, order + 1):
        kappa.append(moment[r] - sum(comb(r - 1, j - 1) * kappa[j] * moment[r - j] for j in range(2, r - 1)))
    return kappa[1:]


def under_both(nodes):
    """Cumulants under P, then under Q."""
    losses, weights = [x for x, _ in nodes], [w for _, w in nodes]
    growth = [w * mp.exp(x) for x, w in nodes]
    return cumulants(losses, weights, ORDER) + cumulants(losses, growth, ORDER)


def tilted_rows(nodes):
    """K(c), kappa_1(c), … of the law tilted by e^(cL), for each tilt in turn."""
    losses = [x for x, _ in nodes]
    rows = []
    for c in TILTS:
        weights = [w * mp.exp(mpf(c) * x) for x, w in nodes]
        rows += [mp.log(mp.fsum(weights)), *cumulants(losses, weights, TILTED_ORDER)]
    return rows


def twice(values, nodes, digits=110):
    """Two computations that share neither nodes nor precision; 25 digits of what they agree on."""
    found = []
    for precision, stretch in ((digits, mpf(1)), (digits + 25, mpf("1.17"))):
        with mp.workdps(precision + 10):
            found.append(values(nodes(precision, stretch)))
    with mp.workdps(digits):
        for one, other in zip(*found, strict=True):
            if not abs(one - other) <= AGREE * abs(other):
                raise ArithmeticError(f"the two computations differ: {mp.nstr(one, 30)} and {mp.nstr(other, 30)}")
        return [mp.nstr(value, 25) for value in found[1]]


def cases():
    """Each law by name and arguments, with its nodes and what is computed from them."""
    for sigma, rate in product(SIGMAS, RATES[:-1]):  # rate 1 is Gaussian: a formula, not a table
        yield (
            "noisy-sgd",
            (sigma, rate),
            under_both,
            lambda d, s, a=sigma, p=rate: sampled(gaussian_nodes(a, d, s), p),
        )
    for theta in THETAS:
        yield "laplace", (theta,), under_both, lambda d, s, a=theta: laplace_nodes(a, d, s)
    for epsilon in EPSILONS:
        yield "response", (epsilon,), under_both, lambda d, s, a=epsilon: response_nodes(a, d, s)
    for theta, rate in product((0.01, 0.3, 3.0, 30.0), (1e-3, 0.1, 0.999)):
        yield (
            "sampled-laplace",
            (theta, rate),
            under_both,
            lambda d, s, a=theta, p=rate: sampled(laplace_nodes(a, d, s), p),
        )
    for epsilon, rate in product((0.1, 1.0, 10.0), (1e-3, 0.1, 0.999)):
        yield (
            "sampled-response",
            (epsilon, rate),
            under_both,
            lambda d, s, a=epsilon, p=rate: sampled(response_nodes(a, d, s), p),
        )
    for epsilon, leak, rate in product((0.5, 3.0), (1e-6, 0.1), (0.01, 0.9)):
        yield (
            "sampled-approx-dp",
            (epsilon, leak, rate),
            under_both,
            lambda d, s, a=epsilon, b=leak, p=rate: sampled(response_nodes(a, d, s), p, b),
        )
    for sigma, rate in product((0.6, 1.0, 5.0), (1e-3, 0.1, 0.999)):
        yield (
            "tilted-noisy-sgd",
            (sigma, rate),
            tilted_rows,
            lambda d, s, a=sigma, p=rate: sampled(gaussian_nodes(a, d, s), p),
        )
    for theta in (0.3, 3.0):
        yield "tilted-laplace", (theta,), tilted_rows, lambda d, s, a=theta: laplace_nodes(a, d, s)


def main(argv):
    """Write the file, or compare with it."""
    stored = json.loads(FILE.read_text(encoding="utf-8")) if "--check" in argv else None
    found = {}
    for name, arguments, values, nodes in cases():
        found[f"{name} {' '.join(map(repr, arguments))}"] = twice(values, nodes)
    truth = {"order": ORDER, "tilted_order": TILTED_ORDER, "tilts": list(TILTS), "values": found}
    if stored is None:
        FILE.write_text(json.dumps(truth, indent=0) + "\n", encoding="utf-8")
        print(f"{len(found)} laws written to {FILE.name}")
    elif stored != truth:
        print(f"{FILE.name} says something else")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
