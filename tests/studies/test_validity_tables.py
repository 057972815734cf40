"""What `scuff validity` says in the terminal: not too much, and nothing that is not known."""

from __future__ import annotations

import numpy as np
from made_validity import SCORE, made_settings, make_correlations, make_groups, make_searches, make_shifts, make_trends

from scuff.cli.validity_tables import (
    explain,
    explain_corruptions,
    explain_notes,
    explain_trends,
    group_table,
    search_table,
)
from scuff.metrics.validity.shifts import BETWEEN
from scuff.studies import Validity


def test_suites_stand_beside_groups_in_the_order_of_other_tables():
    shifts = make_shifts()
    correlations, groups = make_correlations(shifts), make_groups(shifts)
    table = group_table(groups[groups["kind"] == "n,k"], correlations)
    assert [column.header for column in table.columns][1:] == ["2,1", "3,1", "2,2", "made-c", SCORE, "all"]
    found = correlations.query("benchmark == @SCORE and kind == 'pearson' and natural == 'sketches'")["value"].item()
    assert next(iter(table.columns[5].cells)) == f"{found:.3f}"


def test_corruptions_predict_alone_only_if_their_interval_is_above_0():
    correlations = make_correlations(make_shifts())
    (said,) = explain_corruptions(correlations)
    assert said.startswith("Alone, most predictive: made-c/")
    (said,) = explain_corruptions(correlations.assign(low=-0.1))
    assert said == "Alone, none of 8 corruptions is known to predict: all intervals of the mean reach 0 or less."
    is_fog = correlations["benchmark"] == "made-c/fog"
    (said,) = explain_corruptions(correlations.assign(low=np.where(is_fog, 0.1, -0.1)))
    assert said.startswith("Alone, most predictive: made-c/fog ")
    assert said.count("made-c/") + said.count("other-c/") == 4  # this one, and three that predict least


def test_notes_that_are_said_of_many_benchmarks_are_one_line():
    correlations = make_correlations(make_shifts())
    few = "the line needs 3 standard models, and has 2"
    natural = correlations["natural"].replace("mean", "cartoons")
    notes = "on " + correlations["benchmark"] + f", {few}; on " + natural + f", {few}"
    table = correlations.assign(note=notes.where(correlations["kind"] == "effective", ""))
    assert list(explain_notes(table)) == [
        f"Note on effective: on made-c, sketches, renditions, cartoons and 12 more, {few}"
    ]


def test_large_benchmarks_are_not_named_in_full():
    shifts = make_shifts()
    members = BETWEEN.join(f"made-c/c{number}" for number in range(150))
    searches = make_searches().head(1).assign(size=150, members=members)
    (shown,) = search_table(searches).columns[-1].cells
    assert shown == "c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 and 140 more"
    tables = make_correlations(shifts), None, None, None
    where = "All corruptions of benchmarks that were searched for are in searches.csv."
    assert where in list(explain(Validity(shifts, *tables, searches, made_settings(shifts))))
    assert where not in list(explain(Validity(shifts, *tables, make_searches(), made_settings(shifts))))


def test_slopes_say_what_they_are_from():
    more, *_, less = explain_trends(make_trends(make_groups(make_shifts())))
    assert more.endswith("per category, from 1 comparison (2,1 to 3,1).")
    assert less.endswith("per unit of std, from 2 comparisons (std 0.0 to std 0.8; std 0.8 to std 1.4).")
