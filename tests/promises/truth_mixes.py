"""delta(eps) of runs and of mixes to 22 digits: one line integral in 300 bits, every part by its own definition.

    python tests/promises/truth_mixes.py

rewrites truth_mixes.json. Nothing is shared with the package: E_P[e^(sL)] is a formula for Gaussian and Laplace noise,
a sum over outcomes for responses and discrete noise, and an even sum in x for a sample. Each value is computed twice,
with other spacings in x and along the line; the two must agree to 1e-20. The Gaussian parts alone say where the line
may end, for parts with atoms come back to life far out.
"""

import json
import math
from pathlib import Path

from flint import acb, arb, ctx

NATS = 95.0  # what is left out, as an exponent
#: the parts as (kind, numbers ..., times), the direction, and eps
CASES = [
    ([("sample", 0.61, 0.0031, 40_000)], "forward", 5.5),
    ([("sample", 0.61, 0.0031, 40_000)], "backward", 5.5),
    ([("sample", 41.2, 0.73, 900)], "forward", -0.4),
    ([("sample", 3.96, 7.5e-6, 848_428_230)], "forward", 0.7),
    ([("sample", 0.34, 0.0022, 600_000)], "forward", 790.0),
    ([("sample", 81.9, 0.71, 106), ("laplace", 6.7, 20)], "backward", 4.1),
    ([("sample", 1.3, 0.005, 1024), ("discrete laplace", 0.73, 3, 7)], "forward", 25.0),
    ([("gaussian", 18.5, 11), ("laplace", 0.62, 12)], "forward", 19.0),
    ([("gaussian", 1.7, 4), ("response", 0.56, 1000, 8), ("discrete gaussian", 1.9, 3, 2)], "backward", 12.0),
    ([("gaussian", 3.0, 1), ("known", 1.3, 2.0**-60, 3), ("sample", 2.1, 9.7e-4, 100_000)], "forward", 6.3),
    ([("gaussian", 5.4, 7), ("response", 0.99, 1000, 27), ("discrete gaussian", 1.9, 3, 9)], "forward", 70.0),
    ([("sample", 2.241, 0.0393, 1), ("gaussian", 17.66, 2), ("laplace", 2.229, 1)], "forward", 0.998),
]


def atoms(kind, numbers):
    """Losses and their masses under P."""
    if kind in ("response", "known"):
        epsilon, categories = arb(numbers[0]), numbers[1] if kind == "response" else 2
        whole = epsilon.exp() + categories - 1
        return [(-epsilon, epsilon.exp() / whole), (epsilon, 1 / whole), (arb(0), (categories - 2) / whole)]
    scale, sensitivity = arb(numbers[0]), numbers[1]
    reach = int(numbers[0] * (50 if kind == "discrete gaussian" else 250)) + 9

    def exponent(k):
        return abs(arb(k)) / scale if kind == "discrete laplace" else arb(k) ** 2 / (2 * scale**2)

    outcomes = range(-reach, reach + 1)
    whole = sum(((-exponent(k)).exp() for k in outcomes), arb(0))
    return [(exponent(k) - exponent(k - sensitivity), (-exponent(k)).exp() / whole) for k in outcomes]


def sampled(numbers, c, last, fineness):
    """Losses of a sample at evenly spaced x, and their masses under P."""
    mu, p = 1 / arb(numbers[0]), arb(numbers[1])
    slope, y = float(mu), min(0.9 * math.pi / float(mu), math.sqrt(2 * NATS))
    step = 2 * math.pi / ((last + abs(c) / 2) * slope + y / 2 + NATS / y) / fineness
    reach = math.sqrt(2 * NATS) + 0.5
    places = range(int((min(0.0, slope * c) - reach) / step), int((max(0.0, slope * c) + reach) / step) + 1)
    found = []
    for k in places:
        x = k * arb(step)
        loss = (1 - p + p * (mu * x - mu * mu / 2).exp()).log()
        found.append((loss, (-x * x / 2).exp() * arb(step) / (2 * arb.pi()).sqrt()))
    return found


