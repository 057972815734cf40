"""What follows from the options of a study: its command, the options in its settings, and the "same again" line."""

from __future__ import annotations

import dataclasses
import shlex
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from scuff import options as kinds
from scuff.cli import app
from scuff.options import AS_IN_PYTHON, REQUIRED, command_defaults, options_of
from scuff.studies import adaptation as adaptation_study
from scuff.studies.base import Study, again, join
from scuff.studies.overlap.study import OverlapStudy
from scuff.studies.validity import study as validity_study

EXAMPLES = {
    kinds.TEXT: "word",
    kinds.WHOLE: 3,
    kinds.NUMBER: 0.25,
    kinds.SWITCH: True,
    kinds.WORDS: ["fog", "cifar10-c/snow"],
    kinds.WHOLES: [1, 3],
    kinds.NUMBERS: [0.5, 0.25],
    kinds.REPEATED: ["first", "second"],
    kinds.SEEDS: [3, 7],
    kinds.SCHEMES: ["augmix", "randaugment:count=3,level=4"],
    adaptation_study.NUMBER_OR_MEASURED: 2.5,
    validity_study.NATURAL_FOLDERS: ["v2=runs/v2", "runs/a,runs/val-a"],
    validity_study.PAIRS_OF_NUMBERS: [[2, 3], [3, 2]],
}


def all_studies(base: type = Study) -> list[type[Study]]:
    """Every study that has a command."""
    below = [study for child in base.__subclasses__() for study in all_studies(child)]
    return ([base] if "command" in base.__dict__ else []) + below


STUDIES = sorted(all_studies(), key=lambda study: study.command)


def parse(line: str, monkeypatch: pytest.MonkeyPatch) -> Study:
    """The study that a command line makes, without running it."""
    made: list[Study] = []

    def plan(study: Study) -> None:
        made.append(study)
        raise typer.Exit

    monkeypatch.setattr(Study, "plan", plan)
    result = CliRunner().invoke(app, shlex.split(line)[1:], catch_exceptions=False)
    assert made, result.output
    return made[0]


def example_options(study: type[Study], **others: Any) -> dict[str, Any]:
    """A value other than the default for every option that has a kind."""
    named = {name: option.kind for name, option in options_of(study).items() if option.kind is not None}
    return {**{name: EXAMPLES[kind] for name, kind in named.items()}, **others}


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.command)
def test_the_same_again_makes_the_same_study(study, monkeypatch):
    options = study(**example_options(study)).options()
    assert set(options) == {name for name, option in options_of(study).items() if option.kind is not None}
    line = again(study, options, "word")
    assert line.notes == ()
    same = parse(line.words, monkeypatch)
    assert type(same) is study
    assert same.options() == options


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.command)
def test_what_is_left_out_is_left_out_again(study, monkeypatch):
    """The options that a command requires, and no others."""
    required = [name for name, default in command_defaults(study).items() if default is REQUIRED]
    examples = example_options(study)
    options = study(**{name: examples[name] for name in python_required(study) | set(required)}).options()
    same = parse(again(study, options, "word").words, monkeypatch)
    assert same.options() == options | ({"out": "word"} if "out" in options_of(study) else {})


def python_required(study: type[Study]) -> set[str]:
    """The options without a default in Python; the command may have one."""
    return {field.name for field in dataclasses.fields(study) if field.default is REQUIRED}


@pytest.mark.parametrize(
    ("seeds", "written"), [([3, 7], "3,7"), ([0, 1], "2"), (2, "2"), ([5], "5,"), ([7], "7,"), ([1, 0], "1,0")]
)
def test_seeds_are_named(seeds, written, monkeypatch):
    """A study of the seeds 3 and 7 is not one of two seeds."""
    study = OverlapStudy("cifar10-c", "fashion", "runs/a", recipe="fashion", seeds=seeds)
    line = again(OverlapStudy, study.options(), "runs/a").words
    assert f"--seeds {written}" in line
    again_seeds = parse(line, monkeypatch).seeds
    numbered = [list(range(given)) if isinstance(given, int) else given for given in (seeds, again_seeds)]
    assert numbered[0] == numbered[1]


def test_one_seed_is_not_written():
    study = OverlapStudy("cifar10-c", "fashion", "runs/a", recipe="fashion")
    assert again(OverlapStudy, study.options(), "runs/b").words == (
        "scuff overlap cifar10-c --data fashion --out runs/b --recipe fashion"
    )


def test_objects_are_noted(monkeypatch):
    study = OverlapStudy("cifar10-c", object(), "runs/a", recipe="fashion")
    line = again(OverlapStudy, study.options(), "runs/a")
    assert "--data object" in line.words
    assert line.notes == ("Given as Python objects, so put files or addresses in their place: object.",)


def test_seeds_of_two_runs_join():
    assert join(2, [3, 7]) == [0, 1, 3, 7]
    assert join([3], [7]) == [3, 7]
    assert join({"a": 1}, {"b": 2}) == {"a": 1, "b": 2}


def test_a_command_may_have_another_default(monkeypatch):
    from scuff.studies.calibration.study import CalibrationStudy

    assert options_of(CalibrationStudy)["suite"].command_default == "noc-candidates"
    assert options_of(CalibrationStudy)["data"].command_default is AS_IN_PYTHON
    study = parse("scuff design calibrate net.pt --data fashion --out a.yaml", monkeypatch)
    assert study.suite == "noc-candidates"
    result = CliRunner().invoke(app, ["design", "calibrate", "net.pt", "--data", "fashion"])
    assert result.exit_code == 2
    assert "--out" in result.output
