"""The object a user holds: readings, brackets, directions, laws, extremes, refusals."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.strategies import rates

import edgeworth as ew
from edgeworth.errors import InvalidArgument, NotCertified

ESTIMATES = ["clt", "edgeworth", "cornish-fisher", "saddlepoint"]
METHODS = ["auto", *ESTIMATES]  # auto is the recursion where there is no formula
ALPHAS = np.concatenate([[0.0], np.geomspace(1e-12, 0.5, 40), 1 - np.geomspace(0.45, 1e-6, 25), [1.0]])
EPSILONS = np.array([-8.0, -2.0, -0.3, 0.0, 0.2, 1.0, 3.0, 9.0])
SGD = ew.PoissonSampled(ew.Gaussian(1.0), 0.05)

# An account by recursion takes a second: few examples, and no shrinking, which would ask for hundreds.
few = settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    derandomize=True,
)
many = settings(few, max_examples=25)

noise = st.one_of(
    st.builds(ew.Gaussian, st.floats(0.4, 30)),
    st.builds(ew.Laplace, st.floats(0.3, 30)),
    st.builds(ew.RandomizedResponse, st.floats(1e-3, 4)),
)
smooth_steps = st.builds(
    ew.PoissonSampled,
    st.builds(ew.Gaussian, st.floats(0.4, 30)),
    rates.filter(lambda rate: rate in (0, 1) or rate > 1e-5),
)
steps = noise | smooth_steps | st.builds(ew.PoissonSampled, noise, st.floats(1e-4, 1))
modest = st.builds(lambda a, n, b, k: a**n * b**k, steps, st.integers(1, 12), noise, st.integers(0, 2))


# --- scalars and arrays -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_scalars_in_scalars_out_arrays_in_arrays_out(method):
    account = ew.account(SGD**20, method=method)
    for reading in (account.tradeoff, account.delta, account.epsilon):
        one = reading(0.25)
        assert all(type(end) is float for end in (one.lower, one.value, one.upper))
        for shape in ((3,), (2, 3), (0,)):
            many = reading(np.full(shape, 0.25))
            assert all(end.shape == shape for end in (many.lower, many.value, many.upper))
            np.testing.assert_allclose(many.value, one.value, rtol=1e-14, atol=0)
        assert reading([0.25, 0.5]).value.shape == (2,)


def test_results_cannot_be_overwritten():
    found = ew.account(SGD**5).delta(np.array([0.5, 1.0]))
    with pytest.raises(ValueError, match="read-only"):
        found.upper[0] = 0.0


# --- brackets ---------------------------------------------------------------------------------------------


@many
@given(modest, st.sampled_from(METHODS[1:-1]))
def test_estimates_are_in_order_everywhere(mechanism, method):
    account = ew.account(mechanism, method=method)
    for found in (account.tradeoff(ALPHAS), account.delta(EPSILONS), account.epsilon(ALPHAS)):
        assert np.all(found.lower <= found.value)
        assert np.all(found.value <= found.upper)


@few
@given(modest, st.sampled_from(METHODS[:1]))
def test_lower_value_and_upper_are_in_order_everywhere(mechanism, method):
    account = ew.account(mechanism, method=method)
    for found in (account.tradeoff(ALPHAS), account.delta(EPSILONS), account.epsilon(ALPHAS)):
        assert np.all(found.lower <= found.value)
        assert np.all(found.value <= found.upper)


@pytest.mark.parametrize("method", ESTIMATES)
def test_an_estimate_has_trivial_ends_and_refuses_to_bound(method):
    account = ew.account(SGD**50, method=method)
    assert not account.certified
    found = account.tradeoff(0.25)
    assert (found.lower, found.upper, found.certified) == (0.0, 0.75, False)
    found = account.delta(np.array([-1.0, 2.0]))
    assert np.array_equal(found.lower, [-np.expm1(-1.0), 0.0])
    assert np.array_equal(found.upper, [1.0, 1.0])
    found = account.epsilon(1e-5)
    assert (found.lower, found.upper) == (0.0, math.inf)
    assert str(found).endswith("(estimate, not a guarantee)")
    for bound, side in ((found.upper_bound, "upper"), (found.lower_bound, "lower")):
        with pytest.raises(
            NotCertified,
            match=rf"^method='{method}' gives an estimate, which has no {side} bound; "
            r'use method="auto" for a guarantee$',
        ):
            bound()


@pytest.mark.parametrize("mechanism", [ew.Gaussian(2.0) ** 3, SGD**20])
def test_a_guarantee_gives_its_bounds(mechanism):
    account = ew.account(mechanism)
    assert account.certified
    found = account.epsilon(1e-3)
    assert found.certified
    assert found.lower == found.lower_bound() <= found.value <= found.upper_bound() == found.upper


# --- directions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mechanism", [SGD, ew.PoissonSampled(ew.Laplace(1.0), 0.3), ew.PoissonSampled(ew.ApproxDP(1.0, 0.1), 0.4)]
)
def test_backward_is_the_inverse_of_forward(mechanism):
    forward, backward = (ew.account(mechanism, direction=way) for way in ("forward", "backward"))
    alpha = np.array([1e-6, 1e-3, 0.05, 0.3, 0.6])
    image = forward.tradeoff(alpha).value
    strict = (image > 0) & (image < forward.tradeoff(0.0).value)
    np.testing.assert_allclose(backward.tradeoff(image[strict]).value, alpha[strict], rtol=1e-9, atol=0)


@pytest.mark.parametrize("method", METHODS)
def test_the_backward_profile_is_read_off_the_forward_one(method):
    """delta'(eps) = 1 - e^eps (1 - delta(-eps)): one law is composed, the other direction is a reading of it."""
    forward, backward = (ew.account(SGD**20, method=method, direction=way) for way in ("forward", "backward"))
    epsilon = np.array([0.0, 0.1, 0.3, 0.7])
    expected = 1 - np.exp(epsilon) * (1 - forward.delta(-epsilon).value)
    np.testing.assert_allclose(backward.delta(epsilon).value, expected, rtol=1e-9, atol=1e-14 * math.e)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("mechanism", [SGD**20, ew.PoissonSampled(ew.Gaussian(0.7), 0.004) ** 500 * ew.Gaussian(1.0)])
