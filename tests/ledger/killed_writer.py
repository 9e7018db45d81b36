"""A writer that is killed, again and again, in the middle of its work. Run by test_kill.py in a process of its own.

Each round forks a writer, which adds events as fast as it can and reports each one that was acknowledged, kills
it at a random moment, and looks at the file. Half of the writers write a few bytes at a time, so that many are
killed in the middle of a line.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import edgeworth as ew
from edgeworth.ledger import file as ledger_file


def add_for_ever(path, report, *, dribble):
    if dribble:
        write = os.write
        ledger_file.os.write = lambda handle, text: (time.sleep(0.0005), write(handle, text[:5]))[1]
    ledger = ew.Ledger.open(path)
    while True:
        ledger = ledger.add(ew.Gaussian(10.0), note=str(len(ledger)))
        os.pwrite(report, str(len(ledger)).encode().ljust(20), 0)


def one_round(path, acknowledged, *, dribble, patience):
    report = os.open(path.with_suffix(".report"), os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    writer = os.fork()
    if writer == 0:
        try:
            add_for_ever(path, report, dribble=dribble)
        finally:
            os._exit(1)
    while not os.pread(report, 20, 0):
        time.sleep(0.001)
    time.sleep(patience)
    os.kill(writer, signal.SIGKILL)
    os.waitpid(writer, 0)
    now = int(os.pread(report, 20, 0) or acknowledged)
    os.close(report)
    return now


def look(path):
    """How many events there are, and what was said of a torn line."""
    try:
        return len(ew.Ledger.read(path)), ""
    except ew.LedgerDamaged as damaged:
        said = str(damaged)
    before = path.read_bytes()
    with ew.Ledger.open(path, repair=True) as repaired:
        kept = path.read_bytes()
        dropped = before[len(kept) :]
        if not before.startswith(kept) or b"\n" in dropped or not kept.endswith(b"\n"):
            said = f"the repair dropped {dropped!r}"
        return len(repaired), said.replace(str(path), "FILE").replace(
            f"line {len(kept.splitlines()) + 1}:", "line LAST:"
        )


def main(folder, rounds, seed):
    chance = random.Random(seed)  # noqa: S311
    path = Path(folder) / "run.jsonl"
    ew.Ledger.planned(path).close()
    acknowledged, seen = 0, []
    for number in range(rounds):
        acknowledged = one_round(path, acknowledged, dribble=number % 2 == 0, patience=chance.random() * 0.02)
        found, said = look(path)
        seen.append({"acknowledged": acknowledged, "found": found, "said": said})
        acknowledged = found
    notes = [event.note for event in ew.Ledger.read(path).events]
    sys.stdout.write(json.dumps({"rounds": seen, "in order": notes == [str(n) for n in range(len(notes))]}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
