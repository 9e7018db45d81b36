from __future__ import annotations

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import edgeworth as ew

MECHANISM = ew.Laplace(scale=10.0) ** 20


@pytest.fixture(scope="session")
def guarantee():
    return ew.account(MECHANISM)


@pytest.fixture(scope="session")
def estimate():
    return ew.account(MECHANISM, method="edgeworth")


@pytest.fixture
def ax():
    """Axes without a window."""
    figure = Figure()
    FigureCanvasAgg(figure)
    return figure.subplots()
