"""How wide are readings of runs drawn at random, and how long do they take: `python -m benchmarks.widths --seed 1`.

The cases of `make bench` are few and known. Here nobody chose the numbers: kinds of runs are drawn over the whole range
that is promised, and every reading is held to the width that is promised for its kind. `python -m benchmarks.readme`
puts the last sweep into the README.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import edgeworth as ew
from benchmarks.tables import duration

__all__ = ["KINDS", "NARROW", "Kind", "Reading", "Sweep", "draw", "is_promised", "readings", "sweep", "typed"]

Draw = Callable[[np.random.Generator], ew.Mechanism]
WAYS = ("both", "forward", "backward")
NARROW, SIX_DIGITS = 1e-9, 1e-6
LEAST = {"epsilon": 0.0, "delta": 1e-30, "f": 1e-300}  # below it no digits are promised; f would leave the doubles


@dataclass(frozen=True)
class Reading:
    """One answer: what was asked of which run, the bracket, and the width and the seconds that it may have."""

    kind: str
    run: str
    direction: str
    asked: str
    argument: float
    lower: float
    upper: float
    promised: float
    seconds: float

    @property
    def width(self) -> float:
        """Relative; nothing where both ends are the same, infinite where the lower one is no number to divide by."""
        if self.upper == self.lower:
            return 0.0
        return (self.upper - self.lower) / self.lower if self.lower > 0 and math.isfinite(self.upper) else math.inf

    def __str__(self) -> str:
        asked = f"{self.run} {self.direction} {self.asked}({self.argument!r})"
        return f"{asked} [{self.lower:.9g}, {self.upper:.9g}] width {self.width:.1e} {self.seconds:.2f} s"


def _log(random: np.random.Generator, least: float, most: float, digits: int = 3) -> float:
    """Any size between both is as likely as any other; few digits, so that a run can be read and typed."""
    return float(f"{10 ** random.uniform(math.log10(least), math.log10(most)):.{digits}g}")


def _count(random: np.random.Generator, least: float, most: float) -> int:
    return max(1, round(_log(random, least, most)))


def _gaussian(random: np.random.Generator) -> ew.Mechanism:
    return ew.Gaussian(_log(random, 0.3, 100))


def _laplace(random: np.random.Generator) -> ew.Mechanism:
    return ew.Laplace(_log(random, 0.3, 50))


def _response(random: np.random.Generator) -> ew.Mechanism:
    return ew.RandomizedResponse(_log(random, 0.01, 3), int(random.choice([2, 2, 3, 5, 10])))


def _on_a_lattice(random: np.random.Generator) -> ew.Mechanism:
    noise = [lambda: ew.DiscreteGaussian(_log(random, 0.3, 30)), lambda: ew.DiscreteLaplace(_log(random, 0.3, 30))]
    return random.choice([*noise, lambda: _response(random)])()


def _sampled(random: np.random.Generator, least: float = 1e-6) -> ew.Mechanism:
    base = random.choice([_gaussian, _gaussian, _laplace, _on_a_lattice])(random)
    return ew.PoissonSampled(base, _log(random, least, 0.99))


def _dp_sgd(random: np.random.Generator) -> ew.Mechanism:
    """Noisy SGD of fifty steps or more whose rate is not tiny: nine digits are promised."""
    while True:
        rate, steps = _log(random, 1e-6, 1), _count(random, 50, 1e9)
        if steps * rate**2 >= 1e-3:
            return ew.PoissonSampled(_gaussian(random), rate) ** steps


def _few_or_rare(random: np.random.Generator) -> ew.Mechanism:
    """Few samples, or many at a tiny rate."""
    return _sampled(random) ** _count(random, 1, random.choice([50, 1e6]))


def _product(parts: Iterable[ew.Mechanism]) -> ew.Mechanism:
    first, *others = parts
    return math.prod(others, start=first)


def _scales(random: np.random.Generator) -> ew.Mechanism:
    """Laplace noise with different scales."""
    return _product(_laplace(random) ** _count(random, 1, 100) for _ in range(random.integers(2, 6)))


def _with_gaussian(random: np.random.Generator) -> ew.Mechanism:
    """A mix with a continuous part: nine digits are promised."""
    others = [random.choice([_laplace, _on_a_lattice, _response])(random) for _ in range(random.integers(1, 4))]
    smooth = random.choice([lambda: _gaussian(random) ** _count(random, 1, 1000), lambda: _dp_sgd(random)])()
    return _product([smooth, *(other ** _count(random, 1, 100) for other in others)])


def _mixed(random: np.random.Generator) -> ew.Mechanism:
    """Anything beside anything."""
    kinds = [_gaussian, _laplace, _on_a_lattice, _response, _sampled, _sampled]
    parts = [random.choice(kinds)(random) ** _count(random, 1, 300) for _ in range(random.integers(2, 7))]
    if random.random() < 0.25:
        parts.append(ew.ApproxDP(_log(random, 0.01, 1), _log(random, 1e-12, 1e-3)))
    return _product(parts)


#: every kind with how a run of it is drawn and the width that is promised of its epsilon and delta; f has six digits
KINDS: dict[str, tuple[Draw, float]] = {
    "Gaussian noise": (lambda random: _gaussian(random) ** _count(random, 1, 1e9), NARROW),
    "DP-SGD": (_dp_sgd, NARROW),
    "equal Laplace noise": (lambda random: _laplace(random) ** _count(random, 1, 1e9), NARROW),
    "exact lattices": (lambda random: _on_a_lattice(random) ** _count(random, 1, 1e9), NARROW),
    "mixes with a Gaussian part": (_with_gaussian, NARROW),
    "few samples, tiny rates": (_few_or_rare, SIX_DIGITS),
    "Laplace noise of several scales": (_scales, SIX_DIGITS),
    "mixes of everything": (_mixed, SIX_DIGITS),
}


def typed(mechanism: ew.Mechanism) -> str:
    """As one would type it."""
    match mechanism:
        case ew.Composed():
            return " * ".join(map(typed, mechanism.mechanisms))
        case ew.Repeated():
            return f"{typed(mechanism.mechanism)} ** {mechanism.count}"
        case ew.PoissonSampled():
            return f"PoissonSampled({typed(mechanism.mechanism)}, {mechanism.rate!r})"
    given = [getattr(mechanism, field.name) for field in fields(mechanism)]
    usual = [field.default for field in fields(mechanism)]
    while given and given[-1] == usual[-1]:
        given, usual = given[:-1], usual[:-1]
    return f"{type(mechanism).__name__}({', '.join(map(repr, given))})"


def draw(kind: str, seed: int, number: int) -> ew.Mechanism:
    """The same run for the same seed and number."""
    return KINDS[kind][0](np.random.default_rng([seed, number, *kind.encode()]))


def readings(kind: str, seed: int, number: int) -> Iterator[Reading]:
    """Epsilon, delta at a rounded epsilon, and f, of one run in one direction."""
    run, promised = draw(kind, seed, number), KINDS[kind][1]
    random = np.random.default_rng([seed, number, 1, *kind.encode()])
    direction = str(random.choice(WAYS))
    cold = ew.account(run, direction=direction)
    deep, shallow = 10 ** random.uniform(-100, -1), 10 ** random.uniform(-30, -1)
    epsilon = float(f"{float(cold.epsilon(shallow).upper):.3g}")  # what people ask at is round
    alpha = 10 ** random.uniform(-10, 0)
    for asked, argument, width in [("epsilon", deep, promised), ("delta", epsilon, promised), ("f", alpha, SIX_DIGITS)]:
        if math.isfinite(argument):
            yield _read(kind, run, direction, asked, argument, width)


def _read(kind: str, run: ew.Mechanism, direction: str, asked: str, argument: float, width: float) -> Reading:
    answers = ew.account(run, direction=direction)
    start = time.process_time()
    found = {"epsilon": answers.epsilon, "delta": answers.delta, "f": answers.tradeoff}[asked](argument)
    spent = time.process_time() - start
    ends = float(found.lower), float(found.upper)
    return Reading(kind, typed(run), direction, asked, argument, *ends, width, spent)


def is_promised(reading: Reading) -> bool:
    """Whether digits are promised there at all."""
    return reading.upper > LEAST[reading.asked]


def _some(job: tuple[str, int, int]) -> list[Reading]:
    return list(readings(*job))


@dataclass(frozen=True)
class Kind:
    """What was found of one kind: how many readings, how many of these are too wide, the widest and the longest."""

    kind: str
    promised: float
    readings: int
    wide: int
    widest: float
    longest: float  # seconds of this process

    @classmethod
    def of(cls, kind: str, some: list[Reading]) -> Kind:
        """Of readings of this kind, one at least; f is held to six digits whatever the kind."""
        profile = [reading.width for reading in some if reading.asked != "f"]
        wide = sum(reading.width > reading.promised for reading in some)
        longest = max(reading.seconds for reading in some)
        return cls(kind, KINDS[kind][1], len(some), wide, max(profile, default=0.0), longest)


@dataclass(frozen=True)
class Sweep:
    """One sweep: where it comes from, a row for each kind, and the readings that are too wide, as they are typed."""

    command: str
    date: str
    kinds: tuple[Kind, ...]
    wide: tuple[str, ...]

    def to_json(self) -> str:
        """One object."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Sweep:
        """What `to_json` wrote."""
        plain = json.loads(text)
        kinds = tuple(Kind(**kind) for kind in plain["kinds"])
        return cls(plain["command"], plain["date"], kinds, tuple(plain["wide"]))

    def table(self) -> list[dict[str, str]]:
        """The rows as text."""
        return [
            {
                "kind": row.kind,
                "promised": f"{row.promised:.0e}",
                "readings": str(row.readings),
                "wider than promised": str(row.wide),
                "widest epsilon or delta": f"{row.widest:.0e}",
                "longest": duration(row.longest),
            }
            for row in self.kinds
        ]


