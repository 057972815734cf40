"""Reports of MSCR: what they show is what the metrics say, whatever was measured."""

import json
import math
import re

import numpy as np
import pytest
from made_mscr import EPSILON, SECTIONS, TRAIN_NOISE, made_settings, make_robust_accuracies
from pages import Page, rendered, table_of, tips_of

from scuff.metrics import compare_training_noise
from scuff.metrics.separation.mscr import RobustAccuracies, accuracy_table, copies_effect, mscr_scores, running_mscr
from scuff.report.colours import themes
from scuff.report.separation.figures import diagonal, spread_out
from scuff.report.separation.mscr import mscr_page
from scuff.report.separation.scores import Radius, find_radius, meaning, measure_mscr, mscr_verdicts
from scuff.report.separation.separation import (
    Distances,
    separation_verdict,
)


@pytest.fixture(scope="module")
def page(accuracies, separation):
    return Page(rendered(mscr_page, accuracies, made_settings(accuracies), Distances(*separation)))


def without_noise(figure: dict) -> list[dict]:
    """The traces of a figure that are shown to a reader."""
    return [trace for trace in figure["data"] if trace.get("hoverinfo") != "skip"]


# --- the page --------------------------------------------------------------------------------------------------------


def test_all_sections_are_there(page):
    assert page.sections() == SECTIONS
    assert {attributes["href"][1:] for _, attributes, _ in page.find("a")} == set(SECTIONS)
    ids = [attributes["id"] for _, attributes, _ in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert len(page.find("table")) == len([text for text in page.texts("caption") if text])
    charts = [attributes for _, attributes, _ in page.find("div") if attributes.get("class", "").startswith("chart")]
    assert all(attributes["aria-label"] for attributes in charts)
    assert {attributes["data-figure"] for attributes in charts} == set(page.data()["figures"])
    assert "nan" not in " ".join(page.texts("main")).lower().split()


def test_figures_are_what_plotly_understands(page):
    from plotly.graph_objects import Figure

    theme = themes()["light"]
    text = json.dumps(page.data()["figures"])
    figures = json.loads(re.sub(r'"@([a-z0-9-]+)(?:/[0-9.]+)?"', lambda m: f'"{theme[m.group(1)]}"', text))
    assert set(figures) == {
        *("mscr", "clean", "trade-off", "surface0", "surface1", "copies-mean", "copies-std", "runs0", "runs1"),
        *("distances", "distances-cumulative"),
    }
    for figure in figures.values():
        Figure(figure)


def test_every_model_has_a_panel_in_four_sections(page):
    for section in ("accuracies", "comparisons", "surface", "runs"):
        assert page.find("select", id=f"model-{section}")
    assert page.texts("h3").count("random-forest") == page.texts("h3").count("1-nn") == 4


def test_training_noises_are_compared_with_the_smallest_and_with_each_other(page, accuracies):
    scores = measure_mscr(accuracies)
    clean = compare_training_noise(accuracies, "clean").query("model == '1-nn'")
    pairs = len(TRAIN_NOISE) * (len(TRAIN_NOISE) - 1) // 2
    changes = "training noise minus none, in points, with 95 % intervals; p after Holm's correction"
    rows = table_of(page, f"1-nn: {changes}")
    assert list(rows) == [scores.radius(radius) for radius in TRAIN_NOISE[1:]]
    for row, line in zip(rows.values(), clean[clean["train_noise"] == 0].itertuples(), strict=True):
        assert row["without noise"] == pytest.approx(line.value)
        assert row["p (without noise)"] == pytest.approx(line.p_holm)
    assert table_of(page, f"1-nn: all pairs of {changes.replace(' minus none', 's')}")
    assert page.sections()[2] == "comparisons"
    text, several = " ".join(page.texts("main")), (clean["p_holm"] < 0.05).sum()
    assert f"1-nn: of {pairs} pairs of training noises, {several} differ in accuracy without noise, " in text
    assert f"Holm's correction for {pairs} pairs each" in text
    assert "not what other data would" in text


def test_what_training_noise_changes_for_certain_is_said_first(accuracies):
    words = dict(mscr_verdicts(measure_mscr(accuracies), Radius()))["1-nn"]
    for score, what in (("clean", "accuracy without noise"), ("mscr", "the MSCR")):
        table = compare_training_noise(accuracies, score).query(
            "model == '1-nn' and train_noise == 0 and p_holm < 0.05"
        )
        assert f"Compared with no training noise, {what} " in words
        for radius in table["other"]:
            assert measure_mscr(accuracies).radius(radius) in words.split(f"{what} ", 1)[1].split(". ")[0]
    one = make_robust_accuracies(runs=1)
    assert "Compared with" not in dict(mscr_verdicts(measure_mscr(one), Radius()))["1-nn"]


# --- accuracies and MSCR ---------------------------------------------------------------------------------------------


def test_the_heat_map_has_every_cell_with_its_interval_and_frames_the_best(page, accuracies):
    cells = tips_of(page, "Accuracy of 1-nn in per cent")
    noises = len(TRAIN_NOISE)
    assert len(cells) == noises * noises + noises
    table = accuracy_table(accuracies, "1-nn").pivot(index="test_noise", columns="train_noise", values="value")
    shown = np.array([float(text) for _, text in cells[: noises * noises]]).reshape(noises, noises)
    np.testing.assert_allclose(shown, 100 * table.to_numpy(), atol=0.0501)  # one digit
    framed = np.array(["best" in attributes["class"].split() for attributes, _ in cells[: noises * noises]])
    np.testing.assert_array_equal(framed.reshape(noises, noises), shown == shown.max(axis=1, keepdims=True))
    line = accuracy_table(accuracies, "1-nn").query("train_noise == 0.02 and test_noise == 0.05").iloc[0]
    tip = (
        f"test noise 0.05, training noise 0.02\n{100 * line['value']:.1f} % right\n"
        f"95 % interval {100 * line['low']:.1f} to {100 * line['high']:.1f}"
    )
    assert tip in [attributes["data-tip"] for attributes, _ in cells]


def test_the_last_row_is_the_mscr(page, accuracies):
    cells = tips_of(page, "Accuracy of random-forest in per cent")[-len(TRAIN_NOISE) :]
    scores = mscr_scores(accuracies).query("model == 'random-forest' and copies == 10")
    shown = [float(text.replace("\u2212", "-")) for _, text in cells]
    np.testing.assert_allclose(shown, 100 * scores["mscr"], atol=0.0501)
    assert all("95 % interval" in attributes["data-tip"] for attributes, _ in cells)


def test_heads_name_epsilon_min_in_place_of_its_digits(page):
    heads = page.texts("th", scope="col")
    assert heads[heads.index("Test noise") :][:9] == [
        "Test noise",
        "0",
        "0.01",
        "0.02",
        "0.03",
        "0.05",
        "0.07",
        "ε_min",
        "0.15",
    ]


def test_bars_and_table_are_the_scores(page, accuracies):
    scores = mscr_scores(accuracies).query("copies == 10")
    bars = page.data()["figures"]["mscr"]["data"]
    assert len(bars) == 2
    for bar, model in zip(bars, accuracies.models, strict=True):
        its = scores[scores["model"] == model]
        np.testing.assert_allclose(bar["x"], 100 * its["mscr"], atol=0.0005)  # as figures are rounded
        np.testing.assert_allclose(bar["error_x"]["array"], 100 * (its["mscr_high"] - its["mscr"]), atol=0.0005)
    found = [e for e in page.elements if e[0] == "td" and "data-value" in e[1]]
    values = {float(e[1]["data-value"]) for e in found}
    assert set(scores["robust"]) | set(scores["clean"]) | set(scores["mscr"]) <= values


def test_digits_follow_the_width_of_intervals(accuracies):
    assert measure_mscr(accuracies).digits == 1
    fine = measure_mscr(make_robust_accuracies(spread=0.0001, runs=20))
    assert fine.digits == 3
    assert re.fullmatch(r"\d\d\.\d{3}", fine.share(0.98765))
    alone = RobustAccuracies(("m",), (0.0,), (0.0, 0.1), np.full((1, 1, 1, 2, 1), 0.5), 0.1)
    assert measure_mscr(alone).digits == 2  # no intervals


def test_colours_tell_high_accuracies_apart(accuracies):
    scores = measure_mscr(accuracies)
    values = np.sort(np.concatenate([cells["value"] for cells in scores.cells.values()]))
    places = [scores.heat(value) for value in values]
    assert places[0] == pytest.approx(0, abs=1e-3)
    assert places[-1] == pytest.approx(1, abs=1e-3)
    assert np.median(places) == pytest.approx(0.5, abs=0.02)
    assert np.all(np.diff(places) >= 0)
    assert measure_mscr(make_robust_accuracies(("m",), (0.0,), (0.0, EPSILON), 2, spread=0.0)).heat(2.0) == 1


# --- what it says first ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("score", "kind"),
    [
        ((-0.1, -0.2, -0.01), "loss"),
        ((-0.1, -0.2, 0.01), "even"),
        ((0.1, -0.01, 0.2), "even"),
        ((0.1, 0.01, 0.2), "gain"),
        ((-0.1, math.nan, math.nan), "loss"),
        ((0.0, math.nan, math.nan), "even"),
        ((math.nan, math.nan, math.nan), "undefined"),
    ],
)
def test_the_interval_decides_what_a_score_means(score, kind):
    assert meaning(*score) == kind


