"""Memory is bounded up front: every stage of a lattice holds a few arrays as long as the law, and no more."""

import math
import tracemalloc

import numpy as np
import pytest

import edgeworth as ew
from edgeworth.composition.lattice.cells import cells
from edgeworth.composition.lattice.masses import masses
from edgeworth.composition.lattice.rounding import lowered, raised
from edgeworth.composition.lattice.smoothed import Line, smoothed
from edgeworth.composition.lattice.tilted_lattice import _prefix, _suffix, convolved
from edgeworth.composition.lattice.transforms import transform
from edgeworth.losses import GaussianLoss, privacy_loss

SIZE = 2**18
SCRATCH = 2**22  # bytes that are worked on at a time


def most_arrays(work, length=SIZE):
    """What the work makes, and at most how many arrays of so many doubles it held at a time beside its scratch."""
    tracemalloc.start()
    try:
        made = work()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return made, (peak - SCRATCH) / (8 * length)


def test_the_stages_of_a_smoothed_law_hold_little_more_than_their_results():
    h = 12.0 / SIZE
    law, held = most_arrays(lambda: masses(GaussianLoss(0.5), (-6.0, 6.0), 3.0, math.pi / h))
    assert law.place.size > 2 * SIZE
    assert held < 2 * law.place.size / SIZE
    made, held = most_arrays(lambda: transform(law, 3.0, h, SIZE))
    assert held < 6
    _, held = most_arrays(lambda: smoothed(Line("delta", [(made, 40)], 3.0, h, SIZE), (0.0, 0.1)))
    assert held < 2


def test_the_stages_of_a_rounded_law_hold_few_arrays():
    loss, h = privacy_loss(ew.PoissonSampled(ew.Gaussian(1.0), 0.01)), 10.0 / SIZE
    law, held = most_arrays(lambda: cells(loss, h, (-1.0, 10.0)))
    assert law.log_left.size > SIZE
    assert held < 9
    _, held = most_arrays(lambda: raised(law, 3.0))
    assert held < 3
    low, held = most_arrays(lambda: lowered(law, 3.0))
    assert held < 12
    total, held = most_arrays(lambda: convolved([(low, 3)], 3.0, h, 3 * law.offset, (-0.1, 10.0)))
    assert total.mass.size > SIZE
    assert held < 3
    _, held = most_arrays(lambda: total.tail("delta", 0.0, 0.1))
    assert held < 6


@pytest.mark.parametrize("decay", [0.0, 0.3, 0.999, 1.0])
@pytest.mark.parametrize("size", [1, 7, 2**14, 2**14 + 1, 40_000])
def test_running_sums_by_their_definition(size, decay):
    weight = np.random.default_rng(size).random(size)
    power = decay ** np.arange(1, size + 1)
    for k in {0, size // 2, size - 1}:
        exact = math.fsum((weight[k + 1 :] * power[: size - k - 1]).tolist())
        assert _suffix(weight, decay)[k] == pytest.approx(exact, rel=1e-12)
        exact = math.fsum((weight[:k] * power[:k][::-1]).tolist())
        assert _prefix(weight, decay)[k] == pytest.approx(exact, rel=1e-12)
