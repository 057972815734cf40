"""One call for every model: an address, or an object, becomes a `Classifier`."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from scuff.models.architectures import list_architectures
from scuff.models.checkpoint import SUFFIXES, open_checkpoint
from scuff.models.classifier import Classifier
from scuff.models.objects import open_object, open_python
from scuff.models.onnx_file import open_onnx
from scuff.models.zoos import open_timm, open_torchvision

ZOOS = {"torchvision": open_torchvision, "timm": open_timm}
FORMS = (
    "torchvision:NAME",
    "timm:NAME",
    "onnx:FILE",
    "FILE.safetensors",
    "FILE.pt",
    "FILE.pth",
    "package.module:object",
)

_PYTHON = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
NAME = re.compile(r"\w[\w.-]{0,99}", re.ASCII)


def open_model(
    model: Any,
    name: str | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
) -> Classifier:
    """Open a classifier.

    Parameters
    ----------
    model
        An address: `torchvision:resnet50`, `timm:resnet50`, `onnx:FILE`, a state dict `FILE.safetensors`, `.pt` or
        `.pth`, on this machine or as in `s3://bucket/FILE.pt`, or `package.module:object`; `NAME=ADDRESS` gives it a
        name. Or an object: a Classifier, a torch module, or any callable from float images (N, C, H, W) in [0, 1] to
        logits (N, K). A module is copied as it is now.
    name
        What its rows are called: letters, digits and . _ - only. By default the last part of the address.
    mean, std
        Of pixels in [0, 1], one number per channel. They replace what the address knows by itself.

    >>> import torch
    >>> net = open_model(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 10)), name="linear")
    >>> net(torch.zeros(5, 3, 2, 2, dtype=torch.uint8)).shape
    torch.Size([5, 10])
    """
    if isinstance(model, (str, os.PathLike)):
        given, address = split_name(os.fspath(model))
        classifier = replace(_open_address(address), address=address, is_reopenable=True)
        name = name or given
    else:
        classifier = open_object(model)
    name = name or classifier.name or default_name(classifier.address)
    if not NAME.fullmatch(name):
        raise ValueError(f"a model's name may hold up to 100 letters, digits and . _ - only, got {name!r}")
    changed: dict[str, Any] = {key: value for key, value in (("mean", mean), ("std", std)) if value is not None}
    return replace(classifier, name=name, **changed)


def split_name(text: str) -> tuple[str | None, str]:
    """The parts of NAME=ADDRESS; without a name, None and the whole. A file whose name holds a = is a file.

    >>> split_name("r50=torchvision:resnet50"), split_name("s3://bucket/a=b/net.safetensors")
    (('r50', 'torchvision:resnet50'), (None, 's3://bucket/a=b/net.safetensors'))
    """
    name, equals, address = text.partition("=")
    if not equals or not NAME.fullmatch(name) or os.path.exists(text):
        return None, text
    return name, address


def default_name(address: str) -> str:
    """The last part of an address, with nothing in it that a file name cannot hold.

    >>> default_name("timm:resnet50.a1_in1k"), default_name("runs/best model.safetensors")
    ('resnet50.a1_in1k', 'best-model')
    """
    last = re.split(r"[:/\\]", address)[-1]
    if last.endswith((*SUFFIXES, ".onnx")):
        last = last.rpartition(".")[0]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", last).strip("-.") or "model"


def is_python_address(address: str) -> bool:
    """Whether it reads as `package.module:object`.

    >>> is_python_address("sklearn.svm:SVC"), is_python_address("torchvision:resnet50")
    (True, False)
    """
    return _PYTHON.fullmatch(address) is not None and address.partition(":")[0] not in (*ZOOS, "onnx")


def _open_address(address: str) -> Classifier:
    scheme, colon, rest = address.partition(":")
    if colon and scheme in ZOOS:
        return ZOOS[scheme](rest)
    if scheme == "onnx" or address.endswith(".onnx"):
        graph = open_onnx(Path(rest if scheme == "onnx" else address))
        return Classifier(graph, input_size=graph.size, channels=graph.channels)
    if address.endswith(SUFFIXES):
        return open_checkpoint(address)
    if is_python_address(address):
        return open_python(address, (*ZOOS, "onnx"))
    if "=" in address:
        raise ValueError(f"expected NAME=ADDRESS with a NAME of letters, digits and . _ - only, got {address!r}")
    raise ValueError(f"expected the address of a model, one of {', '.join(FORMS)}, got {address!r}{_hint(address)}")


def _hint(address: str) -> str:
    """For a bare name of a network: where to find weights for it."""
    file, colon, thing = address.partition(".py:")
    if colon:
        return f"; did you mean the module, {file.replace('/', '.')}:{thing}?"
    near = difflib.get_close_matches(address, list_architectures(), n=1, cutoff=0.6)
    return f"; did you mean torchvision:{near[0]}, or a file with weights of it?" if near else ""