def test_the_verdict_of_a_model_has_its_numbers_and_what_to_do(accuracies):
    scores = measure_mscr(accuracies)
    _, (model, words) = mscr_verdicts(scores, Radius())
    its = scores.of("1-nn").set_index("train_noise")
    plain, best = its.loc[0.0], its.loc[its["mscr"].idxmax()]
    assert model == "1-nn"
    assert f"{100 * plain['clean']:.1f}\u00a0% right without noise" in words
    assert f"MSCR \u2212{-100 * plain['mscr']:.1f}\u00a0% (95 % interval \u2212" in words
    assert "below 0: right answers are lost to noise that need not cost any." in words
    assert f"The highest MSCR, +{100 * best['mscr']:.1f}\u00a0%" in words
    first = next(noise for noise, line in its.iterrows() if line["mscr_high"] >= 0)
    assert f"With training noise of {scores.radius(first)} or more, no loss is distinguishable from 0." in words
    assert f"Accuracy with noise of ε_min is highest, {100 * its['robust'].max():.1f}\u00a0%" in words


def test_a_loss_that_no_noise_takes_away_is_told():
    values = np.array([[[[[0.9, 0.91], [0.5, 0.51]], [[0.9, 0.91], [0.6, 0.61]]]]])
    accuracies = RobustAccuracies(("m",), (0.0, 0.1), (0.0, 0.1), values, 0.1, runs=(0, 1))
    ((_, words),) = mscr_verdicts(measure_mscr(accuracies), Radius())
    assert "No training noise removes the loss entirely." in words


