"""The pixel contract: what is accepted, what comes back, and what each refusal says."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

import scuff
from scuff.images import open_images

FOG = ("cifar10-c/fog", 3)


def _picture(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize("shape", [(20, 30), (20, 30, 1), (20, 30, 3), (4, 20, 30, 1), (4, 20, 30, 3), (0, 20, 30, 3)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.float64])
def test_numpy_comes_back_as_given(shape: tuple[int, ...], dtype: type) -> None:
    x = _picture(*shape)
    x = x if dtype is np.uint8 else (x / 255).astype(dtype)
    before = x.copy()
    y = scuff.corrupt(x, *FOG)
    assert isinstance(y, np.ndarray)
    assert (y.shape, y.dtype) == (x.shape, x.dtype)
    assert np.array_equal(x, before)


@pytest.mark.parametrize("shape", [(20, 30), (1, 20, 30), (3, 20, 30), (4, 1, 20, 30), (4, 3, 20, 30), (0, 3, 20, 30)])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_torch_comes_back_as_given(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x = torch.from_numpy(_picture(*shape))
    x = x if dtype == torch.uint8 else (x / 255).to(dtype)
    y = scuff.corrupt(x, *FOG)
    assert (y.shape, y.dtype, y.device) == (x.shape, x.dtype, x.device)


@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_pil_comes_back_as_given(mode: str) -> None:
    image = Image.fromarray(_picture(20, 30, 3)).convert(mode)
    y = scuff.corrupt(image, *FOG)
    assert isinstance(y, Image.Image)
    assert (y.mode, y.size) == (mode, image.size)


def test_all_kinds_give_the_same_picture() -> None:
    x = _picture(20, 30, 3)
    expected = scuff.corrupt(x, *FOG)
    assert np.array_equal(np.asarray(scuff.corrupt(Image.fromarray(x), *FOG)), expected)
    assert np.array_equal(scuff.corrupt(torch.from_numpy(x).permute(2, 0, 1), *FOG).permute(1, 2, 0).numpy(), expected)
    assert np.array_equal(np.rint(scuff.corrupt(x / 255.0, *FOG) * 255), expected)


def test_lists_may_mix_kinds_and_sizes() -> None:
    images = [_picture(20, 30, 3), Image.fromarray(_picture(25, 18, 3)), torch.rand(1, 9, 9)]
    out = scuff.corrupt(images, *FOG)
    assert [type(o) for o in out] == [type(i) for i in images]
    assert np.array_equal(out[1], np.asarray(scuff.corrupt(images[1], *FOG, ids=[1])))
    with pytest.raises(ValueError, match="must hold single images"):
        scuff.corrupt([torch.rand(2, 3, 8, 8)], *FOG)


@pytest.mark.parametrize("view", ["reversed", "readonly", "strided", "fortran", "big-endian"])
def test_unusual_arrays(view: str) -> None:
    x = _picture(20, 30, 3)
    if view == "big-endian":
        given, plain = (x / 255).astype(">f4"), (x / 255).astype("<f4")
    else:
        given = {"reversed": x[::-1], "strided": np.repeat(x, 2, 1)[:, ::2], "fortran": np.asfortranarray(x)}.get(
            view, x
        )
        plain = given.copy()
        given.flags.writeable = view != "readonly"
    assert np.array_equal(scuff.corrupt(given, *FOG), scuff.corrupt(plain, *FOG))


def test_gradients_do_not_leak() -> None:
    x = torch.rand(1, 3, 8, 8, requires_grad=True)
    assert not scuff.corrupt(x, *FOG).requires_grad


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (torch.full((1, 3, 4, 4), float("nan")), "NaN or infinity; clean the data"),
        (torch.full((1, 3, 4, 4), float("inf")), "NaN or infinity"),
        (torch.full((1, 3, 4, 4), 200.0), r"\[0, 1\], got values from 200 to 200; divide by 255"),
        (torch.full((1, 3, 4, 4), -1.5), "undo the normalisation first"),
        (np.full((4, 4, 3), 1.01), "divide by 255"),
        (torch.zeros(1, 5, 8, 8), r"C = 1 or 3, got \(1, 5, 8, 8\); select 1 or 3 channels"),
        (torch.zeros(8, 8, 3), "permute it to channels first"),
        (torch.zeros(2, 2, 3, 8, 8), "expected a tensor"),
        (torch.zeros(()), "expected a tensor"),
        (torch.zeros(3, 0, 8), "at least 1 x 1 pixel"),
        (np.zeros((3, 8, 8), np.uint8), "move the channels last"),
        (np.zeros((5, 8, 8), np.uint8), r"add a channel axis with images\[..., None\]"),
        (np.zeros((8, 8, 4), np.uint8), "C = 1 or 3"),
        (np.zeros((8, 8, 3), np.int64), "got dtype torch.int64; pass uint8 in 0..255"),
        (np.zeros((8, 8, 3), np.uint16), "pass uint8 in 0..255"),
        (np.zeros((8, 8, 3), "U1"), "expected uint8 or float pixels"),
        (Image.new("RGBA", (8, 8)), r"got RGBA; call image.convert\('RGB'\)"),
        (Image.new("I;16", (8, 8)), "call image.convert"),
        ("picture.png", "got str; convert it"),
        (None, "got NoneType"),
    ],
)
def test_refusals_say_what_was_given_and_what_to_do(images: object, message: str) -> None:
    with pytest.raises(scuff.ImageError, match=message):
        scuff.corrupt(images, *FOG)


def test_check_can_be_left_out() -> None:
    x = torch.full((1, 3, 4, 4), 2.0)
    assert open_images(x, check=False).batch is not None
    with pytest.raises(scuff.ImageError):
        open_images(x)
