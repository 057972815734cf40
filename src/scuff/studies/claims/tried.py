"""What claims are tried on: a model and images, or the rows of a finished evaluation; and groups of images."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import torch

from scuff.door import resolve_still
from scuff.evaluation import plan_evaluation, read_evaluation
from scuff.evaluation.plan import CLEAN
from scuff.evaluation.results import is_evaluation, read_model
from scuff.evaluation.runner import Runner
from scuff.metrics.claims.file import Claim, Claims, Key
from scuff.metrics.evaluation.references import load_reference
from scuff.models.open import default_name
from scuff.store import Store
from scuff.studies.claims.answers import Answers
from scuff.studies.claims.study import ClaimsStudy
from scuff.suites import Suite
from scuff.words import count

ABOUT = ("images", "class_names", "size", "classes", "source_fingerprint", "cut")


def open_model_and_images(
    study: ClaimsStudy, claims: Claims, device: torch.device
) -> tuple[dict[str, Any], Answers, np.ndarray]:
    """A model that is asked, and the images."""
    models = {"model": study.model}
    baseline = claims.baseline if any(claim.is_paired for claim in claims.claims) else None
    is_folder = baseline is not None and is_evaluation(baseline)
    if baseline is not None and not is_folder:
        if ":" not in baseline and not os.path.isfile(os.path.expanduser(baseline)):
            raise ValueError(f"the baseline {baseline} is neither the folder of an evaluation nor a model")
        models["baseline"] = baseline
    options = {name: getattr(study, name) for name in ("limit", "skip_unreadable", "resize", "crop", "seed", "mean")}
    plan = plan_evaluation(
        models,
        claims.suite,
        study.data,
        Store(study.out).child("answers").root,
        **options,
        std=study.std,
        precision=study.precision,
        progress=study.progress,
    )
    if plan.is_sequence:
        raise ValueError("claims speak of single corruptions, not of sequences")
    runner = Runner(plan, device, study.batch_size)
    answers = Answers(plan.images.example().ids, plan, runner, {who: who for who in models})
    if plan.images.are_corrupted:
        _refuse_dials(claims.claims, "published images have none; give clean ones")
        have = {Key(cell.entry, cell.severity or 0) for cell in plan.cells}
        _check_cells(have, _needed(claims), "published images")
    for key in {key for claim in claims.claims for key in claim.cells if key.dial is not None}:
        resolve_still(key.entry, key.dial, suite=claims.suite, draws="shared")
    if is_folder:
        _refuse_dials(
            [claim for claim in claims.claims if claim.is_paired], "the baseline's rows have none; give a model"
        )
        _read_baseline(claims, answers, plan.settings, claims.suite)
    about = {key: plan.settings[key] for key in ABOUT}
    is_address = isinstance(study.model, str)
    about["model_name"] = default_name(study.model) if is_address else getattr(study.model, "name", "model")
    about["fingerprints"] = plan.fingerprints
    return about, answers, plan.images.example().labels


def open_rows(study: ClaimsStudy, claims: Claims) -> tuple[dict[str, Any], Answers, np.ndarray]:
    """The rows of a finished evaluation."""
    evaluation = read_evaluation(study.rows)  # type: ignore[arg-type]
    rows = _rows_of(evaluation.rows, study.of_model, f"{study.rows}", "--of")
    if str(rows["suite"].iloc[-1]) != claims.suite.name:
        raise ValueError(f"the claims speak of {claims.suite.name}, and the rows are of {rows['suite'].iloc[-1]}")
    _refuse_dials(claims.claims, "the rows of an evaluation have none; give a model")
    _check_cells(_cells_in(rows), _needed(claims), "rows")
    first = rows.drop_duplicates("image_id")
    answers = Answers(first["image_id"].to_numpy())
    answers.read("model", rows)
    settings = evaluation.settings
    if any(claim.is_paired for claim in claims.claims):
        _read_baseline(claims, answers, settings, evaluation.suite)
    about = {key: settings.get(key) for key in ABOUT}
    about |= {"model_name": str(rows["model"].iloc[0]), "rows": str(study.rows)}
    return about, answers, first["label"].to_numpy()


def _refuse_dials(claims: Iterable[Claim], what: str) -> None:
    """Survival and severities between levels have to be tried: nobody has kept them."""
    for claim in claims:
        if any(key.dial is not None for key in claim.cells):
            raise ValueError(f"claim {claim.name} needs severities between levels, and {what}")


def _read_baseline(claims: Claims, answers: Answers, settings: dict[str, Any], suite: Suite) -> None:
    """The rows of the baseline, which must be of the same corrupted images."""
    place = claims.baseline
    assert place is not None
    evaluation, rows = read_model(place)
    keys = ("source_fingerprint", "seed", "cut", "as_published")
    differing = [key.replace("_", " ") for key in keys if evaluation.settings[key] != settings[key]]
    if (evaluation.suite.version, evaluation.suite.fingerprint()) != (suite.version, suite.fingerprint()):
        differing.append("suite")
    if differing:
        raise ValueError(
            f"the baseline in {place} was evaluated with another {differing[0]}; pairs need the same images"
        )
    needed = {key for claim in claims.claims if claim.is_paired for key in claim.cells}
    _check_cells(_cells_in(rows), needed, "baseline's rows")
    answers.read("baseline", rows)


def _needed(claims: Claims) -> set[Key]:
    needed = {key for claim in claims.claims for key in claim.cells}
    if any(claim.metric in ("robustness_score", "drop") for claim in claims.claims):
        needed.add(Key(CLEAN))
    return needed


def _cells_in(rows: pd.DataFrame) -> set[Key]:
    pairs = set(zip(rows["corruption"], rows["severity"], strict=True))
    return {Key(str(entry), int(level)) for entry, level in pairs}


def _check_cells(have: set[Key], needed: set[Key], what: str) -> None:
    missing = sorted(needed - have)
    if missing:
        raise ValueError(
            f"the {what} lack {count(len(missing), 'cell')} that the claims need, the first is {missing[0]}"
        )


def _rows_of(rows: pd.DataFrame, model: str | None, where: str, how: str) -> pd.DataFrame:
    models = sorted(set(rows["model"].astype(str)))
    if model is None and len(models) > 1:
        raise ValueError(f"{where} holds the models {', '.join(models)}; choose one with {how}")
    if model is not None and model not in models:
        raise ValueError(f"{where} has no model {model}; it has {', '.join(models)}")
    return rows[rows["model"].astype(str) == (model or models[0])]


def check_reference(claims: Claims, about: dict[str, Any]) -> None:
    """mCE is relative to AlexNet's errors, which were measured on ImageNet."""
    if not any(claim.metric == "mce" for claim in claims.claims):
        return
    reference = load_reference("alexnet", claims.suite.name)
    why = reference and reference.misfit(len(about["class_names"]), about["size"])
    if why or about["classes"]:
        raise ValueError(
            f"mce is relative to AlexNet, whose errors were {why or 'measured on all classes'}; claim a mean_error"
        )


