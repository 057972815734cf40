"""The command line that runs an overlap study again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from scuff.suites import Suite, list_suites, load_suite
from scuff.suites.suite import suite_from_dict
from scuff.training.recipes import RECIPES


def overlap_command(settings: Mapping[str, Any], out: str) -> str:
    """`scuff overlap ...`, with everything that was not left to itself."""
    suites = [suite_from_dict(content, "overlap.json") for content in settings["suites"]]
    all_of_them = [f"{suite.name}/{entry}" for suite in suites for entry in suite.benchmark()]
    recipe, tuned = settings["recipe"], settings["fine_tuning"]
    usual = RECIPES[recipe["name"]].settings() if recipe["name"] in RECIPES else recipe
    seeds = len(settings["seeds"])
    options = {
        "--only": ",".join(settings["corruptions"]) if settings["corruptions"] != all_of_them else None,
        "--together": ",".join(content["suite"] for content in settings["together"]) or None,
        "--data": settings["data"],
        "--test": settings["test"],
        "--classes": settings["classes"],
        "--limit": settings["limit"],
        "--recipe": recipe["name"],
        **{f"--{key}": recipe[key] for key in ("architecture", "epochs") if recipe[key] != usual[key]},
        "--fine-tune": None if tuned is None else tuned["epochs"],
        "--seeds": seeds if seeds > 1 else None,
        "--out": out,
    }
    words = [word for option, value in options.items() if value is not None for word in (option, str(value))]
    return shlex.join(["scuff", "overlap", *map(_suite_word, suites), *words])


def _suite_word(suite: Suite) -> str:
    is_bundled = suite.name in list_suites() and load_suite(suite.name) == suite
    return suite.name if is_bundled else f"{suite.name}.yaml"
