"""What the report of validity says first, and the tables behind it: correlations, groups, trends, searches."""

import re
from dataclasses import replace

import numpy as np
import pytest
from made_validity import (
    CATEGORIES,
    MEAN,
    NATURAL,
    SCORE,
    UNRELATED,
    make_groups,
    make_searches,
    make_trends,
)
from pages import Page, rendered, table_of
from validity_pages import lines, validity_page, verdicts

from scuff.metrics.validity.shifts import BETWEEN
from scuff.report.validity.scores import KINDS, ValidityScores
from scuff.report.validity.tables import gather_notes, notes_of, suite_notes
from scuff.report.validity.validity import definitions
from scuff.report.validity.verdicts import validity_verdicts


def test_the_table_has_all_kinds_of_all_suites_with_intervals(page, correlations):
    start = next(k for k, (tag, _, _) in enumerate(page.elements) if tag == "caption")
    cells = [e for e in page.elements[start:] if e[0] == "td"][: 14 * 5]  # 2 suites by 5 kinds and a score by 4
    suites = correlations[correlations["what"].isin(("suite", "score"))]
    wanted = suites.set_index(["kind", "benchmark", "natural"])
    order = [(kind, name) for kind in KINDS for name in ("made-c", SCORE, "all")]
    order.remove(("effective", SCORE))
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
    found = lines(correlations, what="score", kind="curved").set_index("natural")["p_value"]  # the last of its name
    assert {natural: rows[SCORE][natural] for natural in NATURAL} == pytest.approx(dict(found[list(NATURAL)]), rel=1e-9)
    assert MEAN not in rows[SCORE]  # a mean of p-values is no p-value
    assert "mean of p-values" in table_of(page, "Groups of benchmarks")["2,1"]


def test_verdicts_say_what_a_suite_predicts_and_what_not(page, correlations):
    said = verdicts(page)
    suite = said["made-c (7 corruptions)"]
    start = "correlation with robustness to natural shifts: strong for sketches and renditions"
    assert suite.startswith(f"{start}; not known (the interval holds 0) for {UNRELATED}.")
    mean = lines(correlations, what="suite", benchmark="made-c", natural=MEAN).set_index("kind")
    for kind, start in {"pearson": ". Mean r = ", "curved": "; mean r = ", "effective": "; mean r = "}.items():
        value, low, high = mean.loc[kind, ["value", "low", "high"]]
        assert f"{start}{value:.2f} (95 % interval {low:.2f} to {high:.2f})" in suite
    given = f"strong for sketches and renditions; not known (the interval holds 0) for {UNRELATED}; mean r"
    assert f"Given a curve in clean accuracy: {given}" in suite
    assert "Effective robustness on both: " in suite
    assert "All 8 corruptions" in said
    assert "Effective robustness" not in said[SCORE]
    alone = lines(correlations, what="corruption", natural=MEAN, kind="pearson").set_index("benchmark")["value"]
    best, worst = alone.idxmax(), alone.idxmin()
    assert best in CATEGORIES["noise"]
    assert worst in CATEGORIES["weather"]
    assert said["Single corruptions"].startswith(
        f"{best.removeprefix('made-c/').replace('_', ' ')} correlates best alone"
    )


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.1, 0.3, "robustness to natural shifts: weak for all 3."),
        (0.01, 0.09, "robustness to natural shifts: weak for all 3."),
        (0.2, 0.7, "robustness to natural shifts: moderate for all 3."),
        (0.5, 0.8, "robustness to natural shifts: strong for all 3."),
        (-0.1, 0.5, "robustness to natural shifts: not known (the interval holds 0) for all 3."),
        (-0.5, -0.1, "robustness to natural shifts: negative for all 3."),
        (np.nan, np.nan, "robustness to natural shifts: not defined for all 3."),
    ],
)
def test_verdicts_follow_from_intervals(shifts, correlations, low, high, words):
    value = (low + high) / 2
    table = correlations.assign(value=value, low=low, high=high, note="" if value == value else "no two models differ")
    scores = ValidityScores(shifts, table)
    said = dict(validity_verdicts(scores))["made-c (7 corruptions)"]
    assert words in said
    known = re.search("Given a curve in clean accuracy: (weak|moderate|strong) for all 3", said) is not None
    assert known == (low > 0)
    assert "nan" not in said
    assert bool(suite_notes(scores)) == (value != value)


def test_strengths_are_named_one_by_one_where_they_differ(shifts, correlations):
    values = correlations["natural"].map({"sketches": 0.1, "renditions": 0.45, "cartoons": 0.598, MEAN: 0.4})
    scores = ValidityScores(shifts, correlations.assign(value=values, low=values - 0.05, high=values + 0.05))
    said = dict(validity_verdicts(scores))["made-c (7 corruptions)"]
    grades = "strong for cartoons; moderate for renditions; weak for sketches"  # 0.598 is written 0.60
    assert said.startswith(f"correlation with robustness to natural shifts: {grades}.")


