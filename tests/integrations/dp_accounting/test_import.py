"""The extra: what is said without it, and what is not loaded without asking."""

from __future__ import annotations

import subprocess
import sys


def _run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603


def test_without_the_peer_the_pip_line_is_named():
    told = _run("import sys; sys.modules['dp_accounting'] = None; import edgeworth.integrations.dp_accounting")
    assert told.stderr.splitlines()[-1] == (
        "edgeworth.errors.MissingExtra: dp_accounting is not installed; it comes with: "
        "pip install 'edgeworth[dp-accounting]'"
    )


def test_the_peer_is_loaded_only_when_it_is_asked_for():
    told = _run("import edgeworth, sys; print('dp_accounting' in sys.modules, 'edgeworth.integrations' in sys.modules)")
    assert told.stdout.split() == ["False", "False"]
