"""eps(delta) from 1e-1 to 1e-100 falls steadily, without jumps or warnings, and says the same alone and in company."""

import numpy as np
import pytest

import edgeworth as ew

DELTAS = np.logspace(-1, -100, 100)
SMOOTH = {
    "one sample": ew.PoissonSampled(ew.Gaussian(0.7), 0.02),
    "noisy SGD": ew.PoissonSampled(ew.Gaussian(0.8), 256 / 50_000) ** 5_000,
    "a thousand million steps": ew.PoissonSampled(ew.Gaussian(5.0), 1e-5) ** 10**9,
    "Gaussian noise": ew.Gaussian(3.0) ** 7,
    "much Laplace noise": ew.Laplace(30.0) ** 2_000,
    "a mix": ew.PoissonSampled(ew.Gaussian(0.8), 0.004) ** 3_000
    * ew.Laplace(1.0)
    * ew.RandomizedResponse(0.5, 4)
    * ew.DiscreteGaussian(3.0),
}
ATOMIC = {
    "Laplace noise": ew.Laplace(2.0) ** 3 * ew.Laplace(3.3) ** 2 * ew.RandomizedResponse(0.7),
    "discrete noise": ew.DiscreteGaussian(4.0) ** 30,
    "responses": ew.RandomizedResponse(0.3, 5) ** 100,
    "strong responses": ew.RandomizedResponse(17.05955586255844, 17) ** 213,
    "different responses": ew.RandomizedResponse(0.3) ** 10 * ew.RandomizedResponse(0.77) ** 12,
}


@pytest.mark.parametrize("name", SMOOTH)
def test_epsilon_grows_steadily_as_delta_falls(name):
    found = ew.account(SMOOTH[name]).epsilon(DELTAS)
    for side in (found.lower, found.value, found.upper):
        rises = np.diff(side)
        assert np.all(rises >= 0)
        beside = np.maximum(rises[:-2], rises[2:])  # a rise is no more than a few times those next to it
        assert np.all(rises[1:-1] <= 3 * beside + 1e-12 * side[1:-2])


@pytest.mark.parametrize("name", ATOMIC)
def test_with_atoms_epsilon_climbs_their_stairs_and_no_end_falls_out_of_the_bracket_before(name):
    found = ew.account(ATOMIC[name]).epsilon(DELTAS[::4])
    assert np.all(np.isfinite(found.upper))
    assert np.all(found.lower[1:] >= found.lower[:-1] - found.width[1:])
    assert np.all(found.upper[1:] >= found.upper[:-1] - found.width[:-1])


@pytest.mark.parametrize("name", ["one sample", "noisy SGD", "Gaussian noise", "much Laplace noise", "a mix", *ATOMIC])
def test_a_reading_alone_has_the_bits_of_the_same_reading_in_company(name):
    account = ew.account((SMOOTH | ATOMIC)[name])
    together = account.epsilon(DELTAS[::30])
    for place, delta in enumerate(DELTAS[::30].tolist()):
        alone = account.epsilon(delta)
        assert (alone.lower, alone.upper) == (together.lower[place], together.upper[place])


GRID = {
    "sigma": [ew.PoissonSampled(ew.Gaussian(s), 0.01) ** 1_000 for s in (100.0, 8.0, 3.0, 1.5, 1.0, 0.6, 0.3)],
    "rate": [ew.PoissonSampled(ew.Gaussian(1.1), p) ** 10_000 for p in (1e-3, 3e-3, 0.01, 0.05, 0.2, 0.7, 0.99, 1.0)],
    "n": [ew.PoissonSampled(ew.Gaussian(0.9), 0.02) ** n for n in (100, 101, 300, 10**3, 10**4, 10**6, 10**8, 10**9)],
    "laplace scale": [ew.Laplace(s) ** 6 for s in (40.0, 9.0, 3.0, 1.4, 1.0, 0.5)],
    "response": [ew.RandomizedResponse(e, 3) ** 40 for e in (0.01, 0.2, 0.21, 0.7, 2.0, 6.0)],
}


@pytest.mark.parametrize("name", GRID)
def test_less_noise_a_higher_rate_or_more_steps_never_cost_less(name):
    accounts = [ew.account(run) for run in GRID[name]]
    for delta in (1e-3, 1e-9, 1e-60):
        found = [account.epsilon(delta).value for account in accounts]
        assert found == sorted(found), delta
    for epsilon in (-0.5, 0.4, 3.0):
        found = [account.delta(epsilon).value for account in accounts]
        assert found == sorted(found), epsilon
    for alpha in (1e-6, 0.1, 0.9):
        found = [account.tradeoff(alpha).value for account in accounts]
        assert found == sorted(found, reverse=True), alpha