def test_models_as_they_are_have_one_sentence(accuracies):
    given = make_robust_accuracies(("net",), (0.0,), points=200)
    ((_, words),) = mscr_verdicts(measure_mscr(given), Radius())
    assert words.count(".\u00a0") == 0
    assert re.match(r"\d\d\.\d\u00a0% right without noise, \d\d\.\d\u00a0% with noise of ε_min: MSCR ", words)
    assert "train" not in words


def test_the_verdict_of_a_separation_names_the_pair(separation):
    found = separation[0]
    name, words = separation_verdict(found)
    assert name == "Class separation"
    assert words == (
        "the nearest points of different classes, row 0 (class a) and row 1 (class b), are 0.2118 (54/255) apart in "
        "L\u2011infinity. So noise of up to half of that, 0.1059, need not cost any accuracy."
    )
    _, words = separation_verdict(found | {"dropped": [3, 4]})
    assert words.endswith("Left out, as they coincide with points of another class: 2 points.")
    _, words = separation_verdict(found | {"norm": 2, "distance": 1.5})
    assert "are 1.500 apart in L2." in words


def test_what_cannot_be_told_from_0_is_said_of_the_runs_and_not_of_the_model():
    values = np.array([[[[[0.9, 0.91, 0.92], [0.91, 0.90, 0.92]]]]])
    accuracies = RobustAccuracies(("m",), (0.0,), (0.0, 0.1), values, 0.1, runs=(0, 1, 2))
    ((_, words),) = mscr_verdicts(measure_mscr(accuracies), Radius())
    assert re.search(
        r"\(95 % interval \u2212\d\.\d to \+\d\.\d\), not distinguishable from 0 with these runs\.$", words
    )
    assert "robust" not in words
    alone = RobustAccuracies(("m",), (0.0,), (0.0, 0.1), values[..., 2:], 0.1)
    ((_, words),) = mscr_verdicts(measure_mscr(alone), Radius())
    assert words.endswith(", not distinguishable from 0 with this run.")


