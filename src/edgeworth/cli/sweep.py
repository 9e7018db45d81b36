"""Many runs at once: each a row of a table, written as it is known, so that a stopped sweep goes on where it was.

The rows go to a CSV file as they come, and a Parquet file is made of it at the end. Rows are known by their four
parameters, written with all their digits: a second call skips those that are there.
"""

from __future__ import annotations

import csv
import itertools
import os
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

from edgeworth.account import account
from edgeworth.cli.grid import Point
from edgeworth.errors import EdgeworthError, InvalidArgument, require_extra
from edgeworth.mechanisms import Gaussian, PoissonSampled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    Group = tuple[Point, ...]
    Row = dict[str, Any]

__all__ = ["COLUMNS", "Table", "answers", "groups", "run"]

COLUMNS = (
    *("noise_multiplier", "rate", "steps", "delta"),
    *("epsilon", "epsilon_lower", "epsilon_upper", "guarantee", "method", "refusal"),
)
_KEYS = COLUMNS[:4]
_KINDS = ("double", "double", "int64", "double", "double", "double", "double", "bool", "string", "string")
_PATIENCE = 10  # seconds for a scheduler to answer


@dataclass(frozen=True)
class Table:
    """Where the rows go: a CSV file, or the CSV beside the Parquet file that it becomes."""

    out: Path

    @property
    def rows_file(self) -> Path:
        """The CSV file that grows."""
        return self.out if self.out.suffix == ".csv" else self.out.with_suffix(".partial.csv")

    def check(self) -> None:
        """Refused before any work when the table could not be written."""
        if self.out.suffix not in {".csv", ".parquet"}:
            raise InvalidArgument(f"out={str(self.out)!r} is not a table; give a name that ends in .csv or .parquet")
        if not self.out.parent.is_dir():
            raise InvalidArgument(
                f"out={str(self.out)!r} is in a folder that is not there; make it first: mkdir -p {self.out.parent}"
            )
        if self.out.suffix == ".parquet":
            require_extra("pyarrow", extra="sweep")

    def known(self) -> set[Point]:
        """The points whose rows are there; a last line that was cut short is dropped."""
        if self.out.suffix == ".parquet" and self.out.exists() and not self.rows_file.exists():
            self._unpack()
        if not self.rows_file.exists():
            return set()
        text = self.rows_file.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            _replace(self.rows_file, whole)
        rows = list(csv.reader(whole.splitlines()))
        if rows and tuple(rows[0]) != COLUMNS:
            raise InvalidArgument(f"out={str(self.out)!r} is another table; give a new name, or remove it first")
        return {Point(float(row[0]), float(row[1]), int(row[2]), float(row[3])) for row in rows[1:]}

    def append(self, rows: Iterable[Row]) -> None:
        """Write rows and hand them to the disk."""
        new = not self.rows_file.exists() or self.rows_file.stat().st_size == 0
        with self.rows_file.open("a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerows(rows)
            file.flush()
            os.fsync(file.fileno())

    def finish(self) -> None:
        """Make the Parquet file, if that was asked for, of all rows in their order."""
        if self.out.suffix == ".csv":
            return
        from pyarrow import csv as arrow_csv  # noqa: PLC0415 - an extra
        from pyarrow import parquet  # noqa: PLC0415 - idem

        options = arrow_csv.ConvertOptions(
            column_types=dict(zip(COLUMNS, _KINDS, strict=True)), strings_can_be_null=True
        )
        table = arrow_csv.read_csv(self.rows_file, convert_options=options)
        fresh = self.out.with_suffix(".new")
        parquet.write_table(table.sort_by([(name, "ascending") for name in _KEYS]), fresh)
        fresh.replace(self.out)
        self.rows_file.unlink()

    def _unpack(self) -> None:
        from pyarrow import parquet  # noqa: PLC0415 - an extra

        columns = parquet.read_table(self.out).to_pylist()
        self.append({name: "" if row[name] is None else row[name] for name in COLUMNS} for row in columns)


def _replace(path: Path, text: str) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)


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
        return [blank | dict(zip(_KEYS, _written(point), strict=True)) for point in group]


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
        rows: Iterator[list[Row]] = parallel(joblib.delayed(answers)(group) for group in work)
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
