"""What `scuff validity` says in the terminal: not too much, and nothing that is not known."""

from __future__ import annotations

import numpy as np
from made_validity import SCORE, made_settings, make_correlations, make_groups, make_searches, make_shifts, make_trends

from scuff.cli.validity import print_validity
from scuff.metrics.validity.shifts import BETWEEN
from scuff.report.validity.scores import ValidityScores
from scuff.report.validity.tables import group_table, search_table
from scuff.report.validity.verdicts import corruption_words, trend_verdicts
from scuff.studies import Validity


def test_suites_stand_below_groups_in_the_order_of_other_tables():
    shifts = make_shifts()
    correlations, groups = make_correlations(shifts), make_groups(shifts)
    table = group_table(ValidityScores(shifts, correlations, groups=groups), "n,k", "").to_terminal()
    names = [name.strip() for name in table.columns[0].cells]
    assert names == ["2,1", "3,1", "2,2", "made-c", SCORE, "all corruptions"]
    value = correlations.query("benchmark == @SCORE and kind == 'pearson' and natural == 'sketches'")["value"].item()
    assert list(table.columns[1].cells)[4].startswith(f"{value:.3f} [")


def test_corruptions_predict_alone_only_if_their_interval_is_above_0():
    shifts = make_shifts()
    correlations = make_correlations(shifts)

    def said(table):
        return corruption_words(ValidityScores(shifts, table))

    assert "noise correlates best alone on average, r = 0." in said(correlations)
    assert said(correlations.assign(low=-0.1)).startswith("none of 8 is known to correlate alone on average;")
    is_fog = correlations["benchmark"] == "made-c/fog"
    only_fog = said(correlations.assign(low=np.where(is_fog, 0.1, -0.1)))
    assert only_fog.startswith(
        "fog (made-c) correlates best alone on average, of those whose interval is above 0, r = "
    )
    assert ", then " not in only_fog  # nothing else is known to


def test_the_best_three_are_named():
    shifts = make_shifts()
    words = corruption_words(ValidityScores(shifts, make_correlations(shifts)))
    assert words.count("noise") == 3
    assert ", then " in words


def test_notes_that_are_said_of_many_benchmarks_are_one_line(capsys):
    shifts = make_shifts()
    correlations = make_correlations(shifts)
    few = "the line needs 3 standard models, and has 2"
    natural = correlations["natural"].replace("mean", "cartoons")
    notes = "on " + correlations["benchmark"] + f", {few}; on " + natural + f", {few}"
    table = correlations.assign(note=notes.where(correlations["kind"] == "effective", ""))
    print_validity(Validity(shifts, table, None, None, None, None, made_settings(shifts)))
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Note on")]
    assert lines == [f"Note on effective robustness: on made-c, sketches, renditions, cartoons and 1 more, {few}."]


def test_notes_that_were_announced_are_not_repeated(capsys):
    shifts = make_shifts()
    study = Validity(shifts, make_correlations(shifts), None, None, None, None, made_settings(shifts))
    print_validity(study)
    assert "Note: other-c: no suite of that name" in capsys.readouterr().out
    print_validity(study, announced=study.settings["notes"])
    assert "Note: " not in capsys.readouterr().out


def test_large_benchmarks_are_not_named_in_full(capsys):
    shifts = make_shifts()
    members = BETWEEN.join(f"made-c/c{number}" for number in range(150))
    searches = make_searches().head(1).assign(size=150, members=members)
    tables = make_correlations(shifts), None, None, None
    (row,) = search_table(ValidityScores(shifts, *tables, searches)).rows
    names = ", ".join(f"made-c/c{number}" for number in range(10))
    assert row[1].text == f"{names} and 140 more"
    where = "All corruptions of benchmarks that were searched for are in searches.csv."
    print_validity(Validity(shifts, *tables, searches, made_settings(shifts)))
    assert where in capsys.readouterr().out
    print_validity(Validity(shifts, *tables, make_searches(), made_settings(shifts)))
    assert where not in capsys.readouterr().out


def test_slopes_say_what_they_are_from():
    shifts = make_shifts()
    trends = make_trends(make_groups(shifts))
    (_, more), *_, (_, less) = trend_verdicts(ValidityScores(shifts, make_correlations(shifts), trends=trends))
    assert more.endswith("at the same size, from 1 comparison (2,1 to 3,1).")
    assert less.endswith("of the same categories, from 2 comparisons (std 0.0 to std 0.8; std 0.8 to std 1.4).")
