"""A host of a package that does what the name of its case says: `python odd_host.py odd`."""

from __future__ import annotations

import os
import signal
import sys
import time

from benchmarks import host, packages, worker

MEGABYTES = 64


class Odd:
    """Answers how often it was loaded and used, and in which process."""

    loads = uses = 0

    def __init__(self):
        Odd.loads += 1

    def compose(self, case):
        Odd.uses += 1
        if case.name == "hangs":
            worker.tell(process=os.getpid())
            time.sleep(600)
        elif case.name == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        elif case.name == "exits":
            os._exit(3)
        elif case.name == "kills its host":
            os.kill(os.getppid(), signal.SIGKILL)
            os._exit(0)
        elif case.name == "raises":
            raise LookupError(case.name)
        elif case.name == "holds memory":
            self.held = bytearray(os.urandom(2**20) * MEGABYTES)

    def epsilon(self, _delta):
        return Odd.loads, Odd.uses, os.getpid()


def missing():
    raise ModuleNotFoundError("No module named 'odd'")


if __name__ == "__main__":
    packages.BY_NAME = {
        name: packages.Package(name, "none", "none", load) for name, load in (("odd", Odd), ("missing", missing))
    }
    host.STARTING = 0.5
    host.main(sys.argv[1])
