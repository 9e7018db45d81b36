"""Sweeps that are killed, again and again, in the middle of their work. Run by test_sweep_killed.py in its own process.

Each round forks a sweep, which writes down every point before it computes it, and kills it at a random moment: while it
reads what is there, computes, appends, or puts the table in order. Some rounds start from a finished table.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from dataclasses import astuple
from pathlib import Path

import joblib  # noqa: F401 - before the clock of a round starts
from pyarrow import parquet

from edgeworth.cli import main, sweep
from edgeworth.cli.grid import Point
from edgeworth.cli.rows import KEYS, Table

GRID = [
    "--noise-multiplier",
    "0.6:2:12",
    "--rate",
    "0.01",
    "--steps",
    "200:2000:2",
    "--delta",
    "1e-5",
    "--delta",
    "1e-9",
]


def sweep_once(out, log):
    """The command, with a line in the log for every point before it is computed."""
    answer = sweep.answers

    def logged(group):
        with log.open("a", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(astuple(point))}\n" for point in group)
        return answer(group)

    sweep.answers = logged
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.argv = ["edgeworth", "sweep", *GRID, "--jobs", "1", "--out", str(out)]
    main()


def acknowledged(out):
    """The points whose rows are safe on disk, in the growing file or in the finished one."""
    table = Table(out)
    text = table.rows_file.read_text(encoding="utf-8") if table.rows_file.exists() else ""
    whole = (line.split(",") for line in text[: text.rfind("\n") + 1].splitlines()[1:])
    known = {(float(row[0]), float(row[1]), int(row[2]), float(row[3])) for row in whole}
    if out.suffix == ".parquet" and out.exists():
        known |= {tuple(row[name] for name in KEYS) for row in parquet.read_table(out).to_pylist()}
    return {Point(*each) for each in known}


def computed(log, after):
    """The points in the log from some line on."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [Point(*json.loads(line)) for line in lines[after:]]


def one_round(out, log, seconds):
    """What was lost and what was computed again in a sweep that was killed after so many seconds."""
    known, before = acknowledged(out), len(computed(log, 0))
    child = os.fork()
    if child == 0:
        sweep_once(out, log)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    return {
        "killed": os.WIFSIGNALED(status),
        "known": len(known),
        "lost": len(known - acknowledged(out)),
        "again": len(known & set(computed(log, before))),
    }


if __name__ == "__main__":
    folder, suffix, rounds, chance = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), random.Random(sys.argv[4])  # noqa: S311
    out, log = folder / f"killed{suffix}", folder / "killed.log"
    started = time.perf_counter()
    if (child := os.fork()) == 0:
        sweep_once(folder / f"whole{suffix}", folder / "whole.log")
    assert os.waitpid(child, 0)[1] == 0
    usual = time.perf_counter() - started
    told = [one_round(out, log, chance.uniform(0, 0.6) * usual) for _ in range(rounds)]
    if (child := os.fork()) == 0:
        sweep_once(out, log)
    assert os.waitpid(child, 0)[1] == 0
    sys.stdout.write(json.dumps(told))