def test_both_directions_are_below_each_and_symmetric(method, mechanism):
    both, forward, backward = (
        ew.account(mechanism, method=method, direction=way) for way in ("both", "forward", "backward")
    )
    alpha = np.array([1e-5, 1e-3, 0.02, 0.1, 0.3, 0.5, 0.8])
    symmetric = both.tradeoff(alpha).value
    slack = 1e-9
    for one in (forward, backward):
        if method in ESTIMATES:  # a certified value is the interpolated law, not one end's curve
            assert np.all(symmetric <= one.tradeoff(alpha).value * (1 + slack))
        assert np.all(both.tradeoff(alpha).lower <= one.tradeoff(alpha).lower * (1 + slack))
        assert np.all(both.delta(EPSILONS).value * (1 + slack) >= one.delta(EPSILONS).value)
    images = both.curve(alpha)
    inner = (images > 1e-12) & (images < 1)
    np.testing.assert_allclose(both.curve(images[inner]), alpha[inner], rtol=1e-8, atol=0)


# --- laws -------------------------------------------------------------------------------------------------


def assert_tradeoff_function(account):
    value = account.tradeoff(ALPHAS).value
    assert np.all((value >= 0) & (value <= 1 - ALPHAS))
    assert np.all(np.diff(value) <= 0)
    a, b, c = ALPHAS[:-2], ALPHAS[1:-1], ALPHAS[2:]
    chord = (value[:-2] * (c - b) + value[2:] * (b - a)) / (c - a)
    assert np.all(value[1:-1] <= chord * (1 + 1e-9) + 1e-15)  # an ulp of numbers near 1
    del b


@many
@given(modest, st.sampled_from(["clt", "edgeworth", "cornish-fisher"]), st.integers(1, 4))
def test_every_expansion_gives_a_tradeoff_function(mechanism, method, degree):
    assert_tradeoff_function(ew.account(mechanism, method=method, degree=degree))


@few
@given(modest)
def test_a_certified_value_is_a_tradeoff_function(mechanism):
    assert_tradeoff_function(ew.account(mechanism))


@few
@given(smooth_steps, st.integers(10, 300), st.integers(0, 4))
def test_the_saddlepoint_gives_a_tradeoff_function(step, n, degree):
    assert_tradeoff_function(ew.account(step**n, method="saddlepoint", degree=degree))


