"""How fast several processes train one network, against one process, on the devices of this machine.

    python benchmarks/train_distributed.py [PROCESSES]

On GPUs: ResNet-50 on made-up pictures of 224 pixels, a batch of 256 for all processes together, one process per GPU. On
a CPU: the recipe `fashion` on 3000 of its images, and two processes. Prints images per second after the first block of
batches, all in one run; only ratios within one run count. Batches have one size, whatever the number of processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace

import torch

from scuff.pictures import Cut
from scuff.training import Recipe, find_recipe
from scuff.training.distributed import Part, Team, joined
from scuff.training.fit import BLOCK, begin, fit
from scuff.training.images import TrainingImages, load_training_images, normalisation_of, open_training_source
from scuff.training.run import first_weights

COUNT = 8192  # pictures of 224 pixels: 1.2 GB
MEMBER = "--member"


def main() -> None:
    if MEMBER in sys.argv:
        train_as_member()
        return
    gpus = torch.cuda.device_count()
    most = int(sys.argv[1]) if len(sys.argv) > 1 else gpus or 2
    print(f"{torch.cuda.get_device_name() if gpus else 'CPU'}, torch {torch.__version__}, {recipe_here().architecture}")
    for processes in dict.fromkeys((1, most)):
        launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
        threads = str(max(1, torch.get_num_threads() // processes))
        subprocess.run([*launcher, __file__, MEMBER], env={**os.environ, "OMP_NUM_THREADS": threads}, check=True)


def recipe_here() -> Recipe:
    """What is trained on this machine."""
    if torch.cuda.is_available():
        return replace(find_recipe("imagenet-100"), architecture="resnet50", epochs=4)
    return replace(find_recipe("fashion"), epochs=4)


def train_as_member() -> None:
    """Train as one of the processes; the first tells the speed."""
    recipe, ends = recipe_here(), []
    with joined(None) as (team, device):
        images = make_pictures(team, device) if device.type == "cuda" else load_fashion(recipe, team, device)
        # Half an epoch at a time, so that there is enough to measure however many processes share it.
        BLOCK[device.type] = images.pixels.numel() // 2
        training = begin(first_weights(recipe, images, None, 0), recipe, device)

        def note(_: object) -> None:
            if device.type == "cuda":
                torch.cuda.synchronize()
            ends.append((training.step, time.perf_counter()))

        look = normalisation_of(images, recipe, device)
        fit(training, images.pixels, images.labels, recipe, normalisation=look, after_block=note, part=images.part)
        if team.is_first:
            (first, began), (last, ended) = ends[0], ends[-1]
            print(f"{team.size} processes: {(last - first) * recipe.batch_size / (ended - began):.0f} images/s")


def make_pictures(team: Team, device: torch.device) -> TrainingImages:
    part = Part(team, COUNT)
    draw = torch.Generator(device).manual_seed(team.rank)
    shape = (len(part.places()), 3, 224, 224)
    pixels = torch.randint(0, 256, shape, generator=draw, dtype=torch.uint8, device=device)
    labels = torch.randint(0, 100, shape[:1], generator=draw, device=device)
    names = tuple(map(str, range(100)))
    return TrainingImages(pixels, labels, (0.5,) * 3, (0.25,) * 3, names, "made up", Cut(224, 224), part)


def load_fashion(recipe: Recipe, team: Team, device: torch.device) -> TrainingImages:
    return load_training_images(open_training_source("fashion").take(range(3000)), recipe, device, team)


if __name__ == "__main__":
    main()
