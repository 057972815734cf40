"""Convolutions of half precision on a GPU that add and rectify before they write: half the passes over memory.

cuDNN has such convolutions; compilers of networks call the plain ones, and read and write every result once more.
"""

from __future__ import annotations

import copy
import operator
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn import functional as F

ADDS = (operator.add, operator.iadd, torch.add)
RELUS = (F.relu, torch.relu, torch.relu_)
FEW_CHANNELS = 4  # of pictures, for which GPUs have no fast convolution
ALIGNED = 16  # channels, for which they have
SCHEMA = (
    "(Tensor x, Tensor weight, Tensor? bias, Tensor? summand, int[] stride, int[] padding, int[] dilation, int groups)"
    " -> Tensor"
)


def fuse(network: nn.Module) -> nn.Module:
    """A copy of a network in which convolutions rectify their results, and add another one before if that is due.

    A network that cannot be traced is returned as it is.
    """
    try:
        traced = fx.symbolic_trace(copy.deepcopy(network))
    except Exception:  # whatever somebody's code makes of a stand-in for a tensor
        return network
    graph, modules = traced.graph, dict(traced.named_modules())
    for node in graph.nodes:
        if node.op == "call_module" and type(modules[node.target]) is nn.Identity:
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    uses = Counter(node.target for node in graph.nodes if node.op == "call_module")
    weights = {str(node.target).rpartition(".")[0] for node in graph.nodes if node.op == "get_attr"}

    def plain_convolution(node: Any) -> Any:
        """The convolution that a node stands for, if nobody else sees its result or has its weights."""
        if not isinstance(node, fx.Node) or node.op != "call_module" or len(node.users) != 1 or len(node.args) != 1:
            return None
        layer: Any = modules[node.target]
        is_plain = type(layer) is nn.Conv2d and layer.padding_mode == "zeros" and not isinstance(layer.padding, str)
        is_alone = uses[node.target] == 1 and node.target not in weights
        return layer if is_plain and is_alone and not (layer._forward_hooks or layer._forward_pre_hooks) else None

    for number, node in enumerate(list(graph.nodes)):
        if not _is_relu(node, modules):
            continue
        before, summand = node.args[0], None
        if before.op == "call_function" and before.target in ADDS and len(before.args) == 2 and len(before.users) == 1:
            before, summand = before.args if plain_convolution(before.args[0]) else reversed(before.args)
        layer = plain_convolution(before)
        if layer is None or isinstance(summand, (int, float)):
            continue
        other = plain_convolution(summand)
        if other is not None and other.bias is not None:  # one sum of biases in place of another pass
            layer.bias = other.bias if layer.bias is None else nn.Parameter(layer.bias + other.bias)
            other.bias = None
        traced.add_submodule(f"fused_{number}", FusedConvolution(layer))
        with graph.inserting_before(node):
            fused = graph.call_module(f"fused_{number}", (before.args[0], summand))
        node.replace_all_uses_with(fused)
        graph.erase_node(node)
    graph.eliminate_dead_code()
    traced.delete_all_unused_submodules()
    traced.recompile()
    return traced


def _is_relu(node: fx.Node, modules: dict[str, nn.Module]) -> bool:
    if node.op == "call_module":
        return type(modules[str(node.target)]) is nn.ReLU
    return (node.op == "call_function" and node.target in RELUS) or (
        node.op == "call_method" and node.target in ("relu", "relu_")
    )


class FusedConvolution(nn.Module):
    """max(0, convolution + bias + summand). Of pictures, with a stride of 2, it is one of 2 x 2 pixels at a time."""

    def __init__(self, layer: nn.Conv2d) -> None:
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias
        self.how: list[list[int]] = [list(layer.stride), [int(n) for n in layer.padding], list(layer.dilation)]
        self.groups = layer.groups
        is_first = layer.in_channels <= FEW_CHANNELS and layer.groups == 1 and self.how[::2] == [[2, 2], [1, 1]]
        self.folded = nn.Parameter(_folded(layer.weight.detach(), self.how[1])) if is_first else None

    def forward(self, x: Tensor, summand: Tensor | None = None) -> Tensor:
        x = x.to(self.weight.dtype)
        summand = None if summand is None else summand.to(self.weight.dtype)
        if self.folded is None or x.shape[2] % 2 or x.shape[3] % 2:
            return fused_convolution(x, self.weight, self.bias, summand, *self.how, self.groups)
        around: list[int] = []
        for axis in (3, 2):  # as F.pad counts them
            side, padding = x.shape[axis], self.how[1][axis - 2]
            first, wanted = (padding + 1) // 2, (side + 2 * padding - self.weight.shape[axis]) // 2 + 1
            around += [first, wanted + self.folded.shape[axis] - 1 - first - side // 2]
        pairs = F.pad(F.pixel_unshuffle(x, 2), [*around, 0, self.folded.shape[1] - 4 * x.shape[1]])
        return fused_convolution(pairs, self.folded, self.bias, summand, [1, 1], [0, 0], [1, 1], 1)


def _folded(weight: Tensor, padding: Sequence[int]) -> Tensor:
    """The weights of the same convolution with a stride of 1, of pictures whose 2 x 2 pixels have become channels."""
    around = []
    for axis in (3, 2):
        around += [padding[axis - 2] % 2, (weight.shape[axis] + padding[axis - 2]) % 2]
    weight = F.pixel_unshuffle(F.pad(weight, around), 2)
    return F.pad(weight, [0, 0, 0, 0, 0, ALIGNED - weight.shape[1]])


@torch.library.custom_op("scuff::fused_convolution", mutates_args=(), schema=SCHEMA)
def fused_convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    summand: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    """max(0, convolution + bias + summand), in one pass by cuDNN; elsewhere what it is meant to be."""
    if not x.is_cuda:
        y = F.conv2d(x, weight, bias, stride, padding, dilation, groups)
        return torch.relu(y if summand is None else y + summand)
    x, weight = (t.contiguous(memory_format=torch.channels_last) for t in (x, weight))
    if summand is None:
        return torch.cudnn_convolution_relu(x, weight, bias, stride, padding, dilation, groups)
    summand = summand.contiguous(memory_format=torch.channels_last)
    return torch.cudnn_convolution_add_relu(x, weight, summand, 1.0, bias, stride, padding, dilation, groups)


@fused_convolution.register_fake
def _(x, weight, bias, summand, stride, padding, dilation, groups):  # type: ignore[no-untyped-def]
    sides = [
        (side + 2 * p - d * (taps - 1) - 1) // s + 1
        for side, taps, s, p, d in zip(x.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True)
    ]
    made = torch.empty((len(x), len(weight), *sides), dtype=x.dtype, device=x.device)
    return made.contiguous(memory_format=torch.channels_last) if x.is_cuda else made
