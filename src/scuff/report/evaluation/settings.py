"""How the numbers of an evaluation came about: settings, models and machines, and the command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scuff.evaluation import CLEAN, Evaluation
from scuff.evaluation.options import EvaluationOptions
from scuff.options import suite_word
from scuff.report import parts, settings
from scuff.report.parts import Facts, Section
from scuff.studies.base import again
from scuff.tables import Column, Table
from scuff.words import grouped, listed

TARGETS = {"moved": "move with the pictures", "still": "stay where they were, as COCO-C was published"}
AS_PUBLISHED = "yes, of quality 85, as the published ImageNet-C"


def settings_section(evaluation: Evaluation, definitions: Mapping[str, str], directory: str) -> Section:
    """How the numbers came about, and how to read them."""
    facts = [dict(model_facts(about)) for about in evaluation.models.values()]
    names = list(dict.fromkeys(name for each in facts for name in each))
    shared = [name for name in names if len({each.get(name) for each in facts}) == 1]
    columns = [Column(name, lambda each, name=name: each.get(name)) for name in names if name not in shared]  # type: ignore[misc]
    models = Table.of("What differs between the models", facts, columns)
    return settings.settings_section(
        [*setting_facts(evaluation), *((name, facts[0][name]) for name in shared)],
        command(evaluation, directory),
        definitions | ({} if "task" in evaluation.settings else settings.meanings("intervals of images")),  # type: ignore[operator]
        *([parts.heading("Models"), parts.table(models, sortable=False)] if columns else []),
    )


def setting_facts(evaluation: Evaluation) -> Facts:
    """What all models share, by name."""
    settings, suite = evaluation.settings, evaluation.suite
    unreadable = settings.get("unreadable", {})
    facts = [
        ("Suite", f"{suite.name}, version {suite.version}, made for images of {suite.size} pixels"),
        ("Reference", suite.reference),
        ("Source", settings["source"]),
        ("Clean counterpart", settings["clean"] or ""),
        ("Classes of", settings["classes"] or ""),
        ("Fingerprint of the source", settings["source_fingerprint"]),
        ("Equal to the lock", settings.get("lock") or ""),
        ("Images", grouped(settings["images"]) + (", evenly spread over the source" if settings["limit"] else "")),
        ("Left out, because they cannot be read", "; ".join(f"{n} ({why})" for n, why in sorted(unreadable.items()))),
        ("Task", settings.get("task", "")),
        ("Boxes and masks", TARGETS.get(settings.get("targets", ""), "")),
        ("Seed", str(settings["seed"])),
        ("Pictures are cut", _cut_words(settings["cut"])),
        ("Sent through a JPEG", "no" if not settings["as_published"] else AS_PUBLISHED),
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
    published, precision = settings["published"], settings["precision"]
    options = {
        **{name: settings[name] for name in ("clean", "classes", "limit", "as_published")},
        **{name: settings.get(name) for name in ("task", "targets")},
        "models": [_model_word(about) for about in evaluation.models.values()],
        "suite": suite_word(suite) if suite.entries and not published else None,
        "data": settings["source"],
        "skip_unreadable": "unreadable" in settings,
        "lock": settings.get("lock_file"),
        "seed": settings["seed"] or None,
        "precision": None if precision == "float32" else precision,
        **_cut_options(settings["clean_cut" if published else "cut"]),
        **_chosen(evaluation),
    }
    return again(EvaluationOptions, options, out).words


def _cut_options(cut: dict[str, Any] | None) -> dict[str, Any]:
    """What was asked for, or would have been: another filter, or squeezing, can only be a model's own wish."""
    if cut is None or cut["filter"] != "bilinear" or not cut.get("keeps_ratio", True):
        return {}
    return {"resize": cut["resize"], "crop": cut["crop"]}


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


def _model_word(about: dict[str, Any]) -> str:
    """The model as the command takes it, with its name where that does not follow from the address."""
    name, address = about["name"], about.get("address") or about["name"]
    return address if address.rpartition(":")[2] == name else f"{name}={address}"


def _chosen(evaluation: Evaluation) -> dict[str, Any]:
    """The options that choose corruptions and severities, where not all of the benchmark's were evaluated."""
    suite = evaluation.suite
    cells = evaluation.rows[["corruption", "severity"]].drop_duplicates()
    cells = cells[cells["corruption"] != CLEAN]
    entries = [entry for entry in suite.entries if entry in set(cells["corruption"])]
    levels = sorted(level for level in set(cells["severity"].tolist()) if level)
    all_levels = sorted({level for entry in entries for level in suite.levels(entry) if level})
    return {
        "only": None if entries == suite.benchmark() else entries,
        "severities": None if levels == all_levels else levels,
    }


def suite_words(evaluation: Evaluation) -> str:
    """The sentence under the title: which models, which images, which suite."""
    settings, suite = evaluation.settings, evaluation.suite
    about = f"{listed(list(evaluation.models))} on {grouped(settings['images'])} images of {settings['source']}, "
    if "unreadable" in settings:
        about += f"without {len(settings['unreadable'])} that could not be read, "
    if not suite.entries:
        return f"{about}as they are."
    how = "as published" if settings["published"] else f"seed {settings['seed']}"
    return f"{about}corrupted by {suite.name} version {suite.version}, {how}."
