"""Noise from a small network that has learnt what confuses a classifier (Rusak et al. 2020, "ANT").

A generator turns Gaussian noise into noise whose neighbouring pixels (and channels) may depend on each other. The noise
of every image is brought to one length, `epsilon`, so that the generator can choose its pattern but not its strength.
How a generator learns is in `scuff.training.adversarial_noise`.
"""

from __future__ import annotations

import copy
import hashlib
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import safetensors
import torch
from torch import Tensor, nn

from scuff.augment.scheme import Scheme
from scuff.ops.textures import each
from scuff.random import image_keys, normal
from scuff.ranges import is_number
from scuff.tensors import read_tensors, write_tensors

HIDDEN = 20
INITIAL_STD = 0.01
AT_ONCE = 1 << 22  # values of images: the hidden layers take seven times as much memory, so there is a bound
FEWEST = 16  # images at once: processors sum the products of fewer in another order
STRENGTH = 0.348  # the root mean square per value of the published epsilon: 135 for 224 x 224 x 3


class NoiseGenerator(nn.Module):
    """Four convolutions and a way past them: noise (N, C, H, W) from normal numbers z.

    The second convolution is `kernel` pixels wide, 3 or 1; the others see one pixel. With 3, `z` is one pixel larger on
    each side. In the beginning all weights are nearly 0, so that the noise is z itself. They are drawn from `seed`.

    >>> NoiseGenerator(3)(torch.randn(2, 3, 34, 34)).shape
    torch.Size([2, 3, 32, 32])
    """

    def __init__(self, channels: int = 3, kernel: int = 3, seed: int = 0) -> None:
        super().__init__()
        if kernel not in (1, 3):
            raise ValueError(f"a noise generator has a kernel of 1 or 3 pixels, got {kernel!r}")
        self.channels, self.margin = channels, kernel // 2
        self.layers = nn.Sequential(
            _convolution(channels, HIDDEN, 1),
            nn.ReLU(),
            _convolution(HIDDEN, HIDDEN, kernel),
            nn.ReLU(),
            _convolution(HIDDEN, HIDDEN, 1),
            nn.ReLU(),
            _convolution(HIDDEN, channels, 1),
        )
        self._draw_weights(seed)

    @torch.no_grad()
    def _draw_weights(self, seed: int) -> None:
        for place, (name, parameter) in enumerate(self.named_parameters()):
            if name.endswith("bias"):
                parameter.zero_()
            else:
                key = image_keys("ant/weights", None, torch.tensor([place]), seed)
                parameter.copy_(normal(key, "weights", parameter.shape, 0.0, INITIAL_STD)[0])

    def forward(self, z: Tensor) -> Tensor:
        m = self.margin
        return self.layers(z) + z[..., m : z.shape[-2] - m, m : z.shape[-1] - m]

    def draw(self, keys: Tensor, height: int, width: int) -> Tensor:
        """The normal numbers that noise for images of this size is made of, one set for each key."""
        return normal(keys, "noise", (self.channels, height + 2 * self.margin, width + 2 * self.margin))


def _convolution(inputs: int, outputs: int, kernel: int) -> nn.Module:
    """A convolution without weights yet: torch would draw them from its own generator, which is not ours to move."""
    return nn.utils.skip_init(nn.Conv2d, inputs, outputs, kernel)


def default_epsilon(shape: torch.Size) -> float:
    """The length of noise for images (C, H, W) that is as strong per value as the published one.

    >>> round(default_epsilon(torch.Size([3, 224, 224]))), round(default_epsilon(torch.Size([3, 32, 32])), 1)
    (135, 19.3)
    """
    return STRENGTH * math.sqrt(math.prod(shape))


def to_sphere(noise: Tensor, epsilon: float) -> Tensor:
    """Noise (N, C, H, W), every image's brought to the length `epsilon`."""
    length = torch.linalg.vector_norm(noise.flatten(1).double(), dim=1).clamp_min(1e-12)
    return noise * each((epsilon / length).float())


