"""What a network sees before it decides: the values of its last hidden layer."""

from __future__ import annotations

import copy
from dataclasses import replace

from torch import nn

from scuff.models.classifier import Classifier


def hidden_layer(classifier: Classifier) -> Classifier:
    """The same network without its last linear layer: called with images, it returns that layer's input (N, D).

    Preprocessing stays that of the classifier, which itself stays as it is.

    >>> import torch
    >>> from scuff.models import build
    >>> hidden_layer(Classifier(build("small_cnn", classes=10).eval()))(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 64])
    """
    called = f"the model {classifier.name}" if classifier.name else "the model"
    if not isinstance(classifier.model, nn.Module):
        raise ValueError(
            f"{called} is a {type(classifier.model).__name__}, into which nobody can look; features need a torch module"
        )
    network = copy.deepcopy(getattr(classifier.model, "_orig_mod", classifier.model))
    heads = [name for name, module in network.named_modules() if isinstance(module, nn.Linear)]
    if not heads:
        raise ValueError(f"{called} has no linear layer, so it is unknown where its features end")
    if heads[-1] == "":
        raise ValueError(f"{called} is one linear layer: its features are the pixels themselves")
    network.set_submodule(heads[-1], nn.Identity())
    return replace(classifier, model=network, class_names=None, probabilities=False)
