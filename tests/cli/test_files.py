"""Descriptions in files and on stdin: the same answers as from flags, and refusals that say what is wrong."""

from __future__ import annotations

import json

import pytest

import edgeworth as ew

FILES = "give a JSON file that edgeworth.to_json wrote, a JSON or TOML file that describes a run, or - for stdin"
DESCRIBED = ew.DPSGD(examples=1000, batch_size=30, epochs=2, noise_multiplier=4.0, sampler="shuffle")
FLAGS = ["--noise-multiplier", "4", "--examples", "1000", "--batch-size", "30", "--epochs", "2", "--sampler", "shuffle"]
TOML = """
examples = 1000
batch_size = 30
epochs = 2
noise_multiplier = 4.0
sampler = "shuffle"
"""
TEXTS = {
    "run.toml": TOML,
    "run.json": json.dumps(DESCRIBED.to_dict()),
    "mechanism.json": ew.to_json(DESCRIBED.mechanism),
}
KEYS = "give examples, batch_size, noise_multiplier, sampler, epochs, steps, drop_last, adjacency"

STDIN = {
    "empty": ("", "stdin is empty", FILES),
    "blank": (" \n", "stdin is empty", FILES),
    "half a JSON": ('{"examples":', "stdin is not JSON: Expecting value: line 1 column 13 (char 12)", FILES),
    "nested without end": ("[" * 100_000, "stdin is nested too deeply", FILES),
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
        "stdin is not TOML: Expected '=' after a key in a key/value pair (at line 1, column 9)",
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
    "a misspelt key in JSON": ('{"examples": 100, "batchsize": 10}', "batchsize=10 is not part of a run", KEYS),
    "a misspelt key in TOML": (TOML.replace("epochs", "epoch"), "epoch=2 is not part of a run", KEYS),
    "a key twice": (TOML + "epochs = 3\n", "stdin is not TOML: Cannot overwrite a value (at line 7, column 11)", FILES),
    "not text": (b"\xff\xfe", "stdin is not UTF-8 text", FILES),
}
NAMES = {
    "not-there.json": "cannot read 'not-there.json': No such file or directory",
    ".": "cannot read '.': Is a directory",
    "empty.toml": "'empty.toml' is empty",
    "half.toml": "'half.toml' is not TOML: Invalid value (at end of document)",
    "half.json": "'half.json' is not JSON: Expecting value: line 1 column 13 (char 12)",
}


@pytest.mark.parametrize("command", ["account", "compare", "plot", "statement", "calibrate"])
@pytest.mark.parametrize("name", ["empty", "half a JSON", "neither JSON nor TOML", "not text"])
def test_what_cannot_be_read_is_refused_by_every_command(command, name, run):
    text, what, way_out = STDIN[name]
    find = ["--find", "noise", "--mu", "1"] if command == "calibrate" else []
    assert run(command, "-", *find, stdin=text) == (2, "", f"error: {what}\nhint: {way_out}\n")


@pytest.mark.parametrize("name", STDIN)
def test_refused_on_stdin(name, run):
    text, what, way_out = STDIN[name]
    assert run("account", "-", stdin=text) == (2, "", f"error: {what}\nhint: {way_out}\n")


@pytest.mark.parametrize("name", NAMES)
def test_refused_files(name, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for written, text in {"empty.toml": "", "half.toml": "examples = ", "half.json": '{"examples":'}.items():
        (tmp_path / written).write_text(text, encoding="utf-8")
    assert run("account", name) == (2, "", f"error: {NAMES[name]}\nhint: {FILES}\n")


def test_a_file_that_may_not_be_read_is_refused(run, monkeypatch):
    def refuse(_path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    assert run("account", "secret.toml") == (
        2,
        "",
        f"error: cannot read 'secret.toml': Permission denied\nhint: {FILES}\n",
    )


@pytest.mark.parametrize("command", ["account", "statement"])
@pytest.mark.parametrize("name", [*TEXTS, "-"])
def test_a_run_from_a_file_is_the_run_from_flags(command, name, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for written, text in TEXTS.items():
        (tmp_path / written).write_text(text, encoding="utf-8")
    told = json.loads(run(command, name, "--json", stdin=TOML).out)
    flags = json.loads(run(command, *FLAGS, "--json").out)
    assert told["epsilon"] == flags["epsilon"]
    assert told["run"] == (None if name == "mechanism.json" else DESCRIBED.to_dict())


def test_calibrate_a_run_in_a_file(run):
    target = ["--find", "noise", "--epsilon", "3", "--delta", "1e-5", "--json"]
    flags = json.loads(run("calibrate", *FLAGS[2:], *target).out)
    file = json.loads(run("calibrate", "-", *target, stdin=TOML.replace("noise_multiplier = 4.0\n", "")).out)
    assert file == flags


@pytest.mark.parametrize(
    ("find", "text", "what", "way_out"),
    [
        ("noise", TOML, "noise_multiplier in '-' says what is looked for", "leave it out"),
        ("steps", TOML, "epochs in '-' says what is looked for", "leave it out"),
        (
            "rate",
            TOML,
            "--find rate does not go with a file",
            "its examples and batch_size say the rate",
        ),
        (
            "noise",
            TEXTS["mechanism.json"],
            "'-' does not describe a run in one phase",
            "give a file with the keys of DPSGD, or flags",
        ),
    ],
)
def test_calibrate_refuses_a_file_that_says_too_much(find, text, what, way_out, run):
    result = run("calibrate", "-", "--find", find, "--mu", "1", stdin=text)
    assert result == (2, "", f"error: {what}\nhint: {way_out}\n")


def test_a_rate_may_be_a_fraction(run):
    arguments = ["account", "--noise-multiplier", "1", "--steps", "1", "--json"]
    assert run(*arguments, "--rate", "1/4").out == run(*arguments, "--rate", "0.25").out


@pytest.mark.parametrize("arguments", [["account", *FLAGS, "--plot"], ["plot", *FLAGS, "--out"]])
def test_a_disk_that_takes_nothing_more_is_an_error_in_two_lines(arguments, run, monkeypatch, tmp_path):
    def full(*_arguments, **_settings):
        raise OSError(28, "No space left on device", "run.png")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    result = run(*arguments, tmp_path / "run.png")
    assert result.code == 2
    assert result.err == (
        "error: cannot use 'run.png': No space left on device\n"
        "hint: give a name that can be read or written, on a disk with room\n"
    )


def test_a_name_that_may_not_be_written_is_refused_before_any_work(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.access", lambda _path, _mode: False)
    result = run("account", *FLAGS, "--plot", "run.png")
    assert result == (
        2,
        "",
        "error: plot='run.png' may not be written\nhint: give a name in a folder of yours\n",
    )