def moments(part, c, h, last, fineness):
    """E_P[e^(sL)] at s = c, c + ih, c + 2ih and so on."""
    kind, *numbers, _ = part
    k = 0
    if kind == "gaussian":
        while True:
            s, k = acb(c, k * h), k + 1
            yield (s * (s - 1) / (2 * arb(numbers[0]) ** 2)).exp()
    if kind == "laplace":
        theta = 1 / arb(numbers[0])
        while True:
            s, k = acb(c, k * h), k + 1
            yield ((s - 1) * (-s * theta).exp() + s * ((s - 1) * theta).exp()) / (2 * s - 1)
    law = sampled(numbers, c, last, fineness) if kind == "sample" else atoms(kind, numbers)
    waves = [acb(0, h * loss).exp() for loss, _ in law]
    terms = []
    while True:
        if k % 48 == 0:  # products of balls grow: every so often they are made afresh
            terms = [(acb(c, k * h) * loss).exp() * mass for loss, mass in law]
        yield sum(terms, acb(0))
        terms, k = [term * wave for term, wave in zip(terms, waves, strict=True)], k + 1


def along(parts, forward, c, h, last, fineness):
    """(the product of all powers, the same with the parts that do not smooth at their largest), node after node."""
    lines = [moments(part, c if forward else 1 - c, h, last, fineness) for part in parts]
    largest = {}
    while True:
        whole = bound = acb(1)
        for which, (part, line) in enumerate(zip(parts, lines, strict=True)):
            power = (part[-1] * next(line).log()).exp()
            largest.setdefault(which, abs(power))
            whole *= power if forward else power.conjugate()
            bound *= power if part[0] in ("gaussian", "sample") else largest[which]
        yield whole, bound


def exponent(parts, forward, epsilon, c):
    """log of the integrand at the real point c."""
    whole, _ = next(along(parts, forward, c, arb(1), 0.0, 1.0))
    return float((whole.real.log() + arb(epsilon) * (1 - c) - arb(c * (c - 1)).log()).mid())


def tilt(parts, forward, epsilon):
    """Where the integrand is least for real c > 1, roughly: any c is as true."""
    low, high = -5.0, 6.0
    for _ in range(18):
        third = (high - low) / 3
        inner = [exponent(parts, forward, epsilon, 1 + math.exp(u)) for u in (low + third, high - third)]
        low, high = (low, high - third) if inner[0] < inner[1] else (low + third, high)
    return 1 + math.exp((low + high) / 2)


def delta(parts, direction, epsilon, fineness):
    """1/pi times the sum of e^(K(s) + eps (1-s))/(s (s-1)), with what the parts disclose put back."""
    forward = direction == "forward"
    c = tilt(parts, forward, epsilon)
    d = 1e-3 * (c - 1)
    bend = sum(w * exponent(parts, forward, epsilon, c + k * d) for k, w in ((-1, 1), (0, -2), (1, 1))) / d**2
    spread = math.sqrt(max(bend, 1e-12))
    h = 2 * arb.pi() / (fineness * max(24 * spread, 110 / (c - 1)))
    last = 16 / spread
    while True:
        total, k = acb(0), 0
        for whole, bound in along(parts, forward, c, h, last, fineness):
            s = acb(c, k * h)
            kernel = (arb(epsilon) * (1 - s)).exp() / (s * (s - 1))
            total += whole * kernel / (1 if k else 2)
            if abs(bound * kernel) < abs(total) * arb(10) ** -32 or k * h > last:
                break
            k += 1
        if not k * h > last:
            break
        last *= 2
    kept = arb(1)
    for part in parts:
        kept *= (1 - arb(part[2])) ** part[-1] if part[0] == "known" else 1
    return 1 - kept + kept * (total * h / arb.pi()).real


def main():
    """Write the values, each confirmed by a second one."""
    ctx.prec = 300
    rows = []
    for parts, direction, epsilon in CASES:
        first, second = (delta(parts, direction, epsilon, fineness) for fineness in (1.0, 1.3))
        if not abs(first / second - 1) < 1e-20:
            raise ArithmeticError(f"{parts}, {direction}: {first} and {second} differ")
        rows.append({"parts": parts, "direction": direction, "epsilon": epsilon})
        rows[-1]["delta"] = first.mid().str(22, radius=False)
        print(rows[-1], flush=True)
    Path(__file__).with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