NO_COST = "need not cost any"
QUANTILE = (
    "is half of the 1\u00a0% quantile of all distances to the nearest point of another class, not half of the smallest."
)
UNKNOWN = "was given. How far apart the classes are is not known here"
LARGER, SMALLER = "was given. Balls of it around", "was given. It is less than half of the smallest distance"


@pytest.mark.parametrize(
    ("changed", "half", "said", "is_harmless"),
    [
        ({}, EPSILON, None, True),
        ({}, None, None, True),
        ({"epsilon_given": True}, EPSILON, None, True),
        ({"epsilon_given": True}, None, UNKNOWN, False),
        ({"epsilon_given": True}, EPSILON / 2, LARGER, False),
        ({"epsilon_given": True}, EPSILON * 2, SMALLER, True),
        ({"quantile": 0.01}, EPSILON / 2, QUANTILE, False),
        ({"quantile": 0.01}, None, QUANTILE, False),
        ({"quantile": 0.01}, EPSILON, None, True),  # many points are as near as the nearest
    ],
)
def test_noise_is_only_harmless_within_half_of_the_separation(accuracies, separation, changed, half, said, is_harmless):
    settings = made_settings(accuracies) | changed
    found = None if half is None else separation[0] | {"epsilon_min": half, "distance": 2 * half}
    page = Page(rendered(mscr_page, accuracies, settings, found and Distances(found)))
    verdicts = [text for text in page.texts("li") if not text.startswith("Class separation")]
    radius = [text for text in verdicts if text.startswith("Radius of the noise")]
    assert len(radius) == (said is not None)
    if said is not None:
        assert said in radius[0]
        assert " ".join(f"ε_min = 0.1059 {said}".split()) in " ".join(page.section("settings").split())
        assert "Half of it" not in page.section("settings")
    model = next(text for text in verdicts if text.startswith("1-nn"))
    everywhere = (model, page.section("mscr"), page.section("settings"))
    assert [NO_COST in text for text in everywhere] == [is_harmless] * 3
    assert ["some of which perhaps no model can keep" in text for text in everywhere] == [not is_harmless] * 3


def test_a_study_that_does_not_say_where_its_radius_is_from_was_given_it_or_found_it(separation):
    assert find_radius(EPSILON, {"quantile": 0.0}, {}).about.startswith("ε_min = 0.1059 was given.")
    assert find_radius(EPSILON, {"quantile": 0.0}, separation[0]) == Radius()
    assert "was given" in find_radius(2 * EPSILON, {"quantile": 0.0}, separation[0]).about


def test_the_training_noise_that_is_enough_is_all_that_is():
    """Of losses of 10 %, none, and 10 % again, the sentence must not say that more noise is always enough."""
    values = np.array([0.9, 0.8, 0.9, 0.9, 0.9, 0.8]).reshape(1, 1, 3, 2, 1).repeat(3, axis=-1)
    values = values + np.array([0.0, 0.001, -0.001])
    accuracies = RobustAccuracies(("m",), (0.0, 0.1, 0.2), (0.0, 0.1), values, 0.1, runs=(0, 1, 2))
    ((_, words),) = mscr_verdicts(measure_mscr(accuracies), Radius())
    assert "With training noise of ε_min, no loss is distinguishable from 0." in words


# --- figures ---------------------------------------------------------------------------------------------------------


