"""Bad input is exit code 2, one line that names it and one line with the way out; never a traceback."""

from __future__ import annotations

import pytest
import typer
from tests.cli.test_golden import COMMANDS

import edgeworth as ew
from edgeworth.cli import app as application
from edgeworth.composition import METHODS
from edgeworth.training.rules import SAMPLERS

RUN = ["--noise-multiplier", "1", "--rate", "0.01", "--steps", "10"]
BATCHES = [
    "--noise-multiplier",
    "1",
    "--examples",
    "100",
    "--batch-size",
    "10",
    "--sampler",
    "poisson",
    "--epochs",
    "3",
]
OF_A_RUN = ("account", "compare", "plot", "statement")
NUMBER = "give one such as 0.00512 or 256/50000"
COUNT = "give one such as 5000"
RANGE = "give from:to:count, or from:to:countx for equal factors"
NEEDED = "a DP-SGD run needs --noise-multiplier, --rate, --steps (--rate 1 where every record is in every batch)"
WHOLE = "a DP-SGD run needs --noise-multiplier, --examples, --batch-size, --sampler, --epochs"
NOTHING = (
    "give --noise-multiplier, --rate, --steps, or a JSON or TOML file, "
    "e.g. --noise-multiplier 0.8 --rate 256/50000 --steps 5000"
)


def but(arguments, flag, *value):
    """The arguments with another value for one flag, or without it."""
    place = arguments.index(flag)
    return [*arguments[:place], *([flag, *value] if value else []), *arguments[place + 2 :]]


#: bad descriptions of a run, which every command that takes one refuses alike
RUNS = {
    "nothing": ([], "nothing to account for", NOTHING),
    "half a run": (["--steps", "10"], "--noise-multiplier and --rate are missing", NEEDED),
    "no rate": (but(RUN, "--rate"), "--rate is missing", NEEDED),
    "negative noise": (
        but(RUN, "--noise-multiplier", "-1"),
        "noise_multiplier=-1.0 is out of range",
        "give a finite number > 0",
    ),
    "nan noise": (
        but(RUN, "--noise-multiplier", "nan"),
        "noise_multiplier=nan is out of range",
        "give a finite number > 0",
    ),
    "noise in words": (but(RUN, "--noise-multiplier", "much"), "noise_multiplier='much' is not a number", NUMBER),
    "rate above 1": (
        but(RUN, "--rate", "50000/256"),
        "rate=195.3125 is out of range",
        "give a number between 0 and 1",
    ),
    "rate in words": (but(RUN, "--rate", "often"), "rate='often' is not a number", NUMBER),
    "rate over 0": (but(RUN, "--rate", "1/0"), "rate='1/0' is not a number", NUMBER),
    "negative steps": (but(RUN, "--steps", "-3"), "steps=-3 is out of range", "give an int >= 0"),
    "half steps": (but(RUN, "--steps", "1.5"), "steps='1.5' is not a whole number", COUNT),
    "batches and rate": (
        [*BATCHES, "--rate", "0.1"],
        "--rate and --examples do not go together",
        "give --rate and --steps, or --examples and --batch-size",
    ),
    "no examples": (but(BATCHES, "--examples"), "--examples is missing", WHOLE),
    "examples in words": (but(BATCHES, "--examples", "many"), "examples='many' is not a whole number", COUNT),
    "no batch size": (but(BATCHES, "--batch-size"), "--batch-size is missing", WHOLE),
    "batch larger than all": (
        but(BATCHES, "--batch-size", "1000"),
        "batch_size=1000 is larger than examples=100",
        "give at most one batch of all",
    ),
    "negative batch": (but(BATCHES, "--batch-size", "-1"), "batch_size=-1 is out of range", "give an int >= 0"),
    "half an epoch": (but(BATCHES, "--epochs", "0.5"), "epochs='0.5' is not a whole number", COUNT),
    "no length": (but(BATCHES, "--epochs"), "--steps is missing", WHOLE.replace("epochs", "steps (or --epochs)")),
    "steps are not epochs": (
        [*BATCHES, "--steps", "29"],
        "steps=29 is not what epochs=3 means, which is 30 steps",
        "give one of the two, and None for the other",
    ),
    "no sampler": (but(BATCHES, "--sampler"), "--sampler is missing", WHOLE),
    "unknown sampler": (
        but(BATCHES, "--sampler", "magic"),
        "sampler='magic' is unknown",
        "give one of these. " + "; ".join(f"'{name}': {meaning}" for name, meaning in SAMPLERS.items()),
    ),
    "unknown sampler of a rate": (
        [*RUN, "--sampler", "magic"],
        "sampler='magic' is unknown",
        "give one of 'poisson', 'none'",
    ),
    "rate without sampling": (
        [*RUN, "--sampler", "none"],
        "--rate means nothing with --sampler none",
        "leave out one of the two",
    ),
    "unknown adjacency": (
        [*BATCHES, "--adjacency", "near"],
        "adjacency='near' is unknown",
        "give one of 'add-remove', 'replace', 'zero-out'",
    ),
    "drop the last of a rate": ([*RUN, "--drop-last"], "--rate and --drop-last do not go together", None),
    "file and flags": (
        ["m.json", "--steps", "10"],
        "--steps and the file 'm.json' both say what ran",
        "give one of the two",
    ),
    "unknown option": ([*RUN, "--sigma", "1"], "No such option: --sigma", "HELP"),
    "no value": ([*RUN, "--rate"], "Option '--rate' requires an argument", "HELP"),
    "two files": (["a.json", "b.json"], "Got unexpected extra argument(s) (b.json)", "HELP"),
}
RUNS["drop the last of a rate"] = (*RUNS["drop the last of a rate"][:2], RUNS["batches and rate"][2])

