"""A proof speaks of the code as it was read: when a function changes, its proof is to be read again."""

import runpy
from pathlib import Path

import pytest

PROOFS = Path(__file__).parent.parent / "docs" / "proofs"
STAMP = runpy.run_path(str(PROOFS / "stamp.py"))
FILES = sorted(path for path in PROOFS.glob("*.md") if path.name != "README.md")
STAMPED = [
    (path.name, line["name"], line["stamp"]) for path in FILES for line in STAMP["LINE"].finditer(path.read_text())
]


@pytest.mark.parametrize(("proof", "name", "stamp"), STAMPED, ids=[f"{row[0]}-{row[1]}" for row in STAMPED])
def test_the_code_is_the_one_that_the_proof_was_read_with(proof, name, stamp):
    message = f"{name} has changed: read docs/proofs/{proof} again, correct it, then run docs/proofs/stamp.py"
    assert STAMP["fingerprint"](name) == stamp, message


def test_every_proof_names_its_code_and_is_in_the_index():
    index = (PROOFS / "README.md").read_text()
    assert FILES
    for path in FILES:
        assert any(row[0] == path.name for row in STAMPED)
        assert f"({path.name})" in index
