"""Importing registers, as often as you like; a name that is taken, an old Opacus and none at all are told apart."""

import importlib
import subprocess
import sys

import opacus
import pytest
from opacus.accountants import IAccountant, create_accountant, register_accountant

import edgeworth as ew
import edgeworth.integrations.opacus as adapter
from edgeworth.integrations.opacus import registry


class Stranger(IAccountant):
    """An accountant of somebody else, under our name."""

    def __init__(self):
        super().__init__()

    def step(self, **_step):
        return None

    def get_epsilon(self, _delta):
        return 0.0

    def __len__(self):
        return 0

    @classmethod
    def mechanism(cls):
        return "edgeworth"


@pytest.fixture
def stranger():
    register_accountant("edgeworth", Stranger, force=True)
    yield Stranger
    register_accountant("edgeworth", adapter.EdgeworthAccountant, force=True)


def test_a_name_that_is_taken_is_refused(stranger):
    with pytest.raises(ew.InvalidArgument) as refusal:
        importlib.reload(adapter)
    assert str(refusal.value) == (
        f"accountant='edgeworth' is the name of {stranger.__module__}.Stranger already; "
        "import edgeworth.integrations.opacus before that is registered, or register that under another name"
    )
    assert type(create_accountant("edgeworth")) is stranger


def test_an_opacus_without_a_registry_is_told_so(monkeypatch):
    monkeypatch.delattr(opacus.accountants, "register_accountant")
    monkeypatch.setattr(opacus, "__version__", "1.5.4")
    with pytest.raises(ew.MissingExtra) as refusal:
        registry.register(adapter.EdgeworthAccountant)
    assert str(refusal.value) == (
        "opacus 1.5.4 takes no accountants but its own; one that does comes with: pip install 'edgeworth[opacus]'"
    )


def _run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603


def test_importing_again_is_harmless():
    told = _run("""
import importlib
import edgeworth.integrations.opacus as adapter
from edgeworth.integrations.opacus import accountant
from opacus.accountants import create_accountant
for module in (adapter, accountant, adapter):  # the second one makes a new class
    importlib.reload(module)
print(type(create_accountant("edgeworth")) is adapter.EdgeworthAccountant)
""")
    assert told.stdout == "True\n", told.stderr


def test_without_opacus_the_pip_line_is_named():
    told = _run("import sys; sys.modules['opacus'] = None\nimport edgeworth.integrations.opacus")
    assert told.returncode == 1
    assert told.stderr.splitlines()[-1] == (
        "edgeworth.errors.MissingExtra: opacus is not installed; it comes with: pip install 'edgeworth[opacus]'"
    )


def test_the_package_itself_imports_neither_torch_nor_opacus():
    told = _run("import edgeworth, sys; print(sorted({'torch', 'opacus'} & set(sys.modules)))")
    assert told.stdout.strip() == "[]"
