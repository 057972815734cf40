"""The most predictive benchmark: found where there is one, and a warning where there is none."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from scuff.design import Predictive, find_predictive
from scuff.design.validity import predictive
from scuff.design.validity import search as predictive_search
from scuff.design.validity.predictive import split_models
from scuff.metrics import Shifts, complete_shifts

NATURAL = ("n0", "n1")


def make_shifts(lost: np.ndarray, natural: np.ndarray, families=None) -> Shifts:
    """Models that lose so much to corruptions x/c0, x/c1, ... and to the natural shifts n0 and n1."""
    index = [f"m{k}" for k in range(len(lost))]
    corrupted = pd.DataFrame(0.9 - lost, index, [f"x/c{k}" for k in range(lost.shape[1])])
    shifted = pd.DataFrame(0.9 - natural, index, NATURAL[: natural.shape[1]])
    families = None if families is None else pd.Series(families, index)
    return complete_shifts(pd.Series(0.9, index), corrupted, shifted, families=families)


def planted_shifts(models: int, seed: int = 0, noise: float = 0.5) -> Shifts:
    """Nature asks for the traits that x/c1, x/c4 and x/c6 measure, of eight."""
    draw = np.random.default_rng(seed)
    traits = draw.normal(0, 1, (models, 8))
    natural = traits[:, [1, 4, 6]].sum(axis=1, keepdims=True) + draw.normal(0, noise * np.sqrt(3), (models, 2))
    return make_shifts(0.45 + 0.03 * traits, 0.45 + 0.03 * natural)


def noisy_shifts(models: int = 60, seed: int = 0, families=None) -> Shifts:
    """Corruptions that have nothing to do with natural shifts."""
    draw = np.random.default_rng(seed)
    return make_shifts(draw.uniform(0, 0.8, (models, 10)), draw.uniform(0, 0.8, (models, 2)), families)


def mean_correlation(shifts: Shifts, members, models=slice(None)) -> float:
    x, y = (table.iloc[models] for table in (shifts.synthetic_residuals(), shifts.natural_residuals()))
    mean = x[list(members)].mean(axis=1)
    return float(np.mean([np.corrcoef(mean, y[name])[0, 1] for name in y]))


def best_of_all(shifts: Shifts, size: int, models=slice(None)) -> tuple[str, ...]:
    return max(
        itertools.combinations(shifts.corrupted, size), key=lambda members: mean_correlation(shifts, members, models)
    )


def test_a_planted_benchmark_is_found_and_its_score_is_honest():
    found = find_predictive(planted_shifts(150), 3)
    assert found.members == ("x/c1", "x/c4", "x/c6")
    assert (found.warning, found.exact, found.natural) == ("", True, NATURAL)
    truth = 1 / np.sqrt(1 + 0.5**2)  # signal of variance 3, noise of variance 0.25 * 3
    assert found.held_out.value == pytest.approx(truth, abs=0.02)  # the error over 150 models: (1 - r²) / √150 = 0.016
    assert found.held_out.low < truth < found.held_out.high
    assert min(found.gain.low, found.gain_over_whole.low) > 0
    assert found.drop.low < 0 < found.drop.high  # the same members in every part: nothing is owed to choosing
    assert found.stability > 0.95
    assert found.whole.value == pytest.approx(
        truth * np.sqrt(3 / 8), abs=0.1
    )  # five of eight traits are beside the point


@pytest.mark.parametrize("seed", [1, 2])
def test_a_choice_that_fits_noise_has_a_warning_with_its_numbers(seed):
    found = find_predictive(noisy_shifts(seed=seed), 3)
    assert found.chosen.low > 0  # chosen among 120 benchmarks, it looks like something
    assert found.gain.low <= 0 < found.drop.low
    assert "random benchmarks of its size: on held-out models" in found.warning
    assert "It merely fits the models that chose it: " in found.warning
    for score in (found.gain, found.drop):
        assert f"{score.value:.2f}, from {score.low:.2f} to {score.high:.2f}" in found.warning
    for number in (found.chosen.value, found.held_out.value, found.random.value):
        assert f"{number:.2f}" in found.warning
    assert found.warning.startswith("worse than" if found.gain.high < 0 else "not shown to be better than")
    assert found.stability < 0.9


def test_equally_good_columns_are_no_overfitting_but_not_worth_a_search_either():
    """Ten measures of one trait: whichever is chosen predicts new models well, and so do random ones."""
    draw = np.random.default_rng(0)
    trait = draw.normal(size=(60, 1))
    lost, natural = (trait + share * draw.normal(size=(60, count)) for share, count in ((0.3, 10), (0.5, 2)))
    found = find_predictive(make_shifts(0.45 + 0.03 * lost, 0.45 + 0.03 * natural), 3)
    assert found.held_out.low > 0.5
    assert found.gain.low <= 0 <= found.gain.high
    assert found.warning.startswith("not shown to be better than random benchmarks of its size")
    assert "merely fits" not in found.warning


def test_a_drop_alone_is_no_warning():
    """Of a planted signal in few models some is lost on new ones, but most of the advantage stays."""
    found = find_predictive(planted_shifts(60, noise=1.5), 3)
    assert found.drop.value > 0.02
    assert found.gain.low > 0
    assert found.warning == ""


def test_a_gain_that_is_shown_but_mostly_gone_has_a_warning():
    """Each of 24 columns tells a little of nature: those chosen are better than others, but seem better still."""
    draw = np.random.default_rng(22)  # a sample in which both are shown; in most, one of the two is not
    lost = draw.normal(size=(300, 24))
    natural = (lost @ np.abs(draw.normal(size=24)))[:, None] + draw.normal(0, 12, (300, 2))
    found = find_predictive(make_shifts(0.45 + 0.03 * lost, 0.45 + 0.005 * natural), 4, repeats=5)
    assert min(found.gain.low, found.drop.low) > 0
    assert found.warning.startswith("most of what the choice seemed to gain is gone on held-out models: ")
    for score in (found.gain, found.drop):
        assert f"{score.value:.2f}, from {score.low:.2f} to {score.high:.2f}" in found.warning
    for score in (found.chosen, found.held_out):
        assert f" is {score.value:.2f}" in found.warning


@pytest.mark.parametrize(
    ("gain", "drop", "starts", "has", "has_not"),
    [
        ((0.3, 0.2, 0.4), (0.1, 0.05, 0.15), "", "", "models"),
        ((0.2, 0.1, 0.3), (0.2, -0.1, 0.5), "", "", "models"),  # half is gone, but that may be chance
        (
            (0.2, 0.1, 0.3),
            (0.2, 0.1, 0.3),
            "most of what the choice seemed to gain is gone",
            "gain 0.20, from 0.10 to 0.30",
            "merely",
        ),
        ((0.3, -0.1, 0.7), (0.1, 0.05, 0.15), "not shown to be better than", "", "chose it"),
        ((0.1, -0.1, 0.3), (0.3, 0.2, 0.4), "not shown to be better than", ". It merely fits", "most of"),
        ((-0.2, -0.3, -0.1), (0.6, 0.5, 0.7), "worse than random", ". It merely fits", "most of"),
    ],
)
def test_warnings_of_chance_and_of_fit_are_two_things(gain, drop, starts, has, has_not):
    found = find_predictive(noisy_shifts(40), 2, repeats=1)
    gain, drop = (replace(found.gain, value=value, low=low, high=high) for value, low, high in (gain, drop))
    warning = predictive._warn(replace(found, gain=gain, drop=drop), 0.4)
    assert warning.startswith(starts)
    assert bool(warning) == bool(starts)
    assert has in warning
    assert has_not not in warning
    assert ("0.40 above that of random ones" in warning) == ("that chose" in warning)


def test_all_benchmarks_are_tried():
    shifts = noisy_shifts(40)
    for size in (1, 2, 4):
        found = find_predictive(shifts, size, repeats=1)
        assert found.members == best_of_all(shifts, size)
        assert found.fitted == pytest.approx(mean_correlation(shifts, found.members), abs=1e-12)


def test_scores_are_those_of_a_plain_cross_validation():
    shifts = noisy_shifts(40)
    found = find_predictive(shifts, 2, folds=4, repeats=2, seed=5)
    parts = split_models(shifts, 4, 2, np.random.default_rng(5))
    chosen = [best_of_all(shifts, 2, np.flatnonzero(~part)) for part in parts]
    values = [mean_correlation(shifts, *pair) for pair in zip(chosen, map(np.flatnonzero, parts), strict=True)]
    assert found.held_out.value == pytest.approx(np.mean(values), abs=1e-12)
    half = stats.t.ppf(0.975, 7) * np.sqrt((1 / 8 + 10 / 30) * np.var(values, ddof=1))
    assert found.held_out.high - found.held_out.value == pytest.approx(half, abs=1e-12)
    whole = [mean_correlation(shifts, shifts.corrupted, np.flatnonzero(part)) for part in parts]
    assert found.whole.value == pytest.approx(np.mean(whole), abs=1e-12)
    pairs = list(itertools.combinations(shifts.corrupted, 2))
    all_pairs = np.mean([[mean_correlation(shifts, pair, np.flatnonzero(part)) for pair in pairs] for part in parts])
    # 1000 draws of 45 pairs, whose correlations differ by about 0.15: an error of 0.005 at most
    assert found.random.value == pytest.approx(all_pairs, abs=0.015)
    assert found.gain.value == pytest.approx(found.held_out.value - found.random.value, abs=1e-12)
    training = [mean_correlation(shifts, *pair) for pair in zip(chosen, map(np.flatnonzero, ~parts), strict=True)]
    assert found.chosen.value == pytest.approx(np.mean(training), abs=1e-12)
    for score, differences in {
        found.drop: np.subtract(training, values),
        found.gain_over_whole: np.subtract(values, whole),
    }.items():
        assert score.value == pytest.approx(np.mean(differences), abs=1e-12)
        half = stats.t.ppf(0.975, 7) * np.sqrt((1 / 8 + 10 / 30) * np.var(differences, ddof=1))
        assert score.high - score.value == pytest.approx(half, abs=1e-12)
    assert found.stability == np.mean([len({*found.members} & {*members}) / 2 for members in chosen])


@pytest.mark.parametrize("seed", range(4))
def test_climbing_finds_what_trying_all_finds(monkeypatch, seed):
    draw = np.random.default_rng(seed)
    common = draw.normal(0, 1, (60, 3)) @ draw.normal(0, 1, (3, 12))  # corruptions that are related, as real ones are
    lost = 0.45 + 0.02 * (common + draw.normal(0, 1, (60, 12)))
    shifts = make_shifts(lost, 0.45 + 0.02 * (common[:, :2] + draw.normal(0, 1, (60, 2))))
    exact = [find_predictive(shifts, size, repeats=1) for size in (3, 6)]
    monkeypatch.setattr(predictive_search, "MOST_PRODUCTS", 0)
    climbed = [find_predictive(shifts, size, repeats=1) for size in (3, 6)]
    assert [one.exact for one in (*exact, *climbed)] == [True, True, False, False]
    assert [one.members for one in climbed] == [one.members for one in exact]
    assert [one.fitted for one in climbed] == pytest.approx([one.fitted for one in exact], abs=1e-12)


def test_the_same_seed_gives_the_same_result():
    shifts = noisy_shifts(40)
    first, again, other = (find_predictive(shifts, 3, repeats=2, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert other.members == first.members
    assert other.held_out.value != first.held_out.value


def test_few_models_make_fewer_folds_and_then_an_error():
    draw = np.random.default_rng
    assert split_models(noisy_shifts(60), 5, 3, draw(0)).sum(axis=1).tolist() == [12] * 15
    assert split_models(noisy_shifts(38), 5, 2, draw(0)).sum(axis=1).tolist() == [13, 13, 12] * 2
    parts = split_models(noisy_shifts(20), 5, 2, draw(0))
    assert parts.sum(axis=1).tolist() == [10] * 4
    assert parts.sum(axis=0).tolist() == [2] * 20  # held out once in each repeat
    with pytest.raises(ValueError, match="at least 20 are needed; there are 19"):
        find_predictive(noisy_shifts(19), 3)


def test_families_stay_together():
    families = [f"f{k // 5}" for k in range(60)]
    parts = split_models(noisy_shifts(60, families=families), 5, 4, np.random.default_rng(0))
    assert (parts.reshape(-1, 12, 5).all(axis=2) == parts.reshape(-1, 12, 5).any(axis=2)).all()
    assert parts.sum(axis=1).min() >= 10
    assert len(np.unique(parts, axis=0)) > 5  # another deal in each repeat
    with pytest.raises(ValueError, match="there are 60 in 2 families that stay together"):
        find_predictive(noisy_shifts(60, families=["a"] * 55 + ["b"] * 5), 3)


def test_families_of_very_unequal_sizes():
    sizes = [37, 25, 18, 17, 14, 12, 12, 10, 8, 8, 7, 6, 5, 4, 4, 4, 3]
    family = np.repeat(np.arange(len(sizes)), sizes)
    shifts = replace(planted_shifts(194), families=pd.Series(family, [f"m{k}" for k in range(194)]).astype(str))
    parts = split_models(shifts, 5, 20, np.random.default_rng(0))
    for one in range(len(sizes)):
        its = parts[:, family == one]
        assert (its.all(axis=1) == its.any(axis=1)).all()
    held_out = parts.sum(axis=1)
    assert held_out.reshape(20, 5).sum(axis=1).tolist() == [194] * 20
    assert held_out.min() >= 20  # 194 / 5 = 39, and the largest family has 37
    assert held_out.max() <= 80
    assert find_predictive(shifts, 3, repeats=4).members == ("x/c1", "x/c4", "x/c6")
    # one family of 150 and 44 models on their own: where it is held out, some of the 44 choose
    family = ["large"] * 150 + [f"f{k}" for k in range(44)]
    shifts = replace(shifts, families=pd.Series(family, shifts.clean.index))
    parts = split_models(shifts, 5, 3, np.random.default_rng(0))
    assert sorted(parts.sum(axis=1).tolist())[-3:] == [154] * 3  # with those that were dealt before it
    found = find_predictive(shifts, 3, repeats=3)
    assert found.members == ("x/c1", "x/c4", "x/c6")
    assert found.warning == ""


def test_intervals_of_correlations_end_at_one():
    draw = np.random.default_rng(0)
    trait = draw.normal(size=(20, 1))
    lost = 0.45 + 0.03 * (trait + 0.1 * draw.normal(size=(20, 6)))
    natural = 0.45 + 0.03 * trait + np.where(np.arange(20) == 3, 0.2, 0)[:, None]  # one model far off
    found = find_predictive(make_shifts(lost, natural), 2, repeats=3)
    assert found.held_out.value - found.held_out.low > 0.5  # as far as that it would go up, too
    assert found.held_out.high == found.random.high == found.whole.high == found.chosen.high == 1


def test_families_that_are_copies_do_not_pass_for_new_models():
    """Six copies of each model: a choice that fits noise fits the copies as well, unless they are held out with it."""
    few = noisy_shifts(20, seed=3)
    tables = {name: pd.concat([getattr(few, name)] * 6, ignore_index=True) for name in ("corrupted", "natural")}
    copies = make_shifts(0.9 - tables["corrupted"].to_numpy(), 0.9 - tables["natural"].to_numpy())
    fooled = find_predictive(copies, 3, repeats=5)
    families = pd.Series([f"f{k % 20}" for k in range(120)], copies.clean.index)
    honest = find_predictive(replace(copies, families=families), 3, repeats=5)
    assert fooled.warning == ""
    assert honest.warning != ""


def test_candidates_and_natural_benchmarks_can_be_chosen():
    shifts = planted_shifts(100)
    found = find_predictive(shifts, 2, candidates=["x/c6", "x/c4", "x/c0"], natural=["n1"], repeats=2)
    assert (found.members, found.natural) == (("x/c4", "x/c6"), ("n1",))
    scores = pd.DataFrame({"flips": 1 - shifts.natural["n0"]})
    with_score = replace(shifts, scores=scores)  # predicts perfectly, but is no corruption
    assert "flips" not in find_predictive(with_score, 3, repeats=2).members
    assert find_predictive(with_score, 1, candidates=["flips", "x/c1"], repeats=2).members == ("flips",)


def test_columns_that_do_not_vary():
    shifts = planted_shifts(60)
    still = replace(shifts, corrupted=shifts.corrupted.assign(**{"x/c0": 0.5}))
    assert find_predictive(still, 3, repeats=2).members == ("x/c1", "x/c4", "x/c6")
    with pytest.raises(ValueError, match="lose the same to n1"):
        find_predictive(replace(shifts, natural=shifts.natural.assign(n1=0.5)), 3)
    with pytest.raises(ValueError, match="no candidate differs"):
        find_predictive(replace(shifts, corrupted=shifts.corrupted * 0 + 0.5), 3)


@pytest.mark.parametrize("products", [predictive_search.MOST_PRODUCTS, 0])
def test_parts_of_the_models_over_which_nature_does_not_vary(monkeypatch, products):
    monkeypatch.setattr(predictive_search, "MOST_PRODUCTS", products)
    shifts = noisy_shifts(60)
    odd = shifts.natural.assign(n1=np.where(np.arange(60) == 7, 0.2, 0.5))  # one model of 60 differs
    found = find_predictive(replace(shifts, natural=odd), 2, repeats=2)
    assert np.isfinite([found.held_out.low, found.gain.high]).all()  # n0 varies in every part
    assert found.held_out.note == ""
    alone = find_predictive(replace(shifts, natural=odd[["n1"]], references=shifts.references[["n1"]]), 2, repeats=2)
    # where that model is held out, nothing could be chosen, and elsewhere nothing can be said of the choice
    assert np.isnan(alone.held_out.value)
    assert "10 of 10 held-out parts have no correlation" in alone.held_out.note
    assert alone.warning.startswith("nothing tells whether it is better than random benchmarks of its size: 10 of 10")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "at least 1 and less than the number of candidates, 10; got 0"),
        ({"size": 10}, "got 10"),
        ({"size": 1, "candidates": ["x/c1", "x/fog"]}, "x/fog"),
        ({"size": 2, "natural": ["n7"]}, "some of n0, n1; got n7"),
        ({"size": 2, "natural": []}, "got none"),
        ({"size": 2, "folds": 1}, "at least 2 folds and 1 repeat, got 1 and 20"),
    ],
)
def test_wrong_questions_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        find_predictive(noisy_shifts(40), **options)


@pytest.mark.parametrize("products", [predictive_search.MOST_PRODUCTS, 0])
def test_progress_is_told_until_the_end(monkeypatch, products):
    monkeypatch.setattr(predictive_search, "MOST_PRODUCTS", products)
    told = []
    found = find_predictive(noisy_shifts(40), 2, repeats=1, progress=lambda *what: told.append(what))
    assert isinstance(found, Predictive)
    assert {what for what, _, _ in told} == {"searching benchmarks"}
    assert told[0][1] == 0
    assert told[-1][1] == told[-1][2] > 0
