"""A classifier: any callable from images to logits, together with what it expects its images to look like.

Corruptions act on pixels; what a model wants to see is the model's own affair. So everybody else hands over pixels, and
this is the only place where they are resized and normalised.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scuff.failures import explaining_errors
from scuff.images import FLOATS
from scuff.models.onnx_file import OnnxModel, open_onnx
from scuff.models.states import plain_name
from scuff.ops.colour import luma
from scuff.pictures import Cut

PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}
PREPROCESSING = ("mean", "std", "input_size", "channels", "probabilities")  # what a fingerprint covers beside weights
LEAST_PROBABILITY = 1e-30  # whose logarithm is still a number


@dataclass(frozen=True)
class Closed:
    """In place of a network: where it is, how it is opened, and what its fingerprint was and covered."""

    address: str
    open_network: Callable[[str], Callable]  # a function of a module, so that it can be sent to other processes
    fingerprint: str
    parameters: int | None
    preprocessing: tuple[Any, ...]

    def __call__(self, images: Any) -> Any:
        raise ValueError(f"the model at {self.address} is closed; call on(device) of its classifier, which opens it")


@dataclass(frozen=True, eq=False)
class Classifier:
    """A model that takes pixels.

    Called with images (N, C, H, W) of one or three channels, uint8 or float in [0, 1], it returns logits (N, K) as
    float32. Values are not looked at: on a GPU nothing here waits for the device.

    Parameters
    ----------
    model
        Any callable from a float batch to logits: a torch module, an ONNX session, a function. An object with an
        attribute `logits`, and a numpy array, are taken as well.
    name
        What its rows are called.
    mean, std
        Of pixels in [0, 1], one number per channel. Without them the model sees the pixels themselves.
    input_size
        The side in pixels to which images of any other size are brought, bilinear with antialiasing. Without it the
        model sees images as they are.
    channels
        3 triples grey images. 1 folds colours into their luma, which is not rounded to a whole grey level, so that
        bytes and floats have the same answer; Pillow would round it. Without it the model sees images as they are.
    class_names
        What the outputs mean.
    cut
        How pictures of any size are cut for this model before anything else happens to them.
    address, is_reopenable
        Where it was opened from, and whether `open_model` gives the same model for it again.
    probabilities
        The model returns probabilities; logits are their logarithms.
    device, precision
        Where it runs and how: see `on`.
    """

    model: Any = field(repr=False)
    name: str = ""
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    input_size: int | None = None
    channels: int | None = None
    class_names: tuple[str, ...] | None = field(default=None, repr=False)
    cut: Cut | None = None
    address: str = ""
    probabilities: bool = False
    device: torch.device = None  # type: ignore[assignment]  # found by __post_init__
    precision: str = "float32"
    is_reopenable: bool = field(default=False, repr=False)
    _affine: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        def put(key: str, value: Any) -> None:
            object.__setattr__(self, key, value)

        put("mean", _numbers(self.mean))
        put("std", _numbers(self.std))
        put("class_names", None if self.class_names is None else tuple(self.class_names))
        first = next(self.model.parameters(), None) if isinstance(self.model, nn.Module) else None
        put("device", torch.device(self.device or ("cpu" if first is None else first.device)))
        _check(self)
        # Once and here, so that no call waits for a copy to the device.
        put("_affine", _affine(self.mean, self.std, self.device))

    def __call__(self, images: Tensor) -> Tensor:
        if isinstance(self.model, nn.Module) and self.model.training:
            raise ValueError(f"{self._called()} is in training mode; call on(device), or eval() of the module itself")
        with torch.inference_mode():
            return self.forward(images)

    def forward(self, images: Tensor) -> Tensor:
        """The same without a look at the mode of the model, and gradients pass: for whoever adapts it."""
        x = self._as_input(images)
        dtype = PRECISIONS[self.precision]
        mixed = torch.autocast(self.device.type, dtype, enabled=dtype is not None)
        with mixed, explaining_errors(self._called(), x):
            output = self.model(x)
        return self._as_logits(output, len(images))

    def graph(self, images: Tensor) -> Tensor:
        """What a call computes, as torch.compile wants it: without a word about what may be wrong with the model."""
        dtype = PRECISIONS[self.precision]
        x = self._as_input(images)
        with torch.autocast(self.device.type, dtype, enabled=dtype is not None):
            output = self.model(x)
        return self._as_logits(output, len(images))

    def on(self, device: str | torch.device, precision: str = "float32", compile: bool = False) -> Classifier:
        """A copy on a device, ready for inference; this one stays as it is.

        A torch module is copied, moved and put into evaluation mode; on CUDA it keeps its channels last, which suits
        the hardware. `precision` "bfloat16" or "float16" runs it under torch.autocast. `compile` sends it through
        torch.compile. Other callables get their images on the device and are left alone. A closed model is opened.
        """
        if isinstance(self.model, Closed):
            return self._reopened(self.model).on(device, precision, compile)
        device = torch.device(device)
        if device.type == "cuda" and not torch.cuda.is_available():
            raise ValueError(f"device {device} was asked for, but torch finds no CUDA device; use cpu")
        model = self.model
        if isinstance(model, nn.Module):
            model = copy.deepcopy(getattr(model, "_orig_mod", model)).to(device).eval()
            if device.type == "cuda":
                model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's own stub
            if compile:
                model = torch.compile(model)
        elif isinstance(model, OnnxModel) and device != self.device:
            model = open_onnx(model.path, device, type(model))
        return replace(self, model=model, device=device, precision=precision)

    def fingerprint(self) -> str:
        """A short hash of weights and preprocessing; the same on every device and in every precision.

        Of a callable that is neither a torch module nor an ONNX file, only the address can be known.
        """
        settings = tuple(getattr(self, key) for key in PREPROCESSING)
        if isinstance(self.model, Closed):
            same = settings == self.model.preprocessing
            return self.model.fingerprint if same else self._reopened(self.model).fingerprint()
        state = hashlib.blake2b(digest_size=8)
        state.update(repr(settings).encode())
        if isinstance(self.model, nn.Module):
            for name, value in self.model.state_dict().items():
                if isinstance(value, Tensor):
                    state.update(f"{plain_name(name)} {tuple(value.shape)}".encode())
                    state.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
        elif isinstance(self.model, OnnxModel):
            state.update(self.model.digest())
        else:
            state.update((self.address or address_of(self.model)).encode())
        return state.hexdigest()

    def parameter_count(self) -> int | None:
        """How many numbers a torch module has learned; None for anything else."""
        if isinstance(self.model, Closed):
            return self.model.parameters
        return sum(p.numel() for p in self.model.parameters()) if isinstance(self.model, nn.Module) else None

    def _reopened(self, closed: Closed) -> Classifier:
        """The same with its weights; refused if they are no longer those that it was closed with."""
        opened = replace(self, model=closed.open_network(closed.address))
        as_it_was = replace(opened, **dict(zip(PREPROCESSING, closed.preprocessing, strict=True)))
        if as_it_was.fingerprint() != closed.fingerprint:
            raise ValueError(
                f"the model {self.name or closed.address} is not what it was when it was opened first: "
                f"{closed.address} has been written anew since; run the same command again"
            )
        return opened

    def _as_input(self, images: Tensor) -> Tensor:
        """Channels, size, layout of memory, and the scale of the values: what the model wants."""
        if not isinstance(images, Tensor) or images.ndim != 4 or images.shape[1] not in (1, 3):
            given = tuple(images.shape) if hasattr(images, "shape") else type(images).__name__
            raise ValueError(f"expected a tensor of images (N, C, H, W) with C = 1 or 3, got {given}")
        if images.dtype != torch.uint8 and images.dtype not in FLOATS:
            raise ValueError(f"expected images as uint8, or as float in [0, 1], got {images.dtype}")
        x = images.to(self.device)
        if self.channels == 1 and x.shape[1] == 3:
            x = luma(x.float())
        if self.input_size is not None and x.shape[-2:] != (self.input_size, self.input_size):
            size = (self.input_size, self.input_size)
            x = F.interpolate(x.float(), size, mode="bilinear", antialias=True, align_corners=False)
        if self.channels == 3:
            x = x.expand(-1, 3, -1, -1)
        if self.mean is not None and len(self.mean) not in (1, x.shape[1]):
            raise ValueError(
                f"{self._called()} normalises {len(self.mean)} channels, got images {tuple(images.shape)}; "
                f"set channels={len(self.mean)} to have them converted"
            )
        if x.is_cuda:
            x = x.contiguous(memory_format=torch.channels_last)
        bytes_given = images.dtype == torch.uint8
        if self.mean is None:
            return x / 255 if bytes_given else x.to(torch.float32, copy=True)  # the model may work in place
        scale, shift = self._affine[bytes_given]
        return torch.addcmul(shift, x if bytes_given else x.float(), scale)

    def _as_logits(self, output: Any, count: int) -> Tensor:
        output = getattr(output, "logits", output)
        if isinstance(output, np.ndarray):
            output = torch.from_numpy(output)
        if not isinstance(output, Tensor):
            raise ValueError(f"{self._called()} must return logits, a tensor (N, K), got {type(output).__name__}")
        if output.ndim != 2 or len(output) != count:
            raise ValueError(
                f"{self._called()} must return logits (N, K), here ({count}, K), got {tuple(output.shape)}"
            )
        logits = output.to(self.device).float()
        return logits.clamp_min(LEAST_PROBABILITY).log() if self.probabilities else logits

    def _called(self) -> str:
        return f"the model {self.name}" if self.name else "the model"


def address_of(thing: Any) -> str:
    """Where an object, or else its class, was defined: module:name."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}:{named.__qualname__.rpartition('<locals>.')[2]}"


