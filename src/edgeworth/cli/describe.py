"""From the command line to what ran, or to a refusal that says what to type instead."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from edgeworth import validation
from edgeworth.cli import files
from edgeworth.errors import InvalidArgument
from edgeworth.mechanisms import Gaussian, PoissonSampled, from_json
from edgeworth.training import DPSGD, Training, training_from_dict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeworth.mechanisms import Mechanism

    Flags = Mapping[str, str | None]

__all__ = [
    "Asked",
    "Described",
    "by_batches",
    "check_backend",
    "from_flags",
    "number",
    "run_arguments",
    "whole_number",
]

_BY_RATE = ("--noise-multiplier", "--rate", "--steps")
_BY_BATCHES = ("--noise-multiplier", "--examples", "--batch-size", "--sampler")
_ONLY_BATCHES = ("--examples", "--batch-size", "--epochs", "--adjacency", "--drop-last")
_EXAMPLE = "--noise-multiplier 0.8 --rate 256/50000 --steps 5000"


@dataclass(frozen=True)
class Described:
    """What ran; `run` where it was described in examples, batches and epochs."""

    mechanism: Mechanism
    run: DPSGD | Training | None = None


@dataclass(frozen=True)
class Asked:
    """What was typed to describe a run: a file, or flags by name (None: not given)."""

    file: str | None
    flags: Flags

    def described(self) -> Described:
        """What ran."""
        if self.file is None:
            return from_flags(self.flags)
        document = self.document()
        if not document.describes_run:
            return Described(from_json(document.json))
        run = training_from_dict(document.values)
        return Described(run.mechanism, run)

    def document(self) -> files.Document:
        """What the file says, which no flag may say too."""
        given = _given(self.flags)
        if given:
            raise InvalidArgument(f"{given[0]} and the file {self.file!r} both say what ran; give one of the two")
        return files.read(str(self.file))


def from_flags(flags: Flags) -> Described:
    """Noisy SGD, by rate and steps or by examples and batches."""
    if not _given(flags):
        raise InvalidArgument(
            f"nothing to account for; give {', '.join(_BY_RATE)}, or a JSON or TOML file, e.g. {_EXAMPLE}"
        )
    if by_batches(flags):
        run = DPSGD(**run_arguments(flags))
        return Described(run.mechanism, run)
    unsampled = flags.get("--sampler") == "none"
    _refuse_missing(flags, [name for name in _BY_RATE if not (unsampled and name == "--rate")])
    if flags.get("--sampler") is not None:
        validation.choice(("poisson", "none"), sampler=flags["--sampler"])
    step: Mechanism = Gaussian(noise_multiplier=number(noise_multiplier=flags["--noise-multiplier"]))
    if not unsampled:
        step = PoissonSampled(step, rate=number(rate=flags["--rate"]))
    elif flags["--rate"] is not None:
        raise InvalidArgument("--rate means nothing with --sampler none; leave out one of the two")
    return Described(step ** whole_number(steps=flags["--steps"]))


def by_batches(flags: Flags) -> bool:
    """Whether the run is described by examples and batches; fixed-size and shuffle have no other description."""
    return flags.get("--sampler") in ("fixed-size", "shuffle") or any(flags.get(name) for name in _ONLY_BATCHES)


def run_arguments(flags: Flags, *, without: str = "") -> dict[str, Any]:
    """The arguments of DPSGD but for the flag that is looked for."""
    if flags["--rate"] is not None:
        other = next(name for name in (*_ONLY_BATCHES, "--sampler") if flags[name] is not None)
        raise InvalidArgument(
            f"--rate and {other} do not go together; give --rate and --steps, or --examples and --batch-size"
        )
    length = "--epochs" if flags["--epochs"] is not None else "--steps"
    _refuse_missing(flags, [name for name in (*_BY_BATCHES, length) if name != without])
    arguments: dict[str, Any] = {}
    for name in ("--examples", "--batch-size", "--epochs", "--steps"):
        if flags[name] is not None:
            arguments[_word(name)] = whole_number(**{_word(name): flags[name]})
    if flags["--noise-multiplier"] is not None:
        arguments["noise_multiplier"] = number(noise_multiplier=flags["--noise-multiplier"])
    arguments |= {_word(name): flags[name] for name in ("--sampler", "--adjacency") if flags[name] is not None}
    return arguments | {"drop_last": flags["--drop-last"] is not None}


def _word(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")


def _given(flags: Flags) -> list[str]:
    return [name for name, value in flags.items() if value is not None]


def _refuse_missing(flags: Flags, needed: list[str]) -> None:
    missing = [name for name in needed if flags[name] is None]
    if missing:
        hint = " (--rate 1 where every record is in every batch)" if "--rate" in needed else " (or --epochs)"
        raise InvalidArgument(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; a DP-SGD run needs "
            f"{', '.join(needed)}{hint if set(needed) & {'--rate', '--steps'} else ''}"
        )


def number(**argument: str | None) -> float:
    """The one keyword argument, a decimal number or a fraction such as 256/50000."""
    ((name, text),) = argument.items()
    try:
        return float(Fraction(str(text)) if "/" in str(text) else str(text))
    except (ValueError, ZeroDivisionError, OverflowError):
        raise InvalidArgument(f"{name}={text!r} is not a number; give one such as 0.00512 or 256/50000") from None


def whole_number(**argument: str | None) -> int:
    """The one keyword argument, a count in digits; 1e4 and 10.0 are no counts."""
    ((name, text),) = argument.items()
    try:
        return validation.count(**{name: int(str(text))})
    except ValueError as error:
        if isinstance(error, InvalidArgument):
            raise
        raise InvalidArgument(f"{name}={text!r} is not a whole number; give one such as 5000") from None


def check_backend(backend: str, scheduler: str | None) -> None:
    """Dask needs an address, and an address needs Dask."""
    if validation.choice(("local", "dask"), backend=backend) == "dask" and scheduler is None:
        raise InvalidArgument("--scheduler is missing; --backend dask needs the address of one, e.g. tcp://host:8786")
    if backend == "local" and scheduler is not None:
        raise InvalidArgument("--scheduler means nothing without --backend dask; give both or neither")