@few
@given(modest, st.floats(1e-8, 0.2))
def test_epsilon_and_delta_are_inverse_to_each_other(mechanism, delta):
    account = ew.account(mechanism)
    epsilon = account.epsilon(delta)
    assert account.delta(epsilon.upper).upper <= delta * (1 + 1e-9)
    if epsilon.lower > 0 and math.isfinite(epsilon.lower):
        assert account.delta(epsilon.lower * (1 - 1e-9)).lower >= delta * (1 - 1e-6) - 1e-12


@pytest.mark.parametrize("method", ["closed-form", "clt", "edgeworth", "cornish-fisher", "saddlepoint"])
@pytest.mark.parametrize("delta", [0.1, 1e-3, 1e-7])
def test_values_of_epsilon_and_delta_are_inverse_to_each_other(method, delta):
    account = ew.account(ew.Gaussian(3.0) ** 20, method=method)
    assert account.delta(account.epsilon(delta).value).value == pytest.approx(delta, rel=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_the_ends_of_the_line(method):
    account = ew.account(SGD**20 * ew.ApproxDP(0.1, 0.01), method=method)
    assert account.delta(-math.inf).value == 1.0
    assert account.delta(math.inf).value == pytest.approx(0.01, rel=1e-12)
    assert account.epsilon(0.0).value == math.inf
    assert account.epsilon(1.0).value == 0.0
    assert account.tradeoff(1.0).value == 0.0
    assert account.tradeoff(0.0).value == pytest.approx(0.99, rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_order_and_grouping_do_not_change_a_bit(method):
    a, b = SGD**4, ew.Gaussian(2.0) ** 2 * ew.PoissonSampled(ew.Gaussian(3.0), 0.2)
    one, other = ew.account(a * b, method=method), ew.account(b * a, method=method)
    parts = [ew.PoissonSampled(ew.Gaussian(3.0), 0.2), *[SGD] * 4, *[ew.Gaussian(2.0)] * 2]
    listed = ew.account(ew.Composed(parts), method=method)
    for reading in (lambda x: x.tradeoff(ALPHAS), lambda x: x.delta(EPSILONS)):
        assert np.array_equal(reading(one).value, reading(other).value)
        assert np.array_equal(reading(one).upper, reading(other).upper)
        assert np.array_equal(reading(one).value, reading(listed).value)


@settings(few, max_examples=6)
@given(st.floats(0.5, 30), st.floats(1e-3, 1), st.integers(1, 5000), st.floats(1.01, 2))
def test_more_steps_less_noise_or_a_larger_rate_never_give_more_privacy(sigma, rate, n, more):
    """The truth is monotone: no certified upper end of the worse may lie below the lower end of the better."""
    alpha = np.array([1e-6, 1e-3, 0.05, 0.3, 0.7])

    def read(s, p, k):
        return ew.account(ew.PoissonSampled(ew.Gaussian(s), p) ** k).tradeoff(alpha)

    base = read(sigma, rate, n)
    for worse in (
        read(sigma / more, rate, n),
        read(sigma, min(1.0, rate * more), n),
        read(sigma, rate, n + 3),
    ):
        assert np.all(worse.lower <= base.upper)


@pytest.mark.parametrize("method", ["closed-form", "edgeworth", "cornish-fisher", "saddlepoint", "clt"])
def test_values_fall_with_every_step(method):
    """On Gaussian noise, where every method is exact, strictly so."""
    values = [ew.account(ew.Gaussian(2.0) ** n, method=method).tradeoff(0.1).value for n in (1, 2, 3, 10, 50)]
    assert np.all(np.diff(values) < 0)


@pytest.mark.parametrize("degree", range(9))
def test_edgeworth_takes_degrees_zero_to_eight(degree):
    account = ew.account(ew.PoissonSampled(ew.Gaussian(1.0), 0.1) ** 400, method="edgeworth", degree=degree)
    certified = ew.account(ew.PoissonSampled(ew.Gaussian(1.0), 0.1) ** 400, method="saddlepoint", degree=4)
    gap = np.abs(
        account.tradeoff(np.array([0.1, 0.3, 0.5])).value - certified.tradeoff(np.array([0.1, 0.3, 0.5])).value
    )
    assert np.max(gap) < (2e-2, 4e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3)[degree]


@pytest.mark.parametrize("method", METHODS)
def test_asking_twice_gives_the_same_bits(method):
    account = ew.account(SGD**10, method=method)
    again = ew.account(SGD**10, method=method)
    first = account.tradeoff(ALPHAS).value
    assert np.array_equal(first, account.tradeoff(ALPHAS).value)
    assert np.array_equal(first, again.tradeoff(ALPHAS).value)


@pytest.mark.parametrize("method", ["edgeworth", "cornish-fisher", "saddlepoint"])
def test_estimates_lie_within_or_near_the_certified_bracket(method):
    """Noisy SGD at n = 200: degree 2 within 2e-3 of the enclosure everywhere."""
    mechanism = ew.PoissonSampled(ew.Gaussian(1.5), 0.1) ** 200
    certified = ew.account(mechanism).tradeoff(ALPHAS)
    value = ew.account(mechanism, method=method).tradeoff(ALPHAS).value
    assert np.all(value >= certified.lower - 2e-3)
    assert np.all(value <= certified.upper + 2e-3)


# --- extremes ---------------------------------------------------------------------------------------------


EXTREMES = [
    *(
        (method, s, p, n)
        for method in ESTIMATES[:3]
        for s in (1e-3, 0.3, 1e6)
        for p in (0.0, 1e-6, 0.5, 1.0)
        for n in (1, 10**12)
    ),
    *(("saddlepoint", s, p, 10**12) for s, p in ((1.0, 1e-6), (1.0, 0.5), (1e6, 0.5), (1e6, 1.0))),
    ("saddlepoint", 1e-3, 0.5, 10),
]


@pytest.mark.parametrize(("method", "sigma", "rate", "n"), EXTREMES)
def test_estimates_are_total(method, sigma, rate, n):
    account = ew.account(ew.PoissonSampled(ew.Gaussian(sigma), rate) ** n, method=method)
    for found in (
        account.tradeoff(np.array([0.0, 1e-300, 1e-9, 0.5, 1.0])),
        account.delta(np.array([-math.inf, -1e3, 0.0, 1.0, 1e3, 1e6, math.inf])),
        account.epsilon(np.array([0.0, 1e-300, 1e-5, 0.5, 1.0])),
    ):
        assert not np.isnan(found.value).any()
    assert np.all(np.diff(account.tradeoff(np.array([0.0, 1e-300, 1e-9, 0.5, 1.0])).value) <= 2e-16)  # an ulp


@pytest.mark.parametrize(
    "mechanism",
    [
        ew.Laplace(1e-3),
        ew.Laplace(1e6) ** 3,
        ew.RandomizedResponse(800.0),
        ew.ApproxDP(800.0, 0.5),
        ew.Gaussian(1e-3) ** 2,
    ],
    ids=repr,
)
@pytest.mark.parametrize("method", ["auto", "clt", "edgeworth"])
def test_extremes_of_other_mechanisms_are_total(mechanism, method):
    account = ew.account(mechanism, method=method)
    for found in (
        account.tradeoff(np.array([0.0, 1e-300, 0.5, 1.0])),
        account.delta(EPSILONS),
        account.epsilon(1e-9),
    ):
        assert not np.isnan(found.value).any()


HANGS = [
    ("PoissonSampled(Gaussian(1.0), 1e-4) ** 10", "auto"),
    ("PoissonSampled(Gaussian(1.0), 0.05) ** 4 * Laplace(2.0) ** 2", "saddlepoint"),
    ("PoissonSampled(Gaussian(0.3), 1e-6)", "saddlepoint"),
    ("PoissonSampled(Gaussian(1e6), 1e-6) ** 10**12", "saddlepoint"),
]


@pytest.mark.parametrize(("mechanism", "method"), HANGS)
def test_an_answer_comes_in_seconds_and_in_bounded_memory(mechanism, method):
    """In a process of its own, with 4 GB and 8 s: a crash or a hang there is a failure here, and nothing worse."""
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30)); from edgeworth import *; "
        f"print(account({mechanism}, method={method!r}).epsilon(1e-5).value)"
    )
    ran = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=8
    )
    assert float(ran.stdout) >= 0


