"""What is concluded from rows: false claims, widths, ratios, promises kept."""

from __future__ import annotations

import dataclasses
import doctest
import json

import pytest
from benchmarks import __main__, calibration, picture, readme, tables
from benchmarks.calibration import Calibration
from benchmarks.cases import CASES, HEADLINE, LONG, LONG_AS_SHORT, MANY_PHASES, gaussian
from benchmarks.measure import Row
from benchmarks.packages import BY_NAME, ESTIMATES, OURS, PEERS, PLD, RDP
from benchmarks.results import Results
from benchmarks.targets import Target, targets

PRV = PEERS[1]
CASE = gaussian(1.0, 1, 1e-5)


def row(package, case=CASE, lower=None, value=None, upper=None, first=1.0, **more):
    return Row(case.name, case.delta, package.name, more.pop("status", ""), lower, value, upper, first, **more)


def results(*rows):
    about = {name: {"version": "1", "settings": "none"} for name in BY_NAME}
    return Results("2026-01-01", "make bench", "a machine", about, rows)


TRUTH = row(OURS, lower=2.0, value=2.01, upper=2.02, first=0.5)


def test_json_and_back():
    run = results(TRUTH, row(PLD, value=3.0, upper=3.0))
    assert Results.from_json(run.to_json()) == run
    assert json.loads(run.to_json())["format"] == "edgeworth-benchmarks"


CALIBRATIONS = (
    Calibration(calibration.OURS, 0.8268, 3.0, 0.05),
    Calibration(calibration.PLD, 0.8269, 2.9996, 13.0),
    Calibration(calibration.PRV, None, None, 240.0),
)


def test_calibrations_are_kept_shown_and_judged():
    run = dataclasses.replace(results(TRUTH), calibrations=CALIBRATIONS)
    assert Results.from_json(run.to_json()) == run
    assert run.calibration(calibration.PLD) is CALIBRATIONS[1]
    shown = tables.calibrations(run)
    assert [row["times ours"] for row in shown] == ["1", "2.6e+02", "4.8e+03"]
    assert shown[2]["noise multiplier"] == "> 240 s"
    ratios = {target.what: target.measured for target in targets(run) if target.what.startswith("noise multiplier")}
    assert ratios == {
        "noise multiplier from its target: dp-accounting PLD / edgeworth": pytest.approx(260, rel=1e-12),
        "noise multiplier from its target: Opacus PRV / edgeworth": pytest.approx(4800, rel=1e-12),
    }
    assert calibration.TITLE in readme.calibrations(run)


def test_without_calibrations_nothing_is_said_of_them():
    run = results(TRUTH)
    assert "calibrations" not in json.loads(run.to_json())
    assert readme.calibrations(run) == ""
    assert not [target for target in targets(run) if "noise multiplier" in target.what]


def test_another_format_is_refused():
    text = json.dumps({"format": "edgeworth-benchmarks", "version": 0})
    with pytest.raises(ValueError, match=r"format, version = \('edgeworth-benchmarks', 0\) is not .* run `make bench`"):
        Results.from_json(text)


@pytest.mark.parametrize(
    ("claim", "false", "excess", "width"),
    [
        (row(PLD, upper=2.52), False, 0.5, 0.52),
        (row(PLD, upper=2.01), False, 0.0, 0.01),  # inside the certified bracket: nothing is known
        (row(PLD, upper=1.75), True, -0.25, 0.25),
        (row(PRV, lower=1.5, upper=2.52), False, 0.5, 1.02),
        (row(PRV, lower=2.25, upper=2.52), True, 0.5, 0.27),
    ],
)
def test_claims_against_the_certified_bracket(claim, false, excess, width):
    run = results(TRUTH, claim)
    assert run.false_claim(claim) is false
    assert run.excess(claim) == pytest.approx(excess, rel=1e-9)
    assert run.width(claim) == pytest.approx(width, rel=1e-9)


def test_without_a_certified_bracket_nothing_is_concluded():
    claim = row(PLD, upper=1.0)
    run = results(row(OURS, status="ValueError: no"), claim)
    assert (run.false_claim(claim), run.excess(claim), run.width(claim)) == (False, None, None)


def test_the_comparison_shows_false_claims_and_ratios():
    run = results(TRUTH, row(PLD, value=1.75, upper=1.75, memory=12.34), row(RDP, status="> 120 s", first=None))
    ours, wrong, late = tables.comparison(run)
    assert (ours["claims"], ours["upper - truth"], ours["times ours"]) == ("[2, 2.02]", "width 2e-02", "1")
    assert (wrong["claims"], wrong["upper - truth"], wrong["times ours"]) == ("<= 1.75", "FALSE -2.5e-01", "2")
    assert (wrong["MB"], wrong["first"]) == ("12.3", "1 s")
    assert (late["answer"], late["first"], late["times ours"]) == ("> 120 s", "", "")


def test_the_estimates_get_a_verdict():
    clt, second, fourth, saddle = ESTIMATES
    run = results(TRUTH, row(clt, value=1.8), row(second, value=2.015), row(saddle, value=2.0101, first=0.002))
    (found,) = tables.estimates(run)
    assert found["within 1 %"] == "edgeworth 2, saddlepoint 2"
    assert (found["clt"], found["saddlepoint 2"], found[fourth.name]) == ("-1e-01, 1 s", "+5e-05, 2 ms", "")


