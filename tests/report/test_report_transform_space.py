"""Reports of transform space: what they show is what the tables say, whatever was studied."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browser import Browser
from made_distances import (
    NAMED,
    UNRELATED,
    made_dissimilar_settings,
    made_settings,
    made_training,
    make_correlations,
    make_dissimilar,
    make_distances,
    make_errors,
    make_mixing,
    make_subsets,
    save_dissimilar,
    save_distances,
    save_mixing,
    save_subsets,
)
from pages import Page, rendered, table_of
from typer.testing import CliRunner

from scuff.augment import NINE
from scuff.cli import app
from scuff.metrics import scheme_correlations
from scuff.metrics.intervals import student_half_width
from scuff.report import write_report
from scuff.report.colours import themes
from scuff.report.transform_space.dissimilar import dissimilar_page
from scuff.report.transform_space.distances import distances_page
from scuff.report.transform_space.mixing import mixing_page
from scuff.report.transform_space.scores import SHORT, measure_distances, over_seeds, short_name
from scuff.report.transform_space.subsets import subsets_page
from scuff.report.transform_space.tables import MOST_ROWS, shown_schemes
from scuff.studies import CorrelationStudy, DistancesStudy
from scuff.studies.base import again, again_from
from scuff.studies.transform_space.subsets import KINDS as KINDS_OF_SUBSETS

DRAWN = "document.documentElement.dataset.drawn === 'yes'"
HOSTILE = "</script><script>window.hurt = 1</script><b>@ink"


@pytest.fixture(scope="module")
def distances():
    """Five schemes with names and twelve subsets, fifteen corruptions at five severities, three resamplings."""
    return make_distances(resamplings=3)


@pytest.fixture(scope="module")
def errors(distances):
    return make_errors(distances)


@pytest.fixture(scope="module")
def correlations(distances, errors):
    return make_correlations(distances, errors)


@pytest.fixture(scope="module")
def page(distances, errors, correlations):
    settings = made_settings(distances) | made_training()
    return Page(rendered(distances_page, distances, settings, errors, correlations, directory="runs/near"))


@pytest.fixture(scope="module")
def other_pages():
    mixing = make_mixing()
    return {
        "subsets": Page(rendered(subsets_page, make_subsets())),
        "mixing": Page(rendered(mixing_page, mixing, {"right": "a/impulse_noise", "other": "a/motion_blur"})),
        "dissimilar": Page(
            rendered(dissimilar_page, make_dissimilar(), made_dissimilar_settings(), directory="runs/new")
        ),
    }


def cells_of(page: Page) -> list[tuple[dict[str, str], str]]:
    """The cells of the matrix: their attributes and texts."""
    return [(a, "".join(inside)) for tag, a, inside in page.elements if tag == "td" and "data-tip" in a]


def by_name(verdicts: list[str]) -> dict[str, str]:
    return dict(text.split(": ", 1) for text in verdicts)


def verdicts(page: Page) -> dict[str, str]:
    """What a page says first, by what it is about."""
    return by_name([text for text in page.texts("li") if ": " in text])


# --- all pages -------------------------------------------------------------------------------------------------------


def test_all_sections_are_there_and_nothing_is_unnamed(page, other_pages):
    assert page.sections() == ["distances", "correlation", "errors", "settings"]
    assert other_pages["subsets"].sections() == ["subsets", "settings"]
    assert other_pages["mixing"].sections() == ["mixing", "settings"]
    assert other_pages["dissimilar"].sections() == ["benchmark", "shifts", "candidates", "settings"]
    for each in (page, *other_pages.values()):
        assert {attributes["href"][1:] for _, attributes, _ in each.find("a")} == set(each.sections())
        ids = [attributes["id"] for _, attributes, _ in each.elements if "id" in attributes]
        assert len(ids) == len(set(ids))
        charts = [a for _, a, _ in each.find("div") if a.get("class", "").startswith("chart")]
        assert charts
        assert all(attributes["aria-label"] for attributes in charts)
        assert {attributes["data-figure"] for attributes in charts} == set(each.data()["figures"])
        assert "nan" not in " ".join(each.texts("main")).lower().split()


def test_figures_are_what_plotly_understands(page, other_pages):
    from plotly.graph_objects import Figure

    theme = themes()["light"]
    for each in (page, *other_pages.values()):
        text = json.dumps(each.data()["figures"])
        text = re.sub(r'"@([a-z0-9-]+)(?:/[0-9.]+)?"', lambda found: f'"{theme[found.group(1)]}"', text)
        for figure in json.loads(text).values():
            Figure(figure)


def test_pages_open_in_a_browser_without_a_complaint_and_fit_on_a_phone(tmp_path):
    some = make_distances(6, corruptions=4, resamplings=2)
    errors = make_errors(some)
    texts = {
        "near": rendered(
            distances_page, some, made_settings(some), errors, make_correlations(some, errors), directory="near"
        ),
        "subsets": rendered(subsets_page, make_subsets()),
        "mixing": rendered(mixing_page, make_mixing()),
        "new": rendered(dissimilar_page, make_dissimilar()),
    }
    charts = {}
    with Browser() as browser:
        browser.window(375)
        for name, text in texts.items():
            (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
            browser.open((tmp_path / f"{name}.html").as_uri())
            browser.wait_for(DRAWN)
            assert browser.complaints() == []
            assert browser.run("document.documentElement.scrollWidth") == 375
            assert browser.run("[...document.querySelectorAll('.chart')].every(p => p.querySelector('.trace'))")
            charts[name] = browser.run("document.querySelectorAll('.chart').length")
    assert charts == {"near": 6, "subsets": 2, "mixing": 3, "new": 2}


# --- distances -------------------------------------------------------------------------------------------------------


def test_the_matrix_has_every_distance_in_order_and_frames_the_nearest(page, distances):
    scores = measure_distances(distances)
    cells = cells_of(page)
    rows = [name for name in scores.by_distance if name in NAMED]
    rows += [name for name in scores.by_distance if name not in NAMED]
    assert len(cells) == len(distances.schemes) * 15
    shown = np.array([float(text) for _, text in cells]).reshape(-1, 15)
    wanted = distances.by_corruption("msd").loc[rows].to_numpy()
    np.testing.assert_allclose(shown, wanted, rtol=0.005)  # three digits
    framed = np.array(["best" in attributes["class"].split() for attributes, _ in cells]).reshape(-1, 15)
    np.testing.assert_array_equal(framed, wanted == wanted.min(axis=0))
    heads = page.texts("th", scope="row")[: len(rows)]
    assert heads == [short_name(name) for name in rows]
    darkest = np.array([attributes["class"].split()[0] == "h19" for attributes, _ in cells]).reshape(-1, 15)
    assert (darkest & framed).sum() == 15


def test_the_label_of_a_cell_has_both_distances_the_deviation_and_the_error(page, distances, errors):
    tip = next(a["data-tip"] for a, _ in cells_of(page) if a["data-tip"].startswith("augmix\nto fog:"))
    means = [distances.by_corruption(kind).at["augmix", "cifar10-c/fog"] for kind in ("msd", "mmd")]
    place, fog = distances.schemes.index("augmix"), [c == "cifar10-c/fog" for c, _ in distances.cells]
    deviation = distances.msd[:, place, fog].mean(axis=1).std(ddof=1)
    its = errors[(errors["scheme"] == "augmix") & (errors["corruption"] == "cifar10-c/fog")]
    assert tip.splitlines() == [
        "augmix",
        f"to fog: MSD {means[0]:#.3g}",
        f"deviation {deviation:#.3g} over 3 resamplings",
        f"MMD {means[1]:#.3g}",
        f"trained with it: {100 * its['error'].mean():.1f}\u00a0% error",
    ]


def test_of_many_schemes_those_with_names_and_the_nearest_have_a_row():
    many = make_distances(subsets=100, corruptions=3, severities=1)
    scores = measure_distances(many)
    rows = shown_schemes(scores)
    assert len(rows) == MOST_ROWS
    assert set(NAMED) <= set(rows)
    assert rows == [name for name in scores.by_distance if name in set(rows)]
    left_out = [name for name in many.schemes if name not in rows]
    means = many.by_corruption("msd").mean(axis=1)
    assert means[left_out].min() >= means[[name for name in rows if name not in NAMED]].max()
    text = Page(rendered(distances_page, many)).section("distances")
    assert f"Of {len(many.schemes)} schemes, the {MOST_ROWS} are shown" in text
    assert len(table_of(Page(rendered(distances_page, many)), "Schemes, mean over all corruptions")) == len(
        many.schemes
    )


def test_short_names_of_all_subsets_differ_and_fit():
    from scuff.augment import powerset

    names = [short_name(scheme) for scheme in powerset()]
    assert len(set(names)) == 512
    assert max(map(len, names)) <= 20
    assert tuple(SHORT) == NINE


def test_tables_have_the_means_and_the_nearest_schemes(page, distances, errors):
    rows = table_of(page, "Schemes, mean over all corruptions")
    assert rows["augmix"]["MSD"] == pytest.approx(distances.by_corruption("msd").loc["augmix"].mean(), rel=1e-12)
    assert rows["augmix"]["MMD"] == pytest.approx(distances.by_corruption("mmd").loc["augmix"].mean(), rel=1e-12)
    per_seed = (
        errors[(errors["scheme"] == "augmix") & (errors["corruption"] != "clean")].groupby("seed")["error"].mean()
    )
    assert rows["augmix"]["error %"] == pytest.approx(per_seed.mean(), rel=1e-12)
    half = student_half_width(per_seed.to_numpy())
    ends = f"{100 * (per_seed.mean() - half):.1f} to {100 * (per_seed.mean() + half):.1f}".replace("-", "\u2212")
    assert ends in page.texts("span", class_="interval")
    nearest = table_of(page, "The nearest schemes of every corruption")
    smallest = distances.by_corruption("msd").min()
    assert [row["smallest MSD"] for row in nearest.values()] == pytest.approx(smallest.tolist(), rel=1e-12)


def test_the_verdicts_say_which_scheme_is_nearest_and_whether_distance_predicts_error(page, distances, correlations):
    said = verdicts(page)
    means = distances.by_corruption("msd").mean(axis=1)
    assert f"(MSD {means.min():#.3g})" in said["Distances"]
    assert f"{means[list(NAMED)].idxmin()} ({means[list(NAMED)].min():#.3g})" in said["Distances"]
    table = correlations["msd"].set_index("corruption")
    sure = (table["low"] > 0).sum()
    assert sure == 14
    assert f"the interval of \u03c1 is above 0 for {sure} of 15 corruptions" in said["Distance and error"]
    assert f"Mean \u03c1 {table['rho'].mean():.2f}" in said["Distance and error"]
    assert "least for brightness with" in said["Distance and error"]
    assert f"With MMD, the mean is {correlations['mmd']['rho'].mean():.2f}." in said["Distance and error"]
    assert re.match(r"lowest error with AugMix .*, \d\d\.\d\u00a0% \(95 % interval \d", said["Trained networks"])
    assert f"MSD {100 * distances.relative_spread('msd'):.1f}\u00a0%" in said["Precision"]


def test_bars_are_the_correlations_with_intervals(page, correlations):
    bars = page.data()["figures"]["correlation"]["data"]
    assert [bar["name"] for bar in bars] == ["MSD", "MMD"]
    for bar, table in zip(bars, correlations.values(), strict=True):
        np.testing.assert_allclose(bar["x"], table["rho"], atol=1e-5)
        np.testing.assert_allclose(bar["error_x"]["array"], table["high"] - table["rho"], atol=1e-5)
        np.testing.assert_allclose(bar["error_x"]["arrayminus"], table["rho"] - table["low"], atol=1e-5)


def test_points_are_schemes_with_subsets_behind_those_that_have_names(page, distances, errors):
    figure = page.data()["figures"]["error9"]
    background, *named = figure["data"]
    assert background["marker"]["color"].startswith("@muted")
    assert [trace["name"] for trace in named] == list(NAMED)
    assert len({(t["marker"]["color"], t["marker"]["symbol"]) for t in named}) == len(NAMED)
    fog = distances.by_corruption("msd")["cifar10-c/fog"]
    np.testing.assert_allclose(background["x"], fog.iloc[len(NAMED) :], atol=1e-5)
    its = errors[errors["corruption"] == "cifar10-c/fog"].groupby("scheme")["error"].mean()
    np.testing.assert_allclose(background["y"], 100 * its[fog.index[len(NAMED) :]], atol=0.0005)
    assert named[1]["x"] == [pytest.approx(fog["augmix"], abs=1e-5)]
    assert len([key for key in page.data()["figures"] if re.fullmatch(r"error\d+", key)]) == 15


def test_distances_alone_are_a_report_without_correlations(distances):
    page = Page(rendered(distances_page, distances))
    assert page.sections() == ["distances", "settings"]
    assert list(verdicts(page)) == ["Distances", "Precision"]
    assert list(verdicts(Page(rendered(distances_page, make_distances())))) == ["Distances"]
    assert "correlation" not in page.section("settings")


def test_correlations_that_are_not_defined_say_why():
    few = make_distances(0, NAMED[:3], 2, 1)
    errors = make_errors(few, seeds=1)
    page = Page(rendered(distances_page, few, None, errors, make_correlations(few, errors)))
    why = "a rank correlation needs at least 5 schemes, there are 3"
    assert verdicts(page)["Distance and error"] == f"Not known: {why}."
    assert f"MSD, gaussian noise and shot noise: {why}." in page.section("correlation")
    assert "nan" not in " ".join(page.texts("main")).lower().split()
    assert page.data()["figures"]["correlation"]["data"][0]["x"] == [None, None]


def test_correlations_over_some_schemes_say_over_how_many(page, distances, errors):
    assert "Over all schemes: whether networks" in page.section("correlation")
    subsets = [name for name in distances.schemes if name not in NAMED]
    some = {"msd": scheme_correlations(distances, errors, schemes=subsets, resamples=50)}
    page = Page(rendered(distances_page, distances, None, errors, some))
    assert f"Over {len(subsets)} of the {len(distances.schemes)} schemes: whether" in page.section("correlation")
    assert f"is over {len(subsets)} of the {len(distances.schemes)} schemes." in page.section("errors")


def test_a_study_whose_networks_are_not_all_trained_says_so(distances, errors):
    part = errors[errors["scheme"].isin(NAMED)]
    page = Page(rendered(distances_page, distances, None, part))
    assert page.sections() == ["distances", "errors", "settings"]
    assert f"They are {len(NAMED)} of the {len(distances.schemes)} schemes." in verdicts(page)["Trained networks"]
    none_yet = Page(rendered(distances_page, distances, None, errors.iloc[:0]))
    assert none_yet.sections() == ["distances", "settings"]


def test_distances_that_explain_nothing_are_said_to(distances):
    errors = make_errors(distances, seeds=1).assign(seed=0)
    random = np.random.default_rng(1)
    errors["error"] = random.uniform(size=len(errors))
    page = Page(
        rendered(distances_page, distances, None, errors.drop(columns="seed"), make_correlations(distances, errors))
    )
    said = verdicts(page)["Distance and error"]
    sure = int(re.search(r"above 0 for (\d+|none)", said).group(1).replace("none", "0"))
    assert sure <= 2  # of fifteen, by chance
    assert "interval" not in verdicts(page)["Trained networks"]  # one seed has none


def test_one_scheme_and_one_corruption_without_levels_are_a_report():
    one = make_distances(0, ("none",), 1, 1)
    page = Page(rendered(distances_page, one))
    assert re.fullmatch(r"none is at a mean MSD of [\d.]+ from 1 corruption\.", verdicts(page)["Distances"])
    assert not [a for a, _ in cells_of(page) if "best" in a["class"]]


def test_names_are_text_and_nothing_else():
    hostile = make_distances(0, (HOSTILE, *NAMED), 2, 1)
    errors = make_errors(hostile)
    settings = made_settings(hostile)
    text = rendered(distances_page, hostile, settings, errors, make_correlations(hostile, errors), title=HOSTILE)
    page = Page(text)
    assert len(page.find("script")) == 3
    assert page.texts("h1") == [HOSTILE]
    assert not page.find("b")
    assert '<b>@ink"' not in json.dumps(page.data())


# --- subsets and mixing ----------------------------------------------------------------------------------------------


def test_subsets_have_a_line_per_kind_and_one_of_all(other_pages):
    table = make_subsets()
    figure = other_pages["subsets"].data()["figures"]["subsets-error"]
    assert [line["name"] for line in figure["data"]] == list(KINDS_OF_SUBSETS)
    closest = over_seeds(table[table["kind"] == "closest"], "size", "error")
    np.testing.assert_allclose(figure["data"][0]["y"], 100 * closest["value"], atol=0.0005)
    np.testing.assert_allclose(
        figure["data"][0]["error_y"]["array"], 100 * (closest["high"] - closest["value"]), atol=0.0005
    )
    assert figure["layout"]["xaxis"]["type"] == "log"
    whole = table.loc[table["kind"] == "all", "error"].mean()
    assert figure["layout"]["shapes"][0]["y0"] == pytest.approx(100 * whole, abs=0.0005)
    said = verdicts(other_pages["subsets"])
    assert said["Closest"].endswith("As good as all from 10 on.")
    assert said["Random"].endswith("As good as all from 100 on.")
    assert said["Farthest"].endswith("points more than all. No number does as well as all.")


def test_subsets_without_all_and_with_one_seed_are_a_report():
    page = Page(rendered(subsets_page, make_subsets(seeds=1, with_all=False)))
    assert "shapes" not in page.data()["figures"]["subsets-error"]["layout"]
    assert list(verdicts(page)) == ["Closest", "Random", "Farthest"]
    assert "than all" not in " ".join(verdicts(page).values())
    assert "nan" not in " ".join(page.texts("main")).lower().split()


def test_mixing_has_three_panels_and_says_what_a_few_right_images_do(other_pages):
    table, page = make_mixing(), other_pages["mixing"]
    figures = page.data()["figures"]
    assert set(figures) == {"mixing-mmd", "mixing-msd", "mixing-error"}
    shares = [0, 0.5, 0.9, 0.99, 1]
    assert all(figure["data"][0]["x"] == shares for figure in figures.values())
    assert figures["mixing-msd"]["data"][0]["y"] == [0.1, 0.1, 0.1, 0.15, 1.8]
    np.testing.assert_allclose(figures["mixing-error"]["data"][0]["y"], 100 * table.groupby("share")["error"].mean())
    assert figures["mixing-mmd"]["data"][0]["error_y"]["array"] == [None] * 5  # no training, no seeds
    assert page.texts("h1") == ["Training with motion blur for a test with impulse noise"]
    assert verdicts(page)["MSD"] == "0.100 at share 0, 0.150 at share 0.99 and 1.80 at share 1."
    assert "With 1\u00a0% of images right, it is still nearer to that of all right" in verdicts(page)["Error"]
    late = table.assign(error=table["share"])
    assert (
        "With 1\u00a0% of images right, it is nearer to that of none"
        in verdicts(Page(rendered(mixing_page, late)))["Error"]
    )
    two = Page(rendered(mixing_page, table[table["share"].isin([0, 0.5])]))
    assert "images right" not in verdicts(two)["Error"]


# --- dissimilar ------------------------------------------------------------------------------------------------------


def test_shifts_are_bars_with_the_chosen_ones_marked(other_pages):
    found = make_dissimilar()
    chosen, others = other_pages["dissimilar"].data()["figures"]["shifts"]["data"]
    assert (chosen["name"], others["name"]) == ("chosen", "not chosen")
    assert chosen["y"] == list(range(10))
    np.testing.assert_allclose(chosen["x"] + others["x"], found.shifts["shift"], atol=1e-5)
    np.testing.assert_allclose(chosen["error_x"]["array"], found.shifts["sd"][:10], atol=1e-5)
    assert chosen["marker"]["color"] != others["marker"]["color"]


def test_the_histogram_counts_every_benchmark_and_marks_the_pick(other_pages):
    found = make_dissimilar()
    figure = other_pages["dissimilar"].data()["figures"]["candidates"]
    assert sum(figure["data"][0]["y"]) == found.candidate_distances.shape[1]
    assert figure["layout"]["shapes"][0]["x0"] == found.distance
    said = verdicts(other_pages["dissimilar"])
    beyond = 100 * np.mean(found.candidate_distances[0] < found.distance)
    assert f"larger than that of {beyond:.1f}\u00a0% of the drawn benchmarks" in said["Distance to the reference"]
    assert said["Error"].startswith("26.9\u00a0%, where the reference has 26.9\u00a0%")


def test_members_have_their_severities_and_errors(other_pages):
    found = make_dissimilar()
    rows = table_of(other_pages["dissimilar"], "The chosen corruptions")
    assert len(rows) == 10
    first = found.picks[found.picks["corruption"] == found.members[0]]
    row = rows[found.members[0].rpartition("/")[2].replace("_", " ")]
    assert row["error %"] == pytest.approx(first["error"].mean(), rel=1e-12)
    assert row["distance"] == pytest.approx(first["distance"].mean(), rel=1e-12)
    assert other_pages["dissimilar"].texts("td", class_="words").count("1, 3, 5, 7, 9") == 10


def test_one_repetition_has_no_deviations_and_a_candidate_in_no_benchmark_no_shift():
    found = make_dissimilar(repetitions=1)
    found.shifts.loc[found.shifts.index[-1], "shift"] = np.nan
    page = Page(rendered(dissimilar_page, found))
    last = found.shifts["corruption"].iloc[-1].rpartition("/")[2].replace("_", " ")
    assert f"In no benchmark of the right error: {last}." in page.section("shifts")
    assert page.texts("p", class_="lead") == ["10 of 30 candidates; 2\u00a0000 benchmarks drawn."]
    assert "nan" not in " ".join(page.texts("main")).lower().split()
    assert "(repetition" not in page.section("candidates")


# --- folders and commands --------------------------------------------------------------------------------------------


def test_the_command_finds_out_which_study_a_folder_holds(distances, errors, tmp_path):
    folders = {
        "Augmentations near cifar10-c": save_distances(tmp_path / "near", distances),
        "Augmentations and cifar10-c: distance and error": save_distances(tmp_path / "explained", distances, errors),
        "How few augmentations are enough": save_subsets(tmp_path / "subsets", make_subsets()),
        "Training with motion blur for a test with impulse noise": save_mixing(tmp_path / "mixing", make_mixing()),
        "A benchmark dissimilar to cifar10-c": save_dissimilar(tmp_path / "new", make_dissimilar()),
    }
    for title, folder in folders.items():
        result = CliRunner().invoke(app, ["report", str(folder)])
        assert result.exit_code == 0, result.output
        assert result.output.splitlines()[-1] == f"Report: {folder / 'report.html'}"
        page = Page((folder / "report.html").read_text(encoding="utf-8"))
        assert page.texts("h1") == [title]
        assert "nan" not in " ".join(page.texts("main")).lower().split()
    result = CliRunner().invoke(app, ["report", str(tmp_path / "near"), "--data", "fashion"])
    assert result.exit_code == 2
    assert "takes no option data" in result.output
    result = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert result.exit_code == 2
    assert all(f"{name}.json" in result.output for name in ("distances", "subsets", "mixing", "dissimilar"))


def test_a_folder_gives_the_page_of_its_tables(distances, errors, correlations, tmp_path):
    folder = save_distances(tmp_path / "explained", distances, errors)
    page = Page(Path(write_report(folder, tmp_path / "out.html", title="Mine")).read_text(encoding="utf-8"))
    assert (tmp_path / "out.html").exists()
    assert page.texts("h1") == ["Mine"]
    settings = made_settings(distances) | made_training()
    direct = rendered(distances_page, distances, settings, errors, correlations, directory=str(folder), title="Mine")
    assert page.data() == Page(direct).data()


def test_the_commands_are_those_that_the_command_line_takes(distances, errors, tmp_path):
    """Every option is one that the command knows, and none is missing that it needs."""
    from typer.main import get_command

    folders = {
        "distance schemes": save_distances(tmp_path / "near", distances),
        "distance correlation": save_distances(tmp_path / "explained", distances, errors),
        "distance subsets": save_subsets(tmp_path / "subsets", make_subsets()),
        "distance mixing": save_mixing(tmp_path / "mixing", make_mixing()),
        "design dissimilar": save_dissimilar(tmp_path / "new", make_dissimilar()),
    }
    groups = get_command(app).commands
    for name, folder in folders.items():
        page = Page(Path(write_report(folder)).read_text(encoding="utf-8"))
        group, verb, *words = shlex.split(page.texts("pre")[0])[1:]
        assert f"{group} {verb}" == name
        command = groups[group].commands[verb]
        context = command.make_context(verb, words)  # parses; refuses what it does not know
        assert str(context.params["out"]) == str(folder)
        assert "Given as Python objects, so put files or addresses in their place" in page.section("settings")


def test_what_was_chosen_is_chosen_again(distances):
    study = DistancesStudy(
        ["augmix", "powerset-2"],
        "cifar10-c",
        "cifar10:data",
        "runs/before",
        recipe="cifar-fast",
        images=20,
        precision="float32",
        only=["gaussian_noise", "shot_noise", "impulse_noise"],
        severities=[1, 2],
        resamplings=2,
    )
    line = again(DistancesStudy, study.options(), "runs/my study")
    words = shlex.split(line.words)
    assert words[:4] == ["scuff", "distance", "schemes", "cifar10-c"]
    assert dict(zip(words[4::2], words[5::2], strict=True)) == {
        "--schemes": "augmix,powerset-2",
        "--data": "cifar10:data",
        "--recipe": "cifar-fast",
        "--images": "20",
        "--precision": "float32",
        "--only": "gaussian_noise,shot_noise,impulse_noise",
        "--severity": "1,2",
        "--resamplings": "2",
        "--out": "runs/my study",
    }
    assert line.notes == ()
    full = shlex.split(again_from(DistancesStudy, made_settings(distances), "x").words)
    assert not {"--only", "--severity", "--images"} & set(full)
    assert full[full.index("--schemes") + 1] == f"{','.join(NAMED)},powerset-12"


def test_seeds_are_named_again_one_by_one():
    options = {"recipe": "cifar-fast", "seeds": [3, 7]}
    study = CorrelationStudy("powerset-64", "cifar10-c", "cifar10:data", "runs/a", **options)
    assert "--seeds 3,7" in again(CorrelationStudy, study.options(), "runs/a").words


def test_a_folder_of_an_earlier_version_has_no_command(tmp_path):
    folder = save_subsets(tmp_path, make_subsets())
    settings = json.loads((folder / "subsets.json").read_text())
    del settings["options"]
    (folder / "subsets.json").write_text(json.dumps(settings))
    page = Page(Path(write_report(folder)).read_text(encoding="utf-8"))
    assert "The same again" not in page.section("settings")


def test_folders_without_numbers_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"no .*subsets\.json, mixing\.json"):
        write_report(tmp_path)
    empty = save_subsets(tmp_path / "subsets", pd.DataFrame(columns=["kind", "size", "seed", "clean_error", "error"]))
    with pytest.raises(ValueError, match="has no numbers yet"):
        write_report(empty)
    distances = make_distances(2, ("augmix",), 2, 1)
    folder = save_distances(tmp_path / "near", distances)
    (folder / "distances.csv").unlink()
    with pytest.raises(ValueError, match="is not finished"):
        write_report(folder)


def test_a_scheme_called_none_is_no_missing_value(tmp_path):
    distances = make_distances(4, ("none", "NA"), 2, 1)
    errors = make_errors(distances, seeds=1)
    folder = save_distances(tmp_path / "near", distances, errors)
    page = Page(Path(write_report(folder)).read_text(encoding="utf-8"))
    rows = table_of(page, "Schemes, mean over all corruptions")
    for name in ("none", "NA"):
        wanted = errors[(errors["scheme"] == name) & (errors["corruption"] != "clean")]["error"].mean()
        assert rows[name]["error %"] == pytest.approx(wanted, rel=1e-12)


def test_the_unrelated_corruption_is_the_one_without_a_correlation(correlations):
    table = correlations["msd"].set_index("corruption")
    assert table["rho"].idxmin() == UNRELATED
    assert table["low"].drop(UNRELATED).min() > 0
