"""The study of validity: which benchmarks are scored, what is kept, and that what was planted is found."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from overlap_matrices import to_overlaps

from scuff import metrics
from scuff.metrics import Resampling, Shifts, read_shifts
from scuff.studies import plan_validity, read_validity, validity
from scuff.studies.validity_benchmarks import find_suites, resolve_categories
from scuff.suites import list_corruptions, load_suite

NATURAL = ("sketches", "renditions")
NOISES = ("gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise")
FEW = {"count": 60, "resamples": 60}


def made_shifts(models: int = 60) -> Shifts:
    """Models have a robustness that natural shifts show, and noises of imagenet-c too, but no other corruption."""
    draw = np.random.default_rng(0)
    robust, clean = draw.normal(size=models), draw.uniform(0.6, 0.8, models)
    table = {"model": [f"m{k}" for k in range(models)], "clean": clean}
    for name in list_corruptions("imagenet-c"):
        shown = 1.0 if name.endswith(NOISES) else 0.0
        table[f"corrupted:{name}"] = clean - 0.3 + 0.03 * (shown * robust + 0.5 * draw.normal(size=models))
    for name in NATURAL:
        table[f"natural:{name}"] = clean - 0.3 + 0.03 * (robust + 0.5 * draw.normal(size=models))
    table["score:flips"] = 30 - robust
    frame = pd.DataFrame(table)
    frame.loc[models - 1, "natural:sketches"] = np.nan
    return read_shifts(frame)


CATEGORIES = {
    "noise": [f"imagenet-c/{entry}" for entry in NOISES],
    "blur": [f"imagenet-c/{entry}_blur" for entry in ("defocus", "glass", "motion", "zoom", "gaussian")],
    "weather": [f"imagenet-c/{entry}" for entry in ("snow", "frost", "fog", "brightness", "spatter")],
}


@pytest.fixture(scope="module")
def shifts() -> Shifts:
    return made_shifts()


@pytest.fixture(scope="module")
def study(shifts, tmp_path_factory):
    """A study with everything in it, and its folder."""
    out = tmp_path_factory.mktemp("study") / "valid"
    return validity(shifts, out, categories=CATEGORIES, search=[2], **FEW), out


# --- benchmarks of a table ------------------------------------------------------------------------------------------


def test_suites_are_scored_if_all_their_entries_are_there():
    scored = [f"imagenet-c/{entry}" for entry in load_suite("imagenet-c").benchmark()]
    assert find_suites(scored) == {"imagenet-c": scored}
    assert find_suites(scored[1:]) == {"all": scored[1:]}
    everything = list_corruptions("imagenet-c")
    assert find_suites(everything) == {"imagenet-c": scored, "all": everything}


def test_a_suite_may_be_there_under_the_names_of_its_candidates():
    found = find_suites(list_corruptions("noc-candidates"))
    assert found["imagenet-noc"] == [f"noc-candidates/{entry}" for entry in load_suite("imagenet-noc").entries]
    # cifar10-c has entries of the same names, made for other pictures
    assert "imagenet-c" not in find_suites(list_corruptions("cifar10-c"))


def test_suites_of_your_own_are_scored_alone_and_must_be_there(tmp_path):
    suite = load_suite("noc-candidates")
    path = tmp_path / "mine.yaml"
    path.write_text(
        "{suite: mine, version: 1, size: 224, entries: {drops: {corruption: rain, count: {from: 12, to: 120}, "
        "scale: 1.0}, hue: {turn: {from: 0.05, to: 0.5}}}}"
    )
    table = [f"noc-candidates/{entry}" for entry in suite.entries]
    assert find_suites(table, [str(path)]) == {"mine": ["noc-candidates/rain", "noc-candidates/hue"], "all": table}
    with pytest.raises(ValueError, match="the table lacks 1 of the 2 corruptions of mine: hue"):
        find_suites(["noc-candidates/rain"], [str(path)])


def test_suites_that_only_the_table_knows_are_benchmarks_too():
    table = ["x/fog", "x/rain", "y/dust"]
    assert find_suites(table) == {"x": ["x/fog", "x/rain"], "y": ["y/dust"], "all": table}


def test_the_largest_suite_comes_first_and_all_last():
    table = ["y/dust", *list_corruptions("imagenet-c"), "x/fog", "x/rain"]
    assert list(find_suites(table)) == ["imagenet-c", "x", "y", "all"]


def test_families_are_those_of_the_registry():
    found, notes = resolve_categories(
        ["imagenet-c/fog", "x/motion_blur", "x/nothing", "noc-candidates/brightness"], None
    )
    assert found["weather"] == ["imagenet-c/fog"]
    assert found["blur"] == ["x/motion_blur"]
    assert notes == ["in no category: x/nothing"]


def test_categories_are_matched_by_address_then_by_corruption_then_by_name():
    groups = {
        "one": ["noc-candidates/brightness", "imagenet-c/fog", "frost"],
        "two": ["cifar10-c/brightness", "cifar10-c/fog", "x/snow", "cifar10-c/contrast"],
        "three": ["y/snow"],
    }
    table = [f"imagenet-c/{entry}" for entry in ("brightness", "fog", "frost", "snow", "pixelate")]
    found, notes = resolve_categories(table, groups)
    # brightness of noc-candidates is another corruption; snow might be of two categories
    assert found == {"one": ["imagenet-c/fog", "imagenet-c/frost"], "two": ["imagenet-c/brightness"]}
    assert notes[0] == "in no category: imagenet-c/snow, imagenet-c/pixelate"
    assert re.match(r"in a category, but not in the table: 3 corruptions \(noc-candidates/brightness", notes[1])


def test_categories_come_from_files_and_from_overlaps(tmp_path):
    (tmp_path / "categories.json").write_text(json.dumps({"ice": ["fog", "frost"]}))
    names = [f"cifar10-c/{entry}" for entry in ("fog", "frost", "shot_noise", "impulse_noise", "zoom_blur")]
    kinds = np.array([0, 0, 1, 1, 2])
    to_overlaps(np.where(kinds[:, None] == kinds, 1.0, 0.1), names).save(tmp_path / "overlap.csv")
    table = [name.replace("cifar10-c", "imagenet-c") for name in names]
    assert resolve_categories(table, tmp_path / "categories.json")[0] == {"ice": table[:2]}
    found, notes = resolve_categories(table, str(tmp_path / "overlap.csv"))
    assert table[:2] in found.values()
    assert table[2:4] in found.values()
    assert not notes
    with pytest.raises(ValueError, match="there is no nowhere"):
        resolve_categories(table, "nowhere")
    with pytest.raises(ValueError, match="fog has two: a and b"):
        resolve_categories(table, {"a": ["fog"], "b": ["fog"]})


# --- the study ------------------------------------------------------------------------------------------------------


def test_every_benchmark_is_correlated_with_every_natural_one(study, shifts):
    found, _ = study
    table = found.correlations
    counts = table[(table["kind"] == "pearson") & (table["natural"] == "mean")]["what"].value_counts().to_dict()
    assert counts == {"corruption": 19, "category": 3, "suite": 2, "score": 1}
    wanted = metrics.validity(shifts, {"noise": CATEGORIES["noise"]}, resampling=Resampling(60))
    ours = table[(table["what"] == "category") & (table["benchmark"] == "noise")]
    pd.testing.assert_frame_equal(ours.drop(columns="what").reset_index(drop=True), wanted)
    best = table[(table["kind"] == "pearson") & (table["natural"] == "mean")].set_index("benchmark")["value"]
    assert best["noise"] > 0.8  # as planted: the noises' mean has a noise of 0.25, the natural ones of 0.5
    assert abs(best["blur"]) < 0.4  # of chance alone: 59 models give a standard deviation of 0.13
    assert set(found.contributions["corruption"]) == set(shifts.corrupted)


def test_groups_say_what_they_are(study):
    groups = study[0].groups
    pairs = groups[groups["kind"] == "n,k"]
    assert (pairs["group"] == pairs["n"].astype(str) + "," + pairs["k"].astype(str)).all()
    assert (groups["size"] == groups["n"] * groups["k"]).all()
    spreads = groups[groups["kind"] == "std"]
    assert spreads["std"].nunique() > 1
    assert set(spreads["n"]) == {3}  # all categories have two members
    assert set(groups["natural"]) == {*NATURAL, "mean"}
    assert groups["benchmarks"].between(20, 600).all()
    assert set(study[0].trends["question"]) == {"n", "size", "std"}


def test_a_search_finds_the_planted_corruptions_and_leaves_other_scores_out(study):
    found = study[0].searches.iloc[0]
    assert set(found["members"].split()) <= set(CATEGORIES["noise"])
    assert found["held_out_low"] < found["held_out"] < found["held_out_high"]
    assert found["drop"] == pytest.approx(found["chosen"] - found["held_out"], abs=1e-12)
    assert found["gain_over_whole"] == pytest.approx(found["held_out"] - found["whole"], abs=1e-12)
    assert found["gain_over_whole_low"] < found["gain_over_whole"] < found["gain_over_whole_high"]
    assert found["exact"]


def test_settings_tell_the_whole_story(study, shifts):
    settings = study[0].settings
    assert settings["source"] == "Shifts"
    assert settings["models"] == list(shifts.models)
    assert settings["left_out"] == {"m59": "lacks natural:sketches"}
    assert settings["categories"] == CATEGORIES
    assert settings["notes"][0].startswith("in no category: imagenet-c/contrast, imagenet-c/elastic_transform")
    assert settings["same"] > settings["different"] + 0.1  # noises agree, and the others not at all
    assert math.isfinite(settings["different"])


def test_a_folder_holds_all_of_it(study):
    found, out = study
    again = read_validity(out)
    assert again.settings == json.loads(json.dumps(found.settings))
    for name in ("correlations", "contributions", "groups", "trends", "searches"):
        pd.testing.assert_frame_equal(getattr(again, name), getattr(found, name), check_dtype=False, rtol=1e-12)
    pd.testing.assert_frame_equal(again.shifts.to_frame(), found.shifts.to_frame(), check_dtype=False, rtol=1e-12)
    assert again.shifts.left_out == found.shifts.left_out
    assert sorted(path.name for path in out.iterdir())[-1] == "validity.json"


def test_names_that_look_like_numbers_or_nothing_stay_names(tmp_path):
    table = made_shifts(30).to_frame()[["model", "clean", "corrupted:imagenet-c/fog", "natural:sketches"]]
    frame = table.assign(model=[str(k) for k in range(len(table))]).rename(columns={"natural:sketches": "natural:NA"})
    frame.to_csv(tmp_path / "table.csv", index=False)
    validity(tmp_path / "table.csv", tmp_path / "out", categories={"1": ["fog"]}, resamples=20)
    again = read_validity(tmp_path / "out")
    assert again.shifts.models[:2] == ("0", "1")
    assert set(again.correlations["natural"]) == {"NA", "mean"}
    assert set(again.correlations["benchmark"]) == {"all", "1", "imagenet-c/fog"}
    assert (again.correlations["note"] == "").all()


def test_the_same_seed_gives_the_same_and_another_folder_is_needed_for_others(study, shifts):
    found, out = study
    again = validity(shifts, out, categories=CATEGORIES, search=[2], **FEW)
    pd.testing.assert_frame_equal(again.groups, found.groups)
    pd.testing.assert_frame_equal(again.correlations, found.correlations)
    with pytest.raises(ValueError, match=r"was made with other settings: seed was 0, is now 1\."):
        plan_validity(shifts, out, categories=CATEGORIES, search=[2], seed=1, **FEW)
    with pytest.raises(ValueError, match="other settings: table was"):
        plan_validity(shifts.take(shifts.models[1:]), out, categories=CATEGORIES, search=[2], **FEW)


def test_without_categories_there_are_families_and_no_groups(shifts, tmp_path):
    plan = plan_validity(shifts, tmp_path)
    assert not plan.has_groups
    assert list(plan.categories) == ["noise", "blur", "weather", "digital"]
    assert plan_validity(shifts, tmp_path, pairs=[(2, 1)]).has_groups
    assert not list(tmp_path.iterdir())  # a plan leaves nothing behind


def test_families_are_kept_together_unless_models_are_asked_for(shifts):
    families = pd.Series([f"f{place % 8}" for place in range(len(shifts.models))], list(shifts.models))
    related = replace(shifts, families=families)
    by_family, by_model = (validity(related, resample=units, resamples=50) for units in (None, "models"))
    assert by_family.shifts.families is not None
    assert by_model.shifts.families is None
    # sums over other resamples in the same product may be rounded otherwise
    np.testing.assert_allclose(by_family.correlations["value"], by_model.correlations["value"], rtol=1e-12)
    assert (by_family.correlations["low"] != by_model.correlations["low"]).any()
    with pytest.raises(ValueError, match="knows no families"):
        plan_validity(shifts, resample="families")
    with pytest.raises(ValueError, match="models or families, got 'images'"):
        plan_validity(shifts, resample="images")


def test_categories_too_small_for_groups_leave_a_note(shifts):
    found = validity(shifts, categories={"a": ["fog", "snow"], "b": ["contrast"]}, resamples=20)
    assert found.groups is None
    assert found.trends is None
    assert found.settings["notes"][-1] == "no groups by n and k: there are too few different benchmarks"


def test_scores_alone_can_be_a_table(tmp_path):
    table = made_shifts(30).to_frame()[["model", "clean", "natural:sketches", "score:flips"]]
    found = validity(table, tmp_path, resamples=20)
    assert set(found.correlations["what"]) == {"score"}
    assert found.contributions is None
    assert read_validity(tmp_path).contributions is None
    with pytest.raises(ValueError, match="less than the number of candidates, 0; got 1"):
        plan_validity(table, search=[1])


def test_what_makes_no_sense_is_refused(shifts, tmp_path):
    table = tmp_path / "table.csv"
    pd.DataFrame({"name": ["a"], "val": [0.5]}).to_csv(table, index=False)
    still = replace(shifts, natural=shifts.natural.assign(sketches=shifts.clean - 0.25))
    few_families = replace(shifts, families=pd.Series([f"f{k % 4}" for k in range(59)], shifts.clean.index))
    refused = [
        ((table,), {}, "needs a mapping that says what its columns mean; it has name, val"),
        ((shifts,), {"mapping": {}}, "mapping and severities are for wide tables"),
        ((shifts,), {"natural": ["x"]}, "natural is for folders of evaluations"),
        ((shifts,), {"search": [20]}, "less than the number of candidates, 19; got 20"),
        ((shifts,), {"search": [3, 19]}, "less than the number of candidates, 19; got 19"),
        ((shifts.take(shifts.models[:19]),), {"search": [3]}, "at least 20 are needed; there are 19"),
        ((still,), {"search": [3]}, "lose the same to sketches, which nothing can predict; leave it out"),
        ((few_families,), {}, "whole families and needs at least 5 of them, got 4"),
        ((shifts,), {"resamples": 0}, "at least 1 resample"),
        ((shifts,), {"count": 0, "pairs": [(2, 1)]}, "at least 1 benchmark of a group, got 0"),
        ((shifts,), {"categories": {"a": ["rain"]}}, "none of the 19 corruptions of the table is in a category"),
        ((shifts,), {"pairs": [(9, 1)]}, "needs 9 categories of at least 1 corruptions"),
        ((tmp_path,), {}, "folders of evaluations need natural benchmarks"),
        (([tmp_path, table],), {"natural": ["x"]}, "a table comes alone"),
        ((tmp_path,), {"mapping": {}}, "a mapping is for one table"),
    ]
    for arguments, options, message in refused:
        with pytest.raises(ValueError, match=re.escape(message)):
            plan_validity(*arguments, **options)
    with pytest.raises(ValueError, match="is not the folder of a study of validity"):
        read_validity(tmp_path)
