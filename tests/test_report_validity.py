"""The report of validity: what it shows is what the tables say, with much or little in them."""

import json
import re
import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from chromium import Chromium, find_chromium
from made_validity import (
    CATEGORIES,
    MEAN,
    NATURAL,
    SCORE,
    SUITES,
    UNRELATED,
    made_settings,
    make_contributions,
    make_correlations,
    make_groups,
    make_searches,
    make_shifts,
    make_trends,
)
from pages import Page, table_of
from typer.testing import CliRunner

from scuff.cli import app
from scuff.report import render_validity, write_validity_report
from scuff.report.colours import themes
from scuff.report.validity.command import CATEGORIES as CATEGORIES_FILE
from scuff.report.validity.command import GIVEN_CATEGORIES, GIVEN_TABLE, validity_again
from scuff.report.validity.figures import model_scatter
from scuff.report.validity.notes import suite_notes
from scuff.report.validity.scores import KINDS, measure_validity
from scuff.report.validity.sections import scatter_section
from scuff.report.validity.settings import definitions, settings_section
from scuff.report.validity.verdicts import validity_verdicts
from scuff.store import Store
from scuff.studies.validity_results import Validity, save_validity

DRAWN = "document.documentElement.dataset.drawn === 'yes'"
HOSTILE = "</script><script>window.hurt = 1</script><b>@ink"
EVERY = ["correlations", "models", "corruptions", "categories", "groups", "trends", "searches", "settings"]


@pytest.fixture(scope="module")
def shifts():
    return make_shifts()


@pytest.fixture(scope="module")
def correlations(shifts):
    return make_correlations(shifts)


@pytest.fixture(scope="module")
def contributions(shifts):
    return make_contributions(shifts)


@pytest.fixture(scope="module")
def page(shifts, correlations, contributions):
    return Page(render_all(shifts, correlations, contributions))


def render_all(shifts, correlations, contributions, **options) -> str:
    """The page of everything that a study can find."""
    groups = make_groups(shifts)
    tables = (groups, make_trends(groups), make_searches(), made_settings(shifts))
    return render_validity(shifts, correlations, contributions, *tables, directory="runs/valid", **options)


def verdicts(page: Page) -> dict[str, str]:
    """What a page says first, by what it is about."""
    return dict(text.split(": ", 1) for text in page.texts("li") if ": " in text)


def lines(table: pd.DataFrame, **wanted) -> pd.DataFrame:
    """The lines of a table that have these values."""
    for name, value in wanted.items():
        table = table[table[name] == value]
    return table


# --- the whole page --------------------------------------------------------------------------------------------------


