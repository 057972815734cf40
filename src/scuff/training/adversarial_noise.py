"""Adversarial noise training: a classifier, and a generator of the noise that harms it most (Rusak et al. 2020).

The two take turns. The generator climbs the loss of the classifier as it is for some steps. Then the classifier learns
from batches of which half is clean, three tenths have noise of the generator, and two tenths noise of earlier states of
it, so that the classifier does not forget what it could withstand before.

The paper's program for training is not public. The shares of a batch are those of the paper; how often and how long the
generator learns is our choice: its turn comes at the beginning of every epoch.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scuff.augment.ant import AdversarialNoise, NoiseGenerator, default_epsilon, generator_of, to_sphere
from scuff.random import image_keys, sent
from scuff.ranges import is_number
from scuff.training.augment import shuffled

CLEAN, CURRENT = 0.5, 0.3  # shares of a batch; the rest is for earlier states
MOST_SNAPSHOTS = 64


class AdversarialTraining:
    """A treatment of training images that learns.

    Parameters
    ----------
    kernel
        Of the generator: 3 lets neighbouring pixels depend on each other, 1 does not.
    epsilon
        The length of the noise, see `AdversarialNoise`.
    steps, batch_size, learning_rate
        Of each turn of the generator (Adam).
    restarts
        Begin with a fresh generator in every turn whose number this divides, because the noise of the old one may have
        stopped being harmful. 0 never does.
    """

    before_crop = False  # the noise is learned for images that are mirrored and shifted already
    bytes_each = 4  # of a value that was treated

    def __init__(
        self,
        kernel: int = 3,
        epsilon: float | None = None,
        *,
        steps: int = 50,
        batch_size: int = 128,
        learning_rate: float = 1e-4,
        restarts: int = 0,
    ) -> None:
        if epsilon is not None and (not is_number(epsilon) or epsilon < 0):
            raise ValueError(f"epsilon must be a number of at least 0, got {epsilon!r}")
        if steps < 1 or batch_size < 1 or restarts < 0:
            raise ValueError(
                "adversarial noise needs at least one step and one image per step, and restarts of 0 or more; "
                f"got {steps}, {batch_size} and {restarts}"
            )
        self.kernel, self.epsilon = kernel, epsilon
        self.steps, self.batch_size, self.learning_rate, self.restarts = steps, batch_size, learning_rate, restarts
        self.turns = 0
        self.snapshots: list[NoiseGenerator] = []
        self._use(NoiseGenerator(kernel=kernel))  # until images say how many channels they have

    @property
    def images_per_turn(self) -> int:
        """How many images the generator learns from in each of its turns."""
        return self.steps * self.batch_size

    def fresh(self) -> AdversarialTraining:
        """Another one of the same settings that has learned nothing yet: each training needs its own."""
        options: dict[str, Any] = {
            "steps": self.steps,
            "batch_size": self.batch_size,
            "learning_rate": self.learning_rate,
        }
        return AdversarialTraining(self.kernel, self.epsilon, **options, restarts=self.restarts)

    def settings(self) -> dict[str, Any]:
        """What determines the weights, as plain data."""
        return {
            "scheme": "adversarial noise training",
            "kernel": self.kernel,
            "epsilon": self.epsilon,
            "steps": self.steps,
            "batch_size": self.batch_size,
            "learning_rate": self.learning_rate,
            "restarts": self.restarts,
        }

    def learn(
        self, network: nn.Module, images: Tensor, labels: Tensor, normalisation: tuple[Tensor, Tensor], seed: int
    ) -> None:
        """One turn of the generator, on uint8 images (N, C, H, W) and labels (N,) that are where the network is.

        The network answers in evaluation mode. Neither its mode, nor its statistics, nor its gradients are changed.
        """
        if self.turns:
            self._remember()
        if self.turns == 0 or (self.restarts and self.turns % self.restarts == 0):
            self._use(NoiseGenerator(images.shape[1], self.kernel, seed=seed))
        self._move(images.device)
        size = min(self.batch_size, len(images))
        places = torch.cat([shuffled(len(images), seed + k) for k in range(-(-self.steps * size // len(images)))])
        with _evaluating(network):
            for step, chosen in enumerate(places[: self.steps * size].to(images.device).split(size)):
                first = (self.turns * self.steps + step) * size
                keys = image_keys("ant/learn", None, torch.arange(first, first + size, device=images.device), seed)
                self._ascend(network, images[chosen], labels[chosen], keys, normalisation)
        self.turns += 1

    def treat(self, images: Tensor, ids: Tensor, seed: int, batch_size: int) -> Tensor:
        """uint8 images (N, C, H, W) in batches, with their ids (N,): float32, in 0..255, with noise on half of them.

        The first images of a batch stay clean. Every place at its end draws one of the snapshots, anew for each seed.
        """
        clean = round(CLEAN * batch_size)
        current = round((CLEAN + CURRENT) * batch_size) if self.snapshots else batch_size
        groups = [(self.generator, list(range(clean, current)))]
        drawn = {place: _draw(seed, place, len(self.snapshots)) for place in range(current, batch_size)}
        for number in sorted(set(drawn.values())):
            groups.append((self.snapshots[number], [place for place in drawn if drawn[place] == number]))
        position = torch.arange(len(images)) % batch_size
        out, ids = images.to(torch.float32), sent(ids, images.device)
        for generator, places in groups:
            members = torch.isin(position, torch.tensor(places, dtype=torch.int64)).nonzero()[:, 0]
            members = sent(members, images.device)
            out[members] = AdversarialNoise(generator, self.epsilon)(images[members], ids[members], seed)
        return out

    def state(self) -> dict[str, Tensor]:
        """All that an interrupted training must remember, besides the settings."""
        state = {"turns": torch.tensor(self.turns), "snapshots": torch.tensor(len(self.snapshots))}
        state |= {f"generator.{name}": value for name, value in self.generator.state_dict().items()}
        for number, snapshot in enumerate(self.snapshots):
            state |= {f"snapshot {number}.{name}": value for name, value in snapshot.state_dict().items()}
        for name, parameter in self.generator.named_parameters():
            for what, value in self._optimiser.state[parameter].items():
                state[f"adam {what}.{name}"] = value
        return {name: value.detach().cpu().clone() for name, value in state.items()}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Go on where `state` was taken."""
        self.turns = int(state["turns"])
        self.snapshots = [generator_of(_part(state, f"snapshot {k}.")) for k in range(int(state["snapshots"]))]
        self._use(generator_of(_part(state, "generator.")))
        for name, parameter in self.generator.named_parameters():
            for what in ("step", "exp_avg", "exp_avg_sq"):
                if (key := f"adam {what}.{name}") in state:
                    self._optimiser.state[parameter][what] = state[key].clone()

    def _ascend(
        self, network: nn.Module, images: Tensor, labels: Tensor, keys: Tensor, normalisation: tuple[Tensor, Tensor]
    ) -> None:
        """One step of the generator up the loss of the network."""
        epsilon = default_epsilon(images.shape[1:]) if self.epsilon is None else self.epsilon
        factor, summand = normalisation
        parameters = list(self.generator.parameters())
        with torch.enable_grad():
            noise = to_sphere(self.generator(self.generator.draw(keys, *images.shape[-2:])), 255 * epsilon)
            noisy = (images + noise).clamp(0.0, 255.0)
            loss = -F.cross_entropy(network(torch.addcmul(summand, noisy, factor)).float(), labels)
            for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
                parameter.grad = gradient
        self._optimiser.step()
        self._optimiser.zero_grad(set_to_none=True)

    def _remember(self) -> None:
        """Keep the generator as it is. When there are too many, every second of them goes: the old ones get sparser."""
        self.snapshots.append(copy.deepcopy(self.generator))
        if len(self.snapshots) > MOST_SNAPSHOTS:
            del self.snapshots[1::2]

    def _use(self, generator: NoiseGenerator) -> None:
        """Go on with a generator, and with an optimiser that knows nothing yet."""
        self.generator = generator
        self._optimiser = torch.optim.Adam(generator.parameters(), self.learning_rate)

    def _move(self, device: torch.device) -> None:
        """Bring the generators, and what the optimiser remembers, to where the images are."""
        for one in (self.generator, *self.snapshots):
            one.to(device)
        for memory in self._optimiser.state.values():
            memory |= {what: value.to(device) for what, value in memory.items() if what != "step"}


def _part(state: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def _draw(seed: int, place: int, count: int) -> int:
    """A number below `count` for a place of a batch."""
    digest = hashlib.blake2b(f"snapshot|{seed}|{place}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % count


@contextlib.contextmanager
def _evaluating(network: nn.Module) -> Iterator[None]:
    """The network in evaluation mode, and every part of it back in its own mode afterwards."""
    modes = {module: module.training for module in network.modules()}
    network.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode
