"""Tables: the same records on a page and in a terminal."""

import io
import math

import pandas as pd
import pytest
from rich.console import Console

import scuff
from scuff.metrics import Score
from scuff.tables import Cell, Column, Table
from scuff.words import NOTHING, hundredths, percent, plain

LINES = pd.DataFrame(
    {
        "model": ["a", "b", "c"],
        "kind": ["x", "x", "y"],
        "mce": [80.2, 76.7, math.nan],
        "mce_low": [79.0, 76.0, math.nan],
        "mce_high": [81.0, 77.0, math.nan],
    }
)
MCE = Column("mCE %", "mce", plain, interval=True, best="lowest")


def printed(table: Table, mark: str = "") -> list[list[str]]:
    """The words of every line that a terminal shows."""
    file = io.StringIO()
    Console(file=file, width=200, markup=False).print(table.to_terminal(mark))
    return [line.split() for line in file.getvalue().splitlines() if line.strip()]


def test_a_frame_and_columns_are_a_table():
    table = Table.of("Scores", LINES, [Column("model", "model"), MCE, None], sort="mCE %")
    assert [(head.name, head.is_number, head.order) for head in table.columns] == [
        ("model", False, "none"),
        ("mCE %", True, "ascending"),
    ]
    assert [[cell.text for cell in row] for row in table.rows] == [["b", "76.7"], ["a", "80.2"], ["c", NOTHING]]
    assert [row[1].interval for row in table.rows] == ["76.0 to 77.0", "79.0 to 81.0", ""]
    assert [row[1].best for row in table.rows] == [True, False, False]


def test_a_terminal_has_what_can_be_typed():
    table = Table.of("", [{"name": "a", "change": -0.5}], [Column("", "name"), Column("change", "change", hundredths)])
    assert printed(table)[-1] == ["a", "-0.50"]
    scores = Table.of("", LINES, [Column("model", "model"), MCE])
    assert printed(scores, mark="*")[-2:] == [["b", "76.7", "[76.0,", "77.0]*"], ["c", "-"]]


def test_the_best_is_that_of_a_group():
    table = Table.of("", LINES.fillna(90.0), [Column("model", "model"), MCE], best_within="kind")
    assert [row[1].best for row in table.rows] == [False, True, False]  # one alone is not the best of anything


def test_cells_that_read_the_same_are_equally_good():
    records = [{"name": name, "error": error} for name, error in (("a", 0.12341), ("b", 0.12339), ("c", 0.2))]
    table = Table.of("", records, [Column("", "name"), Column("error %", "error", percent, best="lowest")])
    assert [row[1].best for row in table.rows] == [True, True, False]


def test_values_are_keys_attributes_functions_scores_or_cells():
    score = Score(0.25, 0.2, 0.31, 96, "Wilson 95 %")
    columns = [
        Column("n", lambda record: record.n, str),
        Column("value", "value", percent),
        Column("score", lambda record: record, percent),
        Column("none", lambda record: None, percent),
        Column("cell", lambda record: Cell("as it is"), percent),
    ]
    (row,) = Table.of("", [score], columns).rows
    assert [(cell.text, cell.interval) for cell in row] == [
        ("96", ""),
        ("25.0", ""),
        ("25.0", "20.0 to 31.0"),
        (NOTHING, ""),
        ("as it is", ""),
    ]


def test_a_pivot_leaves_out_what_is_not_known():
    records = [
        {"corruption": "light_rain", "model": "a", "value": 0.5},
        {"corruption": "fog", "model": "b", "value": 1},
    ]
    column = Column("corruption", "value", percent, best="highest")
    table = Table.pivot("", records, "corruption", "model", column, names=["fog", "light_rain"], name=str.upper)
    assert [head.name for head in table.columns] == ["corruption", "a", "b"]
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["FOG", NOTHING, "100.0"],
        ["LIGHT_RAIN", "50.0", NOTHING],
    ]


def test_few_records_of_many_columns_are_turned():
    table = Table.of("", LINES, [Column("", "model"), MCE, Column("kind", "kind")]).turned()
    assert [head.name for head in table.columns] == ["", "a", "b", "c"]
    assert [row[0].text for row in table.rows] == ["mCE %", "kind"]


@pytest.mark.parametrize("question", ["overlap", "separation", "distance", "validity"])
def test_the_old_writers_of_reports_name_the_new_one(question):
    with pytest.raises(AttributeError, match=r"scuff\.write_report\(folder\)"):
        getattr(scuff, f"write_{question}_report")
