"""What a network sees before it decides: the values of its last hidden layer."""

from __future__ import annotations

import copy
from dataclasses import replace

import torch
from torch import Tensor, nn

from scuff.models.classifier import Classifier


def hidden_layer(classifier: Classifier, images: Tensor) -> Classifier:
    """The same network up to its last linear layer: called with images, it returns that layer's input (N, D).

    A few `images` (N, C, H, W) are shown to the network to find the layer: the one that makes as many numbers for each
    image as there are logits. Preprocessing stays that of the classifier, which itself stays as it is.

    >>> from scuff.models import build
    >>> images = torch.zeros(2, 3, 32, 32)
    >>> hidden_layer(Classifier(build("small_cnn", 10, 3).eval()), images)(images).shape
    torch.Size([2, 64])
    """
    called = f"the model {classifier.name}" if classifier.name else "the model"
    if not isinstance(classifier.model, nn.Module):
        raise ValueError(
            f"{called} is a {type(classifier.model).__name__}, into which nobody can look; features need a torch module"
        )
    network = copy.deepcopy(getattr(classifier.model, "_orig_mod", classifier.model)).eval()
    name, is_end = _find_head(replace(classifier, model=network), images, called)
    if is_end:
        network.set_submodule(name, nn.Identity())
    else:
        network = _Tapped(network, name).eval()
    return replace(classifier, model=network, class_names=None, probabilities=False)


def _find_head(classifier: Classifier, images: Tensor, called: str) -> tuple[str, bool]:
    """The name of the layer that makes the logits, and whether these are the end of the network."""
    made: dict[str, Tensor] = {}

    def watch(name: str):
        return lambda module, inputs, output: made.__setitem__(name, output)

    layers = {name: one for name, one in classifier.model.named_modules() if isinstance(one, nn.Linear)}
    if not layers:
        raise ValueError(f"{called} has no linear layer, so it is unknown where its features end")
    hooks = [one.register_forward_hook(watch(name)) for name, one in layers.items()]
    try:
        logits = classifier(images)
    finally:
        for hook in hooks:
            hook.remove()
    heads = [name for name, output in made.items() if output.shape == logits.shape]
    if len(heads) != 1:
        found = f"any of {', '.join(heads)}" if heads else "none of its linear layers"
        raise ValueError(
            f"{called} returns {logits.shape[1]} numbers for an image, which {found} could have made, so it is unknown "
            "where its features end; wrap it in a module with one linear layer at its end"
        )
    return heads[0], not classifier.probabilities and torch.equal(made[heads[0]].float(), logits)


class _Tapped(nn.Module):
    """A network in which something follows its last linear layer: it runs on, and the layer's input is returned."""

    def __init__(self, network: nn.Module, layer: str) -> None:
        super().__init__()
        self.network = network
        self._seen: Tensor | None = None
        network.get_submodule(layer).register_forward_pre_hook(self._see)

    def _see(self, layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        self._seen = inputs[0]

    def forward(self, x: Tensor) -> Tensor:
        """Images (N, C, H, W) to features (N, D)."""
        self.network(x)
        assert self._seen is not None
        return self._seen