def test_all_sections_are_there_and_nothing_is_unnamed(page):
    assert page.sections() == EVERY
    assert {attributes["href"][1:] for _, attributes, _ in page.find("a")} == set(EVERY)
    ids = [attributes["id"] for _, attributes, _ in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    charts = [a for _, a, _ in page.find("div") if a.get("class", "").startswith("chart")]
    assert all(attributes["aria-label"] for attributes in charts)
    assert {attributes["data-figure"] for attributes in charts} == set(page.data()["figures"])
    assert "nan" not in " ".join(page.texts("main")).lower().split()


def test_figures_are_what_plotly_understands(page):
    from plotly.graph_objects import Figure

    theme = themes()["light"]
    text = json.dumps(page.data()["figures"])
    text = re.sub(r'"@([a-z0-9-]+)(?:/[0-9.]+)?"', lambda found: f'"{theme[found.group(1)]}"', text)
    for figure in json.loads(text).values():
        Figure(figure)


def test_the_page_opens_in_a_browser_without_a_complaint_and_shows_one_suite_at_a_time(
    tmp_path, shifts, correlations, contributions
):
    path = find_chromium()
    assert path is not None, "no chromium found; install one (Debian: apt install chromium) or set CHROMIUM to its path"
    (tmp_path / "page.html").write_text(render_all(shifts, correlations, contributions), encoding="utf-8")
    shown = "[...document.querySelectorAll('.panel:not([hidden]) > h3')].map(title => title.textContent)"
    with Chromium(path, tmp_path / "profile") as browser:
        browser.window(375)
        browser.open((tmp_path / "page.html").as_uri())
        browser.wait_for(DRAWN)
        assert browser.complaints() == []
        assert browser.run("document.documentElement.scrollWidth") == 375
        visible = "[...document.querySelectorAll('.chart')].filter(c => !c.closest('.panel[hidden]'))"
        assert browser.run(f"{visible}.every(chart => chart.querySelector('.trace'))")
        assert browser.run(shown) == ["all corruptions"]
        browser.run("(s => { s.value = '1'; s.dispatchEvent(new Event('change')); })(document.querySelector('select'))")
        assert browser.run(shown) == ["made-c"]
        browser.wait_for(f"{visible}.every(chart => chart.querySelector('.trace'))")


def test_a_page_about_hundreds_of_models_stays_light():
    many = make_shifts(models=200, natural=[f"natural-{number}" for number in range(5)])
    text = render_validity(many, make_correlations(many), make_contributions(many), settings=made_settings(many))
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


# --- correlations and verdicts ---------------------------------------------------------------------------------------


def test_the_table_has_all_kinds_of_all_suites_with_intervals(page, correlations):
    start = next(k for k, (tag, _, _) in enumerate(page.elements) if tag == "caption")
    cells = [e for e in page.elements[start:] if e[0] == "td"][: 11 * 5]  # 2 suites by 4 kinds and a score by 3
    suites = correlations[correlations["what"].isin(("suite", "score"))]
    wanted = suites.set_index(["kind", "benchmark", "natural"])
    order = [(kind, name) for kind in KINDS for name in ("all", "made-c", SCORE)][:-1]  # no effective score
    for place, (kind, name) in enumerate(order):
        words, *numbers = cells[5 * place : 5 * place + 5]
        assert "".join(words[2]) == KINDS[kind]
        for (_, attributes, inside), natural in zip(numbers, [*NATURAL, MEAN], strict=True):
            line = wanted.loc[(kind, name, natural)]
            assert float(attributes["data-value"]) == pytest.approx(line["value"], rel=1e-12)
            ends = f"{line['low']:.2f} to {line['high']:.2f}".replace("-", "\u2212")
            assert "".join(inside).endswith(ends)
    values = suites[(suites["kind"] == "pearson") & (suites["natural"] == "sketches")]["value"]
    best = [float(a["data-value"]) for _, a, _ in cells if "best" in a["class"].split()]
    assert values.max() in best
    assert values.min() not in best


def test_p_values_are_there_too(page, correlations):
    rows = table_of(page, "p-values")
    found = lines(correlations, what="score", kind="partial").set_index("natural")["p_value"]  # the last of its name
    assert {natural: rows[SCORE][natural] for natural in NATURAL} == pytest.approx(dict(found[list(NATURAL)]), rel=1e-9)


def test_verdicts_say_what_a_suite_predicts_and_what_not(page, correlations):
    said = verdicts(page)
    suite = said["made-c (7 corruptions)"]
    assert suite.startswith(f"predicts robustness to sketches and renditions; not known to for {UNRELATED}")
    mean = lines(correlations, what="suite", benchmark="made-c", natural=MEAN).set_index("kind")
    for kind, start in {"pearson": "Mean r = ", "partial": "mean r = ", "effective": "on both: mean r = "}.items():
        value, low, high = mean.loc[kind, ["value", "low", "high"]]
        assert f"{start}{value:.2f} (95 % interval {low:.2f} to {high:.2f})" in suite
    assert f"it still does for sketches and renditions, and is not known to for {UNRELATED}" in suite
    assert "All 8 corruptions" in said
    assert "Effective robustness" not in said[SCORE]
    alone = lines(correlations, what="corruption", natural=MEAN, kind="pearson").set_index("benchmark")["value"]
    best, worst = alone.idxmax(), alone.idxmin()
    assert best in CATEGORIES["noise"]
    assert worst in CATEGORIES["weather"]
    assert said["Single corruptions"].startswith(f"{best.removeprefix('made-c/').replace('_', ' ')} predicts best")


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.1, 0.3, "predicts robustness to all 3 natural shifts."),
        (-0.1, 0.5, "is not known to predict robustness to any of 3 natural shifts."),
        (-0.5, -0.1, "; models that are robust to it are less robust to sketches, renditions and cartoons."),
        (np.nan, np.nan, "not defined for sketches, renditions and cartoons."),
    ],
)
def test_verdicts_follow_from_intervals(shifts, correlations, low, high, words):
    value = (low + high) / 2
    table = correlations.assign(value=value, low=low, high=high, note="" if value == value else "no two models differ")
    scores = measure_validity(shifts, table)
    said = dict(validity_verdicts(scores))["made-c (7 corruptions)"]
    assert words in said
    assert ("still" in said) == (low > 0)
    assert "nan" not in said
    assert bool(suite_notes(scores)) == (value != value)


