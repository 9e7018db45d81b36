"""The example trains for real, is killed, started again, and stops at its budget as if nothing had happened."""

import runpy
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from edgeworth.integrations.opacus import EdgeworthAccountant

EXAMPLE = Path(__file__).parents[3] / "examples" / "opacus_training.py"
EPSILON, DELTA, NOISE, RATE = 7.0, 1e-5, 1.0, 64 / 512
PNG = b"\x89PNG\r\n"


def _arguments(out):
    chosen = {
        "--epsilon": EPSILON,
        "--delta": DELTA,
        "--noise-multiplier": NOISE,
        "--examples": 512,
        "--batch-size": 64,
    }
    words = [str(word) for pair in chosen.items() for word in pair]
    return [str(EXAMPLE), *words, "--out", str(out), "--report-every", "10", "--checkpoint-every", "5"]


def _steps(checkpoint):
    ((noise, rate, steps),) = torch.load(checkpoint, weights_only=True)["privacy_accountant_state_dict"]["history"]
    assert (noise, rate) == (NOISE, RATE)
    return steps


def _affordable():
    return EdgeworthAccountant().steps_left(EPSILON, DELTA, noise_multiplier=NOISE, sample_rate=RATE)


def _killed_after_its_first_checkpoint(out):
    """How many steps were saved by a process that got SIGKILL in the middle of its training."""
    checkpoint, command = out / "checkpoint.pt", [sys.executable, *_arguments(out)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:  # noqa: S603
        try:
            while not checkpoint.exists():
                assert process.poll() is None, "it ended without a checkpoint"
                time.sleep(0.01)
        finally:
            process.kill()
    return _steps(checkpoint)


@pytest.fixture
def finished(monkeypatch, capsys):
    """What it tells until its end, here: torch is imported already."""

    def run(out):
        monkeypatch.setattr(sys, "argv", _arguments(out))
        runpy.run_path(str(EXAMPLE), run_name="__main__")
        return capsys.readouterr().out

    return run


def test_killed_and_started_again_it_stops_at_the_same_step(tmp_path, finished):
    affordable = _affordable()
    saved = _killed_after_its_first_checkpoint(tmp_path)
    assert 0 < saved < affordable
    told = finished(tmp_path)
    assert f"resumed after step {saved}\nrate 0.125, {affordable - saved} steps to take\n" in told
    assert _steps(tmp_path / "checkpoint.pt") == affordable
    shown = [float(line.split()[3]) for line in told.splitlines() if line.startswith("step ")]
    assert shown == sorted(shown)
    assert shown[-1] <= EPSILON

    statement = (tmp_path / "statement.md").read_text(encoding="utf-8")
    assert f"| releases | {affordable} |" in statement
    assert "| this is | a guarantee |" in statement
    assert "| sampler | Poisson |" in statement
    for picture in ("training.png", "privacy.png"):
        assert (tmp_path / picture).read_bytes().startswith(PNG)

    again = finished(tmp_path)
    assert f"resumed after step {affordable}\nrate 0.125, 0 steps to take\n" in again
    assert _steps(tmp_path / "checkpoint.pt") == affordable


@pytest.mark.parametrize("step", [0, 1])
def test_the_next_step_would_be_one_too_many(step):
    accountant = EdgeworthAccountant()
    accountant.history = [(NOISE, RATE, _affordable() + step)]
    assert (accountant.get_epsilon(DELTA) <= EPSILON) == (step == 0)