def test_a_corruption_is_best_alone_only_if_its_interval_is_above_0(shifts, correlations):
    def said(changed):
        return dict(validity_verdicts(ValidityScores(shifts, changed)))["Single corruptions"]

    alone = lines(correlations, what="corruption", natural=MEAN, kind="pearson").sort_values("value")
    first, second = (alone["benchmark"].iloc[place].removeprefix("made-c/").replace("_", " ") for place in (-1, -2))
    unsure = correlations.assign(low=-0.6)
    start = (
        f"none of 8 is known to correlate alone on average; the highest r, of {first}, is {alone['value'].max():.2f}"
    )
    assert said(unsure).startswith(f"{start} (95 % interval \u22120.60 to ")
    but_one = unsure.assign(low=np.where(unsure.index == alone.index[-2], 0.1, -0.6))
    assert said(but_one).startswith(f"{second} correlates best alone on average, of those whose interval is above 0, r")
    flat = correlations["benchmark"] == "made-c/fog"
    assert " No correlation is defined for fog (made-c)." in said(
        correlations.assign(value=correlations["value"].mask(flat))
    )


def test_corruptions_are_better_alone_only_if_the_interval_says_so(shifts, correlations, contributions):
    def said(table):
        return dict(validity_verdicts(ValidityScores(shifts, correlations, table)))["Single corruptions"]

    overall = contributions["natural"] == MEAN
    wide = contributions.assign(alone_gain=0.1, alone_gain_low=-0.1, alone_gain_high=0.3)
    assert said(wide).endswith(" Of 8, none is known to correlate better alone than all corruptions together.")
    one = overall & (contributions["corruption"] == "made-c/shot_noise")
    found = said(wide.assign(alone_gain_low=np.where(one, 0.01, -0.1)))
    why = "the interval of the difference is above 0"
    assert found.endswith(f" Of 8, shot noise correlates better alone than all corruptions together: {why}.")
    elsewhere = ~overall & (contributions["corruption"] == "made-c/shot_noise")  # with one natural benchmark only
    assert "none is known" in said(wide.assign(alone_gain_low=np.where(elsewhere, 0.01, -0.1)))


def test_p_values_say_what_they_ignore(page, shifts, correlations):
    captions = [text for text in page.texts("caption") if text.startswith("p-values")]
    assert captions == ["p-values (two-sided), as if models were independent: they ignore families"]
    plain = Page(rendered(validity_page, replace(shifts, families=None), correlations))
    captions = [text for text in plain.texts("caption") if text.startswith("p-values")]
    assert captions == ["p-values (two-sided), as if models were independent"]
    assert (
        "if models were independent of each other"
        in dict(definitions(ValidityScores(shifts, correlations)))["p-values"]
    )


def test_notes_name_the_suites_only_if_they_are_not_of_all(shifts, correlations):
    its = (correlations["what"] == "suite") & (correlations["kind"] == "effective")
    of_one = its & (correlations["benchmark"] == "all") & (correlations["natural"] == "sketches")
    table = correlations.assign(note=np.where(of_one, "a point is far off", ""))
    (note,) = suite_notes(ValidityScores(shifts, table))
    assert note == "all corruptions, effective robustness with sketches: a point is far off."
    whole = correlations["what"].isin(("suite", "score")) & (correlations["kind"] == "pearson")
    (note,) = suite_notes(ValidityScores(shifts, correlations.assign(note=np.where(whole, "few models", ""))))
    assert note == "Pearson: few models."
    some = whole & correlations["natural"].isin(["sketches", MEAN])
    (note,) = suite_notes(ValidityScores(shifts, correlations.assign(note=np.where(some, "few models", ""))))
    assert note == "Pearson with sketches and the mean: few models."


def test_notes_that_differ_in_names_are_one(shifts, correlations, contributions):
    its = correlations["kind"] == "effective"
    few = "the line has 2 models"
    natural = correlations["natural"].replace("mean", "cartoons")
    notes = "on " + correlations["benchmark"] + f", {few}; on " + natural + f", {few}"
    (note,) = suite_notes(ValidityScores(shifts, correlations.assign(note=notes.where(its, ""))))
    assert note == f"effective robustness: on made-c, sketches, renditions, cartoons and 1 more, {few}."
    flat = "the residual robustness to " + contributions["corruption"] + " is the same for all models"
    scores = ValidityScores(shifts, correlations, contributions.assign(note=flat))
    (note,) = notes_of(scores, scores.contributions, "corruption")
    names = "gaussian noise, shot noise, impulse noise, defocus blur and 4 more"
    assert note == f"{names}: the residual robustness to {names} is the same for all models."
    to_one = "not fitted to 1 of 80 models"  # which is no benchmark called 1
    assert gather_notes([(to_one, ["1"], "x"), ("on 1, few", ["1"], "y")]) == {to_one: ["x"], "on 1, few": ["y"]}


