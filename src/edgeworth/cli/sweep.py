"""Many runs at once: each a row of a table, computed on this machine or on a cluster."""

from __future__ import annotations

import itertools
from contextlib import closing, contextmanager
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from edgeworth.account import account
from edgeworth.cli.rows import COLUMNS, KEYS
from edgeworth.errors import EdgeworthError, InvalidArgument, require_extra
from edgeworth.mechanisms import Gaussian, PoissonSampled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from edgeworth.cli.grid import Point
    from edgeworth.cli.rows import Table

    Group = tuple[Point, ...]
    Row = dict[str, Any]

__all__ = ["answers", "groups", "run"]

_PATIENCE = 10  # seconds for a scheduler to answer


def groups(points: Iterable[Point], known: set[Point]) -> list[Group]:
    """The points that are not known, those of one run together: they share an account."""
    fresh = (point for point in points if point not in known)
    return [tuple(each) for _, each in itertools.groupby(fresh, key=lambda point: astuple(point)[:3])]


def answers(group: Group) -> list[Row]:
    """The rows of one run; what is refused on purpose is a row that says why. This is what workers run."""
    first = group[0]
    try:
        step = PoissonSampled(Gaussian(first.noise_multiplier), rate=first.rate)
        composed = account(step**first.steps)
        return [_row(point, composed) for point in group]
    except EdgeworthError as refused:
        blank = dict.fromkeys(COLUMNS, "") | {"refusal": " ".join(str(refused).split())}
        return [blank | dict(zip(KEYS, _written(point), strict=True)) for point in group]


def _row(point: Point, composed: Any) -> Row:
    found = composed.epsilon(point.delta)
    read = (repr(found.value), repr(found.lower), repr(found.upper), composed.certified, composed.certificate.method)
    return dict(zip(COLUMNS, (*_written(point), *read, ""), strict=True))


def _written(point: Point) -> tuple[str, ...]:
    """All digits: repr of a float reads back as the same float."""
    return tuple(map(repr, astuple(point)))


def run(
    work: list[Group], table: Table, *, jobs: int, scheduler: str | None, progress: Callable[[str, int, int], None]
) -> None:
    """Answer every group through joblib, on this machine or on a Dask cluster, writing rows as they come."""
    joblib = require_extra("joblib", extra="sweep")
    done = 0
    with _backend(joblib, scheduler):
        parallel = joblib.Parallel(n_jobs=-1 if scheduler else jobs, return_as="generator_unordered")
        rows: Any = parallel(joblib.delayed(answers)(group) for group in work)
        with closing(rows):  # when interrupted, the workers are told before anything else happens
            for answered in rows:
                table.append(answered)
                done += 1
                progress("runs", done, len(work))
    table.finish()


@contextmanager
def _backend(joblib: Any, scheduler: str | None) -> Iterator[None]:
    """The Dask cluster at the address, as joblib's backend; else joblib's own processes."""
    if scheduler is None:
        with joblib.parallel_config(backend="loky"):
            yield
        return
    distributed = require_extra("distributed", extra="sweep")
    try:
        client = distributed.Client(scheduler, timeout=_PATIENCE)
    except (OSError, ValueError):
        raise InvalidArgument(
            f"scheduler={scheduler!r} does not answer; start one with: dask scheduler, and give its address"
        ) from None
    with client, joblib.parallel_config(backend="dask", client=client):
        yield
