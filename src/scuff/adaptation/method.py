"""What adapts a network while it sees a stream: a class with two functions.

    class Mine:
        def __init__(self, network):  # a torch module: pixels in [0, 1] to logits
            self.network = network

        def adapt(self, images):  # the next batch; return its logits, and learn from it as you like
            return self.network(images)

        def reset(self):  # be again as in the beginning
            ...

`Method` is what those of the papers share: the parameters that they change, an optimiser, and a state that can be
saved. A class of your own may do without. With `state_dict`, tensors by name, and `load_state_dict` a run of it goes on
where it was cut; with `prepare(batches)` it is shown clean images first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from scuff.models import Classifier


class Network(nn.Module):
    """A classifier as a torch module: pixels (N, C, H, W) in [0, 1] to logits, which gradients pass through.

    `outputs` are those that count, if the data have classes for some of them only.
    """

    def __init__(self, classifier: Classifier, outputs: Iterable[int] | None = None) -> None:
        super().__init__()
        if not isinstance(classifier.model, nn.Module):
            kind = type(classifier.model).__name__
            raise ValueError(f"only torch modules can be adapted, and {classifier.name or 'the model'} is a {kind}")
        self.model, self.classifier = classifier.model, classifier
        self.outputs = None if outputs is None else torch.tensor(list(outputs), device=classifier.device)

    def forward(self, images: Tensor) -> Tensor:
        logits = self.classifier.forward(images)
        return logits if self.outputs is None else logits[:, self.outputs]


class Method(ABC):
    """Adapts `network`. A subclass says what happens with a batch.

    Parameters
    ----------
    network
        Changed in place; dropout stays off.
    parameters, optimiser, rate
        What is learned, by "adam" or by "sgd" with a momentum of 0.9 ("nesterov": of Nesterov's), and how fast.
    """

    def __init__(
        self, network: nn.Module, parameters: Iterable[nn.Parameter] = (), optimiser: str = "sgd", rate: float = 0.0
    ) -> None:
        if optimiser not in OPTIMISERS:
            raise ValueError(f"optimiser must be one of {', '.join(OPTIMISERS)}, got {optimiser!r}")
        self.network = network.eval().requires_grad_(False)
        self.networks = {"network": network}  # all that change, by name
        self.memory: dict[str, Tensor] = {}  # whatever else is remembered from batch to batch
        self._learned = [parameter.requires_grad_() for parameter in parameters]
        self._optimiser, self._rate = optimiser, rate
        self._start = {name: value.clone() for name, value in network.state_dict().items()}
        self.reset()

    @abstractmethod
    def adapt(self, images: Tensor) -> Tensor:
        """Predict a batch, and learn from it: the logits, as they were before that."""

    def reset(self) -> None:
        """Return to the network as it came, with a new optimiser and nothing in mind."""
        for network in self.networks.values():
            network.load_state_dict(self._start)
        self.memory.clear()
        self.optimiser = OPTIMISERS[self._optimiser](self._learned, self._rate) if self._learned else None

    def step(self, loss: Tensor) -> None:
        """One step down the gradient of a loss."""
        assert self.optimiser is not None
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()

    def state_dict(self) -> dict[str, Tensor]:
        """All that later batches depend on, as tensors."""
        state = {f"memory.{name}": value for name, value in self.memory.items()}
        for part, network in self.networks.items():
            state |= {f"{part}.{name}": value for name, value in network.state_dict().items()}
        learning = {} if self.optimiser is None else self.optimiser.state_dict()["state"]
        for number, its in learning.items():
            state |= {f"optimiser.{number}.{name}": v for name, v in its.items() if isinstance(v, Tensor)}
        return state

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Go on from such a state."""
        device = next(iter(self._start.values())).device
        self.memory = {name: value.to(device) for name, value in _below(state, "memory").items()}
        for part, network in self.networks.items():
            network.load_state_dict(_below(state, part))
        if self.optimiser is None:
            return
        learning: dict[int, dict[str, Tensor]] = {}
        for key, value in _below(state, "optimiser").items():
            number, _, name = key.partition(".")
            learning.setdefault(int(number), {})[name] = value
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": learning})


def norms_of(network: nn.Module) -> list[nn.BatchNorm2d]:
    """The layers of batch normalisation, which most methods are about."""
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    if not norms:
        raise ValueError("the network has no BatchNorm2d, so there is nothing that this method could adapt")
    return norms


def use_batch_statistics(network: nn.Module) -> list[nn.BatchNorm2d]:
    """Let every normalisation take the mean and the (biased) variance of its batch; returns them."""
    norms = norms_of(network)
    for norm in norms:
        norm.track_running_stats = False
        norm.running_mean = norm.running_var = norm.num_batches_tracked = None
    return norms


def _sgd(parameters: list[nn.Parameter], rate: float, nesterov: bool = False) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, rate, momentum=0.9, nesterov=nesterov)


OPTIMISERS: dict[str, Any] = {
    "adam": torch.optim.Adam,
    "sgd": _sgd,
    "nesterov": lambda parameters, rate: _sgd(parameters, rate, nesterov=True),
}


def _below(state: Mapping[str, Tensor], part: str) -> dict[str, Tensor]:
    return {key.removeprefix(f"{part}."): value for key, value in state.items() if key.startswith(f"{part}.")}
