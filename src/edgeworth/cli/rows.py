"""The table of a sweep: rows are written as they are known, so that a stopped sweep goes on where it was.

The rows go to a CSV file as they come; at the end they are put in order, and a Parquet file is made of them if that was
asked for. Rows are known by their four parameters, written with all their digits. Whatever replaces a file is written
beside it first, so that a killed process leaves the old file or the new one.
"""

from __future__ import annotations

import csv
import io
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from edgeworth.cli.files import check_writable
from edgeworth.cli.grid import Point
from edgeworth.errors import InvalidArgument, require_extra

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    Row = dict[str, Any]

__all__ = ["COLUMNS", "KEYS", "Table"]

KEYS = ("noise_multiplier", "rate", "steps", "delta")
COLUMNS = (*KEYS, "epsilon", "epsilon_lower", "epsilon_upper", "guarantee", "method", "refusal")
_KINDS = ("double", "double", "int64", "double", "double", "double", "double", "bool", "string", "string")


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
        check_writable(self.out)
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
        lines = list(csv.reader(whole.splitlines()))
        if lines and tuple(lines[0]) != COLUMNS:
            raise InvalidArgument(f"out={str(self.out)!r} is another table; give a new name, or remove it first")
        return {self._point(number, line) for number, line in enumerate(lines[1:], start=2)}

    def _point(self, number: int, line: list[str]) -> Point:
        """The point of one row."""
        try:
            noise_multiplier, rate, steps, delta, *rest = line
            if len(rest) == len(COLUMNS) - len(KEYS):
                return Point(float(noise_multiplier), float(rate), int(steps), float(delta))
        except ValueError:
            pass
        raise InvalidArgument(f"line {number} of {str(self.rows_file)!r} is not a row of a sweep; remove that line")

    def append(self, rows: Iterable[Row]) -> None:
        """Write rows and hand them to the disk."""
        new = not self.rows_file.exists() or self.rows_file.stat().st_size == 0
        with self.rows_file.open("a", encoding="utf-8", newline="") as file:
            _write(file, rows, header=new)
            file.flush()
            os.fsync(file.fileno())

    def finish(self) -> None:
        """Put the rows in order, and make the Parquet file of them if that was asked for."""
        if not self.rows_file.exists():
            return
        with self.rows_file.open(encoding="utf-8", newline="") as file:
            rows = sorted(csv.DictReader(file), key=lambda row: tuple(float(row[name]) for name in KEYS))
        _replace(self.rows_file, _text(rows))
        if self.out.suffix == ".parquet":
            self._pack()

    def _pack(self) -> None:
        """The Parquet file of the rows, which are then no longer needed."""
        from pyarrow import csv as arrow_csv  # noqa: PLC0415 - an extra
        from pyarrow import parquet  # noqa: PLC0415 - idem

        options = arrow_csv.ConvertOptions(
            column_types=dict(zip(COLUMNS, _KINDS, strict=True)), strings_can_be_null=True
        )
        fresh = _beside(self.out)
        parquet.write_table(arrow_csv.read_csv(self.rows_file, convert_options=options), fresh)
        fresh.replace(self.out)
        self.rows_file.unlink()

    def _unpack(self) -> None:
        """The rows of a Parquet file that is to be continued."""
        from pyarrow import parquet  # noqa: PLC0415 - an extra

        table = parquet.read_table(self.out)
        if tuple(table.column_names) != COLUMNS:
            raise InvalidArgument(f"out={str(self.out)!r} is another table; give a new name, or remove it first")
        rows = table.to_pylist()
        _replace(
            self.rows_file, _text({name: "" if row[name] is None else row[name] for name in COLUMNS} for row in rows)
        )


def _write(file: Any, rows: Iterable[Row], *, header: bool) -> None:
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows(rows)


def _text(rows: Iterable[Row]) -> str:
    written = io.StringIO()
    _write(written, rows, header=True)
    return written.getvalue()


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.new")


def _replace(path: Path, text: str) -> None:
    fresh = _beside(path)
    with fresh.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
