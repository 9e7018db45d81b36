"""The tree of errors, and the one function beside it."""

from __future__ import annotations

import sys

import pytest

from edgeworth import errors

TREE = {
    "BudgetExceeded": RuntimeError,
    "ComputationFailed": ArithmeticError,
    "InvalidArgument": ValueError,
    "LedgerBusy": OSError,
    "LedgerDamaged": OSError,
    "MissingExtra": ImportError,
    "NotCertified": RuntimeError,
    "NotWritten": OSError,
    "ToleranceMissed": ArithmeticError,
    "TooLarge": MemoryError,
    "Unsupported": ValueError,
}


@pytest.mark.parametrize("name", TREE)
def test_each_is_of_the_tree_and_a_builtin(name):
    assert getattr(errors, name).__bases__ == (errors.EdgeworthError, TREE[name])


def test_the_tree_is_complete_and_drawn():
    public = {name for name in errors.__all__ if isinstance(getattr(errors, name), type)}
    assert public == {"EdgeworthError", *TREE}
    for line in errors.__doc__.splitlines():
        if "── " in line:
            name, builtin = line.partition("── ")[2].split()[:2]
            assert builtin == f"({TREE[name].__name__})"
    assert errors.__doc__.count("── ") == len(TREE)
    assert errors.__all__ == sorted(errors.__all__)


def test_the_message_is_kept():
    with pytest.raises(errors.EdgeworthError, match=r"^sigma=nan$"):
        raise errors.InvalidArgument("sigma=nan")


def test_require_extra_imports():
    assert errors.require_extra("json.decoder", extra="plot") is sys.modules["json.decoder"]


@pytest.mark.parametrize("module", ["no_such_module", "no_such_module.inside"])
def test_require_extra_names_the_pip_line(module):
    with pytest.raises(errors.MissingExtra) as missing:
        errors.require_extra(module, extra="plot")
    assert str(missing.value) == f"{module} is not installed; it comes with: pip install 'edgeworth[plot]'"
    assert missing.value.name == module
    assert isinstance(missing.value.__cause__, ModuleNotFoundError)


def test_require_extra_does_not_hide_a_broken_module(tmp_path, monkeypatch):
    (tmp_path / "broken_module.py").write_text("import no_such_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'no_such_module'$") as missing:
        errors.require_extra("broken_module", extra="plot")
    assert not isinstance(missing.value, errors.MissingExtra)
