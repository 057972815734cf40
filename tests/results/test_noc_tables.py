"""The page on the calibrated candidates of NOC: on made-up seeds, two of which run on another day."""

import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from made_overlaps import make_accuracies
from tool_modules import ROOT, load_tool

from scuff.design import find_nonoverlapping
from scuff.metrics import (
    Accuracies,
    agreement,
    balance,
    ce_table,
    overlaps,
    read_accuracies,
    read_overlaps,
    robustness_scores,
)

TOOL = load_tool("noc_tables")
TABLES = ROOT / "docs" / "results" / "noc-cifar10"
WHOLE = ("cifar10-noc8", "cifar10-c")


def save(table: Accuracies, folder) -> None:
    """A folder for each seed, as a study of calibrated candidates names its corruptions."""
    frame = table.to_frame()
    for column in ("trained_on", "tested_on"):
        frame[column] = frame[column].str.replace("noc-candidates/", "cifar10-noc/")
    for seed, lines in frame.groupby("seed"):
        run = folder / f"{folder.name}-{seed}"
        (run / "progress").mkdir(parents=True)
        lines.to_csv(run / "accuracies.csv", index=False)
        (run / "overlap.json").write_text(json.dumps({"environment": {"device": "a GPU"}}))
        if seed == 1:
            (run / "seconds.txt").write_text("10\n12\n")  # of two visits, beside another experiment
        for visit in (1, 2):
            cells = {"train": {"seconds": 30.2 * visit}, "test": {"seconds": 8.0}}
            (run / "progress" / f"{visit}.json").write_text(json.dumps({"seconds": 40.0, "cells": cells}))


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> tuple[str, Accuracies]:
    """Seeds 0 and 1, then seed 2 and another architecture in a folder of their own."""
    home = tmp_path_factory.mktemp("page")
    study = make_accuracies(seeds=3, images=300, whole=WHOLE)
    frame = study.to_frame()
    for day, seeds in ((home / "one" / "noc", [0, 1]), (home / "two" / "noc", [2])):
        save(read_accuracies(frame[frame["seed"].isin(seeds)]), day)
    save(make_accuracies(("noc-candidates",), images=300, first=1), home / "two" / "noc-densenet121_32")
    shutil.copytree(TABLES, home / "noc-cifar10", ignore=shutil.ignore_patterns("[!c]*.csv", "costs.csv"))
    for day in ("one", "two"):
        for made in (home / day).glob("*/*"):
            made.rename(home / day / made.name)
        TOOL.main(str(home / day), str(home / "noc-cifar10.md"))
    return (home / "noc-cifar10.md").read_text(encoding="utf-8"), read_accuracies(home / "noc-cifar10/accuracies.csv")


