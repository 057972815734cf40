"""AugMix: a few chains of random operations, mixed with each other and with the image (Hendrycks et al. 2020).

Each image goes through three chains of one to three operations. The ends of the chains are averaged with random
weights, and their mean with the image itself, by a random share:

    (1 - m) x + m (w1 x1 + w2 x2 + w3 x3),    w ~ Dirichlet(alpha, alpha, alpha),    m ~ Beta(alpha, alpha).

Every operation rounds to bytes, as Pillow does. The mixture is not rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from scuff import kernels
from scuff.augment.operations import operate
from scuff.augment.scheme import Scheme
from scuff.balls import gamma_variates
from scuff.kernels.constants import constant
from scuff.kernels.operation_codes import WARPS
from scuff.random import bernoulli, integers, uniform
from scuff.ranges import is_number

NINE = (*WARPS, "solarize", "equalize", "autocontrast", "posterize")
OVERLAPPING = ("color", "contrast", "brightness", "sharpness")  # with the benchmark's corruptions: off by default

LOWEST_LEVEL = 0.1
DEEPEST = 3  # operations of a chain whose depth is drawn


@dataclass(frozen=True)
class Magnitude:
    """What a level means: start + rate * level, or minus it at random; `whole` drops the product's fraction."""

    start: float = 0.0
    rate: float = 0.0
    signed: bool = False
    whole: bool = False


def magnitude(operation: str, height: int, width: int, whole: bool = False) -> Magnitude:
    """The magnitude of an operation on images of a size; `whole` is for degrees and pixels.

    >>> magnitude("translate_x", 32, 30)
    Magnitude(start=0, rate=1.0, signed=True, whole=False)
    """
    magnitudes = {
        "autocontrast": Magnitude(),
        "equalize": Magnitude(),
        "posterize": Magnitude(4, -0.4, whole=True),
        "solarize": Magnitude(256, -25.6, whole=True),
        "rotate": Magnitude(0, 3, signed=True, whole=whole),
        "shear_x": Magnitude(0, 0.03, signed=True),
        "shear_y": Magnitude(0, 0.03, signed=True),
        "translate_x": Magnitude(0, width / 30, signed=True, whole=whole),
        "translate_y": Magnitude(0, height / 30, signed=True, whole=whole),
        **dict.fromkeys(OVERLAPPING, Magnitude(0.1, 0.18)),
    }
    return magnitudes[operation]


@dataclass(frozen=True)
class Chains:
    """What N images drew: operations and their values (N, width, depth), weights (N, width), shares of the mix (N,).

    `which` are places in `operations`, where "identity" fills chains that are shorter than others.
    """

    operations: tuple[str, ...]
    which: Tensor
    values: Tensor
    weights: Tensor
    share: Tensor


