"""A process that is killed loses nothing that was acknowledged."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

ROUNDS = 40
TORN = (
    "FILE, line LAST: the last line is torn, it was never acknowledged; "
    "Ledger.open(path, repair=True) drops it and nothing else"
)


def test_a_killed_writer_loses_nothing_that_was_acknowledged(tmp_path):
    seed = random.randrange(10**6)  # noqa: S311
    script = Path(__file__).parent / "killed_writer.py"
    ran = subprocess.run(  # noqa: S603
        [sys.executable, script, tmp_path, str(ROUNDS), str(seed)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, f"seed {seed}: {ran.stderr}"
    told = json.loads(ran.stdout)
    assert len(told["rounds"]) == ROUNDS
    for each in told["rounds"]:
        # the one event that was safe on disk when its writer died before saying so may be there too
        assert each["found"] - each["acknowledged"] in (0, 1), (seed, each)
    assert told["in order"]
    assert {each["said"] for each in told["rounds"]} == {"", TORN}, seed
    assert told["rounds"][-1]["found"] > ROUNDS
