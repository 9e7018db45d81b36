"""The notebook runs from top to bottom, and what it prints is what stands in it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOUR = Path(__file__).parents[2] / "examples" / "tour.ipynb"


def _cells(path):
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    copy = Path(shutil.copy(TOUR, tmp_path_factory.mktemp("tour")))
    ran = subprocess.run(  # noqa: S603 - our own notebook
        [Path(sys.executable).parent / "jupyter-execute", "--inplace", copy],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return _cells(copy)


def _told(cell):
    """What the cell prints; pictures depend on fonts and are only counted."""
    texts = ["".join(output["text"]) for output in cell["outputs"] if output["output_type"] == "stream"]
    return "".join(texts), sum("image/png" in output.get("data", {}) for output in cell["outputs"])


def test_the_outputs_are_those_of_this_version(executed):
    """If they are not, `make tour` runs the notebook again and keeps what it prints."""
    assert [_told(cell) for cell in executed] == [_told(cell) for cell in _cells(TOUR)]


def test_it_has_its_pictures_and_no_warnings(executed):
    assert sum(_told(cell)[1] for cell in executed) == 4
    assert [output for cell in executed for output in cell["outputs"] if output.get("name") == "stderr"] == []


def test_every_link_leads_somewhere():
    text = TOUR.read_text(encoding="utf-8")
    for target in ("docs/integrations/dp_accounting.md", "docs/integrations/opacus.md"):
        assert f"](../{target})" in text
        assert (TOUR.parents[1] / target).is_file()