def test_the_trade_off_has_a_point_per_training_noise_and_marks_the_first(page, accuracies):
    scores = mscr_scores(accuracies).query("copies == 10 and model == 'random-forest'")
    line = page.data()["figures"]["trade-off"]["data"][0]
    np.testing.assert_allclose(line["x"], 100 * scores["clean"], atol=0.0005)
    np.testing.assert_allclose(line["y"], 100 * scores["mscr"], atol=0.0005)
    sizes = line["marker"]["size"]
    assert sizes[0] > max(sizes[1:])
    assert {"error_x", "error_y"} <= set(line)
    names = [label["text"] for label in page.data()["figures"]["trade-off"]["layout"]["annotations"]]
    assert {"no noise", "0.15"} <= set(names)


def test_labels_of_points_cover_nothing(accuracies):
    scores = measure_mscr(accuracies).scores
    x, y = scores["clean"] / np.ptp(scores["clean"]), scores["mscr"] / np.ptp(scores["mscr"])
    kept = spread_out(scores).index
    first = scores["train_noise"] == 0
    left, bottom = x - 0.085 * first, y - 0.08 * first
    assert len(kept) > 5
    for one in kept:
        inside = x.between(left[one], left[one] + 0.17) & y.between(bottom[one], bottom[one] + 0.08)
        assert not inside.drop(one).any()
        others = kept.drop(one)
        assert np.all(((left[others] - left[one]).abs() >= 0.17) | ((bottom[others] - bottom[one]).abs() >= 0.08))
    assert len(spread_out(scores.iloc[:1])) == 1
    assert len(spread_out(scores.iloc[[0, 0]].reset_index())) == 0  # one would cover the other


def test_the_surface_has_the_optimum_of_every_test_noise_and_the_diagonal(page, accuracies):
    surface, line, optimum = page.data()["figures"]["surface0"]["data"]
    table = accuracy_table(accuracies, "random-forest").pivot(index="test_noise", columns="train_noise", values="value")
    np.testing.assert_allclose(surface["z"], 100 * table.to_numpy(), atol=0.0005)
    assert surface["x"] == list(accuracies.train_noise)
    assert surface["y"] == list(accuracies.test_noise)
    assert optimum["x"] == table.idxmax(axis=1).tolist()
    assert optimum["y"] == list(accuracies.test_noise)
    assert line["x"] == line["y"] == list(TRAIN_NOISE)
    raised = 0.6 * np.ptp(table.to_numpy()) + 0.001  # lines stand above the surface
    np.testing.assert_allclose(line["z"], 100 * np.diagonal(table), atol=raised)
    colours = [colour for _, colour in surface["colorscale"]]
    assert colours == [f"@heat{k}" for k in range(7)]
    assert [place for place, _ in surface["colorscale"]] == sorted({place for place, _ in surface["colorscale"]})


def test_the_diagonal_is_where_both_have_numbers():
    radii, heights = diagonal(np.array([0.0, 2.0]), np.array([0.0, 1.0, 4.0]), np.array([[0, 2], [2, 4], [8, 10.0]]))
    assert radii.tolist() == [0, 1, 2]
    assert heights.tolist() == [0, 3, 6]


def test_copies_are_drawn_with_the_noise_of_the_test(page, accuracies):
    effect = copies_effect(accuracies, "1-nn")
    its = effect[np.isclose(effect["train_noise"], EPSILON)]
    mean, std = (page.data()["figures"][f"copies-{kind}"]["data"][1] for kind in ("mean", "std"))
    assert mean["x"] == [1, 10]
    np.testing.assert_allclose(mean["y"], 100 * its["mean"], atol=0.0005)
    np.testing.assert_allclose(std["y"], 100 * its["std"], atol=0.0005)
    assert "test noise of ε_min and training noise of ε_min" in page.section("copies")


def test_running_means_end_at_nothing(page, accuracies):
    lines = page.data()["figures"]["runs1"]["data"]
    assert [line["name"] for line in lines] == ["0", "0.01", "0.02", "0.03", "0.05", "0.07", "ε_min", "0.15"]
    assert all(line["y"][-1] == 0 for line in lines)
    its = running_mscr(accuracies).query("model == '1-nn' and train_noise == 0.02")["mscr"].to_numpy()
    np.testing.assert_allclose(lines[2]["y"], 100 * (its - its[-1]), atol=1e-5)