def test_notes_name_the_suites_only_if_they_are_not_of_all(shifts, correlations):
    its = (correlations["what"] == "suite") & (correlations["kind"] == "effective")
    of_one = its & (correlations["benchmark"] == "all") & (correlations["natural"] == "sketches")
    table = correlations.assign(note=np.where(of_one, "a point is far off", ""))
    (note,) = suite_notes(measure_validity(shifts, table))
    assert note == "all corruptions, effective robustness with sketches: a point is far off."
    whole = correlations["what"].isin(("suite", "score")) & (correlations["kind"] == "pearson")
    (note,) = suite_notes(measure_validity(shifts, correlations.assign(note=np.where(whole, "few models", ""))))
    names = "Pearson with sketches, Pearson with renditions, Pearson with cartoons and Pearson with mean"
    assert note == f"{names}: few models."


# --- models ----------------------------------------------------------------------------------------------------------


def test_points_are_models_and_standard_ones_are_apart(page, shifts):
    figure = page.data()["figures"]["models1-2"]  # the second suite, made-c, and the third natural benchmark
    standard, others = figure["data"]
    assert (standard["name"], others["name"]) == ("standard", "others")
    assert standard["marker"]["symbol"] != others["marker"]["symbol"]
    x = 100 * shifts.synthetic_residuals()[SUITES["made-c"]].mean(axis=1)
    y = 100 * shifts.natural_residuals()["cartoons"]
    np.testing.assert_allclose(standard["x"], x[list(shifts.standard)], atol=0.0005)  # three digits are kept
    np.testing.assert_allclose(standard["y"], y[list(shifts.standard)], atol=0.0005)
    assert len(others["x"]) == len(shifts.models) - len(shifts.standard)
    clean = f"clean accuracy {100 * shifts.clean['m4']:.1f} %"
    assert standard["text"][1] == f"<b>m4</b><br>family family 2<br>{clean}"
    assert "made-c %{x:.1f} points<br>cartoons %{y:.1f} points" in standard["hovertemplate"]
    assert figure["layout"]["xaxis"]["title"]["text"] == "lost to made-c, points"


def test_scores_are_drawn_as_they_are(page, shifts):
    figure = page.data()["figures"]["models2-0"]
    np.testing.assert_allclose(figure["data"][0]["x"], shifts.scores.loc[list(shifts.standard), SCORE], atol=1e-5)
    assert figure["layout"]["xaxis"]["title"]["text"] == SCORE


def test_one_suite_has_no_choice_and_suites_of_unknown_members_no_figures(shifts, correlations):
    one = correlations[(correlations["what"] == "suite") & (correlations["benchmark"] == "made-c")]
    page = Page(render_validity(shifts, one))  # whose members follow from its name
    assert not page.find("select")
    assert len([key for key in page.data()["figures"] if key.startswith("models")]) == 3
    unknown = measure_validity(shifts, one.assign(benchmark="mine"))
    assert scatter_section(unknown) is None
    assert list(dict(validity_verdicts(unknown))) == ["mine (7 corruptions)"]


