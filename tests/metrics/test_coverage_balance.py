"""Coverage, balance and agreement: against the papers' tables, and by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_accuracies import published, random_accuracies
from published_tables import ALEXNET, TABLE_1A, TABLE_1B, TABLE_7, TABLE_8, read
from scipy import stats

from scuff.metrics import (
    Accuracies,
    Reference,
    Resampling,
    agreement,
    balance,
    ce_table,
    coverage,
    direct_coverage,
    overlaps,
    read_overlaps,
    robustness_scores,
    spread,
)

TABLE_2A = 71, 71, 71, 54, 56, 63, 68, 83, 79, 86, 89, 78, 92, 85, 94
TABLE_2B = 83, 79, 83, 83, 81, 90, 79, 88
NAMES = ["a", "b", "c", "d"]


def matrix(values, low=None, high=None):
    found = read_overlaps(pd.DataFrame(values, NAMES[: len(values)], NAMES[: len(values)]))
    return found if low is None else replace(found, low=np.array(low), high=np.array(high))


# --- coverage -------------------------------------------------------------------------------------------------------


def test_the_nearest_corruption_of_a_benchmark():
    found = matrix([[1, 0, 0.2, 0.5], [0, 1, 0.3, 0.4], [0.2, 0.3, 1, 0], [0.5, 0.4, 0, 1]])
    table = coverage(found, ["a", "b"], ["c", "d", "a"])
    assert table[["corruption", "nearest", "overlap", "covered"]].values.tolist() == [
        ["c", "b", 0.3, False],  # the paper says: above 0.3
        ["d", "a", 0.5, True],
        ["a", "a", 1.0, True],
    ]
    assert coverage(found, ["a", "b"], ["c", "d"], threshold=0.45).covered.tolist() == [False, True]
    assert not table.certain[:2].any()  # there are no intervals


def test_what_is_certain_of_coverage():
    """Above: the interval of the nearest one. Below: those of the whole benchmark."""
    value = [[1, 0, 0.4, 0.2], [0, 1, 0.2, 0.1], [0.4, 0.2, 1, 0], [0.2, 0.1, 0, 1]]
    low = [[1, 0, 0.31, 0.1], [0, 1, 0, 0], [0.31, 0, 1, 0], [0.1, 0, 0, 1]]
    high = [[1, 0, 0.5, 0.25], [0, 1, 0.3, 0.2], [0.5, 0.3, 1, 0], [0.25, 0.2, 0, 1]]

    def certain(**changes):
        ends = {"low": np.array(low), "high": np.array(high)}
        for end, (i, j, new) in changes.items():
            ends[end][i, j] = ends[end][j, i] = new
        return coverage(matrix(value, ends["low"], ends["high"]), ["a", "b"], ["c", "d"]).certain.tolist()

    assert certain() == [True, True]
    assert certain(low=(0, 2, 0.29)) == [False, True]
    assert certain(high=(0, 3, 0.31)) == [True, False]
    assert certain(high=(1, 3, 0.31)) == [True, False]  # not the nearest one, but it may cover


def test_coverage_where_overlaps_are_undefined():
    empty = np.nan
    found = matrix([[1, empty, 0.4], [empty] * 3, [0.4, empty, 1]])
    line = coverage(found, ["a", "b"], ["c"]).iloc[0]
    assert (line.nearest, line.covered) == ("a", True)
    line = coverage(found, ["a"], ["b"]).iloc[0]
    assert (line.nearest, line.covered, line.certain) == ("", False, False)
    assert np.isnan(line.overlap)
    with pytest.raises(ValueError, match="no corruption of the benchmark has overlaps; it has b"):
        coverage(found, ["b"], ["c"])
    with pytest.raises(ValueError, match="no overlap with 'z'"):
        coverage(found, ["a"], ["z"])


def test_noc_helps_against_all_of_imagenet_c_but_not_the_other_way_round():
    """Table 1: training with ImageNet-C makes hue and border worse. Robustness scores say so too, not only CE."""
    table = direct_coverage(published("imagenet-c", TABLE_1A), "mINOC", as_paper=True)
    assert len(table) == 15
    assert table.helped.all()
    table = direct_coverage(published("imagenet-noc", TABLE_1B), "mIC", as_paper=True)
    assert table.corruption[~table.helped].tolist() == ["imagenet-noc/border", "imagenet-noc/hue"]
    assert table.corruption[table.harmed].tolist() == ["imagenet-noc/border", "imagenet-noc/hue"]
    unknown = direct_coverage(published("imagenet-noc", TABLE_1B), "mIC")  # printed numbers have no intervals
    assert not (unknown.helped | unknown.harmed).any()


def test_direct_coverage_by_hand():
    table = random_accuracies(3, seeds=3)
    found = direct_coverage(table, "mine/c1", ["mine/c2", "mine/c0"])
    scores = robustness_scores(table)
    for _, line in found.iterrows():
        name = line.corruption
        r = [table.of(model, name) / table.of(model, "clean") for model in ("standard", "mine/c1")]
        each = r[1] - r[0]
        low, high = stats.t.interval(0.95, 2, each.mean(), stats.sem(each))
        assert (line.difference, line.low, line.high) == pytest.approx((each.mean(), low, high), abs=1e-12)
        assert (line.standard, line.trained) == (scores.loc["standard", name], scores.loc["mine/c1", name])
        assert (line.helped, line.harmed) == (low > 0, high < 0)
        assert (line.n, line.interval) == (3, "Student t over seeds 95 %, 3 seeds")
    assert direct_coverage(table, "mine/c1").corruption.tolist() == list(table.corruptions)
    with pytest.raises(ValueError, match="no model trained with 'all:imagenet-noc'"):
        direct_coverage(table)
    with pytest.raises(ValueError, match="needs tests on corrupted images"):
        direct_coverage(table.take(table.trained_on, ["clean"]), "mine/c1")


def test_help_is_counted_falsely_as_often_as_intervals_say():
    """Training that changes nothing: an interval over three seeds lies above 0 in 2.5 % of cases, and below in as many.

    40 tables of 50 corruptions. Their noise is independent, so that the share has a standard deviation of
    sqrt(0.025 * 0.975 / 2000) = 0.0035. The paper's rule finds help in every second case.
    """
    random, names = np.random.default_rng(5), tuple(f"a/c{k}" for k in range(50))
    found, papers = [], []
    for _ in range(40):
        values = np.clip(0.7 + random.normal(0, 0.02, (3, 2, 51)), 0, 1)
        values[..., 0] = 0.9
        table = Accuracies(("standard", "all:a"), ("clean", *names), values, (0, 1, 2))
        found.append(direct_coverage(table, "all:a"))
        papers.append(direct_coverage(table, "all:a", as_paper=True))
    tolerance = 4 * np.sqrt(0.025 * 0.975 / 2000)
    assert np.mean([table.helped for table in found]) == pytest.approx(0.025, abs=tolerance)
    assert np.mean([table.harmed for table in found]) == pytest.approx(0.025, abs=tolerance)
    assert np.mean([table.helped for table in papers]) == pytest.approx(0.5, abs=4 * np.sqrt(0.25 / 2000))


# --- balance --------------------------------------------------------------------------------------------------------


def test_imagenet_noc_is_better_balanced_than_imagenet_c():
    """Table 2, as the paper prints it: range 40 against 11, standard deviation 12.1 against 3.7."""
    assert [round(float(x), 1) for x in spread(TABLE_2A)] == [40, 12.1]
    assert [round(float(x), 1) for x in spread(TABLE_2B)] == [11, 3.7]


@pytest.mark.parametrize(
    ("suite", "table", "printed", "value", "deviation"),
    [("imagenet-c", TABLE_7, TABLE_2A, 39.9, 12.1), ("imagenet-noc", TABLE_8, TABLE_2B, 11.6, 3.8)],
)
def test_balance_of_tables_7_and_8(suite, table, printed, value, deviation):
    """Their cells give mCE of which Table 2 prints whole numbers: rounded twice, so within 1 of ours.

    That is also why the range of ImageNet-NOC is 11.6 before rounding, and 11 after it.
    """
    accuracies = published(suite, table)
    found = balance(accuracies, accuracies.corruptions, ALEXNET[suite])
    cells = {name: row.mean() for name, (_, row, _) in zip(accuracies.trained_on, read(table).values(), strict=True)}
    assert found.standard == pytest.approx(cells.pop("standard"), abs=1e-9)
    assert found.mces == pytest.approx(cells, abs=1e-9)
    np.testing.assert_allclose(list(found.mces.values()), printed, atol=1)
    assert [mce for _, _, mce in read(table).values()][1:] == list(printed)
    assert (round(found.range.value, 1), round(found.std.value, 1)) == (value, deviation)
    assert found.range.note == "mCE against a reference"
    if suite == "imagenet-noc":
        assert [round(mce) for mce in found.mces.values()] == list(printed)


def test_noc_is_better_balanced_against_the_standard_model_too():
    c, noc = (published(*pair) for pair in (("imagenet-c", TABLE_7), ("imagenet-noc", TABLE_8)))
    ours, theirs = (balance(table, table.corruptions) for table in (noc, c))
    assert ours.standard == theirs.standard == pytest.approx(100, abs=1e-9)
    assert ours.range.value < theirs.range.value / 2
    assert ours.std.value < theirs.std.value / 2
    assert ours.range.note == "mCE against the standard model of the table"


def mces_by_hand(a: np.ndarray, tests: list[int]) -> list[float]:
    """Relative mCE against the first model, which is the standard one."""
    e = 1 - a
    return [np.mean([100 * (e[m, t] - e[m, 0]) / (e[0, t] - e[0, 0]) for t in tests]) for m in range(1, len(a))]


def test_balance_over_seeds_by_hand():
    table = random_accuracies(4, seeds=3)
    found = balance(table, table.corruptions)
    each = np.array([mces_by_hand(a, [1, 2, 3, 4]) for a in table.values])
    assert list(found.mces.values()) == pytest.approx(each.mean(axis=0), abs=1e-9)
    for score, values in ((found.range, each.max(axis=1) - each.min(axis=1)), (found.std, each.std(axis=1))):
        low, high = stats.t.interval(0.95, 2, values.mean(), stats.sem(values))
        assert (score.value, score.low, score.high) == pytest.approx((values.mean(), max(low, 0), high), abs=1e-9)
        assert (score.n, score.interval) == (3, "Student t over seeds 95 %, 3 seeds")


def test_balance_over_images_is_mirrored():
    """Noise drives models apart, so resamples exceed the value by as much as the value the truth."""
    table, resampling = random_accuracies(3, images=80), Resampling(count=40)
    found = balance(table, table.corruptions, resampling=resampling)
    draw = np.random.default_rng([0, 0])
    resampled = [table.hits[0][..., draw.integers(0, 80, 80)].mean(axis=-1) for _ in range(40)]
    each = [np.ptp(mces_by_hand(a, [1, 2, 3])) for a in resampled]
    value = np.ptp(mces_by_hand(table.values[0], [1, 2, 3]))
    low, high = 2 * value - np.quantile(each, [0.975, 0.025])
    assert found.range.value == pytest.approx(value, abs=1e-9)
    assert (found.range.low, found.range.high) == pytest.approx((max(low, 0), high), abs=1e-9)
    assert found.range.n == 80


@pytest.mark.parametrize("harm", [0.009, 0, -0.02])
def test_a_corruption_that_hardly_harms_is_left_out(harm):
    table = random_accuracies(3)
    values = table.values.copy()
    values[0, 0, 2] = values[0, 0, 0] - harm
    found = balance(replace(table, values=values), table.corruptions)
    assert list(found.mces) == list(table.corruptions)  # its model stays
    assert list(found.mces.values()) == pytest.approx(mces_by_hand(values[0], [1, 3]), abs=1e-9)
    assert found.range.note.endswith("left out, as they hardly harm it: mine/c1")
    values[0, 0, 1:] = values[0, 0, 0]
    with pytest.raises(ValueError, match=r"raises the error of the reference by 0\.01 or more"):
        balance(replace(table, values=values), table.corruptions)


@pytest.mark.parametrize(("suite", "table"), [("imagenet-c", TABLE_7), ("imagenet-noc", TABLE_8)])
def test_corruption_errors_are_the_cells_of_tables_7_and_8(suite, table):
    accuracies = published(suite, table)
    found = ce_table(accuracies, accuracies.corruptions, reference=ALEXNET[suite])
    cells = found.pivot(index="model", columns="corruption", values="value")
    for name, (_, row, _) in zip(accuracies.trained_on, read(table).values(), strict=True):
        np.testing.assert_allclose(cells.loc[name, list(accuracies.corruptions)], row, rtol=0, atol=1e-9)
        assert cells.loc[name, "all"] == pytest.approx(row.mean(), abs=1e-9)


@pytest.mark.parametrize("reference", [None, "mine/c2"])
def test_corruption_errors_against_a_model_of_the_table_by_hand(reference):
    table = random_accuracies(3, seeds=3)
    models = ["mine/c1", "standard"]
    found = ce_table(table, table.corruptions, models, reference)
    tests = (*table.corruptions, "all")
    assert found[["model", "corruption"]].values.tolist() == [[model, test] for model in models for test in tests]

    def rises(model: str) -> np.ndarray:
        return np.stack([table.of(model, "clean") - table.of(model, name) for name in table.corruptions], axis=1)

    for model in models:
        each = 100 * rises(model) / rises(reference or "standard")
        lines = found[found.model == model]
        for line, values in zip(lines.itertuples(), [*each.T, each.mean(axis=1)], strict=True):
            expected = values.mean(), values.mean()
            if np.ptp(values) > 1e-9:
                expected = stats.t.interval(0.95, 2, values.mean(), stats.sem(values))
            assert line.value == pytest.approx(values.mean(), abs=1e-9)
            assert (line.low, line.high) == pytest.approx(expected, abs=1e-9)
    if reference is not None:
        found = balance(table, table.corruptions, reference)
        assert found.mces["mine/c2"] == pytest.approx(100, abs=1e-9)
        assert found.range.note == "mCE against the model of mine/c2 of the table"


def test_corruption_errors_of_what_hardly_harms_are_nan():
    table = random_accuracies(3, images=60)
    values, hits = table.values.copy(), table.hits.copy()
    hits[0, 0, 2] = hits[0, 0, 0]
    values[0, 0, 2] = values[0, 0, 0]
    found = ce_table(replace(table, values=values, hits=hits), table.corruptions, resampling=Resampling(count=20))
    left_out = found.corruption == "mine/c1"
    assert found[left_out][["value", "low", "high"]].isna().all(axis=None)
    assert found[~left_out].value.notna().all()
    assert found.note.iloc[0].endswith("left out, as they hardly harm it: mine/c1")


def test_bad_benchmarks_and_references_are_refused():
    table = random_accuracies(2)
    with pytest.raises(ValueError, match="got none"):
        balance(table, [])
    with pytest.raises(ValueError, match="no model trained with 'mine/c9'"):
        balance(table, ["mine/c9"])
    with pytest.raises(ValueError, match="the reference lacks c1; it names c0"):
        balance(table, table.corruptions, Reference({"c0": 0.5}, clean=0.1))
    with pytest.raises(ValueError, match="needs the reference's clean error"):
        balance(table, table.corruptions, Reference({"c0": 0.5, "c1": 0.5}))
    with pytest.raises(ValueError, match="the spread of no numbers"):
        spread([])


# --- agreement ------------------------------------------------------------------------------------------------------


def test_agreement_by_hand():
    one, two = (overlaps(random_accuracies(8, seed=seed)) for seed in (0, 1))
    found = agreement(one, two, threshold=0.3)
    x, y = (m.values[np.triu_indices(8, 1)] for m in (one, two))
    assert found.pairs == 28
    assert found.pearson == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-12)
    assert found.spearman == pytest.approx(stats.spearmanr(x, y)[0], abs=1e-12)
    assert (found.mean_difference, found.largest_difference) == (np.abs(x - y).mean(), np.abs(x - y).max())
    a, b = found.largest_pair
    assert abs(one.score(a, b).value - two.score(a, b).value) == found.largest_difference
    assert found.same_side == np.mean((x < 0.3) == (y < 0.3))
    assert 0 < found.same_side < 1


def test_matrices_are_compared_on_what_both_have():
    one = matrix([[1, 0.5, 0.1, 0], [0.5, 1, 0.2, 0], [0.1, 0.2, 1, 0], [0, 0, 0, 1]])
    two = one.take(["c", "b", "a"])
    found = agreement(one, two)
    assert (found.pairs, found.pearson, found.largest_difference, found.same_side) == (3, pytest.approx(1), 0, 1)
    empty = np.nan
    without = matrix([[1, 0.5, empty], [0.5, 1, empty], [empty] * 3])
    found = agreement(one, without)
    assert (found.pairs, found.mean_difference) == (1, 0)
    assert np.isnan([found.pearson, found.spearman]).all()  # of one pair
    with pytest.raises(ValueError, match="at least two; they share 1"):
        agreement(one, one.take(["a"]))


def test_the_two_definitions_agree_on_imagenet_c():
    """Robustness scores or accuracies: the same picture, but not the same numbers."""
    table = published("imagenet-c", TABLE_7)
    found = agreement(overlaps(table), overlaps(table, use="accuracy"))
    assert found.pearson > 0.95
    assert 0.2 < found.largest_difference < 0.3
    assert str(found).startswith("105 pairs: Pearson 0.98, Spearman 0.95; mean difference 0.03, largest 0.27 (")
