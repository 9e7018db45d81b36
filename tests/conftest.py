"""Property tests: the same examples every time in CI, new ones every time elsewhere; no deadline on a noisy machine.

Modules and the functions in them run in random order. The cases of one function stay together, in the order in which
they are written: many of them read the same composition, of which the library keeps the last few.
"""

import os

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("local", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "local")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    written = {item: place for place, item in enumerate(items)}
    yield  # here they are shuffled
    functions: dict[str, int] = {}
    shuffled = {item: functions.setdefault(item.nodeid.partition("[")[0], len(functions)) for item in items}
    items.sort(key=lambda item: (shuffled[item], written[item]))