def test_models_without_families_or_standard_ones_have_one_colour(shifts, correlations):
    plain = replace(shifts, families=None, standard=())
    scores = measure_validity(plain, correlations)
    (trace,) = model_scatter("key", scores, "suite", "made-c", "sketches").traces
    assert "family" not in trace["text"][0]
    assert "Diamonds" not in scatter_section(scores)["parts"][0]["words"]
    assert dict(definitions(scores))["intervals"] == "95 %, bootstrap over models."


# --- corruptions and categories --------------------------------------------------------------------------------------


def test_the_matrix_has_every_corruption_the_best_on_top(page, correlations):
    found = lines(correlations, what="corruption", kind="pearson")
    wide = found.pivot(index="benchmark", columns="natural", values="value")[[*NATURAL, MEAN]]
    wide = wide.sort_values(MEAN, ascending=False)
    cells = [(a, "".join(inside)) for tag, a, inside in page.elements if tag == "td" and "data-tip" in a]
    shown = np.array([float(text.replace("\u2212", "-")) for _, text in cells]).reshape(wide.shape)
    np.testing.assert_allclose(shown, wide, atol=0.005001)  # two digits are shown
    framed = np.array(["best" in a["class"].split() for a, _ in cells]).reshape(wide.shape)
    np.testing.assert_array_equal(framed, wide == wide.max())
    lightest = ["h0" in a["class"].split() for a, _ in cells]
    assert lightest == (wide.to_numpy() < 0.05).ravel().tolist()  # one of twenty shades


def test_the_label_of_a_cell_has_all_kinds_the_gain_and_the_category(page, correlations, contributions):
    found = lines(correlations, benchmark="other-c/fog", natural="sketches").set_index("kind")
    gain = lines(contributions, corruption="other-c/fog", natural="sketches")["gain"].item()
    tips = [a["data-tip"].replace("\u2212", "-") for _, a, _ in page.find("td") if "data-tip" in a]
    tip = next(text for text in tips if text.startswith("fog (other-c) and sketches"))
    assert tip.splitlines() == [
        "fog (other-c) and sketches",
        *(f"{name}: {found.value[k]:.2f} ({found.low[k]:.2f} to {found.high[k]:.2f})" for k, name in KINDS.items()),
        f"gain in all corruptions: {gain:+.3f}",
        "category weather",
    ]


def test_gains_are_in_order_with_intervals(page, contributions):
    (dots,) = page.data()["figures"]["gains"]["data"]
    its = lines(contributions, natural=MEAN).sort_values("gain", ascending=False)
    np.testing.assert_allclose(dots["x"], its["gain"], atol=1e-5)
    np.testing.assert_allclose(dots["error_x"]["array"], its["gain_high"] - its["gain"], atol=1e-5)
    rows = table_of(page, "Gain")
    assert rows["fog (made-c)"]["cartoons"] == pytest.approx(
        lines(contributions, corruption="made-c/fog", natural="cartoons")["gain"].item(), rel=1e-12
    )


def test_categories_have_their_correlations_and_members(page, correlations):
    rows = table_of(page, "Pearson's correlation by category")
    found = lines(correlations, what="category", kind="pearson").set_index(["benchmark", "natural"])["value"]
    assert rows["noise"][MEAN] == pytest.approx(found["noise", MEAN], rel=1e-12)
    text = page.section("categories")
    assert "gaussian noise, shot noise, impulse noise" in text
    assert "same category correlates by 0.61 in the mean, of different ones by 0.11." in text


# --- groups, trends, searches ----------------------------------------------------------------------------------------


