"""Rows that are special, or wrong."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from made_rows import CELLS_NOC, MINE, plain_error, random_rows

from scuff import metrics


def with_errors(wrong: bool, n: int = 30) -> pd.DataFrame:
    return random_rows(MINE, n=n).assign(label=0, prediction=int(wrong))


def test_no_errors_at_all():
    rows = with_errors(wrong=False)
    clean = metrics.error(rows[rows.corruption == "clean"])
    assert (clean.value, clean.low) == (0, 0)
    assert clean.high == pytest.approx(1.959964**2 / (30 + 1.959964**2), abs=1e-6)
    mean = metrics.mean_error(rows)
    assert (mean.value, mean.low, mean.high) == (0, 0, 0)
    assert "the bootstrap makes no interval" in mean.note
    assert float(metrics.robustness_score(rows)) == 1
    assert float(metrics.residual_robustness(rows)) == 0


def test_nothing_but_errors():
    rows = with_errors(wrong=True)
    assert metrics.error(rows[rows.corruption == "clean"]).high == 1
    assert float(metrics.mean_error(rows)) == 1
    score = metrics.robustness_score(rows)
    assert math.isnan(score.value)
    assert "undefined" in score.note
    line = metrics.summary(rows).iloc[0]
    assert (line.mean_error, line.residual_robustness) == (1, 0)
    assert math.isnan(line.robustness_score)


def test_one_image():
    rows = with_errors(wrong=True, n=1)
    score = metrics.mean_error(rows)
    assert score.value == 1
    assert (math.isnan(score.low), math.isnan(score.high)) == (True, True)
    assert str(score) == "1 [nan, nan] (n = 1; no interval from one image)"
    assert metrics.summary(rows).n[0] == 1


def test_scores_that_need_clean_rows_say_so():
    rows = random_rows(MINE[1:])
    for score in (metrics.robustness_score, metrics.residual_robustness):
        with pytest.raises(ValueError, match="no clean images"):
            score(rows)
    with pytest.raises(ValueError, match="no clean images"):
        metrics.mce(random_rows(CELLS_NOC[1:], "imagenet-noc"))
    line = metrics.summary(rows).iloc[0]
    assert math.isnan(line.clean_error)
    assert line.mean_error > 0


def test_clean_rows_alone():
    rows = random_rows([("clean", 0)], "")
    line = metrics.summary(rows).iloc[0]
    assert line.clean_error == pytest.approx(plain_error(rows, "clean"))
    assert math.isnan(line.mean_error)
    with pytest.raises(ValueError, match="none of corrupted images"):
        metrics.mean_error(rows)


def test_cells_must_hold_the_same_images():
    rows = random_rows(MINE)
    gone = rows.index[(rows.corruption == "snow") & (rows.severity == 3)][:2]
    with pytest.raises(ValueError, match="of 40 images, 2 are missing in snow 3, and 1 of 6 cells are short: snow 3"):
        metrics.mean_error(rows.drop(index=gone))
    with pytest.raises(ValueError, match=r"occurs 2 times in .* of m"):
        metrics.mean_error(pd.concat([rows, rows.iloc[:1]]))


def test_rows_of_several_models_sources_or_suites_are_refused():
    rows = random_rows(MINE)
    for change, words in (
        ({"model": "other"}, r"rows of one model, got 2: m, other; .*by_model"),
        ({"source": "other"}, r"rows of one source, got 2: val, other; choose one"),
        ({"suite": "other"}, r"rows of one suite, got 2: mine, other; choose one"),
    ):
        with pytest.raises(ValueError, match=words):
            metrics.mean_error(pd.concat([rows, rows.assign(**change)]))
    clean = rows.corruption == "clean"
    mixed = pd.concat([rows[clean].assign(suite=""), rows[~clean]])
    assert metrics.mean_error(mixed) == metrics.mean_error(rows)  # clean images belong to every suite


def test_broken_tables_are_refused():
    rows = random_rows(MINE)
    with pytest.raises(ValueError, match="lack the columns severity, prediction"):
        metrics.mean_error(rows.drop(columns=["severity", "prediction"]))
    with pytest.raises(ValueError, match="no rows"):
        metrics.mean_error(rows[:0])
    with pytest.raises(ValueError, match="rows of sequences"):
        metrics.mean_error(rows.assign(frame=0))
    with pytest.raises(ValueError, match="corruption has 1 rows without a value"):
        metrics.mean_error(rows.assign(corruption=rows.corruption.astype(object).where(rows.index > 0)))


def test_text_columns_and_the_order_of_rows_do_not_matter():
    rows = random_rows(MINE)
    expected = metrics.mean_error(rows)
    as_text = rows.astype(dict.fromkeys(("model", "source", "suite", "corruption"), object))
    assert metrics.mean_error(as_text) == expected
    assert metrics.mean_error(rows.sample(frac=1, random_state=1)) == expected
    assert metrics.mean_error(metrics.read_cells(rows)) == expected
