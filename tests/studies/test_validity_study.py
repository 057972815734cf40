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
from scuff.metrics.validity.shifts import BETWEEN
from scuff.store import Store
from scuff.studies import ValidityStudy, read_validity, validity
from scuff.studies.validity.benchmarks import find_suites, note_incomplete, resolve_categories
from scuff.studies.validity.results import save_validity
from scuff.suites import list_corruptions, load_suite

NATURAL = ("sketches", "renditions")
NOISES = ("gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise")
FEW = {"count": 60, "resamples": 100}


def plan_validity(*arguments, **options):
    return ValidityStudy(*arguments, **options).plan()


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


def test_a_part_of_a_known_suite_is_noted(shifts):
    some = ["imagenet-c/fog", "imagenet-c/frost", "imagenet-c/spatter", "mine/fog"]  # spatter is not scored
    assert note_incomplete(some, find_suites(some)) == ["imagenet-c: 2 of 15 corruptions, not scored as such"]
    whole = list_corruptions("imagenet-c")
    assert note_incomplete(whole, find_suites(whole)) == []
    part = replace(shifts, corrupted=shifts.corrupted.iloc[:, :4])
    assert plan_validity(part).settings["notes"] == ["imagenet-c: 4 of 15 corruptions, not scored as such"]


def test_one_name_means_one_benchmark(shifts, tmp_path):
    with pytest.raises(ValueError, match="a suite must not be called 'all'"):
        find_suites(["all/fog", "x/fog"])
    (tmp_path / "mine.yaml").write_text("{suite: all, version: 1, size: 224, entries: {hue: {turn: 0.5}}}")
    with pytest.raises(ValueError, match="a suite must not be called 'all'"):
        find_suites(["x/fog"], [str(tmp_path / "mine.yaml")])
    both = replace(shifts, scores=shifts.scores.rename(columns={"flips": "imagenet-c"}))
    with pytest.raises(ValueError, match="imagenet-c is both a suite of corruptions and another score"):
        plan_validity(both)


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
    assert (
        notes[1] == "in a category, but not in the table: noc-candidates/brightness, cifar10-c/fog, cifar10-c/contrast"
    )


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


def test_a_study_says_what_it_is(study):
    found, _ = study
    assert repr(found).startswith("Validity(Shifts(models: ")
    assert repr(found).endswith("; correlations, contributions, groups, trends, searches)")


def test_every_benchmark_is_correlated_with_every_natural_one(study, shifts):
    found, _ = study
    table = found.correlations
    counts = table[(table["kind"] == "pearson") & (table["natural"] == "mean")]["what"].value_counts().to_dict()
    assert counts == {"corruption": 19, "category": 3, "suite": 2, "score": 1}
    wanted = metrics.validity(shifts, {"noise": CATEGORIES["noise"]}, resampling=Resampling(100))
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
    assert set(found["members"].split(BETWEEN)) <= set(CATEGORIES["noise"])
    assert found["held_out_low"] < found["held_out"] < found["held_out_high"]
    assert found["drop"] == pytest.approx(found["chosen"] - found["held_out"], abs=1e-12)
    assert found["gain_over_whole"] == pytest.approx(found["held_out"] - found["whole"], abs=1e-12)
    assert found["gain_over_whole_low"] < found["gain_over_whole"] < found["gain_over_whole_high"]
    assert found["exact"]


def test_settings_tell_the_whole_story(study, shifts):
    settings = study[0].settings
    assert settings["options"]["source"] == {"object": "Shifts"}
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


def test_nothing_of_an_earlier_study_is_left(shifts, tmp_path):
    few = shifts.take(shifts.models[:30])
    validity(few, tmp_path, categories=CATEGORIES, search=1, **FEW)
    (tmp_path / "validity.json").unlink()
    validity(few, tmp_path, resamples=100)
    assert {path.name for path in tmp_path.iterdir()} == {
        *("validity.json", "shifts.csv", "correlations.csv", "contributions.csv")
    }
    assert read_validity(tmp_path).searches is None