def test_groups_are_tables_like_those_of_the_paper(page, shifts):
    groups = make_groups(shifts).set_index(["group", "natural"])
    for caption, names in {
        "Mean r of benchmarks of n categories": ["2,1", "3,1", "2,2"],
        "Mean r of benchmarks by the std": ["std 0.0", "std 0.8", "std 1.4"],
    }.items():
        rows = table_of(page, caption)
        assert list(rows) == [*NATURAL, MEAN]
        for natural in rows:
            assert list(rows[natural]) == names
            wanted = [groups.loc[(name, natural), "value"] for name in names]
            assert list(rows[natural].values()) == pytest.approx(wanted, rel=1e-12)
    figures = page.data()["figures"]
    for key, mode in {"groups0": "markers", "groups1": "lines+markers"}.items():
        mean = figures[key]["data"][-1]
        assert (mean["name"], mean["mode"]) == (MEAN, mode)
        np.testing.assert_allclose(mean["error_y"]["arrayminus"], 0.1, atol=1e-5)
    assert figures["groups0"]["layout"]["xaxis"]["ticktext"] == ["2,1", "3,1", "2,2"]


def test_trends_are_compared_with_the_paper(page):
    said = verdicts(page)
    assert said["Number of categories"].startswith("r rises, as in the paper: +0.030 (95 % interval +0.025 to +0.035)")
    assert said["Size"].startswith("r is not known to change with it: +0.002")
    assert said["Imbalance"].startswith("r falls, as in the paper: \u22120.050")
    (dots,) = page.data()["figures"]["slope-std"]["data"]
    assert dots["x"] == [-0.05] * 4
    (dots,) = page.data()["figures"]["pairs-std"]["data"]
    np.testing.assert_allclose(dots["x"], [-0.04, -0.03], atol=1e-5)
    assert "pairs-size" not in page.data()["figures"]


def test_a_trend_against_the_paper_says_so(shifts, correlations):
    groups = make_groups(shifts)
    turned = make_trends(groups).assign(difference=lambda t: -t["difference"])
    turned[["low", "high"]] = turned["difference"].to_numpy()[:, None] + [-0.005, 0.005]
    said = dict(validity_verdicts(measure_validity(shifts, correlations, None, groups, turned)))
    assert said["Number of categories"].startswith("r falls, unlike in the paper")
    assert said["Imbalance"].startswith("r rises, unlike in the paper")


def test_a_trend_that_differs_by_natural_benchmark_says_with_which(shifts, correlations):
    trends = make_trends(make_groups(shifts))
    is_n = trends["question"] == "n"
    for natural, change in {"sketches": 0.04, "renditions": -0.04, "cartoons": 0.0, MEAN: 0.0}.items():
        ends = [change, change - 0.01, change + 0.01]
        trends.loc[is_n & (trends["natural"] == natural), ["difference", "low", "high"]] = ends
    said = dict(validity_verdicts(measure_validity(shifts, correlations, None, None, trends)))["Number of categories"]
    assert said.startswith("r is not known to change with it: +0.000")
    assert said.endswith(" It rises with sketches and falls with renditions.")


def test_a_choice_that_merely_fits_is_warned_of_in_plain_sight(page):
    said = verdicts(page)
    assert "Warning" not in said["Most predictive 2"]
    assert said["Most predictive 2"].startswith("shot noise and gaussian noise: r = 0.76 (95 % interval 0.71 to 0.81)")
    assert "random ones have 0.50, and all candidates together 0.62." in said["Most predictive 2"]
    assert said["Most predictive 3"].endswith("Warning: the choice merely fits.")
    assert "Warning, 3 corruptions: the choice merely fits." in page.texts("p")
    rows = table_of(page, "Most predictive benchmarks")
    assert rows["2 corruptions"]["gain over random"] == pytest.approx(0.26)
    assert rows["3 corruptions"]["r, held out"] == pytest.approx(0.02)
    assert re.search(r"\(all sets tried\).*\(best found\)", page.section("searches"))


# --- settings --------------------------------------------------------------------------------------------------------


def test_settings_say_who_is_left_out_and_how_to_do_it_again(page, shifts):
    text = page.section("settings")
    assert table_of(page, "Models that are left out") == {"m40": {"why": pytest.approx(np.nan, nan_ok=True)}}
    assert shifts.left_out["m40"] in text
    assert "40; 1 left out" in text
    assert "bootstrap over whole families of models." in text
    assert "other-c: no suite of that name." in text
    (command,) = page.texts("pre")
    options = "--mapping map.yaml --categories runs/noc --search 2,3 --resamples 500 --out runs/valid"
    assert command == f"scuff validity table.csv {options}"


