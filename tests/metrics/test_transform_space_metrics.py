"""MSD, MMD, the table of distances, rank correlations over schemes, and the order of the closest transforms."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from scuff.metrics import Distances, closest_order, mmd, msd, read_distances, scheme_correlations
from scuff.metrics.transform_space import nearness

CELLS = (("a/fog", 1), ("a/fog", 2), ("b/rain", None))


def made(schemes: int = 6, resamplings: int = 3, seed: int = 0) -> Distances:
    values = np.random.default_rng(seed).uniform(1, 9, (2, resamplings, schemes, len(CELLS)))
    return Distances(tuple(f"scheme{k}" for k in range(schemes)), CELLS, *values)


def made_errors(distances: Distances, seeds=(0, 1), seed: int = 5) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        [
            {"scheme": scheme, "seed": s, "corruption": name, "severity": severity or 0, "error": draw.uniform(0, 1)}
            for scheme in distances.schemes
            for s in seeds
            for name, severity in distances.cells
        ]
    )


# --- distances ------------------------------------------------------------------------------------------------------


def test_msd_and_mmd_are_their_definitions(monkeypatch):
    monkeypatch.setattr(nearness, "BLOCK", 70)  # ten features at a time
    draw = np.random.default_rng(0)
    features, centres = draw.normal(size=(103, 5)), draw.normal(size=(7, 5))
    plain = [[math.dist(f, c) for f in features] for c in centres]
    np.testing.assert_allclose(msd(features, centres), np.min(plain, axis=1), rtol=1e-14)
    middle = [math.fsum(column) / 103 for column in features.T]
    np.testing.assert_allclose(mmd(features, centres), [math.dist(middle, c) for c in centres], rtol=1e-13)


def test_msd_is_zero_at_a_feature_whatever_the_scale():
    """Differences before squares: |f|² - 2 f c + |c|² would lose all digits here."""
    features = 1e6 + np.random.default_rng(1).normal(size=(50, 8)).astype(np.float32)
    assert msd(features, features[[7, 9]]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("features", "centres", "what"),
    [
        (np.zeros((0, 3)), np.zeros((2, 3)), r"at least one transform .* got \(0, 3\) and \(2, 3\)"),
        (np.zeros((4, 3)), np.zeros((2, 2)), "the same D"),
        (np.zeros(3), np.zeros((2, 3)), "the same D"),
        (np.full((4, 3), np.nan), np.zeros((2, 3)), "the features hold values that are not finite"),
        (np.zeros((4, 3)), np.full((2, 3), np.inf), "the centres hold values that are not finite"),
    ],
)
def test_features_that_make_no_sense_are_refused(features, centres, what):
    for distance in (msd, mmd):
        with pytest.raises(ValueError, match=what):
            distance(features, centres)


def test_means_and_spreads_of_a_table():
    table = made()
    assert table.resamplings == 3
    assert table.corruptions == ("a/fog", "b/rain")
    np.testing.assert_allclose(table.mean("mmd")[2, 1], np.mean([table.mmd[r, 2, 1] for r in range(3)]), rtol=1e-15)
    np.testing.assert_allclose(table.spread("msd")[4, 0], np.std(table.msd[:, 4, 0], ddof=1), rtol=1e-15)
    relative = [np.std(x, ddof=1) / np.mean(x) for x in table.msd.reshape(3, -1).T]
    assert table.relative_spread("msd") == pytest.approx(np.mean(relative), rel=1e-14)
    by = table.by_corruption("msd")
    assert by.loc["scheme3", "a/fog"] == pytest.approx(table.msd[:, 3, :2].mean(), rel=1e-14)
    assert by.loc["scheme3", "b/rain"] == pytest.approx(table.msd[:, 3, 2].mean(), rel=1e-14)


def test_one_resampling_has_no_spread_and_pairs_without_distance_none_either():
    once = made(resamplings=1)
    assert np.isnan(once.spread("mmd")).all()
    assert math.isnan(once.relative_spread("mmd"))
    values = np.array([[[0.0, 2.0]], [[0.0, 4.0]]])
    some = Distances(("none",), (("a/fog", 1), ("a/fog", 2)), values, np.zeros_like(values))
    assert some.relative_spread("msd") == pytest.approx(math.sqrt(2) / 3, rel=1e-15)
    assert math.isnan(some.relative_spread("mmd"))


def test_a_file_gives_the_table_back(tmp_path):
    """A scheme may be called what pandas takes for a missing value. Some versions read numbers to an ulp only."""
    table = made()
    table = Distances(("None", "NA", "null", "nan", "none", "powerset:3"), CELLS, table.msd, table.mmd)
    table.to_frame().to_csv(tmp_path / "distances.csv", index=False)
    for source in (tmp_path / "distances.csv", table.to_frame()):
        again = read_distances(source)
        assert (again.schemes, again.cells) == (table.schemes, table.cells)
        np.testing.assert_allclose(again.msd, table.msd, rtol=3e-16)
        np.testing.assert_allclose(again.mmd, table.mmd, rtol=3e-16)
    assert list(table.to_frame()) == ["resampling", "scheme", "corruption", "severity", "mmd", "msd"]


def test_lines_may_be_in_any_order_and_resampling_absent():
    frame = made(resamplings=1).to_frame()
    shuffled = read_distances(frame.drop(columns="resampling").sample(frac=1, random_state=0)).to_frame()
    keys = ["scheme", "corruption", "severity"]
    pd.testing.assert_frame_equal(
        shuffled.sort_values(keys, ignore_index=True), frame.sort_values(keys, ignore_index=True)
    )


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda f: f.drop(columns="msd"), "missing: msd"),
        (lambda f: f[:0], "the table of distances is empty"),
        (lambda f: pd.concat([f, f[:1]]), "occurs twice: resampling 0, scheme scheme0, corruption a/fog, severity 1"),
        (lambda f: f[1:], "1 of 54 distances are missing, the first for resampling 0, scheme scheme0"),
        (lambda f: f.assign(msd="far"), "the column msd must hold numbers, got 'far'"),
        (lambda f: f.assign(severity=0.5), "the column severity must hold whole numbers"),
        (lambda f: f.assign(msd=-1.0), "numbers from 0 upwards, got the msd -1.0 for scheme0 and a/fog 1"),
    ],
)
def test_tables_that_make_no_sense_are_refused(change, what):
    with pytest.raises(ValueError, match=what):
        read_distances(change(made().to_frame()))


def test_a_distance_of_another_kind_is_refused():
    with pytest.raises(ValueError, match="a distance is msd or mmd, got 'l2'"):
        made().mean("l2")
    with pytest.raises(
        ValueError, match=r"expected mmd \(resamplings, schemes, cells\) = \(R, 1, 1\), got \(2, 1, 1\)"
    ):
        Distances(("a",), (("a/fog", 1),), np.ones((1, 1, 1)), np.ones((2, 1, 1)))


# --- correlations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", ["msd", "mmd"])
def test_correlations_are_those_of_scipy(distance):
    table = made(schemes=40)
    errors = made_errors(table)
    clean = errors.assign(corruption="clean", severity=0, error=0.1)
    found = scheme_correlations(table, pd.concat([errors, clean]), distance=distance).set_index("corruption")
    assert found.index.tolist() == ["a/fog", "b/rain"]
    for name in found.index:
        mean = errors[errors["corruption"] == name].groupby("scheme", sort=False)["error"].mean()
        wanted = stats.spearmanr(table.by_corruption(distance)[name], mean.loc[list(table.schemes)])
        assert found.loc[name, "rho"] == pytest.approx(wanted.statistic, rel=1e-12)
        assert found.loc[name, "p_value"] == pytest.approx(wanted.pvalue, rel=1e-10)
        assert found.loc[name, "schemes"] == 40
        assert found.loc[name, "note"] == ""
        assert -1 < found.loc[name, "low"] < found.loc[name, "rho"] < found.loc[name, "high"] < 1


def test_ranks_share_ties_and_intervals_hold_what_they_promise():
    """Of two normal variables with correlation r, Spearman's is 6/pi asin(r/2); 95 % intervals of 80 tries hold it 76
    times in the mean, with a deviation of 1.9; the bootstrap's are a little narrow."""
    draw, hits, r = np.random.default_rng(3), 0, 0.7
    truth = 6 / math.pi * math.asin(r / 2)
    for number in range(80):
        x, noise = draw.normal(size=(2, 60))
        y = r * x + math.sqrt(1 - r * r) * noise
        table = Distances(tuple(map(str, range(60))), (("a/fog", 1),), np.exp(x)[None, :, None], np.ones((1, 60, 1)))
        errors = pd.DataFrame({"scheme": list(table.schemes), "corruption": "a/fog", "severity": 1})
        found = scheme_correlations(table, errors.assign(error=stats.norm.cdf(y)), resamples=200, seed=number).iloc[0]
        hits += found["low"] <= truth <= found["high"]
    assert 69 <= hits <= 79
    tied = Distances(
        tuple("abcdef"), (("a/fog", 1),), np.array([1.0, 1, 2, 2, 3, 3])[None, :, None], np.ones((1, 6, 1))
    )
    errors = pd.DataFrame({"scheme": list("abcdef"), "corruption": "a/fog", "severity": 1})
    errors["error"] = [0.1, 0.2, 0.2, 0.2, 0.9, 0.3]
    wanted = stats.spearmanr(tied.msd.ravel(), errors["error"]).statistic
    assert scheme_correlations(tied, errors)["rho"][0] == pytest.approx(wanted, rel=1e-14)


