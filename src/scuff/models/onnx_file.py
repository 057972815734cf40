"""Models in ONNX files, run by onnxruntime."""

from __future__ import annotations

import hashlib
import importlib
import math
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scuff.packages import need

DTYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}
QUIET = 3  # onnxruntime's level of messages: errors only


def import_package(name: str, what: str) -> ModuleType:
    """Import a package of the extra `models`; `what` is the address that asks for it."""
    need(what, name.partition(".")[0])
    return importlib.import_module(name)


@dataclass(frozen=True, eq=False)
class OnnxModel:
    """A callable (N, C, H, W) -> outputs, around a session; knows what the graph says of its input.

    `batch` is the number of images that the graph insists on, `size` the side of the images, `channels` their channels;
    each is None where the graph leaves it open. Arrays travel through the memory of the host, on a GPU too.
    """

    path: Path
    session: Any = field(repr=False)
    batch: int | None
    channels: int | None
    size: int | None
    channels_last: bool

    def __call__(self, images: Tensor) -> Tensor:
        array = images.cpu().numpy()
        if self.channels_last:
            array = array.transpose(0, 2, 3, 1)
        array = np.ascontiguousarray(array, DTYPES[self.session.get_inputs()[0].type])
        batches = 1
        if (
            self.batch is not None
        ):  # as many images at a time as the graph insists on; what the last batch lacks is black
            batches = max(1, math.ceil(len(array) / self.batch))
            black = np.zeros((batches * self.batch - len(array), *array.shape[1:]), array.dtype)
            array = np.concatenate([array, black])
        name, output = self.session.get_inputs()[0].name, self.session.get_outputs()[0].name
        outputs = [self.session.run([output], {name: piece})[0] for piece in np.split(array, batches)]
        return torch.from_numpy(np.concatenate(outputs)[: len(images)]).to(images.device)

    def digest(self) -> bytes:
        """A hash of the file, and of the one beside it in which torch puts large weights."""
        state = hashlib.blake2b()
        for path in (self.path, self.path.with_name(f"{self.path.name}.data")):
            if path.exists():
                with open(path, "rb") as file:
                    state.update(hashlib.file_digest(file, hashlib.blake2b).digest())
        return state.digest()


def open_onnx(path: Path, device: torch.device | None = None, kind: type[OnnxModel] = OnnxModel) -> OnnxModel:
    """Open an ONNX file: on CUDA where that is asked for and onnxruntime can, else on the CPU."""
    runtime = import_package("onnxruntime", f"onnx:{path}")
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    providers: list[Any] = ["CPUExecutionProvider"]
    if device is not None and device.type == "cuda" and "CUDAExecutionProvider" in runtime.get_available_providers():
        providers.insert(0, ("CUDAExecutionProvider", {"device_id": device.index or 0}))
    options = runtime.SessionOptions()
    options.log_severity_level = QUIET
    try:
        session = runtime.InferenceSession(str(path), options, providers=providers)
    except Exception as error:  # onnxruntime's errors have no base of their own
        raise ValueError(f"cannot read {path} as an ONNX model: {error}") from error
    return kind(path, session, **_read_input(path, session.get_inputs(), kind is OnnxModel))


def _read_input(path: Path, inputs: list[Any], is_classifier: bool) -> dict[str, Any]:
    """What the graph says of its input: open dimensions have a name or nothing instead of a number."""
    if not is_classifier and len(inputs) == 1 and len(inputs[0].shape) == 3 and inputs[0].type in DTYPES:
        return {"batch": 1, "channels": 3, "size": None, "channels_last": False}  # a single image
    if len(inputs) != 1 or len(inputs[0].shape) != 4 or inputs[0].type not in DTYPES:
        given = ", ".join(f"{i.name} {i.shape} {i.type}" for i in inputs) or "none"
        raise ValueError(f"{path}: expected one input of float images (N, C, H, W) or (N, H, W, C), got {given}")
    batch, *rest = (n if isinstance(n, int) and n > 0 else None for n in inputs[0].shape)
    channels_last = rest[0] not in (1, 3) and rest[2] in (1, 3)
    height, width, channels = rest if channels_last else (rest[1], rest[2], rest[0])
    if is_classifier and height != width:
        raise ValueError(f"{path}: expected an input of square images, got {height} x {width} pixels")
    return {"batch": batch, "channels": channels, "size": height, "channels_last": channels_last}