def test_the_command_names_what_was_not_left_to_itself(shifts):
    settings = made_settings(shifts)
    folders = settings | {
        "source": ["runs/one", "runs/two"],
        "mapping": None,
        "natural": {"imagenet-a": [["runs/a", "runs/val-a"], ["runs/more a", None]]},
        "categories_from": "families",
        "pairs": [[2, 3], [3, 2]],
        "search": [],
        "severities": [1, 3],
        "suites_from": ["mine.yaml"],
        "resample": "models",
    }
    words = shlex.split(validity_again(folders, "runs/v").words)
    assert words == [
        *("scuff", "validity", "runs/one", "runs/two"),
        *("--natural", "imagenet-a=runs/a,runs/val-a", "--natural", "imagenet-a=runs/more a", "--severity", "1,3"),
        *("--suite", "mine.yaml", "--pairs", "2,3 3,2", "--resample", "models", "--resamples", "500"),
        *("--out", "runs/v"),
    ]
    in_python = settings | {"source": "Shifts", "mapping": None, "categories_from": CATEGORIES}
    again = validity_again(in_python, "v")
    assert shlex.split(again.words)[:5] == ["scuff", "validity", "v/shifts.csv", "--categories", CATEGORIES_FILE]
    assert again.notes == (GIVEN_TABLE, GIVEN_CATEGORIES)
    facts = settings_section(measure_validity(shifts, make_correlations(shifts)), in_python, None)["parts"][1]["pairs"]
    assert ("Categories from", "as given in Python") in facts
    every = settings | {"categories_from": "families", "pairs": None, "groups": True}
    assert "--categories families" in validity_again(every, "v").words


def test_what_is_not_there_has_no_section(shifts, correlations, contributions):
    page = Page(render_validity(shifts, correlations, contributions))
    assert page.sections() == ["correlations", "models", "corruptions", "categories", "settings"]
    assert not page.texts("pre")
    assert "stability" not in page.section("settings")
    corruptions = Page(render_validity(shifts, lines(correlations, what="corruption")))
    assert corruptions.sections() == ["corruptions", "settings"]
    assert list(verdicts(corruptions)) == ["Single corruptions"]
    assert corruptions.texts("h1")[0].startswith("Does a synthetic benchmark predict robustness to sketches, ")


def test_one_natural_benchmark_needs_no_mean():
    one = make_shifts(natural=("sketches",))
    groups = make_groups(one)
    correlations = make_correlations(one)
    page = Page(render_validity(one, correlations, make_contributions(one), groups, make_trends(groups)))
    assert page.texts("h1") == ["Does made-c predict robustness to sketches?"]
    assert verdicts(page)["made-c (7 corruptions)"].startswith("predicts robustness to sketches. r = ")
    assert list(table_of(page, "Pearson's correlation by category")["noise"]) == ["sketches", "corruptions"]
    assert page.data()["figures"]["slope-n"]["data"][0]["y"] == [0]


def test_tables_with_numbers_for_names_are_read_as_text(shifts, correlations):
    renamed = correlations.replace({"benchmark": {"noise": 1, "blur": 2, "weather": 3}})
    scores = measure_validity(shifts, renamed.astype({"note": object}).replace({"note": {"": np.nan}}))
    assert scores.names("category") == ["1", "2", "3"]
    assert scores.score("category", "1").note == ""


# --- folders ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, shifts, correlations, contributions):
    """What a study leaves behind."""
    groups = make_groups(shifts)
    tables = correlations, contributions, groups, make_trends(groups), make_searches()
    save_validity(Store(tmp_path / "valid"), Validity(shifts, *tables, made_settings(shifts)))
    return tmp_path / "valid"


def test_the_report_of_a_folder_is_that_of_its_tables(folder, page):
    path = write_validity_report(folder, title="Mine")
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
    assert "(validity.json)" in " ".join(refused.output.split())


def test_a_folder_of_something_else_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"there is no validity\.json in it"):
        write_validity_report(tmp_path)
