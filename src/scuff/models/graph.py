"""A classifier as one compiled graph: bytes in, normalisation, the network, and whatever is wanted of its logits."""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, fx, nn

from scuff.failures import ModelError
from scuff.models.classifier import PRECISIONS, Classifier
from scuff.models.folding import fold_norms
from scuff.models.fusing import FusedConvolution, fuse

ALIKE = 0.02  # of the largest logit: what folding may change, where convolutions have ten bits
# Layers whose weights autocast would halve in every call:
HALVED = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Linear, FusedConvolution)
MOST_MODELS = 1024  # that one process compiles

_classes: dict[tuple[str, frozenset[tuple[str, int]]], type] = {}  # of traced networks: see _share_class


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
    """The same classifier, lighter where it runs in half precision: fewer passes over memory, and half the weights.

    Batch norms are folded into convolutions, which on a GPU rectify their results themselves. In full precision it
    stays as it is: folding rounds other numbers to the ten bits that GPUs give to convolutions.
    """
    dtype = PRECISIONS[classifier.precision]
    if dtype is None:
        return classifier
    exact = replace(classifier, precision="float32")
    network = copy.deepcopy(_lightest(exact, few))
    for layer in network.modules():
        if type(layer) in HALVED:
            layer.to(dtype)
    if isinstance(network, fx.GraphModule):
        _share_class(network)
    return replace(classifier, model=network)


def _lightest(exact: Classifier, few: Tensor) -> nn.Module:
    """The network with as little to do as possible that still does the same to a few images."""
    expected, folded = exact(few), fold_norms(exact.model)
    for lighter in ([fuse(folded)] if few.is_cuda else []) + [folded]:
        with contextlib.suppress(ModelError):  # of a device without such convolutions, or of shapes that they refuse
            if (replace(exact, model=lighter)(few) - expected).abs().max() <= ALIKE * expected.abs().max():
                return lighter
    return exact.model


def _share_class(network: fx.GraphModule) -> None:
    """Give a traced network the class of the first one with the same code, so that both are compiled once.

    Every traced network comes with a class of its own, and compilers compile for one class.
    """
    code = network.graph.python_code("self")
    named = frozenset((name, id(value)) for name, value in code.globals.items())  # which the first class keeps alive
    network.__class__ = _classes.setdefault((code.src, named), type(network))
