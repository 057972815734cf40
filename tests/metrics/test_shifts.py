"""Tables of models on clean, corrupted and naturally shifted images: what is read, left out, refused."""

import numpy as np
import pandas as pd
import pytest

from scuff.metrics import complete_shifts, read_shifts

MODELS = list("abcdef")


def make_table(**columns) -> pd.DataFrame:
    """Six models, two corruptions, two natural benchmarks of which one has classes of its own."""
    draw = np.random.default_rng(0)
    names = ["clean", "corrupted:x/fog", "corrupted:x/snow", "natural:y", "natural:z", "reference:z"]
    table = pd.DataFrame(draw.uniform(0.1, 0.9, (6, len(names))), columns=names)
    return table.assign(**{"model": MODELS, **columns})


def test_residuals_compare_each_natural_benchmark_with_its_own_classes():
    table = make_table()
    shifts = read_shifts(table)
    assert shifts.models == tuple(MODELS)
    lost = shifts.natural_residuals()
    np.testing.assert_array_equal(lost["y"], table["clean"] - table["natural:y"])
    np.testing.assert_array_equal(lost["z"], table["reference:z"] - table["natural:z"])
    synthetic = shifts.synthetic_residuals()
    assert list(synthetic) == ["x/fog", "x/snow"]
    np.testing.assert_array_equal(synthetic["x/snow"], table["clean"] - table["corrupted:x/snow"])


def test_other_scores_stand_beside_residuals_as_they_are():
    shifts = read_shifts(make_table(**{"score:x-p": [10.0, 20, 30, 40, 50, 60]}))
    assert shifts.synthetic_residuals()["x-p"].tolist() == [10, 20, 30, 40, 50, 60]


def test_a_file_holds_all_of_it(tmp_path):
    table = make_table(**{"score:x-p": np.arange(6.0)}, family=["NA", "1", "1", "None", "q", "q"], standard=[1, 0] * 3)
    table["model"] = ["None", "NA", "121", "d", "e", "f"]  # no missing values, and no numbers
    before = read_shifts(table)
    path = tmp_path / "shifts.csv"
    before.to_frame().to_csv(path, index=False)
    after = read_shifts(path)
    pd.testing.assert_frame_equal(after.to_frame(), before.to_frame())
    assert after.models == ("None", "NA", "121", "d", "e", "f")
    assert after.families.tolist() == ["NA", "1", "1", "None", "q", "q"]
    assert after.standard == ("None", "121", "e")


def test_models_without_a_family_are_families_of_their_own(tmp_path):
    for blank in (None, "", np.nan):
        shifts = read_shifts(make_table(family=["p", blank, "p", blank, "q", "q"]))
        assert shifts.families.tolist() == ["p", "b", "p", "d", "q", "q"]
    path = tmp_path / "shifts.csv"
    make_table(family=["p", None, "p", None, "q", "q"]).to_csv(path, index=False)
    assert read_shifts(path).families.tolist() == ["p", "b", "p", "d", "q", "q"]


def test_standard_models_that_are_left_out_are_not_the_same_as_none_named(tmp_path):
    assert read_shifts(make_table()).standard is None
    table = make_table(standard=[1, 0, 0, 0, 0, 0])
    table.loc[0, "natural:y"] = np.nan
    shifts = read_shifts(table)
    assert shifts.standard == ()
    assert shifts.take(list("fedcb")).standard == ()
    path = tmp_path / "shifts.csv"
    shifts.to_frame().to_csv(path, index=False)
    assert read_shifts(path).standard == ()
    assert read_shifts(make_table()).take(list("fedcb")).standard is None


def test_a_column_that_is_there_twice_is_refused():
    table = make_table()
    with pytest.raises(ValueError, match="twice: natural:y"):
        read_shifts(pd.concat([table, table[["natural:y"]]], axis=1))


def test_a_column_that_is_there_twice_in_a_file_is_refused(tmp_path):
    table = make_table()
    path = tmp_path / "shifts.csv"
    pd.concat([table, table[["natural:y"]]], axis=1).to_csv(path, index=False)
    with pytest.raises(ValueError, match="twice: natural:y"):
        read_shifts(path)


@pytest.mark.parametrize(("separator", "name"), [(";", "semicolons"), ("\t", "tabs")])
def test_a_file_without_commas_is_told_so(tmp_path, separator, name):
    path = tmp_path / "shifts.csv"
    make_table().to_csv(path, index=False, sep=separator)
    with pytest.raises(ValueError, match=rf"single column, .*separated by {name}\? Commas are expected"):
        read_shifts(path)


