"""The page on dp_accounting and the example are run; what they say of numbers is so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "integrations" / "dp_accounting.md"
EXAMPLE = ROOT / "examples" / "dp_accounting_swap.py"


def test_every_block_runs(capsys):
    names = {}
    for block in re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8")):
        exec(compile(block, PAGE.name, "exec"), names)  # noqa: S102 - our own page
    printed = capsys.readouterr().out
    assert "3.26197" in printed
    assert "0.82679" in printed


def test_every_link_leads_somewhere():
    for target in re.findall(r"\]\(([^)#:]+)\)", PAGE.read_text(encoding="utf-8")):
        assert (PAGE.parent / target).is_file(), target


def _answers(table):
    """Our column of the table: the numbers before the last time of each row."""
    return [row.split()[-2] for row in table.splitlines() if row.endswith("s") and "." in row]


def test_the_example_prints_the_table_of_the_page():
    told = subprocess.run(  # noqa: S603 - our own example
        [sys.executable, "-W", "error", EXAMPLE], capture_output=True, text=True, check=True
    )
    (table,) = re.findall(r"(?ms)^```text\n(.*?)^```$", PAGE.read_text(encoding="utf-8"))
    shown = _answers(table)
    assert len(shown) == 5
    assert _answers(told.stdout.split("\n\n")[0]) == shown
    ends = r"lies in .*?\[([\d.]+), ([\d.]+)\]"
    (printed,), (written,) = (re.findall(ends, text) for text in (told.stdout, PAGE.read_text(encoding="utf-8")))
    assert float(written[0]) <= float(printed[0]) <= float(printed[1]) <= float(written[1])
