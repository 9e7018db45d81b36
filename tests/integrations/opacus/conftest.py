"""A small private training, and silence about what Opacus and torch warn of in every run."""

import pytest
import torch
from opacus import PrivacyEngine
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import edgeworth.integrations.opacus  # noqa: F401 - registers the accountant

torch.set_num_threads(1)  # tensors of a few numbers: threads only wait for each other

KNOWN_WARNINGS = [
    "ignore:Secure RNG turned off",
    "ignore:Full backward hook is firing",
    "ignore:Optimal order is the",
]


def pytest_collection_modifyitems(items):
    for item in items:
        for known in KNOWN_WARNINGS:
            item.add_marker(pytest.mark.filterwarnings(known))


class Training:
    """A linear model on 40 records; `make_private` and its keywords are those of the engine."""

    def __init__(self, *, accountant="edgeworth", batch_size=4, epsilon=None, **keywords):
        torch.manual_seed(0)
        records = TensorDataset(torch.randn(40, 3), torch.randint(0, 2, (40,)))
        self.engine = PrivacyEngine(accountant=accountant)
        self.inner = nn.Linear(3, 2)
        parts = {
            "module": self.inner,
            "optimizer": torch.optim.SGD(self.inner.parameters(), lr=0.1),
            "data_loader": DataLoader(records, batch_size=batch_size, shuffle=True),
            "max_grad_norm": 1.0,
        }
        if epsilon is None:
            made = self.engine.make_private(**parts | {"noise_multiplier": 1.0} | keywords)
        else:
            made = self.engine.make_private_with_epsilon(
                **parts | keywords, target_epsilon=epsilon, target_delta=1e-3, epochs=20
            )
        self.module, self.optimizer, *criterion, self.loader = made
        self.criterion = criterion[0] if criterion else nn.CrossEntropyLoss()

    @property
    def accountant(self):
        return self.engine.accountant

    def backward(self, records, labels):
        self.criterion(self.module(records), labels).backward()

    def steps(self, count, accumulate=1):
        """Take so many steps, each over so many batches, through as many epochs as it needs."""
        batches = self._endless()
        for _ in range(count):
            self.optimizer.zero_grad()
            for _ in range(accumulate):
                self.backward(*next(batches))
            self.optimizer.step()
        return self

    def _endless(self):
        while True:
            yield from self.loader


@pytest.fixture
def training():
    return Training
