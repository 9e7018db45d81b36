"""Lines that cannot be had are given up soon."""

import pytest
from tests.composition.contour.test_line_bounds import sampled

from edgeworth.composition.contour import line
from edgeworth.composition.contour.line import Line
from edgeworth.composition.contour.sampled_gaussian import Steps
from edgeworth.composition.contour.tail import Guess
from edgeworth.composition.contour.tilted_part import tilt_part
from edgeworth.errors import TooLarge


@pytest.mark.parametrize(("sigma", "rate", "count", "c"), [(0.53, 0.0114, 6, 6.0), (0.424, 0.00144, 10, 3.6)])
def test_a_line_that_cannot_be_had_is_given_up_at_once(monkeypatch, sigma, rate, count, c):
    """Where |phi| has not fallen at the farthest frequency, none of those before is tried."""
    tilted = []

    def tilt(*a):
        tilted.append(a)
        return tilt_part(*a)

    monkeypatch.setattr(line, "tilt_part", tilt)
    step = sampled(1 / sigma, rate, 4.0)
    with pytest.raises(TooLarge, match="falls too slowly"):
        Line(Steps(0.0, ((step, count),), (-100.0, 100.0), (0.0, 0.0)), c, 40.0, Guess(2.0))
    assert len(tilted) <= 2
