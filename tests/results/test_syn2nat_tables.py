"""The tables of the page on Syn2Nat: on made-up seeds, and as the page has them."""

import re

import numpy as np
import pytest
from made_overlaps import make_accuracies
from tool_modules import ROOT, load_tool

from scuff import design
from scuff.metrics import overlaps, read_accuracies

TOOL = load_tool("syn2nat_tables")
TABLE = make_accuracies(("syn2nat-candidates",), seeds=2, images=60, most=14)


@pytest.fixture(scope="module")
def found():
    return TOOL.designs(TABLE)


def numbers(lines):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines][2:]


def test_every_seed_and_their_mean_are_designed_from(found):
    assert list(found) == ["seed 0", "seed 1", "all seeds"]
    assert np.array_equal(found["all seeds"].matrix.values, overlaps(TABLE).values)
    for row, one in zip(numbers(TOOL.seeds_table(found)), found.values(), strict=True):
        assert row[1] == str(one.categories.k)
        groups = one.categories.groups()
        large = [members for members in groups.values() if len(members) >= 3]
        assert one.picked == design.least_overlapping(one.matrix, groups, min(6, len(large)), 3)


def test_the_papers_categories_are_those_of_its_benchmark_and_two_noises():
    known = TOOL.published_categories()
    assert len(known) == 20
    assert set(TOOL.PUBLISHED) < set(known)
    assert {known[f"syn2nat-candidates/{name}"] for name in ("gauss_noise", "iso_noise")} == {"fine_grain"}


def test_two_seeds_are_compared_as_stability_compares_them(found):
    row = numbers(TOOL.stability_table(found))[0]
    line = design.stability(TABLE).compare().iloc[0]
    assert row[:2] == ["0 and 1", f"{line.pearson:.2f}"]
    assert row[3] == f"{line.rand:.2f}"
    assert row[2] == f"{len(design.stability(TABLE).changing())} of 91"


def test_every_candidate_has_its_damage(found):
    rows = numbers(TOOL.damage_table(TABLE))
    assert len(rows) == 14
    assert [float(row[1]) for row in rows] == sorted(float(row[1]) for row in rows)
    assert len(numbers(TOOL.picks_table(found))) == 4


def test_the_page_has_every_table_that_the_accuracies_give():
    results = ROOT / "docs" / "results"
    page = re.sub(r"\s+", " ", (results / "syn2nat-cifar10.md").read_text(encoding="utf-8"))
    table = read_accuracies(results / "syn2nat-cifar10" / "accuracies.csv")
    designs = TOOL.designs(table)
    last = list(designs.values())[-1]
    makers = (TOOL.seeds_table, TOOL.picks_table, TOOL.stability_table, TOOL.interval_lines, TOOL.chance_lines)
    lines = [line.strip() for make in makers for line in make(designs)]
    lines += [*TOOL.categories_table(last), *TOOL.damage_table(table)]
    assert len(table.seeds) == 3
    assert len(table.corruptions) == 40
    for line in lines:
        assert line.removeprefix("S").rstrip(".") in page
    clean = table.to_frame().query("trained_on == 'standard' and tested_on == 'clean'")["accuracy"]
    assert "{:.1f}, {:.1f} and {:.1f} %".format(*(100 * clean)) in page
