"""A sweep killed many times ends in the same table, and no row that was there is lost or computed again."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import parquet

SCRIPT = Path(__file__).parent / "killed_sweep.py"
ROUNDS = 20


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_killed_many_times_it_ends_in_the_same_table(suffix, tmp_path):
    seed = random.randrange(10**6)  # noqa: S311
    ran = subprocess.run(  # noqa: S603
        [sys.executable, SCRIPT, tmp_path, suffix, str(ROUNDS), str(seed)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, f"seed {seed}: {ran.stderr}"
    told = json.loads(ran.stdout)
    assert len(told) == ROUNDS
    assert any(each["killed"] and each["known"] for each in told), seed
    assert [each for each in told if each["lost"] or each["again"]] == [], seed
    whole, killed = tmp_path / f"whole{suffix}", tmp_path / f"killed{suffix}"
    if suffix == ".csv":
        assert killed.read_bytes() == whole.read_bytes()
    else:
        assert parquet.read_table(killed).equals(parquet.read_table(whole))
    left = {path.name for path in tmp_path.iterdir() if path.suffix != ".log"}
    assert left == {whole.name, killed.name}
