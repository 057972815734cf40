"""Shared mathematics against independent implementations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from golden.pictures import pictures_224
from PIL import Image
from pillow_jpeg import pillow_jpeg
from scipy import ndimage

from scuff import kernels
from scuff.kernels.borders import fold, pad
from scuff.ops import edges, filters
from scuff.ops.jpeg import jpeg
from scuff.ops.resize import clipped_zoom, resample_bilinear

NUMPY_BORDER = {"edge": "edge", "reflect": "symmetric", "mirror": "reflect"}
SCIPY_BORDER = {"edge": "nearest", "reflect": "reflect", "mirror": "mirror"}


@pytest.mark.parametrize("border", NUMPY_BORDER)
@pytest.mark.parametrize("length", [1, 2, 3, 7])
def test_borders_of_any_width(border: str, length: int) -> None:
    expected = np.pad(np.arange(length), 20, mode=NUMPY_BORDER[border])
    assert fold(torch.arange(-20, length + 20), length, border).tolist() == expected.tolist()


def test_pad_and_unknown_border() -> None:
    x = torch.arange(6.0).view(1, 1, 2, 3)
    expected = np.pad(x.numpy(), ((0, 0), (0, 0), (1, 2), (3, 0)), mode="edge")
    assert np.array_equal(pad(x, (1, 2), (3, 0), "edge").numpy(), expected)
    with pytest.raises(ValueError, match="choose edge, reflect or mirror"):
        pad(x, (1, 0), (0, 0), "wrap")


@pytest.mark.parametrize("border", SCIPY_BORDER)
@pytest.mark.parametrize("sigma", [0.05, 0.4, 1.5, 6.0, 40.0, 170.8])
def test_gaussian_blur_equals_scipy(sigma: float, border: str) -> None:
    x = np.random.default_rng(0).random((21, 40))
    expected = ndimage.gaussian_filter(x, sigma, mode=SCIPY_BORDER[border], truncate=3.0)
    ours = filters.gaussian_blur(torch.from_numpy(x).float()[None, None], sigma, 3.0, border)
    assert np.abs(ours[0, 0].numpy() - expected).max() < 1e-6


@pytest.mark.parametrize("border", ["edge", "reflect", "mirror"])
def test_wide_gaussians_of_large_images(border: str) -> None:
    x = torch.rand(1, 1, 90, 600, generator=torch.Generator().manual_seed(0)).cumsum(3) / 600.0
    expected = ndimage.gaussian_filter(x.numpy(), (0, 0, 20.0, 20.0), mode=SCIPY_BORDER[border])
    assert abs(filters.gaussian_blur(x, 20.0, border=border).numpy() - expected).max() < 0.003


def test_wide_disks_are_made_of_squares() -> None:
    x = torch.rand(1, 1, 120, 150, generator=torch.Generator().manual_seed(0))
    x = torch.nn.functional.interpolate(x[:, :, ::8, ::8], (120, 150), mode="bilinear")
    expected = filters.correlate(x, filters.disk_kernel(35.5, 0.5))
    assert (filters.disk_blur(x, 35.5, 0.5) - expected).abs().max() < 0.01
    assert torch.equal(filters.disk_blur(x, 10.0, 0.5), filters.correlate(x, filters.disk_kernel(10.0, 0.5)))


@pytest.mark.parametrize("angle", [-40.0, 0.0, 17.0])
def test_long_smears_are_made_of_short_ones(angle: float, monkeypatch) -> None:
    x = torch.rand(1, 1, 30, 40, generator=torch.Generator().manual_seed(0))
    x = torch.nn.functional.interpolate(x, (240, 320), mode="bilinear")
    spaced = filters.motion_blur(x, torch.tensor([angle]), 80, 60.0)
    monkeypatch.setattr(filters, "LONG", 1000)
    assert (spaced - filters.motion_blur(x, angle, 80, 60.0)).abs()[..., 5:-5, 5:-5].max() < 0.02


def test_work_for_each_pixel_does_not_grow_with_the_radius(monkeypatch) -> None:
    taps = []
    correlate = kernels.correlate
    monkeypatch.setattr(kernels, "correlate", lambda *a: taps.append(a[-1].shape[1]) or correlate(*a))
    for radius in (30.0, 100.0, 300.0, 1000.0):
        taps.clear()
        filters.disk_blur(torch.zeros(1, 1, 8, 8), radius, 0.5)
        assert sum(taps) < 900


@pytest.mark.parametrize("factor", [1.0, 1.01, 1.11, 1.3, 2.0, 2.25, 4.5])
@pytest.mark.parametrize("side", [32, 64, 224])
def test_clipped_zoom_equals_scipy(side: int, factor: float) -> None:
    x = np.random.default_rng(0).random((side, side))
    crop = int(np.ceil(side / factor))
    top = (side - crop) // 2
    size = round(crop * factor)
    zoomed = ndimage.zoom(x[top : top + crop, top : top + crop], size / crop, order=1)
    trim = (size - side) // 2
    ours = clipped_zoom(torch.from_numpy(x).float()[None, None], factor)[0, 0].numpy()
    assert np.abs(ours - zoomed[trim : trim + side, trim : trim + side]).max() < 1e-5


def test_resample_bilinear_picks_every_fifth_pixel() -> None:
    """By a fifth the sample points fall on pixels 2, 7, 12, ..., as in the originals' frost at 32 pixels."""
    x = np.random.default_rng(0).integers(0, 256, (40, 35, 3))
    assert np.abs(resample_bilinear(x, 0.2) - x[2::5, 2::5]).max() < 1e-9


