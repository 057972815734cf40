"""What the report of validity says of its settings, and of the command that makes it again."""

import shlex
from dataclasses import replace

import pytest
from made_validity import (
    CATEGORIES,
    made_settings,
    make_correlations,
)
from pages import Page, rendered, table_of
from validity_pages import validity_page

from scuff.report.validity.figures import model_scatter
from scuff.report.validity.scores import ValidityScores
from scuff.report.validity.validity import CATEGORIES as CATEGORIES_FILE
from scuff.report.validity.validity import GIVEN_CATEGORIES, GIVEN_TABLE, validity_again, validity_settings


def test_settings_say_who_is_left_out_and_how_to_do_it_again(page, shifts):
    text = page.section("settings")
    assert list(table_of(page, "Models that are left out")) == ["m40"]
    assert shifts.left_out["m40"] in text
    assert "40; 1 left out" in text
    assert "bootstrap over whole families of models." in text
    assert "other-c: no suite of that name." in text
    (command,) = page.texts("pre")
    options = "--out runs/valid --mapping map.yaml --categories runs/noc --search 2,3 --resamples 500"
    assert command == f"scuff validity table.csv {options}"


def test_the_command_names_all_options_that_are_not_defaults(shifts):
    settings = made_settings(shifts)
    folders = {
        "source": ["runs/one", "runs/two"],
        "natural": {"imagenet-a": [["runs/a", "runs/val-a"], ["runs/more a", None]]},
        "pairs": [[2, 3], [3, 2]],
        "severities": [1, 3],
        "suites": ["mine.yaml"],
        "resample": "models",
        "resamples": 500,
    }
    words = shlex.split(validity_again(settings | {"options": folders}, "runs/v").words)
    assert words == [
        *("scuff", "validity", "runs/one", "runs/two", "--out", "runs/v"),
        *("--natural", "imagenet-a=runs/a,runs/val-a", "--natural", "imagenet-a=runs/more a"),
        *("--pairs", "2,3 3,2", "--severity", "1,3", "--suite", "mine.yaml"),
        *("--resample", "models", "--resamples", "500"),
    ]
    in_python = settings | {"options": {"source": {"object": "Shifts"}, "categories": CATEGORIES}}
    again = validity_again(in_python, "v")
    table, *options = shlex.split(again.words)[2:]
    assert (table, options) == ("v/shifts.csv", ["--out", "v", "--categories", CATEGORIES_FILE])
    assert again.notes == (GIVEN_TABLE, GIVEN_CATEGORIES)
    scores = ValidityScores(shifts, make_correlations(shifts), settings=in_python)
    facts = validity_settings(scores, None)["parts"][1]["pairs"]
    assert ("Categories from", "as given in Python") in facts
    every = settings | {"options": {"source": "table.csv", "categories": "families"}}
    assert "--categories families" in validity_again(every, "v").words
    assert validity_again({key: settings[key] for key in settings if key != "options"}, "v") is None  # an old folder


def test_reasons_for_leaving_models_out_are_counted(shifts, correlations):
    left_out = {"odd": "excluded"} | {f"x{number}": "lacks fog" for number in range(6)}
    page = Page(rendered(validity_page, replace(shifts, left_out=left_out), correlations))
    assert list(table_of(page, "Why models are left out")) == ["6 models", "1 model"]
    cells = page.texts("td")
    assert cells[cells.index("lacks fog") + 1] == "x0, x1, x2, x3 and 2 more"
    assert list(table_of(page, "Models that are left out")) == list(left_out)
    assert "All 7 that are left out" in page.texts("summary")


def test_models_may_be_left_out_for_other_reasons_than_missing_values(shifts, correlations):
    page = rendered(validity_page, replace(shifts, left_out={"a": "excluded by the mapping"}), correlations)
    assert "40 models of 20 families (1 other left out), 8 corruptions" in page
    assert "missing values" not in page


@pytest.mark.parametrize(
    ("standard", "words"),
    [(None, "none named, so all serve"), ((), "all that were named are left out"), (("m0", "m4"), "m0 and m4")],
)
def test_settings_say_which_models_are_standard(shifts, correlations, standard, words):
    scores = ValidityScores(replace(shifts, standard=standard), correlations)
    facts = next(part["pairs"] for part in validity_settings(scores, None)["parts"] if part and "pairs" in part)
    assert ("Standard models", words) in facts
    assert len(model_scatter("key", scores, "suite", "made-c", "sketches").traces) == (2 if standard else 1)