def test_a_correlation_may_count_some_schemes_only():
    table = made(schemes=9)
    errors = made_errors(table)
    some = list(table.schemes[7:1:-1])
    found = scheme_correlations(table, errors, schemes=[*some, some[0]])  # each once
    assert set(found["schemes"]) == {6}
    for name, rho in zip(found["corruption"], found["rho"], strict=True):
        mean = errors[errors["corruption"] == name].groupby("scheme", sort=False)["error"].mean()
        wanted = stats.spearmanr(table.by_corruption("msd")[name].loc[some], mean.loc[some]).statistic
        assert rho == pytest.approx(wanted, rel=1e-12)
    with pytest.raises(ValueError, match="there are no distances of augmix; there are scheme0"):
        scheme_correlations(table, errors, schemes=["augmix"])


def test_p_values_of_few_schemes_count_all_orders():
    """Of 120 orders of five, two are perfect, where Student's t would say 0."""
    table = Distances(tuple("abcde"), (("a/fog", 1),), np.arange(5.0)[None, :, None], np.ones((1, 5, 1)))
    errors = pd.DataFrame({"scheme": list("abcde"), "corruption": "a/fog", "severity": 1})
    found = scheme_correlations(table, errors.assign(error=np.arange(5) / 5)).iloc[0]
    assert found["rho"] == 1
    assert found["p_value"] == pytest.approx(2 / 120, rel=1e-12)


