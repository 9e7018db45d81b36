"""Put the last `make bench` and the last sweep of widths into the README, and keep their JSON beside this file.

The README then says what benchmarks/results.json and benchmarks/widths.json say, and a test holds them together.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import calibration, tables
from benchmarks.cases import CASES, ESTIMATED_TOO
from benchmarks.expansions import ALPHAS, FEW_ALPHAS, GROWING, LARGEST
from benchmarks.measure import LONG_ENOUGH
from benchmarks.packages import BY_NAME, ESTIMATES, OURS, PEERS, PLAIN_LOOP
from benchmarks.results import Results
from benchmarks.widths import Sweep

if TYPE_CHECKING:
    from benchmarks.measure import Row

HERE = Path(__file__).parent
README, KEPT, PICTURE = HERE.parent / "README.md", HERE / "results.json", HERE / "results.png"
WIDTHS = HERE / "widths.json"
START, END = "<!-- printed by make bench -->", "<!-- end of make bench -->"
START_OF_WIDTHS, END_OF_WIDTHS = "<!-- printed by benchmarks.widths -->", "<!-- end of benchmarks.widths -->"


def markdown(rows: tables.Table) -> str:
    """The rows as a Markdown table."""
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    return "\n".join([*lines, *("| " + " | ".join(row.values()) + " |" for row in rows)])


def cell(results: Results, row: Row | None) -> str:
    """The time of a peer, and how far its upper end is from the truth."""
    if row is None or row.status:
        return row.status.partition(":")[0] if row else ""  # of an error its name
    excess = results.excess(row)
    gap = "" if excess is None else f"{excess:+.0e}"
    return f"{tables.duration(row.first)}, " + (f"**{gap}**" if results.false_claim(row) else gap)


def comparison(results: Results) -> tables.Table:
    """One line a case: the certified bracket, its time, and every peer."""
    table = []
    for case in CASES:
        ours = results.find(case, OURS)
        if not case.shown or ours is None:
            continue
        entry = {"case": case.name, "delta": f"{case.delta:.0e}"}
        if ours.status:
            entry |= {"epsilon": ours.status, "width": "", OURS.name: ""}
        else:
            width = f"{ours.upper - ours.lower:.0e}"
            entry |= {"epsilon": f"{ours.lower:.8g}", "width": width, OURS.name: tables.duration(ours.first)}
        table.append(entry | {peer.name: cell(results, results.find(case, peer)) for peer in PEERS})
    return table


def estimates(results: Results) -> tables.Table:
    """The estimates on the same cases."""
    titles = {(case.name, f"{case.delta:.0e}") for case in (*CASES, *ESTIMATED_TOO) if case.shown}
    return [row for row in tables.estimates(results) if (row["case"], row["delta"]) in titles]


def curves(results: Results) -> str:
    """What is said of whole trade-off functions."""
    expansion = BY_NAME["edgeworth 2"]
    loop, short, long, reference = (
        tables.duration(row.first if row else None)
        for row in (
            results.find(GROWING[0], PLAIN_LOOP, points=ALPHAS),
            results.find(GROWING[0], expansion, points=ALPHAS),
            results.find(GROWING[-1], expansion, points=ALPHAS),
            results.find(LARGEST, OURS, points=FEW_ALPHAS),
        )
    )
    return f"""A whole Edgeworth curve ({ALPHAS} alphas, cumulants included, cold) takes {short} at n = 1e3 and {long}
at n = 1e9; a loop with a root finder over the same alphas takes {loop}. The reference for the paper's noisy SGD at
n = 500, which took its recursion 14 212 s, takes {reference} at {FEW_ALPHAS} alphas, certified."""


def calibrations(results: Results) -> str:
    """What is said of calibration; nothing where it was not measured."""
    if not results.calibrations:
        return ""
    return f"""

{calibration.TITLE}: what each package gives, the certified epsilon it has, and the time of a cold call.

{markdown(tables.calibrations(results))}"""


def section(results: Results) -> str:
    """What the README says of the measurements."""
    names = ", ".join(
        f"{peer.name} {results.packages[peer.name]['version']} ({results.packages[peer.name]['settings']})"
        for peer in PEERS
    )
    methods = ", ".join(f"`{estimate.name}`" for estimate in ESTIMATES)
    return f"""`{results.command}`, {results.date}, {results.machine}. Peers: {names}.

Epsilon: the lower end of the certified bracket, its width, and the time of a cold first reading
({results.repeated}; what takes {LONG_ENOUGH:g} s is not repeated).
With each peer's time stands how far its upper end is from the truth; in bold, where it is below the truth, so that
it promises too much.

{markdown(comparison(results))}

![Width of the answer against time](benchmarks/results.png)

{markdown(tables.promises(results))}

Estimates ({methods}): relative error of epsilon, and time. A minus promises too much.

{markdown(estimates(results))}

{curves(results)}{calibrations(results)}"""


def widths(done: Sweep) -> str:
    """What the README says of runs drawn at random."""
    asked, wide = sum(row.readings for row in done.kinds), sum(row.wide for row in done.kinds)
    return f"""`{done.command}`, {done.date}: {wide} of {asked} readings are wider than is promised for their kind.

{markdown(done.table())}"""


def fill(text: str, results: Results) -> str:
    """The text with the section of the benchmarks between its markers."""
    return _between(text, START, END, section(results))


def fill_widths(text: str, done: Sweep) -> str:
    """The text with the section of the widths between its markers."""
    return _between(text, START_OF_WIDTHS, END_OF_WIDTHS, widths(done))


def _between(text: str, start: str, end: str, inner: str) -> str:
    before, rest = text.split(start)
    after = rest.split(end)[1]
    return f"{before}{start}\n{inner}\n{end}{after}"


def main(out: Path = Path("out")) -> None:
    """Keep what was measured last, and fill the README from it."""
    if (out / "bench.json").exists():
        shutil.copy(out / "bench.json", KEPT)
        shutil.copy(out / "bench.png", PICTURE)
    if (out / "widths.json").exists():
        shutil.copy(out / "widths.json", WIDTHS)
    results, done = (
        made.from_json(path.read_text(encoding="utf-8")) for made, path in ((Results, KEPT), (Sweep, WIDTHS))
    )
    README.write_text(fill_widths(fill(README.read_text(encoding="utf-8"), results), done), encoding="utf-8")


if __name__ == "__main__":
    main()
