"""Bad input is exit code 2, one line that names it and one line with the way out; never a traceback."""

from __future__ import annotations

import pytest

import edgeworth as ew
from edgeworth.cli import app as application

RUN = ["--noise-multiplier", "1", "--rate", "0.01", "--steps", "10"]
COMPARE_HELP = "edgeworth compare --help lists every option, with examples"

CASES = {
    "nothing": (
        ["compare"],
        "nothing to account for",
        (
            "give --noise-multiplier, --rate, --steps, or a JSON file, "
            "e.g. edgeworth compare --noise-multiplier 0.8 --rate 256/50000 --steps 5000"
        ),
    ),
    "half a run": (
        ["compare", "--steps", "10"],
        "--noise-multiplier and --rate are missing",
        "a DP-SGD run needs --noise-multiplier, --rate, --steps (--rate 1 where every record is in every batch)",
    ),
    "no rate": (
        ["compare", "--noise-multiplier", "1", "--steps", "10"],
        "--rate is missing",
        "a DP-SGD run needs --noise-multiplier, --rate, --steps (--rate 1 where every record is in every batch)",
    ),
    "negative noise": (
        ["compare", "--noise-multiplier", "-1", "--rate", "0.01", "--steps", "10"],
        "noise_multiplier=-1.0 is out of range",
        "give a finite number > 0",
    ),
    "nan noise": (
        ["compare", "--noise-multiplier", "nan", "--rate", "0.01", "--steps", "10"],
        "noise_multiplier=nan is out of range",
        "give a finite number > 0",
    ),
    "rate above 1": (
        ["compare", "--noise-multiplier", "1", "--rate", "50000/256", "--steps", "10"],
        "rate=195.3125 is out of range",
        "give a number between 0 and 1",
    ),
    "rate in words": (
        ["compare", "--noise-multiplier", "1", "--rate", "often", "--steps", "10"],
        "rate='often' is not a number",
        "give one such as 0.00512 or 256/50000",
    ),
    "rate over 0": (
        ["compare", "--noise-multiplier", "1", "--rate", "1/0", "--steps", "10"],
        "rate='1/0' is not a number",
        "give one such as 0.00512 or 256/50000",
    ),
    "negative steps": (
        ["compare", "--noise-multiplier", "1", "--rate", "0.01", "--steps", "-3"],
        "steps=-3 is out of range",
        "give an int >= 0",
    ),
    "half steps": (
        ["compare", "--noise-multiplier", "1", "--rate", "0.01", "--steps", "1.5"],
        "steps='1.5' is not a whole number",
        "give one such as 5000",
    ),
    "delta above 1": (
        ["compare", *RUN, "--delta", "2"],
        "delta=2.0 is out of range",
        "give a number between 0 and 1",
    ),
    "nan delta": (
        ["compare", *RUN, "--delta", "nan"],
        "delta=nan is out of range",
        "give a number between 0 and 1",
    ),
    "degree in words": (
        ["compare", *RUN, "--degree", "two"],
        "degree='two' is not a whole number",
        "give one such as 5000",
    ),
    "delta in words": (
        ["compare", *RUN, "--delta", "small"],
        "delta='small' is not a number",
        "give one such as 0.00512 or 256/50000",
    ),
    "degree": (["compare", *RUN, "--degree", "9"], "degree=9 is out of range", "give an int from 0 to 8"),
    "unknown option": (["compare", *RUN, "--sigma", "1"], "No such option: --sigma", COMPARE_HELP),
    "unknown command": (
        ["zzz"],
        "No such command 'zzz'",
        "edgeworth --help lists every option, with examples",
    ),
    "file and flags": (
        ["compare", "m.json", "--steps", "10"],
        "--steps and the file 'm.json' both say what ran",
        "give one of the two",
    ),
    "no such file": (
        ["compare", "not-there.json"],
        "cannot read 'not-there.json': No such file or directory",
        "give a JSON file that edgeworth.to_json wrote, or - for stdin",
    ),
    "a folder": (
        ["compare", "."],
        "cannot read '.': Is a directory",
        "give a JSON file that edgeworth.to_json wrote, or - for stdin",
    ),
    "not a picture": (
        ["compare", *RUN, "--plot", "run.doc"],
        "plot='run.doc' is not a picture",
        "give a name that ends in .pdf, .png, .svg",
    ),
    "no such folder": (
        ["compare", *RUN, "--plot", "not/there.png"],
        "plot='not/there.png' is in a folder that is not there",
        "make it first: mkdir -p not",
    ),
    "reproduce where": (
        ["reproduce"],
        "Missing option '--out'",
        "edgeworth reproduce --help lists every option, with examples",
    ),
}

STDIN = {
    "empty": (
        "",
        "text='' is not JSON: Expecting value: line 1 column 1 (char 0)",
        "give what to_json returned",
    ),
    "another format": (
        '{"format": "x", "version": 1, "mechanism": {}}',
        "format='x' is unknown",
        "give 'edgeworth-mechanism'",
    ),
    "unknown mechanism": (
        '{"format": "edgeworth-mechanism", "version": 1, "mechanism": {"type": "Cauchy"}}',
        "mechanism: type='Cauchy' is unknown",
        (
            "give one of ApproxDP, Composed, DensityPair, Gaussian, GaussianDP, Laplace, PoissonSampled, "
            "RandomizedResponse, Repeated"
        ),
    ),
    "bad value": (
        '{"format": "edgeworth-mechanism", "version": 1, "mechanism": {"type": "GaussianDP", "mu": -1}}',
        "mechanism: mu=-1.0 is out of range",
        "give a finite number >= 0",
    ),
    "not text": (b"\xff\xfe", "'-' is not UTF-8 text", "give what edgeworth.to_json wrote"),
}


@pytest.mark.parametrize("name", CASES)
def test_arguments(name, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments, what, way_out = CASES[name]
    assert run(*arguments) == (2, "", f"error: {what}\nhint: {way_out}\n")


@pytest.mark.parametrize("name", STDIN)
def test_json_on_stdin(name, run):
    text, what, way_out = STDIN[name]
    assert run("compare", "-", stdin=text) == (2, "", f"error: {what}\nhint: {way_out}\n")


def test_the_way_out_of_half_a_run_works(run):
    assert run("compare", "--noise-multiplier", "1", "--rate", "1", "--steps", "10").code == 0


def test_a_method_that_refuses_is_an_answer_not_an_error(run):
    result = run("compare", "-", stdin=ew.to_json(ew.Laplace(scale=5.0) ** 7))
    assert result.code == 0
    assert "closed-form" in result.out
    assert "no answer" in result.out


def test_a_bug_shows_its_traceback(monkeypatch):
    def broken(*_arguments):
        raise ZeroDivisionError

    monkeypatch.setattr("edgeworth.cli.describe.from_flags", broken)
    monkeypatch.setattr("sys.argv", ["edgeworth", "compare", *RUN])
    with pytest.raises(ZeroDivisionError):
        application.main()
