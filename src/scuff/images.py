"""The pixel contract: what images may look like outside, and the one shape they have inside.

Inside, a batch is a torch tensor (N, C, H, W) with C = 1 or 3, either uint8 or float32 in [0, 1]. Outside, the caller
may have torch (CHW, NCHW), numpy (HW, HWC, NHWC), PIL, or a list of those, as uint8 or float; the caller gets back what
was handed in. This is the only place that checks pixels: nothing further in looks again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

Images = Any  # torch.Tensor | numpy.ndarray | PIL.Image.Image | list of those

HALVES = (torch.float16, torch.bfloat16)
FLOATS = (*HALVES, torch.float32, torch.float64)


class ImageError(ValueError):
    """An image that does not keep the pixel contract; the message says what was given and what to do."""


@dataclass(frozen=True)
class OpenedImages:
    """A batch in the inner shape, and the way back to the caller's own type and layout."""

    batch: Tensor
    restore: Callable[[Tensor], Images]
    single: bool


def open_images(images: Images, check: bool = True) -> OpenedImages:
    """Bring images into the inner shape.

    `check=False` leaves out the look at the values (NaN, range), which on a GPU costs a wait for the device.
    """
    if isinstance(images, Tensor):
        return _open_tensor(images, check)
    if isinstance(images, np.ndarray):
        return _open_array(images, check)
    from PIL import Image

    if isinstance(images, Image.Image):
        if images.mode not in ("L", "RGB"):
            raise ImageError(f"expected a PIL image of mode L or RGB, got {images.mode}; call image.convert('RGB')")
        opened = _open_array(np.array(images), check)
        return OpenedImages(opened.batch, lambda y: Image.fromarray(opened.restore(y)), True)
    raise ImageError(
        f"expected a torch tensor, a numpy array, a PIL image or a list of them, got {type(images).__name__}; "
        "convert it, for instance with numpy.asarray"
    )


def _open_tensor(images: Tensor, check: bool) -> OpenedImages:
    if images.layout != torch.strided or images.is_meta:
        kind = "a meta tensor" if images.is_meta else f"one of layout {images.layout}"
        raise ImageError(f"expected a dense tensor with pixels in it, got {kind}")
    shape, dtype, rewrap = tuple(images.shape), images.dtype, _rewrapper(images)
    images = images.detach().as_subclass(Tensor)
    if images.ndim == 2:
        batch, back = images[None, None], lambda y: y[0, 0]
    elif images.ndim == 3 and shape[0] in (1, 3):
        batch, back = images[None], lambda y: y[0]
    elif images.ndim == 4 and shape[1] in (1, 3):
        batch, back = images, lambda y: y
    else:
        hint = "permute it to channels first" if shape and shape[-1] in (1, 3) else "select 1 or 3 channels"
        if len(shape) in (3, 4) and shape[-3] == 4:
            hint = _ALPHA_REMEDY.format("images[..., :3, :, :]")
        raise ImageError(f"expected a tensor (H, W), (C, H, W) or (N, C, H, W) with C = 1 or 3, got {shape}; {hint}")
    return OpenedImages(_checked(batch, check), lambda y: rewrap(back(y.to(dtype))), len(shape) < 4)


def _rewrapper(images: Tensor) -> Callable[[Tensor], Tensor]:
    """The way back to a subclass of torchvision's, such as `tv_tensors.Image`."""
    if not type(images).__module__.startswith("torchvision."):
        return lambda y: y
    from torchvision import tv_tensors

    return lambda y: tv_tensors.wrap(y, like=images)


def _open_array(images: np.ndarray, check: bool) -> OpenedImages:
    shape, dtype = images.shape, images.dtype
    if images.ndim == 2:
        batch, back = images[None, :, :, None], lambda y: y[0, :, :, 0]
    elif images.ndim == 3 and shape[-1] in (1, 3):
        batch, back = images[None], lambda y: y[0]
    elif images.ndim == 4 and shape[-1] in (1, 3):
        batch, back = images, lambda y: y
    else:
        hint = "add a channel axis with images[..., None] if these are grey images"
        if len(shape) >= 3 and shape[-3] in (1, 3):
            hint = "move the channels last with numpy.moveaxis(images, -3, -1)"
        elif len(shape) >= 3 and shape[-1] == 4:
            hint = _ALPHA_REMEDY.format("images[..., :3]")
        raise ImageError(f"expected an array (H, W), (H, W, C) or (N, H, W, C) with C = 1 or 3, got {shape}; {hint}")
    if not batch.flags.writeable or any(s < 0 for s in batch.strides) or not batch.dtype.isnative:
        batch = batch.astype(batch.dtype.newbyteorder("="))  # torch can neither share nor flip these
    try:
        tensor = torch.from_numpy(batch)
    except TypeError as error:
        raise ImageError(f"expected uint8 or float pixels, got dtype {dtype}; {_DTYPE_REMEDY}") from error
    tensor = _checked(tensor.permute(0, 3, 1, 2), check)

    def restore(y: Tensor) -> np.ndarray:
        return back(y.permute(0, 2, 3, 1).contiguous().numpy().astype(dtype, copy=False))

    return OpenedImages(tensor, restore, len(shape) < 4)


_ALPHA_REMEDY = "the fourth channel looks like transparency: leave it out with {}, and put it back afterwards"
_DTYPE_REMEDY = "pass uint8 in 0..255, or float in 0..1 (divide by the largest possible value)"


def _checked(batch: Tensor, check: bool) -> Tensor:
    if batch.shape[-1] == 0 or batch.shape[-2] == 0:
        raise ImageError(f"expected images of at least 1 x 1 pixel, got {tuple(batch.shape)}")
    if batch.dtype == torch.uint8:
        return batch
    if batch.dtype not in FLOATS:
        raise ImageError(f"expected uint8 or float pixels, got dtype {batch.dtype}; {_DTYPE_REMEDY}")
    is_half = batch.dtype in HALVES
    batch = batch.float()
    if check and len(batch):
        low, high = torch.stack(torch.aminmax(batch)).tolist()
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ImageError("expected finite pixels, got NaN or infinity; clean the data, e.g. with torch.nan_to_num")
        if low < 0.0 or high > 1.0:
            remedy = "divide by 255" if low >= 0.0 and high <= 255.0 else "undo the normalisation first"
            raise ImageError(
                f"expected float pixels in [0, 1], got values from {low:.4g} to {high:.4g}; {remedy}: corruptions act "
                "on pixels, before a model's normalisation"
            )
    # Half precision cannot hold k / 255: the level is meant, and its bytes must give the same result.
    # A tensor, since a GPU divides by a number inexactly.
    return torch.round(batch * 255.0) / torch.full((1,), 255.0, device=batch.device) if is_half else batch