def test_more_steps_than_any_grid_can_round_get_an_answer_that_says_so():
    account = ew.account(SGD**10**12, method="recursion")
    assert account.certificate.notes == (
        "more steps than a grid of 2097152 losses can round: the ends are basic composition and perfect privacy",
    )
    found = account.epsilon(1e-5)
    assert (found.lower, found.upper) == (0.0, np.inf)


# --- refusals ---------------------------------------------------------------------------------------------

KNOWN = "'auto', 'closed-form', 'contour', 'recursion', 'clt', 'edgeworth', 'cornish-fisher', 'saddlepoint'"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ew.account(1.0),
            "mechanism=1.0 is not a mechanism; give one, e.g. Gaussian(noise_multiplier=1.0) ** 10",
        ),
        (
            lambda: ew.account(SGD, direction="up"),
            "direction='up' is unknown; give one of 'both', 'forward', 'backward'",
        ),
        (
            lambda: ew.account(SGD, method="edgeworth", degree=9),
            "degree=9 is out of range for method='edgeworth'; give an int from 0 to 8",
        ),
        (
            lambda: ew.account(SGD, method="cornish-fisher", degree=0),
            "degree=0 is out of range for method='cornish-fisher'; give an int from 1 to 4",
        ),
        (
            lambda: ew.account(SGD, method="edgeworth", degree=-1),
            "degree=-1 is out of range; give an int >= 0",
        ),
        (
            lambda: ew.account(SGD, method="edgeworth", degree=2.0),
            "degree=2.0 is not a whole number; give an int >= 0",
        ),
        (lambda: ew.account(SGD).tradeoff(1.5), "alpha=1.5 is out of range; give numbers between 0 and 1"),
        (
            lambda: ew.account(SGD).tradeoff([0.1, -0.1]),
            "alpha=-0.1 is out of range; give numbers between 0 and 1",
        ),
        (lambda: ew.account(SGD).tradeoff(math.nan), "alpha=nan has a nan; give real numbers"),
        (lambda: ew.account(SGD).delta(math.nan), "epsilon=nan has a nan; give real numbers"),
        (lambda: ew.account(SGD).delta("1"), "epsilon='1' is not a number or an array of numbers"),
        (lambda: ew.account(SGD).epsilon(2.0), "delta=2.0 is out of range; give numbers between 0 and 1"),
        (
            lambda: ew.account(SGD).raw_tradeoff(0.1),
            "method='closed-form' has no raw expansion; its curve is the answer",
        ),
    ],
)
def test_refusals_name_the_argument_its_value_and_the_way_out(call, message):
    with pytest.raises(InvalidArgument) as caught:
        call()
    assert str(caught.value) == message


