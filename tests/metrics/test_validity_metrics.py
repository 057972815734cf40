"""Effective robustness, and the validity of benchmarks: against plain loops over models literally repeated."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit, logit

from scuff.metrics import (
    Resampling,
    Shifts,
    complete_shifts,
    contributions,
    correlate,
    effective_robustness,
    read_shifts,
    validity,
)
from scuff.metrics.validity.resampled import resample_models
from scuff.metrics.validity.scores import DEGREES, KINDS

FEW = Resampling(count=40)


def made_shifts(n: int = 30, seed: int = 0, **columns) -> Shifts:
    """Models of which some are better, some more robust: three corruptions, two natural sets, one other score."""
    draw = np.random.default_rng(seed)
    skill, robust = draw.normal(size=(2, n))
    clean = expit(1.5 + 0.5 * skill)

    def accuracy(level: float, share: float) -> np.ndarray:
        return expit(level + 0.5 * skill + share * robust + 0.2 * draw.normal(size=n))

    table = {"model": [f"m{k}" for k in range(n)], "clean": clean}
    table |= {"corrupted:c/fog": accuracy(0.5, 0.4), "corrupted:c/snow": accuracy(0, 0.3)}
    table |= {"corrupted:c/noise": accuracy(-0.5, 0), "score:p": draw.normal(size=n) - robust}
    table |= {"natural:a": accuracy(-1, 0.4), "natural:v2": accuracy(1, 0.1)}
    table |= {"reference:a": expit(2 + 0.5 * skill + 0.1 * draw.normal(size=n))}
    return read_shifts(pd.DataFrame(table | columns))


def line(found: pd.DataFrame, **wanted) -> pd.Series:
    """The one line with these values."""
    chosen = found[np.logical_and.reduce([found[column] == value for column, value in wanted.items()])]
    assert len(chosen) == 1
    return chosen.iloc[0]


# --- effective robustness -------------------------------------------------------------------------------------------


def test_effective_robustness_is_the_distance_from_a_fitted_line():
    draw = np.random.default_rng(0)
    clean, shifted = draw.uniform(0.4, 0.9, 30), draw.uniform(0.1, 0.8, 30)
    standard = draw.random(30) < 0.6
    slope, intercept = np.polyfit(logit(clean[standard]), logit(shifted[standard]), 1)
    found = effective_robustness(clean, shifted, standard)
    assert (found.slope, found.intercept, found.note) == (pytest.approx(slope), pytest.approx(intercept), "")
    np.testing.assert_allclose(found.values, shifted - expit(intercept + slope * logit(clean)), atol=1e-12)


def test_lines_of_resamples_are_those_of_models_repeated():
    draw = np.random.default_rng(1)
    clean, shifted, standard = draw.uniform(0.4, 0.9, 20), draw.uniform(0.1, 0.8, 20), draw.random(20) < 0.7
    shifted[3] = 0
    times = resample_models(20, FEW)
    found = effective_robustness(clean, shifted, standard, times)
    for number, weights in enumerate(times):
        used = np.repeat(np.arange(20), weights * (standard & (shifted > 0)))
        slope, intercept = np.polyfit(logit(clean[used]), logit(shifted[used]), 1)
        assert (found.slope[number], found.intercept[number]) == pytest.approx((slope, intercept), rel=1e-9)
        np.testing.assert_allclose(found.values[number], shifted - expit(intercept + slope * logit(clean)), atol=1e-12)


def test_models_without_a_logit_have_a_value_but_no_part_in_the_line():
    clean = np.array([0.5, 0.6, 0.7, 0.8, 0.55, 0.9])
    shifted = np.append(expit(logit(clean[:4]) - 1), [0, 1])
    found = effective_robustness(clean, shifted)
    assert (found.slope, found.intercept) == pytest.approx((1, -1), abs=1e-12)
    np.testing.assert_allclose(found.values[:4], 0, atol=1e-12)
    assert found.values[4] == pytest.approx(-expit(logit(0.55) - 1), abs=1e-12)
    assert found.values[5] == pytest.approx(1 - expit(logit(0.9) - 1), abs=1e-12)
    assert found.note == "the line is not fitted to 2 of 6 models, whose accuracy is 0 or 1"


def test_no_line_is_said():
    few = effective_robustness([0.5, 0.6, 0.7, 0.8], [0.2, 0.3, 0, 0.5], standard=[True, True, True, False])
    assert np.isnan([*few.values, few.slope, few.intercept]).all()
    assert few.note == "the line needs 3 standard models with accuracies between 0 and 1, and has 2"
    same = effective_robustness([0.7, 0.7, 0.7, 0.8], [0.2, 0.3, 0.4, 0.5], standard=[True, True, True, False])
    assert np.isnan(same.values).all()
    assert same.note == "all 3 models that the line is fitted to have the same clean accuracy"


def test_a_steep_line_does_not_overflow():
    found = effective_robustness([0.5, 0.5 + 1e-8, 0.5 + 2e-8, 1e-300], [0.1, 0.5, 0.9, 0.5], [True] * 3 + [False])
    assert found.values == pytest.approx([0, 0, 0, 0.5], abs=1e-6)


@pytest.mark.parametrize(
    ("clean", "shifted", "standard", "what"),
    [
        ([0.5, 0.6, 1.0], [0.2, 0.3, 0.4], None, "clean accuracies between 0 and 1, got 1; leave that model out"),
        ([0.5, 0.6, np.nan], [0.2, 0.3, 0.4], None, "clean accuracies between 0 and 1, got nan"),
        ([0.5, 0.6, 0.7], [20, 0.3, 0.4], None, "fractions from 0 to 1, got 20; are they in percent"),
        ([0.5, 0.6, 0.7], [0.3, 0.4], None, r"two accuracies of each model, got arrays \(3,\) and \(2,\)"),
        ([0.5, 0.6, 0.7], [0.2, 0.3, 0.4], ["a"], "standard must be True or False for each of 3 models"),
    ],
)
def test_accuracies_that_cannot_be_are_refused(clean, shifted, standard, what):
    with pytest.raises(ValueError, match=what):
        effective_robustness(clean, shifted, standard)


# --- validity -------------------------------------------------------------------------------------------------------


def test_every_line_is_a_correlation_of_residual_robustness():
    shifts = made_shifts()
    found = validity(shifts, {"both": ["c/fog", "c/snow"], "c/noise": ["c/noise"], "p": ["p"]}, resampling=FEW)
    columns = "benchmark size natural kind value low high p_value models note"
    assert list(found) == columns.split()
    assert len(found) == 3 * (5 + 5 + 4)  # no effective robustness of a score
    lost = shifts.synthetic_residuals()
    for name, x in (("both", lost[["c/fog", "c/snow"]].mean(axis=1)), ("c/noise", lost["c/noise"]), ("p", lost["p"])):
        for natural, y in shifts.natural_residuals().items():
            for kind in KINDS[:4]:
                one = line(found, benchmark=name, natural=natural, kind=kind)
                given = {"given": shifts.clean, "degree": DEGREES[kind]} if kind in DEGREES else {}
                how = "partial" if kind in DEGREES else kind
                wanted = correlate(x, y, kind=how, resampling=FEW, **given)
                for column in ("value", "low", "high", "p_value", "note"):
                    assert one[column] == (
                        pytest.approx(getattr(wanted, column), abs=1e-12) if column != "note" else ""
                    )
                assert (one["size"], one["models"]) == (2 if name == "both" else 1, 30)


def test_a_curve_in_clean_accuracy_explains_what_a_line_does_not():
    """Both lose most at a middling accuracy, and nothing else relates them: only the curve sees that."""
    draw = np.random.default_rng(0)
    clean = pd.Series(draw.uniform(0.3, 0.9, 200), [f"m{k}" for k in range(200)])
    hump = 0.25 - (clean - 0.6) ** 2
    lost, other = (hump + draw.normal(0, 0.01, 200) for _ in range(2))
    shifts = complete_shifts(clean, pd.DataFrame({"c/fog": clean - lost}), pd.DataFrame({"y": clean - other}))
    found = validity(shifts, {"fog": ["c/fog"]}, resampling=FEW).query("natural == 'y'").set_index("kind")
    assert found.loc["partial", "low"] > 0.7
    assert abs(found.loc["curved", "value"]) < 0.2  # 2.8 standard deviations of chance, 1 / sqrt(197)
    powers = np.vander(clean, 4)
    rest = [values - powers @ np.linalg.lstsq(powers, values, rcond=None)[0] for values in (lost, other)]
    assert found.loc["curved", "value"] == pytest.approx(stats.pearsonr(*rest)[0], abs=1e-9)


def test_a_curve_through_few_models_is_refused_with_a_note():
    found = validity(made_shifts().take([f"m{k}" for k in range(9)]), {"fog": ["c/fog"]}, resampling=FEW)
    curved = found[found["kind"] == "curved"]
    assert curved["value"].isna().all()
    assert (curved["note"] == "a curve in clean accuracy needs at least 10 models, there are 9").all()
    assert found[found["kind"] == "partial"]["value"].notna().all()


def test_the_mean_has_a_joint_interval():
    shifts = made_shifts()
    found = validity(shifts, {"fog": ["c/fog"]}, resampling=FEW)
    x, y = shifts.synthetic_residuals()["c/fog"].to_numpy(), shifts.natural_residuals().to_numpy()
    draws = []
    for times in resample_models(30, FEW):
        one = np.repeat(np.arange(30), times)
        draws.append(np.mean([stats.pearsonr(x[one], column[one])[0] for column in y.T]))
    mean = line(found, natural="mean", kind="pearson")
    parts = found[(found["natural"] != "mean") & (found["kind"] == "pearson")]
    assert (mean["low"], mean["high"]) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), abs=1e-12)
    assert mean["value"] == pytest.approx(parts["value"].mean(), abs=1e-14)
    assert mean["p_value"] == pytest.approx(parts["p_value"].mean(), abs=1e-14)


def test_effective_lines_refit_every_resample():
    shifts = made_shifts(standard=[1, 0] * 15)
    standard = np.array([True, False] * 15)
    found = validity(shifts, {"two": ["c/fog", "c/noise"]}, resampling=FEW)
    one = line(found, natural="a", kind="effective")
    pairs = [
        (shifts.clean, shifts.corrupted[["c/fog", "c/noise"]].mean(axis=1)),
        (shifts.references["a"], shifts.natural["a"]),
    ]

    def plain(models: np.ndarray) -> float:
        parts = [effective_robustness(*(v.to_numpy()[models] for v in pair), standard[models]).values for pair in pairs]
        return stats.pearsonr(*parts)[0]

    draws = [plain(np.repeat(np.arange(30), times)) for times in resample_models(30, FEW)]
    assert one["value"] == pytest.approx(plain(np.arange(30)), abs=1e-12)
    assert (one["low"], one["high"]) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), abs=1e-12)
    t = one["value"] * np.sqrt(27 / (1 - one["value"] ** 2))
    assert one["p_value"] == pytest.approx(2 * stats.t.sf(abs(t), 27), rel=1e-9)


def test_ranks_do_not_see_rounding():
    """0.6 - 0.3 and 0.7 - 0.4 are not the same floating number, and must share a rank."""
    table = {"model": list("abcdef"), "clean": [0.6, 0.7, 0.8, 0.9, 0.5, 0.6]}
    table |= {"corrupted:x": [0.3, 0.4, 0.5, 0.6, 0.1, 0.1], "natural:y": [0.3, 0.3, 0.5, 0.4, 0.1, 0.1]}
    found = validity(read_shifts(pd.DataFrame(table)), {"x": ["x"]}, resampling=FEW)
    wanted = stats.spearmanr([3, 3, 3, 3, 4, 5], [3, 4, 3, 5, 4, 5]).statistic
    assert line(found, natural="y", kind="spearman")["value"] == pytest.approx(wanted, abs=1e-12)


def test_families_make_intervals_of_families():
    shifts = made_shifts()
    twice = pd.concat([shifts.to_frame(), shifts.to_frame().assign(model=lambda t: t["model"] + "b")])
    twins = read_shifts(twice.assign(family=[name.rstrip("b") for name in twice["model"]]))
    found, wanted = (validity(s, {"all": list(s.corrupted)}, resampling=FEW) for s in (twins, shifts))
    for kind in ("pearson", "partial", "effective"):  # twins share ranks, which change with their number
        ends = [table[table["kind"] == kind][["value", "low", "high"]].to_numpy() for table in (found, wanted)]
        np.testing.assert_allclose(*ends, atol=1e-10)
    assert (found["models"] == 60).all()


# --- contributions --------------------------------------------------------------------------------------------------


def test_contributions_are_paired_differences():
    shifts = made_shifts()
    names = ["c/fog", "c/snow", "c/noise"]
    found = contributions(shifts, names, resampling=FEW)
    columns = "corruption natural alone alone_low alone_high alone_gain alone_gain_low alone_gain_high"
    columns += " without gain gain_low gain_high note"
    assert list(found) == columns.split()
    assert len(found) == 3 * 3
    lost, y = shifts.synthetic_residuals(), shifts.natural_residuals()["a"]
    rest = lost[["c/fog", "c/snow"]].mean(axis=1)
    whole = lost[names].mean(axis=1)
    one = line(found, corruption="c/noise", natural="a")
    alone = correlate(lost["c/noise"], y, resampling=FEW)
    assert (one["alone"], one["alone_low"], one["alone_high"]) == pytest.approx((alone.value, alone.low, alone.high))
    gains, alone_gains = [], []
    for times in [np.ones(30, int), *resample_models(30, FEW)]:
        repeated = np.corrcoef(np.repeat([whole, rest, lost["c/noise"], y], times, axis=1))
        gains.append(repeated[0, 3] - repeated[1, 3])
        alone_gains.append(repeated[2, 3] - repeated[0, 3])
    assert one["without"] == pytest.approx(correlate(rest, y).value, abs=1e-12)
    assert one["gain"] == pytest.approx(gains[0], abs=1e-12)
    assert (one["gain_low"], one["gain_high"]) == pytest.approx(
        tuple(np.quantile(gains[1:], [0.025, 0.975])), abs=1e-12
    )
    assert one["alone_gain"] == pytest.approx(alone_gains[0], abs=1e-12)
    assert (one["alone_gain_low"], one["alone_gain_high"]) == pytest.approx(
        tuple(np.quantile(alone_gains[1:], [0.025, 0.975])), abs=1e-12
    )
    parts = found[(found["corruption"] == "c/noise") & (found["natural"] != "mean")]
    mean = line(found, corruption="c/noise", natural="mean")
    assert tuple(mean[["alone", "without", "gain"]]) == pytest.approx(tuple(parts[["alone", "without", "gain"]].mean()))


def test_a_planted_signal_is_found():
    """Fog and snow carry robustness. Noise varies with the skill of models alone, and adds nothing to these two."""
    for seed in range(3):
        found = contributions(made_shifts(n=200, seed=seed), ["c/fog", "c/snow", "c/noise"])
        fog, snow, noise = (line(found, corruption=name, natural="a") for name in ("c/fog", "c/snow", "c/noise"))
        assert noise["gain_low"] < 0
        assert noise["gain_high"] < fog["gain_low"]
        assert min(fog["gain_low"], snow["gain_low"]) > 0
        assert min(fog["alone_low"], snow["alone_low"]) > noise["alone_high"]


def test_a_benchmark_of_one_has_nothing_without_it():
    found = contributions(made_shifts(), ["c/fog"], resampling=FEW)
    assert found[["without", "gain", "gain_low", "gain_high"]].isna().all(axis=None)
    assert np.isfinite(found["alone"]).all()
    assert (found["alone_gain"] == 0).all()
    assert (found["note"] == "the benchmark has no other member").all()


# --- what cannot be correlated --------------------------------------------------------------------------------------


def test_never_a_nan_without_a_note():
    clean = np.linspace(0.6, 0.9, 12)
    draw = np.random.default_rng(2)
    table = {"model": [f"m{k}" for k in range(12)], "clean": clean, "corrupted:flat": clean - 0.25}
    table |= {"corrupted:line": 0.8 * clean - 0.1, "corrupted:fog": clean * draw.uniform(0.3, 0.9, 12)}
    table |= {
        "natural:a": draw.uniform(0.1, 0.5, 12),
        "natural:same": clean - 0.125,
        "reference:a": draw.uniform(0.8, 1, 12).round(1),
    }
    shifts = read_shifts(pd.DataFrame(table))
    assert (shifts.references["a"] == 1).any()
    found = validity(shifts, {name: [name] for name in shifts.corrupted}, resampling=FEW)
    missing = found[["value", "low", "high", "p_value"]].isna()
    assert (missing.all(axis=1) == missing.any(axis=1)).all()
    assert (found.loc[missing.any(axis=1), "note"] != "").all()
    flat = line(found, benchmark="flat", natural="a", kind="spearman")["note"]
    assert flat == "the residual robustness to flat is the same for all models"
    both = line(found, benchmark="flat", natural="same", kind="pearson")["note"]
    assert both == "the residual robustness to flat and the residual robustness to same are the same for all models"
    explained = line(found, benchmark="line", natural="a", kind="partial")["note"]
    assert explained == "clean accuracy explains the residual robustness to line completely"
    mean = line(found, benchmark="fog", natural="mean", kind="pearson")
    assert mean["note"] == "the residual robustness to same is the same for all models"
    assert np.isnan(mean["value"])
    effective = line(found, benchmark="fog", natural="a", kind="effective")
    assert effective["note"] == "on a, the clean accuracy of some model is 0 or 1, and has no logit"
    assert np.isfinite(line(found, benchmark="fog", natural="same", kind="effective")["value"])


def test_models_on_the_line_have_no_effective_robustness_to_correlate():
    clean = np.linspace(0.6, 0.9, 12)
    shifts = made_shifts(n=12, **{"clean": clean, "corrupted:c/fog": expit(0.8 * logit(clean) - 1)})
    found = line(validity(shifts, {"fog": ["c/fog"]}, resampling=FEW), natural="a", kind="effective")
    assert np.isnan(found["value"])
    assert found["note"] == "on fog, all models are as robust as the line says"
    few = made_shifts(standard=[1, 1] + [0] * 28)
    note = line(validity(few, {"fog": ["c/fog"]}, resampling=FEW), natural="v2", kind="effective")["note"]
    assert note.startswith(
        "on fog, the line needs 3 standard models with accuracies between 0 and 1, and has 2; on v2, "
    )


def test_standard_models_that_are_all_left_out_are_not_replaced_by_others():
    table = made_shifts().to_frame().assign(standard=[1, 1, 1] + [0] * 27)
    table.loc[:2, "natural:a"] = np.nan
    shifts = read_shifts(table)
    assert shifts.standard == ()
    found = line(validity(shifts, {"fog": ["c/fog"]}, resampling=FEW), natural="a", kind="effective")
    assert np.isnan(found["value"])
    assert found["note"].startswith(
        "on fog, the line needs 3 standard models with accuracies between 0 and 1, and has 0"
    )
    all_serve = read_shifts(table.drop(columns="standard"))
    assert all_serve.standard is None
    value = line(validity(all_serve, {"fog": ["c/fog"]}, resampling=FEW), natural="a", kind="effective")["value"]
    assert np.isfinite(value)


def test_models_without_a_logit_are_counted_among_those_that_the_line_is_for():
    clean, shifted = np.linspace(0.5, 0.8, 10), np.linspace(0.2, 0.5, 10)
    shifted[[0, 9]] = 0
    standard = np.arange(10) < 6
    note = effective_robustness(clean, shifted, standard).note
    assert note == "the line is not fitted to 1 of 6 standard models, whose accuracy is 0 or 1"
    note = effective_robustness(clean, shifted).note
    assert note == "the line is not fitted to 2 of 10 models, whose accuracy is 0 or 1"


def test_the_same_clean_accuracy_explains_nothing_and_makes_no_line():
    found = validity(made_shifts(clean=0.8), {"fog": ["c/fog"]}, resampling=FEW)
    partial, pearson = (line(found, natural="a", kind=kind) for kind in ("partial", "pearson"))
    assert partial["value"] == pytest.approx(pearson["value"], abs=1e-13)
    assert partial["note"] == "clean accuracy is the same for all models, and explains nothing"
    effective = line(found, natural="a", kind="effective")
    assert effective["note"] == "on fog, all 30 models that the line is fitted to have the same clean accuracy"


@pytest.mark.parametrize(
    ("benchmarks", "what"),
    [
        ({}, "needs at least one benchmark, got none"),
        ({"none": []}, r"none must be a list of synthetic columns, got \[\]"),
        ({"word": "c/fog"}, "word must be a list of synthetic columns, got 'c/fog'"),
        ({"near": ["c/fogg"]}, "near holds 'c/fogg', which the table lacks; did you mean c/fog"),
        ({"twice": ["c/fog", "c/fog"]}, "twice holds c/fog twice"),
    ],
)
def test_benchmarks_that_cannot_be_are_refused(benchmarks, what):
    with pytest.raises(ValueError, match=what):
        validity(made_shifts(), benchmarks, resampling=FEW)


def test_names_and_families_that_do_not_serve_are_refused():
    with pytest.raises(ValueError, match="must not be called 'mean'"):
        validity(made_shifts(**{"natural:mean": 0.5}), {"fog": ["c/fog"]}, resampling=FEW)
    with pytest.raises(ValueError, match="needs at least 5 of them, got 3"):
        contributions(made_shifts(family=list("abc") * 10), ["c/fog"], resampling=FEW)
