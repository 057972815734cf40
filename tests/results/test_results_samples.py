"""The numbers of docs/results/sampled-cifar10.md follow from the tables beside it, and so do its claims."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tool_modules import load_tool

from scuff.metrics import mean_error
from scuff.metrics.evaluation.examples import example_rows

RESULTS = Path(__file__).parents[2] / "docs" / "results"
PAGE = (RESULTS / "sampled-cifar10.md").read_text(encoding="utf-8")
COVERAGE, FLIPS = (pd.read_csv(RESULTS / "sampled-cifar10" / f"{name}.csv") for name in ("coverage", "flip-back"))


@pytest.mark.parametrize(("tool", "table"), [("sampled_coverage", COVERAGE), ("flip_back", FLIPS)])
def test_the_page_has_the_lines_of_the_table(tool: str, table: pd.DataFrame) -> None:
    lines = load_tool(tool).page_lines(table)
    assert [line for line in lines if line not in PAGE.splitlines()] == []


def test_intervals_cover_as_often_as_they_say() -> None:
    assert (COVERAGE["runs"] == 200).all()
    assert COVERAGE["coverage"].min() >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200)  # three standard errors of 200 runs
    assert abs(COVERAGE["coverage"].mean() - 0.95) < 0.03
    assert (COVERAGE["half_width"] > 1.5 * COVERAGE["off"]).all()


def test_a_resampled_run_takes_the_passes_of_its_plan_and_all_of_them_give_the_full_run() -> None:
    tool, rows = load_tool("sampled_coverage"), example_rows()
    full = tool.FullRun(rows, rows)
    assert full.estimate(0, full.images * full.cells, "none").value == pytest.approx(mean_error(rows).value, abs=1e-12)
    part = full.estimate(3, 60, "clean")
    assert part.n == 60
    assert part.low < part.value < part.high
    line = tool.coverage_line(full, [part])
    assert line["coverage"] == float(part.low <= full.truth <= part.high)


def test_first_failures_flips_and_searches_of_a_small_table() -> None:
    tool = load_tool("flip_back")
    steps = tool.STEPS
    right = np.ones((2 * steps + 1, 4), bool)
    right[3:, 0] = False  # fails at 3 and stays so
    right[3, 1] = False  # fails at 3 alone: levels miss it
    right[5:, 2] = False
    right[2 * steps, 2] = True  # right again at the last level
    assert tool.first_failures(right).tolist() == [3, 3, 5, 2 * steps + 1]
    assert tool.search(right, [0, steps, 2 * steps]).tolist() == [3, 2 * steps + 1, 5, 2 * steps + 1]
    assert tool.search(right, [0, 2 * steps]).tolist() == [3, 2 * steps + 1, 2 * steps + 1, 2 * steps + 1]
    line = tool.flip_line(right)
    assert (line["images"], line["fail"]) == (4, 3)
    assert line["flip_back"] == line["found"] == pytest.approx(2 / 3)
    assert line["bisected"] == pytest.approx(1 / 3)
