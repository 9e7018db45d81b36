"""Put the figures of the last `make bench` into the README, between its markers."""

from __future__ import annotations

import json
from pathlib import Path

START, END = "<!-- printed by make bench -->", "<!-- end of make bench -->"


def table(rows: list[dict], columns: dict[str, str]) -> str:
    """The rows as a Markdown table; `columns` gives each column's heading and the format of its cells."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for row in rows:
        cells = [f"{row[name]:{layout}}" for name, layout in columns.items()]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def section(results: dict) -> str:
    """What the README says of the measurements."""
    curves, reference, epsilons, estimates = results["tables"].values()
    loop, first, *_, last = (1e3 * row["seconds"] for row in curves)
    errors = dict.fromkeys(("clt", "edgeworth 2", "edgeworth 4", "saddlepoint 2", "saddlepoint 4"), "")
    return f"""{results["date"]}, {results["machine"]}, shared; times are of the first reading of an account.

Certified epsilon by `method="auto"`, with the relative width of its bracket:

{table(epsilons, {"case": "", "delta": ".0e", "lower": "", "relative width": ".0e", "first ms": ".0f"})}

How far the estimates are from it, relatively; a minus means that they promise too much:

{table(estimates, {"case": "", "delta": ".0e", **errors})}

A whole Edgeworth curve (1000 alphas, cumulants included, cold) takes {first:.0f} ms at n = 1e3 and
{last:.0f} ms at n = 1e9; a loop with a root finder over the same alphas takes {loop:.0f} ms. The reference for the
paper's noisy SGD at n = 500, which took its recursion 14 212 s, takes {reference[0]["seconds"]:.1f} s at 99 alphas."""


def write(results: Path, readme: Path) -> None:
    """Replace what stands between the markers."""
    text = readme.read_text(encoding="utf-8")
    before, rest = text.split(START)
    after = rest.split(END)[1]
    middle = section(json.loads(results.read_text(encoding="utf-8")))
    readme.write_text(f"{before}{START}\n{middle}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    write(Path("out/bench.json"), Path("README.md"))