def test_many_runs_are_thinned_out():
    many = make_robust_accuracies(("m",), (0.0,), (0.0, EPSILON), runs=1200)
    (line,) = Page(rendered(mscr_page, many, {})).data()["figures"]["runs0"]["data"]
    assert len(line["x"]) < 101
    assert (line["x"][0], line["x"][-1]) == (1, 1200)


def test_clean_accuracy_is_drawn_by_training_noise(page, accuracies):
    scores = measure_mscr(accuracies).scores
    for trace, (_, lines) in zip(
        page.data()["figures"]["clean"]["data"], scores.groupby("model", sort=False), strict=True
    ):
        assert trace["x"] == lines["train_noise"].tolist()
        assert np.allclose(trace["y"], 100 * lines["clean"], atol=5e-4)


# --- studies that lack something -------------------------------------------------------------------------------------


def test_models_as_they_are_have_no_surface_and_no_runs():
    given = make_robust_accuracies(("net", "other"), (0.0,), points=300)
    page = Page(rendered(mscr_page, given, made_settings(given)))
    assert page.sections() == ["mscr", "accuracies", "trade-off", "settings"]
    assert "without the randomness of training" in page.section("mscr")
    assert [trace["y"] for trace in page.data()["figures"]["mscr"]["data"]] == [["net"], ["other"]]
    assert not [a for a, _ in tips_of(page, "Accuracy of net in per cent") if "best" in a["class"]]


def test_one_run_of_one_number_of_points_is_a_report_without_intervals():
    one = RobustAccuracies(("m",), (0.0,), (0.0, 0.1), np.array([[[[[0.9], [0.8]]]]]), 0.1)
    page = Page(rendered(mscr_page, one))
    assert page.sections() == ["mscr", "accuracies", "settings"]
    assert "no interval: one run, without a record of which points were right" in page.section("mscr")
    assert "no interval" in tips_of(page, "Accuracy of m in per cent")[0][0]["data-tip"]
    assert "nan" not in " ".join(page.texts("main")).lower().split()


def test_a_model_without_a_right_answer_is_a_report():
    values = np.zeros((1, 1, 2, 2, 5))
    none = RobustAccuracies(("m",), (0.0, 0.1), (0.0, 0.1), values, 0.1, runs=tuple(range(5)))
    page = Page(rendered(mscr_page, none))
    assert "not defined, as nothing is right without noise" in page.texts("li")[0]
    assert page.sections() == ["mscr", "accuracies", "surface", "runs", "settings"]
    assert "nan" not in " ".join(page.texts("main")).lower().split()


def test_training_without_clean_points_only_is_a_report():
    """The experiment on copies has one training noise, which is not 0."""
    noisy = make_robust_accuracies(("forest",), (EPSILON,), (0.0, EPSILON), copies=(1, 2, 5))
    page = Page(rendered(mscr_page, noisy, made_settings(noisy)))
    assert page.sections() == ["mscr", "accuracies", "copies", "runs", "settings"]
    assert "trained with noise of ε_min, " in page.texts("li")[0]


def test_a_study_that_is_still_running_says_so(accuracies):
    settings = made_settings(accuracies) | {"runs": list(range(1200))}
    page = Page(rendered(mscr_page, accuracies, settings))
    assert "6 runs of 1\u00a0200 so far" in page.texts("p", class_="lead")[0]
    assert "1199" not in page.section("settings")


HOSTILE = "</script><script>window.hurt = 1</script><b>@ink"


def test_names_are_text_and_nothing_else(separation):
    hostile = make_robust_accuracies((HOSTILE, "b"))
    found = separation[0] | {"class_names": [HOSTILE] * 4}
    page = Page(rendered(mscr_page, hostile, made_settings(hostile), Distances(found, *separation[1:]), title=HOSTILE))
    assert len(page.find("script")) == 3
    assert page.texts("h1") == [HOSTILE]
    assert not page.find("b")
    assert '<b>@ink"' not in json.dumps(page.data())
