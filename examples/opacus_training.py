"""DP-SGD with Opacus and certified figures: live epsilon, a stop at the budget, checkpoints, a statement, pictures.

    python examples/opacus_training.py --epsilon 3 --delta 1e-5

trains a small convolutional network on images that it draws itself, until one more step would exceed the budget.
Started again after a crash, it goes on from the last checkpoint: steps after that one are lost together with all they
computed, so nothing of them was released. It needs `pip install 'edgeworth[opacus,plot]'`.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from matplotlib.figure import Figure
from opacus import PrivacyEngine
from rich.progress import Progress
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import edgeworth.integrations.opacus  # noqa: F401 - registers the accountant
from edgeworth.report import RocDisplay, TradeoffDisplay

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = 12  # pixels each way
CLASSES = 4
TEST_IMAGES = 1000


def options(words: list[str] | None = None) -> argparse.Namespace:
    """What was chosen: on the command line, or by these words."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epsilon", type=float, default=3.0, help="the budget")
    parser.add_argument("--delta", type=float, default=1e-5, help="the delta at which epsilon is meant")
    parser.add_argument("--noise-multiplier", type=float, default=1.0, help="of the noise on each sum of gradients")
    parser.add_argument("--examples", type=int, default=4096, help="private images")
    parser.add_argument("--batch-size", type=int, default=128, help="of a batch, on average")
    parser.add_argument("--max-steps", type=int, default=1000, help="stop here even if the budget has room")
    parser.add_argument("--report-every", type=int, default=20, help="steps between two lines of output")
    parser.add_argument("--checkpoint-every", type=int, default=20, help="steps between two checkpoints")
    parser.add_argument("--out", type=Path, default=Path("out/opacus-training"), help="the folder of all results")
    return parser.parse_args(words)


def images(count: int, seed: int) -> TensorDataset:
    """Stripes in one of four directions, at a random phase, under noise."""
    random = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, CLASSES, (count,), generator=random)
    phase = 2 * torch.pi * torch.rand(count, 1, 1, generator=random)
    angle = (torch.pi * labels / CLASSES)[:, None, None]
    y, x = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
    stripes = torch.sin(1.5 * (x * torch.cos(angle) + y * torch.sin(angle)) + phase)
    return TensorDataset((stripes + torch.randn(count, SIZE, SIZE, generator=random))[:, None], labels)