def test_an_unknown_method_is_told_the_known_ones():
    with pytest.raises(
        InvalidArgument, match=r"^method='magic' is unknown; give one of 'auto', 'closed-form'"
    ) as caught:
        ew.account(SGD, method="magic")
    for name in METHODS:
        assert f"'{name}'" in str(caught.value)


# --- the rest of the surface ------------------------------------------------------------------------------


def test_the_account_says_why_its_method_was_used():
    assert ew.account(ew.Gaussian(1.0)).why == "this composition has a formula"
    assert ew.account(ew.Gaussian(1.0), method="clt").why == 'method="clt" was asked for'


def test_the_account_prints_its_kind():
    shown = repr(ew.account(ew.Gaussian(1.0), method="clt"))
    assert shown == "Account(Gaussian(noise_multiplier=1.0), method='clt', estimate, direction='both')"
    assert "certified" in repr(ew.account(ew.Gaussian(1.0)))


@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_the_two_parameters_of_gaussian_noise(mu):
    """mu* = mu, and gamma = P[the worse of two draws] = Phi(-mu/sqrt 2)."""
    account = ew.account(ew.GaussianDP(mu))
    assert account.mu_star == pytest.approx(mu, rel=1e-12)
    assert account.gamma == pytest.approx(0.5 * math.erfc(mu / 2), rel=1e-9)


def test_raw_expansions_can_be_read():
    account = ew.account(SGD**100, method="edgeworth", direction="forward")
    raw = account.raw_tradeoff(np.array([0.2, 0.5]))
    np.testing.assert_allclose(raw, account.tradeoff(np.array([0.2, 0.5])).value, rtol=1e-6, atol=0)


def test_importing_the_package_is_light():
    code = (
        "import sys, edgeworth; heavy = {'scipy.stats', 'matplotlib', 'typer', 'rich', 'mpmath'} & set(sys.modules); "
        "print(sorted(heavy))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert loaded.stdout.strip() == "[]"
