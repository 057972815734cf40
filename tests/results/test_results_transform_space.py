"""The numbers of docs/results/transform-space-cifar10.md follow from the tables beside it, and so do its claims."""

import re

import numpy as np
import pandas as pd
import pytest
from tool_modules import ROOT, load_tool

from scuff.metrics import read_distances, scheme_correlations

PAGE = ROOT / "docs" / "results" / "transform-space-cifar10.md"
BOTH = ("msd", "mmd")


tables = load_tool("transform_space_tables")


@pytest.fixture(scope="module")
def page():
    return re.sub(r"\s+", " ", PAGE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def correlations():
    errors = pd.read_csv(tables.RESULTS / "errors.csv", keep_default_na=False)
    distances = read_distances(tables.RESULTS / "distances.csv").take(list(dict.fromkeys(errors["scheme"])))
    assert len(distances.schemes) == 34
    return {kind: scheme_correlations(distances, errors, distance=kind).set_index("corruption") for kind in BOTH}


@pytest.mark.parametrize("lines", [tables.correlation_lines, tables.error_lines, tables.shift_lines])
def test_every_line_of_the_page(page, lines):
    found = lines()
    assert len(found) in (15, 12, 14)
    for line in found:
        assert line in page


def test_msd_explains_errors_where_the_paper_says_so(page, correlations):
    rho = correlations["msd"]["rho"].rename(lambda address: address.partition("/")[2])
    theirs = pd.Series(tables.PUBLISHED_RHO)
    weak = {"brightness", "pixelate", "jpeg_compression"}
    assert set(rho.index[rho <= 0.6]) == weak == set(theirs.index[theirs <= 0.6])
    assert np.corrcoef(rho, theirs[rho.index])[0, 1] == pytest.approx(0.92, abs=0.005)
    assert rho.mean() - theirs.mean() == pytest.approx(0.11, abs=0.005)
    assert "is above 0.6 for 12 of 15" in page
    assert "correlate by 0.92" in page


def test_mmd_explains_less(page, correlations):
    msd, mmd = (correlations[kind]["rho"] for kind in BOTH)
    assert list(msd.index[mmd > msd]) == ["cifar10-c/brightness"]
    assert (round(mmd.mean(), 2), round(msd.mean(), 2)) == (0.59, 0.78)
    assert "0.59 against 0.78 on average" in page


def test_patch_gaussian_is_nearest_to_snow_and_not_best_against_it():
    distances = read_distances(tables.RESULTS / "distances.csv").by_corruption("msd")
    errors = pd.read_csv(tables.RESULTS / "errors.csv", keep_default_na=False)
    for corruption in ("cifar10-c/snow", "cifar10-c/frost"):
        assert distances[corruption].idxmin() == "patch-gaussian"
        its = errors[errors["corruption"] == corruption].set_index("scheme")["error"]
        assert (its < its["patch-gaussian"]).sum() >= 10


def test_augmentations_lose_on_the_held_out_benchmark(page):
    table = pd.read_csv(tables.RESULTS / "trained.csv")
    errors = table[table["corruption"] != "clean"].groupby(["model", "suite"])["error"].mean().unstack() * 100
    rise = errors["cifar10-c-bar"] - errors["cifar10-c"]
    for model, said in zip(tables.MODELS, ("-0.3 points", "+0.9", "+5.1", "+5.2"), strict=True):
        assert f"{rise[model]:+.1f}" == said.removesuffix(" points")
        assert f"by {said} (" in page
    more = [
        errors.loc[model, suite.lower().replace("-10", "10", 1)] - published[place]
        for suite, published in list(tables.PUBLISHED_ERRORS.items())[:2]
        for place, model in enumerate(tables.MODELS)
    ]
    assert (round(min(more), 1), round(max(more), 1)) == (1.4, 3.9)
    assert (errors.idxmin() == "augmix-jsd").all()


def test_eight_of_the_ten(page):
    shifts = pd.read_csv(tables.RESULTS / "shifts.csv")
    names = [address.partition("/")[2] for address in shifts["corruption"]]
    assert len(set(names[:10]) & set(tables.PUBLISHED_TEN)) == 8
    assert names[10:12] == ["checkerboard_cutout", "pinch_and_twirl"]
    assert names[-2:] == ["blue_noise", "scatter"]
    assert "Eight of the paper's ten are among our first ten" in page