def test_no_estimate_may_be_good_enough():
    (found,) = tables.estimates(results(TRUTH, row(ESTIMATES[0], value=1.8)))
    assert found["within 1 %"] == "none"


@pytest.mark.parametrize(
    ("target", "met"),
    [
        (Target("", 50.4, 50, at_least=True), True),
        (Target("", 49.4, 50, at_least=True), False),
        (Target("", 1.04, 1, at_least=False), True),  # two digits: 1.0
        (Target("", 1.06, 1, at_least=False), False),
        (Target("", 2e-9, 1e-9, at_least=False), False),
    ],
)
def test_a_target_is_met_or_missed(target, met):
    assert target.met is met


def test_the_promises_are_ratios_of_first_readings():
    def ours(case, first, **more):
        return row(OURS, case, 1.0, 1.0, 1.0 + 1e-12, first, memory=3.0, **more)

    run = results(
        ours(HEADLINE, 0.002, second=0.001),
        row(PLD, HEADLINE, first=0.6),
        row(PRV, HEADLINE, first=0.14),
        row(RDP, HEADLINE, first=0.016),
        row(OURS, HEADLINE, first=0.01, points=1000),
        ours(MANY_PHASES, 1.0),
        row(PLD, MANY_PHASES, status="> 120 s", first=None),
        ours(LONG, 0.003),
        ours(LONG_AS_SHORT, 0.002),
    )
    found = [(target.measured, target.met) for target in targets(run)]
    wanted = [
        (70, True),
        (8, True),
        (140, True),
        (16, False),
        (5, True),
        (120, True),
        (1.5, False),
        (0, True),
        (3, True),
        (1, True),
    ]
    for (measured, met), (value, verdict) in zip(found, [*wanted, (1e-12, True)], strict=True):
        assert measured == pytest.approx(value, rel=1e-3)
        assert met is verdict


def test_a_case_without_an_answer_is_a_broken_promise():
    broken = targets(results(TRUTH, row(OURS, HEADLINE, status="> 120 s", first=None)))
    found = {target.what.partition(": ")[2]: (target.measured, target.met) for target in broken}
    assert found["cases without an answer"] == (1, False)
    assert found["longest first reading, s"] == (120, False)


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        ((), "one fresh process each"),
        ((1, 1), "one fresh process each"),
        ((7, 3, 3, 1), "the best of 1 or 3 or 7 fresh processes"),
    ],
)
def test_how_often_is_what_the_rows_say(runs, told):
    assert results(*(row(OURS, runs=count) for count in runs)).repeated == told


@pytest.mark.parametrize(("runs", "told"), [((1, 1), "one process each"), ((7, 2), "the best of 2 or 7 processes")])
def test_forked_processes_are_told(runs, told):
    some = [row(OURS, runs=count, forked=count < 7) for count in runs]
    assert results(*some).repeated == f"{told}, forked after the imports or, where a ratio is promised, fresh"


@pytest.mark.parametrize(
    ("part", "runs", "told"),
    [("", None, "make bench"), ("n 5000", 1, "python -m benchmarks --case 'n 5000' --runs 1")],
)
def test_the_command_gives_the_same_rows_again(part, runs, told):
    assert __main__.command(part, runs) == told


def test_a_case_without_estimates_is_not_judged():
    assert tables.estimates(results(TRUTH)) == []


def test_nothing_measured_nothing_judged():
    assert targets(results()) == []


def test_the_picture_has_a_point_a_width(tmp_path):
    run = results(TRUTH, row(PLD, upper=1.75), row(PRV, lower=1.0, upper=3.0), row(RDP, status="> 120 s", first=None))
    found = [(point.package, point.kind) for point in picture.points(run)]
    assert found == [(OURS.name, "bracket"), (PLD.name, "false"), (PRV.name, "bracket")]
    picture.draw(run, tmp_path / "bench.png")
    assert (tmp_path / "bench.png").read_bytes().startswith(b"\x89PNG")


def test_every_case_is_put_to_every_package():
    asked = {
        (case.title, package.name) for packages, case, points in __main__.jobs("") for package in packages if not points
    }
    assert {(case.title, package.name) for case in CASES for package in (OURS, *PEERS, *ESTIMATES)} <= asked


def test_a_part_of_a_title_chooses_cases():
    assert {case.name for _, case, _ in __main__.jobs("n 5000,")} == {HEADLINE.name}


def test_a_text_that_no_title_has_is_refused_with_titles_that_there_are(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sys.argv", ["benchmarks", "--case", "Cauchy", "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit) as refused:
        __main__.main()
    said = capsys.readouterr()
    assert (refused.value.code, said.out) == (2, "")
    assert said.err.endswith(
        "error: --case 'Cauchy' is in none of the 43 titles; give a part of one, such as Gaussian 1, n 1, delta 1e-05; "
        "SGD 0.8, 256/50000, n 1000, delta 1e-12; SGD 1, 0.01, n 10000, delta 1e-10; "
        "Laplace 3/sqrt(n), n 10, delta 1e-05\n"
    )
    assert not (tmp_path / "out").exists()


def test_examples():
    assert doctest.testmod(tables) == (0, 1)
