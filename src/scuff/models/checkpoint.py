"""Weights in files: ours, with all that is needed to use them again, and the state dicts of others.

A file of ours is a safetensors file whose metadata name the architecture and hold the settings of the classifier. It
holds no code, and nothing that is run when it is read.
"""

from __future__ import annotations

import copy
import io
import json
import os
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import safetensors
import torch
from torch import Tensor, nn

from scuff.files import as_place
from scuff.models.architectures import ARCHITECTURES, MADE_FOR_IMAGENET
from scuff.models.classifier import Classifier
from scuff.models.programs import open_program
from scuff.models.states import (
    COUNTER,
    count_classes_and_channels,
    differences,
    explain_strangeness,
    find_state,
    load_network,
    plain_name,
    recognise,
)
from scuff.pictures import Cut
from scuff.readers import read_json
from scuff.store import find_file
from scuff.tensors import read_metadata, read_tensors, write_tensors

SUFFIXES = (".safetensors", ".pt", ".pth", ".pt2", ".ts", ".torchscript")
SETTINGS = {  # in JSON; the architecture is plain text
    "mean": list[float] | None,
    "std": list[float] | None,
    "input_size": int | None,
    "class_names": list[str] | None,
    "cut": dict[str, int | str | bool | None] | None,
    "probabilities": bool,
}
IMAGENET = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}


# --- writing --------------------------------------------------------------------------------------------------------


def save_model(
    model: Classifier | nn.Module,
    path: str | os.PathLike[str],
    *,
    architecture: str | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    class_names: Sequence[str] | None = None,
    input_size: int | None = None,
    origin: Mapping[str, Any] | None = None,
) -> Path | str:
    """Write a .safetensors file that `open_model` opens without being told anything; return its path or address.

    The file may be anywhere that fsspec reaches, as in `"s3://bucket/net.safetensors"`.
    Settings that are not given are those of the classifier. The architecture is recognised if it is one of ours; the
    weights of any other network are written too, but need code of yours to be used again. `origin`, as plain data, says
    how the weights were made; `read_origin` gives it back.
    """
    path = as_place(path)
    if not str(path).endswith(".safetensors"):
        raise ValueError(f"expected a file name that ends in .safetensors, got {path}")
    given: dict[str, Any] = {"mean": mean, "std": std, "class_names": class_names, "input_size": input_size}
    classifier = model if isinstance(model, Classifier) else Classifier(model)
    classifier = replace(classifier, **{key: value for key, value in given.items() if value is not None})
    if not isinstance(classifier.model, nn.Module):
        raise ValueError(f"only torch modules have weights to save, got {type(classifier.model).__name__}")
    state = find_state(classifier.model.state_dict())
    identity = recognise(state) if architecture is None else (architecture, *_fit(architecture, state))
    settings = {key: getattr(classifier, key) for key in SETTINGS}
    metadata = {"format": "pt"} if identity is None else {"format": "pt", "architecture": identity[0]}
    for key, value in settings.items():
        if value not in (None, False):
            metadata[key] = json.dumps(asdict(value) if isinstance(value, Cut) else value)
    if origin is not None:
        metadata["origin"] = json.dumps(origin, sort_keys=True)
    write_tensors(path, state, metadata)
    return path


# --- reading --------------------------------------------------------------------------------------------------------


def open_checkpoint(path: str | os.PathLike[str]) -> Classifier:
    """A classifier from a program, or from a state dict of one of our architectures.

    What a file of ours says of itself holds. Another one with 1000 classes is taken for a model of ImageNet, with the
    usual mean and standard deviation; any other one is not normalised.
    """
    path = as_place(path)
    state, metadata = _read(path)
    if isinstance(state, Classifier):
        return state
    try:
        name, classes, channels = _identify(metadata.get("architecture"), state)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    settings: dict[str, Any] = {}
    if "architecture" in metadata:
        settings = _settings(path, metadata)
    elif (classes, channels) == (1000, 3):
        own_size = {"input_size": 224, "cut": Cut(256, 224)} if name in MADE_FOR_IMAGENET else {}
        settings = {**IMAGENET, **own_size}
    return Classifier(load_network(name, classes, channels, state), channels=channels, **settings)


