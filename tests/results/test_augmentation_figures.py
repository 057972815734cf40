"""The page of figures 1, 2b, 8 and 10 of the paper on augmentations, from made-up runs."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tool_modules import load_tool

from scuff.suites import load_suite

TOOL = load_tool("augmentation_figures")
OPERATIONS = (*TOOL.GEOMETRIC, *TOOL.COLOUR)
GAINS = dict(zip(OPERATIONS, (-6, -4, -5, -3, -2, 1, 0, 2, 1), strict=True))  # points; geometric -4, colour +1


def save(folder, name: str, **tables: pd.DataFrame) -> None:
    (folder / name / "progress").mkdir(parents=True)
    settings = {"environment": {"device": "a GPU"}, "images": 100, "samples": 90, "precision": "float16"}
    (folder / name / "distances.json").write_text(json.dumps(settings))
    cells = {"train": {"seconds": 30.0}, "scheme": {"seconds": 4.0}}
    (folder / name / "progress" / "1.json").write_text(json.dumps({"seconds": 40.0, "cells": cells}))
    for file, table in tables.items():
        table.to_csv(folder / name / f"{file}.csv", index=False)


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> str:
    runs = tmp_path_factory.mktemp("figures")
    schemes = ["none", *OPERATIONS]
    errors = [
        {"scheme": f"powerset:{name}", "seed": seed, "corruption": f"c/{kind}", "severity": level,
         "error": (40 + seed + GAINS.get(name, 0) + level - 2) / 100}
        for name in schemes for seed in (0, 1, 2) for kind, level in (("motion_blur", 1), ("motion_blur", 3))
    ]  # fmt: skip
    errors += [
        {"scheme": f"powerset:{name}", "seed": 0, "corruption": "clean", "severity": 0, "error": 0.9}
        for name in schemes
    ]
    near = pd.DataFrame({"scheme": [f"powerset:{name}" for name in schemes], "severity": 1, "msd": np.arange(10.0)})
    save(runs, "single", errors=pd.DataFrame(errors), distances=near)
    shares = pd.DataFrame({"share": [0, 0.5, 1], "mmd": [1.0, 2.5, 3.0], "msd": [0.2, 0.2, 2.0], "seed": 0})
    save(runs, "mixing", mixing=shares.assign(error=[0.1, 0.11, 0.6], clean_error=0.1))
    sizes = [("all", 0, 20.0), ("closest", 100, 19.0), ("random", 100, 22.0), ("farthest", 100, 25.0)]
    rows = [(kind, size, seed, 0.1, (error + seed) / 100) for kind, size, error in sizes for seed in (0, 1)]
    save(runs, "subsets", subsets=pd.DataFrame(rows, columns=["kind", "size", "seed", "clean_error", "error"]))
    moved = {("a", 1): (9.0, 10, 11), ("b", 1): (20, 20, 20), ("a", 3): (8, 10, 12), ("b", 3): (4, 5, 6)}
    again = pd.DataFrame(
        [
            {"resampling": k, "scheme": scheme, "corruption": "c/fog", "severity": level, "mmd": mmd}
            for (scheme, level), values in moved.items()
            for k, mmd in enumerate(values)
        ]
    )
    save(runs, "precision", distances=again)
    TOOL.main(str(runs), str(runs / "page.md"))
    return " ".join((runs / "page.md").read_text(encoding="utf-8").split())


def test_one_operation_is_compared_with_none_over_seeds(page):
    assert "| shear x | geometric | 35.0 [32.5, 37.5] | -6.0 [-6.0, -6.0] | 1.00 |" in page
    assert "geometric ones change the error by -4.0 [-4.0, -4.0] points" in page
    assert "those of colour by +1.0 [+1.0, +1.0]; the former less the latter -5.0 [-5.0, -5.0]" in page
    better, worse = (", ".join(n.replace("_", " ") for n in OPERATIONS if sign * GAINS[n] > 0) for sign in (-1, 1))
    assert f"these help: {better}; these hurt: {worse}." in " ".join(page.split())


def test_mixtures_are_listed_by_share(page):
    assert "| 50 | 2.500 | 0.200 | 11.0 |" in page
    residual = np.abs(np.polyval(np.polyfit([0, 0.5, 1], [1.0, 2.5, 3.0], 1), [0, 0.5, 1]) - [1.0, 2.5, 3.0]).max() / 3
    assert f"by at most {100 * residual:.0f} % of its largest." in page


def test_subsets_are_compared_with_all_over_seeds(page):
    assert (
        "| 100 | 19.5 [13.1, 25.9] | 22.5 [16.1, 28.9] | 25.5 [19.1, 31.9] | -1.0 [-1.0, -1.0] | +2.0 [+2.0, +2.0]"
        in page
    )


def test_precision_is_in_percent_of_the_mean_and_averaged_over_augmentations(page):
    assert "| corruption | severity 1, % | severity 3, % |" in page
    assert "| fog | 5.0 | 20.0 |" in page
    assert "Distances of 2 single augmentations of AugMix to the centres of CIFAR-10-C, 3 times" in page
    assert "100 other images and 90 other draws" in page
    assert "Features in float16 on a GPU" in page
    half = stats.t.ppf(0.975, 1) * 7.5
    assert f"over 2 cells it is 12.5 [{12.5 - half:.1f}, {12.5 + half:.1f}] %, from 5.0 to 20.0;" in page


def test_device_time_is_that_of_all_cells(page):
    assert "| mixing | a GPU | 30 | 0 | 40 |" in page


@pytest.mark.slow
def test_the_same_augmentations_meet_other_images_and_draws(tmp_path, monkeypatch):
    sizes = ["--augmentations", "2", "--resamplings", "2", "--images", "5", "--samples", "3", "--severities", "3"]
    recipe = ["--recipe", "fashion", "--epochs", "1"]
    monkeypatch.setattr("sys.argv", ["precision.py", "fashion", str(tmp_path / "precision"), *recipe, *sizes])
    load_tool("precision").main()
    lines = pd.read_csv(tmp_path / "precision" / "distances.csv")
    assert lines["resampling"].nunique() == lines["scheme"].nunique() == 2
    assert len(lines) == 4 * len(load_suite("cifar10-c").benchmark())
    assert lines["mmd"].nunique() == len(lines)  # nothing is measured twice
    digests = json.loads((tmp_path / "precision" / "distances.json").read_text(encoding="utf-8"))["schemes"]
    assert {name: each["seed"] for name, each in digests.items()} == {"augmix-0": 0, "augmix-1": 0}
    TOOL.main(str(tmp_path), str(tmp_path / "page.md"))
    assert "| severity 3, % |" in (tmp_path / "page.md").read_text(encoding="utf-8")
