"""Run every measurement, print the tables, write JSON and a picture: `make bench`."""

from __future__ import annotations

import argparse
import os
import platform
import shlex
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks import calibration, picture, tables
from benchmarks.cases import CASES, ESTIMATED_TOO, LONG_AS_SHORT, Case
from benchmarks.expansions import CURVES
from benchmarks.measure import LONG_ENOUGH, Row, measure
from benchmarks.packages import BY_NAME, ESTIMATES, OURS, PEERS, Package
from benchmarks.processes import TIME_LIMIT, Hosts
from benchmarks.results import Results
from edgeworth.cli.progress import reporter

OUT = Path("out")
SHOWN = 4  # titles, in an error message
NOTES = f"""Every time is of a cold account; imports and the first use of NumPy and SciPy are not counted.
Each in a process of its own, forked after the imports; those whose ratio is promised in a fresh one.
first: from building the accountant to its epsilon. second: another delta of the same account.
MB: most memory beyond the imports. Time limit {TIME_LIMIT:g} s; what takes {LONG_ENOUGH:g} s is not repeated.
FALSE: the truth is certainly outside of what the package claims."""

Job = tuple[tuple[Package, ...], Case, int]


def jobs(part: str) -> list[Job]:
    """Which packages answer which cases; with a part of a title, only the cases that have it."""
    found: list[Job] = [((OURS, *PEERS, *ESTIMATES), case, 0) for case in CASES]
    found += [((OURS, *ESTIMATES), case, 0) for case in ESTIMATED_TOO]
    found.append(((OURS,), LONG_AS_SHORT, 0))
    found += [((package,), case, points) for package, case, points in CURVES]
    return [job for job in found if part in job[1].title]


def unmatched(part: str) -> str:
    """What to say of a text that no title has, with some of the titles that there are."""
    titles = list(dict.fromkeys(case.title for _, case, _ in jobs("")))
    some = "; ".join(titles[:: -(-len(titles) // SHOWN)])
    return f"--case {part!r} is in none of the {len(titles)} titles; give a part of one, such as {some}"


def command(part: str, runs: int | None) -> str:
    """What gives the same rows again; `make bench` is everything."""
    chosen = [*(["--case", part] if part else []), *(["--runs", str(runs)] if runs else [])]
    return shlex.join(["python", "-m", "benchmarks", *chosen]) if chosen else "make bench"


def run(part: str, runs: int | None) -> Results:
    """All measurements in one go."""
    rows: list[Row] = []
    load = 0.0  # the highest: times that others disturbed must not look undisturbed
    todo = jobs(part)
    with reporter("Benchmarks") as report, Hosts() as hosts:
        for done, (packages, case, points) in enumerate(todo):
            report(f"{case.title}: {', '.join(package.name for package in packages)}", done, len(todo))
            rows += measure(packages, case, hosts, points=points, runs=runs)
            load = max(load, os.getloadavg()[0])
        found = [] if part else calibration.calibrations(runs)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, load up to {load:.1f}, Python {platform.python_version()}"
    about = {
        name: {"version": version(package.distribution), "settings": package.settings}
        for name, package in BY_NAME.items()
    }
    today = datetime.now(UTC).date().isoformat()
    return Results(today, command(part, runs), machine, about, tuple(rows), tuple(found))


def show(title: str, rows: tables.Table) -> None:
    """One table, its columns those of the first row; a line between cases."""
    if not rows:
        return
    first = next(iter(rows[0]))
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for column in rows[0]:
        table.add_column(
            column, justify="left" if column in {first, "package", "by"} else "right", no_wrap=column != "within 1 %"
        )
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        last = following is None or [*following.values()][:2] != [*row.values()][:2]
        table.add_row(*row.values(), end_section=last and "package" in row)
    Console(width=190).print(table)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--case", default="", help="only cases with this text in their title")
    parser.add_argument("--runs", type=int, help="processes for each time")
    parser.add_argument("--out", type=Path, default=OUT, help="folder for bench.json and bench.png")
    chosen = parser.parse_args()
    if not jobs(chosen.case):
        parser.error(unmatched(chosen.case))
    results = run(chosen.case, chosen.runs)
    show("Epsilon, by every package", tables.comparison(results))
    show(
        f"Estimates: relative error of epsilon, time, and which are within {tables.GOOD_ENOUGH:.0%}",
        tables.estimates(results),
    )
    show("Whole trade-off functions", tables.curves(results))
    show(calibration.TITLE, tables.calibrations(results))
    show("What is promised", tables.promises(results))
    for name, about in results.packages.items():
        print(f"{name} {about['version']}: {about['settings']}")
    print(f"\n{NOTES}\n\n`{results.command}`, {results.repeated}, {results.date}, {results.machine}")
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "bench.json").write_text(results.to_json(), encoding="utf-8")
    picture.draw(results, chosen.out / "bench.png")
    print(f"Written: {chosen.out / 'bench.json'}, {chosen.out / 'bench.png'}")


if __name__ == "__main__":
    main()
