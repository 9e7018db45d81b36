"""The ledger as a value: two modes that never mix, budgets that hold, calls that fail without a trace."""

from __future__ import annotations

import dataclasses
import math
import pickle
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgeworth as ew
from edgeworth.errors import InvalidArgument, Unsupported
from edgeworth.ledger import Budget, BudgetExceeded, Event, Ledger

STEP = ew.PoissonSampled(ew.Gaussian(0.8), rate=256 / 50_000)
LOUD = ew.Gaussian(10.0)


def test_adding_returns_a_new_ledger():
    empty = Ledger.planned()
    one = empty.add(LOUD**3, note="first")
    two = one.add(ew.Laplace(20.0))
    assert (len(empty), len(one), len(two)) == (0, 3, 4)
    assert two.events == (Event(LOUD**3, "first"), Event(ew.Laplace(20.0)))
    assert two.mechanism == LOUD**3 * ew.Laplace(20.0)
    assert not empty
    assert two


def test_the_length_counts_releases_not_events():
    assert len(Ledger.planned().add(STEP**5_000).add(LOUD)) == 5_001
    huge = Ledger.planned().add((LOUD**10**12) ** 10**12)
    assert huge.releases == 10**24
    assert huge


def test_a_ledger_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'events'"):
        Ledger.planned().events = ()


events = st.lists(
    st.sampled_from([LOUD, ew.Gaussian(20.0) ** 7, ew.GaussianDP(0.01), ew.Laplace(50.0), ew.RandomizedResponse(0.02)]),
    max_size=6,
)


@given(events)
def test_the_order_of_events_and_how_they_are_grouped_change_no_bit(mechanisms):
    one_by_one = Ledger.planned()
    for mechanism in mechanisms:
        one_by_one = one_by_one.add(mechanism)
    at_once = Ledger.planned().add(ew.Composed(reversed(mechanisms)))
    assert one_by_one.mechanism == at_once.mechanism
    assert len(one_by_one) == len(at_once)


@settings(max_examples=10)
@given(events, events)
def test_merging_is_running_both(first, second):
    ledgers = [Ledger.planned(), Ledger.planned()]
    for position, mechanisms in enumerate((first, second)):
        for mechanism in mechanisms:
            ledgers[position] = ledgers[position].add(mechanism)
    merged = ledgers[0].merge(ledgers[1])
    assert merged.mechanism == ew.Composed([*first, *second])
    assert len(merged) == len(ledgers[0]) + len(ledgers[1])


def test_merged_ledgers_keep_a_budget_they_share():
    budget = Budget(epsilon=1, delta=1e-5)
    assert Ledger.planned(budget=budget).merge(Ledger.planned(budget=budget)).budget == budget
    assert Ledger.planned(budget=budget).merge(Ledger.planned()).budget is None


def test_two_filters_together_could_spend_both_budgets():
    """What they did spend is no guarantee; what they were free to spend is."""
    merged = Ledger.adaptive(Budget(mu=0.6)).add(ew.GaussianDP(0.1)).merge(Ledger.adaptive(Budget(mu=0.8)))
    assert merged.mu == 1.0
    assert merged.budget == Budget(mu=1.0)
    assert merged.spent == Fraction(1, 100)
    assert merged.can_afford(ew.GaussianDP(0.9))


def test_the_account_of_a_planned_ledger_is_that_of_its_mechanism():
    ledger = Ledger.planned().add(STEP**300).add(STEP**700)
    found, direct = ledger.account().epsilon(1e-5), ew.account(STEP**1_000).epsilon(1e-5)
    assert (found.lower, found.value, found.upper) == (direct.lower, direct.value, direct.upper)
    assert ledger.account(method="clt").certified is False


NO_CURVE = (
    "an adaptive ledger has no exact curve: its parameters may depend on earlier outputs, and composing their curves "
    "bounds nothing then; guarantee() is the account of what does hold"
)


def test_an_adaptive_ledger_has_no_exact_curve():
    ledger = Ledger.adaptive(Budget(mu=1.0)).add(LOUD)
    for read in (ledger.account, lambda: ledger.mechanism):
        with pytest.raises(Unsupported) as refused:
            read()
        assert str(refused.value) == NO_CURVE


def test_the_guarantee_of_an_adaptive_ledger_is_its_whole_budget():
    ledger = Ledger.adaptive(Budget(mu=1.0)).add(LOUD)
    assert ledger.guarantee().epsilon(1e-5).value == ew.account(ew.GaussianDP(1.0)).epsilon(1e-5).value
    assert ledger.spent_mu == 0.1


def test_an_adaptive_budget_in_epsilon_and_delta_is_kept():
    ledger = Ledger.adaptive(Budget(epsilon=3.0, delta=1e-5))
    assert ledger.guarantee().epsilon(1e-5).upper_bound() == pytest.approx(3.0, rel=1e-9)
    assert ledger.guarantee().delta(3.0).upper_bound() <= 1e-5


