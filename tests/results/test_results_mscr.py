"""The numbers of docs/results/mscr-*.md follow from the tables beside them, and so do the claims."""

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import stdtrit

from scuff.metrics import compare_training_noise, holm, read_robust_accuracies

RESULTS = Path(__file__).parents[2] / "docs" / "results"
MSCR = -1  # in place of a test noise
KEYS = ["train_noise", "test_noise"]


def read(name):
    """A table, in per cent, with radii that can be compared."""
    frame = pd.read_csv(RESULTS / name)
    if "deviation" in frame:
        frame[["mean", "deviation"]] *= 100
    return frame.assign(**{key: frame[key].round(6) for key in KEYS})


def page(name):
    return re.sub(r"\s+", " ", (RESULTS / name).read_text(encoding="utf-8"))


def lines_of(frame, epsilon_min):
    """The lines of a table on the page: means with Student's half-widths, the best of each line bold."""
    for radius, line in frame.groupby("test_noise"):
        line = line.sort_values("train_noise")
        half = stdtrit(line["runs"] - 1, 0.975) * line["deviation"] / np.sqrt(line["runs"])
        cells = [f"{mean:.3f} ± {width:.3f}" for mean, width in zip(line["mean"], half, strict=True)]
        if radius != MSCR:
            best = line["mean"] == line["mean"].max()
            cells = [f"**{cell}**" if is_best else cell for cell, is_best in zip(cells, best, strict=True)]
        name = {MSCR: "MSCR", round(epsilon_min, 6): "ε_min"}.get(radius, f"{radius:g}")
        yield f"| {name} | {' | '.join(cells)} |"


@pytest.mark.parametrize(
    ("file", "name", "models", "radii", "epsilon_min"),
    [
        ("mscr-2d/shared.csv", "mscr-2d.md", ("random-forest", "1-nn"), (9, 9), 0.0080255905 / 2),
        ("mscr-2d/independent.csv", "mscr-2d.md", ("random-forest", "1-nn"), (9, 9), 0.0080255905 / 2),
        ("mscr-2d/l2.csv", "mscr-2d.md", ("random-forest", "1-nn"), (9, 9), 0.0084703677 / 2),
        ("mscr-cifar10/accuracies.csv", "mscr-cifar10.md", ("cifar-fast",), (8, 18), 27 / 255),
    ],
)
def test_every_line_of_the_pages(file, name, models, radii, epsilon_min):
    frame, text = read(file), page(name)
    for model in models:
        its = frame[frame["model"] == model]
        assert len(its) == radii[0] * (radii[1] + 1)
        for line in lines_of(its, epsilon_min):
            assert line in text


def distances(file):
    """How many combined standard errors our means are from the printed ones; the paper's intervals are 1.96 errors."""
    frame = read(file)
    found = frame[frame["model"] == "random-forest"].merge(
        read("mscr-2d/published.csv"), on=KEYS, suffixes=("", "_theirs")
    )
    assert len(found) == 90
    errors = np.hypot(found["deviation"] / np.sqrt(found["runs"]), found["half_width"] / 1.96)
    return found.assign(distance=(found["mean"] - found["mean_theirs"]).abs() / errors)


def test_table_2_with_shared_offsets_is_that_of_the_paper():
    found = distances("mscr-2d/shared.csv")
    assert (found["runs"] >= 100).all()
    accuracies, scores = found[found["test_noise"] != MSCR], found[found["test_noise"] == MSCR]
    assert accuracies["distance"].max() < 1.1
    assert scores["distance"].max() < 1.2
    assert "All 81 printed means are within 1.1 combined standard errors" in page("mscr-2d.md")


def test_independent_offsets_give_another_table():
    found = distances("mscr-2d/independent.csv")
    far = found[(found["distance"] > 3) & (found["test_noise"] != MSCR)]
    assert (len(far), math.ceil(far["distance"].max()), far["train_noise"].min()) == (28, 13, 0.007)
    assert "28 of the 81 printed means are now more than three combined standard errors away, up to 13" in page(
        "mscr-2d.md"
    )
    scores = found[found["test_noise"] == MSCR].set_index("train_noise")["mean"]
    assert (scores < 0).all()
    assert scores.loc[:0.02].between(-0.145, -0.075).all()


def read_runs(name, epsilon_min):
    """The accuracies of single runs in the plane."""
    wide = pd.read_csv(RESULTS / name).melt(["model", "train_noise", "run"], var_name="test_noise")
    frame = wide.rename(columns={"value": "accuracy"}).assign(copies=10, test_noise=wide["test_noise"].astype(float))
    return read_robust_accuracies(frame, epsilon_min=min(frame["test_noise"], key=lambda r: abs(r - epsilon_min)))


@pytest.fixture(scope="module")
def runs():
    return read_runs("mscr-2d/shared-runs.csv", 0.0040127953)


