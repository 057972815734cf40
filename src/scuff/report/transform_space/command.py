"""The command lines that make these studies again, with everything that was not left to itself."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from scuff.report.settings import Again
from scuff.report.transform_space.names import is_subset
from scuff.suites import list_suites, load_suite
from scuff.suites.suite import suite_from_dict
from scuff.training.recipes import RECIPES

USUAL = {"images": 100, "samples": 100, "sampling": "independent", "resamplings": 1, "seed": 0, "tolerance": 0.01}
BY_NAME = "Networks that were given as objects are named here as they were called: put their files in place."


def distances_again(settings: Mapping[str, Any], out: str) -> Again:
    """`scuff distance schemes`, or `scuff distance correlation` if networks were trained with the schemes."""
    verb = "schemes" if settings.get("recipe") is None else "correlation"
    options = {
        "schemes": ",".join(_scheme_words(list(settings["schemes"]))),
        **_shared(settings),
        **_chosen(settings),
        "augmentations": _unless(settings, "augmentations", 10_000),
        **{key: _unless(settings, key, USUAL[key]) for key in ("sampling", "resamplings")},
        "out": out,
    }
    return _again(["scuff", "distance", verb, suite_word(settings["suite"])], options)


def subsets_again(settings: Mapping[str, Any], out: str) -> Again:
    """`scuff distance subsets`."""
    options = {
        "scheme": next(iter(settings["schemes"])),
        "sizes": _joined(settings["sizes"]),
        "kinds": _joined(settings["kinds"]),
        "draws": settings["augmentations"],
        **_shared(settings),
        **_chosen(settings),
        "out": out,
    }
    return _again(["scuff", "distance", "subsets", suite_word(settings["suite"])], options)


def mixing_again(settings: Mapping[str, Any], out: str) -> Again:
    """`scuff distance mixing`."""
    options = {
        "severity": settings["severity"],
        "shares": _joined(settings["shares"]),
        **_shared(settings),
        "augmentations": settings["augmentations"],
        "out": out,
    }
    return _again(["scuff", "distance", "mixing", settings["right"], settings["other"]], options)


def dissimilar_again(settings: Mapping[str, Any], out: str) -> Again:
    """`scuff design dissimilar`."""
    levels = settings["levels"]["candidate"]
    candidates = suite_from_dict(settings["candidates"], "dissimilar.json")
    options = {
        "data": settings["data"],
        "test": settings["test"],
        "limit": settings["test_images"],
        "model": _addresses(settings, "models"),
        "extractor": _addresses(settings, "extractors"),
        "only": None if list(levels) == candidates.benchmark() else _joined(list(levels)),
        "size": settings["size"],
        "suite-name": settings["name"],
        **{key: _unless(settings, key, USUAL[key]) for key in ("images", "samples", "sampling", "tolerance", "seed")},
        "benchmarks": settings["benchmarks"],
        "spread": settings.get("spread"),
        "precision": settings["precision"],
        "out": out,
    }
    suites = [suite_word(settings[key]) for key in ("reference", "candidates")]
    return _again(["scuff", "design", "dissimilar", *suites], options)


def _addresses(settings: Mapping[str, Any], key: str) -> list[str]:
    """Where networks were opened from; those that were given as objects have only names."""
    known = settings.get("addresses", {}).get(key) or [None] * len(settings[key])
    return [address or model["name"] for address, model in zip(known, settings[key], strict=True)]


def suite_word(suite: Mapping[str, Any]) -> str:
    """A suite as commands take it: by its name, or as a file if it is none of ours."""
    name = suite["suite"]
    is_ours = name in list_suites() and load_suite(name).to_dict() == suite
    return name if is_ours else f"{name}.yaml"


def _shared(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The data, the networks, and what features are measured by."""
    extractor, seeds = settings["extractor"], len(settings.get("seeds", [0]))
    recipe = settings.get("recipe") or extractor.get("recipe")
    return {
        "data": settings["data"],
        "test": settings.get("test"),
        "extractor": None if "recipe" in extractor else settings.get("extractor_address") or extractor["name"],
        **({} if recipe is None else _recipe_options(recipe)),
        "seeds": seeds if seeds > 1 else None,
        "limit": settings.get("limit"),
        **{key: _unless(settings, key, USUAL[key]) for key in ("images", "samples", "seed")},
        "precision": settings["precision"],
    }


def _recipe_options(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe, and what of it was changed."""
    usual = RECIPES[recipe["name"]].settings() if recipe["name"] in RECIPES else recipe
    changed = {key: recipe[key] for key in ("architecture", "epochs") if recipe[key] != usual[key]}
    return {"recipe": recipe["name"], **changed}


def _chosen(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Which corruptions and severities of the suite, if not all."""
    suite, chosen = suite_from_dict(settings["suite"], "the settings"), settings["levels"]
    levels = {level for its in chosen.values() for level in its if level}
    all_levels = {level for entry in chosen for level in suite.levels(entry) if level}
    return {
        "only": None if list(chosen) == suite.benchmark() else _joined(list(chosen)),
        "severity": None if levels == all_levels else _joined(sorted(levels)),
    }


def _scheme_words(schemes: Sequence[str]) -> list[str]:
    """Schemes as commands take them; subsets as powerset-64 where they are these."""
    from scuff.augment.powerset import SUBSETS, powerset

    subsets = [scheme for scheme in schemes if is_subset(scheme)]
    if len(subsets) < 2 or set(subsets) != set(powerset(len(subsets))):
        return list(schemes)
    together = "powerset" if len(subsets) == SUBSETS else f"powerset-{len(subsets)}"
    return list(dict.fromkeys(together if is_subset(scheme) else scheme for scheme in schemes))


def _unless(settings: Mapping[str, Any], key: str, usual: Any) -> Any:
    return None if settings[key] == usual else settings[key]


def _joined(values: Sequence[Any]) -> str:
    return ",".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)


def _again(words: Sequence[str], options: Mapping[str, Any]) -> Again:
    """The command; what is None was left to itself, and what is a list is repeated."""
    given = [
        word
        for key, value in options.items()
        for each in (value if isinstance(value, list) else [value])
        if each is not None
        for word in (f"--{key}", str(each))
    ]
    networks = [options.get("extractor"), options.get("model")]
    named = [name for one in networks for name in (one if isinstance(one, list) else [one]) if name is not None]
    is_by_name = any(not {*".:/"} & {*name} for name in named)
    return Again(shlex.join([*words, *given]), (BY_NAME,) if is_by_name else ())