def test_the_filter_stops_exactly_at_its_budget():
    ledger = Ledger.adaptive(Budget(mu=1.0))
    for _ in range(100):
        ledger = ledger.add(LOUD)
    assert ledger.spent == 1
    assert not ledger.can_afford(ew.GaussianDP(5e-324))
    with pytest.raises(BudgetExceeded) as refused:
        ledger.add(ew.GaussianDP(5e-324))
    assert str(refused.value) == (
        "event=GaussianDP(mu=5e-324) does not fit into Budget(mu=1.0) any more; it was not added"
    )
    assert (len(ledger), ledger.spent) == (100, 1)


def test_a_planned_budget_is_kept_too():
    ledger = Ledger.planned(budget=Budget(epsilon=1.0, delta=1e-5)).add(LOUD**7)
    left = ledger.steps_left(event=LOUD)
    full = ledger.add(LOUD**left)
    with pytest.raises(BudgetExceeded, match=r"^event=Gaussian\(noise_multiplier=10.0\) does not fit into"):
        full.add(LOUD)
    assert full.account().delta(1.0).upper_bound() <= 1e-5


def test_a_charge_that_fails_leaves_everything_as_it_was():
    ledger = Ledger.adaptive(Budget(mu=1.0)).add(LOUD**50)
    before = (ledger.events, ledger.spent, len(ledger), repr(ledger))
    for bad, error in [
        (LOUD**51, BudgetExceeded),
        (ew.ApproxDP(1.0, 1e-6), Unsupported),
        ("Gaussian", InvalidArgument),
        (ew.SampledWithoutReplacement(LOUD, size=1, population=9) * LOUD**60, BudgetExceeded),
    ]:
        with pytest.raises(error, match=r"does not fit|no mu is known|is not a mechanism"):
            ledger.add(bad)
        assert (ledger.events, ledger.spent, len(ledger), repr(ledger)) == before


def test_neighbours_of_two_kinds_do_not_mix():
    ledger = Ledger.planned().add(STEP)
    with pytest.raises(InvalidArgument, match=r"^adjacency='add-remove' and adjacency='replace' are mixed"):
        ledger.add(ew.SampledWithoutReplacement(LOUD, size=1, population=9))
    assert (len(ledger), ledger.adjacency) == (1, "add-remove")


# ---- what is left ----


@settings(max_examples=20)
@given(st.floats(0.05, 8), st.integers(1, 40), st.floats(1, 300), st.integers(0, 50))
def test_steps_left_of_gaussian_noise(epsilon, decimals, sigma, before):
    """The last count within, and one more is not: by the closed form of the whole."""
    budget, step = Budget(epsilon=epsilon, delta=10.0**-decimals), ew.Gaussian(sigma)
    ledger = Ledger.planned().add(step**before)
    left = ledger.steps_left(budget, step)
    mu = budget.largest_mu()
    allowed = math.floor(Fraction(mu) ** 2 * Fraction(sigma) ** 2)
    assert left == pytest.approx(max(allowed - before, 0), abs=1)
    assert left == 0 or ledger.can_afford(step**left, budget)
    assert not ledger.can_afford(step ** (left + 1), budget)


@pytest.mark.parametrize(
    "budget",
    [Budget(epsilon=3.0, delta=1e-5), Budget(points=[(3.0, 1e-5), (2.0, 1e-3)])],
    ids=repr,
)
def test_steps_left_of_noisy_sgd(budget):
    ledger = Ledger.planned().add(STEP**1_000).add(ew.Gaussian(20.0))
    left = ledger.steps_left(budget, STEP)
    assert ledger.can_afford(STEP**left, budget)
    assert not ledger.can_afford(STEP ** (left + 1), budget)
    assert 1_000 < left < 4_500


def test_the_last_step_is_the_event_unless_given():
    ledger = Ledger.planned().add(LOUD**5)
    budget = Budget(epsilon=3.0, delta=1e-5)
    assert ledger.steps_left(budget) == ledger.steps_left(budget, LOUD)


@pytest.mark.parametrize("before", [Ledger.planned(), Ledger.planned().add(LOUD * ew.Laplace(3.0))])
def test_without_a_last_step_the_event_is_asked_for(before):
    with pytest.raises(InvalidArgument) as refused:
        before.steps_left(Budget(mu=1.0))
    assert str(refused.value) == "event is missing, and the last event is not one step repeated; say which step"


def test_steps_left_in_mu_is_counted_in_whole_numbers():
    assert Ledger.adaptive(Budget(mu=1.0)).steps_left(event=LOUD) == 100
    assert Ledger.planned().add(LOUD**40).steps_left(Budget(mu=1.0), LOUD) == 60
    assert Ledger.planned().add(LOUD**140).steps_left(Budget(mu=1.0), LOUD) == 0
    assert Ledger.adaptive(Budget(mu=1.0)).steps_left(event=ew.GaussianDP(1e-100)) == 10**200