def sweep(jobs: list[tuple[str, int, int]], processes: int) -> Iterator[Reading]:
    """The readings of all jobs of which digits are promised, in their order."""
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for some in pool.map(_some, jobs):
            yield from filter(is_promised, some)


def main() -> None:
    """Draw, read, and print a row for each kind; the readings that are too wide one by one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.widths", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="another seed, other runs")
    parser.add_argument("--runs", type=int, default=50, help="of each kind")
    parser.add_argument("--kind", choices=KINDS, action="append", help="only this one; may be given again")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("out/widths.json"))
    given = parser.parse_args()
    kinds = given.kind or list(KINDS)
    asked = "".join(f' --kind "{kind}"' for kind in given.kind or ())
    found: list[Reading] = []
    for reading in sweep(
        [(kind, given.seed, number) for number in range(given.runs) for kind in kinds], given.processes
    ):
        found.append(reading)
        if reading.width > reading.promised:
            print(reading, flush=True)
    rows = {kind: [reading for reading in found if reading.kind == kind] for kind in kinds}
    done = Sweep(
        command=f"python -m benchmarks.widths --seed {given.seed} --runs {given.runs}" + asked,
        date=datetime.now(tz=UTC).date().isoformat(),
        kinds=tuple(Kind.of(kind, some) for kind, some in rows.items() if some),
        wide=tuple(str(reading) for reading in found if reading.width > reading.promised),
    )
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(done.to_json(), encoding="utf-8")
    table = Table(box=None)
    for title in (cells := done.table())[0]:
        table.add_column(title, justify="left" if title == "kind" else "right")
    for row in cells:
        table.add_row(*row.values())
    Console().print(table)


if __name__ == "__main__":
    main()