def network() -> nn.Module:
    """Two convolutions and a linear layer."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, CLASSES),
    )


class Run:
    """A private training that can be left and taken up again."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self.chosen = chosen
        self.checkpoint = chosen.out / "checkpoint.pt"
        self.log: list[tuple[int, float, float]] = []  # step, epsilon, accuracy
        self.test = images(TEST_IMAGES, seed=1)  # drawn apart: what it shows says nothing of the private images
        self.engine = PrivacyEngine(accountant="edgeworth")
        module = network()
        self.module, self.optimizer, self.loader = self.engine.make_private(
            module=module,
            optimizer=torch.optim.Adam(module.parameters(), lr=0.01),
            data_loader=DataLoader(images(chosen.examples, seed=0), batch_size=chosen.batch_size),
            noise_multiplier=chosen.noise_multiplier,
            max_grad_norm=1.0,
        )

    def steps_left(self) -> int:
        """How many more steps the budget and `--max-steps` allow."""
        affordable = self.engine.accountant.steps_left(
            self.chosen.epsilon,
            self.chosen.delta,
            noise_multiplier=self.chosen.noise_multiplier,
            sample_rate=self.loader.sample_rate,
        )
        return int(min(affordable, max(self.chosen.max_steps - len(self.engine.accountant), 0)))

    def resume(self) -> None:
        """Take up the last checkpoint, if there is one."""
        if self.checkpoint.exists():
            kept = self.engine.load_checkpoint(path=self.checkpoint, module=self.module, optimizer=self.optimizer)
            self.log = kept["log"]
            print(f"resumed after step {len(self.engine.accountant)}", flush=True)

    def save(self) -> None:
        """Replace the checkpoint; whoever kills us in the middle leaves the old one."""
        unfinished = self.checkpoint.with_suffix(".unfinished")
        self.engine.save_checkpoint(
            path=unfinished, module=self.module, optimizer=self.optimizer, checkpoint_dict={"log": self.log}
        )
        os.replace(unfinished, self.checkpoint)  # noqa: PTH105 - atomic, which is the point

    def train(self) -> None:
        """Step until the next step would be one too many."""
        accountant, batches = self.engine.accountant, self.batches()
        left = self.steps_left()
        with Progress(transient=True, disable=not sys.stdout.isatty()) as progress:
            bar = progress.add_task("training", completed=len(accountant), total=len(accountant) + left)
            while self.steps_left() > 0:
                self.step(*next(batches))
                taken = len(accountant)
                progress.update(bar, completed=taken)
                if taken % self.chosen.report_every == 0:
                    self._report()
                if taken % self.chosen.checkpoint_every == 0:
                    self.save()
        self._report()
        self.save()

    def batches(self) -> Iterator[Any]:
        """Poisson batches, without end."""
        while True:
            yield from self.loader

    def step(self, pictures: torch.Tensor, labels: torch.Tensor) -> None:
        """One private step."""
        self.optimizer.zero_grad()
        nn.functional.cross_entropy(self.module(pictures), labels).backward()
        self.optimizer.step()

    def _report(self) -> None:
        """One line, with the exact epsilon. The training loss is not shown: it is no private figure."""
        pictures, labels = self.test.tensors
        with torch.no_grad():
            accuracy = float((self.module(pictures).argmax(1) == labels).float().mean())
        taken, epsilon = len(self.engine.accountant), self.engine.get_epsilon(self.chosen.delta)
        if not self.log or self.log[-1][0] < taken:
            self.log.append((taken, epsilon, accuracy))
            shown = math.ceil(1e4 * epsilon) / 1e4  # rounded up: it is a promise
            print(f"step {taken:4}  epsilon {shown:.4f}  accuracy {accuracy:.1%}", flush=True)


def draw_training(run: Run) -> None:
    """Accuracy and epsilon over the steps, with the budget."""
    steps, epsilon, accuracy = zip(*run.log, strict=True)
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(steps, accuracy, marker=".")
    left.set(xlabel="step", ylabel="accuracy on test images", xlim=(0, None), ylim=(0, 1))
    right.plot(steps, epsilon, marker=".")
    right.axhline(run.chosen.epsilon, color="grey", linestyle="--")
    right.annotate("budget", (0, run.chosen.epsilon), xytext=(0, -12), textcoords="offset points", color="grey")
    right.set(xlabel="step", ylabel=f"epsilon at delta = {run.chosen.delta:g}", xlim=(0, None), ylim=(0, None))
    figure.savefig(run.chosen.out / "training.png", dpi=120)


def draw_privacy(run: Run) -> None:
    """What an attacker can do: the trade-off curve, and its mirror on logarithmic axes."""
    figure = Figure(figsize=(12, 5.5), layout="constrained")
    axes = figure.subplots(1, 2)
    for display, ax in zip((TradeoffDisplay, RocDisplay), axes, strict=True):
        display.from_account(run.engine.accountant.account).plot(ax)
    figure.savefig(run.chosen.out / "privacy.png", dpi=120)


def main() -> None:
    """Train, and write everything that belongs to the model into one folder."""
    warnings.filterwarnings("ignore", message="Secure RNG turned off")  # an example; a release would turn it on
    warnings.filterwarnings("ignore", message="Full backward hook is firing")
    chosen = options()
    chosen.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    torch.set_num_threads(1)  # more would wait for each other over pictures this small
    run = Run(chosen)
    run.resume()
    print(f"rate {run.loader.sample_rate:g}, {run.steps_left()} steps to take", flush=True)
    run.train()
    statement = run.engine.accountant.account.statement(deltas=[chosen.delta])
    (chosen.out / "statement.md").write_text(statement.markdown() + "\n", encoding="utf-8")
    draw_training(run)
    draw_privacy(run)
    print(f"{statement.figures[0][0]}: {statement.figures[0][1]}\n{statement.sentence}")
    print(f"statement.md, training.png, privacy.png and checkpoint.pt are in {chosen.out}")


if __name__ == "__main__":
    main()