@pytest.mark.parametrize(
    "free", [ew.Composed(()), ew.Laplace(1.0, 0.0), ew.GaussianDP(0.0), ew.PoissonSampled(LOUD, 0)]
)
@pytest.mark.parametrize("budget", [Budget(epsilon=1.0, delta=1e-5), Budget(mu=1.0)], ids=repr)
def test_what_costs_nothing_may_run_for_ever(free, budget):
    assert Ledger.planned().steps_left(budget, free) == math.inf
    assert Ledger.planned().add(LOUD**1_000).steps_left(budget, free) == 0


def test_a_budget_that_allows_everything():
    assert Ledger.planned().steps_left(Budget(epsilon=0.0, delta=1.0), LOUD) == math.inf


def test_more_than_a_million_million_are_not_looked_for():
    assert Ledger.planned().steps_left(Budget(epsilon=1.0, delta=1e-5), ew.GaussianDP(1e-30)) == 10**12


def test_a_missing_budget_is_asked_for():
    for ask in (lambda: Ledger.planned().can_afford(LOUD), lambda: Ledger.planned().steps_left(event=LOUD)):
        with pytest.raises(InvalidArgument) as refused:
            ask()
        assert str(refused.value) == "budget is missing; give one, e.g. Budget(epsilon=3.0, delta=1e-5)"


def test_another_budget_cannot_be_asked_of_a_filter():
    with pytest.raises(InvalidArgument) as refused:
        Ledger.adaptive(Budget(mu=1.0)).can_afford(LOUD, Budget(mu=2.0))
    assert str(refused.value) == (
        "budget=Budget(mu=2.0) cannot be asked of an adaptive ledger: its own, Budget(mu=1.0), was fixed when it was "
        "made; leave budget out"
    )


REFUSED = [
    (
        lambda: Ledger.adaptive(None),
        "budget is missing; a filter needs one from the start, e.g. Budget(mu=1.0)",
    ),
    (
        lambda: Ledger.adaptive(Budget(epsilon=1.0, delta=0.0)),
        "budget=Budget(epsilon=1.0, delta=0.0) has no mu > 0 within it; give one with room, e.g. Budget(mu=1.0)",
    ),
    (
        lambda: Ledger.planned(budget=3.0),
        "budget=3.0 is not a budget; give one, e.g. Budget(epsilon=3.0, delta=1e-5)",
    ),
    (lambda: Ledger.planned().add(3), "event=3 is not a mechanism; give one, e.g. Gaussian(2.0)"),
    (lambda: Ledger.planned().add(LOUD, note=3), "note=3 is not text; give a str"),
    (lambda: Ledger.planned().merge(3), "other=3 is not a ledger; give one"),
    (
        lambda: Ledger.planned().merge(Ledger.adaptive(Budget(mu=1.0))),
        (
            "a ledger of mode 'planned' and one of mode 'adaptive' cannot be merged: "
            "what holds for one does not hold for the other"
        ),
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_refused(call, message):
    with pytest.raises(InvalidArgument) as refused:
        call()
    assert str(refused.value) == message


def test_a_training_run_is_added_by_its_mechanism():
    run = ew.DPSGD(examples=10, batch_size=1, epochs=1, noise_multiplier=1.0, sampler="none")
    with pytest.raises(InvalidArgument, match=r"is not a mechanism; give its \.mechanism$"):
        Ledger.planned().add(run)
    assert len(Ledger.planned().add(run.mechanism)) == 10


@pytest.mark.parametrize("ask", [lambda ledger: ledger.guarantee(), lambda ledger: ledger.spent_mu])
def test_a_planned_ledger_has_no_filter(ask):
    with pytest.raises(Unsupported, match=r"^a planned ledger .*; ask its account\(\) for what was spent$"):
        ask(Ledger.planned())


def test_the_mode_is_shown():
    assert repr(Ledger.planned().add(STEP**3)) == "Ledger(mode='planned', releases=3, events=1)"
    assert repr(Ledger.adaptive(Budget(mu=1.0)).add(LOUD**4)) == (
        "Ledger(mode='adaptive', releases=4, events=1, budget=Budget(mu=1.0), spent_mu=0.2)"
    )


def test_ledgers_are_equal_when_they_say_the_same():
    first, second = Ledger.planned().add(LOUD), Ledger.planned().add(ew.Gaussian(10))
    assert first == second
    assert hash(first) == hash(second)
    assert first != first.add(LOUD)
    assert first != Ledger.planned().add(LOUD, note="other")
    assert Ledger.adaptive(Budget(mu=1.0)) != Ledger.planned()
    assert pickle.loads(pickle.dumps(first)) == first  # noqa: S301
