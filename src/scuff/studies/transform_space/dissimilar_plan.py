"""Plan the search for a dissimilar benchmark: suites, networks and images, checked before anything is computed."""

from __future__ import annotations

import json
from dataclasses import replace

from scuff.design.transform_space.dissimilar import check_count, check_wanted
from scuff.design.transform_space.groups import LEAST_REFERENCE_LEVELS, LEVELS, ROLES
from scuff.design.transform_space.result import Dissimilar
from scuff.evaluation import plan_evaluation
from scuff.evaluation.choices import open_models
from scuff.models import Classifier
from scuff.store import Store
from scuff.studies.base import Plan, check_folder, complete_settings, open_engine_of
from scuff.studies.sources import open_test_source
from scuff.studies.transform_space.dissimilar import DissimilarWork
from scuff.studies.transform_space.features import open_extractor
from scuff.studies.transform_space.plan import choose_precision, open_images, open_suite
from scuff.studies.transform_space.study import DissimilarStudy
from scuff.suites import Levels, Suite


def plan_dissimilar(study: DissimilarStudy) -> Plan[Dissimilar]:
    """Open suites, networks and images, and find out which tests and centres are missing."""
    check_wanted(study.size, study.tolerance, study.benchmarks, study.spread, study.seed)
    engine, device = open_engine_of(study)
    store, precision = Store(study.out), choose_precision(study, device)
    suites = dict(zip(ROLES, map(open_suite, (study.reference, study.candidates)), strict=True))
    chosen = {"reference": suites["reference"].choose(), "candidate": suites["candidate"].choose(study.only)}
    _check_levels(suites, chosen, study.spread)
    replace(suites["candidate"], name=study.suite_name)  # refuses what no suite may be called
    check_count(len(chosen["candidate"]), study.size)
    train = open_images(study)
    test = open_test_source(study.data, study.test, None)
    classifiers, extractors = open_models(study.models), open_models(study.extractors)
    for extractor in extractors.values():
        open_extractor(extractor, train)
    evaluations = {
        role: plan_evaluation(
            classifiers,
            suites[role],
            test,
            store.child(f"evaluation-{role}").root,
            only=list(chosen[role]),
            seed=study.seed,
            limit=study.limit,
            precision=precision,
        )
        for role in ROLES
    }
    for role, plan in evaluations.items():
        if plan.is_sequence:
            raise ValueError(f"the {role} {suites[role].name} holds sequences of frames; expected single corruptions")
    networks = {"models": classifiers, "extractors": extractors}
    settings = {
        "reference": suites["reference"].to_dict(),
        "candidates": suites["candidate"].to_dict(),
        "levels": {role: {entry: list(levels) for entry, levels in chosen[role].items()} for role in ROLES},
        "data": study.data if isinstance(study.data, str) else train.name,
        "data_fingerprint": train.fingerprint(),
        "test": study.test if study.test is None or isinstance(study.test, str) else test.name,
        "test_fingerprint": evaluations["reference"].settings["source_fingerprint"],
        "test_images": evaluations["reference"].settings["images"],
        **{
            key: [{"name": n, "fingerprint": m.fingerprint()} for n, m in each.items()]
            for key, each in networks.items()
        },
        "addresses": {key: [model.address for model in each.values()] for key, each in networks.items()},
        **{key: getattr(study, key) for key in ("images", "samples", "sampling", "size", "tolerance", "benchmarks")},
        "spread": study.spread,
        "name": study.suite_name,
        "seed": study.seed,
        "precision": precision,
    }
    settings = json.loads(json.dumps(complete_settings(study, settings, device)))
    check_folder(study, store, settings)
    work = DissimilarWork(store, settings, evaluations, _pair(classifiers, extractors), train, device)
    return Plan(study, settings, work, store, engine)


def _check_levels(suites: dict[str, Suite], chosen: dict[str, dict[str, Levels]], spread: float | None) -> None:
    """Refuse corruptions with too few severities."""
    needs = {"reference": LEAST_REFERENCE_LEVELS if spread is None else 0, "candidate": LEVELS}
    remedies = {
        "reference": "Say with spread (or --spread) by how much errors should differ",
        "candidate": "Leave them out",
    }
    for role, least in needs.items():
        few = [entry for entry, levels in chosen[role].items() if sum(level is not None for level in levels) < least]
        if few:
            raise ValueError(
                f"every {role} needs at least {least} severities; in {suites[role].name} these have fewer or none: "
                f"{', '.join(few)}. {remedies[role]}, or give them lists of values in a suite of your own"
            )


def _pair(classifiers: dict[str, Classifier], extractors: dict[str, Classifier]) -> list[tuple[str, Classifier]]:
    """The repetitions: classifiers and extractors two by two, or all of one kind with the only one of the other."""
    names, networks = list(classifiers), list(extractors.values())
    if len(names) != len(networks) and 1 not in (len(names), len(networks)):
        raise ValueError(
            f"every repetition has a model and an extractor: give as many of both, or one for all; got {len(names)} "
            f"models and {len(networks)} extractors"
        )
    count = max(len(names), len(networks))
    return [(names[number % len(names)], networks[number % len(networks)]) for number in range(count)]
