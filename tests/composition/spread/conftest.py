"""Few points, for tests that would take long otherwise."""

import pytest

from edgeworth.composition.spread import engine


@pytest.fixture
def few_points(monkeypatch, request):
    """As much work for each law as the module says, and no more: wide ends, which hold as well."""
    monkeypatch.setattr(engine, "_WORK", request.module.LITTLE_WORK)
    monkeypatch.setattr(engine, "_MORE_WORK", 1.0)
    engine.prepared.cache_clear()
    yield
    engine.prepared.cache_clear()