def test_groups_are_tables_like_those_of_the_paper(page, shifts, correlations):
    groups = make_groups(shifts).set_index(["group", "natural"])
    suites = correlations[correlations["what"].isin(["suite", "score"]) & (correlations["kind"] == "pearson")]
    suites = suites.replace({"benchmark": {"all": "all corruptions"}})
    beside = {natural: its.set_index("benchmark")["value"].to_dict() for natural, its in suites.groupby("natural")}
    for caption, names in {
        "Mean r of benchmarks of n categories": ["2,1", "3,1", "2,2"],
        "Mean r of benchmarks by the std": ["std 0.0", "std 0.8", "std 1.4"],
    }.items():
        rows = table_of(page, caption)
        assert list(rows) == [*names, *([] if "std" in caption else ["made-c", SCORE, "all corruptions"])]
        for natural in (*NATURAL, MEAN):
            wanted = {name: groups.loc[(name, natural), "value"] for name in names}
            wanted |= {} if "std" in caption else beside[natural]
            assert {name: row[natural] for name, row in rows.items()} == pytest.approx(wanted, rel=1e-12)
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
    assert said["Number of categories"].endswith("at the same size, from 1 comparison (2,1 to 3,1).")
    assert said["Imbalance"].endswith(", from 2 comparisons (std 0.0 to std 0.8; std 0.8 to std 1.4).")
    (dots,) = page.data()["figures"]["slope-std"]["data"]
    assert dots["x"] == [-0.05] * 4
    (dots,) = page.data()["figures"]["pairs-std"]["data"]
    np.testing.assert_allclose(dots["x"], [-0.04, -0.03], atol=1e-5)


def test_a_trend_against_the_paper_says_so(shifts, correlations):
    groups = make_groups(shifts)
    turned = make_trends(groups).assign(difference=lambda t: -t["difference"])
    turned[["low", "high"]] = turned["difference"].to_numpy()[:, None] + [-0.005, 0.005]
    said = dict(validity_verdicts(ValidityScores(shifts, correlations, None, groups, turned)))
    assert said["Number of categories"].startswith("r falls, unlike in the paper")
    assert said["Imbalance"].startswith("r rises, unlike in the paper")


def test_a_trend_without_a_mean_says_where_there_is_one(shifts, correlations):
    trends = make_trends(make_groups(shifts))
    trends.loc[trends["natural"].isin([UNRELATED, MEAN]), ["difference", "low", "high"]] = np.nan
    said = dict(validity_verdicts(ValidityScores(shifts, correlations, None, None, trends)))["Number of categories"]
    assert said == "no mean r is defined. It rises with sketches and renditions."


def test_a_trend_that_differs_by_natural_benchmark_says_with_which(shifts, correlations):
    trends = make_trends(make_groups(shifts))
    is_n = trends["question"] == "n"
    for natural, change in {"sketches": 0.04, "renditions": -0.04, "cartoons": 0.0, MEAN: 0.0}.items():
        ends = [change, change - 0.01, change + 0.01]
        trends.loc[is_n & (trends["natural"] == natural), ["difference", "low", "high"]] = ends
    said = dict(validity_verdicts(ValidityScores(shifts, correlations, None, None, trends)))["Number of categories"]
    assert said.startswith("r is not known to change with it: +0.000")
    assert said.endswith(" It rises with sketches and falls with renditions.")


def test_a_choice_that_merely_fits_is_warned_of_in_plain_sight(page):
    said = verdicts(page)
    assert "Warning" not in said["Most predictive 2"]
    assert said["Most predictive 2"].startswith("shot noise and gaussian noise: r = 0.76 (95 % interval 0.71 to 0.81)")
    assert "random ones have 0.50, and all candidates together 0.62." in said["Most predictive 2"]
    assert said["Most predictive 3"].endswith("Warning: it merely fits its models.")
    assert "Warning, 3 corruptions: it merely fits its models." in page.texts("p")
    rows = table_of(page, "Most predictive benchmarks")
    assert rows["2 corruptions"]["gain over random"] == pytest.approx(0.26)
    assert rows["3 corruptions"]["r, held out"] == pytest.approx(0.02)
    assert rows["3 corruptions"]["r on the choosing models"] == pytest.approx(0.38)
    assert rows["3 corruptions"]["gain over all"] == pytest.approx(-0.6)
    assert re.search("all sets tried.*best found", page.section("searches"))
    assert table_of(page, "All members of")["2 corruptions"]["stability %"] == pytest.approx(0.5)


def test_long_searches_are_short_in_the_verdict_and_whole_when_unfolded(shifts, correlations):
    members = [f"made-c/c{number}" for number in range(150)]
    warning = "not shown to be better than random ones: its correlation is 0.65"
    searches = make_searches().head(1).assign(size=150, members=BETWEEN.join(members), warning=warning)
    page = Page(rendered(validity_page, shifts, correlations, searches=searches))
    found = verdicts(page)["Most predictive 150"]
    assert found.startswith("made-c/c0, made-c/c1, made-c/c2, made-c/c3, made-c/c4, made-c/c5 and 144 more: r = 0.76")
    assert found.endswith(" Warning: not shown to be better than random ones.")
    assert f"Warning, 150 corruptions: {warning}." in page.texts("p")
    cells = page.texts("td")
    assert any(text.endswith("made-c/c9 and 140 more") for text in cells)
    assert ", ".join(members) in cells
