"""What measuring distances will cost: images per second through the extractor, for every corruption and scheme."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch

from scuff.engine.cost import NOW, CellCost, StudyCost, in_this_folder, is_here, kind_of, seconds_before, time_warm
from scuff.environment import environment
from scuff.studies.training_cost import estimate_trainings, try_recipe
from scuff.studies.transform_space.features import (
    Encoder,
    Transform,
    corruption_transform,
    draw_images,
    make_encoder,
    scheme_transform,
)
from scuff.studies.transform_space.plan import DistancePlan

TRIED = {"cpu": 16, "cuda": 2048}  # images of a batch


def estimate_distances(plan: DistancePlan) -> StudyCost:
    """What is left of a study: the training of the extractor, centres, schemes. Nothing is written."""
    device = plan.device
    training = StudyCost((), "") if plan.is_trained() else estimate_trainings([plan.training], plan.store)
    centres, schemes = plan.missing_centres(), plan.missing_schemes()
    before = {kind: seconds_before(plan.store, kind) for kind in ("centres", "scheme")}
    encoder = _open(plan) if is_here(device) and (centres or schemes) else None
    width = 0 if encoder is None else encoder.encode(lambda images, ids: images, _numbers(encoder, 1)).shape[1]
    cells = sum(map(len, plan.levels.values()))
    parts, rates, warm_up = [], {}, 0.0

    def rate(key: str, transform: Callable[[], Transform]) -> float:
        nonlocal warm_up
        if encoder is None:
            return math.nan
        if key not in rates:
            numbers = _numbers(encoder, max(1, encoder.batch // len(encoder.images)))
            made = transform()
            seconds, more = time_warm(lambda: encoder.encode(made, numbers), device)
            rates[key] = seconds / (len(numbers) * len(encoder.images))
            warm_up += more
        return rates[key]

    def add(kind: str, name: str, images: int, size: float, transform: Callable[[], Transform]) -> None:
        if before[kind] is not None:
            seconds, how = before[kind][0] / before[kind][1], in_this_folder(before[kind][1])
        else:
            seconds = images * rate(f"{kind} {name}", transform)
            how = NOW if encoder is not None else f"not measured: there is no {device.type} here"
        units = 1 if device.type == "cuda" else torch.get_num_threads()
        parts.append(CellCost(kind, 1, seconds, size, kind_of(device), how, name, units))

    header = 300  # bytes of an npz file and of each of its arrays
    for cell in centres:
        images = plan.images_per_centre * len(cell.levels)
        add(
            "centres",
            cell.entry,
            images,
            2 * header + 4 * width * len(cell.levels),
            lambda cell=cell: corruption_transform(plan.suite, cell.entry, cell.levels[0]),
        )
    for cell in schemes:
        images = plan.draws(cell.name) * plan.settings["images"]
        add(
            "scheme",
            cell.name,
            images,
            3 * header + 2 * 8 * cells,
            lambda cell=cell: scheme_transform(plan.schemes[cell.name]),
        )
    return StudyCost(training.parts + tuple(parts), environment(device)["device"], training.warm_up + warm_up)


def _numbers(encoder: Encoder, count: int) -> torch.Tensor:
    return torch.arange(count, device=encoder.images.device)


def _open(plan: DistancePlan) -> Encoder:
    """The extractor, or an untrained one in its place, and a few images."""
    settings, device = plan.settings, plan.device
    extractor = plan.extractor
    if not plan.is_trained():
        extractor = try_recipe(plan.training.source, plan.training.recipe, torch.device("cpu")).classifier()
    few = draw_images(plan.source, min(settings["images"], TRIED[device.type]), settings["seed"])
    is_compiled = device.type == "cuda"
    encoder = make_encoder(extractor, few, precision=settings["precision"], compile=is_compiled, device=device)
    return replace(encoder, batch=min(encoder.batch, max(TRIED[device.type], len(few))))
