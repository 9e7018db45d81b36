"""The figures that Opacus publishes for its own accountants, as cross-checks.

They stand in opacus/tests/accountants_test.py and opacus/tests/prv_accountant.py of Opacus 1.6.0, each with the
tolerance that is asserted there: half a unit of the last of the places that it compares. Those of the PRV
accountant are upper ends with an error of up to 0.01 in epsilon, those of the RDP accountant looser upper ends, and
that of the GDP accountant is an estimate that promises too much.
"""

import pytest
from opacus.accountants.utils import get_noise_multiplier

import edgeworth as ew
from edgeworth.integrations.opacus import EdgeworthAccountant

PRV_ERROR = 0.01  # of epsilon, the default of that accountant
FOUR_PLACES, SEVEN_PLACES = 0.5e-4, 0.5e-7

#: (noise multiplier, sample rate, steps): epsilon at delta = 1e-6, to four places
PRV = {
    (0.8, 0.001, 100): 0.270403364058018680360362395731,
    (1.5, 0.001, 100): 0.0393694193095203287535710501288,
    (2.0, 0.001, 100): 0.0291045369484074882560076247273,
    (3.0, 0.001, 100): 0.0215200934390882663016508757892,
    (0.8, 0.05, 100): 6.74105193941409996938318727189,
    (1.5, 0.05, 100): 1.95385313568420015961635272106,
    (2.0, 0.05, 100): 1.28363737962406521120328761754,
    (3.0, 0.05, 100): 0.767933789666825572517439013609,
    (0.8, 0.2, 100): 24.3336641779225644199868838768,
    (1.5, 0.2, 100): 8.49897785912163072907787864096,
    (2.0, 0.2, 100): 5.67205560882372950004537415225,
    (3.0, 0.2, 100): 3.38122051022184422208738396876,
    (0.8, 0.001, 1000): 0.477771266184522591657923840103,
    (1.5, 0.001, 1000): 0.0998206602308474855167474970585,
    (2.0, 0.001, 1000): 0.0712187825381152272985474382949,
    (3.0, 0.001, 1000): 0.0476159308713589302097801692071,
    (0.8, 0.05, 1000): 19.5258428053837356230815203162,
    (1.5, 0.05, 1000): 6.20996924657726712126759593957,
    (2.0, 0.05, 1000): 4.17279986668931890392286732094,
    (3.0, 0.05, 1000): 2.52757432605973830774814814504,
    (0.8, 0.001, 20000): 1.29600925757016161021795142005,
    (1.5, 0.001, 20000): 0.437005108654860807693154356457,
    (2.0, 0.001, 20000): 0.305837939762453436820521801565,
    (3.0, 0.001, 20000): 0.194031030686054706269061398416,
    (1.5, 0.05, 20000): 38.3066179140872336006395926233,
    (2.0, 0.05, 20000): 24.4217185703225858617315680021,
    (3.0, 0.05, 20000): 13.9611146992367061159256991232,
    (0.8, 0.001, 50000): 2.03451480771586634688219419331,
    (1.5, 0.001, 50000): 0.704218384555810095193351116905,
    (2.0, 0.001, 50000): 0.491354910211401318953505779064,
    (3.0, 0.001, 50000): 0.309694161156544023327796821832,
    (1.5, 0.05, 50000): 73.1901767238329625797632616013,
    (2.0, 0.05, 50000): 45.2369958613306906158868514467,
    (3.0, 0.05, 50000): 24.9420056431444763234139827546,
}


def of(*entry):
    accountant = EdgeworthAccountant()
    accountant.history = [entry]
    return accountant


@pytest.mark.parametrize(("entry", "theirs"), PRV.items())
def test_epsilon_is_never_above_that_of_the_prv_accountant(entry, theirs):
    ours = of(*entry).epsilon_bracket(1e-6)
    assert ours.upper <= theirs + FOUR_PLACES
    assert ours.upper >= theirs - 2 * PRV_ERROR - FOUR_PLACES  # theirs is twice its own error above its lower end


@pytest.mark.parametrize("entry", PRV)
def test_the_lower_end_is_never_above_the_closed_form_without_sampling(entry):
    noise, _, steps = entry
    closed_form = ew.account(ew.GaussianDP(steps**0.5 / noise)).epsilon(1e-6)
    assert closed_form.certificate.method == "closed-form"
    assert of(*entry).epsilon_bracket(1e-6).lower <= closed_form.upper


def test_a_rate_of_one_is_the_closed_form():
    ours = of(1.5, 1.0, 2250).epsilon_bracket(1e-5)
    closed_form = ew.account(ew.GaussianDP(2250**0.5 / 1.5)).epsilon(1e-5)
    assert ours.lower <= closed_form.upper
    assert closed_form.lower <= ours.upper


def test_the_run_on_which_they_compare_all_three():
    ours = of(1.5, 0.04, 2250).epsilon_bracket(1e-5)
    rdp, prv, gdp = 7.32911117143, 6.777395712150674, (6.59, 6.6)
    assert ours.upper <= prv + SEVEN_PLACES < rdp
    assert ours.upper >= prv - 2 * PRV_ERROR
    assert ours.lower > gdp[1]


@pytest.mark.parametrize(
    ("duration", "steps", "rdp", "prv"),
    [({"epochs": 90}, 2250, 1.416, 1.34765625), ({"steps": 2000}, 2000, 1.3562, 1.2915)],
)
def test_noise_is_never_above_that_of_their_accountants(duration, steps, rdp, prv):
    noise = get_noise_multiplier(
        target_epsilon=8.0, target_delta=1e-5, sample_rate=0.04, accountant="edgeworth", **duration
    )
    assert noise <= prv + FOUR_PLACES < rdp
    assert 8.0 - 0.01 <= of(noise, 0.04, steps).get_epsilon(1e-5) <= 8.0
