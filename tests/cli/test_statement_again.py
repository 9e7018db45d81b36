"""The line that a statement prints for a shell gives the same statement, run by a shell."""

from __future__ import annotations

import json
import shlex
import subprocess

import pytest
from tests.cli.conftest import COMMAND

RUN = ["--noise-multiplier", "4", "--examples", "1000", "--batch-size", "30", "--epochs", "2", "--sampler", "shuffle"]
MECHANISM = ["--noise-multiplier", "0.8", "--rate", "256/50000", "--steps", "5000"]
STATEMENTS = {
    "a run": RUN,
    "a run at other deltas": [*RUN, "--delta", "1e-7", "--delta", "0.1"],
    "a group": [*RUN, "--group", "3"],
    "a mechanism": MECHANISM,
    "an estimate": [*MECHANISM, "--method", "edgeworth", "--degree", "3"],
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_the_same_statement_again(name, run):
    printed = run("statement", *STATEMENTS[name]).out
    _, document, _, *command = shlex.split(printed.splitlines()[-1])
    assert run(*command[1:], stdin=document).out == printed


@pytest.mark.parametrize("arguments", [RUN, MECHANISM])
def test_a_shell_computes_the_same_number_from_the_line_in_the_json(arguments, run, environment):
    told = json.loads(run("statement", *arguments, "--json").out)
    path = f"{COMMAND.parent}:{environment['PATH']}"
    again = subprocess.run(  # noqa: S602 - the line is for a shell
        f"{told['command']} --json", shell=True, capture_output=True, check=True, env=environment | {"PATH": path}
    )
    assert json.loads(again.stdout) == told
