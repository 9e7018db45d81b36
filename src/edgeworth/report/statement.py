"""A statement for a model card: what is guaranteed to whom, under which assumptions, and how to check it."""

from __future__ import annotations

import json
import shlex
import textwrap
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from edgeworth import validation
from edgeworth._version import __version__
from edgeworth.account import Account, account
from edgeworth.errors import EdgeworthError, InvalidArgument
from edgeworth.mechanisms import to_json
from edgeworth.report import passages
from edgeworth.report.digits import at_most, ends, nearest, reading
from edgeworth.report.passages import Run  # noqa: TC001 - the type of a field

if TYPE_CHECKING:
    from collections.abc import Iterable

    from edgeworth.curves import Bracket
    from edgeworth.mechanisms import Mechanism

__all__ = ["DELTAS", "Statement"]

FORMAT, VERSION = "edgeworth-statement", 1
DELTAS = (1e-5, 1e-6, 1e-8)
_WIDTH = 80
_INDENT = 24


@dataclass(frozen=True, eq=False)
class Statement:
    r"""All that a reader needs to judge a figure, as text, Markdown or JSON; both directions count.

    >>> import edgeworth as ew
    >>> statement = ew.account(ew.Gaussian(noise_multiplier=5.0) ** 10).statement()
    >>> print("\n".join(statement.text().splitlines()[:6]))
    Privacy statement
    =================
    <BLANKLINE>
    this is                 a guarantee
    unit                    one record
    neighbours              those for which the sensitivities were measured; nothing
    """

    account: Account
    deltas: tuple[float, ...] = DELTAS
    run: Run | None = None

    @classmethod
    def of(cls, account: Account, *, deltas: Iterable[float] = DELTAS, run: Run | None = None) -> Statement:
        """The statement of an account, with epsilon at each delta; `run` is the training run that it is of."""
        asked = tuple(validation.probability(delta=delta) for delta in deltas)
        if not asked:
            raise InvalidArgument("deltas=() is empty; give at least one number between 0 and 1")
        if run is not None and run.mechanism != account.mechanism:
            raise InvalidArgument(f"run={run!r} is not what this account is of; give the run whose account it is")
        return cls(replace(account, direction="both"), asked, run)

    @property
    def certified(self) -> bool:
        """Whether the figures are guarantees."""
        return self.account.certified

    @property
    def verdict(self) -> str:
        """Guarantee or estimate, in words."""
        return "a guarantee" if self.certified else "an estimate, not a guarantee"

    @cached_property
    def epsilon(self) -> tuple[Bracket, ...]:
        """Epsilon at each delta."""
        return tuple(self.account.epsilon(delta) for delta in self.deltas)

    @cached_property
    def unamplified(self) -> tuple[Bracket, ...] | None:
        """Epsilon at each delta with every record in every sample; None where nothing was amplified."""
        plain = passages.without_amplification(self.account.mechanism, self.run)
        if plain is None:
            return None
        composed = _grouped(plain, self.account.group_size)
        return None if composed is None else tuple(composed.epsilon(delta) for delta in self.deltas)

    @cached_property
    def risk(self) -> list[tuple[str, Bracket]]:
        """What an attacker can do, by name; the last is mu with its range."""
        return self.account.risk.rows()

    @property
    def sentence(self) -> str:
        """The risk in one plain sentence with odds."""
        return self.account.risk.sentence()

    @property
    def document(self) -> dict[str, Any]:
        """What ran, as `edgeworth` commands read it."""
        described: dict[str, Any]
        described = self.run.to_dict() if self.run is not None else json.loads(to_json(self.account.mechanism))
        return described

    @property
    def command(self) -> str:
        """A line for a shell that prints this statement anew."""
        method = [] if self.account.method == "auto" else ["--method", self.account.method]
        degree = ["--degree", str(self.account.degree)] if method else []
        group = [] if self.account.group_size == 1 else ["--group", str(self.account.group_size)]
        deltas = [word for delta in self.deltas for word in ("--delta", repr(delta))]
        words = ["edgeworth", "statement", "-", *deltas, *method, *degree, *group]
        return f"echo {shlex.quote(json.dumps(self.document))} | {shlex.join(words)}"

    @cached_property
    def facts(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Who, what and how: a name and a few lines each."""
        mechanism = self.account.mechanism
        certificate = self.account.certificate
        errors = tuple(f"{source}: {size:.2g}" for source, size in certificate.sources.items())
        return (
            ("this is", (self.verdict,)),
            ("unit", (passages.unit(self.account),)),
            ("neighbours", (passages.neighbours(self.account, self.run),)),
            ("sampler", passages.samplers(mechanism, self.run)),
            *self._what_ran,
            ("method", (passages.method(self.account),)),
            *((("sources of error", errors),) if errors else ()),
            ("version", (f"edgeworth {__version__}",)),
        )

    @property
    def _what_ran(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The run with its derived rate and steps, and what stands for it; or the mechanism and its releases."""
        mechanism = self.account.mechanism
        steps = tuple(passages.step_lines(mechanism))
        if self.run is None:
            return (("mechanism", steps), ("releases", (str(mechanism.releases),)))
        return (("run", tuple(map(_phase_line, self.run.phases))), ("accounted as", steps))

    @property
    def figures(self) -> list[tuple[str, str]]:
        """The figures with their names, rounded so that a guarantee stays one."""
        rows = []
        for place, (delta, found) in enumerate(zip(self.deltas, self.epsilon, strict=True)):
            rows.append((f"epsilon at delta = {delta:g}", at_most(found)))
            if self.unamplified is not None:
                rows.append(("  without amplification", at_most(self.unamplified[place])))
        shown = [(name, _cell(found)) for name, found in self.risk]
        return rows + shown

    def text(self) -> str:
        """For a terminal or a file, 80 columns wide except for the command."""
        lines = ["Privacy statement", "=================", ""]
        for name, texts in self.facts:
            for place, each in enumerate(texts):
                lines += _wrapped("" if place else name, each)
        width = max(len(name) for name, _ in self.figures)
        lines += ["", *(f"{name:<{width}}  {value}" for name, value in self.figures)]
        lines += ["", *textwrap.wrap(self.sentence, _WIDTH)]
        for title, texts in self._lists:
            lines += ["", f"{title}:"]
            lines += [line for each in texts for line in textwrap.wrap(f"- {each}", _WIDTH, subsequent_indent="  ")]
        return "\n".join([*lines, "", "To print this again:", self.command])

    def markdown(self) -> str:
        """For a model card."""
        lines = ["# Privacy statement", "", "| | |", "|---|---|"]
        lines += [f"| {name} | {'<br>'.join(map(_escaped, texts))} |" for name, texts in self.facts]
        lines += ["", "| figure | value |", "|---|---|"]
        lines += [f"| {name.strip()} | {value} |" for name, value in self.figures]
        lines += ["", self.sentence]
        for title, texts in self._lists:
            lines += ["", f"## {title}", "", *(f"- {each}" for each in texts)]
        return "\n".join([*lines, "", "## To print this again", "", "```sh", self.command, "```"])

    def json(self) -> str:
        """For a program: one versioned object; infinities are the texts "inf" and "-inf"."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_dict(self) -> dict[str, Any]:
        """The parts as plain data."""
        plain = self.unamplified
        return {
            "format": FORMAT,
            "version": VERSION,
            "edgeworth": __version__,
            "guarantee": self.certified,
            "unit": passages.unit(self.account),
            "group_size": self.account.group_size,
            "adjacency": self.account.adjacency if self.run is None else self.run.adjacency,
            "sampler": list(passages.samplers(self.account.mechanism, self.run)),
            "run": None if self.run is None else self.run.to_dict(),
            "mechanism": json.loads(to_json(self.account.mechanism)),
            "releases": self.account.mechanism.releases,
            "method": self.account.certificate.method,
            "why": self.account.why,
            "errors": dict(self.account.certificate.sources),
            "epsilon": [
                {"delta": delta} | reading(each) for delta, each in zip(self.deltas, self.epsilon, strict=True)
            ],
            "without_amplification": None
            if plain is None
            else [{"delta": delta} | reading(each) for delta, each in zip(self.deltas, plain, strict=True)],
            "risk": {name: reading(found) for name, found in self.risk},
            "sentence": self.sentence,
            "assumptions": list(passages.assumptions(self.account.mechanism, self.run)),
            "not_covered": list(passages.NOT_COVERED),
            "command": self.command,
        }

    @property
    def _lists(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        assumed = passages.assumptions(self.account.mechanism, self.run)
        return (("Assumed", assumed), ("Not covered", passages.NOT_COVERED))

    def __str__(self) -> str:
        return self.text()


def _grouped(mechanism: Mechanism, size: int) -> Account | None:
    """The account of a group; None where no method has an answer."""
    try:
        return account(mechanism).group(size) if size > 1 else account(mechanism)
    except EdgeworthError:
        return None


def _phase_line(phase: Any) -> str:
    """One phase of a run, with what was derived."""
    steps = f"{phase.steps} steps" if phase.epochs is None else f"{phase.epochs} epochs = {phase.steps} steps"
    return (
        f"{phase.examples} examples, batches of {phase.batch_size} (rate {phase.rate:.6g}), {steps}, "
        f"noise multiplier {phase.noise_multiplier:g}"
    )


def _cell(found: Bracket) -> str:
    return ends(found, 4) if found.certified else f"{nearest(float(found.value), 4)} (estimate)"


def _wrapped(name: str, text: str) -> list[str]:
    return textwrap.wrap(f"{name:<{_INDENT}}{text}", _WIDTH, subsequent_indent=" " * _INDENT, break_long_words=False)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
