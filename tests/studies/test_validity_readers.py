"""Tables of shifts out of wide tables with a mapping, and out of folders of evaluations."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from made_evaluations import make_evaluation, save_evaluation

from scuff.evaluation import Evaluation
from scuff.metrics import mfr
from scuff.studies import read_accuracy_table, read_shift_evaluations
from scuff.studies.validity.evaluations import natural_folders, read_noted_evaluations

MODELS = ("None", "121", "resnet18", "resnet50", "vit_b", "vit_l")  # the first two are names like any other
MAPPING = {
    "unit": "percent",
    "clean": "val",
    "synthetic": {"imagenet-c": "c.{corruption}.{severity}_disk"},
    "natural": {"imagenet-a": {"accuracy": "a", "clean": "val-a"}, "sketch": "sk"},
}


def wide_table() -> pd.DataFrame:
    """Two corruptions at three severities, with twins of other columns that no pattern should take."""
    names = [f"c.{c}.{s}_{where}" for c in ("frost", "shot_noise") for s in (1, 2, 3) for where in ("disk", "memory")]
    names += ["val", "val-a", "a", "sk", "flips"]
    values = np.random.default_rng(0).uniform(10, 90, (len(MODELS), len(names)))
    return pd.DataFrame(values, columns=names).assign(model=MODELS, family=["x", "", "r", "r", "v", "v"])


# --- wide tables ----------------------------------------------------------------------------------------------------


def test_a_pattern_finds_corruptions_and_means_are_over_severities(tmp_path):
    table = wide_table()
    table.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "mapping.yaml").write_text(yaml.safe_dump(MAPPING))
    shifts = read_accuracy_table(tmp_path / "table.csv", tmp_path / "mapping.yaml")
    assert shifts.models == MODELS
    assert not shifts.left_out
    assert list(shifts.corrupted) == ["imagenet-c/shot_noise", "imagenet-c/frost"]  # in the order of the suite
    wanted = table[[f"c.frost.{s}_disk" for s in (1, 2, 3)]].to_numpy().mean(axis=1) / 100
    np.testing.assert_allclose(shifts.corrupted["imagenet-c/frost"], wanted, rtol=1e-12)  # the sum's order may differ
    np.testing.assert_allclose(shifts.natural["sketch"], table["sk"] / 100, rtol=1e-12)
    np.testing.assert_allclose(shifts.references["sketch"], table["val"] / 100, rtol=1e-12)
    np.testing.assert_allclose(shifts.references["imagenet-a"], table["val-a"] / 100, rtol=1e-12)


def test_columns_may_be_named_one_by_one_and_scores_keep_their_unit():
    mapping = MAPPING | {"synthetic": {"mine": {"ice": "c.frost.2_disk", "dots": ["a", "sk"]}}}
    mapping |= {"natural": {"sketch": "val-a"}, "scores": {"imagenet-p": "flips"}}
    table = wide_table()
    shifts = read_accuracy_table(table, mapping)
    np.testing.assert_allclose(shifts.corrupted["mine/ice"], table["c.frost.2_disk"] / 100, rtol=1e-12)
    np.testing.assert_allclose(shifts.corrupted["mine/dots"], (table["a"] + table["sk"]) / 200, rtol=1e-12)
    np.testing.assert_array_equal(shifts.scores["imagenet-p"], table["flips"])


def test_severities_can_be_chosen_and_must_be_the_same_otherwise():
    table = wide_table()
    shifts = read_accuracy_table(table, MAPPING | {"severities": [2]})
    np.testing.assert_allclose(shifts.corrupted["imagenet-c/frost"], table["c.frost.2_disk"] / 100, rtol=1e-12)
    shifts = read_accuracy_table(table, MAPPING | {"severities": [2]}, severities=[3])
    np.testing.assert_allclose(shifts.corrupted["imagenet-c/frost"], table["c.frost.3_disk"] / 100, rtol=1e-12)
    uneven = table.drop(columns="c.frost.3_disk")
    with pytest.raises(ValueError, match=r"shot_noise has 1, 2, 3, imagenet-c/frost has 1, 2; choose severities"):
        read_accuracy_table(uneven, MAPPING)
    assert len(read_accuracy_table(uneven, MAPPING, severities=[1, 2]).models) == 6
    with pytest.raises(ValueError, match="imagenet-c/frost has the severities 1, 2, not 3"):
        read_accuracy_table(uneven, MAPPING, severities=[3])


def test_models_that_lack_one_severity_or_are_not_wanted_are_left_out(tmp_path):
    table = wide_table().astype({"c.frost.2_disk": object})
    table.loc[5, "c.frost.2_disk"] = "-"
    table.to_csv(tmp_path / "table.csv", index=False)
    shifts = read_accuracy_table(tmp_path / "table.csv", MAPPING)
    assert shifts.left_out == {"vit_l": "lacks corrupted:imagenet-c/frost"}
    table = pd.concat([wide_table()] * 2, ignore_index=True)
    table["model"] = [*MODELS, *(f"{name}_pgd" for name in MODELS)]
    shifts = read_accuracy_table(table, MAPPING | {"models": {"include": ["^[rv1N]"], "exclude": ["_pgd$"]}})
    assert shifts.models == MODELS
    assert set(shifts.left_out.values()) == {"excluded by the mapping"}
    shifts = read_accuracy_table(table, MAPPING | {"models": {"include": ["_pgd$"]}})
    assert set(shifts.left_out) == set(MODELS)
    with pytest.raises(
        ValueError, match=r"no model matches models\.include of the mapping, \^Res, x9; there are None, 121"
    ):
        read_accuracy_table(table, MAPPING | {"models": {"include": ["^Res", "x9"]}})


def test_a_table_must_name_its_models():
    table = wide_table()
    table.loc[1, "model"] = None
    with pytest.raises(ValueError, match="must name its model, and row 2 of 6 does not"):
        read_accuracy_table(table, MAPPING)


def test_standard_models_that_are_left_out_are_not_the_same_as_none_named():
    table = pd.concat([wide_table()] * 2, ignore_index=True).assign(model=[*MODELS, *(f"{n}_pgd" for n in MODELS)])
    without = MAPPING | {"models": {"exclude": ["18$"]}}
    assert read_accuracy_table(table, without).standard is None
    assert read_accuracy_table(table, without | {"standard": []}).standard is None
    assert read_accuracy_table(table, without | {"standard": ["resnet18"]}).standard == ()


@pytest.mark.parametrize(
    ("families", "wanted"),
    [
        ({"column": "family"}, ["x", "121", "r", "r", "v", "v"]),
        ({"resnet": "^resnet", "small": "18|_b"}, ["None", "121", "resnet", "resnet", "small", "vit_l"]),
    ],
)
def test_families_come_from_a_column_or_from_expressions(tmp_path, families, wanted):
    wide_table().to_csv(tmp_path / "table.csv", index=False)
    shifts = read_accuracy_table(tmp_path / "table.csv", MAPPING | {"families": families, "standard": ["resnet18"]})
    assert shifts.families.tolist() == wanted
    assert shifts.standard == ("resnet18",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"synthtic": {}}, "unknown key 'synthtic'; did you mean synthetic?"),
        ({"unit": "per cent"}, "unit must be fraction or percent, got 'per cent'"),
        ({"clean": None}, "which columns are clean"),
        ({"synthetic": {}}, "which columns are synthetic or scores"),
        ({"synthetic": {"imagenet-c": "c.{severity}"}}, "needs {corruption} once"),
        ({"synthetic": {"imagenet-c": "d.{corruption}.{severity}"}}, "no column fits the pattern"),
        ({"synthetic": {"imagenet-c": {"frosst": "a"}}}, "no entry 'frosst'; did you mean frost"),
        ({"synthetic": {"imagenet-c/fog": "a"}}, "synthetic names suites"),
        (
            {"synthetic": {"mine": {"ice": "sk"}}},
            "the column sk is natural.sketch in the mapping, and mine/ice as well",
        ),
        (
            {"natural": {"sketch": {"acuracy": "sk"}}},
            "natural.sketch has an unknown key 'acuracy'; did you mean accuracy",
        ),
        ({"natural": {"sketch": {"clean": "val"}}}, "natural.sketch must say which column is its accuracy"),
        ({"natural": {"a": "sk", "b": "sk"}}, "the column sk is natural.a in the mapping, and natural.b as well"),
        ({"natural": {"a": "val"}}, "the column val is clean in the mapping, and natural.a as well"),
        (
            {"natural": {"a": {"accuracy": "a", "clean": "sk"}, "b": "sk"}},
            "the column sk is natural.b in the mapping, and natural.a.clean as well",
        ),
        ({"scores": {"p": "sk"}}, "the column sk is natural.sketch in the mapping, and scores.p as well"),
        ({"natural": ["sk"]}, "natural must map names to columns"),
        ({"clean": "vall"}, "no column 'vall'; did you mean val"),
        ({"scores": {"p": "family"}}, "the column family must hold numbers, got 'x' for None"),
        ({"severities": [0]}, "severities of the mapping must be whole numbers from 1 on"),
        (
            {"severities": 3, "synthetic": {"mine": {"ice": "a"}}, "natural": {"s": "sk"}},
            "no corruption has severities to choose 3 from",
        ),
        ({"families": {"r": "("}}, "families.r must be a regular expression"),
        ({"models": {"only": []}}, "models has an unknown key 'only'"),
        ({"models": {"include": "resnet"}}, "models.include must be a list of names"),
        (
            {"standard": ["resnet81"]},
            "standard names a model 'resnet81', which the table lacks; did you mean resnet18",
        ),
    ],
)
def test_a_mapping_that_makes_no_sense_is_refused(change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_accuracy_table(wide_table(), MAPPING | change)


def test_references_may_be_shared_and_clean_may_serve_as_one():
    pair = {"clean": "val-a"}
    natural = {
        "a": pair | {"accuracy": "a"},
        "b": pair | {"accuracy": "sk"},
        "c": {"accuracy": "flips", "clean": "val"},
    }
    shifts = read_accuracy_table(wide_table(), MAPPING | {"natural": natural})
    np.testing.assert_array_equal(shifts.references["a"], shifts.references["b"])
    np.testing.assert_array_equal(shifts.references["c"], shifts.clean)


def test_a_column_in_another_unit_is_named():
    table = wide_table()
    numbers = [name for name in table if name not in ("model", "family")]
    fractions = table.assign(**{name: table[name] / 100 for name in numbers})
    for column in ("val", "val-a", "sk", "c.frost.2_disk"):
        with pytest.raises(
            ValueError, match=rf"but {column} seems to hold fractions.*goes up to 0\.\d+, all columns to"
        ):
            read_accuracy_table(table.assign(**{column: fractions[column]}), MAPPING)
    with pytest.raises(
        ValueError,
        match=r"val, a, sk and \d more seem to hold.*val goes up to 0\.\d+, all.* to 0\.\d+; .*write unit: fraction",
    ):
        read_accuracy_table(fractions, MAPPING)
    assert read_accuracy_table(fractions, MAPPING | {"unit": "fraction"}).models == MODELS
    assert read_accuracy_table(table.assign(sk=0.0), MAPPING).models == MODELS  # which is the same in every unit
    low = table.assign(sk=[0.5] * 5 + [20.0])  # that models with more than 1 % are not wanted is no matter
    assert len(read_accuracy_table(low, MAPPING | {"models": {"exclude": ["vit_l"]}}).models) == 5


def test_columns_that_a_pattern_nearly_fits_are_not_overlooked():
    table = wide_table().assign(**{"c.jpeg.q10.1_disk": 50.0, "c.frost(x).1_disk": 50.0})
    with pytest.raises(ValueError, match=r"c\.jpeg\.q10\.1_disk, c\.frost\(x\)\.1_disk would fit the pattern"):
        read_accuracy_table(table, MAPPING)
    of_another = {"imagenet-c": MAPPING["synthetic"]["imagenet-c"], "mine": "c.jpeg.{corruption}.{severity}_disk"}
    odd = {"natural": {"frosty": "c.frost(x).1_disk"}, "severities": [1]}  # what is something else is no corruption
    shifts = read_accuracy_table(table, MAPPING | {"synthetic": of_another} | odd)
    assert list(shifts.corrupted) == ["imagenet-c/shot_noise", "imagenet-c/frost", "mine/q10"]


def test_two_columns_for_one_corruption_and_level_are_refused():
    table = wide_table().assign(**{"c.frost.02_disk": 50.0})
    with pytest.raises(
        ValueError, match=r"c\.frost\.2_disk and c\.frost\.02_disk are both imagenet-c/frost at severity 2"
    ):
        read_accuracy_table(table, MAPPING)


def test_what_is_there_twice_in_a_file_is_refused(tmp_path):
    table = wide_table()
    pd.concat([table, table[["sk"]]], axis=1).to_csv(tmp_path / "table.csv", index=False)
    with pytest.raises(ValueError, match="these columns occur twice: sk"):
        read_accuracy_table(tmp_path / "table.csv", MAPPING)
    for twice in ("clean: sk", "natural: {s: sk, s: a}"):
        (tmp_path / "mapping.yaml").write_text(f"clean: val\nscores: {{p: flips}}\n{twice}\n")
        with pytest.raises(
            ValueError, match=r"mapping\.yaml is not valid YAML: the key (clean|s) occurs more than once"
        ):
            read_accuracy_table(table, tmp_path / "mapping.yaml")


# --- folders of evaluations -----------------------------------------------------------------------------------------

NETS = ("a", "bb", "ccc", "dddd", "eeeee", "ffffff")  # a made model's errors depend on the length of its name


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> Path:
    """c: six models by cifar10-c; p: by its films; v2: five of the models on a natural shift; part: ImageNet-A."""
    root = tmp_path_factory.mktemp("evaluations")
    save_evaluation(small(root, NETS), root / "c")
    save_evaluation(evaluated(root, "cifar10-p", 24), root / "p")
    save_evaluation(shifted(root, NETS[1:], "imagenet-v2:DIR"), root / "v2")
    save_evaluation(shifted(root, NETS, "imagenet-a:DIR"), root / "part")
    save_evaluation(shifted(root, NETS, "folder:VAL", classes="imagenet-a"), root / "reference")
    return root


@cache
def evaluated(root: Path, suite: str, images: int) -> Evaluation:
    found = make_evaluation(root, suite, NETS, images)
    some = ["clean", "fog", "snow", "contrast"] if suite == "cifar10-c" else found.suite.benchmark()
    return replace(found, rows=found.rows[found.rows["corruption"].isin(some)])


def small(root: Path, models: tuple[str, ...], **settings) -> Evaluation:
    """An evaluation by three corruptions of cifar10-c."""
    found = evaluated(root, "cifar10-c", 40)
    rows = found.rows[found.rows["model"].isin(models)]
    own = {name: found.models[name] for name in models}
    return replace(found, rows=rows, models=own, settings=found.settings | settings)


def shifted(root: Path, models: tuple[str, ...], source: str, **settings):
    """An evaluation of images as they are."""
    found = small(root, models, source=source, source_fingerprint=source, **settings)
    return replace(found, rows=found.rows[found.rows["corruption"] == "clean"])


def test_accuracies_of_evaluations_are_means_over_severities(folders):
    shifts = read_shift_evaluations([folders / "c", folders / "p"], {"v2": [(folders / "v2", None)]})
    assert shifts.models == NETS[1:]
    assert shifts.left_out == {"a": "lacks natural:v2"}
    assert list(shifts.corrupted) == ["cifar10-c/snow", "cifar10-c/fog", "cifar10-c/contrast"]
    rows = small(folders, NETS).rows
    right = (rows["label"] == rows["prediction"]).groupby([rows["model"], rows["corruption"]], observed=True).mean()
    for model in shifts.models:
        for entry in ("snow", "fog", "contrast"):
            assert shifts.corrupted.loc[model, f"cifar10-c/{entry}"] == pytest.approx(right[model, entry], abs=1e-12)
        assert shifts.clean[model] == right[model, "clean"]
    assert shifts.references["v2"].equals(shifts.clean.rename("v2"))
    films = evaluated(folders, "cifar10-p", 24)
    of_one = films.rows[films.rows["model"] == "ccc"]
    assert shifts.scores.loc["ccc", "cifar10-p"] == mfr(of_one, baseline=None, suite="cifar10-p").value


def test_severities_of_evaluations_can_be_chosen(folders):
    natural = {"v2": [(folders / "v2", None)]}
    shifts = read_shift_evaluations([folders / "c"], natural, severities=[5])
    rows = small(folders, NETS).rows.query("model == 'bb' and corruption == 'fog' and severity == 5")
    assert shifts.corrupted.loc["bb", "cifar10-c/fog"] == (rows["label"] == rows["prediction"]).mean()
    with pytest.raises(ValueError, match="no corruption has severities to choose 5"):
        read_shift_evaluations([folders / "p", folders / "reference"], natural, severities=[5])


def test_a_model_that_is_not_finished_is_left_out(folders, tmp_path):
    found = small(folders, NETS)
    unfinished = ~((found.rows["model"] == "bb") & (found.rows["corruption"] == "fog") & (found.rows["severity"] == 2))
    save_evaluation(replace(found, rows=found.rows[unfinished]), tmp_path / "c")
    shifts = read_shift_evaluations([tmp_path / "c"], {"v2": [(folders / "part", folders / "reference")]})
    assert shifts.left_out == {"bb": "lacks corrupted:cifar10-c/fog"}


def test_models_may_be_spread_over_folders(folders, tmp_path):
    save_evaluation(small(folders, NETS[:2]), tmp_path / "some")
    save_evaluation(small(folders, NETS[2:]), tmp_path / "others")
    natural = {"a": [(folders / "part", folders / "reference")]}
    together = read_shift_evaluations([folders / "c"], natural)
    apart = read_shift_evaluations([tmp_path / "some", tmp_path / "others"], natural)
    pd.testing.assert_frame_equal(together.corrupted, apart.corrupted)


def test_a_part_of_the_classes_needs_a_reference(folders):
    with pytest.raises(ValueError, match=r"scuff evaluate MODEL\.\.\. --data folder:VAL --classes imagenet-a"):
        read_shift_evaluations([folders / "c"], {"a": [(folders / "part", None)]})
    with pytest.raises(ValueError, match="does not have the classes of imagenet-a alone"):
        read_shift_evaluations([folders / "c"], {"a": [(folders / "part", folders / "v2")]})


def test_images_of_other_classes_than_they_are_compared_with_are_noted(folders, tmp_path):
    found = shifted(folders, NETS, "folder:SHIFT")
    few = replace(found, rows=found.rows[found.rows["label"] < 3])
    save_evaluation(few, tmp_path / "few")
    save_evaluation(replace(found, rows=found.rows.assign(label=found.rows["label"] + 4)), tmp_path / "alien")

    def notes(*pair):
        return read_noted_evaluations([folders / "c"], {"mine": [pair]})[1]

    (note,) = notes(tmp_path / "few", None)
    assert note.startswith("mine: images of 3 classes are compared with the clean images of 8; give a reference")
    assert notes(tmp_path / "few", tmp_path / "few") == []
    assert notes(folders / "v2", None) == []
    (note,) = notes(tmp_path / "alien", None)
    assert note.endswith("alien has classes that are not in the clean images: 8, 9, 10 and 1 more")
    (note,) = notes(folders / "v2", tmp_path / "few")
    assert note.endswith("few: 3, 4, 5 and 2 more")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"clean_fingerprint": "other"}, "the clean images must be the same ones for all models"),
        ({"suite": {"suite": "cifar10-c", "version": 2, "size": 32, "entries": {}}}, "different suites called"),
    ],
)
def test_folders_that_do_not_go_together_are_refused(folders, tmp_path, settings, message):
    save_evaluation(small(folders, NETS, **settings), tmp_path / "other")
    with pytest.raises(ValueError, match=message):
        read_shift_evaluations([folders / "c", tmp_path / "other"], {"v2": [(folders / "v2", None)]})


def test_one_name_must_mean_one_model_with_one_accuracy(folders, tmp_path):
    found, natural = small(folders, NETS), {"v2": [(folders / "v2", None)]}
    other = {**found.models, "bb": found.models["bb"] | {"fingerprint": "another"}}
    save_evaluation(replace(found, models=other), tmp_path / "model")
    with pytest.raises(ValueError, match="bb is not the same model in"):
        read_shift_evaluations([folders / "c", tmp_path / "model"], natural)
    clean = found.rows["corruption"] == "clean"
    wrong = found.rows.assign(prediction=np.where(clean, found.rows["label"], found.rows["prediction"]))
    save_evaluation(replace(found, rows=wrong), tmp_path / "cut")
    with pytest.raises(ValueError, match=r"on clean images in .*; they were evaluated differently"):
        read_shift_evaluations([folders / "c", tmp_path / "cut"], natural)


def test_one_model_has_one_flip_rate(folders, tmp_path):
    found, natural = evaluated(folders, "cifar10-p", 24), {"v2": [(folders / "v2", None)]}
    save_evaluation(found, tmp_path / "again")
    alone = read_shift_evaluations([folders / "c", folders / "p"], natural)
    twice = read_shift_evaluations([folders / "c", folders / "p", tmp_path / "again"], natural)
    pd.testing.assert_frame_equal(twice.scores, alone.scores)
    steady = found.rows.assign(prediction=np.where(found.rows["model"] == "bb", 0, found.rows["prediction"]))
    save_evaluation(replace(found, rows=steady), tmp_path / "steady")
    with pytest.raises(ValueError, match=r"bb has a flip rate of .* on cifar10-p in .*, and of 0\.0000 in .*steady"):
        read_shift_evaluations([folders / "c", folders / "p", tmp_path / "steady"], natural)


def test_natural_benchmarks_are_called_as_their_source_or_their_folder(folders):
    texts = [str(folders / "v2"), f"{folders / 'part'},{folders / 'reference'}", f"mine={folders / 'v2'}"]
    found = natural_folders([*texts, str(folders / "c")])
    assert list(found) == ["imagenet-v2", "imagenet-a", "mine", "c"]
    assert found["imagenet-a"] == [(str(folders / "part"), str(folders / "reference"))]
    with pytest.raises(ValueError, match=r"\[NAME=\]DIR\[,REFERENCE\], got 'x='"):
        natural_folders(["x="])
    with pytest.raises(ValueError, match="is not the folder of an evaluation"):
        natural_folders([str(folders)])