@dataclass(frozen=True)
class AugMix(Scheme):
    """AugMix with any of its operations: all nine of the paper, or a subset of them, or up to thirteen.

    Parameters
    ----------
    operations
        Names out of `NINE` and `OVERLAPPING`. None at all leaves images as they are.
    severity
        Levels are drawn uniformly from 0.1 to this number, which is below 10: 3 for images of 32 pixels, 1 for 224.
    width
        Chains.
    depth
        Operations of every chain; 0 lets each chain draw 1, 2 or 3.
    alpha
        Of the Dirichlet and the Beta distribution. 1 makes both uniform.
    whole
        Whole degrees and whole pixels, as in the original code. The comparison of Mintun et al. (2021), whose
        distances are measured here, has real ones.

    Examples
    --------
    >>> pixels = torch.zeros(2, 3, 8, 8, dtype=torch.uint8)
    >>> AugMix()(pixels, torch.tensor([4, 5])).dtype
    torch.float32
    """

    operations: tuple[str, ...] = NINE
    severity: float = 3.0
    width: int = 3
    depth: int = 0
    alpha: float = 1.0
    whole: bool = False

    kind: ClassVar[str] = "augmix"

    def __post_init__(self) -> None:
        object.__setattr__(self, "operations", tuple(self.operations))
        known = (*NINE, *OVERLAPPING)
        if unknown := [name for name in self.operations if name not in known]:
            raise ValueError(f"AugMix has no operation {unknown[0]!r}; there are {', '.join(known)}")
        if len(set(self.operations)) < len(self.operations):
            raise ValueError(f"name each operation once, got {', '.join(self.operations)}")
        if not is_number(self.severity) or not LOWEST_LEVEL <= self.severity < 10:
            raise ValueError(f"a severity of AugMix is from {LOWEST_LEVEL} to below 10, got {self.severity!r}")
        if not isinstance(self.width, int) or self.width < 1:
            raise ValueError(f"AugMix needs a width of at least one chain, got {self.width!r}")
        if not isinstance(self.depth, int) or self.depth < 0:
            raise ValueError(f"depth is a number of operations, or 0 for a random one; got {self.depth!r}")
        if not is_number(self.alpha) or self.alpha <= 0:
            raise ValueError(f"alpha must be a number above 0, got {self.alpha!r}")

    def __call__(self, images: Tensor, ids: Tensor, seed: int = 0) -> Tensor:
        if not self.operations:
            return images
        return mix_chains(images, self.draw(ids, images.shape[-2:], seed))

    def draw(self, ids: Tensor, size: Sequence[int], seed: int = 0) -> Chains:
        """What images of these ids draw, if they have this height and width."""
        keys, count = self.keys(ids, seed), len(self.operations)
        shape = (self.width, self.depth or DEEPEST)
        which = integers(keys, "operation", shape, low=0, high=count - 1).long()
        level = uniform(keys, "level", shape).double() * (self.severity - LOWEST_LEVEL) + LOWEST_LEVEL
        minus = bernoulli(keys, "sign", shape, probability=0.5)
        values = _values(
            [magnitude(name, size[0], size[1], self.whole) for name in self.operations], which, level, minus
        )
        operations = self.operations
        if not self.depth:
            depth = integers(keys, "depth", (self.width, 1), low=1, high=DEEPEST)
            position = constant(tuple(range(DEEPEST)), keys.device, torch.int32)
            which = which.masked_fill(position >= depth, count)
            operations = (*operations, "identity")
        parts = _log_gamma(keys, self.width + 2, self.alpha)
        weights, share = parts[:, :-2].softmax(1), torch.sigmoid(parts[:, -2] - parts[:, -1])
        return Chains(operations, which, values, weights.float(), share.float())


def mix_chains(images: Tensor, chains: Chains) -> Tensor:
    """Carry out what uint8 images (N, C, H, W) have drawn: float32, in 0..255.

    All chains are one batch, so that there is one call for each position in them.
    """
    width, depth = chains.which.shape[1:]
    ends = images.expand(width, *images.shape).flatten(0, 1)  # a whole batch for each chain
    for position in range(depth):
        which, values = (drawn[:, :, position].t().flatten() for drawn in (chains.which, chains.values))
        ends = operate(ends, chains.operations, which, values)
    shares = torch.cat(((1 - chains.share)[None], chains.share * chains.weights.t()))
    mixed = kernels.mix_bytes(images, ends.unflatten(0, (width, -1)), shares)
    return mixed.clamp_(max=255.0)  # rounded shares may add up to a little more than 1


def _values(magnitudes: list[Magnitude], which: Tensor, level: Tensor, minus: Tensor) -> Tensor:
    """The values of operations at levels: float64 like `level`."""

    def of(name: str, dtype: torch.dtype) -> Tensor:
        return constant(tuple(getattr(magnitude, name) for magnitude in magnitudes), which.device, dtype)[which]

    value = of("rate", torch.float64) * level
    value = torch.where(of("whole", torch.bool), value.trunc(), value)
    value = torch.where(of("signed", torch.bool) & minus, -value, value)
    return of("start", torch.float64) + value


def _log_gamma(keys: Tensor, count: int, alpha: float) -> Tensor:
    """Logarithms of Gamma(alpha) variates, float64 (N, count). Divided by their sum, these make a Dirichlet draw."""
    u = uniform(keys, "gamma", (count,)).double()
    if alpha == 1:
        return torch.log(-torch.log(u.clamp_max(1 - 2.0**-25)))  # a 1 would be the logarithm of 0
    # Gamma(alpha) = Gamma(1 + alpha) U^(1 / alpha), which is far below the smallest float for a small alpha.
    return torch.log(gamma_variates(keys, count, 1 + alpha).double()) + torch.log(u) / alpha
