"""What tests of networks cost before they are trained: untrained networks are as fast as trained ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from scuff.engine.cost import NOW, StudyCost, in_this_folder, is_here, seconds_before
from scuff.environment import environment
from scuff.evaluation.cost import measure_rates, rows_size, task_cost
from scuff.evaluation.plan import Plan
from scuff.evaluation.tasks import MODELS
from scuff.store import Store
from scuff.studies.cells import TrainingCell
from scuff.studies.training_cost import try_recipe

STAND_IN = "untrained"


def estimate_tests(
    store: Store,
    plan_tests: Callable[[Mapping[str, Any]], Plan],
    cells: Sequence[TrainingCell],
    models: Sequence[str],
) -> StudyCost:
    """The tests that models still lack; `models` are the names of the networks of all training cells.

    `plan_tests` plans the evaluation of models; here it is given one untrained network. Nothing is written.
    """
    first = cells[0]
    device = torch.device(first.device)
    machine = environment(device)["device"]
    evaluation = plan_tests({STAND_IN: try_recipe(first.source, first.recipe, torch.device("cpu")).classifier()})
    rows = [name.split("/") for name in evaluation.store.names("rows", ".parquet")]
    tested = Counter(file.rpartition("-")[0] for _, model, file in rows if model in set(models))
    stems = {c: c.entry if c.severity is None else f"{c.entry}-{c.severity}" for c in evaluation.cells}
    lacking = {cell: len(models) - tested[stem] for cell, stem in stems.items() if tested[stem] < len(models)}
    if not lacking:
        return StudyCost((), machine)
    before, rates, how = seconds_before(store, "test"), None, NOW
    if before is not None and rows:
        how = in_this_folder(before[1])
    else:
        rates = measure_rates(evaluation, device, list(lacking), compile=first.recipe.compile)
        how = how if is_here(device) else f"not measured: there is no {device.type} here"
    images, size, parts = evaluation.settings["images"], rows_size(evaluation, evaluation.cells[0]), []
    for cell, count in lacking.items():
        for start in range(0, count, MODELS):
            together = min(MODELS, count - start)
            if rates is None:
                seconds = together * before[0] / len(rows)
            else:
                seconds = images * rates.task(cell.entry, [STAND_IN] * together)
            parts.append(task_cost(seconds, together * size, device, how, cell.entry))
    return StudyCost(tuple(parts), machine, 0.0 if rates is None else rates.warm_up)
