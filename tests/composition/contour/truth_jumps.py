"""delta(eps) of noisy SGD at tiny rates to 20 digits: the line integral in 460 bits, where a bad tilt costs nothing.

    python tests/composition/contour/truth_jumps.py

rewrites truth_jumps.json, and truth_phases.json of runs in several phases. No cut, no jumps, one tilt: of the method
under test only the integral itself is shared. Each value is computed twice, with other spacings in x and along the
line; the two must agree to 1e-18.
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
#: sigma, rate and n of every phase; eps; tilt and digits as above
PHASES = [
    (((0.981, 9.06e-4, 33), (0.696, 2.12e-4, 2), (6.58, 9.79e-4, 1136), (7.57, 0.0318, 208)), 2.0, 6.0, 40),
    (((5.76, 0.00453, 7), (3.44, 0.00113, 3079), (2.13, 0.0106, 16), (9.59, 5.38e-4, 1242)), 0.599, 20.0, 60),
    (
        ((0.843, 3.49e-4, 57), (1.11, 0.0012, 1357), (2.0, 0.00859, 7), (0.735, 0.00781, 1), (3.0, 0.02, 3)),
        1.81,
        6.0,
        36,
    ),
]
BLOCK = 48  # products of balls grow: every so often they are made afresh


class Phase:
    """The tilted law of one step at even x, and its moments along the line."""

    def __init__(self, sigma, rate, n, c, h, fineness):
        mu, p, self.n, self.h = 1 / arb(sigma), arb(rate), n, h
        step = arb(0.4 * min(sigma, 1.0)) / (30 * fineness)
        self.loss, self.weight = [], []
        for k in range(int(-18 / float(step)), int((18 + c / sigma) / float(step)) + 1):
            x = k * step
            self.loss.append((1 - p + p * (mu * x - mu * mu / 2).exp()).log())
            self.weight.append((c * self.loss[-1] - x * x / 2).exp() * step / (2 * arb.pi()).sqrt())
        self.wave = [acb(0, h * value).exp() for value in self.loss]

    def log_moments(self, count):
        """N log M(c + ikh) for k = 0, 1, …"""
        terms = []
        for k in range(count):
            if k % BLOCK == 0:
                turns = (acb(0, k * self.h * value).exp() for value in self.loss)
                terms = [w * turn for w, turn in zip(self.weight, turns, strict=True)]
            yield self.n * sum(terms, acb(0)).log()
            terms = [v * w for v, w in zip(terms, self.wave, strict=True)]


def delta(phases, epsilon, c, digits, fineness):
    """1/(2 pi) times the sum of e^(K(s) + eps (1-s))/(s (s-1)) over s = c + ikh, M(s) of each step an even sum in x."""
    epsilon, nats = arb(epsilon), digits * math.log(10)
    spread = math.sqrt(sum(n * rate**2 * math.expm1(min(sigma**-2, 3.0)) for sigma, rate, n in phases))
    h = 2 * arb.pi() * (arb(c) - 1) / (3.0 * nats * fineness)
    count = int(1.6 * math.sqrt(2 * nats) / spread / float(h)) + 1
    rows = [Phase(*phase, c, h, fineness).log_moments(count) for phase in phases]
    total = acb(0)
    for k, logs in enumerate(zip(*rows, strict=True)):
        s = acb(c, k * h)
        term = (sum(logs, acb(0)) + epsilon * (1 - s)).exp() / (s * (s - 1))
        total += term / 2 if k == 0 else term
    return (total * h / arb.pi()).real


def confirmed(*case):
    """A value that another spacing confirms."""
    first, second = (delta(*case, fineness) for fineness in (1.0, 1.3))
    if not abs(first / second - 1) < 1e-18:
        raise ArithmeticError(f"{case}: {first} and {second} differ")
    return first.mid().str(20, radius=False)


def main():
    """Write the values."""
    ctx.prec = 460
    alone = [
        {"case": (sigma, rate, n, epsilon), "delta": confirmed(((sigma, rate, n),), epsilon, *others)}
        for sigma, rate, n, epsilon, *others in CASES
    ]
    phases = [
        {"phases": phases, "epsilon": epsilon, "delta": confirmed(phases, epsilon, *others)}
        for phases, epsilon, *others in PHASES
    ]
    for name, rows in (("truth_jumps.json", alone), ("truth_phases.json", phases)):
        Path(__file__).with_name(name).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
