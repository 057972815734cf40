"""The page of the dissimilar benchmark: what follows from scans, and intervals over repetitions."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tool_modules import ROOT, load_tool

TOOL = load_tool("dissimilar_tables")
TABLES = ROOT / "docs" / "results" / "dissimilar-cifar10"


@pytest.mark.slow
def test_shifts_follow_from_scans():
    shifts, found = TOOL.find(pd.read_csv(TABLES / "scans.csv"))
    pd.testing.assert_frame_equal(shifts.reset_index(drop=True), pd.read_csv(TABLES / "shifts.csv"))
    pd.testing.assert_frame_equal(found, pd.read_csv(TABLES / "found.csv")[list(found)])


def test_a_scan_of_a_table_has_its_distances():
    lines = pd.read_csv(TABLES / "scans.csv").query("repetition == 3")
    distances = TOOL.as_scan(lines).distances()
    assert len(distances) == 30
    for name, its in lines[lines["role"] == "candidate"].groupby("corruption"):
        np.testing.assert_array_equal(distances[name], its.sort_values("severity")["distance"])


def test_intervals_are_those_of_student():
    values = np.random.default_rng(0).normal(0.2, 0.3, 10)
    alone = [{"of": str(number), "corruption": "a/b", "shift": 0.0, "sd": np.nan} for number in range(10)]
    every = {"of": "all", "corruption": "a/b", "shift": values.mean(), "sd": values.std(ddof=1)}
    line = TOOL.intervals(pd.DataFrame([every, *alone])).iloc[0]
    expected = stats.t.interval(0.95, 9, values.mean(), stats.sem(values))
    assert (line["low"], line["high"]) == pytest.approx(expected)


def test_what_is_chosen_alone_is_counted():
    shifts = pd.read_csv(TABLES / "shifts.csv", dtype={"of": str})
    times = {}
    for of, its in shifts[shifts["of"] != "all"].groupby("of"):
        first = its.sort_values("shift", ascending=False)["corruption"].iloc[:10]
        assert set(its.loc[its["chosen"], "corruption"]) == set(first), of
        for name in first:
            times[name] = times.get(name, 0) + 1
    lines = [[cell.strip() for cell in line.split("|")] for line in TOOL.shift_table(shifts).splitlines()[2:]]
    said = {"c-bar-candidates-32/" + line[2].strip("*").replace(" ", "_"): int(line[5]) for line in lines}
    assert said == {name: times.get(name, 0) for name in said}
    assert sum(said.values()) == 100
    bold = {line[2].strip("*").replace(" ", "_") for line in lines if "**" in line[2]}
    assert bold == set(TOOL.PUBLISHED_TEN)
