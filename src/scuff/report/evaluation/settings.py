"""How the numbers of a report came about: settings, models and machines, the command, and what each score means."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from scuff.evaluation import CLEAN, Evaluation
from scuff.report.parts import Facts
from scuff.report.words import entry_name, grouped, listed
from scuff.suites import list_suites, load_suite


def setting_facts(evaluation: Evaluation) -> Facts:
    """What all models share, by name."""
    settings, suite = evaluation.settings, evaluation.suite
    facts = [
        ("Suite", f"{suite.name}, version {suite.version}, made for images of {suite.size} pixels"),
        ("Reference", suite.reference),
        ("Source", settings["source"]),
        ("Clean counterpart", settings["clean"] or ""),
        ("Classes of", settings["classes"] or ""),
        ("Fingerprint of the source", settings["source_fingerprint"]),
        ("Images", grouped(settings["images"]) + (", evenly spread over the source" if settings["limit"] else "")),
        ("Seed", str(settings["seed"])),
        ("Pictures are cut", _cut_words(settings["cut"])),
        (
            "Sent through a JPEG",
            "yes, of quality 85, as the published ImageNet-C" if settings["as_published"] else "no",
        ),
        ("Precision", settings["precision"]),
    ]
    return [(name, value) for name, value in facts if value]


def model_facts(about: dict[str, Any]) -> Facts:
    """What is known of a model, and where it ran."""
    parameters, side = about.get("parameters"), about.get("input_size")
    facts = [
        ("Name", about["name"]),
        ("Address", about.get("address") or ""),
        ("Fingerprint", about.get("fingerprint") or ""),
        ("Parameters", "" if parameters is None else grouped(parameters)),
        ("Input size", "" if side is None else f"{side} pixels"),
        ("Mean and deviation", _normalisation(about.get("mean"), about.get("std"))),
        *((name.capitalize() if name != "scuff" else name, value) for name, value in about["environment"].items()),
    ]
    return [(name, str(value)) for name, value in facts if value]


def command(evaluation: Evaluation, out: str) -> str:
    """The command line that computes the same rows."""
    settings, suite = evaluation.settings, evaluation.suite
    words = ["scuff", "evaluate", *(_model_word(about) for about in evaluation.models.values())]
    published = settings["published"]
    if not published and suite.entries:
        words += ["--suite", suite.name if _is_bundled(evaluation) else f"{suite.name}.yaml"]
    words += ["--data", settings["source"], "--out", out]
    options = {
        "--clean": settings["clean"],
        "--classes": settings["classes"],
        "--limit": settings["limit"],
        "--seed": settings["seed"] or None,
        "--precision": None if settings["precision"] == "float32" else settings["precision"],
        **_cut_options(settings["clean_cut" if published else "cut"]),
        **_chosen(evaluation),
    }
    words += [word for option, value in options.items() if value is not None for word in (option, str(value))]
    return shlex.join([*words, "--as-published"] if settings["as_published"] else words)


def all_facts(settings: Mapping[str, Any]) -> Facts:
    """Settings of any kind by name, those inside of others too; what is not set is left out.

    >>> all_facts({"seeds": [0, 1], "recipe": {"name": "cifar-fast", "weight_decay": 0.0005, "cutout": None}})
    [('Seeds', '0; 1'), ('Recipe, name', 'cifar-fast'), ('Recipe, weight decay', '0.0005')]
    """
    facts = [fact for name, value in settings.items() for fact in _flat(name, value)]
    return [(entry_name(name[:1].upper() + name[1:]), text) for name, text in facts if text]


def _flat(name: str, value: Any) -> Facts:
    """One fact, or those inside of a mapping; a suite is named by what identifies it."""
    if isinstance(value, dict) and "entries" in value:
        return [(name, f"{value['suite']}, version {value['version']}")]
    if isinstance(value, dict):
        return [fact for inner, more in value.items() for fact in _flat(f"{name}, {inner}", more)]
    if isinstance(value, list):
        return [(name, "; ".join(text for each in value for _, text in _flat(name, each)))]
    if isinstance(value, bool):
        return [(name, "yes" if value else "no")]
    return [(name, "" if value is None else str(value))]


def _cut_options(cut: dict[str, Any] | None) -> dict[str, Any]:
    """What was asked for, or would have been: another filter, or squeezing, can only be a model's own wish."""
    if cut is None or cut["filter"] != "bilinear" or not cut.get("keeps_ratio", True):
        return {}
    return {"--resize": cut["resize"], "--crop": cut["crop"]}


def _cut_words(cut: dict[str, Any] | None) -> str:
    if cut is None:
        return "no"
    sides = "shorter side" if cut.get("keeps_ratio", True) else "both sides"
    steps = [f"{sides} to {cut['resize']} ({cut['filter']})" if cut["resize"] else ""]
    steps.append(f"middle {cut['crop']} x {cut['crop']}" if cut["crop"] else "")
    return ", then ".join(filter(None, steps)) or "no"


def _normalisation(mean: list[float] | None, std: list[float] | None) -> str:
    if mean is None or std is None:
        return ""
    numbers = [", ".join(f"{value:g}" for value in values) for values in (mean, std)]
    return f"({numbers[0]}) and ({numbers[1]})"


def _is_bundled(evaluation: Evaluation) -> bool:
    name = evaluation.suite.name
    return name in list_suites() and load_suite(name).to_dict() == evaluation.suite.to_dict()


def _model_word(about: dict[str, Any]) -> str:
    """The model as the command takes it, with its name where that does not follow from the address."""
    name, address = about["name"], about.get("address") or about["name"]
    return address if address.rpartition(":")[2] == name else f"{name}={address}"


def _chosen(evaluation: Evaluation) -> dict[str, str | None]:
    """The options that choose corruptions and severities, where not all of the benchmark's were evaluated."""
    suite = evaluation.suite
    cells = evaluation.rows[["corruption", "severity"]].drop_duplicates()
    cells = cells[cells["corruption"] != CLEAN]
    entries = [entry for entry in suite.entries if entry in set(cells["corruption"])]
    levels = sorted(level for level in set(cells["severity"].tolist()) if level)
    all_levels = sorted({level for entry in entries for level in suite.levels(entry) if level})
    return {
        "--only": None if entries == suite.benchmark() else ",".join(entries),
        "--severity": None if levels == all_levels else ",".join(map(str, levels)),
    }


def suite_words(evaluation: Evaluation) -> str:
    """The sentence under the title: which models, which images, which suite."""
    settings, suite = evaluation.settings, evaluation.suite
    about = f"{listed(list(evaluation.models))} on {grouped(settings['images'])} images of {settings['source']}, "
    if not suite.entries:
        return f"{about}as they are."
    how = "as published" if settings["published"] else f"seed {settings['seed']}"
    return f"{about}corrupted by {suite.name} version {suite.version}, {how}."