def _numbers(values: Sequence[float] | float | None) -> tuple[float, ...] | None:
    if values is None:
        return None
    return (float(values),) if isinstance(values, (int, float)) else tuple(float(v) for v in values)


def _affine(mean: tuple | None, std: tuple | None, device: torch.device) -> dict[bool, tuple[Tensor, Tensor]] | None:
    """Normalisation as a factor and a summand (1, C, 1, 1), for bytes (True) and for floats in [0, 1] (False)."""
    if mean is None:
        return None
    means, stds = (torch.tensor(v, dtype=torch.float64).reshape(1, -1, 1, 1) for v in (mean, std))
    factor, summand = 1.0 / stds, -means / stds
    return {
        of_bytes: (f.float().to(device), summand.float().to(device))
        for of_bytes, f in ((True, factor / 255.0), (False, factor))
    }


def _check(classifier: Classifier) -> None:
    def need(good: bool, what: str) -> None:
        if not good:
            raise ValueError(f"{classifier._called()}: {what}")

    mean, std, size, channels = classifier.mean, classifier.std, classifier.input_size, classifier.channels
    need(callable(classifier.model), f"expected a callable, got {type(classifier.model).__name__}")
    given = f"got mean {mean} and std {std}"
    need((mean is None) == (std is None), f"mean and std go together, {given}")
    if mean is not None and std is not None:
        one_each = len(mean) == len(std) and len(mean) in (1, 3)
        need(one_each, f"mean and std need one number per channel, {given}")
        of_pixels = all(abs(m) <= 1 for m in mean) and all(0 < s <= 2 for s in std)  # which NaN is not
        need(of_pixels, f"mean and std are those of pixels in [0, 1], {given}; divide those of bytes by 255")
        need(channels is None or len(mean) in (1, channels), f"{len(mean)} means do not suit {channels} channels")
    need(channels in (None, 1, 3), f"channels must be 1 or 3, got {channels}")
    need(size is None or (type(size) is int and size >= 1), f"input_size must be at least 1, got {size!r}")
    known = classifier.precision in PRECISIONS
    need(known, f"precision must be one of {', '.join(PRECISIONS)}, got {classifier.precision!r}")
