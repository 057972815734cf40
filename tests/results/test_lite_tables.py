"""The page of networks of ImageNet: scores of stills and of sequences, in percent."""

import json

import pytest
from tool_modules import load_tool

TOOL = load_tool("lite_tables")


def test_scores_of_all_suites_are_in_one_line(tmp_path):
    home = tmp_path / "lite0"
    home.mkdir()
    still = {"model": "lite0", "n": 50}
    for suite, error in {"imagenet-c": 0.42, "imagenet-noc": 0.21}.items():
        score = {"clean_error": 0.1, "mean_error": error}
        ends = {
            f"{name}_{end}": value + by
            for name, value in score.items()
            for end, by in {"low": -0.05, "high": 0.1}.items()
        }
        relative = {"mce": 59.77, "mce_low": 55.1, "mce_high": 64.2} if suite == "imagenet-c" else {}
        (home / f"{suite}.json").write_text(json.dumps({"scores": [{**still, **score, **ends, **relative}]}))
    rates = {"lite0": {"value": 61.25, "low": 58.0, "high": 64.0, "n": 50}}
    (home / "imagenet-p.json").write_text(json.dumps({"scores": {"1": {"flip_rates": rates}, "2": {}}}))
    TOOL.main(str(tmp_path), str(tmp_path / "page.md"))
    line = (tmp_path / "page.md").read_text().splitlines()[-1]
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        "lite0", "10.0 [5.0, 20.0]", "21.0 [16.0, 31.0]", "", "", "42.0 [37.0, 52.0]", "59.8 [55.1, 64.2]",
        "61.2 [58.0, 64.0]",
    ]  # fmt: skip
    assert "on 50 pictures" in (tmp_path / "page.md").read_text()


def test_a_network_of_another_day_joins_the_others(tmp_path):
    for day, model in enumerate(("lite0", "lite1", "lite0")):
        (tmp_path / str(day) / model).mkdir(parents=True)
        score = {
            "model": model,
            "n": 50,
            "clean_error": 0.1 + 0.1 * day,
            "clean_error_low": 0.0,
            "clean_error_high": 0.5,
        }
        (tmp_path / str(day) / model / "imagenet-c.json").write_text(json.dumps({"scores": [score]}))
        TOOL.main(str(tmp_path / str(day)), str(tmp_path / "page.md"))
    lines = (tmp_path / "page.md").read_text().splitlines()[-2:]
    assert [line.split("|")[1:3] for line in lines] == [
        [" lite0 ", " 30.0 [0.0, 50.0] "],
        [" lite1 ", " 20.0 [0.0, 50.0] "],
    ]


def test_nothing_to_read_is_an_error(tmp_path):
    with pytest.raises(SystemExit, match="there are no results"):
        TOOL.main(str(tmp_path), str(tmp_path / "page.md"))
