"""Train a classifier, from the address of its data to a file with its weights."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import nn

from scuff.augment.ant import AdversarialNoise, save_generator
from scuff.data import readable
from scuff.data.readable import without
from scuff.environment import find_device
from scuff.failures import is_out_of_memory
from scuff.files import as_place, check_out
from scuff.models import build, open_model, read_origin, save_model
from scuff.models.architectures.resnet import BasicBlock, Bottleneck
from scuff.models.states import differences
from scuff.options import takes_options
from scuff.store import find_file
from scuff.training.adversarial_noise import AdversarialTraining
from scuff.training.augment import epoch_seed
from scuff.training.distributed import ALONE, Team, check_alike, check_batch, joined
from scuff.training.fit import Progress, begin, every, fit, follow_first
from scuff.training.images import TrainingImages, load_training_images, normalisation_of, open_training_source
from scuff.training.options import TrainingOptions
from scuff.training.recipes import Recipe, find_recipe
from scuff.training.resume import file_beside, partial_file, resume_training, save_training
from scuff.training.treatment import Augmented, Corrupted, Noise, Treatment, choose_treatment

SECONDS_BETWEEN = 60.0  # two savings of an unfinished training


@takes_options(TrainingOptions)
def train(asked: TrainingOptions) -> Path | str:
    """Train a network and save it so that `open_model` can open it; return the file's path or address.

    The same seed on one device gives the same weights. `scuff.augment` has the schemes: "augmix-jsd" adds the
    consistency loss of AugMix, "ant" learns its noise against the network. `Augmented` and `AdversarialTraining`,
    beside this function, have the weight of the loss and what is to be learned, and `Noise` has other norms.

    In a program that torchrun has started several times, all processes train one network together: each calls this
    function with the same arguments, and the first of them writes the file.
    """
    return train_as(asked)


def train_as(
    asked: TrainingOptions,
    checking: Callable[[str, int, int], None] | None = None,
    tell: Callable[[Mapping[str, str]], None] = lambda unreadable: None,
) -> Path | str:
    """`train`, which says how far it is with `checking` pictures, and tells which of them it leaves out."""
    out, start = asked.out, asked.start
    with joined(asked.device) as (team, device):
        with team.agreeing():
            _check_out(out)
            recipe = adapt(find_recipe(asked.recipe), asked.architecture, asked.epochs, start is not None)
            treatment = choose_treatment(asked.corruption, asked.suite, asked.noise, asked.augment)
            _check_out(as_place(out))
            opened = open_training_source(asked.data, asked.classes)
            _check_team(team, recipe, treatment)
        unreadable = team.decide(lambda: readable(opened, asked.skip_unreadable, checking).unreadable) or {}
        if team.is_first:
            tell(unreadable)
        images = load_training_images(without(opened, unreadable), recipe, device, team, asked.workers)
        options: dict[str, Any] = {"start": start, "seed": asked.seed, "device": device, "progress": asked.progress}
        return train_on(images, recipe, out, treatment, **options)


def _check_team(team: Team, recipe: Recipe, treatment: Treatment | None) -> None:
    """Refuse what several processes cannot train together."""
    check_batch(recipe.batch_size, team)
    if team.size > 1 and isinstance(treatment, AdversarialTraining):
        raise ValueError(
            "adversarial noise (ant) is learned by one process, which has all images; train with it in one process, or "
            "with noise that was learned before, ant:FILE"
        )


def train_on(
    images: TrainingImages,
    recipe: Recipe,
    out: str | os.PathLike[str],
    treatment: Treatment | None = None,
    *,
    start: str | os.PathLike[str] | None = None,
    seed: int = 0,
    device: str | torch.device | None = None,
    progress: Progress | None = None,
) -> Path | str:
    """`train`, with images that are loaded already: many networks may learn from them one after the other."""
    team = ALONE if images.part is None else images.part.team
    with team.agreeing():
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise ValueError(f"seed must be a whole number, got {seed!r}")
        out = _check_out(out)
        store, name = find_file(out)
        device = find_device(device)
        origin = describe(images.fingerprint, recipe, treatment, start, seed, team.size)
    check_alike(team, "training to do", origin, str(out))

    def is_finished() -> bool:
        if store.exists(name):
            check_origin(out, origin)
            return True
        if store.is_local:  # what cannot be made is better known now than in the end
            Path(out).parent.mkdir(parents=True, exist_ok=True)
        return False

    if team.decide(is_finished):
        return out
    with team.agreeing():
        training = begin(first_weights(recipe, images, start, seed), recipe, device)
    if isinstance(treatment, AdversarialTraining):
        treatment = treatment.fresh()
    partial = partial_file(out)
    team.decide(lambda: resume_training(training, partial, origin, treatment))
    follow_first(training, team)
    save = every(SECONDS_BETWEEN, lambda t: save_training(t, partial, origin, treatment))
    try:
        network = fit(
            training,
            images.pixels,
            images.labels,
            recipe,
            normalisation=normalisation_of(images, recipe, device),
            treatment=treatment,
            seed=seed,
            progress=progress if team.is_first else None,
            after_block=save if team.is_first else None,
            part=images.part,
        )
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise MemoryError(f"a batch of {recipe.batch_size} does not fit into memory; take a smaller one") from error
    classifier = images.classifier(network, recipe)

    def finish() -> None:
        if store.exists(os.path.basename(out)):  # another process was faster, and others may have begun from its file
            store.remove(os.path.basename(partial))
            return
        if isinstance(treatment, AdversarialTraining):  # before the weights, whose file says that all is done
            save_generator(AdversarialNoise(treatment.generator, treatment.epsilon), generator_file(out))
        save_model(classifier, out, architecture=recipe.architecture, origin=origin)
        store.remove(os.path.basename(partial))

    team.decide(finish)
    return out


def generator_file(out: Path | str) -> Path | str:
    """Where the noise that was learned while training `out` is kept; the scheme ant:FILE opens it."""
    return file_beside(out, "generator")


# --- what is trained -----------------------------------------------------------------------------------------------


def adapt(recipe: Recipe, architecture: str | None, epochs: int | None, is_fine_tuning: bool) -> Recipe:
    """A recipe with what was asked for instead, and with its lower learning rate for fine-tuning."""
    changes: dict[str, Any] = {"architecture": architecture, "epochs": epochs}
    if is_fine_tuning:
        changes |= {key: recipe.fine_tuning * getattr(recipe, key) for key in ("learning_rate", "matrix_rate")}
    return replace(recipe, **{key: value for key, value in changes.items() if value is not None})


def first_weights(recipe: Recipe, images: TrainingImages, start: str | os.PathLike[str] | None, seed: int) -> nn.Module:
    """The network before its first step: drawn by the seed, or those of a file."""
    if start is not None:
        opened = open_model(os.fspath(start)).model
        classes, channels = len(images.class_names), images.pixels.shape[1]
        wrong = differences(recipe.architecture, opened.state_dict(), classes, channels)
        if wrong:
            raise ValueError(
                f"{os.fspath(start)} does not hold the weights of {recipe.architecture} with {classes} classes and "
                f"{channels} channels: {wrong[0]}"
            )
        return opened
    with torch.random.fork_rng(devices=[]):  # nobody else's generator moves
        torch.manual_seed(epoch_seed(seed, -1))
        network = build(recipe.architecture, len(images.class_names), images.pixels.shape[1])
        if recipe.initialisation == "xavier":
            network.apply(_xavier)
        if recipe.initialisation == "zero-gamma":
            network.apply(_zero_gamma)
    return network


def _xavier(module: nn.Module) -> None:
    if isinstance(module, (nn.Conv2d, nn.Linear)):
        nn.init.xavier_uniform_(module.weight)
    if isinstance(module, nn.Linear):
        nn.init.constant_(module.bias, 0.01)
    if isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)
        nn.init.zeros_(module.bias)


def _zero_gamma(module: nn.Module) -> None:
    """Let every residual block begin as its shortcut."""
    if isinstance(module, (BasicBlock, Bottleneck)):
        nn.init.zeros_((module.bn3 if isinstance(module, Bottleneck) else module.bn2).weight)


# --- where weights come from ----------------------------------------------------------------------------------------


def describe(
    fingerprint: str,
    recipe: Recipe,
    treatment: Treatment | None,
    start: str | os.PathLike[str] | None,
    seed: int,
    processes: int = 1,
) -> dict:
    """Everything that determines the weights, as plain data."""
    origin = {
        "recipe": recipe.settings(),
        "seed": seed,
        "images": fingerprint,
        "corrupted": treatment.settings() if isinstance(treatment, Corrupted) else None,
        "noise": treatment.settings() if isinstance(treatment, Noise) else None,
        "augment": treatment.settings() if isinstance(treatment, (Augmented, AdversarialTraining)) else None,
        "start": None if start is None else _weights_of(os.fspath(start), _stamp(start)),
    }
    if processes > 1:  # each draws the order of its own images, and has batch statistics of its own
        origin["processes"] = processes
    return json.loads(json.dumps(origin))  # tuples are lists there


def _stamp(path: str | os.PathLike[str]) -> str:
    store, name = find_file(path)
    try:
        return store.stamp(name)
    except FileNotFoundError as error:
        raise ValueError(f"there is no file {os.fspath(path)} to start from") from error


@lru_cache(maxsize=16)  # many networks may begin from one file
def _weights_of(path: str, stamp: str) -> str:
    return open_model(path).fingerprint()


def _check_out(out: str | os.PathLike[str]) -> Path | str:
    """The place of the weights; one that could not be written in the end is refused."""
    check_out(out)
    out = as_place(out)
    if not str(out).endswith(".safetensors"):
        raise ValueError(f"expected a file name that ends in .safetensors, got {out}")
    if os.path.isdir(out):
        raise ValueError(f"{out} is a folder; expected the name of a file for the weights")
    return out


def check_origin(path: str | os.PathLike[str], origin: dict) -> None:
    """Refuse to take a file for the result of a training that it is not of."""
    before = read_origin(path) or {}
    changed = [key for key in {**origin, **before} if before.get(key) != origin.get(key)]
    if changed:
        raise ValueError(
            f"{path} is there already, and was trained otherwise ({', '.join(changed)} differ); use another file"
        )
