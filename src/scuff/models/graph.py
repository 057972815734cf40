"""A classifier as one compiled graph: bytes in, normalisation, the network, and whatever is wanted of its logits."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from scuff.models.classifier import PRECISIONS, Classifier
from scuff.models.folding import fold_norms

ALIKE = 0.02  # of the largest logit: what folding may change, where convolutions have ten bits
HALVED = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Linear)  # layers whose weights autocast would halve in every call
MOST_MODELS = 1024  # that one process compiles


class Graph:
    """Compiled for one shape of images: others are compiled anew. `few` images tell whether folding went well.

    Called with images and with further arguments, it returns what `finish` makes of the logits and of these.
    """

    def __init__(self, classifier: Classifier, finish: Callable[..., Tensor], few: Tensor) -> None:
        lighter = _lightened(classifier, few)

        def compute(images: Tensor, *arguments: Any) -> Tensor:
            return finish(lighter.graph(images), *arguments)

        self._compiled = torch.compile(compute, dynamic=False)

    def __call__(self, images: Tensor, *arguments: Any) -> Tensor:
        limit = torch._dynamo.config.patch(recompile_limit=MOST_MODELS)
        with warnings.catch_warnings(), torch.inference_mode(), limit:
            warnings.filterwarnings("ignore", message=".*TensorFloat32")  # advice to lower the precision
            return self._compiled(images, *arguments)


def _lightened(classifier: Classifier, few: Tensor) -> Classifier:
    """The same classifier, lighter where it runs in half precision: batch norms folded, and half the weights.

    In full precision it stays as it is: folding rounds other numbers to the ten bits that GPUs give to convolutions.
    """
    dtype = PRECISIONS[classifier.precision]
    if dtype is None:
        return classifier
    exact = replace(classifier, precision="float32")
    folded = replace(exact, model=fold_norms(classifier.model))
    expected = exact(few)
    is_same = (folded(few) - expected).abs().max() <= ALIKE * expected.abs().max()
    network = copy.deepcopy((folded if is_same else exact).model)
    for layer in network.modules():
        if type(layer) in HALVED:
            layer.to(dtype)
    return replace(classifier, model=network)
