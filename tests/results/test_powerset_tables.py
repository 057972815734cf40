"""The page of the powerset of AugMix's operations: parts that ran on two days, with two networks."""

import json

import pandas as pd
import pytest
from made_distances import make_distances, make_errors
from tool_modules import load_tool

from scuff.metrics import scheme_correlations

TOOL = load_tool("powerset_tables")


def leave(folder, part: str, **tables: pd.DataFrame) -> None:
    """A part of the study as its experiment leaves it."""
    run = folder / f"powerset-{part}"
    (run / "progress").mkdir(parents=True)
    for name, lines in tables.items():
        lines.to_csv(run / f"{name}.csv", index=False)
    (run / "distances.json").write_text(json.dumps({"environment": {"device": "a GPU"}}))
    (run / "progress" / "1.json").write_text(json.dumps({"seconds": 40.0, "cells": {"train": {"seconds": 30.0}}}))


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """To the features of the VGG, everything is half as far away. Two schemes have distances and no errors yet."""
    home = tmp_path_factory.mktemp("powerset")
    made = make_distances(subsets=18, named=())
    distances, errors = made.to_frame(), make_errors(made)
    leave(home / "day-0", "wide", distances=distances)
    leave(home / "day-1", "vgg", distances=distances.assign(msd=distances["msd"] / 2, mmd=9 - distances["mmd"]))
    for day, part in enumerate((made.schemes[:9], made.schemes[9:16])):
        lines = errors[errors["scheme"].isin(part)]
        near = distances[distances["scheme"].isin(part)].assign(msd=0.0)  # of too few draws, and not looked at
        leave(home / f"day-{day}", str(day), errors=lines, distances=near)
    with pytest.raises(SystemExit, match="for vgg"):
        TOOL.main(str(home / "day-0"), str(home / "powerset-cifar10.md"))
    TOOL.main(str(home / "day-1"), str(home / "powerset-cifar10.md"))
    finished = errors[errors["scheme"].isin(made.schemes[:16])]
    return (home / "powerset-cifar10.md").read_text(encoding="utf-8"), made, finished


def test_parts_are_joined(page):
    text, made, errors = page
    assert "16 subsets" in text
    assert text.count("| a GPU | 30 | 0 | 40 | 40 |") == 4
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
