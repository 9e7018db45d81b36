"""What the line integral computes, by ball arithmetic: moments of one step of noisy SGD, whole or with a soft cut."""

from functools import cache

from flint import acb, arb, ctx

SOFTNESS = 0.25  # of the cut, the double


def log_odds(mu, x):
    """The loss of the noise without sampling, mu x - mu^2/2."""
    return mu * x - mu * mu / 2


def kept(x, cut):
    """chi(x) = Phi((X - x)/s), as an entire function."""
    return ((x - arb(cut)) / (arb(SOFTNESS) * arb(2).sqrt())).erfc() / 2


def dropped(mean, cut):
    """E[1 - chi(x)], x ~ N(mean, 1), by integration where the product of the two lies."""
    ctx.prec = 200
    centre = arb(cut) + (arb(mean) - arb(cut)) * arb(SOFTNESS) ** 2  # about where the integrand peaks

    def integrand(x, _):
        return (-((x - arb(mean)) ** 2) / 2).exp() * kept(-x, -cut)

    low, high = centre - 40 * arb(SOFTNESS), centre + 40 * arb(SOFTNESS)
    total = acb.integral(integrand, acb(low), acb(high), rel_tol=arb(2) ** -80, abs_tol=arb(2) ** -3000)
    return total.real / (2 * arb.pi()).sqrt()


def moment(mu, rate, s, cut=None, height=0.0):
    """E_P[chi e^(sL)] as a complex ball; chi = 1 without a cut. At high frequencies it is easier at Im x = height."""
    ctx.prec = 160
    m, p, c = arb(mu), arb(rate), float(s.real.mid())

    def integrand(x, analytic):
        x += acb(0, height)
        inner = 1 - p + p * log_odds(m, x).exp()
        value = (s * inner.log(analytic=analytic) - x * x / 2).exp()
        return value if cut is None else value * kept(x, cut)

    low, high = min(0.0, c * mu) - 17, max(0.0, c * mu) + 17
    if cut is not None:
        high = min(high, max(cut + 40 * SOFTNESS, 1 + cut + c * mu * SOFTNESS**2 + 17 * SOFTNESS))
    middle = min(high, 0.0)
    pieces = [(low, middle), (middle, high)] if low < middle < high else [(low, high)]
    total = acb(0)
    for a, b in pieces:
        total += acb.integral(integrand, acb(a), acb(b), rel_tol=arb(2) ** -100, abs_tol=arb(2) ** -400)
    return total / (2 * arb.pi()).sqrt()


@cache
def tilted_mass(mu, rate, c, cut):
    """E_P[chi e^(cL)], which all frequencies have in common."""
    return moment(mu, rate, acb(c), cut)


def characteristic(mu, rate, c, t, cut=None, height=0.0):
    """phi(t) - 1 and log E_P[chi e^(cL)], from balls whose radii are far below double precision."""
    plain, turned = tilted_mass(mu, rate, c, cut), moment(mu, rate, acb(c, t), cut, height)
    ratio, log_moment = turned / plain - 1, plain.real.log()
    if not max(float(ratio.real.rad()), float(ratio.imag.rad()), float(log_moment.rad())) < 1e-19:
        raise ArithmeticError("the balls are too wide to judge by")
    return ratio, log_moment


@cache
def modulus(mu, rate, c, t, cut=None, height=0.0):
    """|phi(t)|, with all the digits of a double."""
    return float(abs(1 + characteristic(mu, rate, c, t, cut, height)[0]).mid())


def distance(ball, value):
    """|ball - value|."""
    return float(abs(ball - acb(value)).mid())
