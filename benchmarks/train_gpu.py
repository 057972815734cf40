"""How fast a GPU trains: the recipe `cifar-fast` on made-up images, against the same loop without what makes it fast.

    python benchmarks/train_gpu.py

Prints images per second of an epoch after the first, all in one run; only ratios within one run count. How fast images
are trained on does not depend on what they show.
"""

from __future__ import annotations

import time
from dataclasses import replace
from unittest import mock

import torch

from scuff.pictures import Cut
from scuff.training import Recipe, find_recipe, step
from scuff.training.fit import begin, blocks, fit
from scuff.training.images import TrainingImages, normalisation_of
from scuff.training.run import first_weights
from scuff.training.treatment import choose_treatment

DEVICE = torch.device("cuda")
COUNT = 50_000
CORRUPTIONS = ("noc-candidates/rain", "noc-candidates/thumbnail_resize", "cifar10-c/zoom_blur", "cifar10-c/fog")


def main() -> None:
    images = make_images()
    recipe = replace(find_recipe("cifar-fast"), epochs=4)
    plain = mock.patch.object(step, "_Recorded", lambda one, state: one)
    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, batch {recipe.batch_size}, {recipe.architecture}"
    )
    fastest = show("cifar-fast: compiled, recorded", images, recipe)
    show("with SGD instead of Muon", images, replace(recipe, optimiser="sgd"), fastest)
    with plain:
        show("compiled, not recorded", images, recipe, fastest)
    show("recorded, not compiled", images, replace(recipe, compile=False), fastest)
    with plain:
        show("neither", images, replace(recipe, compile=False), fastest)
    for address in CORRUPTIONS:
        show(f"cifar-fast, half corrupted by {address}", images, recipe, fastest, address)
        print(f"    making an epoch of it: {1000 * seconds_of_blocks(images, recipe, address):.0f} ms")


def make_images() -> TrainingImages:
    draw = torch.Generator(DEVICE).manual_seed(0)
    pixels = torch.randint(0, 256, (COUNT, 3, 32, 32), generator=draw, dtype=torch.uint8, device=DEVICE)
    labels = torch.randint(0, 10, (COUNT,), generator=draw, device=DEVICE)
    return TrainingImages(pixels, labels, (0.5,) * 3, (0.25,) * 3, tuple("abcdefghij"), "made up", Cut(32, 32))


def show(
    what: str, images: TrainingImages, recipe: Recipe, fastest: float | None = None, address: str | None = None
) -> float:
    """Train, print the speed of the epochs after the first, and return it."""
    training = begin(first_weights(recipe, images, None, 0), recipe, DEVICE)
    ends = []

    def note(_: object) -> None:
        torch.cuda.synchronize()
        ends.append(time.perf_counter())

    fit(
        training,
        images.pixels,
        images.labels,
        recipe,
        normalisation=normalisation_of(images, recipe, DEVICE),
        treatment=choose_treatment(address),
        after_block=note,
    )
    per_epoch = COUNT // recipe.batch_size * recipe.batch_size
    speed = per_epoch * (len(ends) - 1) / (ends[-1] - ends[0])
    print(f"{what}: {speed:.0f} images/s" + ("" if fastest is None else f", {speed / fastest:.2f} of the first"))
    return speed


def seconds_of_blocks(images: TrainingImages, recipe: Recipe, address: str) -> float:
    """How long shuffling, mirroring, shifting and corrupting an epoch takes."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in blocks(images.pixels, recipe, 1, 0, DEVICE, choose_treatment(address)):
        pass
    torch.cuda.synchronize()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
