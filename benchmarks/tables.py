"""The rows as tables of text, for the terminal and for the README."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.packages import ESTIMATES, OURS, PEERS
from benchmarks.targets import targets

if TYPE_CHECKING:
    from benchmarks.measure import Row
    from benchmarks.results import Results

    Table = list[dict[str, str]]

GOOD_ENOUGH = 0.01  # relative error of epsilon


def duration(seconds: float | None) -> str:
    """Two digits and a unit.

    >>> [duration(seconds) for seconds in (0.00016, 0.0159, 0.575, 98.2)]
    ['0.16 ms', '16 ms', '580 ms', '98 s']
    """
    if seconds is None:
        return ""
    scaled, unit = (seconds, "s") if seconds >= 1 else (1e3 * seconds, "ms")
    return f"{float(f'{scaled:.2g}'):g} {unit}"


def digits(number: float | None, count: int = 6) -> str:
    """So many significant digits; nothing for nothing."""
    return "" if number is None else f"{number:.{count}g}"


def claim(row: Row) -> str:
    """What a package says of the truth."""
    if row.upper is None:
        return ""
    return f"<= {row.upper:.6g}" if row.lower is None else f"[{row.lower:.6g}, {row.upper:.6g}]"


def against(results: Results, row: Row) -> str:
    """How far the upper end is from the truth, in capitals where the claim is false.

    The certified bracket is compared with nothing: its width is told.
    """
    if row.package == OURS.name:
        return f"width {row.upper - row.lower:.0e}"
    excess = results.excess(row)
    if excess is None:
        return ""
    return f"{'FALSE ' if results.false_claim(row) else ''}{excess:+.1e}"


def ratio(results: Results, row: Row) -> str:
    """How many times as long as this package."""
    ours = results.find(row.title, OURS)
    return digits(row.first / ours.first, 2) if ours and ours.first and row.first else ""


def comparison(results: Results) -> Table:
    """Every case by every package."""
    return [
        {
            "case": row.case,
            "delta": f"{row.delta:.0e}",
            "package": row.package,
            "answer": row.status or digits(row.value, 10 if row.package == OURS.name else 6),
            "claims": claim(row),
            "upper - truth": "" if row.status else against(results, row),
            "first": duration(row.first),
            "second": duration(row.second),
            "MB": digits(row.memory and round(row.memory, 1), 3),
            "times ours": ratio(results, row),
        }
        for row in results.of(OURS, *PEERS)
    ]


def estimates(results: Results) -> Table:
    """The relative error of each estimate, its time, and which of them is good enough."""
    table = []
    for truth in results.of(OURS):
        found = [results.find(truth.title, package) for package in ESTIMATES]
        if truth.status or not any(found):
            continue
        entry = {"case": truth.case, "delta": f"{truth.delta:.0e}", "certified": digits(truth.value)}
        good = []
        for package, row in zip(ESTIMATES, found, strict=True):
            if row is None or row.status:
                entry[package.name] = row.status if row else ""
                continue
            error = row.value / truth.value - 1
            entry[package.name] = f"{error:+.0e}, {duration(row.first)}"
            good += [package.name] if abs(error) <= GOOD_ENOUGH else []
        table.append({**entry, "within 1 %": ", ".join(good) or "none"})
    return table


def curves(results: Results) -> Table:
    """Whole trade-off functions."""
    return [
        {"case": row.case, "by": row.package, "alphas": str(row.points), "first": duration(row.first) or row.status}
        for row in results.rows
        if row.points
    ]


def calibrations(results: Results) -> Table:
    """The noise that each package gives for one target, and the epsilon it really has."""
    ours = results.calibration(OURS.name)
    return [
        {
            "package": row.package,
            "noise multiplier": digits(row.noise_multiplier, 8) or f"> {row.seconds:g} s",
            "epsilon it has": digits(row.epsilon, 8),
            "time": duration(row.seconds),
            "times ours": digits(row.seconds / ours.seconds, 2) if ours else "",
        }
        for row in results.calibrations
    ]


def promises(results: Results) -> Table:
    """Each target, what was measured and whether it was met."""
    return [
        {
            "what": target.what,
            "measured": f"{target.measured:.2g}" if target.measured < 100 else f"{target.measured:.0f}",
            "promised": target.promise,
            "verdict": "met" if target.met else "MISSED",
        }
        for target in targets(results)
    ]
