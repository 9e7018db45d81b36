"""Bad input is exit code 2, one line that names it and one line with the way out; never a traceback."""

from __future__ import annotations

import pytest

import edgeworth as ew
from edgeworth.cli import app as application

RUN = ["--noise-multiplier", "1", "--rate", "0.01", "--steps", "10"]
FILES = "give a JSON file that edgeworth.to_json wrote, a JSON or TOML file that describes a run, or - for stdin"
BATCHES = ["--noise-multiplier", "1", "--examples", "100", "--batch-size", "10"]
COMPARE_HELP = "edgeworth compare --help lists every option, with examples"

CASES = {
    "nothing": (
        ["compare"],
        "nothing to account for",
        (
            "give --noise-multiplier, --rate, --steps, or a JSON or TOML file, "
            "e.g. --noise-multiplier 0.8 --rate 256/50000 --steps 5000"
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
        FILES,
    ),
    "a folder": (
        ["compare", "."],
        "cannot read '.': Is a directory",
        FILES,
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
    "file and flags of another command": (
        ["account", "m.toml", "--epochs", "10"],
        "--epochs and the file 'm.toml' both say what ran",
        "give one of the two",
    ),
    "batches and rate": (
        ["account", *BATCHES, "--rate", "0.1", "--steps", "3"],
        "--rate and --examples do not go together",
        "give --rate and --steps, or --examples and --batch-size",
    ),
    "batches without a sampler": (
        ["account", *BATCHES, "--epochs", "3"],
        "--sampler is missing",
        "a DP-SGD run needs --noise-multiplier, --examples, --batch-size, --sampler, --epochs",
    ),
    "batches without a length": (
        ["account", *BATCHES, "--sampler", "shuffle"],
        "--steps is missing",
        "a DP-SGD run needs --noise-multiplier, --examples, --batch-size, --sampler, --steps (or --epochs)",
    ),
    "steps are not epochs": (
        ["account", *BATCHES, "--sampler", "shuffle", "--epochs", "3", "--steps", "29"],
        "steps=29 is not what epochs=3 means, which is 30 steps",
        "give one of the two, and None for the other",
    ),
    "batch larger than all": (
        ["account", *BATCHES, "--batch-size", "1000", "--sampler", "none", "--steps", "1"],
        "batch_size=1000 is larger than examples=100",
        "give at most one batch of all",
    ),
    "unknown sampler": (
        ["account", *RUN, "--sampler", "magic"],
        "sampler='magic' is unknown",
        "give one of 'poisson', 'none'",
    ),
    "rate without sampling": (
        ["account", *RUN, "--sampler", "none"],
        "--rate means nothing with --sampler none",
        "leave out one of the two",
    ),
    "unknown adjacency": (
        ["account", *BATCHES, "--sampler", "poisson", "--steps", "1", "--adjacency", "near"],
        "adjacency='near' is unknown",
        "give one of 'add-remove', 'replace', 'zero-out'",
    ),
    "negative budget": (
        ["account", *RUN, "--max-epsilon", "-1"],
        "max_epsilon=-1.0 is out of range",
        "give a finite number >= 0",
    ),
    "no group": (["account", *RUN, "--group", "0"], "group=0 is out of range", "give an int >= 1"),
    "statement of nothing": (
        ["statement"],
        "nothing to account for",
        (
            "give --noise-multiplier, --rate, --steps, or a JSON or TOML file, "
            "e.g. --noise-multiplier 0.8 --rate 256/50000 --steps 5000"
        ),
    ),
    "unknown picture": (
        ["plot", *RUN, "--kind", "pie"],
        "kind='pie' is unknown",
        "give one of 'tradeoff', 'profile', 'roc', 'compare'",
    ),
    "find what": (
        ["calibrate", "--epsilon", "1", "--delta", "1e-5", *RUN],
        "Missing option '--find'",
        "edgeworth calibrate --help lists every option, with examples",
    ),
    "find luck": (
        ["calibrate", "--find", "luck", *RUN],
        "find='luck' is unknown",
        "give one of 'noise', 'steps', 'rate'",
    ),
    "found already": (
        ["calibrate", "--find", "noise", *RUN, "--epsilon", "1", "--delta", "1e-5"],
        "--noise-multiplier is what is looked for",
        "leave it out",
    ),
    "no target": (
        ["calibrate", "--find", "noise", *RUN[2:]],
        "no target was given",
        "give epsilon and delta, mu, tpr and fpr, advantage or tradeoff",
    ),
    "half a target": (
        ["calibrate", "--find", "noise", *RUN[2:], "--epsilon", "1"],
        "epsilon was given without delta",
        "the two make a target together",
    ),
    "calibrate a file": (
        ["calibrate", "m.json", "--find", "noise", "--mu", "1"],
        "the file 'm.json' says all of what runs",
        "describe the run by flags instead",
    ),
    "calibrate without steps": (
        ["calibrate", "--find", "noise", "--mu", "1", "--rate", "0.1"],
        "--steps is missing",
        "a DP-SGD run needs it to look for noise",
    ),
    "rate of batches": (
        ["calibrate", "--find", "rate", "--mu", "1", *BATCHES],
        "--find rate does not go with --examples and --batch-size",
        "they say the rate",
    ),
    "steps of epochs": (
        ["calibrate", "--find", "steps", "--mu", "1", *BATCHES, "--sampler", "none", "--epochs", "3"],
        "--epochs says how many steps there are",
        "leave it out",
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
            "give one of ApproxDP, Composed, DensityPair, DiscreteGaussian, DiscreteLaplace, Gaussian, GaussianDP, "
            "Laplace, PoissonSampled, RandomizedResponse, Repeated, SampledWithoutReplacement"
        ),
    ),
    "bad value": (
        '{"format": "edgeworth-mechanism", "version": 1, "mechanism": {"type": "GaussianDP", "mu": -1}}',
        "mechanism: mu=-1.0 is out of range",
        "give a finite number >= 0",
    ),
    "neither JSON nor TOML": (
        "examples: 100",
        "'-' is not TOML: Expected '=' after a key in a key/value pair (at line 1, column 9)",
        FILES,
    ),
    "a run without a sampler": (
        "examples = 100\nbatch_size = 10\nsteps = 3\nnoise_multiplier = 1.0\n",
        "sampler is missing",
        (
            "epsilon depends on how batches are drawn, so say it. "
            "'poisson': every record enters every batch by itself, with probability batch_size/examples; "
            "'fixed-size': every batch is batch_size different records, drawn afresh from all of them; "
            "'shuffle': the records are shuffled and dealt into batches, each record once per epoch; "
            "'none': nothing is drawn at random, any record may be in every batch"
        ),
    ),
    "a run with a misspelt key": (
        '{"examples": 100, "batchsize": 10}',
        "batchsize=10 is not part of a run",
        "give examples, batch_size, noise_multiplier, sampler, epochs, steps, drop_last, adjacency",
    ),
    "not text": (b"\xff\xfe", "'-' is not UTF-8 text", FILES),
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
    assert run("account", "--noise-multiplier", "1", "--rate", "1", "--steps", "10").code == 0


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
