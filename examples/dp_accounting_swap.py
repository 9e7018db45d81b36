"""One program, two accountants: Google's PLDAccountant, and ours in its place.

    pip install 'edgeworth[dp-accounting]'
    python examples/dp_accounting_swap.py

The program knows nothing of the accountant but that it is a dp_accounting.PrivacyAccountant. Whoever has such a program
changes one word in it, as at the end of this file.

JAX Privacy asks a `DpAccountantConfig` for its accountant, and what ran in TensorFlow Privacy is an event that any
accountant takes: both get this class where they would get PLDAccountant. The lines are in
docs/integrations/dp_accounting.md.
"""

import time

import dp_accounting

from edgeworth.integrations.dp_accounting import EdgeworthAccountant


def step(noise_multiplier, batch_size, examples=50_000):
    """One step of DP-SGD: every record enters the batch by itself."""
    return dp_accounting.PoissonSampledDpEvent(
        batch_size / examples, dp_accounting.GaussianDpEvent(noise_multiplier=noise_multiplier)
    )


def training(noise_multiplier):
    """5000 such steps with batches of 256."""
    return dp_accounting.SelfComposedDpEvent(step(noise_multiplier, 256), 5_000)


def three_phases():
    """Larger batches as the training goes on, and three noisy statistics at the end."""
    return dp_accounting.ComposedDpEvent(
        [
            dp_accounting.SelfComposedDpEvent(step(1.2, 256), 2_000),
            dp_accounting.SelfComposedDpEvent(step(1.0, 512), 2_000),
            dp_accounting.SelfComposedDpEvent(step(0.9, 1_024), 1_000),
            dp_accounting.SelfComposedDpEvent(dp_accounting.LaplaceDpEvent(noise_multiplier=20.0), 3),
        ]
    )


def program(make_accountant):
    """Every question with the accountant's answer and the seconds it took."""
    questions = {
        "epsilon of 5000 steps at delta 1e-5": lambda: make_accountant().compose(training(0.8)).get_epsilon(1e-5),
        "epsilon of 5000 steps at delta 1e-12": lambda: make_accountant().compose(training(0.8)).get_epsilon(1e-12),
        "delta of 5000 steps at epsilon 2": lambda: make_accountant().compose(training(0.8)).get_delta(2.0),
        "epsilon of three phases at delta 1e-6": lambda: make_accountant().compose(three_phases()).get_epsilon(1e-6),
        "noise for epsilon 3 at delta 1e-5": lambda: dp_accounting.calibrate_dp_mechanism(
            make_accountant, training, target_epsilon=3.0, target_delta=1e-5, tol=1e-4
        ),
    }
    return {question: timed(ask) for question, ask in questions.items()}


def timed(ask):
    """The answer, and the seconds until it came."""
    start = time.perf_counter()
    return ask(), time.perf_counter() - start


def main():
    """Run the program twice and print both columns, then what only ours can say."""
    theirs = program(dp_accounting.pld.PLDAccountant)
    ours = program(EdgeworthAccountant)  # the one word
    print(f"{'':38}{'PLDAccountant':>22}{'EdgeworthAccountant':>24}")
    for question, (answer, seconds) in theirs.items():
        better, faster = ours[question]
        print(f"{question:38}{answer:13.7g} {seconds:7.3f}s{better:15.7g} {faster:7.3f}s")

    account = EdgeworthAccountant().compose(training(0.8)).account
    print(f"\nepsilon at delta 1e-12 lies in   {account.epsilon(delta=1e-12)}")
    print(f"the curve is certified by        {account.certificate.method}")
    print(account.risk.sentence())


if __name__ == "__main__":
    main()
