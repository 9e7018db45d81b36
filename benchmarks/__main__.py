"""Run every measurement, print the tables, and write them as JSON: `make bench`."""

from __future__ import annotations

import json
import platform
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

import edgeworth as ew
from benchmarks import certified, expansions

OUT = Path("out/bench.json")


def show(title: str, rows: list[dict]) -> None:
    """One table, its columns those of the first row."""
    table = Table(title=title, title_justify="left")
    for column in rows[0]:
        table.add_column(column, justify="left" if column == "case" else "right")
    for row in rows:
        table.add_row(*(f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values()))
    Console(width=140).print(table)


def main() -> None:
    """All measurements in one go."""
    tables = {
        "Edgeworth curves against a plain root-finding loop": expansions.curves(),
        "The reference of the paper's largest experiment": expansions.reference(),
        "Certified epsilon: bracket, relative width, cold and second reading": certified.epsilons(),
        "How far the constant-time formulas are from the certified epsilon": certified.estimates(),
    }
    for title, rows in tables.items():
        show(title, rows)
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    stamp = {"edgeworth": ew.__version__, "date": datetime.now(UTC).date().isoformat(), "machine": machine}
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps({**stamp, "tables": tables}, indent=1))
    print(f"{machine}; written to {OUT}")


if __name__ == "__main__":
    main()
