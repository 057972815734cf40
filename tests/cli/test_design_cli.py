"""`scuff design`: what it prints, what it saves, and how it fails."""

from __future__ import annotations

import json

import numpy as np
import pytest
import typer
import yaml
from overlap_matrices import to_overlaps
from typer.testing import CliRunner

from scuff.cli import Verbs
from scuff.cli.design import design_app
from scuff.design import Selection
from scuff.metrics import Accuracies, overlaps
from scuff.report.overlap.designs import explain_selection
from scuff.suites import load_suite

ENTRIES = ("fog", "frost", "snow", "zoom_blur", "glass_blur", "shot_noise", "impulse_noise")
NAMES = tuple(f"imagenet-c/{entry}" for entry in ENTRIES)
KINDS = np.array([0, 0, 0, 1, 1, 2, 2])


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run `scuff design ...` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    app = typer.Typer(cls=Verbs, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.add_typer(design_app, name="design")
    return lambda *arguments: CliRunner().invoke(app, ["design", *map(str, arguments)])


@pytest.fixture
def accuracies(tmp_path):
    """A CSV file: training with a corruption gives 0.3, with another of its kind 0.24, else nothing but noise."""
    same = KINDS[:, None] == KINDS
    gains = np.where(same, 0.24, np.random.default_rng(0).uniform(-0.01, 0.02, same.shape))
    np.fill_diagonal(gains, 0.3)
    values = np.full((1, 8, 8), 0.9)
    values[0, :, 1:] = 0.5
    values[0, 1:, 1:] += gains
    table = Accuracies(("standard", *NAMES), ("clean", *NAMES), values)
    table.to_frame().to_csv(tmp_path / "accuracies.csv", index=False)
    overlaps(table).save(tmp_path / "matrix.csv")
    return "accuracies.csv"


def assert_refused(result, *words: str) -> None:
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    for word in words:
        assert word in line


# --- nonoverlapping -------------------------------------------------------------------------------------------------


def test_nonoverlapping(run, accuracies):
    result = run("nonoverlapping", accuracies, "--out", "mine.yaml")
    assert result.exit_code == 0, result.output
    assert "3 corruptions overlap less than 0.1; mean overlap 0.0" in result.stdout
    assert "Of 12 sets as large, none overlaps less." in result.stdout
    suite = load_suite("mine.yaml")
    assert suite.name == "mine"
    assert len(suite.entries) == 3
    assert len({KINDS[ENTRIES.index(entry)] for entry in suite.entries}) == 3
    assert all(f"imagenet-c/{entry}" in result.stdout for entry in suite.entries)


def test_a_matrix_gives_the_same_as_its_accuracies(run, accuracies):
    """But for intervals, which a file of accuracies of one seed does not have either."""
    assert run("nonoverlapping", "matrix.csv").stdout == run("nonoverlapping", accuracies).stdout


def test_sweep(run, accuracies):
    lines = run("nonoverlapping", accuracies, "--sweep", "--threshold", 0.9).stdout.splitlines()
    rows = [line.split() for line in lines if line.strip().startswith("0.")]
    assert [row[0] for row in rows] == ["0.05", "0.1", "0.15", "0.2", "0.25", "0.3", "0.35", "0.4", "0.45", "0.5"]
    assert {row[1] for row in rows[1:]} == {"3"}
    assert "7 corruptions overlap less than 0.9" in "\n".join(lines)


def test_a_suite_of_your_own(run, tmp_path):
    entries = {"mist": {"corruption": "fog", "strength": 1.0, "decay": 2.0}, "dim": {"corruption": "contrast"}}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump({"suite": "own", "version": 1, "size": 64, "entries": entries}))
    to_overlaps(np.full((2, 2), 0.01), ["own/mist", "own/dim"]).save(tmp_path / "matrix.csv")
    assert_refused(run("nonoverlapping", "matrix.csv", "--out", "new.yaml"), "no suite is called 'own'")
    result = run("nonoverlapping", "matrix.csv", "--out", "new.yaml", "--suite", "own.yaml", "--name", "mine")
    assert result.exit_code == 0, result.output
    assert load_suite("new.yaml").entries["mist"] == entries["mist"]
    assert load_suite("new.yaml").name == "mine"


def test_explanations():
    """What is bounded is said."""
    found = Selection(
        ("a/fog", "a/rain"), 0.1, 0.05, 10_000, (("a/fog", "a/hail"),), False, False, {"a/dew": "too weak"}
    )
    text = "\n".join(explain_selection(found))
    assert "More than 10000 sets are as large: too many to prove that none overlaps less" in text
    assert "As low is the mean of 1 others; the first: fog, hail." in text
    assert "Left out: a/dew. Too weak." in text
    proven = Selection(("a/fog", "a/rain"), 0.1, 0.05, 10_000, (("a/fog", "a/hail"),) * 100, False)
    text = "\n".join(explain_selection(proven))
    assert "Of more than 10000 sets as large, none overlaps less." in text
    assert "at least 100 others" in text
    assert "No two corruptions overlap less" in "\n".join(explain_selection(Selection(("a/fog",), 0.1, np.nan, 3)))
    assert "No other set is as large." in list(explain_selection(Selection(("a/fog", "a/rain"), 0.1, 0.05, 1)))


