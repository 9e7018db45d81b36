"""From the command line to a mechanism, or to a refusal that says what to type instead."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from edgeworth import validation
from edgeworth.errors import InvalidArgument, require_extra
from edgeworth.mechanisms import Gaussian, PoissonSampled, from_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeworth.mechanisms import Mechanism

__all__ = ["check_plot_path", "from_flags", "from_json_file", "make_folder", "number", "whole_number"]

_PICTURES = (".pdf", ".png", ".svg")


def from_flags(flags: Mapping[str, str | None]) -> Mechanism:
    """Noisy SGD: --steps Poisson samples at --rate of Gaussian noise; all three are needed."""
    missing = [name for name, given in flags.items() if given is None]
    if len(missing) == len(flags):
        raise InvalidArgument(
            f"nothing to account for; give {', '.join(flags)}, or a JSON file, "
            "e.g. edgeworth compare --noise-multiplier 0.8 --rate 256/50000 --steps 5000"
        )
    if missing:
        raise InvalidArgument(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; a DP-SGD run needs "
            f"{', '.join(flags)} (--rate 1 where every record is in every batch)"
        )
    noise = Gaussian(noise_multiplier=number(noise_multiplier=flags["--noise-multiplier"]))
    step = PoissonSampled(noise, rate=number(rate=flags["--rate"]))
    return step ** whole_number(steps=flags["--steps"])


def from_json_file(name: str, flags: Mapping[str, str | None]) -> Mechanism:
    """The mechanism in a file, or on stdin for "-"."""
    given = [flag for flag, value in flags.items() if value is not None]
    if given:
        raise InvalidArgument(f"{given[0]} and the file {name!r} both say what ran; give one of the two")
    try:
        text = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return from_json(text.decode())
    except OSError as error:
        raise InvalidArgument(
            f"cannot read {name!r}: {error.strerror}; give a JSON file that edgeworth.to_json wrote, or - for stdin"
        ) from None
    except UnicodeDecodeError:
        raise InvalidArgument(f"{name!r} is not UTF-8 text; give what edgeworth.to_json wrote") from None


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


def check_plot_path(path: Path) -> None:
    """Refused before any work when the picture could not be written."""
    if path.suffix.lower() not in _PICTURES:
        raise InvalidArgument(f"plot={str(path)!r} is not a picture; give a name that ends in {', '.join(_PICTURES)}")
    if not path.parent.is_dir():
        raise InvalidArgument(
            f"plot={str(path)!r} is in a folder that is not there; make it first: mkdir -p {path.parent}"
        )
    require_extra("matplotlib", extra="plot")


def make_folder(path: Path) -> None:
    """The folder is there afterwards, or the reason why it cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgument(f"out={str(path)!r} cannot be a folder: {error.strerror}; give another") from None