def find_groups(
    claim: Claim, about: dict[str, Any], labels: np.ndarray, ids: np.ndarray
) -> dict[str, np.ndarray] | None:
    """Places of images by group; None where a claim is about all of them."""
    if claim.by is None:
        return None
    if claim.by == "class":
        names = about["class_names"]
        groups = {str(names[label]): np.flatnonzero(labels == label) for label in np.unique(labels)}
    else:
        assert not isinstance(claim.by, str)
        groups = _groups_of(claim.by["table"], claim.by["column"], ids)
    if max(map(len, groups.values())) < claim.least_images:
        raise ValueError(f"claim {claim.name}: no group has {claim.least_images} images")
    return groups


def _groups_of(file: str, column: str, ids: np.ndarray) -> dict[str, np.ndarray]:
    """Places of images by a column of a table."""
    table = pd.read_csv(file)
    if not {"image_id", column} <= set(table.columns):
        raise ValueError(f"{file} needs the columns image_id and {column}; it has {', '.join(table.columns)}")
    group_of = table.drop_duplicates("image_id").set_index("image_id")[column].reindex(ids)
    if group_of.isna().any():
        raise ValueError(f"{file} says nothing of {int(group_of.isna().sum())} of {len(ids)} images")
    return {str(name): np.flatnonzero((group_of == name).to_numpy()) for name in sorted(group_of.unique())}