METHOD = {
    "unknown method": (
        [*RUN, "--method", "magic"],
        "method='magic' is unknown",
        f"give one of {', '.join(map(repr, ['auto', *METHODS]))}",
    ),
    "degree in words": ([*RUN, "--degree", "two"], "degree='two' is not a whole number", COUNT),
    "degree": (
        [*RUN, "--method", "edgeworth", "--degree", "9"],
        "degree=9 is out of range for method='edgeworth'",
        "give an int from 0 to 8",
    ),
}
DELTAS = {
    "delta above 1": ([*RUN, "--delta", "2"], "delta=2.0 is out of range", "give a number between 0 and 1"),
    "nan delta": ([*RUN, "--delta", "nan"], "delta=nan is out of range", "give a number between 0 and 1"),
    "delta in words": ([*RUN, "--delta", "small"], "delta='small' is not a number", NUMBER),
}
GROUP = {
    "no group": ([*RUN, "--group", "0"], "group=0 is out of range", "give an int >= 1"),
    "group in words": ([*RUN, "--group", "all"], "group='all' is not a whole number", COUNT),
}


def pictures(option):
    return {
        "not a picture": (
            [*RUN, f"--{option}", "run.doc"],
            f"{option}='run.doc' is not a picture",
            "give a name that ends in .pdf, .png, .svg",
        ),
        "no such folder": (
            [*RUN, f"--{option}", "not/there.png"],
            f"{option}='not/there.png' is in a folder that is not there",
            "make it first: mkdir -p not",
        ),
        "a folder for a picture": (
            [*RUN, f"--{option}", "folder.png"],
            f"{option}='folder.png' is a folder",
            "give the name of a file",
        ),
    }


