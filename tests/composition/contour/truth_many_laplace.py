"""delta(eps) of very many equal steps of Laplace noise to 20 digits: the line integral of a formula in 400 bits.

    python tests/composition/contour/truth_many_laplace.py

rewrites truth_many_laplace.json. Each value is computed on two lines, with other spacings; they must agree to 1e-18.
"""

import math
import runpy
from fractions import Fraction
from pathlib import Path

from flint import acb, arb, fmpq

#: scale, steps, eps
CASES = [
    (0.363, 588_232_052, 1.07e9),
    (0.484, 527_958_470, 6.3e8),
    (1.0, 1_000_000_000, 3.68e8),
    (1.46, 60_868_919, 11_600_000.0),
    (2.0, 100_000_000, 10_720_000.0),
    (35.0, 1_000_000_000, 412_000.0),
]
PERIODS = 60  # standard deviations from one alias to the next


def delta(scale, n, epsilon, farther):
    """1/(2 pi) times the sum of e^(n log M(s) + eps (1-s))/(s (s-1)) over s = c + ikh, as far as it counts."""
    exact = Fraction(1) / Fraction(scale)
    theta, eps = arb(fmpq(exact.numerator, exact.denominator)), arb(epsilon)
    mean = float(exact) - 1 + math.exp(-float(exact))  # E_Q[L], and its variance under Q, about
    variance = 2 * (1 - math.exp(-float(exact)) * (1 + float(exact))) if exact > Fraction(1, 10) else float(exact) ** 2
    c = 1 + farther * max((epsilon - n * mean) / (n * variance), 1 / math.sqrt(n * variance))
    h = 2 * arb.pi() / (PERIODS * math.sqrt(n * variance) * farther)
    total, k, last = acb(0), 0, None
    while last is None or abs(last) > abs(total) * arb(10) ** -100:
        s = acb(c, k * h)
        moment = ((1 - s) * (-s * theta).exp() - s * (-theta + s * theta).exp()) / (1 - 2 * s)
        last = (n * moment.log() + eps * (1 - s)).exp() / (s * (s - 1))
        total += last / 2 if k == 0 else last
        k += 1
    return (total * h / arb.pi()).real


if __name__ == "__main__":
    runpy.run_path(str(Path(__file__).with_name("truth_on_two_lines.py")))["write"](__file__, CASES, delta, 400)
