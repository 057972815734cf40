"""What an overlap study will cost, before its models are there: untrained networks are as fast as trained ones."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import torch

from scuff.engine.cost import NOW, StudyCost, in_this_folder, is_here, seconds_before
from scuff.environment import environment
from scuff.evaluation import plan_evaluation
from scuff.evaluation.cost import measure_rates, rows_size, task_cost
from scuff.evaluation.plan import Cell, Plan
from scuff.evaluation.tasks import MODELS
from scuff.studies.training_cost import estimate_trainings, try_recipe

if TYPE_CHECKING:
    from scuff.studies.overlap.work import OverlapWork

STAND_IN = "untrained"


def estimate_overlap(work: OverlapWork) -> StudyCost:
    """What is left of a study: trainings, each by its corruption, and tests. Nothing is written."""
    borrowed = {work.store.address(name) for name in work.borrowed}
    trainings = estimate_trainings([cell for cell in work.missing() if cell.out not in borrowed], work.store)
    tests = _estimate_tests(work)
    return StudyCost(trainings.parts + tests.parts, tests.machine, trainings.warm_up + tests.warm_up)


def _estimate_tests(work: OverlapWork) -> StudyCost:
    """All models, of which some may not be there, on all that they still lack."""
    device, machine = work.device, environment(work.device)["device"]
    evaluation = _stand_in(work)
    rows = evaluation.store.names("rows", ".parquet")
    there = Counter(name.rpartition("/")[2].rpartition("-")[0] for name in rows)
    lacking = {cell: len(work.cells) - there[_stem(cell)] for cell in evaluation.cells}
    lacking = {cell: count for cell, count in lacking.items() if count > 0}
    if not lacking:
        return StudyCost((), machine)
    before, rates, how = seconds_before(work.store, "test"), None, NOW
    if before is not None and rows:
        how = in_this_folder(before[1])
    else:
        rates = measure_rates(evaluation, device, list(lacking), compile=work.settings["recipe"]["compile"])
        how = how if is_here(device) else f"not measured: there is no {device.type} here"
    images, size, parts = evaluation.settings["images"], rows_size(evaluation, evaluation.cells[0]), []
    for cell, count in lacking.items():
        for first in range(0, count, MODELS):
            models = min(MODELS, count - first)
            if rates is None:
                seconds = models * before[0] / len(rows)
            else:
                seconds = images * rates.task(cell.entry, [STAND_IN] * models)
            parts.append(task_cost(seconds, models * size, device, how, cell.entry))
    return StudyCost(tuple(parts), machine, 0.0 if rates is None else rates.warm_up)


def _stand_in(work: OverlapWork) -> Plan:
    """The plan of testing one untrained network."""
    first = work.cells[0]
    trial = try_recipe(first.source, first.recipe, torch.device("cpu"))
    return plan_evaluation(
        {STAND_IN: trial.classifier()},
        work.suite,
        work.test,
        work.store.child("evaluation").root,
        limit=work.settings["limit"],
        precision=work.settings["precision"],
    )


def _stem(cell: Cell) -> str:
    return cell.entry if cell.severity is None else f"{cell.entry}-{cell.severity}"