def rows(text: str, head: str) -> list[list[str]]:
    """The cells of the table below a heading of columns."""
    lines = text[text.index(f"| {head} |") :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_seeds_of_other_days_are_joined(page):
    assert page[1].seeds == (0, 1, 2)


def test_every_seed_and_the_mean_have_a_benchmark(page):
    text, study = page
    names = [name for name in study.corruptions if name.startswith("cifar10-noc/")]
    found = rows(text, "seed | corruptions | mean overlap | sets as large | of the paper's eight | the set")
    assert [row[0] for row in found] == ["seed 0", "seed 1", "seed 2", "the mean"]
    chosen = find_nonoverlapping(overlaps(study).take(names), 0.1)
    assert found[-1][1:4] == [str(len(chosen.members)), f"{chosen.mean_overlap:.3f}", str(chosen.largest_subsets)]
    assert found[-1][5] == ", ".join(name.split("/")[1] for name in chosen.members)


def test_calibration_is_by_robustness_scores(page):
    text, study = page
    found = {
        row[0]: float(row[4])
        for row in rows(
            text, "candidate | calibrated range | R at its ends | mean R as in the paper | mean R calibrated | remark"
        )
    }
    assert len(found) == 23
    assert list(found.values()) == sorted(found.values())
    assert found["rain"] == pytest.approx(robustness_scores(study).loc["standard", "cifar10-noc/rain"], abs=0.0051)


def test_claims_have_intervals_over_seeds(page):
    text, study = page
    found = {row[0]: row[2] for row in rows(text, "claim | the paper | here")}
    noc = balance(study, TOOL.EIGHT).range
    line = next(here for claim, here in found.items() if "range of mCE" in claim)
    assert line.startswith(f"{noc.value:.1f} [{noc.low:.1f}, {noc.high:.1f}] against ")
    within = next(here for claim, here in found.items() if "within itself" in claim)
    matrices = [overlaps(read_accuracies(study.to_frame().query("seed == @seed"))) for seed in study.seeds]
    assert f"NOC {np.mean([one.mean_overlap(TOOL.EIGHT) for one in matrices]):.2f} [" in within


def test_errors_stand_beside_the_papers_by_one_measure(page):
    text, study = page
    ours = ce_table(study, TOOL.FIFTEEN, ["all:cifar10-noc8"]).set_index("corruption")
    line = next(row for row in rows(text, "table | trained with | tested on | CE here | the paper") if row[2] == "fog")
    assert line[3].startswith(f"{ours.loc['cifar10-c/fog', 'value']:.0f} [")
    printed = pd.read_csv(TOOL.BEFORE / "published.csv", dtype={"table": str}).query("tested_on == 'cifar10-c/fog'")
    printed = printed.query("table == '1a'").set_index("trained_on")["printed"]
    assert line[4] == f"{100 * printed['all:imagenet-noc'] / printed['standard']:.0f}"


def test_another_architecture_is_compared_with_every_seed(page):
    columns = "correlation | mean difference | largest difference | same side of 0.1"
    found = rows(page[0], f"network | {columns} | corruptions | of the mean's | the set")
    assert [row[0] for row in found] == [*(f"ResNet-18, seed {k}" for k in range(3)), "DenseNet-121, seed 0"]
    names = [name for name in page[1].corruptions if name.startswith("cifar10-noc/")]
    alone = list(TOOL.by_seed(page[1].take(("standard", *names), ("clean", *names))).values())
    fits = [agreement(alone[0], other, 0.1) for other in alone[1:]]
    mean, low, high = map(float, re.fullmatch(r"(\S+) \[(\S+), (\S+)\]", found[0][1]).groups())
    assert mean == pytest.approx(np.mean([fit.pearson for fit in fits]), abs=0.005)
    assert low < mean < high
    assert found[0][2] == f"{np.mean([fit.mean_difference for fit in fits]):.2f}"
    assert found[0][3].startswith(f"{max(fit.largest_difference for fit in fits):.2f} (")


def test_the_interval_of_a_correlation_is_that_of_a_bootstrap_over_corruptions():
    """Of independent scores it holds 0; of the same scores, it is a point."""
    names = [f"a/{k}" for k in range(12)]
    draw = np.random.default_rng(0)

    def matrix():
        upper = np.triu(draw.random((12, 12)), 1)
        return read_overlaps(pd.DataFrame(upper + upper.T + np.eye(12), names, names))

    first, second = matrix(), matrix()
    assert TOOL.correlation(first, [first]) == "1.00 [1.00, 1.00]"
    value, low, high = map(float, re.findall(r"-?\d\.\d\d", TOOL.correlation(first, [second])))
    assert value == pytest.approx(agreement(first, second).pearson, abs=0.005)
    assert low < 0 < high


def test_visits_of_a_run_are_added_up(page):
    found = rows(page[0], "run | machine | training | testing | in all | of the device")
    spent = {"noc-0": "80", "noc-1": "22", "noc-2": "80", "noc-densenet121_32-0": "80"}
    assert found == [[name, "a GPU", "91", "16", "80", device] for name, device in spent.items()]
