"""The memory that a forked process shares with its parent, made its own at once.

A shared page is copied when it is first written to, and a page of a library is looked up when it is first read: some
microseconds each, thousands of times, all within a first reading. A fresh process has this behind it from its imports.
"""

from __future__ import annotations

import ctypes
import os
import sys
from mmap import PAGESIZE
from pathlib import Path
from typing import NamedTuple

import numpy as np

POPULATE_READ, POPULATE_WRITE = 22, 23  # what `madvise` is asked for, since Linux 5.14


class Run(NamedTuple):
    """Neighbouring pages that are in memory."""

    address: int
    length: int
    writable: bool


def can_be_owned() -> bool:
    """Whether the system knows how: advice on no page at all succeeds if it is known."""
    return sys.platform == "linux" and ctypes.CDLL(None).madvise(None, 0, POPULATE_WRITE) == 0


def resident() -> list[Run]:
    """All pages that this process has in memory."""
    runs = []
    with Path("/proc/self/pagemap").open("rb", buffering=0) as entries:
        for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
            addresses, access = line.split()[:2]
            first, last = (int(address, 16) // PAGESIZE for address in addresses.split("-"))
            if not access.startswith("r"):
                continue
            found = np.frombuffer(os.pread(entries.fileno(), 8 * (last - first), 8 * first), np.uint64)
            present = (found >> 63).astype(int)
            edges = np.flatnonzero(np.diff(present, prepend=0, append=0)).tolist()
            for start, end in zip(edges[::2], edges[1::2], strict=True):
                runs.append(Run((first + start) * PAGESIZE, (end - start) * PAGESIZE, access.startswith("rw")))
    return runs


def own(runs: list[Run]) -> None:
    """Copy or look up these pages, which the parent had in memory."""
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for address, length, writable in runs:
        advise(address, length, POPULATE_WRITE if writable else POPULATE_READ)
