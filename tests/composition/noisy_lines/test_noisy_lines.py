"""Many different steps with atoms along lines: against listed atoms, 25 digits, residues, and their own bounds."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from flint import acb, arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.composition import lattice, noisy_lines, residues
from edgeworth.composition.lattice.enumerated_answers import EnumeratedAnswers
from edgeworth.composition.noisy_lines import engine, line, step_waves
from edgeworth.composition.noisy_lines.engine import NoisyLines
from edgeworth.composition.work import MOST_WORK, spent
from edgeworth.errors import ComputationFailed, Unsupported
from edgeworth.losses import TotalLoss, privacy_loss

DIRECTIONS = ("forward", "backward", "both")


@pytest.fixture
def few_steps(monkeypatch):
    """Lines for laws that others know as well, and little work for each of them: wide ends, which hold as well."""
    monkeypatch.setattr(engine, "_FEWEST_NATS", 0.0)
    monkeypatch.setattr(engine, "_FEWEST_NATS_FAR_OUT", 0.0)
    monkeypatch.setattr(engine, "_MOST_WORK", 1e6)


def spread(low, high, count):
    return [float(x) for x in np.random.default_rng(7).uniform(low, high, count)]


def total_of(*steps):
    return TotalLoss.of(ew.Composed(list(steps))).finite


def relative(ends):
    return float((ends.upper[0] - ends.lower[0]) / ends.upper[0])


def encloses(ends, truth, digits=1e-11):
    return ends.lower[0] <= truth.upper[0] * (1 + digits) and truth.lower[0] * (1 - digits) <= ends.upper[0]


STEPS = st.one_of(
    st.floats(0.05, 1.5).map(ew.RandomizedResponse),
    st.floats(0.05, 1.0).map(lambda e: ew.RandomizedResponse(e) ** 3),
    st.tuples(st.floats(0.1, 1.5), st.floats(0.05, 0.9)).map(
        lambda both: ew.PoissonSampled(ew.RandomizedResponse(both[0]), rate=both[1])
    ),
    st.tuples(st.floats(0.1, 1.5), st.integers(3, 9)).map(lambda b: ew.RandomizedResponse(b[0], categories=b[1])),
    st.tuples(st.floats(0.7, 9.0), st.integers(1, 3)).map(lambda b: ew.DiscreteLaplace(b[0], sensitivity=b[1])),
)


@pytest.mark.usefixtures("few_steps")
@settings(max_examples=12, deadline=None)
@given(
    steps=st.lists(STEPS, min_size=3, max_size=8),
    fine=st.sampled_from([1e-2, 1e-4]),
    shares=st.tuples(st.floats(-1.0, 1.05), st.floats(1e-9, 0.9), st.floats(1e-6, 1 - 1e-6)),
    direction=st.sampled_from(DIRECTIONS),
)
def test_readings_hold_the_listed_atoms(steps, fine, shares, direction):
    total = total_of(*steps)
    found, truth = NoisyLines(total, fine), EnumeratedAnswers(total)
    epsilon, delta, alpha = (np.array([x]) for x in (shares[0] * total.support[1], *shares[1:]))
    assert encloses(found.delta(direction, epsilon), truth.delta(direction, epsilon))
    assert encloses(found.epsilon(direction, delta), truth.epsilon(direction, delta))
    assert encloses(found.tradeoff(direction, alpha), truth.tradeoff(direction, alpha))


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("fine", [1e-2, 1e-6])
def test_delta_holds_sums_over_all_outcomes(fine):
    """2^9 outcomes with 50 digits."""
    epsilons = spread(0.1, 0.9, 9)
    found = NoisyLines(total_of(*map(ew.RandomizedResponse, epsilons)), fine)
    with mpmath.workdps(50):
        masses = []
        for signs in itertools.product((-1, 1), repeat=9):
            loss = mpmath.fsum(sign * mpmath.mpf(e) for sign, e in zip(signs, epsilons, strict=True))
            log_masses = [
                (e if s < 0 else 0) - mpmath.log1p(mpmath.exp(e)) for s, e in zip(signs, epsilons, strict=True)
            ]
            masses.append((loss, mpmath.exp(mpmath.fsum(log_masses))))
        for t in (-2.0, -0.3, 0.0, 0.4, 1.7, 3.0):
            u = mpmath.exp(t)
            truth = mpmath.fsum(mass * max(mpmath.exp(loss) - u, 0) for loss, mass in masses)
            overlap = mpmath.fsum(mass * min(mpmath.exp(loss), u) for loss, mass in masses)
            for kind, value in (("delta", truth), ("overlap", overlap), ("reverse", 1 - overlap / u)):
                lower, upper = (float(end[0]) for end in found.read(kind, np.array([t])))
                assert lower <= value <= upper
                assert upper - lower < max(3 * fine, 1e-5) * upper or kind == "reverse"


@pytest.mark.usefixtures("few_steps")
@settings(max_examples=4, deadline=None)
@given(
    thetas=st.lists(st.floats(0.3, 2.0), min_size=3, max_size=5),
    epsilon=st.floats(0.1, 1.0),
    share=st.floats(-1.0, 1.0),
    alpha=st.floats(1e-6, 1 - 1e-6),
)
def test_laplace_noise_meets_the_residues(thetas, epsilon, share, alpha):
    total = total_of(*(ew.Laplace(1 / theta) for theta in thetas), ew.RandomizedResponse(epsilon))
    found, truth = NoisyLines(total, 1e-3), residues.prepared(total)
    place = np.array([share * total.support[1]])
    assert encloses(found.delta("forward", place), truth.delta("forward", place))
    assert encloses(found.tradeoff("forward", np.array([alpha])), truth.tradeoff("forward", np.array([alpha])))


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize(
    "steps",
    [
        [
            ew.PoissonSampled(ew.Laplace(s), rate=p)
            for s, p in zip(spread(0.5, 3, 6), spread(0.05, 0.4, 6), strict=True)
        ],
        [ew.DiscreteGaussian(s) for s in (1.1, 2.3, 3.1)],
        [ew.PoissonSampled(ew.DiscreteGaussian(s), rate=0.2) for s in (1.0, 1.7, 2.6)],
    ],
    ids=["samples of Laplace noise", "discrete Gaussian noise", "samples of it"],
)
def test_other_steps_meet_the_lattice(steps):
    total = total_of(*steps)
    found, other = NoisyLines(total, 1e-4), lattice.prepared(total)
    for direction in ("forward", "backward"):
        place, alpha = np.array([0.3]), np.array([0.1])
        assert encloses(found.delta(direction, place), other.delta(direction, place), 0.0)
        assert encloses(found.tradeoff(direction, alpha), other.tradeoff(direction, alpha), 0.0)
        assert relative(found.delta(direction, place)) < 1e-3


KINDS = {
    "responses": [ew.RandomizedResponse(e) for e in spread(0.01, 0.2, 120)],
    "of each kind some": [
        *(ew.RandomizedResponse(e, categories=5) for e in spread(0.01, 0.2, 8)),
        *(ew.DiscreteLaplace(s, sensitivity=2) for s in spread(5, 40, 8)),
        *(ew.DiscreteGaussian(s) for s in spread(2, 9, 8)),
        *(ew.ApproxDP(e, 1e-13) for e in spread(0.01, 0.2, 8)),
        *(ew.Laplace(s) for s in spread(10, 50, 8)),
        *(ew.PoissonSampled(ew.RandomizedResponse(e), rate=0.1) ** 2 for e in spread(0.1, 1.0, 8)),
    ],
    "samples of Laplace noise and responses": [
        *(ew.PoissonSampled(ew.Laplace(s), rate=s / 30) for s in spread(0.5, 3, 40)),
        *(ew.RandomizedResponse(e) for e in spread(0.02, 0.2, 60)),
    ],
}


@pytest.mark.parametrize("steps", KINDS.values(), ids=KINDS.keys())
def test_many_different_steps_have_six_digits(steps):
    before = spent()
    account = ew.account(ew.Composed(steps))
    for reading in (
        *(account.epsilon(delta=delta) for delta in (1e-3, 1e-10)),
        account.delta(epsilon=0.5),
        *(account.tradeoff(alpha) for alpha in (0.01, 0.3)),
    ):
        assert reading.upper - reading.lower < 1e-6 * reading.upper
    assert "line integrals come first" in account.certificate.notes[-1]
    assert spent() - before < MOST_WORK  # of one reading, for all five


def test_rough_and_fine_lines_hold_the_same_readings():
    total = total_of(*map(ew.RandomizedResponse, spread(0.02, 0.3, 60)))
    rough, fine = NoisyLines(total, 1e-2), NoisyLines(total, 1e-7)
    for kind in ("delta", "reverse", "overlap"):
        t = np.linspace(-3.0, 5.0, 9)
        wide, narrow = rough.read(kind, t), fine.read(kind, t)
        assert (wide.lower <= narrow.upper).all()
        assert (narrow.lower <= wide.upper).all()
    assert max(one.variance for one in rough._lines.values()) > max(one.variance for one in fine._lines.values())


# --- one step

LAWS = {
    "response": ew.RandomizedResponse(0.7),
    "categories": ew.RandomizedResponse(0.7, categories=4),
    "Laplace": ew.Laplace(1.3),
    "wide discrete Gaussian": ew.DiscreteGaussian(6.3, sensitivity=2),
    "narrow discrete Gaussian": ew.DiscreteGaussian(0.8),
    "sampled discrete Gaussian": ew.PoissonSampled(ew.DiscreteGaussian(1.5), rate=0.03),
    "sampled Laplace": ew.PoissonSampled(ew.Laplace(0.8), rate=0.2),
}


def moment(loss, s):
    """E_P[e^(sL)] as a ball, from formulas."""
    base = getattr(loss, "base", loss)

    def seen(x, analytic=False):
        return (1 + arb(loss.rate) * x.expm1()).log(analytic=analytic) if base is not loss else x

    if hasattr(base, "theta"):
        theta = acb(base.theta)
        inside = (((s - 1) * theta).exp() - (-s * theta).exp()) / (4 * s - 2)
        if base is not loss:
            inside = acb.integral(lambda x, flag: (s * seen(x, flag) - (x + theta) / 2).exp() / 4, -theta, theta)
        return (s * seen(-theta)).exp() / 2 + (s * seen(theta) - theta).exp() / 2 + inside
    if hasattr(base, "sigma"):
        sigma, d = arb(base.sigma), base.sensitivity
        numbers = range(-math.ceil(16 * base.sigma) - 8, math.ceil(16 * base.sigma) + 8 + 4 * d)
        weight = [(-arb(k**2) / (2 * sigma**2)).exp() for k in numbers]
        losses = (seen(acb((2 * k - d) * d / (2 * sigma**2))) for k in numbers)
        terms = (w * (s * x).exp() for x, w in zip(losses, weight, strict=True))
        return sum(terms, acb(0)) / sum(weight, arb(0))
    nodes = loss.nodes()
    atoms = zip(nodes.loss.tolist(), nodes.log_weight.tolist(), strict=True)
    return sum(((s * arb(x) + arb(w)).exp() for x, w in atoms), acb(0))


@pytest.mark.parametrize("mechanism", LAWS.values(), ids=LAWS.keys())
@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("count", [1, 10**6])
def test_transforms_are_right_up_to_their_bounds(mechanism, mirrored, count):
    loss = privacy_loss(mechanism)
    for c in (0.7, 2.5):
        step = step_waves.step_waves(loss, count, c, 60.0, mirrored=mirrored)
        numbers = np.array([0, 5, 130, 900])
        block = step_waves.Block(3, 0.05, numbers)
        found = step.at(block)
        ctx.prec = 120
        whole = moment(loss, acb(1 - arb(c) if mirrored else c))
        assert abs(step.log_moment - whole.real.log()) <= step.log_moment_error + 1e-15
        for k, value in zip(numbers, found, strict=True):
            y = arb(0.05) * int(3 + k)
            s = acb(c, y)
            truth = moment(loss, 1 - s if mirrored else s) / whole * acb(0, -y * step.origin).exp()
            bound = step.noise + (step.drift + 2 * step.slack) * float(y)
            assert abs(truth - acb(complex(value))) <= bound
            assert abs(truth) <= step.share + step.decay / float(y)


SMALL = {
    "sampled discrete Gaussian": ew.PoissonSampled(ew.DiscreteGaussian(2.0), rate=1e-3),
    "sampled Laplace": ew.PoissonSampled(ew.Laplace(2.0), rate=1e-4),
    "sampled Laplace, nearly always": ew.PoissonSampled(ew.Laplace(20.0), rate=1 - 1e-6),
}


@pytest.mark.parametrize("mechanism", SMALL.values(), ids=SMALL.keys())
@pytest.mark.parametrize("count", [10**4, 10**6])
@pytest.mark.parametrize("mirrored", [False, True])
def test_transforms_less_one_are_right_relative_to_the_losses(mechanism, mirrored, count):
    loss = privacy_loss(mechanism)
    step = step_waves.step_waves(loss, count, 1.4, 60.0, mirrored=mirrored)
    has_mean_apart = count == 10**6 and loss.is_atomic
    assert (step.apart is not None, step.origin == 0) == (has_mean_apart, has_mean_apart)
    assert step.lean < 1e-12 * float(np.max(np.abs(step.place)))
    assert step.still < 1e-18
    for h in (1e-6, 1e-3, 0.05):
        numbers = np.array([0, 1, 130, 900])
        found, error = step.less_one(step_waves.Block(3, h, numbers))
        ctx.prec = 160
        tilt = acb(1 - arb(1.4) if mirrored else 1.4)
        whole = moment(loss, tilt)
        assert abs(step.log_moment - whole.real.log()) <= step.log_moment_error
        for k, value, most in zip(numbers, found, error, strict=True):
            y = arb(h) * int(3 + k)
            turned = moment(loss, tilt + acb(0, -y if mirrored else y))
            truth = turned / whole * acb(0, -y * step.origin).exp() - 1
            assert abs(truth - acb(complex(value))) <= most + (0 if has_mean_apart else 2 * step.slack) * float(y)


def test_the_rounding_of_angles_counts_from_the_origin_that_is_used():
    """A steep tilt to the left leaves hardly more than the least loss: nothing from there on, but all of it from 0."""
    loss = privacy_loss(ew.RandomizedResponse(3.0))
    few, many = (step_waves.step_waves(loss, n, 0.9, 60.0, mirrored=False) for n in (1, 10**6))
    steep = step_waves.step_waves(loss, 10**6, -9.0, 60.0, mirrored=False)
    for step in (few, many, steep):
        assert step.drift >= 15 * step_waves.UNIT * float(step.weight @ np.abs(step.place))
    assert steep.drift > 40 * step_waves.UNIT


def test_of_very_many_steps_the_mean_has_all_digits():
    """At a frequency at which n waves have turned by one, and beyond which their power is small."""
    loss = privacy_loss(SMALL["sampled discrete Gaussian"])
    some, many = (step_waves.step_waves(loss, n, 1.4, 60.0, mirrored=False) for n in (10**4, 10**9))
    spread = math.sqrt(1e9 * float(many.weight @ (many.place - many.weight @ many.place) ** 2))
    block = step_waves.Block(0, 1 / spread, np.arange(8))
    (_, error), (_, usual) = many.less_one(block), some.less_one(block)
    assert np.all(1e9 * error < 1e-11)
    assert 1e9 * usual[-1] > 1e-8


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("mechanism", [SMALL["sampled discrete Gaussian"], SMALL["sampled Laplace"]])
def test_powers_by_logarithm_and_by_squares_agree(monkeypatch, mechanism):
    total = total_of(mechanism**5_000)
    epsilon, delta, alpha = np.array([0.01, 0.1]), np.array([1e-3, 1e-9]), np.array([0.01, 0.5])
    by_logarithm = NoisyLines(total, 1e-4)
    found = [by_logarithm.delta("both", epsilon), by_logarithm.epsilon("both", delta)]
    found.append(by_logarithm.tradeoff("both", alpha))
    monkeypatch.setattr(line, "_MANY_EQUAL", math.inf)
    by_squares = NoisyLines(total, 1e-4)
    others = [by_squares.delta("both", epsilon), by_squares.epsilon("both", delta), by_squares.tradeoff("both", alpha)]
    for one, other in zip(found, others, strict=True):
        assert np.all(one.lower <= other.upper)
        assert np.all(other.lower <= one.upper)


@pytest.mark.parametrize(
    ("mechanism", "was"),
    [
        (SMALL["sampled discrete Gaussian"] ** 10**6, (2.1412114, 2.1442266)),
        (SMALL["sampled Laplace"] ** 10**9, (6.990784158, 6.990899763)),
    ],
)
def test_very_many_equal_samples_have_six_digits(mechanism, was):
    """Inside what the lattice and the recursion leave open."""
    account = ew.account(mechanism)
    found, miss = account.epsilon(1e-5), account.tradeoff(0.1)
    assert was[0] <= found.lower <= found.upper <= was[1]
    assert found.upper - found.lower < 1e-6 * found.upper
    assert miss.upper - miss.lower < 1e-6 * miss.upper


def test_all_frequencies_of_a_block_and_some_are_the_same():
    step = step_waves.step_waves(privacy_loss(ew.DiscreteGaussian(3.0)), 1, 1.5, math.inf, mirrored=False)
    everything = step.at(step_waves.Block(100, 0.01, np.arange(step_waves.BLOCK)))
    some = np.array([0, 127, 128, 5000, 16383])
    assert np.allclose(step.at(step_waves.Block(100, 0.01, some)), everything[some], rtol=0, atol=1e-13)


def test_what_an_endless_row_of_atoms_leaves_out_may_be_too_much():
    loss = privacy_loss(ew.PoissonSampled(ew.DiscreteGaussian(0.5), rate=1e-3))
    assert step_waves._beyond(loss, loss.nodes(), 2.0) < 1e-100
    assert math.isinf(step_waves._beyond(loss, loss.nodes(), 1e3))
    with pytest.raises(ComputationFailed, match="rounding outweighs the transform of a step"):
        line.NoisyLine(
            line.LineGoal("delta", 0.0, 1.0, -1.0, 1e-3, 1e6),
            [step_waves.step_waves(loss, 1, 1e3, math.inf, mirrored=False)],
            1e3,
            10.0,
            line.Beyond(*(np.ones(1) for _ in range(4))),
        )


# --- where they apply


def test_lines_are_for_many_known_steps():
    assert not noisy_lines.applies(total_of(ew.Gaussian(1.0)))
    assert not noisy_lines.applies(total_of(ew.RandomizedResponse(0.1) ** 10**11))
    assert not noisy_lines.applies(total_of(ew.RandomizedResponse(0.0)))
    with pytest.raises(Unsupported, match=r"^these lines are for many steps with atoms or Laplace noise$"):
        NoisyLines(total_of(ew.RandomizedResponse(1.0)))


def test_large_profiles_are_one_less_the_overlap():
    found = NoisyLines(total_of(*map(ew.DiscreteGaussian, spread(1, 4, 60))), 1e-6)
    assert relative(found.delta("both", np.array([0.5]))) < 1e-7


def test_few_lines_are_kept(monkeypatch):
    monkeypatch.setattr(engine, "_MOST_KEPT", 40)
    found = NoisyLines(total_of(*map(ew.RandomizedResponse, spread(0.02, 0.3, 60))), 1e-3)
    first = found.read("delta", np.array([0.5]))
    found.read("delta", np.linspace(0.0, 8.0, 9))
    assert len(found._lines) < 4
    assert found.read("delta", np.array([0.5])).lower[0] == first.lower[0]
