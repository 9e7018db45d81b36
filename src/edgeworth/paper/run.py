"""The whole reproduction: every figure and table, the page, and every number as CSV."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from edgeworth.errors import require_extra
from edgeworth.paper.experiments import FULL, LAPLACE, QUICK, SGD, SGD_ROOT, Experiment, Sizes
from edgeworth.paper.figures import PAPER_FIGURES, error_by_degree, orders_figure
from edgeworth.paper.orders import DESIGNS, Orders, measure
from edgeworth.paper.page import page, picture_section, table_section
from edgeworth.paper.tables import (
    Table,
    change_point_table,
    error_table,
    laplace_runtime,
    mixture_runtime,
    orders_table,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from edgeworth.paper.pictures import Picture

    Progress = Callable[[str, int, int], None]

__all__ = ["reproduce"]

_LEAD = (
    "Every figure and table of “Sharp Composition Bounds for Gaussian Differential Privacy via Edgeworth "
    "Expansion”, computed again, with the slips of its text corrected and each method judged against the truth. "
    "CLT, Edgeworth and Cornish–Fisher are estimates, not guarantees."
)


def reproduce(out: Path, *, progress: Progress | None = None, quick: bool = False) -> Path:
    """Write index.html, the pictures and every number as CSV into `out`; return the path of the page.

    `progress(label, done, total)` is called at every stage. `quick` recomputes a sample of the paper in seconds.
    """
    require_extra("matplotlib", extra="plot")
    sizes = QUICK if quick else FULL
    out.mkdir(parents=True, exist_ok=True)
    sections: list[tuple[str, str, str]] = []
    stages = _stages(sizes)
    start = time.perf_counter()
    for done, (label, make) in enumerate(stages):
        if progress is not None:
            progress(label, done, len(stages))
        sections += [_written(out, made) for made in make()]
    order = {anchor: place for place, anchor in enumerate(_READING_ORDER)}
    sections.sort(key=lambda section: order.get(section[0], len(order)))
    lead = f"{_LEAD} Computed in {time.perf_counter() - start:.0f} s."
    path = out / "index.html"
    path.write_text(page("Sharp composition bounds, computed again", lead, sections), encoding="utf-8")
    if progress is not None:
        progress("page written", len(stages), len(stages))
    return path


_READING_ORDER = (
    "figure_primal_dual",
    "figure_cornish_fisher",
    "figure_ew_param",
    "figure_laplace",
    "figure_laplace_dual",
    "table_laplace_runtime",
    "figure_mixture",
    "figure_mixture_symm",
    "table_mixture_runtime",
    "figure_mixture_phalf",
    "figure_mixture_symm_phalf",
    "table_change_point",
    "table_errors_laplace",
    "table_errors_noisy_sgd",
    "table_errors_noisy_sgd_root",
    "figure_error_by_degree",
    "figure_orders",
    "table_orders",
)


def _stages(sizes: Sizes) -> list[tuple[str, Callable[[], list[Picture | Table]]]]:
    """Label and work of every stage. Times are measured first, on a quiet machine with empty caches."""
    stages: list[tuple[str, Callable[[], list[Picture | Table]]]] = [
        ("table laplace_runtime", lambda: [laplace_runtime(sizes)]),
        ("table mixture_runtime", lambda: [mixture_runtime(sizes)]),
    ]
    for name, make in PAPER_FIGURES.items():
        stages.append((f"figure {name}", partial(_picture, make, sizes)))
    sized = ((LAPLACE, sizes.laplace_errors), (SGD, sizes.sgd_errors), (SGD_ROOT, sizes.sgd_errors))
    for experiment, ns in sized:
        stages.append((f"errors, {experiment.name}", partial(_errors, experiment, ns, sizes.degrees)))
    stages.append(("change points", lambda: [change_point_table(sizes.laplace_errors)]))
    stages.append(("errors by degree", lambda: [error_by_degree(sizes)]))
    measured: list[Orders] = []

    def measure_one(number: int) -> list[Picture | Table]:
        measured.append(measure(DESIGNS[number], sizes.order_exponents))
        return []

    for number, design in enumerate(DESIGNS):
        stages.append((f"orders, {design.title}", partial(measure_one, number)))
    stages.append(("orders", lambda: [orders_figure(tuple(measured)), orders_table(tuple(measured))]))
    return stages


def _picture(make: Callable[[Sizes], Picture], sizes: Sizes) -> list[Picture | Table]:
    return [make(sizes)]


def _errors(experiment: Experiment, ns: tuple[int, ...], degrees: tuple[int, ...]) -> list[Picture | Table]:
    return [error_table(experiment, ns, degrees)]


def _written(out: Path, made: Picture | Table) -> tuple[str, str, str]:
    """Write the files of a picture or a table; return its section."""
    if isinstance(made, Table):
        (out / f"table_{made.name}.csv").write_text(made.csv(), encoding="utf-8")
        return table_section(made)
    (out / f"figure_{made.name}.csv").write_text(made.csv(), encoding="utf-8")
    png = made.png()
    (out / f"figure_{made.name}.png").write_bytes(png)
    return picture_section(made, png)
