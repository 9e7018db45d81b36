"""Mechanisms survive being written, and what version 1 means never changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from scipy import stats
from tests.strategies import mechanisms

from edgeworth import mechanisms as em
from edgeworth.errors import InvalidArgument, Unsupported

STORED = json.loads((Path(__file__).parent / "stored" / "version-1.json").read_text())

MEANINGS = {
    "ApproxDP": em.ApproxDP(epsilon=0.1, delta=1e-300),
    "Composed": em.Composed([em.Gaussian(0.8), em.Composed([]), em.Gaussian(0.8)]),
    "DensityPair": em.DensityPair(stats.norm(0.25, 2), stats.truncnorm(-float("inf"), 1.5, loc=1)),
    "DiscreteGaussian": em.DiscreteGaussian(scale=0.1),
    "DiscreteLaplace": em.DiscreteLaplace(scale=20, sensitivity=7),
    "Gaussian": em.Gaussian(noise_multiplier=0.1),
    "GaussianDP": em.GaussianDP(mu=5e-324),
    "Laplace": em.Laplace(scale=20, sensitivity=1 / 3),
    "PoissonSampled": em.PoissonSampled(em.Gaussian(0.8), rate=0.00512),
    "RandomizedResponse": em.RandomizedResponse(epsilon=1.7976931348623157e308),
    "Repeated": em.Repeated(em.PoissonSampled(em.Laplace(1), rate=1.0), count=10**24),
    "SampledWithoutReplacement": em.SampledWithoutReplacement(em.RandomizedResponse(1, 3), size=256, population=50_000),
}


def test_every_type_is_stored():
    assert [*STORED] == [*MEANINGS]
    public = {name for name in em.__all__ if isinstance(getattr(em, name), type)}
    assert public == {*MEANINGS, "Mechanism"}


@pytest.mark.parametrize("name", MEANINGS)
def test_version_1_keeps_its_meaning(name):
    text = json.dumps(STORED[name])
    assert repr(em.from_json(text)) == repr(MEANINGS[name])
    assert em.from_json(text) == MEANINGS[name]
    assert json.loads(MEANINGS[name].to_json()) == STORED[name]


@given(mechanisms() | mechanisms(adjacency="replace"))
def test_round_trip(m):
    text = em.to_json(m)
    assert em.to_json(m) == text
    back = em.Mechanism.from_json(text)
    assert back == m
    assert repr(back) == repr(m)
    assert back.to_json() == text
    assert em.from_dict(em.to_dict(m)) == m


@pytest.mark.parametrize("m", [em.RandomizedResponse(1), em.PoissonSampled(em.Gaussian(1), 0.5, "add-remove")])
def test_what_came_later_is_not_written_where_it_says_nothing_new(m):
    assert em.to_dict(m).keys() & {"categories", "adjacency"} == set()


def test_a_long_loop_is_written_flat():
    m = em.Composed(())
    for _ in range(5_000):
        m = m * em.Gaussian(0.8)
    assert em.to_dict(m) == em.to_dict(em.Gaussian(0.8) ** 5_000)
    assert em.from_json(m.to_json()) == m


def test_a_doubled_tree_is_written_flat():
    m = em.Gaussian(0.8)
    for _ in range(60):
        m = m * m
    assert em.to_dict(m) == em.to_dict(em.Gaussian(0.8) ** 2**60)


def test_the_deepest_that_is_kept_as_built():
    m = em.Gaussian(0.8)
    for _ in range(99):
        m = m**1
    assert repr(em.from_json(m.to_json())) == repr(m)


def test_a_distribution_of_ones_own_is_not_written():
    mine = stats.rv_continuous(a=0, b=1, name="mine")()
    with pytest.raises(Unsupported, match=r"^mine\(loc=0.0, scale=1.0\) cannot be saved: scipy.stats has no such"):
        em.to_json(em.DensityPair(mine, mine))


def sampled(depth):
    m = em.Gaussian(1)
    for _ in range(depth):
        m = em.PoissonSampled(m, 0.5)
    return m


def text(mechanism, form="edgeworth-mechanism", version=1):
    return json.dumps({"format": form, "version": version, "mechanism": mechanism})


def gaussian(**fields):
    return {"type": "Gaussian"} | fields


def sample(adjacency):
    return {"type": "PoissonSampled", "mechanism": gaussian(noise_multiplier=1), "rate": 0.5, "adjacency": adjacency}


def pair(**fields):
    norm = {"name": "norm", "shapes": {}, "loc": 0.0, "scale": 1.0}
    return {"type": "DensityPair", "null": norm, "alternative": norm | fields}


TYPES = ", ".join(MEANINGS)
DISTRIBUTION = "give a frozen continuous distribution of scipy.stats, such as scipy.stats.norm(loc=0, scale=1)"
NOT_JSON = "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
NO_SUCH = "is not a continuous distribution of scipy.stats; give one, such as 'norm'"
TOO_DEEP = (
    "sampling nests more than 100 deep, or there are more than 1000000 different steps; write its parts one by one"
)
MIXED = (
    "mechanism: adjacency='add-remove' and adjacency='replace' are mixed: one counts a record added or removed, "
    "the other a record replaced, and no account holds for both; give every sampler the same adjacency"
)
TOO_DEEP_SHOWN = "PoissonSampled(mechanism=PoissonSample...e=0.5), rate=0.5), rate=0.5), rate=0.5)"

REFUSED = [
    (
        lambda: em.to_json(3),
        "mechanism=3 is not a mechanism; give one, such as Gaussian(noise_multiplier=1.0)",
    ),
    (lambda: em.from_json(b"{}"), "text=b'{}' is not text; give the JSON that to_json returned"),
    (
        lambda: em.from_json("{"),
        f"text='{{' is not JSON: {NOT_JSON}; give what to_json returned",
    ),
    (lambda: em.from_json("[]"), "text=[] is not an object; give one with format, version, mechanism"),
    (
        lambda: em.from_json("{}"),
        "text: format is missing from the outermost object; give format, version, mechanism",
    ),
    (
        lambda: em.from_json('{"epsilon": 1}'),
        "text: epsilon=1 is not a field of the outermost object; give format, version, mechanism",
    ),
    (lambda: em.from_json(text({}, form="x")), "format='x' is unknown; give 'edgeworth-mechanism'"),
    *(
        (
            lambda version=version: em.from_json(text({}, version=version)),
            f"version={version!r} is unknown; this release reads version 1, a newer one may read yours",
        )
        for version in (2, 0, 1.0, True, "1", None)
    ),
    (
        lambda: em.from_json('{"format": NaN}'),
        "text has the number NaN; give finite numbers",
    ),
    (
        lambda: em.from_json(text(gaussian(noise_multiplier=float("inf")))),
        "text has the number Infinity; give finite numbers",
    ),
    (
        lambda: em.from_json(text(gaussian(noise_multiplier=7)).replace("7", "1e999")),
        "mechanism: noise_multiplier=inf is out of range; give a finite number > 0",
    ),
    (
        lambda: em.from_json('{"version": 1, "version": 2}'),
        "text gives 'version' twice in one object, the second time 2; give it once",
    ),
    (
        lambda: em.from_json(text([])),
        "mechanism=[] does not say which mechanism; give an object with a 'type'",
    ),
    (
        lambda: em.from_json(text({"noise_multiplier": 1})),
        "mechanism={'noise_multiplier': 1} does not say which mechanism; give an object with a 'type'",
    ),
    (lambda: em.from_dict({"type": "Normal"}), f"mechanism: type='Normal' is unknown; give one of {TYPES}"),
    (lambda: em.from_dict({"type": []}), f"mechanism: type=[] is unknown; give one of {TYPES}"),
    (
        lambda: em.from_dict({"type": "Mechanism"}),
        f"mechanism: type='Mechanism' is unknown; give one of {TYPES}",
    ),
    (
        lambda: em.from_dict(gaussian()),
        "mechanism: noise_multiplier is missing from Gaussian; give noise_multiplier",
    ),
    (
        lambda: em.from_dict({"type": "Laplace", "scale": 1}),
        "mechanism: sensitivity is missing from Laplace; give scale, sensitivity",
    ),
    (
        lambda: em.from_dict(gaussian(noise_multiplier=1, sigma=2)),
        "mechanism: sigma=2 is not a field of Gaussian; give noise_multiplier",
    ),
    (
        lambda: em.from_dict(gaussian(noise_multiplier="1")),
        "mechanism: noise_multiplier='1' is not a number; give a finite number > 0",
    ),
    (
        lambda: em.from_dict({"type": "PoissonSampled", "mechanism": gaussian(noise_multiplier=1), "rate": 2}),
        "mechanism: rate=2.0 is out of range; give a number between 0 and 1",
    ),
    (
        lambda: em.from_dict({"type": "PoissonSampled", "mechanism": 3, "rate": 1, "_inner": 2}),
        "mechanism: _inner=2 is not a field of PoissonSampled; give mechanism, rate, adjacency, clipped",
    ),
    (
        lambda: em.from_dict({"type": "RandomizedResponse", "categories": 3}),
        "mechanism: epsilon is missing from RandomizedResponse; give epsilon, categories",
    ),
    (
        lambda: em.from_dict({"type": "RandomizedResponse", "epsilon": 1, "categories": 1}),
        "mechanism: categories=1 is out of range; give an int >= 2",
    ),
    (
        lambda: em.from_dict({"type": "Composed", "mechanisms": [sample("add-remove"), sample("replace")]}),
        MIXED,
    ),
    (
        lambda: em.from_dict({"type": "Repeated", "mechanism": gaussian(noise_multiplier=1), "count": 3.0}),
        "mechanism: count=3.0 is not a whole number; give an int >= 0",
    ),
    (
        lambda: em.from_dict({"type": "Repeated", "mechanism": gaussian(noise_multiplier=0), "count": 3}),
        "mechanism.mechanism: noise_multiplier=0.0 is out of range; give a finite number > 0",
    ),
    (
        lambda: em.from_dict({"type": "Composed", "mechanisms": {}}),
        "mechanism.mechanisms={} is not a list; give a list of mechanisms",
    ),
    (
        lambda: em.from_dict({"type": "Composed", "mechanisms": [gaussian(noise_multiplier=1), 3]}),
        "mechanism.mechanisms[1]=3 does not say which mechanism; give an object with a 'type'",
    ),
    (
        lambda: em.from_dict({"type": "DensityPair", "null": "norm", "alternative": "norm"}),
        "mechanism.null='norm' is not an object; give one with name, shapes, loc, scale",
    ),
    *(
        (
            lambda name=name: em.from_dict(pair(name=name)),
            f"mechanism.alternative: name={name!r} {NO_SUCH}",
        )
        for name in ("nrom", "poisson", "kstest", "rv_continuous", "__builtins__", 3)
    ),
    (
        lambda: em.from_dict(pair(name="gamma")),
        "mechanism.alternative: shapes={} does not fit gamma; give {'a': ...}",
    ),
    (
        lambda: em.from_dict(pair(loc="0")),
        "mechanism.alternative: loc='0' is not a number; give a number",
    ),
    (
        lambda: em.from_dict(pair(scale=True)),
        "mechanism.alternative: scale=True is not a number; give a number",
    ),
    (
        lambda: em.from_dict(pair(scale=0)),
        f"mechanism: alternative=norm(loc=0.0, scale=0.0) has parameters out of range; {DISTRIBUTION}",
    ),
    (
        lambda: em.to_json(sampled(100)),
        f"mechanism={TOO_DEEP_SHOWN} cannot be written: {TOO_DEEP}",
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_refused(call, message):
    with pytest.raises(InvalidArgument) as refused:
        call()
    assert str(refused.value) == message


def test_deep_text_is_refused():
    opening = '{"type": "Repeated", "count": 1, "mechanism": '
    for depth, message in [(101, "is nested more than 100 levels deep"), (100_000, "is nested too deeply")]:
        deep = text("@").replace('"@"', opening * depth + "3" + "}" * depth)
        with pytest.raises(InvalidArgument, match=message):
            em.from_json(deep)
