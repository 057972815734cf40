"""Differences, ranks and summaries of several models."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from made_rows import CELLS_C, CELLS_NOC, IMAGENET_C, MINE, QUICK, plain_error, random_rows
from scipy.stats import norm

from scuff import metrics
from scuff.metrics import Resampling, Score


def three_models() -> pd.DataFrame:
    return pd.concat([random_rows(MINE, model=name, seed=k) for k, name in enumerate(("z", "a", "k"))])


@pytest.mark.parametrize(
    ("score", "options"),
    [
        ("error", {}),
        ("mean_error", {}),
        ("mce", {"baseline": {"fog": 0.5, "snow": 0.6}}),
        ("robustness_score", {}),
        ("residual_robustness", {}),
        ("ece", {"bins": 5}),
    ],
)
def test_a_difference_is_the_difference_of_the_scores(score, options):
    a, b = random_rows(MINE, model="a"), random_rows(MINE, model="b", seed=1)
    found = metrics.difference(a, b, score, resampling=QUICK, **options)
    of = getattr(metrics, score)
    assert found.value == pytest.approx(float(of(a, **options)) - float(of(b, **options)), abs=1e-9)
    assert found.low < found.high
    assert found.interval.startswith("paired bootstrap over images 95 %")
    back = metrics.difference(b, a, score, resampling=QUICK, **options)
    assert (back.value, back.low, back.high) == pytest.approx((-found.value, -found.high, -found.low), abs=1e-9)
    assert back.other_sign_share == pytest.approx(found.other_sign_share, abs=1e-9)


def test_a_difference_by_hand():
    """The resamples drawn again with the seed, one at a time."""
    a, b = random_rows(MINE, model="a"), random_rows(MINE, model="b", seed=1)
    found = metrics.difference(a, b, resampling=Resampling(count=300, seed=4))
    wrong = [metrics.read_cells(rows).wrong for rows in (a, b)]
    each = [(w[1:3].mean(axis=0) + w[3:].mean(axis=0)) / 2 for w in wrong]
    draw = np.random.default_rng([4, 0])
    values = np.array([(each[0] - each[1])[draw.integers(0, 40, 40)].mean() for _ in range(300)])
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])), abs=1e-12)
    other = np.mean(np.sign(np.round(values, 9)) != np.sign(found.value))
    assert found.other_sign_share == pytest.approx(other, abs=1e-12)
    assert found.p_value == pytest.approx(2 * norm.sf(abs(found.value) / values.std()), abs=1e-9)


def test_pairing_narrows_the_interval_of_models_that_fail_on_the_same_images():
    draw = np.random.default_rng(0)
    hard = draw.random(500) < 0.4

    def rows(model, source, change):
        wrong = hard ^ (draw.random(500) < change)
        frame = {"corruption": "fog", "severity": 1, "image_id": np.arange(500), "label": 0, "prediction": wrong * 1}
        return pd.DataFrame(frame).assign(model=model, source=source, suite="mine")

    a, b = rows("a", "val", 0.02), rows("b", "val", 0.05)
    paired, unpaired = metrics.difference(a, b), metrics.difference(a, b.assign(source="copy"))
    assert paired.value == pytest.approx(unpaired.value)
    assert unpaired.interval.startswith("unpaired bootstrap")
    # The models disagree on about 7 % of the images: the variance is that of 0.07 against 2 · 0.24.
    assert (paired.high - paired.low) / (unpaired.high - unpaired.low) == pytest.approx(
        math.sqrt(0.07 / 0.48), rel=0.25
    )


def test_equal_models_do_not_differ():
    rows = random_rows(MINE)
    found = metrics.difference(rows, rows.assign(model="twin"))
    assert (found.value, found.low, found.high, found.p_value) == (0, 0, 0, 1)
    with pytest.raises(ValueError, match="no score is called 'mec'; there are error, mean_error, mce"):
        metrics.difference(rows, rows, "mec")


def test_many_at_once_are_as_one_by_one():
    """Of different images too; a product of matrices adds up in another order, so the last bits may differ."""
    own = metrics.by_model(three_models()) | {"less": random_rows(MINE, model="less", n=30)}
    found = metrics.scores(own, "robustness_score", resampling=QUICK)
    for model, rows in own.items():
        assert_same(found[model], metrics.robustness_score(rows, resampling=QUICK))
    pairs = {(a, b): (own[a], own[b]) for a in own for b in own}
    for (a, b), score in metrics.differences(pairs, "ece", resampling=QUICK).items():
        alone = metrics.difference(own[a], own[b], "ece", resampling=QUICK)
        assert_same(score, alone)
        assert score.other_sign_share == alone.other_sign_share
    assert metrics.scores({}) == metrics.differences({}) == {}


def assert_same(found: Score, expected: Score) -> None:
    assert (found.value, found.low, found.high) == pytest.approx(
        (expected.value, expected.low, expected.high), abs=1e-12
    )
    assert (found.n, found.interval, found.note) == (expected.n, expected.interval, expected.note)


def test_rows_of_many_models_may_be_split_already():
    rows = three_models()
    cells = {model: metrics.read_cells(own) for model, own in metrics.by_model(rows).items()}
    for of in (metrics.compare, metrics.ranks, metrics.summary):
        pd.testing.assert_frame_equal(of(cells, resampling=QUICK), of(rows, resampling=QUICK))


def test_compare_holds_every_pair():
    rows = three_models()
    table = metrics.compare(rows, resampling=QUICK)
    assert list(zip(table.a, table.b, strict=True)) == [("z", "a"), ("z", "k"), ("a", "k")]
    own = metrics.by_model(rows)
    found = metrics.difference(own["z"], own["k"], resampling=QUICK)
    # The same draws; but a product with more columns may add up in another order, which shows in the last digit.
    assert table.loc[1, ["value", "low", "high"]].tolist() == pytest.approx([found.value, found.low, found.high], 1e-12)


def test_ranks():
    rows = pd.concat([three_models(), random_rows(MINE, model="twin", seed=1)])  # the same rows as those of a
    table = metrics.ranks(rows, resampling=QUICK)
    own = metrics.by_model(rows)
    for corruption in ("fog", "snow"):
        part = table[table.corruption == corruption].set_index("model")
        values = {m: plain_error(r, corruption) for m, r in own.items()}
        for model, value in values.items():
            below, equal = (sum(f(v, value) for v in values.values()) for f in (np.less, np.equal))
            assert part.loc[model, "rank"] == below + (equal + 1) / 2
            assert part.loc[model, "value"] == pytest.approx(100 * value, abs=1e-9)
    overall = table[table.corruption == "all"].set_index("model")
    assert overall.value["z"] == pytest.approx(100 * float(metrics.mean_error(own["z"])), abs=1e-9)
    assert overall.loc["a", ["rank", "low", "high"]].equals(overall.loc["twin", ["rank", "low", "high"]])
    assert ((table.low <= table["rank"]) & (table["rank"] <= table.high)).mean() > 0.9
    assert table["rank"].groupby(table.corruption).sum().tolist() == [10, 10, 10]


def test_ranks_need_the_same_images_and_corruptions():
    rows = random_rows(MINE)
    with pytest.raises(ValueError, match="same images; those of b"):
        metrics.ranks(pd.concat([rows, random_rows(MINE, model="b", n=30)]))
    with pytest.raises(ValueError, match="same corruptions; b has"):
        metrics.ranks(pd.concat([rows, random_rows(MINE[:3], model="b")]))


def test_summary_repeats_the_scores():
    rows = pd.concat([random_rows(CELLS_C, "imagenet-c", name, seed=k) for k, name in enumerate("ab")])
    table = metrics.summary(rows, resampling=QUICK).set_index("model")
    for model, own in metrics.by_model(rows).items():
        counted = own[~own.corruption.isin(["clean", *IMAGENET_C.validation])]
        expected = {
            "clean_error": metrics.error(own[own.corruption == "clean"]),
            "mean_error": metrics.mean_error(own, resampling=QUICK),
            "mce": metrics.mce(own, resampling=QUICK),
            "relative_mce": metrics.mce(own, relative=True, resampling=QUICK),
            "robustness_score": metrics.robustness_score(own, resampling=QUICK),
            "residual_robustness": metrics.residual_robustness(own, resampling=QUICK),
            "ece_clean": metrics.ece(own[own.corruption == "clean"], resampling=QUICK),
            "ece_corrupted": metrics.ece(counted, resampling=QUICK),
        }
        for name, score in expected.items():
            found = table.loc[model, [name, f"{name}_low", f"{name}_high"]].tolist()
            assert found == pytest.approx([score.value, score.low, score.high], abs=1e-9), name
    assert table[["n", "cells", "cells_of_suite"]].to_numpy().tolist() == [[40, 75, 75]] * 2


def test_summary_of_noc_has_the_relative_mce_twice_and_of_others_none():
    line = metrics.summary(random_rows(CELLS_NOC[:-1], "imagenet-noc")).iloc[0]
    assert line.mce == line.relative_mce
    assert (line.cells, line.cells_of_suite) == (7, 8)
    line = metrics.summary(random_rows(MINE)).iloc[0]
    assert (math.isnan(line.mce), math.isnan(line.relative_mce)) == (True, True)


def test_holm_is_a_step_down():
    """By its definition: how many of m hypotheses are rejected at any level."""
    p = np.random.default_rng(0).random(20) ** 3
    adjusted = metrics.holm(p)
    for level in (0.01, 0.05, 0.2, 0.5):
        ordered = np.sort(p)
        steps = ordered <= level / np.arange(20, 0, -1)
        rejected = 20 if steps.all() else int(np.argmin(steps))
        assert (adjusted <= level + 1e-12).sum() == rejected
    assert metrics.holm([]).tolist() == []


def test_p_values_of_equal_models_are_uniform():
    """Two models with independent errors of the same rate: p is below 0.1 in a tenth of cases."""
    draw = np.random.default_rng(0)
    wrong = draw.random((2, 300, 400)) < 0.3
    quick = Resampling(count=100)
    found = [
        metrics.bootstrap_difference(a[:, None], b[:, None], resampling=quick).p_value
        for a, b in zip(*wrong, strict=True)
    ]
    assert np.mean(np.array(found) < 0.1) == pytest.approx(0.1, abs=0.06)  # 3.5 standard deviations