def test_what_has_no_order_says_so():
    table = made(schemes=5)
    errors = made_errors(table)
    few = errors[errors["scheme"] != "scheme4"]
    found = scheme_correlations(table, few)
    assert found["rho"].isna().all()
    assert found["note"][0] == (
        "without scheme4, of which there are no errors; a rank correlation needs at least 5 schemes, there are 4"
    )
    same = errors.assign(error=errors["error"].where(errors["corruption"] != "a/fog", 0.5))
    found = scheme_correlations(table, same)
    assert found["note"][0] == "the error is the same for all schemes, which have no order then"
    assert np.isnan(found["rho"][0])
    assert np.isfinite(found["rho"][1])
    flat = Distances(table.schemes, table.cells, np.ones_like(table.msd), table.mmd)
    assert "the MSD is the same for all schemes" in scheme_correlations(flat, errors)["note"][1]


def test_resamples_without_an_order_are_counted():
    """Of five schemes one differs: a third of all resamples, (4/5)^5, leave it out."""
    table = Distances(tuple("abcde"), (("a/fog", 1),), np.array([1.0, 1, 1, 1, 2])[None, :, None], np.ones((1, 5, 1)))
    errors = pd.DataFrame(
        {"scheme": list("abcde"), "corruption": "a/fog", "severity": 1, "error": [0, 0.1, 0.2, 0.3, 1]}
    )
    note = scheme_correlations(table, errors)["note"][0]
    assert note.endswith("of 2000 resamples of schemes have no order and are left out")
    assert 580 < int(note.split()[0]) < 740  # 656 in the mean, with a deviation of 21


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda e: e.drop(columns="error"), "missing: error"),
        (lambda e: e.assign(error=26.9), "errors are shares from 0 to 1, got 26.9 of scheme0 on a/fog"),
        (lambda e: e[e["severity"] != 2], "6 of 18 errors are missing, the first of scheme0 on a/fog 2"),
        (lambda e: e.assign(scheme="other"), "no scheme has both distances and errors"),
        (lambda e: e.assign(corruption="a/haze"), "18 of 18 errors are missing"),
    ],
)
def test_errors_that_do_not_fit_are_refused(change, what):
    table = made()
    with pytest.raises(ValueError, match=what):
        scheme_correlations(table, change(made_errors(table)))


# --- the order of the closest ---------------------------------------------------------------------------------------


def plain_order(distances: np.ndarray) -> list[int]:
    """Appendix B, step 3, word by word."""
    columns = [sorted(range(len(distances)), key=lambda t, k=k: distances[t, k]) for k in range(distances.shape[1])]
    found = []
    for rank in range(len(distances)):
        at_rank = [(distances[column[rank], k], column[rank]) for k, column in enumerate(columns)]
        for _, transform in sorted(at_rank, key=lambda one: one[0]):
            if transform not in found:
                found.append(transform)
    return found


@pytest.mark.parametrize(("transforms", "corruptions"), [(1, 1), (40, 1), (1, 9), (60, 7), (25, 40)])
def test_the_closest_come_first(transforms, corruptions):
    draw = np.random.default_rng(transforms)
    for distances in (draw.uniform(size=(transforms, corruptions)), draw.integers(0, 4, (transforms, corruptions))):
        order = closest_order(distances)
        assert order.tolist() == plain_order(distances)
        assert sorted(order.tolist()) == list(range(transforms))


def test_an_order_needs_distances():
    with pytest.raises(ValueError, match=r"expected finite distances \(transforms, corruptions\)"):
        closest_order(np.array([[1.0, np.nan]]))
