"""Calibration from the command line: which family of runs, and the answer in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeworth import validation
from edgeworth.calibration import calibrate, max_rate, max_steps, noise_multiplier
from edgeworth.cli.describe import by_batches, number, run_arguments, whole_number
from edgeworth.curves import Bracket
from edgeworth.errors import InvalidArgument
from edgeworth.mechanisms import to_json
from edgeworth.report.digits import at_most, jsonable, reading
from edgeworth.training import DPSGD

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeworth.calibration import Calibrated
    from edgeworth.cli.describe import Asked, Flags

__all__ = ["as_json", "as_text", "find"]

FORMAT, VERSION = "edgeworth-calibration", 1
_WANTED = {"noise": "--noise-multiplier", "steps": "--steps", "rate": "--rate"}
_LEFT_OUT = {"noise": "noise multiplier", "steps": "steps", "rate": "rate"}
_NEEDED: dict[str, dict[str, Callable[..., float]]] = {
    "noise": {"steps": whole_number, "rate": number},
    "steps": {"noise_multiplier": number, "rate": number},
    "rate": {"noise_multiplier": number, "steps": whole_number},
}
_SHORTCUTS: dict[str, Callable[..., Calibrated]] = {"noise": noise_multiplier, "steps": max_steps, "rate": max_rate}


def find(what: str, asked: Asked, target: dict[str, Any]) -> Calibrated:
    """The parameter that meets the target, in the family that the flags describe."""
    validation.choice(_WANTED, find=what)
    if asked.file is not None:
        return _by_file(what, asked, target)
    flags = asked.flags
    if flags[_WANTED[what]] is not None:
        raise InvalidArgument(f"{_WANTED[what]} is what is looked for; leave it out")
    if by_batches(flags):
        return _by_batches(what, flags, target)
    arguments: dict[str, Any] = {"sampler": flags["--sampler"] or "poisson"}
    for name, read in _NEEDED[what].items():
        given = flags[f"--{name.replace('_', '-')}"]
        if given is not None:
            arguments[name] = read(**{name: given})
        elif not (name == "rate" and arguments["sampler"] == "none"):
            raise InvalidArgument(f"--{name.replace('_', '-')} is missing; a DP-SGD run needs it to look for {what}")
    return _SHORTCUTS[what](**arguments, **target)


def _by_file(what: str, asked: Asked, target: dict[str, Any]) -> Calibrated:
    """The same for a run in a file that leaves out what is looked for."""
    document = asked.document()
    fields = document.values
    if not document.describes_run or "phases" in fields:
        raise InvalidArgument(
            f"{asked.file!r} does not describe a run in one phase; give a file with the keys of DPSGD, or flags"
        )
    if what == "rate":
        raise InvalidArgument("--find rate does not go with a file; its examples and batch_size say the rate")
    given = {"noise": ("noise_multiplier",), "steps": ("steps", "epochs")}[what]
    if told := [name for name in given if name in fields]:
        raise InvalidArgument(f"{told[0]} in {asked.file!r} says what is looked for; leave it out")
    return calibrate(
        lambda value: DPSGD.from_dict({**fields, given[0]: value}).mechanism, integer=what == "steps", **target
    )


def _by_batches(what: str, flags: Flags, target: dict[str, Any]) -> Calibrated:
    """The same for a run described by examples and batches, whatever its sampler."""
    if what == "rate":
        raise InvalidArgument("--find rate does not go with --examples and --batch-size; they say the rate")
    if what == "steps" and flags["--epochs"] is not None:
        raise InvalidArgument("--epochs says how many steps there are; leave it out")
    fixed = run_arguments(flags, without=_WANTED[what])
    field = "noise_multiplier" if what == "noise" else "steps"
    return calibrate(lambda value: DPSGD(**fixed, **{field: value}).mechanism, integer=what == "steps", **target)


def as_text(what: str, found: Calibrated) -> str:
    """What was found, with all its digits (fewer might miss the target), what it achieves, and where it would fail."""
    lines = [f"{_LEFT_OUT[what]:<24}{found.value!r}", f"{'asked for':<24}{found.target}"]
    for name, achieved in found.achieved.items():
        told = name.upper() if name == "tpr" else name
        lines += [f"{'achieved, guaranteed':<24}{told} {at_most(each)}" for each in _entries(achieved)]
    missed = "no parameter of the family" if found.missed_at is None else repr(found.missed_at)
    return "\n".join([*lines, f"{'no longer certain at':<24}{missed}"])


def as_json(what: str, found: Calibrated) -> str:
    """The same for a program."""
    told = {
        "format": FORMAT,
        "version": VERSION,
        "found": what,
        "value": jsonable(found.value) if what != "steps" else int(found.value),
        "target": found.target,
        "achieved": {name: [reading(each) for each in _entries(one)] for name, one in found.achieved.items()},
        "missed_at": found.missed_at,
        "mechanism": json.loads(to_json(found.mechanism)),
    }
    return json.dumps(told, indent=2, allow_nan=False)


def _entries(found: Bracket) -> list[Bracket]:
    """A bracket of arrays as brackets of numbers."""
    parts = zip(*(np.ravel(np.asarray(end)).tolist() for end in (found.lower, found.upper, found.value)), strict=True)
    return [Bracket(lower, upper, value, found.certificate) for lower, upper, value in parts]