def test_single_runs_are_some_of_those_behind_the_table(runs):
    """The mean of 50 of 100 values has a deviation of s · sqrt(1/50 - 1/100) about that of all; four of them."""
    frame = read("mscr-2d/shared.csv").set_index(["model", *KEYS])
    assert runs.runs == tuple(range(50))
    for model, train, test in itertools.product(runs.models, runs.train_noise, runs.test_noise):
        line = frame.loc[(model, round(train, 6), round(test, 6))]
        off = 100 * runs.accuracies(model, train, test).mean() - line["mean"]
        assert abs(off) < 4 * line["deviation"] * math.sqrt(1 / 50 - 1 / 100)


def test_which_training_noises_differ_in_the_plane(runs):
    text = page("mscr-2d.md")
    tables = {score: compare_training_noise(runs, score) for score in ("clean", "robust", "mscr")}
    for model, name in (("random-forest", "random forest"), ("1-nn", "nearest neighbour")):
        counts = [((table["model"] == model) & (table["p_holm"] < 0.05)).sum() for table in tables.values()]
        assert f"| {name} | {' | '.join(map(str, counts))} |" in text

    def pair(score, a, b, model="random-forest"):
        keys = compare_training_noise(runs, score).set_index(["model", "train_noise", "other"])
        return keys.loc[(model, a, b)]

    gains = [pair(radius, 0.0, 0.007) for radius in runs.test_noise]
    assert max(gain["p_holm"] for gain in gains) < 0.001
    values = [100 * gain["value"] for gain in gains]
    assert f"by {min(values):.2f} to {max(values):.2f} points (corrected p < 0.001 at each)" in text
    assert f"and by {values[0]:.2f} points without test noise" in text
    assert f"told apart without noise (p = {pair('clean', runs.epsilon_min, 0.007)['p_holm']:.2f})" in text
    mscr = tables["mscr"].query("model == 'random-forest' and train_noise == 0 and p_holm < 0.05")
    assert mscr["other"].tolist() == [0.01]
    near = tables["clean"].query("model == '1-nn' and other <= 0.0071")
    assert len(near) == 10
    assert (near["p_holm"] >= 0.05).all()
    loss = pair("robust", 0.0, 0.007, "1-nn")
    assert loss["p_holm"] < 0.001
    assert f"it loses {-100 * loss['value']:.2f} points at 0.007 (p < 0.001)" in text


def test_where_the_nearest_neighbour_is_better_than_the_forest(runs):
    text = page("mscr-2d.md")

    def p_value(train, score):
        clean, robust = (
            [runs.accuracies(model, train, at) for model in ("1-nn", "random-forest")] for at in (0.0, runs.epsilon_min)
        )
        ours, theirs = (r / c - 1 for r, c in zip(robust, clean, strict=True)) if score == "mscr" else clean
        return stats.ttest_rel(ours, theirs).pvalue

    assert all(p_value(train, "clean") < 0.01 for train in runs.train_noise[:4])
    assert f"told apart (p = {p_value(0.007, 'clean'):.2f})" in text
    assert f"either (p = {p_value(0.007, 'mscr'):.2f})" in text


@pytest.mark.parametrize("file", ["mscr-2d/shared.csv", "mscr-2d/independent.csv"])
def test_the_nearest_neighbour_is_constant_up_to_0_007(file):
    frame = read(file)
    clean = frame[frame["test_noise"] == 0].pivot(index="train_noise", columns="model", values="mean")
    assert np.ptp(clean.loc[:0.007, "1-nn"]) < 0.03  # the half-width of each is about as much
    assert (clean.loc[:0.007, "1-nn"] > clean.loc[:0.007, "random-forest"]).all()
    assert (clean.loc[0.01:, "1-nn"] < clean.loc[0.007, "1-nn"] - 0.1).all()
    assert clean["random-forest"].idxmax() == 0.007


def test_mscr_of_cifar10_rises_with_training_noise_and_crosses_zero():
    ours, theirs = read("mscr-cifar10/accuracies.csv"), read("mscr-cifar10/published.csv")
    assert (ours["runs"] == 3).all()
    scores = [frame[frame["test_noise"] == MSCR].set_index("train_noise")["mean"] for frame in (ours, theirs)]
    for found in scores:
        assert (found.loc[0.01:].diff().dropna() > 0).all()
        assert found.loc[0.05] < 0 < found.loc[0.15]
    table = " | ".join(f"{value:.1f}" for value in scores[0])
    assert f"| ours | {table} |" in page("mscr-cifar10.md")
    assert f"| the paper | {' | '.join(f'{value:.1f}' for value in scores[1])} |" in page("mscr-cifar10.md")
    clean = ours[ours["test_noise"] == 0].set_index("train_noise")["mean"]
    assert clean.idxmax() == 0.01


