"""What docs/results/overlap-cifar10.md says of the paper's claims follows from the tables, theirs and ours."""

import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from published_tables import TABLES, read
from scipy import stats
from tool_modules import ROOT, load_tool

from scuff.metrics import overlaps, read_accuracies

claims = load_tool("overlap_claims")


@pytest.fixture(scope="module")
def page():
    return re.sub(r"\s+", " ", (ROOT / "docs" / "results" / "overlap-cifar10.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def paper():
    return overlaps(claims.read_published("7"))


@pytest.fixture(scope="module")
def seeds():
    return read_accuracies(claims.SEEDS)


def uncut(values, names, a, b):
    """The score of a pair of one seed by the definition, from its accuracies: rows and columns begin with standard."""
    i, j = names.index(a) + 1, names.index(b) + 1
    robustness = values / values[:, :1]
    gain = robustness - robustness[0]
    return max(0, (gain[i, j] / gain[j, j] + gain[j, i] / gain[i, i]) / 2)


def test_every_line_of_the_page(page, paper, seeds):
    table = read_accuracies(claims.STUDY)
    lines = [*claims.pair_lines(seeds, paper), *claims.agreement_lines(seeds, paper), *claims.benchmark_lines(table)]
    assert len(lines) == 11 + 2 + 8
    for line in lines:
        assert line in page


def test_the_papers_tables_are_as_printed():
    for name in ("1a", "1b", "7", "8"):
        printed, table = read(TABLES[name][1]), claims.printed_table(name)
        assert len(printed) == len(table)
        for (clean, cells, _), row in zip(printed.values(), table.to_numpy(), strict=True):
            assert row.tolist() == [clean, *cells]
        trained = [who for who in table.index if who != "standard" and not who.startswith("all:")]
        assert trained == ([] if name.startswith("1") else list(table.columns[1:]))


def test_claims_are_judged_by_the_definition_of_the_score(paper, seeds):
    names, where = claims.IMAGENET_C, [seeds.trained_on.index(who) for who in ("standard", *claims.IMAGENET_C)]
    accuracies = seeds.values[:, where][:, :, [seeds.tested_on.index(what) for what in ("clean", *names)]]
    printed = claims.read_published("7").values[0]
    for line, (pairs, overlap) in zip(claims.pair_lines(seeds, paper), claims.CLAIMS.values(), strict=True):
        _, _, count, theirs, there, ours, here, _ = line.split("|")
        assert int(count) == len(pairs)
        wanted = [uncut(printed, names, *pair) for pair in pairs]
        assert float(theirs.split(";")[0]) == pytest.approx(np.mean(wanted), abs=0.00501)
        assert there.strip() == ("yes" if (np.mean(wanted) > 0.1) == overlap else "**no**")
        each = np.array([[uncut(values, names, *pair) for pair in pairs] for values in accuracies])
        low, high = stats.t.interval(0.95, 2, each.mean(), stats.sem(each.mean(axis=1)))
        found = [float(word) for word in re.findall(r"-?\d\.\d\d", ours)[:3]]
        assert found == pytest.approx([each.mean(), low, high], abs=0.00501)
        if len(pairs) > 1:
            assert f"{(each.mean(axis=0) > 0.3).sum()} above 0.3" in ours
        assert here.strip() == ("open" if low <= 0.1 <= high else "yes" if (low > 0.1) == overlap else "**no**")


def test_agreement_is_that_of_scipy(paper, seeds):
    for line, names in zip(claims.agreement_lines(seeds, paper), (claims.IMAGENET_C, claims.TEXTURES), strict=True):
        pairs = list(combinations(names, 2))
        theirs = np.array([paper.score(*pair).value for pair in pairs])
        rows = []
        for matrix in claims.overlaps_of_seeds(seeds):
            ours = np.array([matrix.score(*pair).value for pair in pairs])
            sides = [np.mean((ours > line) == (theirs > line)) for line in (0, 0.1, 0.3)]
            correlations = [stats.pearsonr(ours, theirs)[0], stats.spearmanr(ours, theirs)[0]]
            rows.append([*correlations, np.abs(ours - theirs).mean(), *sides])
        _, _, count, *cells, _ = line.split("|")
        assert int(count) == len(pairs)
        for cell, values in zip(cells, np.array(rows).T, strict=True):
            scale = 100 if "%" in cell else 1
            mean, half = (float(word) / scale for word in re.findall(r"\d+(?:\.\d+)?", cell))
            assert mean == pytest.approx(np.mean(values), abs=0.00501)
            assert half == pytest.approx(stats.t.ppf(0.975, 2) * stats.sem(values), abs=0.00501)


def test_all_pairs_are_in_a_file(page, paper, seeds):
    table = claims.pair_table(seeds, paper)
    pd.testing.assert_frame_equal(table, pd.read_csv(claims.RESULTS / "overlap-cifar10" / "pairs.csv"))
    scores = table.set_index(["a", "b"])
    assert round(scores.at[("gaussian_noise", "elastic_transform"), "here"], 2) == 0.25
    jpeg = scores.loc[[(blur.partition("/")[2], "jpeg_compression") for blur in claims.BLURS], "paper"]
    assert (round(jpeg.min(), 2), round(jpeg.max(), 2)) == (0.01, 0.03)
    assert "Our scores and the paper's correlate by 0.65" in page


@pytest.mark.parametrize(
    ("mean", "half", "overlap", "verdict"),
    [(0.2, 0.05, True, "yes"), (0.2, 0.1, True, "open"), (0.05, 0.02, True, "**no**"), (0.05, 0.02, False, "yes")],
)
def test_a_claim_whose_interval_holds_the_line_is_open(mean, half, overlap, verdict):
    assert claims.judge(mean, half, overlap) == verdict


def test_a_mean_of_several_seeds_needs_no_mark(paper):
    table = read_accuracies(claims.STUDY)
    assert sum("with one seed" in line for line in claims.benchmark_lines(table)) == 2
    twice = type(table)(table.trained_on, table.tested_on, table.values.repeat(2, axis=0), (0, 1))
    assert not any("with one seed" in line for line in claims.benchmark_lines(twice))
