"""`scuff validity`: what it prints, what it leaves, and how it fails."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import yaml
from made_validity import SCORE, make_correlations, make_searches, make_shifts
from typer.testing import CliRunner

from scuff.cli import app
from scuff.report.validity.scores import ValidityScores
from scuff.report.validity.tables import correlation_table, search_table
from scuff.report.validity.verdicts import trend_verdicts
from scuff.studies import read_validity
from scuff.studies.validity.study import read_pairs

MAPPING = {
    "unit": "percent",
    "clean": "val",
    "synthetic": {"made": "c.{corruption}.{severity}"},
    "natural": {"sketch": "sk", "photos": {"accuracy": "ph", "clean": "val-ph"}},
}
CATEGORIES = {"noise": ["shot", "iso", "speckle"], "blur": ["zoom", "motion", "glass"], "light": ["fog", "sun"]}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run `scuff validity ...` in a folder with a table, a mapping and categories."""
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    robust, clean = draw.normal(size=40), draw.uniform(60, 80, 40)
    table = {"model": [f"m{k}" for k in range(40)], "val": clean, "val-ph": clean + 5}
    for name in (name for members in CATEGORIES.values() for name in members):
        for level in (1, 2):
            table[f"c.{name}.{level}"] = clean - 20 * level + 3 * (robust + draw.normal(size=40))
    table |= {name: clean - 30 + 3 * (robust + draw.normal(size=40)) for name in ("sk", "ph")}
    frame = pd.DataFrame(table)
    frame.loc[[3, 4], "ph"] = np.nan
    frame.to_csv("table.csv", index=False)
    for name, content in (("mapping", MAPPING), ("categories", CATEGORIES)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    return lambda *arguments: CliRunner().invoke(app, ["validity", *map(str, arguments)])


def test_a_study_prints_tables_and_sentences_and_leaves_a_folder(run):
    done = run(
        *("table.csv", "--mapping", "mapping.yaml", "--categories", "categories.yaml", "--search", "2"),
        *("--pairs", "2,2 3,1", "--count", 40, "--resamples", 100, "--out", "out"),
    )
    assert done.exit_code == 0, done.output
    said = done.output
    assert "Models: 38 of 40\nLeft out: 2 (lacks natural:photos)\n" in said
    assert "Synthetic: made (8 corruptions)\n" in said
    assert "Groups of benchmarks: 2,2 3,1, about 40 of each" in said
    found = read_validity("out")
    mean = found.correlations.query("what == 'suite' and kind == 'pearson' and natural == 'mean'").iloc[0]
    assert f"{mean['value']:.2f} [{mean['low']:.2f}, {mean['high']:.2f}]" in said
    group = found.groups.query("group == '2,2' and natural == 'sketch'").iloc[0]
    assert f"{group['value']:.3f}" in said
    for words in (
        "given a curve in clean accuracy",
        "Pearson's correlation by category",
        "gain over random",
        "Imbalance: ",
    ):
        assert words in said
    assert "Single corruptions: " in said
    assert said.rstrip().endswith("Next: scuff report out")


def test_a_dry_run_says_what_would_be_done(run, tmp_path):
    done = run(
        "table.csv", "--mapping", "mapping.yaml", "--severity", "2", "--dry-run", "--out", "out", "--search", "3"
    )
    assert done.exit_code == 0, done.output
    assert "Search: the most predictive 3 of 8 corruptions" in done.output
    assert "Categories: " in done.output
    assert "To compute: " in done.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table.csv"], "needs a mapping that says what its columns mean"),
        (["table.csv", "--mapping", "nowhere.yaml"], "No such file or directory: nowhere.yaml"),
        (["table.csv", "--mapping", "mapping.yaml", "--pairs", "2"], "--pairs takes pairs of whole numbers"),
        (["table.csv", "--mapping", "mapping.yaml", "--search", "a"], "--search takes whole numbers"),
        (["table.csv", "--mapping", "mapping.yaml", "--search", "8", "--dry-run"], "number of candidates, 8; got 8"),
        (["table.csv", "--mapping", "mapping.yaml", "--severity", "3"], "has the severities 1, 2, not 3"),
        (["tabel.csv"], "there is no file or folder tabel.csv"),
        (
            ["table.csv", "--mapping", "mapping.yaml", "--seed", "-1"],
            "seed must be a whole number of at least 0, got -1",
        ),
        (["."], "folders of evaluations need natural benchmarks to be compared with"),
        ([".", "--natural", "."], ". is not the folder of an evaluation"),
    ],
)
def test_mistakes_are_one_line(run, arguments, message):
    done = run(*arguments, "--out", "out")
    assert done.exit_code == 2
    assert message in done.output
    assert len(done.output.strip().splitlines()) == 1


def test_suites_come_first_and_all_corruptions_last():
    shifts = make_shifts()
    table = correlation_table(ValidityScores(shifts, make_correlations(shifts))).to_terminal()
    assert [name.strip() for name in table.columns[0].cells][:3] == ["made-c", SCORE, "all corruptions"]


def test_searches_are_shown_on_both_sides_of_the_choice():
    shifts = make_shifts()
    table = search_table(ValidityScores(shifts, make_correlations(shifts), searches=make_searches())).to_terminal()
    shown = {column.header: next(iter(column.cells)).strip() for column in table.columns}
    assert shown["r on the choosing models"] == "0.79 [0.74, 0.84]"
    assert shown["r, held out"] == "0.76 [0.71, 0.81]"
    assert shown["gain over random"] == "+0.260 [+0.210, +0.310]"
    assert shown["gain over all"] == "+0.140 [+0.090, +0.190]"


def test_pairs_are_numbers_in_twos():
    assert read_pairs("6,1  4,3") == [(6, 1), (4, 3)]
    with pytest.raises(ValueError, match="as in '2,3 3,2'; got '2,3,4'"):
        read_pairs("2,3,4")


def test_trends_are_told_by_their_intervals():
    shifts = make_shifts()
    line = {"natural": "mean", "smaller": "all", "larger": "all", "difference": 0.01, "note": "n1 does not vary"}
    changes = {"n": (0.01, 0.001, 0.02), "size": (0.01, -0.1, 0.1), "std": (-0.01, -0.02, -0.001)}
    rows = [line | {"question": q, "difference": d, "low": low, "high": high} for q, (d, low, high) in changes.items()]
    trends = pd.DataFrame(rows)

    def said(table):
        verdicts = trend_verdicts(ValidityScores(shifts, make_correlations(shifts), trends=table))
        return [words.split(":")[0].split(",")[0] for _, words in verdicts]

    assert said(trends) == ["r rises", "r is not known to change with it", "r falls"]
    undefined = trends.assign(difference=np.nan, low=np.nan, high=np.nan)
    assert said(undefined) == ["no mean r is defined (n1 does not vary)."] * 3


def test_help_teaches_with_examples(run):
    said = run("--help").output
    assert "scuff validity table.csv --mapping mapping.yaml --out runs/valid" in said
    assert "synthetic: {imagenet-c:" in said
