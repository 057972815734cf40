"""One call for every model: an address, or an object, becomes a `Classifier`."""

from __future__ import annotations

import difflib
import inspect
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

from scuff.failures import explaining_errors
from scuff.models.architectures import list_architectures
from scuff.models.checkpoint import SUFFIXES, load_weights, open_checkpoint
from scuff.models.classifier import PREPROCESSING, Classifier, Closed, address_of
from scuff.models.onnx_file import open_onnx
from scuff.models.zoos import open_timm, open_torchvision
from scuff.plugins import ADDRESS, current_folder_importable, import_object, load_installed, note_part

ZOOS = {"torchvision": open_torchvision, "timm": open_timm}
FORMS = (
    "torchvision:NAME, timm:NAME, onnx:FILE, FILE.safetensors, FILE.pt, FILE.pth, FILE.pt2, package.module:object, "
    "package.module:Class@FILE"
)

NAME = re.compile(r"\w[\w.-]{0,99}", re.ASCII)

_own: dict[str, Callable[[str], Any]] = {}
AnyOpener = TypeVar("AnyOpener", bound=Callable[[str], Any])


def register(*, name: str | None = None) -> Callable[[AnyOpener], AnyOpener]:
    """Register the decorated function as a collection of models, NAME:REST, for every command and call that takes one.

    The function gets what stands after the colon, and returns a `Classifier`, a torch module, or a callable from images
    to logits. `name` is by default its own, with - for _.
    """

    def add(function: AnyOpener) -> AnyOpener:
        scheme = name or function.__name__.replace("_", "-")
        if scheme in schemes():
            raise ValueError(f"there are models {scheme}:NAME already; give yours another name")
        _own[scheme] = function
        note_part("model", f"{scheme}:NAME", function.__module__)
        return function

    return add


def schemes() -> tuple[str, ...]:
    """What may stand before a colon instead of a package."""
    load_installed()
    return (*ZOOS, "onnx", *_own)


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
        `.pth`, a program of TorchScript or `torch.export` (`.pt`, `.pt2`), on this machine or as in
        `s3://bucket/FILE.pt`, `package.module:object`, or `package.module:Class@FILE` for the weights of a class of
        your own; `NAME=ADDRESS` gives it a name. Or an object: a Classifier, a torch module, or any callable from float
        images (N, C, H, W) in [0, 1] to logits (N, K). A module is copied as it is now.
    name
        What its rows are called: letters, digits and . _ - only. By default the last part of the address.
    mean, std
        Of pixels in [0, 1], one number per channel. They replace what the address knows by itself.

    Examples
    --------
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
    return ADDRESS.fullmatch(address) is not None and address.partition(":")[0] not in schemes()


def _open_address(address: str) -> Classifier:
    scheme, colon, rest = address.partition(":")
    if colon and scheme in ZOOS:
        return ZOOS[scheme](rest)
    if colon and scheme in schemes() and scheme in _own:
        with explaining_errors(address):
            return open_object(_own[scheme](rest), address)
    if scheme == "onnx" or address.endswith(".onnx"):
        graph = open_onnx(Path(rest if scheme == "onnx" else address))
        return Classifier(graph, input_size=graph.size, channels=graph.channels)
    code, at, weights = address.partition("@")
    if at and weights and is_python_address(code):
        return load_weights(_open_address(code), weights)
    if address.endswith(SUFFIXES):
        return open_checkpoint(address)
    if is_python_address(address):
        with current_folder_importable():  # what makes a model may import more
            return open_object(import_object(address, schemes()), address)
    if "=" in address:
        raise ValueError(f"expected NAME=ADDRESS with a NAME of letters, digits and . _ - only, got {address!r}")
    raise ValueError(f"expected the address of a model, one of {FORMS}, got {address!r}{_hint(address)}")


def _hint(address: str) -> str:
    """For a bare name of a network: where to find weights for it."""
    file, colon, thing = address.partition(".py:")
    if colon:
        return f"; did you mean the module, {file.replace('/', '.')}:{thing}?"
    near = difflib.get_close_matches(address, list_architectures(), n=1, cutoff=0.6)
    return f"; did you mean torchvision:{near[0]}, or a file with weights of it?" if near else ""


# --- Python objects ---------------------------------------------------------------------------------------------------


def open_object(thing: Any, address: str = "") -> Classifier:
    """A classifier, a torch module, what makes one of them when it is called with nothing, or a callable to logits."""
    address = address or address_of(thing)
    if _makes_a_model(thing):
        with explaining_errors(address):
            thing = thing()
    if isinstance(thing, Classifier):
        return thing if thing.address else replace(thing, address=address)
    if not callable(thing):
        raise ValueError(
            f"{address} is of type {type(thing).__name__}; expected a Classifier, a torch module, a class or function "
            "without required parameters that makes one, or a callable from images (N, C, H, W) to logits (N, K)"
        )
    # Grey images can be tripled where the first convolution takes three channels; else nobody knows.
    modules = thing.modules() if isinstance(thing, nn.Module) else ()
    first = next((module for module in modules if isinstance(module, nn.Conv2d)), None)
    channels = 3 if first is not None and first.in_channels == 3 else None
    classifier = Classifier(thing, channels=channels, address=address)
    return classifier.on(classifier.device)


def _makes_a_model(thing: Any) -> bool:
    """Whether it is called to get a model. Anything that needs an argument is taken to be the model itself."""
    if isinstance(thing, (Classifier, nn.Module)) or not callable(thing):
        return False
    try:
        parameters = inspect.signature(thing).parameters.values()
    except ValueError:  # something built in, which does not tell
        return isinstance(thing, type)
    required = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if required and isinstance(thing, type):
        raise ValueError(
            f"{address_of(thing)} needs arguments ({', '.join(required)}); write a function without any that makes it"
        )
    return not required


# --- without weights --------------------------------------------------------------------------------------------------


def close_model(classifier: Classifier) -> Classifier:
    """The same classifier without its weights in memory, if they can be had from its address again.

    `fingerprint` and `parameter_count` still answer, and `on` opens it; nothing else changes. A model that is an object
    of this process is returned as it is, and so is one that is made with other weights every time.
    """
    if not classifier.is_reopenable or isinstance(classifier.model, Closed):
        return classifier
    settings = tuple(getattr(classifier, key) for key in PREPROCESSING)
    address, fingerprint = _findable(classifier.address), classifier.fingerprint()
    closed = Closed(address, _open_network, fingerprint, classifier.parameter_count(), settings)
    code = classifier.address.partition("@")[0]
    is_code = is_python_address(code) or code.partition(":")[0] in _own  # what that makes may differ every time
    if is_code and replace(classifier, model=_open_network(address)).fingerprint() != fingerprint:
        return classifier
    return replace(classifier, model=closed, device=torch.device("cpu"))


def _findable(address: str) -> str:
    """An address that means the same in another folder."""
    if address.startswith("onnx:"):
        return f"onnx:{os.path.abspath(address.removeprefix('onnx:'))}"
    code, _, weights = address.partition("@")
    if is_python_address(code) and os.path.isfile(weights):
        return f"{code}@{os.path.abspath(weights)}"
    return os.path.abspath(address) if os.path.isfile(address) else address


def _open_network(address: str) -> Callable:
    return open_model(address).model