def load_weights(classifier: Classifier, path: str | os.PathLike[str]) -> Classifier:
    """The same network with the weights of a file, and with the settings that the file may hold."""
    path = as_place(path)
    if not isinstance(classifier.model, nn.Module):
        raise ValueError(f"only torch modules have weights to load, got {type(classifier.model).__name__}")
    state, metadata = _read(path)
    if isinstance(state, Classifier):
        raise ValueError(f"{path} holds a program, which needs no class; open it by itself")
    network = copy.deepcopy(classifier.model)
    expected = {plain_name(name): name for name in network.state_dict()}
    counters = {name: value for name, value in network.state_dict().items() if name.endswith(COUNTER)}
    try:
        network.load_state_dict({**counters, **{expected.get(name, name): value for name, value in state.items()}})
    except RuntimeError as error:
        reason = "; ".join(line.strip() for line in str(error).splitlines()[1:])
        raise ValueError(f"the weights of {path} are not those of {type(network).__name__}: {reason}") from error
    return replace(classifier, model=network.eval(), **_settings(path, metadata))


def read_origin(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """How the weights of a file were made, if it says so. The weights are not read for that."""
    return read_json(
        _reading(path, read_metadata).get("origin", "null"), f"the origin of {path}", dict[str, Any] | None
    )


def _read(path: Path | str) -> tuple[dict[str, Tensor] | Classifier, Mapping[str, str]]:
    """The state dict in a file and its metadata, or the program in it."""
    store, name = find_file(path)
    if not store.exists(name):
        raise ValueError(f"there is no file {path}")
    if name.endswith(".safetensors"):
        content, metadata = _reading(path, read_tensors)
    else:
        raw = store.read(name)
        program = open_program(path, raw)
        if program is not None:
            return program, {}
        content, metadata = _read_pickle(path, raw), {}
    state = find_state(content)
    if not state:
        raise ValueError(f"{path} holds no state dict: no tensors with names")
    return state, metadata


def _identify(architecture: str | None, state: Mapping[str, Tensor]) -> tuple[str, int, int]:
    if architecture is not None:
        return architecture, *_fit(architecture, state)
    recognised = recognise(state)
    if recognised is None:
        raise ValueError(
            f"these are the weights of no architecture of ours: {explain_strangeness(state)}; write a function or "
            "class that builds the network, and open package.module:Class@FILE"
        )
    return recognised


def _fit(architecture: str, state: Mapping[str, Tensor]) -> tuple[int, int]:
    """Classes and channels of a state dict that must be of this architecture."""
    if architecture not in ARCHITECTURES:
        raise ValueError(f"architecture {architecture!r} is none of {', '.join(ARCHITECTURES)}")
    counts = count_classes_and_channels(architecture, state)
    if counts is None or differences(architecture, state, *counts):
        raise ValueError(f"the weights are not those of {architecture}: {explain_strangeness(state)}")
    return counts


def _settings(path: Path | str, metadata: Mapping[str, str]) -> dict[str, Any]:
    try:
        settings = {key: read_json(metadata[key], key, SETTINGS[key]) for key in SETTINGS if key in metadata}
        if settings.get("cut") is not None:
            settings["cut"] = Cut(**settings["cut"])
    except (TypeError, ValueError) as error:
        raise ValueError(f"the metadata of {path} are not readable: {error}") from error
    return settings


def _reading(path: str | os.PathLike[str], read: Callable[..., Any]) -> Any:
    try:
        return read(path)
    except safetensors.SafetensorError as error:
        reason = f"{error}; it may be cut short, or be something else"
        raise ValueError(f"cannot read {as_place(path)} as safetensors: {reason}") from error


def _read_pickle(path: Path | str, content: bytes) -> Any:
    """What torch.save has written. Anything that would run code is refused."""
    try:
        return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ValueError(
            f"{path} holds more than tensors, and loading that could run code, or it is no file of torch.save; save "
            "model.state_dict() instead of the model, and open package.module:Class@FILE, or save a program with "
            "torch.export.save"
        ) from error
    except (RuntimeError, EOFError, ValueError, KeyError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"cannot read {path}: {reason}; it may be cut short, or be no file of torch.save") from error