# --- categories and balanced ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["found.json", "found.yaml"])
def test_categories(run, accuracies, tmp_path, file):
    result = run("categories", accuracies, "--out", file)
    assert result.exit_code == 0, result.output
    assert "3 categories. Overlaps correlate by" in result.stdout
    assert yaml.safe_load((tmp_path / file).read_text()) == {
        "1": list(NAMES[:3]),
        "2": list(NAMES[3:5]),
        "3": list(NAMES[5:]),
    }


def test_categories_that_do_not_exist(run, tmp_path):
    to_overlaps(np.zeros((4, 4))).save(tmp_path / "matrix.csv")
    assert "No two corruptions correlate by more than 0.5" in run("categories", "matrix.csv").stdout


def test_balanced(run, accuracies, tmp_path):
    result = run("balanced", accuracies, "--n", 3, "--k", 2, "--out", "mine.yaml")
    assert result.exit_code == 0, result.output
    suite = load_suite("mine.yaml")
    assert list(map(len, suite.categories.values())) == [2, 2, 2]
    assert set(suite.categories) == {"1", "2", "3"}
    renamed = {"weather": list(NAMES[:3]), "blur": list(NAMES[3:5])}
    (tmp_path / "named.yaml").write_text(yaml.safe_dump(renamed))
    assert (
        run("balanced", accuracies, "--n", 2, "--k", 2, "--categories", "named.yaml", "--out", "b.yaml").exit_code == 0
    )
    assert list(load_suite("b.yaml").categories) == ["blur", "weather"]  # as in the file, which yaml sorts


def test_balanced_draws(run, accuracies, tmp_path):
    result = run("balanced", accuracies, "--n", 2, "--k", 1, "--count", 15, "--seed", 3, "--out", "drawn.json")
    assert result.exit_code == 0, result.output
    assert "10 of the 15 benchmarks drawn, out of 16 possible." in result.stdout
    drawn = json.loads((tmp_path / "drawn.json").read_text())
    assert len({tuple(benchmark) for benchmark in drawn}) == 15
    assert all(len(benchmark) == 2 for benchmark in drawn)
    again = run("balanced", accuracies, "--n", 2, "--k", 1, "--count", 15, "--seed", 3, "--out", "again.json")
    assert again.exit_code == 0
    assert (tmp_path / "again.json").read_text() == (tmp_path / "drawn.json").read_text()
    assert_refused(run("balanced", accuracies, "--n", 2, "--k", 1, "--count", 17), "there are 16 different (2, 1)")


# --- mistakes -------------------------------------------------------------------------------------------------------


def test_mistakes(run, accuracies, tmp_path):
    assert_refused(run("nonoverlapping", "nothing.csv"), "nothing.csv")
    assert_refused(
        run("nonoverlapping", accuracies, "--out", "mine.txt"), "--out must end in .yaml or .yml, got mine.txt"
    )
    assert_refused(run("nonoverlapping", accuracies, "--threshold", 0), "must be a number above 0")
    assert_refused(run("categories", accuracies, "--out", "x.csv"), ".json or .yaml")
    assert_refused(
        run("balanced", accuracies, "--n", 4, "--k", 2), "there are 3 (members by category: 1: 3, 2: 2, 3: 2)"
    )
    assert_refused(run("balanced", accuracies, "--n", 3, "--k", 1), "take k >= 2")
    (tmp_path / "list.yaml").write_text("[fog, rain]")
    assert_refused(
        run("balanced", accuracies, "--n", 1, "--k", 2, "--categories", "list.yaml"), "must map categories to lists"
    )
    (tmp_path / "half.csv").write_text("trained_on,accuracy\nstandard,0.5\n")
    assert_refused(run("nonoverlapping", "half.csv"), "missing: tested_on")
    (tmp_path / "odd.csv").write_text(",a/fog,a/rain\na/fog,1,0.2\na/rain,0.3,1\n")
    assert_refused(run("nonoverlapping", "odd.csv"), "is not the same the other way round")


@pytest.mark.parametrize("command", ["nonoverlapping", "categories", "balanced"])
def test_help_has_examples(run, command):
    text = run(command, "--help").stdout
    assert f"scuff design {command} runs/noc" in text


def test_only_some_corruptions_or_suites(run, accuracies):
    result = run("nonoverlapping", accuracies, "--only", "fog,imagenet-c/frost,zoom_blur")
    assert result.exit_code == 0, result.output
    assert "2 corruptions overlap less than 0.1" in result.stdout
    assert "snow" not in result.stdout
    whole, suite = (run("nonoverlapping", accuracies, *more) for more in ((), ("--only", "imagenet-c")))
    assert whole.stdout == suite.stdout
    assert_refused(run("categories", accuracies, "--only", "fgo"), "no corruption or suite 'fgo'", "imagenet-c/fog")
