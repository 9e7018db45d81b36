"""What a training loop asks at every step is computed once; `benchmarks/opacus_training.py` has the times."""

from edgeworth.integrations.opacus import EdgeworthAccountant, accounts


def test_a_thousand_steps_search_once_for_how_many_are_left():
    accounts.most_steps.cache_clear()
    accountant = EdgeworthAccountant()
    planned = {"noise_multiplier": 1.0, "sample_rate": 1 / 32}
    first = accountant.steps_left(30.0, 1e-5, **planned)
    left = []
    for _ in range(1000):
        accountant.step(**planned)
        left.append(accountant.steps_left(30.0, 1e-5))
    assert left == [first - taken for taken in range(1, 1001)]
    assert accounts.most_steps.cache_info().misses == 1


def test_a_thousand_steps_read_ten_times_what_epsilon_is_at_most():
    accounts.epsilon_of.cache_clear()
    accountant = EdgeworthAccountant()
    for _ in range(1000):
        accountant.step(noise_multiplier=1.0, sample_rate=1 / 32)
        accountant.epsilon_at_most(1e-5)
    assert accounts.epsilon_of.cache_info().misses == 10


def test_asking_again_reads_nothing_again():
    accounts.epsilon_of.cache_clear()
    accountant = EdgeworthAccountant()
    accountant.step(noise_multiplier=1.0, sample_rate=1 / 32)
    assert len({accountant.get_epsilon(1e-5) for _ in range(5)}) == 1
    assert accounts.epsilon_of.cache_info().misses == 1