def welch(test_noise):
    """Differences between training noises on CIFAR-10 in points, with p-values before and after Holm's correction."""
    frame = read("mscr-cifar10/accuracies.csv")
    lines = frame[frame["test_noise"] == test_noise].set_index("train_noise")[["mean", "deviation", "runs"]]
    pairs = list(itertools.combinations(lines.index, 2))
    tests = [stats.ttest_ind_from_stats(*lines.loc[b], *lines.loc[a], equal_var=False) for a, b in pairs]
    p_values = [test.pvalue for test in tests]
    means = [lines.loc[b, "mean"] - lines.loc[a, "mean"] for a, b in pairs]
    numbers = {"value": means, "p": p_values, "p_holm": holm(p_values)}
    return pd.DataFrame(numbers, index=pd.MultiIndex.from_tuples(pairs))


def test_which_training_noises_differ_on_cifar10():
    text, scores, clean = page("mscr-cifar10.md"), welch(MSCR), welch(0)
    clear = scores[scores["p_holm"] < 0.05]
    assert f"{len(clear)} of {len(scores)} pairs differ (corrected p < 0.05), all in this direction" in text
    assert (clear["value"] > 0).all()
    (first, second) = scores[scores["p_holm"] >= 0.05].index
    assert (first, second) == ((0.0, 0.01), (0.02, 0.03))
    assert f"0 and 0.01 (p = {scores.loc[first, 'p_holm']:.2f}), and 0.02 and 0.03 (p = " in text
    assert f"0.03 (p = {scores.loc[second, 'p_holm']:.2f})" in text
    gain = clean.loc[(0.0, 0.01)]
    words = f"{gain['value']:.2f} points may be chance (p = {gain['p']:.2f} before the correction, {gain['p_holm']:.2f}"
    assert words in text
    against_none = clean.loc[0.0]
    assert against_none.index[against_none["p_holm"] < 0.05].min() == 0.05
    frame = read("mscr-cifar10/accuracies.csv")
    lines = frame[frame["test_noise"] == MSCR].set_index("train_noise")
    half = stdtrit(2, 0.975) * lines["deviation"] / np.sqrt(3)
    assert (lines["mean"] + half).loc[:0.07].max() < 0 < (lines["mean"] - half).loc[0.1:].min()


def test_more_copies_than_ten_do_not_help():
    table, text = pd.read_csv(RESULTS / "mscr-2d/copies.csv"), page("mscr-2d.md")
    cells = 100 * table.groupby(["copies", "noise"])["accuracy"].agg(["mean", "std"])
    for copies, its in cells.groupby(level="copies"):
        shown = " | ".join(f"{line.mean:.3f}, {line.std:.3f}" for line in its.itertuples(name="Cell"))
        assert f"| {copies} | {shown} |" in text
    lowest, losses = [], []
    for _, its in table.groupby("noise"):
        runs = its.pivot(index="run", columns="copies", values="accuracy")
        assert len(runs) == 20
        more = [copies for copies in runs if copies > 10]
        lowest.append(min(holm([stats.ttest_rel(runs[copies], runs[10]).pvalue for copies in more])))
        losses.append((100 * (runs[10] - runs[1]).mean(), stats.ttest_rel(runs[1], runs[10]).pvalue))
    assert min(lowest) >= 0.06
    (loss, chance), (loss_at_epsilon, chance_at_epsilon) = losses
    assert chance < 0.001
    assert f"by {loss:.2f} points at 0.001 (paired over runs, p < 0.001)" in text
    assert f"by {loss_at_epsilon:.2f} at ε_min (p = {chance_at_epsilon:.3f})" in text


def test_l2_is_similar():
    runs, text = read_runs("mscr-2d/l2-runs.csv", 0.0042351838), page("mscr-2d.md")
    assert runs.runs == tuple(range(20))
    tables = {
        score: compare_training_noise(runs, score).set_index(["model", "train_noise", "other"])
        for score in ("clean", "robust", "mscr")
    }
    clean, robust, mscr = tables.values()
    gains = [table.loc[("random-forest", 0.0, 0.01)] for table in (clean, robust)]
    assert all(gain["p_holm"] < 0.001 for gain in gains)
    assert "by {:.2f} points without test noise and by {:.2f} with".format(*(100 * g["value"] for g in gains)) in text
    loss = clean.loc[("random-forest", 0.0, 0.03)]
    assert loss["p_holm"] < 0.001
    assert f"0.03 costs {-100 * loss['value']:.2f} points" in text
    for table in (clean, robust):
        near = table.query("model == '1-nn' and other <= 0.0071")
        assert len(near) == 10
        assert not (near["p_holm"] < 0.05).any()  # without a p-value where all runs are equal
    assert f"At 0.03 it loses {-100 * clean.loc[('1-nn', 0.0, 0.03)]['value']:.2f} points" in text
    assert not (mscr["p_holm"] < 0.05).any()
    means = read("mscr-2d/l2.csv").query("model == 'random-forest' and test_noise == 0.03")["mean"]
    others = read("mscr-2d/shared.csv").query("model == 'random-forest' and test_noise == 0.03")["mean"]
    spans = [f"{its.min():.1f} to {its.max():.1f} %" for its in (means, others)]
    assert f"from {spans[0]} for the forest at 0.03 instead of {spans[1]}" in text
