# ruff: noqa: INP001 - a script
"""Rewrite the fingerprints at the end of every proof: run it after re-reading a proof whose code has changed.

    python docs/proofs/stamp.py

A proof ends with lines "- module.function — fingerprint"; the fingerprint is the start of the SHA-256 of the source.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import re
from pathlib import Path

HERE = Path(__file__).parent
LINE = re.compile(r"^- `(?P<name>edgeworth[\w.]+)` — (?P<stamp>\S+)$", re.MULTILINE)


def fingerprint(name: str) -> str:
    """The first twelve digits of the SHA-256 of the source of `package.module.Class.function`."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = inspect.getattr_static(found, part)
        found = getattr(found, "fget", found) or found
        found = getattr(found, "__func__", found)
        return hashlib.sha256(inspect.getsource(found).encode()).hexdigest()[:12]
    raise ModuleNotFoundError(name)


def stamped(text: str) -> str:
    """The proof with fresh fingerprints."""
    return LINE.sub(lambda line: f"- `{line['name']}` — {fingerprint(line['name'])}", text)


def main() -> None:
    """Rewrite the files in place."""
    for path in sorted(HERE.glob("*.md")):
        path.write_text(stamped(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
