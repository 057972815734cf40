"""The page of networks of ImageNet: scores of stills and of sequences, in percent."""

import json
from pathlib import Path

from tool_modules import load_tool

TOOL = load_tool("lite_tables")


def write_still(home: Path, suite: str, error: float, clean: float = 0.1, seconds: float = 1.0, **more: float) -> None:
    """What an evaluation leaves that the page reads; intervals go from 0.05 below to 0.1 above."""
    score = {"clean_error": clean, "mean_error": error}
    ends = {
        f"{name}_{end}": value + by for name, value in score.items() for end, by in {"low": -0.05, "high": 0.1}.items()
    }
    (home / suite / "progress").mkdir(parents=True)
    (home / suite / "progress" / "visit.json").write_text(json.dumps({"seconds": seconds}))
    scores = [{"model": home.name, "n": 50, **score, **ends, **more}]
    (home / f"{suite}.json").write_text(json.dumps({"scores": scores}))


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_scores_of_all_suites_are_in_one_line(tmp_path):
    home = tmp_path / "lite0"
    write_still(home, "imagenet-c", 0.42, seconds=20.4, mce=59.77, mce_low=55.1, mce_high=64.2)
    write_still(home, "imagenet-c-bar", 0.385, seconds=11.0)
    write_still(home, "imagenet-noc", 0.21, seconds=3.3)
    rates = {"lite0": {"value": 61.25, "low": 58.0, "high": 64.0, "n": 50}}
    (home / "imagenet-p.json").write_text(json.dumps({"scores": {"1": {"flip_rates": rates}, "2": {}}}))
    TOOL.main(str(tmp_path), str(tmp_path / "page.md"))
    text = (tmp_path / "page.md").read_text()
    line = next(line for line in text.splitlines() if line.startswith("| lite0"))
    assert cells(line) == [
        "lite0", "10.0 [5.0, 20.0]", "21.0 [16.0, 31.0]", "", "38.5 [33.5, 48.5]", "42.0 [37.0, 52.0]",
        "59.8 [55.1, 64.2]", "61.2 [58.0, 64.0]",
    ]  # fmt: skip
    assert "on 50 pictures" in text
    assert "easier by 3.5 to 3.5 points" in text
    assert "took 35 to 35 s a network" in " ".join(text.split())


def test_a_network_of_another_day_joins_the_others(tmp_path):
    for day, model in enumerate(("lite0", "lite1", "lite0")):
        for suite in ("imagenet-c", "imagenet-c-bar"):
            write_still(tmp_path / str(day) / model, suite, 0.4, clean=0.1 + 0.1 * day)
        TOOL.main(str(tmp_path / str(day)), str(tmp_path / "page.md"))
    lines = [cells(line)[:2] for line in (tmp_path / "page.md").read_text().splitlines() if line.startswith("| lite")]
    assert lines == [["lite0", "30.0 [25.0, 40.0]"], ["lite1", "20.0 [15.0, 30.0]"]]