@dataclass(frozen=True, eq=False)
class AdversarialNoise(Scheme):
    """Every image with noise of a generator.

    Parameters
    ----------
    generator
        It stays where it is; for images on another device a copy is made.
    epsilon
        The length of the noise, for pixels in 0..1. Without it: 0.348 times the root of the number of values, which for
        224 pixels is the published length, and for other sizes a scaling of our own.
    """

    generator: NoiseGenerator
    epsilon: float | None = None

    kind: ClassVar[str] = "ant"

    def __post_init__(self) -> None:
        if self.epsilon is not None and (not is_number(self.epsilon) or self.epsilon < 0):
            raise ValueError(f"epsilon must be a number of at least 0, got {self.epsilon!r}")

    @torch.no_grad()
    def __call__(self, images: Tensor, ids: Tensor, seed: int = 0) -> Tensor:
        _, channels, height, width = images.shape
        generator = _bring(self.generator, images.device)
        if channels != generator.channels:
            raise ValueError(f"the generator makes noise of {generator.channels} channels, the images have {channels}")
        keys = self.keys(ids, seed)
        epsilon = default_epsilon(images.shape[1:]) if self.epsilon is None else self.epsilon
        out = torch.empty(images.shape, dtype=torch.float32, device=images.device)
        count = max(1, AT_ONCE // max(images[:1].numel(), 1))
        for start in range(0, len(images), count):
            piece = slice(start, start + count)
            z = generator.draw(keys[piece], height, width)
            more = z.new_zeros(max(0, min(FEWEST, count) - len(z)), *z.shape[1:])
            noise = to_sphere(generator(torch.cat([z, more]))[: len(z)], 255 * epsilon)
            out[piece] = noise.add_(images[piece]).clamp_(0.0, 255.0)
        return out

    def settings(self) -> dict[str, Any]:
        """Everything that determines pixels: the weights by their fingerprint."""
        return {"scheme": self.kind, "weights": fingerprint(self.generator), "epsilon": self.epsilon}


def _bring(generator: NoiseGenerator, device: torch.device) -> NoiseGenerator:
    """A generator on a device: itself, or a copy if it is elsewhere, because whoever gave it wants it there."""
    return generator if next(generator.parameters()).device == device else copy.deepcopy(generator).to(device)


def generator_of(weights: Mapping[str, Tensor]) -> NoiseGenerator:
    """A generator with given weights, whose shapes say how many channels and how wide a kernel it has."""
    generator = NoiseGenerator(weights["layers.0.weight"].shape[1], weights["layers.2.weight"].shape[-1])
    generator.load_state_dict(weights)
    return generator


def fingerprint(generator: NoiseGenerator) -> str:
    """A short name for the weights of a generator."""
    digest = hashlib.blake2b(digest_size=8)
    for name, value in sorted(generator.state_dict().items()):
        digest.update(name.encode() + value.detach().cpu().float().contiguous().numpy().tobytes())
    return digest.hexdigest()


def save_generator(noise: AdversarialNoise, path: str | os.PathLike[str]) -> None:
    """Write a generator and its epsilon into a safetensors file."""
    metadata = {"scheme": noise.kind} | ({} if noise.epsilon is None else {"epsilon": repr(float(noise.epsilon))})
    write_tensors(path, noise.generator.state_dict(), metadata)


def open_generator(path: str | os.PathLike[str]) -> AdversarialNoise:
    """Read what `save_generator` wrote."""
    remedy = (
        "expected a safetensors file of a noise generator, as scuff.augment.ant.save_generator writes it; training "
        "NAME.safetensors with ant leaves one beside it, NAME.generator.safetensors"
    )
    try:
        state, metadata = read_tensors(path)
    except (OSError, safetensors.SafetensorError) as error:
        raise ValueError(f"cannot read {os.fspath(path)}: {error}; {remedy}") from error
    if metadata.get("scheme") != AdversarialNoise.kind:
        raise ValueError(f"{os.fspath(path)} holds no noise generator; {remedy}")
    epsilon = metadata.get("epsilon")
    return AdversarialNoise(generator_of(state), None if epsilon is None else float(epsilon))
