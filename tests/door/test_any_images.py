"""`corrupt` takes any images, and says what is wrong with anything else."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

import scuff

NAMES = ("gaussian_noise", "impulse_noise", "defocus_blur", "motion_blur", "zoom_blur", "fog", "brightness", "contrast",
         "elastic_transform", "pixelate", "jpeg_compression", "snow", "frost", "spatter", "saturate")  # fmt: skip
SIDES = st.integers(1, 24)


@st.composite
def images(draw):
    """Images in any type and layout that the door takes."""
    height, width, channels = draw(SIDES), draw(SIDES), draw(st.sampled_from([1, 3]))
    count = draw(st.sampled_from([None, 0, 1, 3]))
    kind = draw(st.sampled_from(["array", "tensor", "picture", "grey", "list"]))
    values = np.random.default_rng(draw(st.integers(0, 99))).integers(0, 256, (count or 1, height, width, channels))
    pixels = values[: 1 if count is None else count].astype(np.uint8)
    if kind == "picture":
        first = values[0].astype(np.uint8)
        return Image.fromarray(first[..., 0] if channels == 1 else first)
    if kind == "grey":
        return values[0, ..., 0].astype(np.uint8)
    if kind == "list":
        return list(pixels)
    if kind == "tensor":
        batch = torch.from_numpy(pixels).permute(0, 3, 1, 2)
        dtype = draw(st.sampled_from([torch.uint8, torch.float16, torch.bfloat16, torch.float32, torch.float64]))
        batch = batch if dtype == torch.uint8 else (batch / 255).to(dtype)
        return batch[0] if count is None else batch
    dtype = draw(st.sampled_from([np.uint8, np.float16, np.float32, np.float64]))
    batch = pixels if dtype == np.uint8 else (pixels / 255).astype(dtype)
    batch = batch[:, ::-1] if draw(st.booleans()) else batch  # a view with a negative stride
    return batch[0] if count is None else batch


def describe(given) -> tuple:
    """The type, layout and number type of images."""
    if isinstance(given, list):
        return ("list", *map(describe, given))
    if isinstance(given, Image.Image):
        return "picture", given.size, given.mode
    return type(given), tuple(given.shape), given.dtype


@given(images(), st.sampled_from(NAMES), st.integers(1, 5), st.integers(0, 2**40))
def test_images_come_back_as_they_were_given(given, name, severity, seed):
    before = [np.array(image) for image in given] if isinstance(given, list) else None
    corrupted = scuff.corrupt(given, f"cifar10-c/{name}", severity, seed=seed)
    assert describe(corrupted) == describe(given)
    if before is not None:
        assert all(np.array_equal(a, b) for a, b in zip(before, given, strict=True))
        return
    values = torch.from_numpy(np.array(corrupted)) if not isinstance(corrupted, torch.Tensor) else corrupted
    assert bool(((values >= 0) & (values <= (255 if values.dtype == torch.uint8 else 1))).all())


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=3, max_size=3), st.integers(0, 2))
def test_an_image_depends_on_its_id_and_not_on_its_place(ids, place):
    pictures = np.random.default_rng(0).integers(0, 256, (3, 6, 7, 3)).astype(np.uint8)
    together = scuff.corrupt(pictures, "cifar10-c/gaussian_noise", 3, ids=ids)
    alone = scuff.corrupt(pictures[place : place + 1], "cifar10-c/gaussian_noise", 3, ids=ids[place : place + 1])
    assert np.array_equal(together[place], alone[0])


ANY_DTYPE = st.one_of(
    arrays.integer_dtypes(), arrays.unsigned_integer_dtypes(), arrays.floating_dtypes(), arrays.boolean_dtypes(),
    arrays.complex_number_dtypes(), arrays.unicode_string_dtypes(), arrays.datetime64_dtypes(),
)  # fmt: skip


@given(arrays.arrays(ANY_DTYPE, arrays.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=4)))
def test_any_other_array_is_refused_in_words(array):
    try:
        corrupted = scuff.corrupt(array, "cifar10-c/brightness", 2)
    except ValueError as error:  # of which an ImageError is one
        words = str(error)
    else:
        assert (corrupted.shape, corrupted.dtype) == (array.shape, array.dtype)
        return
    assert len(words) > 20


@given(st.one_of(st.none(), st.booleans(), st.text(max_size=5), st.floats(), st.integers(), st.tuples(st.integers())))
def test_any_other_severity_is_refused_in_words(severity):
    picture = np.zeros((2, 2, 3), np.uint8)
    if type(severity) in (int, float) and 0 <= severity <= 5:
        assert scuff.corrupt(picture, "cifar10-c/fog", severity).shape == picture.shape
    else:
        with pytest.raises(ValueError, match="severity"):
            scuff.corrupt(picture, "cifar10-c/fog", severity)


@given(st.text(max_size=12))
def test_any_other_name_is_refused_in_words(name):
    with pytest.raises((ValueError, KeyError), match=r"\w{3}"):
        scuff.corrupt(np.zeros((2, 2, 3), np.uint8), name, 1)