def test_resample_bilinear_makes_a_window() -> None:
    image = np.random.default_rng(0).random((13, 17, 3))
    whole = resample_bilinear(image, 2.7)
    assert np.array_equal(resample_bilinear(image, 2.7, slice(5, 20), slice(30, 33)), whole[5:20, 30:33])


def test_affine_through_three_points() -> None:
    rng = np.random.default_rng(0)
    source, target = torch.from_numpy(rng.random((3, 2))), torch.from_numpy(rng.random((5, 3, 2)))
    maps = kernels.affine_through(source, target)
    points = torch.cat((source, torch.ones(3, 1, dtype=source.dtype)), 1)
    assert torch.allclose(points @ maps.mT, target)


@pytest.mark.parametrize("backend", ["reference", "numba_cpu"])
@pytest.mark.parametrize("quality", [1, 7, 25, 49, 50, 80, 95, 100])
def test_jpeg_gives_the_codecs_bytes(quality: int, backend: str) -> None:
    pictures = torch.from_numpy(pictures_224()[:4]).permute(0, 3, 1, 2)
    noise = torch.randint(0, 256, pictures.shape, dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    for pixels in (pictures, noise, 255 * (noise > 127).to(torch.uint8)):
        with kernels.use_backend(backend):
            assert torch.equal(jpeg(pixels, quality), pillow_jpeg(pixels, quality))


@pytest.mark.parametrize("backend", ["reference", "numba_cpu"])
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (3, 5), (5, 3), (7, 6), (15, 17), (18, 50), (33, 47), (40, 25)])
def test_jpeg_at_any_size_and_swapped(size: tuple[int, int], backend: str) -> None:
    pixels = torch.from_numpy(pictures_224()[:4, 90 : 90 + size[0], 60 : 60 + size[1]]).permute(0, 3, 1, 2)
    with kernels.use_backend(backend):
        for quality in (10, torch.tensor([60, 1, 99, 30], dtype=torch.int32)):
            for swapped in (False, True):
                assert torch.equal(jpeg(pixels, quality, swapped), pillow_jpeg(pixels, quality, swapped))
        assert jpeg(pixels[:0], 10).shape == (0, 3, *size)


@pytest.mark.parametrize("size", [(134, 134), (89, 67), (56, 200)])
def test_pixelate_equals_pillow_on_rectangles(size: tuple[int, int]) -> None:
    picture = pictures_224()[0][:, :211]
    narrow = Image.fromarray(picture).resize((size[1], 224), Image.Resampling.BOX)  # Pillow may turn the order round
    small = narrow.resize((size[1], size[0]), Image.Resampling.BOX)
    expected = np.asarray(small.resize((211, 224), Image.Resampling.BOX))
    pixels = torch.from_numpy(picture.copy()).permute(2, 0, 1)[None]
    assert np.array_equal(kernels.pixelate(pixels, *size)[0].permute(1, 2, 0).numpy(), expected)


@pytest.fixture(scope="module")
def opencv() -> dict[str, torch.Tensor]:
    """Drops of spatter, and what OpenCV 5 makes of them step by step."""
    file = np.load(Path(__file__).parents[1] / "golden" / "opencv-edges.npz")
    return {name: torch.from_numpy(file[name]) for name in file.files}


def test_canny_equals_opencv(opencv: dict[str, torch.Tensor]) -> None:
    assert opencv["edges"].any()
    assert torch.equal(edges.canny(opencv["drops"].int(), 50, 150), opencv["edges"])


def test_distance_relief_and_equalisation_equal_opencv(opencv: dict[str, torch.Tensor]) -> None:
    distance = torch.floor(kernels.mean_of_nine(kernels.chamfer_distance(opencv["edges"], 20.0)))
    assert (distance != opencv["distance"]).float().mean() < 1e-3  # means that lie on a whole number, in float32
    assert torch.equal(kernels.equalise(opencv["distance"].float()), opencv["equalised"].float())
    relief = torch.round(kernels.mean_of_nine(kernels.emboss(opencv["equalised"].float())))
    assert torch.equal(relief, opencv["relief"].float())


def test_equalise_leaves_a_constant_image() -> None:
    flat = torch.full((1, 5, 5), 20.0)
    assert torch.equal(kernels.equalise(flat), flat)
