"""Methods that make a network surer of itself: they minimise the entropy of its predictions.

TENT: Wang et al., Tent: Fully test-time adaptation by entropy minimization, ICLR 2021. ETA and EATA: Niu et al.,
Efficient test-time model adaptation without forgetting, ICML 2022. RDumb: Press et al., RDumb: A simple approach that
questions our progress in continual test-time adaptation, NeurIPS 2023.

All of them normalise by the statistics of the batch and learn only the scales and shifts of the normalisations.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scuff.adaptation.method import Method, use_batch_statistics


def entropy(logits: Tensor) -> Tensor:
    """Of each prediction, in nats."""
    return -(logits.softmax(1) * logits.log_softmax(1)).sum(1)


class Tent(Method):
    """One step down the mean entropy of every batch."""

    def __init__(self, network: nn.Module, optimiser: str = "adam", rate: float = 1e-3) -> None:
        norms = use_batch_statistics(network)
        learned = [parameter for norm in norms for parameter in (norm.weight, norm.bias) if parameter is not None]
        if not learned:
            raise ValueError("the normalisations of the network have no scales and shifts, which this method learns")
        super().__init__(network, learned, optimiser, rate)

    def adapt(self, images: Tensor) -> Tensor:
        logits = self.network(images)
        self.step(entropy(logits).mean())
        return logits.detach()


class Eta(Tent):
    """Learns only from images that are sure and that say something new.

    An image counts if its entropy is below E = `sure` ln(classes), and, once there is a moving average of predictions,
    if the cosine between its prediction and that average is less than `margin`. It weighs exp(E - entropy).
    """

    def __init__(
        self, network: nn.Module, optimiser: str = "adam", rate: float = 1e-3, sure: float = 0.4, margin: float = 0.4
    ) -> None:
        super().__init__(network, optimiser, rate)
        self.sure, self.margin = sure, margin

    def adapt(self, images: Tensor) -> Tensor:
        logits = self.network(images)
        predicted, unsure, most = logits.detach().softmax(1), entropy(logits), self.sure * math.log(logits.shape[1])
        kept, average = unsure.detach() < most, self.memory.get("average")
        if average is not None:
            kept &= F.cosine_similarity(average[None], predicted).abs() < self.margin
        if kept.any():
            weight = (most - unsure[kept].detach()).exp()
            self.step((weight * unsure[kept]).mean() + self.penalty())
            now = predicted[kept].mean(0)
            self.memory["average"] = now if average is None else 0.9 * average + 0.1 * now
        return logits.detach()

    def penalty(self) -> Tensor | float:
        """What is added to the loss."""
        return 0.0


class Eata(Eta):
    """ETA that does not forget: weights which matter for clean images are held where they were.

    The penalty is `hold` times the sum of F (w - w0)²; F is the squared gradient of the cross-entropy with the
    network's own predictions of some clean images, averaged over their batches.
    """

    def __init__(
        self,
        network: nn.Module,
        optimiser: str = "adam",
        rate: float = 1e-3,
        sure: float = 0.4,
        margin: float = 0.4,
        hold: float = 1.0,
    ) -> None:
        super().__init__(network, optimiser, rate, sure, margin)
        self.hold = hold
        self._held = [parameter.detach().clone() for parameter in self._learned]
        self._matters: list[Tensor] | None = None

    def prepare(self, batches: Iterable[Tensor]) -> None:
        """Find out from clean images which weights matter."""
        squares = [torch.zeros_like(parameter) for parameter in self._learned]
        count = 0
        for images in batches:
            logits = self.network(images)
            loss = F.cross_entropy(logits, logits.detach().argmax(1))
            for square, gradient in zip(squares, torch.autograd.grad(loss, self._learned), strict=True):
                square += gradient**2
            count += 1
        if not count:
            raise ValueError("eata needs clean images, to find out which weights matter for them")
        self._matters = [square / count for square in squares]

    def penalty(self) -> Tensor | float:
        if self._matters is None:
            raise ValueError("eata must see clean images first: call prepare(batches)")
        each = zip(self._matters, self._learned, self._held, strict=True)
        return self.hold * sum((matter * (now - held) ** 2).sum() for matter, now, held in each)


class RDumb(Eta):
    """ETA that starts anew after every so many batches."""

    def __init__(
        self,
        network: nn.Module,
        optimiser: str = "adam",
        rate: float = 1e-3,
        sure: float = 0.4,
        margin: float = 0.4,
        every: int = 1000,
    ) -> None:
        if every < 1:
            raise ValueError(f"rdumb starts anew after at least 1 batch, got every={every}")
        super().__init__(network, optimiser, rate, sure, margin)
        self.every = every

    def adapt(self, images: Tensor) -> Tensor:
        seen = int(self.memory.get("seen", 0))
        if seen == self.every:
            self.reset()
            seen = 0
        logits = super().adapt(images)
        self.memory["seen"] = torch.tensor(seen + 1)
        return logits
