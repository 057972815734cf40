"""The loop: blocks of images, batches, steps."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from scuff.memory import available_on
from scuff.random import image_keys, sent
from scuff.training.adversarial_noise import AdversarialTraining
from scuff.training.augment import augment, epoch_seed, shuffled
from scuff.training.distributed import ALONE, Part, Team
from scuff.training.muon import Muon
from scuff.training.recipes import Recipe
from scuff.training.step import make_step
from scuff.training.stream import Stream, fetch, shape_of
from scuff.training.treatment import Augmented, Treatment

Progress = Callable[[int, int], None]  # steps done, steps to do

# Bytes of one block of images, at most: on a GPU an epoch of CIFAR-10, or some 14 000 pictures of 224 pixels.
# Corruptions are fastest on many images at once, and a mixture of many takes a while to launch. Results do not depend
# on it.
BLOCK = {"cpu": 1 << 24, "cuda": 1 << 31}
SHARE = 64  # of the free memory of a GPU: a block is there in several states, and the network is not yet


@dataclass
class Training:
    """A network on its device, its optimiser, and how far they are. This is all that a training must remember."""

    network: nn.Module
    optimiser: torch.optim.Optimizer
    step: int = 0


def begin(network: nn.Module, recipe: Recipe, device: torch.device) -> Training:
    """Bring a network to the device, in training mode, with a fresh optimiser."""
    network = network.to(device).train()
    if device.type == "cuda":
        network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's own stub
    return Training(network, _optimiser(network, recipe, device))


def _optimiser(network: nn.Module, recipe: Recipe, device: torch.device) -> torch.optim.Optimizer:
    def rate(highest: float) -> Tensor:
        return torch.tensor(highest, device=device)  # a tensor, so that a recorded step sees it change

    if recipe.optimiser == "muon":
        rates = rate(recipe.matrix_rate), rate(recipe.learning_rate)
        return Muon(network, *rates, recipe.matrix_momentum, recipe.momentum, recipe.weight_decay)
    return torch.optim.SGD(
        network.parameters(),
        rate(recipe.learning_rate),
        recipe.momentum,
        weight_decay=recipe.weight_decay,
        nesterov=recipe.nesterov,
        fused=device.type == "cuda",
    )


def follow_first(training: Training, team: Team) -> None:
    """Bring the training of every process to where that of the first is; only that one has read its file."""
    names = {parameter: name for name, parameter in training.network.named_parameters()}
    memory = training.optimiser.state

    def remembered() -> tuple[int, list[str]]:
        return training.step, [name for p, name in names.items() if "momentum_buffer" in memory.get(p, {})]

    training.step, begun = team.decide(remembered)
    buffers = [
        memory[p].setdefault("momentum_buffer", torch.zeros_like(p)) for p, name in names.items() if name in begun
    ]
    team.copy_from_first([*training.network.state_dict().values(), *buffers])


def count_steps(recipe: Recipe, images: int) -> int:
    """All steps of a training."""
    per_epoch = images // recipe.batch_size
    if per_epoch == 0:
        raise ValueError(f"{images} images do not fill one batch of {recipe.batch_size}; use a smaller batch")
    return recipe.epochs * per_epoch


def fit(
    training: Training,
    images: Tensor | Stream,
    labels: Tensor,
    recipe: Recipe,
    *,
    normalisation: tuple[Tensor, Tensor],
    treatment: Treatment | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    after_block: Callable[[Training], None] | None = None,
    part: Part | None = None,
) -> nn.Module:
    """Train from where `training` is to the end, and return the network in evaluation mode.

    `images` are uint8 (N, C, H, W), on the device of the network or on the CPU, or decoded on the way; `labels` int64
    (N,). `normalisation` is a factor and a summand of bytes, each (1, C, 1, 1). The order of the images, and all draws
    of theirs and of the `treatment`, are decided by `seed`. `after_block` is called between blocks, where a training
    can be interrupted and gone on with. Where several processes train one network, the images are the `part` of this
    one.
    """
    part = part or Part(ALONE, len(images))
    device = next(training.network.parameters()).device
    labels = labels.to(device)
    steps, size = count_steps(recipe, part.total), part.batch_of(recipe.batch_size)
    with repeatable(), own_generators(device):
        consistency = treatment.consistency if isinstance(treatment, Augmented) else 0.0
        step = make_step(training.network, training.optimiser, recipe, normalisation, consistency, part.team)
        while training.step < steps:
            learn = _learner(training, labels, normalisation, treatment)
            for places, pixels in blocks(images, recipe, seed, training.step, device, treatment, learn, part):
                for chosen, batch in zip(places.split(size), pixels.split(size), strict=True):
                    torch.manual_seed(_dropout_seed(seed, training.step, part))
                    _adjust(training.optimiser, recipe, training.step, steps)
                    step(batch, labels[chosen])
                    training.step += 1
                    if progress is not None:
                        progress(training.step, steps)
                if after_block is not None:
                    after_block(training)
    if not all(torch.isfinite(p).all() for p in training.network.parameters()):
        raise ValueError(
            f"the training diverged: weights are infinite or NaN; try a learning rate below {recipe.learning_rate}"
        )
    return training.network.eval()


def blocks(
    images: Tensor | Stream,
    recipe: Recipe,
    seed: int,
    step: int,
    device: torch.device,
    treatment: Treatment | None,
    learn: Callable[[Tensor, Tensor, int], None] | None = None,
    part: Part | None = None,
) -> Iterator[tuple[Tensor, Tensor]]:
    """The rest of a step's epoch: places of images (n,) and what became of those images, on the device.

    They are (n, C, H, W), or views (n, 3, C, H, W). `learn` is called where an epoch begins, with the first of its
    images, mirrored and shifted, their places and the seed of the epoch. Of a `part`, places are those in `images`; but
    every image draws by its id in the whole, as if one process had all of them.
    """
    part = part or Part(ALONE, len(images))
    per_epoch, size = part.batches(recipe.batch_size), part.batch_of(recipe.batch_size)
    epoch, done = divmod(step, per_epoch)
    drawn, side = epoch_seed(seed, epoch), recipe.side(epoch)
    order, ids = _order(part, drawn)[done * size : per_epoch * size], part.ids()
    batches = max(1, block_size(device, treatment) // (math.prod(shape_of(images, side)) * size))

    def shown(places: Tensor, count: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        fetched = fetch(images, places, ids[places], drawn, side, count, device)
        yield from zip(places.split(count), ids[places].split(count), fetched, strict=True)

    # Nothing from here on may wait for a GPU: it still has the steps of the block before to do.
    if learn is not None and done == 0:
        assert isinstance(treatment, AdversarialTraining)
        count = treatment.images_per_turn
        for chosen, known, block in shown(order[:count], count):
            mirrored = augment(block, sent(known, device), drawn, flip=recipe.flip, crop=recipe.crop)
            learn(mirrored, sent(chosen, device), drawn)
    for chosen, known, block in shown(order, batches * size):
        if treatment is not None and treatment.before_crop:
            block = treatment.treat(block, known, drawn, size)
        block = augment(block, sent(known, device), drawn, flip=recipe.flip, crop=recipe.crop)
        if treatment is not None and not treatment.before_crop:
            block = treatment.treat(block, known, drawn, size)
        yield sent(chosen, device), block


def block_size(device: torch.device, treatment: Treatment | None) -> int:
    """Values of a block of images, at most."""
    bytes_each = treatment.bytes_each if treatment is not None else 1
    most = BLOCK.get(device.type, BLOCK["cpu"])
    return (min(most, available_on(device) // SHARE) if device.type == "cuda" else most) // bytes_each


def _order(part: Part, seed: int) -> Tensor:
    """The order of a process's images in an epoch, on the CPU.

    Of several processes, each sorts its images by a number that each image draws: so two processes have different
    orders, and images that are neighbours in the whole do not meet in one batch again and again.
    """
    if part.team.size == 1:
        return shuffled(part.total, seed)
    return image_keys("training/order", None, part.places(), seed).argsort(stable=True)


def _dropout_seed(seed: int, step: int, part: Part) -> int:
    """A seed for dropout, whose draws are the only ones that are not keyed: another one for each process."""
    drawn = epoch_seed(seed, step)
    return drawn if part.team.size == 1 else epoch_seed(drawn, part.team.rank)


def _learner(
    training: Training, labels: Tensor, normalisation: tuple[Tensor, Tensor], treatment: Treatment | None
) -> Callable[[Tensor, Tensor, int], None] | None:
    """How a treatment that learns from the network, adversarial noise, learns of every epoch."""
    if not isinstance(treatment, AdversarialTraining):
        return None

    def learn(block: Tensor, chosen: Tensor, seed: int) -> None:
        treatment.learn(training.network, block, labels[chosen], normalisation, seed)

    return learn


def _adjust(optimiser: torch.optim.Optimizer, recipe: Recipe, step: int, steps: int) -> None:
    """Set the learning rates of a step, and forget the momentum where the recipe wants that."""
    before, share = recipe.share(step - 1, steps), recipe.share(step, steps)
    restarts = {"never": False, "decay": share < before, "epoch": step % (steps // recipe.epochs) == 0}
    if restarts[recipe.restarts_momentum]:
        for state in optimiser.state.values():
            state["momentum_buffer"].zero_()
    highest = (recipe.matrix_rate, recipe.learning_rate)[-len(optimiser.param_groups) :]
    for group, rate in zip(optimiser.param_groups, highest, strict=True):
        group["lr"].fill_(rate * share)


def own_generators(device: torch.device) -> contextlib.AbstractContextManager[None]:
    """Give torch's generators back as they were."""
    return torch.random.fork_rng(devices=[device] if device.type == "cuda" else [])


@contextlib.contextmanager
def repeatable() -> Iterator[None]:
    """Let cuDNN choose only algorithms that give the same bits every time, and choose them without a race."""
    flags = torch.backends.cudnn
    before = flags.deterministic, flags.benchmark
    flags.deterministic, flags.benchmark = True, False
    try:
        yield
    finally:
        flags.deterministic, flags.benchmark = before


def every(seconds: float, act: Callable[[Training], None]) -> Callable[[Training], None]:
    """Call `act` at most once every `seconds` seconds."""
    last = time.monotonic()

    def maybe(training: Training) -> None:
        nonlocal last
        if time.monotonic() - last >= seconds:
            act(training)
            last = time.monotonic()

    return maybe