def test_settings_go_first_and_come_last(study, tmp_path, monkeypatch):
    store = Store(tmp_path)
    save_validity(store, study[0])

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(Store, "write", fail)
    with pytest.raises(OSError, match="no space left"):
        save_validity(store, study[0])
    assert not store.exists("validity.json")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("trends", lambda t: t.drop(columns="categories"), "trends.csv has other columns: categories"),
        ("correlations", lambda t: t.assign(new=1), "correlations.csv has other columns: new"),
        ("correlations", lambda t: t.assign(models=np.nan), "wrong values in the column models"),
        ("groups", lambda t: t.assign(value="high"), "wrong values in the column value"),
        ("contributions", lambda t: t.assign(natural="moon"), "has an unknown natural benchmark moon"),
        ("searches", lambda t: t.assign(members="a b"), "fewer or more members than the size says"),
    ],
)
def test_a_folder_of_another_version_or_a_damaged_one_is_refused(study, tmp_path, name, change, message):
    found, _ = study
    save_validity(Store(tmp_path), replace(found, **{name: change(getattr(found, name))}))
    with pytest.raises(ValueError, match=rf"made by another version, or is damaged \(.*{message}.*run it again"):
        read_validity(tmp_path)


def test_settings_of_another_version_are_refused(study, tmp_path):
    found, _ = study
    save_validity(Store(tmp_path), replace(found, settings={"seed": 0}))
    with pytest.raises(ValueError, match=r"another version, or is damaged \(the settings lack table, models"):
        read_validity(tmp_path)


@pytest.mark.parametrize("name", ["shifts.csv", "correlations.csv"])
def test_a_file_that_is_empty_or_gone_is_named(study, tmp_path, name):
    store = Store(tmp_path)
    save_validity(store, study[0])
    store.write(name, b"")
    with pytest.raises(ValueError, match=f"damaged .{name} is missing or not readable"):
        read_validity(tmp_path)
    store.remove(name)
    with pytest.raises(ValueError, match=f"damaged .{name} is missing or not readable"):
        read_validity(tmp_path)


def test_names_may_have_blanks_in_them(tmp_path):
    table = made_shifts(30).to_frame().rename(columns=lambda name: name.replace("_", " "))
    validity(table, tmp_path, search=2, resamples=100)
    again = read_validity(tmp_path)
    assert set(again.searches["members"][0].split(BETWEEN)) < set(again.shifts.corrupted)


def test_names_that_look_like_numbers_or_nothing_stay_names(tmp_path):
    table = made_shifts(30).to_frame()[["model", "clean", "corrupted:imagenet-c/fog", "natural:sketches"]]
    frame = table.assign(model=[str(k) for k in range(len(table))]).rename(columns={"natural:sketches": "natural:NA"})
    frame.to_csv(tmp_path / "table.csv", index=False)
    validity(tmp_path / "table.csv", tmp_path / "out", categories={"1": ["fog"]}, resamples=100)
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
    assert not plan.settings["groups"]
    assert list(plan.settings["categories"]) == ["noise", "blur", "weather", "digital"]
    assert plan_validity(shifts, tmp_path, pairs=[(2, 1)]).settings["groups"]
    assert not list(tmp_path.iterdir())  # a plan leaves nothing behind


def test_families_are_kept_together_unless_models_are_asked_for(shifts):
    families = pd.Series([f"f{place % 8}" for place in range(len(shifts.models))], list(shifts.models))
    related = replace(shifts, families=families)
    by_family, by_model = (validity(related, resample=units, resamples=100) for units in (None, "models"))
    assert by_family.shifts.families is not None
    assert by_model.shifts.families is None
    # sums over other resamples in the same product may be rounded otherwise
    np.testing.assert_allclose(by_family.correlations["value"], by_model.correlations["value"], rtol=1e-12)
    assert (by_family.correlations["low"] != by_model.correlations["low"]).any()
    with pytest.raises(ValueError, match="has no families"):
        plan_validity(shifts, resample="families")
    with pytest.raises(ValueError, match="models or families, got 'images'"):
        plan_validity(shifts, resample="images")


