"""A bracket holds the truth, an estimate cannot be mistaken for a bound, and both print what they are."""

import pickle

import numpy as np
import pytest

from edgeworth.curves import (
    Bracket,
    Certificate,
    GaussianTradeOff,
    trivial_delta_ends,
    trivial_epsilon_ends,
    trivial_tradeoff_ends,
)
from edgeworth.errors import ComputationFailed, InvalidArgument, NotCertified

CERTIFIED = Certificate("lattice", certified=True, sources={"truncation": 1e-12, "rounding": 3e-15}, notes=("both",))
ESTIMATE = Certificate("clt", certified=False)


def test_certificate_prints_method_sources_and_notes():
    assert str(CERTIFIED) == "lattice: certified\n  truncation: 1e-12\n  rounding: 3e-15\n  both"
    assert str(ESTIMATE) == "clt: estimate, not a guarantee"


def test_certificate_cannot_be_changed_and_survives_pickling():
    with pytest.raises(TypeError, match="does not support item assignment"):
        CERTIFIED.sources["truncation"] = 0.0
    copy = pickle.loads(pickle.dumps(CERTIFIED))  # noqa: S301 - our own bytes
    assert copy == CERTIFIED
    assert copy.sources["rounding"] == 3e-15


def test_certificate_keeps_its_own_copy_of_the_sources():
    sources = {"rounding": 1e-15}
    certificate = Certificate("lattice", certified=True, sources=sources)
    sources["rounding"] = 1.0
    assert certificate.sources["rounding"] == 1e-15


def test_certificate_refuses_a_nan_error():
    with pytest.raises(InvalidArgument, match=r"^sources\['rounding'\]=nan is out of range; give an error size >= 0$"):
        Certificate("lattice", certified=True, sources={"rounding": float("nan")})


def test_ends_and_width():
    bracket = Bracket(lower=1.0, upper=1.5, value=1.25, certificate=CERTIFIED)
    assert (bracket.lower_bound(), bracket.upper_bound(), bracket.width) == (1.0, 1.5, 0.5)
    assert bracket.certified


def test_infinite_bracket_has_no_width():
    infinite = Bracket(lower=np.inf, upper=np.inf, value=np.inf, certificate=CERTIFIED)
    assert infinite.width == 0.0
    assert str(infinite) == "inf in [inf, inf]"


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_an_estimate_has_no_bound(side):
    estimate = Bracket(lower=0.0, upper=np.inf, value=3.0, certificate=ESTIMATE)
    message = f"^method='clt' gives an estimate, which has no {side} bound; use method=\"auto\" for a guarantee$"
    with pytest.raises(NotCertified, match=message):
        getattr(estimate, f"{side}_bound")()


@pytest.mark.parametrize(("lower", "value", "upper"), [(2.0, 1.0, 3.0), (0.0, 4.0, 3.0), (0.0, np.nan, 1.0)])
def test_disorder_is_a_failure(lower, value, upper):
    with pytest.raises(ComputationFailed, match=r"^lattice: lower <= value <= upper fails: "):
        Bracket(lower=lower, upper=upper, value=value, certificate=CERTIFIED)


def test_disorder_in_an_array_names_the_place():
    with pytest.raises(ComputationFailed, match=r"fails: 0\.0, 5\.0, 1\.0$"):
        Bracket(lower=np.zeros(3), upper=np.ones(3), value=np.array([0.5, 5.0, 0.5]), certificate=CERTIFIED)


def test_shapes_must_agree():
    with pytest.raises(ComputationFailed, match=r"^lower, value and upper have different shapes: "):
        Bracket(lower=0.0, upper=np.ones(2), value=np.ones(2), certificate=CERTIFIED)


def test_arrays_are_read_only_copies():
    value = np.array([0.25, 0.5])
    bracket = Bracket(lower=value - 0.125, upper=value + 0.125, value=value, certificate=CERTIFIED)
    value[0] = 9.0
    assert bracket.value[0] == 0.25
    with pytest.raises(ValueError, match="read-only"):
        bracket.value[0] = 1.0


def test_no_silent_conversion_to_float():
    with pytest.raises(TypeError, match="float"):
        float(Bracket(lower=0.0, upper=1.0, value=0.5, certificate=CERTIFIED))


@pytest.mark.parametrize(
    ("lower", "value", "upper", "text"),
    [
        (3.261971, 3.26198, 3.261989, "3.26198 in [3.26197, 3.26199]"),
        (1.2344e-40, 1.2345e-40, 1.2346e-40, "1.2345e-40 in [1.2344e-40, 1.2346e-40]"),
        (0.5, 0.5, 0.5, "0.5 in [0.5, 0.5]"),
        (0.1, 5.0, np.inf, "5 in [0.1, inf]"),
        (0.0, 0.0, 0.25, "0 in [0, 0.25]"),
    ],
)
def test_certified_numbers_print_with_the_digits_they_have(lower, value, upper, text):
    assert str(Bracket(lower=lower, upper=upper, value=value, certificate=CERTIFIED)) == text


def test_printed_ends_enclose_the_ends():
    rng = np.random.default_rng(7)
    for _ in range(300):
        value = 10 ** rng.uniform(-30, 5)
        gap = value * 10 ** rng.uniform(-14, 0)
        bracket = Bracket(lower=value - gap / 2, upper=value + gap / 2, value=value, certificate=CERTIFIED)
        lower, upper = str(bracket).split("[")[1].rstrip("]").split(", ")
        assert float(lower) <= bracket.lower
        assert float(upper) >= bracket.upper


def test_estimates_and_arrays_print():
    estimate = Bracket(lower=0.0, upper=np.inf, value=3.26198, certificate=ESTIMATE)
    assert str(estimate) == "3.262 (estimate, not a guarantee)"
    many = Bracket(lower=np.zeros(2), upper=np.ones(2), value=np.array([0.25, 0.5]), certificate=CERTIFIED)
    assert str(many) == "[0.25, 0.5 ] (certified, widest bracket 1)"
    guesses = Bracket(lower=np.zeros(2), upper=np.ones(2), value=np.array([0.25, 0.5]), certificate=ESTIMATE)
    assert str(guesses) == "[0.25, 0.5 ] (estimates, not guarantees)"


def test_trivial_ends_hold_for_every_curve():
    f = GaussianTradeOff(2.0)
    alpha, epsilon = np.linspace(0, 1, 11), np.linspace(-5, 5, 11)
    Bracket(*trivial_tradeoff_ends(alpha), f(alpha), ESTIMATE)
    Bracket(*trivial_tradeoff_ends(0.25), f(0.25), ESTIMATE)
    Bracket(*trivial_delta_ends(epsilon), f.profile()(epsilon), ESTIMATE)
    Bracket(*trivial_delta_ends(-1.0), f.profile()(-1.0), ESTIMATE)
    assert trivial_epsilon_ends(1e-5) == (0.0, np.inf)
    Bracket(*trivial_epsilon_ends(np.array([1e-5, 1.0])), f.profile().epsilon(np.array([1e-5, 1.0])), ESTIMATE)
