"""The page on Opacus is run, and its links lead somewhere."""

import re
from pathlib import Path

import torch
from opacus.accountants.utils import get_noise_multiplier

PAGE = Path(__file__).parents[3] / "docs" / "integrations" / "opacus.md"


def test_every_block_runs(capsys):
    torch.manual_seed(0)
    names = {}
    blocks = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"))
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)  # noqa: S102 - our own page
    assert "# Privacy statement" in capsys.readouterr().out


def test_every_link_leads_somewhere():
    for target in re.findall(r"\]\(([^)#:]+)\)", PAGE.read_text(encoding="utf-8")):
        assert (PAGE.parent / target).is_file(), target


def test_an_epoch_at_the_rate_of_93_batches_is_taken_for_92_steps():
    asked = {"target_epsilon": 3.0, "target_delta": 1e-5, "sample_rate": 1 / 93, "accountant": "edgeworth"}
    assert get_noise_multiplier(**asked, epochs=1) == get_noise_multiplier(**asked, steps=92)
