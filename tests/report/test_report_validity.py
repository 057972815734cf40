"""The report of validity: the whole page, with much or little in it, and that of a folder."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from browser import Browser
from made_validity import (
    NATURAL,
    SCORE,
    made_settings,
    make_contributions,
    make_correlations,
    make_groups,
    make_searches,
    make_shifts,
    make_trends,
)
from pages import Page, rendered, table_of
from typer.testing import CliRunner
from validity_pages import lines, render_all, validity_page, verdicts

from scuff.cli import app
from scuff.report import write_report
from scuff.report.validity.scores import ValidityScores
from scuff.store import Store
from scuff.studies.validity.results import Validity, save_validity

DRAWN = "document.documentElement.dataset.drawn === 'yes'"
HOSTILE = "</script><script>window.hurt = 1</script><b>@ink"
EVERY = ["correlations", "models", "corruptions", "categories", "groups", "trends", "searches", "settings"]


def test_all_sections_are_there_and_nothing_is_unnamed(page):
    assert page.sections() == EVERY
    assert {attributes["href"][1:] for _, attributes, _ in page.find("a")} == set(EVERY)
    ids = [attributes["id"] for _, attributes, _ in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    charts = [a for _, a, _ in page.find("div") if a.get("class", "").startswith("chart")]
    assert all(attributes["aria-label"] for attributes in charts)
    assert {attributes["data-figure"] for attributes in charts} == set(page.data()["figures"])
    assert "nan" not in " ".join(page.texts("main")).lower().split()


def test_the_page_opens_in_a_browser_without_a_complaint_and_shows_one_suite_at_a_time(
    tmp_path, shifts, correlations, contributions
):
    (tmp_path / "page.html").write_text(render_all(shifts, correlations, contributions), encoding="utf-8")
    shown = "[...document.querySelectorAll('.panel:not([hidden]) > h3')].map(title => title.textContent)"
    with Browser() as browser:
        browser.window(375)
        browser.open((tmp_path / "page.html").as_uri())
        browser.wait_for(DRAWN)
        assert browser.complaints() == []
        assert browser.run("document.documentElement.scrollWidth") == 375
        visible = "[...document.querySelectorAll('.chart')].filter(c => !c.closest('.panel[hidden]'))"
        assert browser.run(f"{visible}.every(chart => chart.querySelector('.trace'))")
        assert browser.run(shown) == ["made-c"]
        browser.run("(s => { s.value = '1'; s.dispatchEvent(new Event('change')); })(document.querySelector('select'))")
        assert browser.run(shown) == [SCORE]
        browser.wait_for(f"{visible}.every(chart => chart.querySelector('.trace'))")


def test_a_page_about_hundreds_of_models_stays_light():
    many = make_shifts(models=200, natural=[f"natural-{number}" for number in range(5)])
    text = rendered(
        validity_page, many, make_correlations(many), make_contributions(many), settings=made_settings(many)
    )
    own = text[: text.index("<script>")]  # all but Plotly and the script
    assert len(own) < 600_000  # 3 benchmarks x 5 x 200 points, at about 100 bytes each, and the tables


def test_names_are_text_and_nothing_else(shifts):
    renamed = {NATURAL[0]: HOSTILE}
    models = {"m1": HOSTILE}
    tables = {
        name: getattr(shifts, name).rename(index=models)
        for name in ("clean", "corrupted", "natural", "references", "scores", "families")
    }
    tables["natural"], tables["references"] = (tables[n].rename(columns=renamed) for n in ("natural", "references"))
    tables["families"] = tables["families"].replace("family 0", HOSTILE)
    hostile = replace(shifts, **tables, left_out={HOSTILE: HOSTILE})
    page = Page(render_all(hostile, make_correlations(hostile), make_contributions(hostile), title=HOSTILE))
    assert len(page.find("script")) == 3
    assert page.texts("h1") == [HOSTILE]
    assert not page.find("b")
    assert '<b>@ink"' not in json.dumps(page.data())
    assert HOSTILE in page.section("settings")


def test_what_is_not_there_has_no_section(shifts, correlations, contributions):
    page = Page(rendered(validity_page, shifts, correlations, contributions))
    assert page.sections() == ["correlations", "models", "corruptions", "categories", "settings"]
    assert not page.texts("pre")
    assert "stability" not in page.section("settings")
    corruptions = Page(rendered(validity_page, shifts, lines(correlations, what="corruption")))
    assert corruptions.sections() == ["corruptions", "settings"]
    assert list(verdicts(corruptions)) == ["Single corruptions"]
    assert corruptions.texts("h1")[0].startswith("Does a synthetic benchmark predict robustness to sketches, ")


def test_one_natural_benchmark_needs_no_mean():
    one = make_shifts(natural=("sketches",))
    groups = make_groups(one)
    correlations = make_correlations(one)
    page = Page(rendered(validity_page, one, correlations, make_contributions(one), groups, make_trends(groups)))
    assert page.texts("h1") == ["Does made-c predict robustness to sketches?"]
    assert verdicts(page)["made-c (7 corruptions)"].startswith(
        "correlation with robustness to natural shifts: strong for sketches. r = "
    )
    assert list(table_of(page, "Pearson's correlation by category")["noise"]) == ["corruptions", "sketches"]
    assert page.data()["figures"]["slope-n"]["data"][0]["y"] == [0]


def test_a_natural_benchmark_without_correlations_does_not_hide_the_others(shifts, correlations, contributions):
    why = "the residual robustness to cartoons is the same for all models"
    numbers = {"value", "low", "high", "p_value", "alone", "alone_gain", "gain", "gain_low", "gain_high"}

    def flat(table):
        its = table["natural"].isin(["cartoons", "mean"])
        if "kind" in table:  # effective robustness differs where residual robustness does not
            its &= table["kind"] != "effective"
        columns = [name for name in table if name in numbers]
        return table.assign(note=np.where(its, why, ""), **{name: table[name].mask(its) for name in columns})

    page = Page(rendered(validity_page, shifts, flat(correlations), flat(contributions)))
    said = verdicts(page)
    best = lines(correlations, what="corruption", kind="pearson", natural="sketches").nlargest(1, "value").iloc[0]
    short = best["benchmark"].removeprefix("made-c/").replace("_", " ")
    start = "no correlation with cartoons is defined, and so none on average. "
    first = f"{short} correlates best alone with sketches, r = {best['value']:.2f}"
    assert said["Single corruptions"].startswith(f"{start}{first}")
    assert re.search(r"; not defined for cartoons\. r from 0\.\d\d with \w+ to 0", said["made-c (7 corruptions)"])
    alone = table_of(page, "Corruptions alone: correlation with sketches")
    assert alone[short]["Pearson"] == pytest.approx(best["value"], rel=1e-12)
    assert f"cartoons No r: {why}." in page.texts("figcaption")
    gains = [text for text in page.texts("figcaption") if text.startswith("Gain of r")]
    assert gains == [f"Gain of r by corruption With {natural}." for natural in ("sketches", "renditions")]
    assert "nan" not in re.sub(r'data-value="nan"', "", page.section("corruptions")).lower()
    noted = (
        "Pearson, Spearman, given a line in clean accuracy and given a curve in clean accuracy with cartoons and the "
        f"mean: {why}."
    )
    assert noted in page.texts("p")


def test_tables_with_numbers_for_names_are_read_as_text(shifts, correlations):
    renamed = correlations.replace({"benchmark": {"noise": 1, "blur": 2, "weather": 3}})
    scores = ValidityScores(shifts, renamed.astype({"note": object}).replace({"note": {"": np.nan}}))
    assert scores.names("category") == ["1", "2", "3"]
    assert scores.score("category", "1").note == ""


def test_the_first_suite_is_the_largest_that_has_a_name(shifts, correlations):
    page = Page(rendered(validity_page, shifts, correlations, settings=made_settings(shifts)))
    assert page.texts("h1") == ["Does made-c predict robustness to sketches, renditions and cartoons?"]
    assert ValidityScores(shifts, correlations).suites == [("suite", "made-c"), ("score", SCORE), ("suite", "all")]
    assert page.texts("option")[:3] == ["made-c", SCORE, "all corruptions"]


@pytest.fixture
def folder(tmp_path, shifts, correlations, contributions):
    """What a study leaves behind."""
    groups = make_groups(shifts)
    tables = correlations, contributions, groups, make_trends(groups), make_searches()
    save_validity(Store(tmp_path / "valid"), Validity(shifts, *tables, made_settings(shifts)))
    return tmp_path / "valid"


def test_the_report_of_a_folder_is_that_of_its_tables(folder, page):
    path = write_report(folder, title="Mine")
    assert path == str(folder / "report.html")
    found = Page((folder / "report.html").read_text(encoding="utf-8"))
    assert found.texts("h1") == ["Mine"]
    assert verdicts(found) == verdicts(page)
    for key in EVERY[:-1]:
        assert found.section(key) == page.section(key)
    assert found.section("settings") == page.section("settings").replace("runs/valid", str(folder))


def test_the_command_line_finds_out_that_a_folder_is_of_validity(folder, tmp_path):
    result = CliRunner().invoke(app, ["report", str(folder), "--out", str(tmp_path / "page.html")])
    assert result.exit_code == 0, result.output
    assert f"Report: {tmp_path / 'page.html'}" in result.output.replace("\n", "")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    refused = CliRunner().invoke(app, ["report", str(folder), "--data", "cifar10:data"])
    assert refused.exit_code == 2
    assert "validity.json" in " ".join(refused.output.split())


def test_a_folder_of_another_version_is_refused_in_a_line(folder):
    table = pd.read_csv(folder / "searches.csv")
    table.drop(columns=[name for name in table if name.startswith("chosen")]).to_csv(
        folder / "searches.csv", index=False
    )
    result = CliRunner().invoke(app, ["report", str(folder)])
    assert result.exit_code == 2
    assert "another version" in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_a_folder_of_something_else_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"there is no evaluation\.json in it, and no .*validity\.json"):
        write_report(tmp_path)
