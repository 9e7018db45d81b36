"""All rows of a run, and what follows from two of them: truth, ratios, widths, and whether a claim holds."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from benchmarks.calibration import Calibration
from benchmarks.measure import Row
from benchmarks.packages import OURS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.cases import Case
    from benchmarks.packages import Package

FORMAT, VERSION = "edgeworth-benchmarks", 1


@dataclass(frozen=True)
class Results:
    """The rows, and where and when they were measured."""

    date: str
    command: str
    machine: str
    packages: dict[str, dict[str, str]]  # name -> version, settings
    rows: tuple[Row, ...]
    calibrations: tuple[Calibration, ...] = ()

    def to_json(self) -> str:
        """One object; the rows are lines."""
        head = {"format": FORMAT, "version": VERSION, "date": self.date, "command": self.command}
        head |= {"machine": self.machine, "packages": self.packages}
        if self.calibrations:
            head["calibrations"] = [asdict(row) for row in self.calibrations]
        text = json.dumps(head, indent=1, allow_nan=False)
        rows = ",\n".join("  " + json.dumps(row.to_dict(), allow_nan=False) for row in self.rows)
        return f'{text[:-2]},\n "rows": [\n{rows}\n ]\n}}\n'

    @classmethod
    def from_json(cls, text: str) -> Self:
        """What `to_json` wrote; anything else is refused."""
        plain: dict[str, Any] = json.loads(text)
        kind = plain.pop("format"), plain.pop("version")
        if kind != (FORMAT, VERSION):
            raise ValueError(f"format, version = {kind} is not {FORMAT, VERSION}; run `make bench` again")
        calibrations = tuple(Calibration(**row) for row in plain.pop("calibrations", ()))
        return cls(**{**plain, "rows": tuple(Row(**row) for row in plain["rows"])}, calibrations=calibrations)

    def find(self, case: Case | str, package: Package, *, points: int = 0) -> Row | None:
        """The row of a package on a case, if it was measured."""
        title = case if isinstance(case, str) else case.title
        for row in self.rows:
            if (row.title, row.package, row.points) == (title, package.name, points):
                return row
        return None

    def of(self, *packages: Package) -> Iterator[Row]:
        """The epsilons of these packages."""
        names = {package.name for package in packages}
        return (row for row in self.rows if row.package in names and not row.points)

    @property
    def repeated(self) -> str:
        """How often the times were taken, as the rows say."""
        counts = sorted({row.runs for row in self.rows if row.runs})
        forked = any(row.forked for row in self.rows)
        kind = "process" if forked else "fresh process"
        best = counts and counts[-1] > 1
        often = f"the best of {' or '.join(map(str, counts))} {kind}es" if best else f"one {kind} each"
        return often + ", forked after the imports or, where a ratio is promised, fresh" * forked

    def calibration(self, package: str) -> Calibration | None:
        """How a package found the noise, if it was asked."""
        return next((row for row in self.calibrations if row.package == package), None)

    def truth(self, row: Row) -> Row | None:
        """The certified bracket of the same case."""
        certified = self.find(row.title, OURS)
        return certified if certified and not certified.status else None

    def excess(self, row: Row) -> float | None:
        """How far the upper end is above the truth at least; negative, how far it is below it at least.

        Zero inside the certified bracket, where nothing is known.
        """
        truth = self.truth(row)
        if truth is None or row.upper is None:
            return None
        return row.upper - min(max(row.upper, truth.lower), truth.upper)

    def width(self, row: Row) -> float | None:
        """Of a bracket its width; of an upper end alone its distance from the certified lower end."""
        truth = self.truth(row)
        if row.upper is None or (row.lower is None and truth is None):
            return None
        return abs(row.upper - (truth.lower if row.lower is None else row.lower))

    def false_claim(self, row: Row) -> bool:
        """Whether the truth is certainly outside what the row claims."""
        truth = self.truth(row)
        if truth is None:
            return False
        too_low = row.upper is not None and row.upper < truth.lower
        too_high = row.lower is not None and row.lower > truth.upper
        return too_low or too_high
