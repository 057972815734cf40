"""A program that torchrun starts twice: two processes train networks together, and leave files for the tests."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import safetensors.torch
import torch
from made_images import bars
from torch import nn

from scuff.training import Recipe, train
from scuff.training import fit as fit_module
from scuff.training import run as run_module
from scuff.training.distributed import Part, joined, leave
from scuff.training.fit import begin, fit
from scuff.training.images import load_training_images, normalisation_of
from scuff.training.resume import partial_file

CPU = torch.device("cpu")
COUNT = 75  # an odd number, so that the processes have different numbers of images: 38 and 37
QUICK = Recipe("quick", "small_cnn", epochs=2, batch_size=16, learning_rate=0.05, optimiser="muon", flip=True, crop=1)
OPTIMISERS = ("sgd", "muon")
TREATMENTS = {
    "corruption": {"corruption": ["cifar10-c/fog", "cifar10-c/contrast"]},
    "noise": {"noise": 0.1},
    "augment": {"augment": "autoaugment"},
    "consistency": {"augment": "augmix-jsd"},
}


def plain_network():
    """A network without batch normalisation, so that an image's gradient does not depend on the rest of the batch."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.Tanh(), nn.Conv2d(8, 8, 3), nn.Tanh(), nn.Flatten(), nn.Linear(288, 4)
    )


def train_plain_network(team, optimiser):
    recipe = replace(QUICK, optimiser=optimiser, flip=False, crop=0)
    images = load_training_images(bars(COUNT), recipe, CPU, team)
    assert images.part == Part(team, COUNT)
    training = begin(plain_network(), recipe, CPU)
    look = normalisation_of(images, recipe, CPU)
    return fit(training, images.pixels, images.labels, recipe, normalisation=look, part=images.part), images


def train_interrupted(folder):
    """Train to the end, but keep what is saved after the first three of eight steps; then go on from that."""
    run_module.SECONDS_BETWEEN, fit_module.BLOCK["cpu"] = 0.0, 3 * 8 * 64  # three batches of eight images are a block

    def keep(done, total):
        if done == 4:
            shutil.copy(partial_file(folder / "whole.safetensors"), partial_file(folder / "resumed.safetensors"))

    def keep_for_the_command(done, total):
        if done == 3:
            shutil.copy(partial_file(folder / "fashion.safetensors"), partial_file(folder / "command.safetensors"))

    seen = []
    train(bars(COUNT), QUICK, folder / "whole.safetensors", seed=3, progress=keep)
    train(bars(COUNT), QUICK, folder / "resumed.safetensors", seed=3, progress=lambda done, total: seen.append(done))
    train(bars(300), "fashion", folder / "fashion.safetensors", noise=0.1, progress=keep_for_the_command)
    return seen


def errors_of(team):
    """Errors that all processes raise, whichever of them finds it, and what each of them raises."""
    found = []
    for options in ({"augment": "ant"}, {"recipe": replace(QUICK, batch_size=15)}, {"data": bars(12)}):
        try:
            train(**{"data": bars(COUNT), "recipe": QUICK, "out": "never.safetensors", **options})
        except ValueError as error:
            found.append(str(error))
    try:
        with team.agreeing():
            if team.rank == 1:
                raise KeyError("only the second knows")
    except (KeyError, ValueError) as error:
        found.append(f"{type(error).__name__}: {error.args[0]}")
    try:
        train(bars(COUNT, seed=team.rank), QUICK, "never.safetensors")
    except ValueError as error:
        found.append(str(error))
    return found


def names_of_threads():
    """Names of this process's threads, those that Python does not know included."""
    return [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]


def main(folder):
    with joined("cpu") as (team, _):
        for optimiser in OPTIMISERS:
            network, images = train_plain_network(team, optimiser)
            name = f"plain {optimiser} {team.rank}.safetensors"
            safetensors.torch.save_file(network.state_dict(), folder / name)
        (folder / f"look {team.rank}.txt").write_text(repr((images.mean, images.std, images.fingerprint)))
        for name, options in TREATMENTS.items():
            train(bars(COUNT), QUICK, folder / f"{name}.safetensors", device="cpu", **options)
        train(bars(COUNT), QUICK, folder / "again.safetensors", **TREATMENTS["corruption"])
        (folder / f"seen {team.rank}.txt").write_text(repr(train_interrupted(folder)))
        (folder / f"errors {team.rank}.txt").write_text("\n".join(errors_of(team)))
    leave()
    (folder / f"threads {team.rank}.txt").write_text("\n".join(names_of_threads()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
