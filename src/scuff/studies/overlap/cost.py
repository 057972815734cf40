"""What an overlap study will cost, before its models are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scuff.engine.cost import StudyCost
from scuff.studies.testing_cost import estimate_tests
from scuff.studies.training_cost import estimate_trainings

if TYPE_CHECKING:
    from scuff.studies.overlap.work import OverlapWork


def estimate_overlap(work: OverlapWork) -> StudyCost:
    """What is left of a study: trainings, each by its corruption, and tests. Nothing is written."""
    borrowed = {work.store.address(name) for name in work.borrowed}
    trainings = estimate_trainings([cell for cell in work.missing() if cell.out not in borrowed], work.store)
    models = [f"{cell.name}-seed{cell.seed}" for cell in work.cells]
    tests = estimate_tests(work.store, work.plan_tests, work.cells, models)
    return StudyCost(trainings.parts + tests.parts, tests.machine, trainings.warm_up + tests.warm_up)
