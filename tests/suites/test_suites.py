"""Suites: the bundled ones are complete, files survive a round trip, and every bad file is told what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

import scuff
from scuff import corruptions
from scuff.ranges import Range
from scuff.suites import combine_suites
from scuff.suites.suite import parse_suite

GOOD = {
    "suite": "mine",
    "version": 1,
    "size": 32,
    "severities": 2,
    "validation": ["fog"],
    "entries": {"fog": {"strength": [0.5, 1.0], "decay": 2.0}, "contrast": {"gain": [0.5, 0.2]}},
}


def _write(path: Path, **changes: object) -> Path:
    import yaml

    path.write_text(yaml.safe_dump({**GOOD, **changes}))
    return path


def test_bundled_suites() -> None:
    for name, size in (("imagenet-c", 224), ("tiny-imagenet-c", 64), ("cifar10-c", 32)):
        suite = scuff.load_suite(name)
        assert (suite.name, suite.size, suite.severities, suite.version) == (name, size, 5, 2)
        assert len(suite.benchmark()) == 15
        assert suite.validation == ("speckle_noise", "gaussian_blur", "spatter", "saturate")


def test_c_bar_suites_are_chosen_from_their_candidates() -> None:
    for name, candidates in (("imagenet-c-bar", "c-bar-candidates-224"), ("cifar10-c-bar", "c-bar-candidates-32")):
        chosen, pool = scuff.load_suite(name), scuff.load_suite(candidates)
        assert (len(chosen.entries), chosen.severities, len(pool.entries), pool.severities) == (10, 5, 30, 10)
        assert chosen.size == pool.size
        for entry, parameters in chosen.entries.items():
            assert set(parameters["amount"]) <= set(pool.entries[entry]["amount"]), entry


@pytest.mark.parametrize("name", scuff.list_suites())
def test_bundled_suites_name_real_corruptions_with_their_parameters(name: str) -> None:
    suite = scuff.load_suite(name)
    for entry in suite.entries:
        for severity in suite.levels(entry):
            corruptions.get(suite.corruption(entry)).check_parameters(suite.parameters(entry, severity))


def test_addresses() -> None:
    assert len(scuff.list_corruptions()) == 4 * 19 + 2 * 30 + 2 * 10 + 25 + 24 + 8 + 40 + 18 + 3 * 14
    assert scuff.list_corruptions("imagenet-c")[:2] == ["imagenet-c/gaussian_noise", "imagenet-c/shot_noise"]


def test_round_trip(tmp_path: Path) -> None:
    for name in scuff.list_suites():
        suite = scuff.load_suite(name)
        assert scuff.load_suite(suite.save(tmp_path / "deep" / f"{name}.yaml")) == suite
    assert {p.stem for p in (tmp_path / "deep").iterdir()} == set(scuff.list_suites())  # nothing temporary is left


def test_a_suite_of_ones_own(tmp_path: Path) -> None:
    import numpy as np

    path = _write(tmp_path / "mine.yaml")
    suite = scuff.load_suite(path)
    assert suite.benchmark() == ["contrast"]
    assert suite.parameters("fog", 2) == {"strength": 1.0, "decay": 2.0}
    x = np.random.default_rng(0).integers(0, 256, (2, 32, 32, 3), dtype=np.uint8)
    by_object = scuff.corrupt(x, "fog", 2, suite=suite)
    assert np.array_equal(by_object, scuff.corrupt(x, "fog", 2, suite=str(path)))
    assert np.array_equal(by_object, scuff.corrupt(x, f"{path}/fog", 2))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 0}, "version must be a whole number of at least 1, got 0"),
        ({"size": "big"}, "size must be a whole number"),
        ({"severities": True}, "severities must be a whole number"),
        ({"suite": "a/b"}, "the name must be text without /"),
        ({"entries": {}}, "entries must map names"),
        ({"entries": {"fog": [1, 2]}, "validation": []}, "entry 'fog' must map names to values"),
        (
            {"entries": {"fog": {"strength": [1, 2, 3]}}},
            r"fog.strength must be one value, a range, or a list of 2, got \[1, 2, 3\]",
        ),
        ({"entries": {"fog": {"strength": "much"}}}, "fog.strength must hold finite numbers, got 'much'"),
        ({"entries": {"fog": {"strength": float("nan")}}}, "finite numbers"),
        ({"entries": {"fog": {"strength": float("inf")}}}, "finite numbers"),
        ({"validation": ["snow"]}, "validation names 'snow', which is no entry"),
        ({"colour": "red"}, r"unknown keys \['colour'\]"),
        ({"entries": {"fog": {"strength": {"low": 1}}}}, r"fog.strength: a range is written {from: LOW, to: HIGH}"),
        ({"entries": {"fog": {"strength": {"from": 2, "to": 1}}}}, "the smaller first; got 2, 1"),
        ({"entries": {"fog": {"corruption": 3}}}, "fog.corruption must be the name of a corruption, got 3"),
        ({"aliases": {"mist": "haze"}}, "name 'haze', which is no entry"),
        ({"categories": {"dim": ["haze"]}}, "name 'haze', which is no entry"),
    ],
)
def test_bad_files(tmp_path: Path, changes: dict, message: str) -> None:
    with pytest.raises(scuff.SuiteError, match=message):
        scuff.load_suite(_write(tmp_path / "bad.yaml", **changes))


@pytest.mark.parametrize(
    ("text", "message"),
    [("a: [1", "not valid YAML"), ("- 1", "is no suite"), ("", "is no suite"), ("suite: x", "missing keys")],
)
def test_files_that_are_no_suites(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(scuff.SuiteError, match=message):
        scuff.load_suite(path)


def test_yaml_cannot_run_code(tmp_path: Path) -> None:
    path = tmp_path / "evil.yaml"
    path.write_text("suite: !!python/object/apply:os.system ['true']")
    with pytest.raises(scuff.SuiteError, match="not valid YAML"):
        scuff.load_suite(path)


def test_wrong_names_are_answered_with_near_ones(tmp_path: Path) -> None:
    with pytest.raises(scuff.SuiteError, match=r"no suite is called 'imagenet-d'; did you mean .*imagenet-c"):
        scuff.load_suite("imagenet-d")
    with pytest.raises(scuff.SuiteError, match="cannot read the suite file"):
        scuff.load_suite(tmp_path / "absent.yaml")
    with pytest.raises(scuff.SuiteError, match="has no entry 'fogg'; did you mean fog"):
        scuff.load_suite("imagenet-c").parameters("fogg", 1)


@pytest.mark.parametrize("severity", [0, -1, 6, 1.5, "3", None, True])
def test_severity_is_checked(severity: object) -> None:
    with pytest.raises(scuff.SuiteError, match="from 1 to 5"):
        scuff.load_suite("imagenet-c").parameters("fog", severity)


RANGED = {
    "suite": "ranged",
    "version": 1,
    "size": 32,
    "aliases": {"grain": "noise"},
    "categories": {"all": ["noise", "haze", "still"]},
    "entries": {
        "noise": {"corruption": "gauss_noise", "variance": {"from": 500.0, "to": 1000.0}},
        "cells": {"corruption": "rain", "count": {"from": 3, "to": 9}, "scale": 1.0},
        "haze": {"corruption": "fog", "strength": 1.0, "decay": 2.0},
        "still": {"corruption": "contrast", "gain": [0.5, 0.2]},
    },
    "severities": 2,
}


def test_ranges_levels_and_neither_live_in_one_suite() -> None:
    import yaml

    suite = parse_suite(yaml.safe_dump(RANGED), "ranged.yaml")
    assert [suite.levels(entry) for entry in suite.entries] == [(None,), (None,), (None,), (1, 2)]
    assert suite.parameters("grain") == {"variance": Range(500.0, 1000.0)}
    assert suite.parameters("noise", 600) == {"variance": 600}
    assert suite.parameters("cells", 9) == {"count": 9, "scale": 1.0}
    assert suite.corruption("noise") == "gauss_noise"
    assert parse_suite(yaml.safe_dump(suite.to_dict()), "again") == suite
    for entry, severity, message in (
        ("noise", 400, "must be a number within 500 .. 1000, or be left out"),
        ("cells", 4.5, "must be a whole number within 3 .. 9"),
        ("cells", True, "must be a whole number within 3 .. 9"),
        ("haze", 1, "ranged/haze has no severities; leave the severity out, got 1"),
        ("still", None, "ranged/still needs a severity from 1 to 2"),
    ):
        with pytest.raises(scuff.SuiteError, match=message):
            suite.parameters(entry, severity)


def test_lists_need_a_number_of_severities(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("{suite: x, version: 1, size: 8, entries: {contrast: {gain: [0.5, 0.2]}}}")
    with pytest.raises(scuff.SuiteError, match=r"contrast.gain must be one value, a range, or a list of severities"):
        scuff.load_suite(path)


def test_entries_of_several_suites_make_one(tmp_path: Path) -> None:
    """Names that two suites share are told apart, and every entry keeps its parameters and the size it was made for."""
    wanted = ["noc-candidates/brightness", "noc-candidates/rain", "cifar10-c/brightness", "cifar10-c/fog"]
    made = combine_suites("both", wanted, categories={"light": wanted[::2]})
    assert list(made.entries) == ["noc-candidates-brightness", "rain", "cifar10-c-brightness", "fog"]
    assert made.corruption("noc-candidates-brightness") == "level_shift"
    assert made.corruption("cifar10-c-brightness") == "brightness"
    assert [made.size_of(entry) for entry in made.entries] == [224, 224, 32, 32]
    assert made.levels("rain") == (None,)
    assert made.levels("fog") == (1, 2, 3, 4, 5)
    assert made.parameters("fog", 2) == scuff.load_suite("cifar10-c").parameters("fog", 2)
    assert made.categories == {"light": ["noc-candidates-brightness", "cifar10-c-brightness"]}
    assert combine_suites("snowy", ["imagenet-c/snow", "imagenet-c/fog"]).monotone == {"snow": [1, 2, 4, 5]}
    made.save(tmp_path / "both.yaml")
    assert scuff.load_suite(tmp_path / "both.yaml") == made
    again = combine_suites("again", ["both/fog"], [made])
    assert again.size == 224
    assert again.size_of("fog") == 32


@pytest.mark.parametrize(
    ("addresses", "message"),
    [
        (["fog"], "expected an address suite/entry, as in imagenet-c/fog, got 'fog'"),
        (["imagenet-c/fgo"], "has no entry 'fgo'; did you mean fog"),
        ([], "needs at least one entry"),
        (["imagenet-c/fog", "c-bar-candidates-224/blue_noise"], "different numbers of severities: 5, 10"),
    ],
)
def test_what_makes_no_suite_is_explained(addresses: list[str], message: str) -> None:
    with pytest.raises(scuff.SuiteError, match=message):
        combine_suites("mine", addresses)


def test_a_suite_may_draw_levels() -> None:
    suite = combine_suites("drawn", ["cifar10-c/fog", "noc-candidates/rain"], draws_levels=True)
    assert suite.levels("fog") == (None,)
    assert suite.listed_levels("fog") == (1, 2, 3, 4, 5)
    assert suite.parameters("fog", 3) == scuff.load_suite("cifar10-c").parameters("fog", 3)
    assert suite.fingerprint() != combine_suites("drawn", ["cifar10-c/fog", "noc-candidates/rain"]).fingerprint()
    with pytest.raises(scuff.SuiteError, match="have no severities to choose from"):
        suite.choose(severities=[1])
