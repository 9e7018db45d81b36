"""delta(eps) of noisy SGD at tiny rates to 20 digits: the line integral in 460 bits, where a bad tilt costs nothing.

    python tests/composition/contour/truth_jumps.py

rewrites truth_jumps.json. No cut, no jumps, one tilt: of the method under test only the integral itself is shared. Each
value is computed twice, with other spacings in x and along the line; the two must agree to 1e-18.
"""

import json
import math
from pathlib import Path

from flint import acb, arb, ctx

#: sigma, rate, n, eps, a tilt well below where the tilted law would leave its bulk, and digits: what is left out
CASES = [
    (1.09, 2.1e-5, 2_700_000, 0.3458, 12.0, 42),
    (1.09, 2.1e-5, 2_700_000, 0.86, 12.0, 52),
    (0.631, 1.04e-5, 11_000_000, 0.6, 6.0, 30),
    (0.631, 1.04e-5, 11_000_000, 1.42, 6.0, 33),
    (2.5, 4.9e-4, 13_500, 0.35, 40.0, 72),
    (2.5, 4.9e-4, 13_500, 0.51, 40.0, 92),
    (1.0, 1e-4, 10_000, 0.079, 12.0, 32),
    (1.0, 1e-4, 10_000, 0.85, 12.0, 42),
    (4.703, 0.00104, 279, 0.0888, 250.0, 118),
]
BLOCK = 48  # products of balls grow: every so often they are made afresh


def delta(case, fineness):
    """1/(2 pi) times the sum of e^(n log M(s) + eps (1-s))/(s (s-1)) over s = c + ikh, M(s) an even sum in x."""
    sigma, rate, n, epsilon, c, digits = case
    mu, p, epsilon, nats = 1 / arb(sigma), arb(rate), arb(epsilon), digits * math.log(10)
    spread = math.sqrt(n * rate**2 * math.expm1(min(sigma**-2, 3.0)))
    h = 2 * arb.pi() * (arb(c) - 1) / (3.0 * nats * fineness)
    step = arb(0.4 * min(sigma, 1.0)) / (30 * fineness)
    loss, weight = [], []
    for k in range(int(-18 / float(step)), int((18 + c / sigma) / float(step)) + 1):
        x = k * step
        loss.append((1 - p + p * (mu * x - mu * mu / 2).exp()).log())
        weight.append((c * loss[-1] - x * x / 2).exp() * step / (2 * arb.pi()).sqrt())
    wave = [acb(0, h * value).exp() for value in loss]
    total, terms = acb(0), []
    for k in range(int(1.6 * math.sqrt(2 * nats) / spread / float(h)) + 1):
        if k % BLOCK == 0:
            terms = [w * acb(0, k * h * value).exp() for w, value in zip(weight, loss, strict=True)]
        s = acb(c, k * h)
        term = (n * sum(terms, acb(0)).log() + epsilon * (1 - s)).exp() / (s * (s - 1))
        total += term / 2 if k == 0 else term
        terms = [v * w for v, w in zip(terms, wave, strict=True)]
    return (total * h / arb.pi()).real


def main():
    """Write the values, each confirmed by a second one."""
    ctx.prec = 460
    found = []
    for case in CASES:
        first, second = (delta(case, fineness) for fineness in (1.0, 1.3))
        if not abs(first / second - 1) < 1e-18:
            raise ArithmeticError(f"{case}: {first} and {second} differ")
        found.append({"case": case[:4], "delta": first.mid().str(20, radius=False)})
        print(found[-1], flush=True)
    Path(__file__).with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