FIND = ["--rate", "0.01", "--steps", "10"]
TARGET = ["--epsilon", "1", "--delta", "1e-5"]
CALIBRATE = {
    "find what": ([*RUN, *TARGET], "Missing option '--find'", "HELP"),
    "find luck": (["--find", "luck", *RUN], "find='luck' is unknown", "give one of 'noise', 'steps', 'rate'"),
    "found already": (
        ["--find", "noise", *RUN, *TARGET],
        "--noise-multiplier is what is looked for",
        "leave it out",
    ),
    "no target": (
        ["--find", "noise", *FIND],
        "no target was given",
        "give epsilon and delta, mu, tpr and fpr, advantage or tradeoff",
    ),
    "half a target": (
        ["--find", "noise", *FIND, "--epsilon", "1"],
        "epsilon was given without delta",
        "the two make a target together",
    ),
    "the other half": (
        ["--find", "noise", *FIND, "--fpr", "0.1"],
        "fpr was given without tpr",
        "the two make a target together",
    ),
    "epsilon in words": (["--find", "noise", *FIND, "--epsilon", "low"], "epsilon='low' is not a number", NUMBER),
    "negative epsilon": (
        ["--find", "noise", *FIND, "--epsilon", "-1", "--delta", "1e-5"],
        "epsilon=[-1.0] is out of range",
        "give finite numbers >= 0",
    ),
    "mu in words": (["--find", "noise", *FIND, "--mu", "low"], "mu='low' is not a number", NUMBER),
    "tpr in words": (["--find", "noise", *FIND, "--tpr", "low"], "tpr='low' is not a number", NUMBER),
    "advantage in words": (["--find", "noise", *FIND, "--advantage", "low"], "advantage='low' is not a number", NUMBER),
    "no steps": (
        ["--find", "noise", "--mu", "1", "--rate", "0.1"],
        "--steps is missing",
        "a DP-SGD run needs it to look for noise",
    ),
    "neighbours of a rate": (
        ["--find", "noise", *FIND, "--adjacency", "replace", *TARGET],
        "--rate and --adjacency do not go together",
        "give --rate and --steps, or --examples and --batch-size",
    ),
    "drop the last of a rate": (
        ["--find", "noise", *FIND, "--drop-last", *TARGET],
        "--rate and --drop-last do not go together",
        "give --rate and --steps, or --examples and --batch-size",
    ),
    "rate of batches": (
        ["--find", "rate", "--mu", "1", *BATCHES],
        "--find rate does not go with --examples and --batch-size",
        "they say the rate",
    ),
    "steps of epochs": (
        ["--find", "steps", "--mu", "1", *BATCHES],
        "--epochs says how many steps there are",
        "leave it out",
    ),
}
ACCOUNT = {
    "negative budget": (
        [*RUN, "--max-epsilon", "-1", "--delta", "1e-5"],
        "max_epsilon=-1.0 is out of range",
        "give a finite number >= 0",
    ),
    "budget in words": (
        [*RUN, "--max-epsilon", "low", "--delta", "1e-5"],
        "max_epsilon='low' is not a number",
        NUMBER,
    ),
    "half a budget": (
        [*RUN, "--max-epsilon", "3"],
        "--max-epsilon was given without --delta",
        "the two make a budget, e.g. --delta 1e-5",
    ),
}
COMPARE = {
    "degree": ([*RUN, "--degree", "9"], "degree=9 is out of range", "give an int from 0 to 8"),
    "degree in words": ([*RUN, "--degree", "two"], "degree='two' is not a whole number", COUNT),
}
PLOT = {
    "unknown picture": (
        [*RUN, "--kind", "pie"],
        "kind='pie' is unknown",
        "give one of 'tradeoff', 'profile', 'roc', 'compare'",
    ),
    "every method by one method": (
        [*RUN, "--kind", "compare", "--method", "clt"],
        "--kind compare draws every method",
        "leave out --method, or take another --kind",
    ),
}
SWEEP = ["--noise-multiplier", "1", "--rate", "0.01", "--steps", "3", "--out", "a.csv"]
SWEEPS = {
    "nowhere": (SWEEP[:-2], "Missing option '--out'", "HELP"),
    "no noise": (but(SWEEP, "--noise-multiplier"), "Missing option '--noise-multiplier'", "HELP"),
    "not a table": (
        but(SWEEP, "--out", "sweep.xls"),
        "out='sweep.xls' is not a table",
        "give a name that ends in .csv or .parquet",
    ),
    "no folder": (
        but(SWEEP, "--out", "not/there.csv"),
        "out='not/there.csv' is in a folder that is not there",
        "make it first: mkdir -p not",
    ),
    "a folder for a table": (
        but(SWEEP, "--out", "folder.csv"),
        "out='folder.csv' is a folder",
        "give the name of a file",
    ),
    "no scheduler": (
        [*SWEEP, "--backend", "dask"],
        "--scheduler is missing",
        "--backend dask needs the address of one, e.g. tcp://host:8786",
    ),
    "scheduler alone": (
        [*SWEEP, "--scheduler", "tcp://h:1"],
        "--scheduler means nothing without --backend dask",
        "give both or neither",
    ),
    "no such scheduler": (
        [*SWEEP, "--backend", "dask", "--scheduler", "nowhere"],
        "scheduler='nowhere' does not answer",
        "start one with: dask scheduler, and give its address",
    ),
    "unknown backend": ([*SWEEP, "--backend", "spark"], "backend='spark' is unknown", "give one of 'local', 'dask'"),
    "jobs in words": ([*SWEEP, "--jobs", "all"], "jobs='all' is not a whole number", COUNT),
    "half a range": ([*SWEEP, "--noise-multiplier", "1:2"], "noise_multiplier='1:2' is not a range", RANGE),
    "a range in words": ([*SWEEP, "--rate", "0:often:3"], "rate='often' is not a number", NUMBER),
    "a range without a count": ([*SWEEP, "--steps", "1:9:x"], "steps count='' is not a whole number", COUNT),
    "factors from 0": (
        [*SWEEP, "--noise-multiplier", "0:2:3x"],
        "noise_multiplier='0:2:3x' is out of range",
        "give finite ends, both > 0 for equal factors",
    ),
    "noise 0": (
        [*SWEEP, "--noise-multiplier", "0"],
        "noise_multiplier=0.0 is out of range",
        "give a finite number > 0",
    ),
    "negative steps": ([*SWEEP, "--steps", "-1"], "steps=-1.0 is out of range", "give an int >= 0"),
    "delta above 1": ([*SWEEP, "--delta", "2"], "delta=2.0 is out of range", "give a number between 0 and 1"),
    "too many": (
        [*SWEEP, "--noise-multiplier", "1:2:10000", "--delta", "0.1:0.2:10000"],
        "the sweep has 100000000 points, more than 10000000",
        "give fewer values",
    ),
}
REPRODUCE = {
    "nowhere": ([], "Missing option '--out'", "HELP"),
    "into a file": (["--out", "file"], "out='file' cannot be a folder: File exists", "give another"),
}
OTHERS = {
    "unknown command": (["zzz"], "No such command 'zzz'", "edgeworth --help lists every option, with examples"),
    "unknown option": (["--sigma"], "No such option: --sigma", "edgeworth --help lists every option, with examples"),
}
TABLE = {
    "account": RUNS | METHOD | DELTAS | GROUP | pictures("plot") | ACCOUNT,
    "compare": RUNS | DELTAS | pictures("plot") | COMPARE,
    "plot": RUNS | METHOD | pictures("out") | PLOT,
    "statement": RUNS | METHOD | DELTAS | GROUP,
    "calibrate": CALIBRATE,
    "sweep": SWEEPS,
    "reproduce": REPRODUCE,
}
CASES = [(command, name) for command, cases in TABLE.items() for name in cases]
SWITCHES = {"--json", "--markdown", "--help", "-h"}  # they take no value


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    for name in ("folder.png", "folder.csv"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").write_text("", encoding="utf-8")
    request.getfixturevalue("paper")


@pytest.mark.parametrize(("command", "name"), CASES, ids=lambda word: word.replace(" ", "-"))
def test_refused_in_two_lines(command, name, run):
    arguments, what, way_out = TABLE[command][name]
    if way_out == "HELP":
        way_out = f"edgeworth {command} --help lists every option, with examples"
    assert run(command, *arguments) == (2, "", f"error: {what}\nhint: {way_out}\n")


@pytest.mark.parametrize("name", OTHERS)
def test_refused_before_any_command(name, run):
    arguments, what, way_out = OTHERS[name]
    assert run(*arguments) == (2, "", f"error: {what}\nhint: {way_out}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_table_has_a_bad_value_for_every_option(command):
    known = typer.main.get_command(application.app).commands[command]
    options = {flag for option in known.params for flag in option.opts if flag.startswith("-")} - SWITCHES
    described = set().union(*(arguments for arguments, _, _ in TABLE[command].values()))
    assert options - described == set()


def test_the_way_out_of_half_a_run_works(run):
    assert run("account", "--noise-multiplier", "1", "--rate", "1", "--steps", "10").code == 0


def test_a_method_that_refuses_is_an_answer_not_an_error(run):
    result = run("compare", "-", stdin=ew.to_json(ew.RandomizedResponse(epsilon=0.5)))
    assert result.code == 0
    assert "contour" in result.out
    assert "no answer" in result.out


def test_a_bug_shows_its_traceback(monkeypatch):
    def broken(*_arguments):
        raise ZeroDivisionError

    monkeypatch.setattr("edgeworth.cli.describe.from_flags", broken)
    monkeypatch.setattr("sys.argv", ["edgeworth", "compare", *RUN])
    with pytest.raises(ZeroDivisionError):
        application.main()
