"""docs/results/README.md has a line for everything in the papers, and its numbers are those of the pages it links."""

import re

import pandas as pd
import pytest
from tool_modules import ROOT

RESULTS = ROOT / "docs" / "results"
TEXT = (RESULTS / "README.md").read_text(encoding="utf-8")
VERDICTS = {"reproduced", "with a deviation", "**contradicted**", "open", "not run yet", "out of reach here"}
UNDONE = {"not run yet", "out of reach here"}
# Tables, figures and algorithms of the papers, by the section of the page.
ITEMS = {
    "1": {"table": 8, "figure": 8, "algorithm": 1},
    "2": {"table": 3, "figure": 7, "algorithm": 1},
    "3": {"table": 5, "figure": 16, "algorithm": 0},
    "4": {"table": 3, "figure": 2, "algorithm": 2},
}
SECTIONS = {part[0]: part for part in TEXT.split("\n## ")[1:]}


def lines(section: str) -> list[list[str]]:
    """The cells of every line of its table."""
    rows = re.findall(r"^\| (?!item |---)(.*) \|$", SECTIONS[section], re.M)
    return [[cell.strip() for cell in row.split("|")] for row in rows]


LINES = [(section, *cells) for section in SECTIONS for cells in lines(section)]


def numbers(text: str) -> set[str]:
    """Numbers of two characters or more that are no part of a name, of a file or of code."""
    text = re.sub(r"`[^`]*`|\]\([^)]*\)", " ", text)
    return {found for found in re.findall(r"(?<![\w.,/-])[-+]?\d+(?:\.\d+)?(?![\w/-])", text) if len(found) > 1}


def test_there_is_a_line_for_every_table_figure_and_algorithm():
    assert set(SECTIONS) == set(ITEMS)
    for section, kinds in ITEMS.items():
        for kind, count in kinds.items():
            named: set[int] = set()
            for item, *_ in lines(section):
                for found in re.findall(rf"{kind}s? ([\d, and]*\d)", item):
                    named |= {int(number) for number in re.findall(r"\d+", found)}
            assert named == set(range(1, count + 1)), (section, kind)


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line[0]}: {line[1]}")
def test_a_line_has_a_verdict_and_numbers_of_the_pages_that_it_links(line):
    _, item, verdict, evidence, command = line
    beyond = item.startswith("beyond the paper")
    assert verdict in VERDICTS or (beyond and not verdict)
    assert command or verdict not in UNDONE
    if command:
        assert f"\n# {command}" in SECTIONS[command[0]]
    pages = [RESULTS / name for name in re.findall(r"\]\(([\w-]+\.md)\)", evidence)]
    assert pages or verdict != "**contradicted**"
    known = set.union(set(), *(numbers(page.read_text(encoding="utf-8")) for page in pages))
    costs = {f"{value:.2g}" for value in pd.read_csv(RESULTS / "costs.csv")["gpu_hours"] if value}
    theirs = {
        "17",
        "19",
        "21",
        "40",
        "100",
        "1000",
        "1200",
    }  # models, candidates, epochs, classes and runs of the papers
    assert numbers(evidence) <= known | costs | theirs
    texts = " ".join(re.sub(r"[\s|]+", " ", page.read_text(encoding="utf-8")) for page in pages)
    for estimate in re.findall(r"[-+]?[\d.]+ \[[^]]*\d\](?!\()", evidence):  # a value with its interval
        assert estimate in texts


def test_costs_are_those_of_a_dry_run():
    costs = pd.read_csv(RESULTS / "costs.csv").set_index("what")["gpu_hours"]
    one = "cells, 1 ResNet-50, float32"
    for what, said in {
        f"imagenet-noc, 9 {one}": "0.015 GPU hours per network on imagenet-noc",
        f"imagenet-c, 76 {one}": "0.13 on imagenet-c",
        f"imagenet-c-bar, 51 {one}": "0.089 GPU hours per network",
        f"imagenet-syn2nat, 19 {one}": "0.032 GPU hours per network",
        "38 corruptions, ImageNet-100, 3 seeds": "21.2 GPU hours for three seeds",
        "paper-cifar10: 160 trainings of cifar-separation": "the paper's 160 trainings; 20.3 GPU hours",
    }.items():
        hours = next(float(word) for word in said.replace(";", "").split() if "." in word)
        assert float(f"{costs[what]:.{2 if hours < 1 else 3}g}") == hours
        assert said in re.sub(r"\s+", " ", TEXT)