def test_few_or_uneven_families_are_noted(shifts):
    def notes(families):
        related = replace(shifts, families=pd.Series(list(families), list(shifts.models)))
        return plan_validity(related).settings["notes"], plan_validity(related, resample="models").settings["notes"]

    assert notes(f"f{place % 10}" for place in range(59)) == ([], [])
    rough = "so that intervals by families are rough; compare those of --resample models"
    assert notes(f"f{place % 9}" for place in range(59)) == ([f"there are 9 families of models, {rough}"], [])
    large = notes(["f"] * 30 + [f"f{place}" for place in range(29)])
    assert large == ([f"the family f has 30 of the 59 models, {rough}"], [])


def test_one_size_or_one_pair_may_come_alone(shifts):
    settings = plan_validity(shifts, search=3, pairs=(2, 1), count=np.int64(50)).settings
    assert (settings["search"], settings["pairs"], settings["count"]) == ([3], [(2, 1)], 50)
    json.dumps(settings)  # which NumPy's numbers would not allow


def test_categories_too_small_for_groups_leave_a_note(shifts):
    found = validity(shifts, categories={"a": ["fog", "snow"], "b": ["contrast"]}, resamples=100)
    assert found.groups is None
    assert found.trends is None
    assert found.settings["notes"][-1] == "no groups by n and k: there are too few different benchmarks"


def test_scores_alone_can_be_a_table(tmp_path):
    table = made_shifts(30).to_frame()[["model", "clean", "natural:sketches", "score:flips"]]
    found = validity(table, tmp_path, resamples=100)
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
        ((shifts,), {"resamples": 99}, "resamples must be a whole number of at least 100, got 99"),
        ((shifts,), {"resamples": "100"}, "resamples must be a whole number of at least 100, got '100'"),
        ((shifts,), {"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ((shifts,), {"search": [2.5]}, "a size to search must be a whole number of at least 1, got 2.5"),
        ((shifts,), {"pairs": [(2, 1.7)]}, "a number of a pair must be a whole number of at least 1, got 1.7"),
        ((shifts,), {"pairs": [2, 3, 4]}, "pairs must be pairs of whole numbers, as in [(2, 3), (3, 2)]"),
        ((shifts,), {"pairs": "2,3"}, "pairs must be pairs of whole numbers, as in [(2, 3), (3, 2)]"),
        ((shifts,), {"count": 1.5}, "count must be a whole number of at least 1, got 1.5"),
        ((shifts,), {"categories": {"a": "fog"}}, "the category a must be a list of corruptions, got 'fog'"),
        (("nowhere.csv",), {}, "there is no file or folder nowhere.csv"),
        (("nowhere",), {"natural": [str(tmp_path)]}, "there is no file or folder nowhere"),
        ((tmp_path,), {"natural": ["nowhere"]}, "there is no file or folder nowhere"),
        ((shifts,), {"count": 0, "pairs": [(2, 1)]}, "count must be a whole number of at least 1, got 0"),
        ((shifts,), {"categories": {"a": ["rain"]}}, "none of the 19 corruptions of the table is in a category"),
        ((shifts,), {"pairs": [(9, 1)]}, "needs 9 categories of at least 1 corruptions"),
        ((tmp_path,), {}, "folders of evaluations need natural benchmarks"),
        (([tmp_path, table],), {"natural": ["x"]}, "either one table or folders of evaluations"),
        ((tmp_path,), {"mapping": {}}, "a mapping is for one table"),
    ]
    for arguments, options, message in refused:
        with pytest.raises(ValueError, match=re.escape(message)):
            plan_validity(*arguments, **options)
    with pytest.raises(ValueError, match="is not the folder of a study of validity"):
        read_validity(tmp_path)
