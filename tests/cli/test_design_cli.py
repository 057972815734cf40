"""`scuff design`: what it prints, what it saves, and how it fails."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import yaml
from overlap_matrices import to_overlaps
from typer.testing import CliRunner

from scuff.cli import app
from scuff.design import Selection
from scuff.metrics import Accuracies, balance, coverage, load_reference, overlaps, read_accuracies
from scuff.report.overlap.designs import explain_selection, matrix_table
from scuff.suites import load_suite

ENTRIES = ("fog", "frost", "snow", "zoom_blur", "glass_blur", "shot_noise", "impulse_noise")
NAMES = tuple(f"imagenet-c/{entry}" for entry in ENTRIES)
KINDS = np.array([0, 0, 0, 1, 1, 2, 2])
pytestmark = pytest.mark.usefixtures("same_means")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run `scuff design ...` in an empty folder."""
    monkeypatch.chdir(tmp_path)
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


def test_matrices_of_every_threshold(run, accuracies):
    one = run("nonoverlapping", accuracies, "--matrices").stdout
    assert one.count("Overlaps of the benchmark at a threshold of") == 1
    assert "at a threshold of 0.1; above the diagonal" in one
    swept = run("nonoverlapping", accuracies, "--sweep", "--matrices").stdout
    assert swept.count("Overlaps of the benchmark at a threshold of") == 10
    assert "2 imagenet-c/" in swept


def test_overlaps_by_accuracy(run, accuracies):
    """The models of this table have the same clean accuracy, so that the choice stays, and the scores too."""
    assert run("nonoverlapping", accuracies, "--use", "accuracy").exit_code == 0
    assert_refused(run("nonoverlapping", accuracies, "--use", "error"), "use must be 'robustness' or 'accuracy'")
    assert_refused(run("categories", "matrix.csv", "--use", "accuracy"), "this is a matrix of overlaps already")


def test_a_small_matrix_has_intervals_above_its_diagonal():
    shares = [[0.9, 0.5, 0.6], [0.9, 0.8, 0.7], [0.9, 0.65, 0.8]]
    values = shares - 0.02 * np.random.default_rng(0).uniform(size=(3, 3, 3))
    found = overlaps(Accuracies(("standard", *NAMES[:2]), ("clean", *NAMES[:2]), values, (0, 1, 2)))
    (_, first, above), (_, below, _) = ([cell.text for cell in row] for row in matrix_table(found).rows)
    score = found.score(*NAMES[:2])
    assert (first, above) == ("1.00", f"{score.low:.2f} to {score.high:.2f}")
    assert below == f"{score.value:.2f}"


# --- assess -----------------------------------------------------------------------------------------------------------


def test_assess_says_how_complete_and_how_fair_a_benchmark_is(run, accuracies, tmp_path):
    as_json, as_csv = tmp_path / "x.json", tmp_path / "x.csv"
    names = [NAMES[0], NAMES[3]]
    result = run("assess", accuracies, "--benchmark", "fog,zoom_blur", "--json", as_json, "--csv", as_csv)
    assert result.exit_code == 0, result.output
    table = read_accuracies(tmp_path / accuracies)
    expected = balance(table, names)
    covered = coverage(overlaps(table), names, [name for name in NAMES if name not in names])
    assert f"the benchmark against imagenet-c   {covered['covered'].sum()} of 5" in result.stdout
    assert f"{expected.range.value:.1f}" in result.stdout
    numbers = json.loads(as_json.read_text())
    assert numbers["balance"]["the benchmark"]["std"]["value"] == pytest.approx(expected.std.value)
    errors = pd.read_csv(as_csv)
    mean = errors[errors["corruption"] == "all"].set_index("model")["value"]
    assert mean.drop("standard").to_dict() == pytest.approx(expected.mces)
    against = run("assess", accuracies, "--benchmark", "fog,zoom_blur", "--baseline", NAMES[1])
    assert f"mCE against the model of {NAMES[1]} of the table" in against.stdout
    assert "imagenet-c against" not in run("assess", accuracies).stdout  # there is nothing that it does not hold


def test_assess_with_a_published_reference_and_with_a_model_of_a_whole_benchmark(run, accuracies, tmp_path):
    table = read_accuracies(tmp_path / accuracies)
    values = np.concatenate([table.values, table.values[:, 1:2]], axis=1)
    values[0, -1, 1:] = 0.5 + np.where(np.arange(7) < 4, 0.1, -0.1)
    table = Accuracies((*table.trained_on, "all:imagenet-c-bar"), table.tested_on, values)
    table.to_frame().to_csv(tmp_path / "whole.csv", index=False)
    result = run("assess", "whole.csv", "--baseline", "alexnet")
    assert result.exit_code == 0, result.output
    expected = balance(table, NAMES, load_reference("alexnet", "imagenet-c"))
    assert f"{expected.std.value:.1f}" in result.stdout
    assert "raises robustness to 4 of 7 corruptions; there are no intervals" in result.stdout
    paper = run("assess", "whole.csv", "--as-paper").stdout
    assert "helped against 4 of 7 corruptions and harmed 3 (counted by the sign of the difference, as in" in paper
    seeds = Accuracies(table.trained_on, table.tested_on, np.concatenate([values, values - 0.001, values]), (0, 1, 2))
    seeds.to_frame().to_csv(tmp_path / "seeds.csv", index=False)
    by_intervals = run("assess", "seeds.csv").stdout
    assert "helped against 4 of 7 corruptions and harmed 3 (95 % intervals exclude 0)" in by_intervals


def test_assess_refuses_what_it_cannot_measure(run, accuracies):
    assert_refused(run("assess", "matrix.csv"), "needs the columns trained_on, tested_on, accuracy")
    assert_refused(run("assess", accuracies, "--baseline", "vgg"), "no reference is called 'vgg'", "standard")
    assert_refused(run("assess", accuracies, "--benchmark", "dew"), "no corruption or suite 'dew' here")
    assert_refused(run("assess", accuracies, "--baseline", "resnet50"), "relative to resnet50; take another --baseline")


def test_assess_writes_what_there_is_without_corruption_errors(run, accuracies, tmp_path):
    options = ["--benchmark", "fog,zoom_blur", "--baseline", "resnet50", "--json", tmp_path / "x.json"]
    assert_refused(run("assess", accuracies, *options), "no benchmark here has corruption errors")
    numbers = json.loads((tmp_path / "x.json").read_text())
    assert len(numbers["coverage"]["the benchmark against imagenet-c"]) == 5
    assert numbers["balance"] == {}
    assert "errors" not in numbers


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
