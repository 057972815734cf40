"""The figures of the report of validity: models, corruptions and categories."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from made_validity import (
    MEAN,
    NATURAL,
    SCORE,
    SUITES,
)
from pages import Page, rendered, table_of
from validity_pages import lines, validity_page

from scuff.report.colours import themes
from scuff.report.validity.figures import model_scatter
from scuff.report.validity.scores import KINDS, ValidityScores
from scuff.report.validity.sections import scatter_section
from scuff.report.validity.validity import definitions
from scuff.report.validity.verdicts import validity_verdicts


def test_figures_are_what_plotly_understands(page):
    from plotly.graph_objects import Figure

    theme = themes()["light"]
    text = json.dumps(page.data()["figures"])
    text = re.sub(r'"@([a-z0-9-]+)(?:/[0-9.]+)?"', lambda found: f'"{theme[found.group(1)]}"', text)
    for figure in json.loads(text).values():
        Figure(figure)


def test_points_are_models_and_standard_ones_are_apart(page, shifts):
    figure = page.data()["figures"]["models0-2"]  # the first suite, made-c, and the third natural benchmark
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
    figure = page.data()["figures"]["models1-0"]
    np.testing.assert_allclose(figure["data"][0]["x"], shifts.scores.loc[list(shifts.standard), SCORE], atol=1e-5)
    assert figure["layout"]["xaxis"]["title"]["text"] == SCORE


def test_one_suite_has_no_choice_and_suites_of_unknown_members_no_figures(shifts, correlations):
    one = correlations[(correlations["what"] == "suite") & (correlations["benchmark"] == "made-c")]
    page = Page(rendered(validity_page, shifts, one))  # whose members follow from its name
    assert not page.find("select")
    assert len([key for key in page.data()["figures"] if key.startswith("models")]) == 3
    unknown = ValidityScores(shifts, one.assign(benchmark="mine"))
    assert scatter_section(unknown) is None
    assert list(dict(validity_verdicts(unknown))) == ["mine (7 corruptions)"]


def test_models_without_families_or_standard_ones_have_one_colour(shifts, correlations):
    plain = replace(shifts, families=None, standard=None)
    scores = ValidityScores(plain, correlations)
    (trace,) = model_scatter("key", scores, "suite", "made-c", "sketches").traces
    assert "family" not in trace["text"][0]
    assert "Diamonds" not in scatter_section(scores)["parts"][0]["words"]
    assert dict(definitions(scores))["intervals"] == "95 %, bootstrap over models."


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
    assert "same category correlates by 0.61, of different ones by 0.11." in text