@pytest.mark.parametrize("word", ["", "-", "NaN", "NA", "n/a", "None", "null"])
def test_words_for_a_missing_number_leave_its_model_out(tmp_path, word):
    table = make_table().astype({"natural:y": object})
    table.loc[2, "natural:y"] = word
    assert read_shifts(table).left_out == {"c": "lacks natural:y"}
    table.to_csv(tmp_path / "shifts.csv", index=False)
    assert read_shifts(tmp_path / "shifts.csv").left_out == {"c": "lacks natural:y"}


@pytest.mark.parametrize("value", [-0.1, np.inf])
def test_only_what_may_be_in_percent_is_asked_whether_it_is(value):
    with pytest.raises(ValueError, match=r"for a on y \(natural shifts\)$"):
        read_shifts(make_table(**{"natural:y": value}))


def test_models_that_lack_a_value_are_left_out_with_the_reason():
    table = make_table()
    table.loc[2, ["corrupted:x/fog", "natural:z"]] = np.nan
    shifts = read_shifts(table)
    assert shifts.models == ("a", "b", "d", "e", "f")
    assert shifts.left_out == {"c": "lacks corrupted:x/fog, natural:z"}


def test_tables_in_another_order_are_joined_by_model():
    table = make_table().set_index("model")
    corrupted = table[["corrupted:x/fog"]].rename(columns={"corrupted:x/fog": "x/fog"}).iloc[::-1]
    natural = table[["natural:y"]].rename(columns={"natural:y": "y"}).iloc[1:]
    shifts = complete_shifts(table["clean"], corrupted, natural)
    assert shifts.models == tuple("bcdef")
    np.testing.assert_array_equal(shifts.corrupted["x/fog"], table.loc[list("bcdef"), "corrupted:x/fog"])
    assert shifts.left_out == {"a": "lacks natural:y"}


def test_some_models_can_be_taken():
    table = make_table(family=list("ppqqrr"), standard=[1] * 6)
    some = read_shifts(table).take(list("fbdca"))
    assert some.models == tuple("fbdca")
    assert set(some.standard) == set("fbdca")
    assert some.families.tolist() == list("rpqqp")
    np.testing.assert_array_equal(some.clean, table.set_index("model").loc[list("fbdca"), "clean"])
    with pytest.raises(ValueError, match="no model q"):
        some.take(["q"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clean": 76.1}, "0 to 1, got 76.1 for a on clean .* percent"),
        ({"natural:y": -0.1}, "got -0.1 for a on y"),
        ({"model": list("aabcde")}, "a model has one row, and a has several"),
        ({"clean": ["high", 0.5, 0.5, 0.5, 0.5, 0.5]}, "column clean must hold numbers, got 'high' for a"),
        ({"score:x-p": [np.inf, 1, 1, 1, 1, 1]}, "finite"),
        ({"reference:q": 0.5}, "a reference for q, but no accuracy"),
        ({"score:x;y": 0.5}, "must not have ';' in it, which separates names: x;y"),
        ({"score:x/fog": 0.5}, "synthetic names occur twice: x/fog"),
        ({"Natural:n1": 0.5}, "column 'Natural:n1' means nothing.* did you mean natural:n1"),
        ({"clena": 0.5}, "column 'clena' means nothing.* did you mean clean"),
        ({"model": ["a", None, *"cdef"]}, "must name its model, and row 2 of 6 does not"),
        ({"model": ["a", " ", *"cdef"]}, "must name its model, and row 2 of 6 does not"),
    ],
)
def test_what_makes_no_sense_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        read_shifts(make_table(**change))


def test_too_few_models_say_what_is_rare():
    table = make_table()
    table.loc[:2, "natural:z"] = np.nan
    with pytest.raises(ValueError, match=r"3 of 6 models have every value.*at least 5.*natural:z \(3 models\)"):
        read_shifts(table)


@pytest.mark.parametrize(("column", "message"), [("natural", "no natural"), ("corrupted", "no synthetic")])
def test_both_sides_are_needed(column, message):
    table = make_table()
    dropped = [name for name in table if name.startswith((f"{column}:", "reference:"))]
    with pytest.raises(ValueError, match=message):
        read_shifts(table.drop(columns=dropped))


def test_columns_that_must_be_there():
    with pytest.raises(ValueError, match="missing: clean"):
        read_shifts(make_table().drop(columns="clean"))
