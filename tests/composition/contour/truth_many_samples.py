"""delta(eps) of very many dense samples of Gaussian noise to 20 digits: the line integral in 300 bits.

    python tests/composition/contour/truth_many_samples.py

rewrites truth_many_samples.json. M(s) is a trapezoidal sum over x, which converges as fast as its strip is wide. Each
value is computed on two lines, with other spacings of both; they must agree to 1e-18.
"""

import math
import runpy
from fractions import Fraction
from pathlib import Path

from flint import acb, arb, fmpq

#: noise multiplier, rate, steps, direction, eps
CASES = [
    (0.3, 0.0262, 1_000_000_000, "forward", 54_250_000.0),
    (0.362, 0.278, 802_000_000, "forward", 5.2e8),
    (0.362, 0.278, 802_000_000, "backward", 171_560_000.0),
    (0.307, 0.405, 97_100_000, "forward", 155_688_000.0),
    (0.307, 0.405, 97_100_000, "backward", 40_318_000.0),
    (0.3, 0.9, 1_000_000_000, "forward", 4_742_275_000.0),
    (0.8, 0.5, 300_000_000, "forward", 68_044_000.0),
]
PERIODS = 60  # standard deviations from one alias to the next
NODES = 30  # of x to a unit, at least


def ball(number):
    """The number itself: a decimal of few digits is its double for users, too."""
    exact = Fraction(number)
    return arb(fmpq(exact.numerator, exact.denominator))


class Sample:
    """M(s) and the moments of one step."""

    def __init__(self, sigma, rate, apart):
        mu, p = 1 / ball(sigma), ball(rate)
        reach = 17 + 2 * float(mu.mid())
        x = [arb(j) * arb(apart) for j in range(-math.ceil(reach / apart), math.ceil(reach / apart) + 1)]
        self.loss = [(1 - p + p * (mu * y - mu * mu / 2).exp()).log() for y in x]
        self.weight = [(-y * y / 2).exp() * arb(apart) / (2 * arb.pi()).sqrt() for y in x]

    def moment(self, s):
        """E_P[e^(sL)]."""
        return sum((w * (s * loss).exp() for w, loss in zip(self.weight, self.loss, strict=True)), acb(0))

    def mean_and_variance(self, c):
        """Of L tilted by c, about."""
        weight = [float((w * (c * loss).exp()).mid()) for w, loss in zip(self.weight, self.loss, strict=True)]
        loss, whole = [float(loss.mid()) for loss in self.loss], math.fsum(weight)
        mean = math.fsum(w * x for w, x in zip(weight, loss, strict=True)) / whole
        return mean, math.fsum(w * (x - mean) ** 2 for w, x in zip(weight, loss, strict=True)) / whole


def delta(sigma, rate, n, direction, epsilon, farther):
    """1/(2 pi) times the sum of e^(K(s) + t (pole - s))/(s (s - 1)) over s = c + ikh, as far as it counts.

    Forward the pole is 1 and t = eps; backward it is 0 and t = -eps, on a line left of 0.
    """
    step = Sample(sigma, rate, 1 / (NODES * farther))
    pole, way = (1, 1.0) if direction == "forward" else (0, -1.0)
    t = way * epsilon
    mean, variance = step.mean_and_variance(pole)
    c = pole + way * farther * max(way * (t - n * mean) / (n * variance), 1 / math.sqrt(n * variance))
    h = 2 * arb.pi() / (PERIODS * math.sqrt(n * variance) * farther)
    total, k, last = acb(0), 0, None
    while last is None or abs(last) > abs(total) * arb(10) ** -40:
        s = acb(c, k * h)
        last = (n * step.moment(s).log() + t * (pole - s)).exp() / (s * (s - 1))
        total += last / 2 if k == 0 else last
        k += 1
    return (total * h / arb.pi()).real


if __name__ == "__main__":
    runpy.run_path(str(Path(__file__).with_name("truth_on_two_lines.py")))["write"](__file__, CASES, delta, 300)
