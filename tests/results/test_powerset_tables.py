"""The page of the powerset of AugMix's operations: parts that ran on two days, with two networks."""

import json

import pandas as pd
import pytest
from made_distances import make_distances, make_errors
from tool_modules import load_tool

from scuff.metrics import scheme_correlations

TOOL = load_tool("powerset_tables")


def save(folder, part: int, distances: pd.DataFrame, errors: pd.DataFrame) -> None:
    """A part of the study as it is left: the features of the VGG see everything half as far away."""
    run = folder / f"msd-{part}"
    for place in (run / "progress", run / "vgg"):
        place.mkdir(parents=True)
    distances.to_csv(run / "distances.csv", index=False)
    distances.assign(msd=distances["msd"] / 2, mmd=9 - distances["mmd"]).to_csv(
        run / "vgg" / "distances.csv", index=False
    )
    errors.to_csv(run / "errors.csv", index=False)
    (run / "distances.json").write_text(json.dumps({"environment": {"device": "a GPU"}}))
    (run / "progress" / "1.json").write_text(json.dumps({"seconds": 40.0, "cells": {"train": {"seconds": 30.0}}}))


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    home = tmp_path_factory.mktemp("powerset")
    made = make_distances(subsets=16, named=())
    distances, errors = made.to_frame(), make_errors(made)
    for day, part in enumerate((made.schemes[:9], made.schemes[9:])):
        save(home / f"day-{day}", day, *(lines[lines["scheme"].isin(part)] for lines in (distances, errors)))
        TOOL.main(str(home / f"day-{day}"), str(home / "powerset-cifar10.md"))
    return (home / "powerset-cifar10.md").read_text(encoding="utf-8"), made, errors


def test_parts_are_joined(page):
    text, made, errors = page
    assert "16 subsets" in text
    assert text.count("| a GPU | 30 | 0 | 40 |") == 2
    line = next(line for line in text.splitlines() if line.startswith("| fog |"))
    ours = scheme_correlations(made, errors, distance="msd").set_index("corruption").loc["cifar10-c/fog"]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    same = f"{ours.rho:.2f} [{ours.low:.2f}, {ours.high:.2f}]"
    assert cells[1:5] == [same, "0.68", same, "0.60"]  # half of all distances: the same order
    mmd = scheme_correlations(made, errors, distance="mmd").set_index("corruption").loc["cifar10-c/fog"]
    assert cells[5] == f"{mmd.rho:.2f} [{mmd.low:.2f}, {mmd.high:.2f}]"


def test_networks_differ_where_their_distances_do(page):
    wide, vgg = (line.split("|") for line in page[0].splitlines() if line.startswith(("| WideResNet", "| VGG")))
    assert wide[2] == vgg[2]
    assert wide[5] != vgg[5]  # where MMD is the less, the greater it is here
    assert "the paper has 12 and 10 above 0.6" in page[0]
