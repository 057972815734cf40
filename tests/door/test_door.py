"""The door: keys, ids, scaling, the published switch, and the module for pipelines."""

from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from golden.pictures import pictures_32, pictures_224
from PIL import Image
from torch.utils.data import DataLoader, Dataset

import scuff
from scuff import batches
from scuff.batches import pieces_of
from scuff.corruptions import get, names
from scuff.suites import combine_suites


def test_seed_id_severity_and_entry_all_matter() -> None:
    x = np.repeat(pictures_32()[:1], 3, axis=0)
    y = scuff.corrupt(x, "cifar10-c/gaussian_noise", 1)
    assert not np.array_equal(y[0], y[1])
    assert np.array_equal(y, scuff.corrupt(x, "cifar10-c/gaussian_noise", 1, ids=[0, 1, 2]))
    assert np.array_equal(y[::-1], scuff.corrupt(x, "cifar10-c/gaussian_noise", 1, ids=torch.tensor([2, 1, 0])))
    assert not np.array_equal(y, scuff.corrupt(x, "cifar10-c/gaussian_noise", 1, seed=1))
    noise = scuff.corrupt(x, "gaussian_noise", parameters={"std": 0.04})
    assert not np.array_equal(y, noise)
    same_id = scuff.corrupt(x, "cifar10-c/gaussian_noise", 1, ids=[7, 7, 7])
    assert np.array_equal(same_id[0], same_id[2])


@pytest.mark.parametrize("ids", [[0, 1], [[0, 1, 2]], [0.5, 1.0, 2.0], [True, False, True], "pixels"])
def test_bad_ids(ids: list | str) -> None:
    with pytest.raises(ValueError, match=r"ids must be (3 )?whole numbers"):
        scuff.corrupt(pictures_32()[:3], "cifar10-c/fog", 1, ids=ids)
    if ids == [0, 1]:
        with pytest.raises(ValueError, match="ids must be 3 whole numbers"):
            scuff.corrupt(list(pictures_32()[:3]), "cifar10-c/fog", 1, ids=ids)


def test_content_ids_are_those_of_the_picture_not_of_its_type() -> None:
    x = pictures_32()[:3]
    by_bytes = scuff.corrupt(x, "cifar10-c/gaussian_noise", 3, ids="content")
    by_floats = scuff.corrupt(x / 255.0, "cifar10-c/gaussian_noise", 3, ids="content")
    assert np.array_equal(np.rint(255 * by_floats), by_bytes)
    assert np.array_equal(by_bytes[2], scuff.corrupt([x[2]], "cifar10-c/gaussian_noise", 3, ids="content")[0])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("fog", 3), {}, "expected suite/name, as in 'imagenet-c/fog'"),
        (("imagenet-c/fog",), {}, "needs a severity from 0 to 5"),
        (("imagenet-c/fog", -1), {}, "needs a severity from 0 to 5, got -1"),
        (("imagenet-c/fog", 5.01), {}, "needs a severity from 0 to 5, got 5.01"),
        (("imagenet-x/fog", 1), {}, "no suite is called 'imagenet-x'"),
        (("imagenet-c/frog", 1), {}, "did you mean fog|did you mean frost"),
        (("fog", 3), {"parameters": {"strength": 1.0, "decay": 2.0}}, "not both"),
        (("fog",), {"parameters": {"strength": 1.0}}, "missing: decay"),
    ],
)
def test_wrong_requests(arguments: tuple, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scuff.corrupt(pictures_32()[:1], *arguments, **options)


def test_a_long_batch_is_cut_without_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    x = pictures_32()
    for name in ("glass_blur", "elastic_transform", "jpeg_compression"):
        whole = scuff.corrupt(x, f"cifar10-c/{name}", 3)
        with monkeypatch.context() as patch:
            patch.setitem(batches.CHUNK, "cpu", 5 * 3 * 32 * 32)
            assert np.array_equal(scuff.corrupt(x, f"cifar10-c/{name}", 3), whole)


def test_no_piece_of_a_batch_has_more_planes_than_an_axis_of_a_cuda_grid() -> None:
    x = torch.empty(70_000, 3, 1, 1, dtype=torch.uint8)
    pieces = [x[piece] for piece in pieces_of(x, get("invert_img"))]
    assert sum(map(len, pieces)) == len(x)
    assert max(piece.shape[0] * piece.shape[1] for piece in pieces) <= 65_535


@pytest.mark.parametrize("name", names())
def test_pieces_leave_room_for_two_batches_on_a_gpu(name: str) -> None:
    """One for the result, and one for the copies that a piece needs."""
    batch = SimpleNamespace(shape=(256, 3, 224, 224), device=torch.device("cuda"))
    pieces = pieces_of(batch, get(name))  # type: ignore[arg-type]
    assert [piece.start for piece in pieces[1:]] == [piece.stop for piece in pieces[:-1]]
    if len(pieces) > 1:
        assert get(name).copies * max(piece.stop - piece.start for piece in pieces) <= 270


def test_lengths_scale_with_the_image_and_the_reference_size_is_exact() -> None:
    blur = get("gaussian_blur")
    assert blur.scaled({"sigma": 2.0}, 2.0) == {"sigma": 4.0}
    assert get("glass_blur").scaled({"sigma": 0.7, "reach": 1, "passes": 2}, 0.2) == {
        "sigma": pytest.approx(0.14),
        "reach": 1,
        "passes": 2,
    }
    x = pictures_224()[:1].repeat(2, axis=1).repeat(2, axis=2)  # 448 pixels: every pixel doubled
    small = scuff.corrupt(pictures_224()[:1], "imagenet-c/gaussian_blur", 5).astype(float)
    large = scuff.corrupt(x, "imagenet-c/gaussian_blur", 5).astype(float)[:, ::2, ::2]
    unscaled = scuff.corrupt(x, "imagenet-c/gaussian_blur", 5, scale=False).astype(float)[:, ::2, ::2]
    assert np.abs(large - small).mean() < 0.25 * np.abs(unscaled - small).mean()


def test_as_published_is_one_more_jpeg_of_quality_85() -> None:
    x = pictures_224()[:2]
    plain = scuff.corrupt(x, "imagenet-c/contrast", 2)
    stored = scuff.corrupt(x, "imagenet-c/contrast", 2, as_published=True)
    file = io.BytesIO()
    Image.fromarray(plain[1]).save(file, "JPEG", quality=85, optimize=True)
    assert np.array_equal(np.asarray(Image.open(file)), stored[1])
    grey = scuff.corrupt(x[..., :1], "imagenet-c/contrast", 2, as_published=True)
    assert grey.shape == (2, 224, 224, 1)


def test_results_lie_on_the_8_bit_grid() -> None:
    y = scuff.corrupt(torch.rand(2, 3, 32, 32), "cifar10-c/gaussian_noise", 3) * 255
    assert (y - y.round()).abs().max() < 1e-4


def test_grey_noise_has_its_full_strength() -> None:
    """A grey image has one channel of noise, not the mean of three."""
    x = torch.full((20, 1, 64, 64), 0.5)
    assert float(scuff.corrupt(x, "tiny-imagenet-c/gaussian_noise", 3).std()) == pytest.approx(0.12, rel=0.01)


class _Numbers(Dataset):
    def __init__(self) -> None:
        self.transform = scuff.Corrupt("cifar10-c/gaussian_noise", severity=3)

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.transform(torch.from_numpy(pictures_32()[index]).permute(2, 0, 1))


def test_module_gives_the_same_picture_in_any_worker_and_batch() -> None:
    scuff.corrupt(pictures_32(), "cifar10-c/gaussian_noise", 3)  # compiled code and threads exist before the fork
    alone = torch.stack([_Numbers()[i] for i in range(12)])
    for workers, batch in ((0, 5), (2, 4)):
        loader = DataLoader(_Numbers(), batch_size=batch, num_workers=workers)
        assert torch.equal(torch.cat(list(loader)), alone)
    x = torch.from_numpy(pictures_32()[:12]).permute(0, 3, 1, 2)
    assert torch.equal(scuff.Corrupt("cifar10-c/gaussian_noise", severity=3)(x), alone)


def test_module_takes_ids_and_refuses_wrong_names_at_once() -> None:
    module = scuff.Corrupt("cifar10-c/snow", severity=2, seed=4)
    x = pictures_32()[:3]
    assert np.array_equal(module(x), scuff.corrupt(x, "cifar10-c/snow", 2, seed=4, ids="content"))
    assert np.array_equal(module(x, ids=[5, 6, 7]), scuff.corrupt(x, "cifar10-c/snow", 2, seed=4, ids=[5, 6, 7]))
    assert "cifar10-c/snow" in repr(module)
    with pytest.raises(ValueError, match="no entry"):
        scuff.Corrupt("cifar10-c/snowflake", severity=2)


def test_module_takes_pil() -> None:
    image = Image.fromarray(pictures_224()[0])
    assert scuff.Corrupt("imagenet-c/fog", severity=1)(image).size == (224, 224)


@pytest.mark.parametrize("name", ["flip", "elastic_transform", "posterize", "random_fog", "gauss_noise"])
def test_results_lie_in_memory_as_the_input_did_and_share_none_with_it(name: str) -> None:
    for height in (2, 32):
        x = torch.randint(0, 256, (2, 3, height, 32), dtype=torch.uint8)
        y = scuff.corrupt(x, f"syn2nat-candidates/{name}")
        assert y.is_contiguous()
        assert y.data_ptr() != x.data_ptr()


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("imagenet-noc/rain", 5), {}, "must be a whole number within 12 .. 120, or be left out"),
        (("imagenet-noc/blur", 2.0), {}, "must be a number within 0.4 .. 0.95"),
        (("imagenet-syn2nat/cutout", 3), {}, "has no severities; leave the severity out, got 3"),
        (("imagenet-p/gaussian_noise",), {}, "is a sequence of frames; make it with scuff.sequence"),
        (("fog",), {"parameters": {"strength": (1, 2), "decay": 2.0}}, "fog cannot draw its strength from a range"),
        (("rain",), {"parameters": {"count": (1.5, 9), "scale": 1.0}}, "expected a whole number, or a range of them"),
        (("rain",), {"parameters": {"count": (1, 2, 3), "scale": 1.0}}, "a range is a pair of numbers"),
    ],
)
def test_wrong_severities_and_ranges_are_explained(arguments: tuple, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scuff.corrupt(torch.rand(1, 3, 16, 16), *arguments, **options)


def test_a_pair_of_numbers_is_a_range() -> None:
    x = torch.rand(64, 3, 8, 8)
    drawn = scuff.corrupt(torch.full_like(x, 128 / 255), "level_shift", parameters={"shift": (0.1, 0.3)})
    shifts = (drawn[:, 0, 0, 0] - 128 / 255).abs()
    assert 0.1 - 0.003 <= float(shifts.min()) < 0.13
    assert 0.27 < float(shifts.max()) <= 0.3 + 0.003


def test_levels_are_drawn_per_image_and_an_image_comes_out_as_at_its_level() -> None:
    suite = combine_suites("drawn", ["cifar10-c/gaussian_noise"], draws_levels=True)
    x = torch.randint(0, 256, (400, 3, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    drawn = scuff.corrupt(x, "gaussian_noise", suite=suite, seed=4)
    at = torch.stack([scuff.corrupt(x, "gaussian_noise", level, suite=suite, seed=4) for level in range(1, 6)])
    is_at = (drawn == at).flatten(2).all(2)  # (levels, images)
    assert (is_at.sum(0) == 1).all()
    # Of 400 images each level is drawn by 80, with a standard deviation of 8; the bound is four of those.
    assert (is_at.sum(1) - 80).abs().max() <= 32
    some = torch.tensor([300, 7, 41])
    assert torch.equal(scuff.corrupt(x[some], "gaussian_noise", suite=suite, seed=4, ids=some), drawn[some])
    assert len(scuff.corrupt(x[:0], "gaussian_noise", suite=suite)) == 0


def test_entries_keep_the_size_they_were_made_for() -> None:
    x = np.random.default_rng(0).integers(0, 256, (2, 32, 32, 3), np.uint8)
    suite = combine_suites("both", ["noc-candidates/border", "cifar10-c/pixelate"])  # made for 224 and for 32 pixels
    assert np.array_equal(scuff.corrupt(x, "border", 40, suite=suite), scuff.corrupt(x, "noc-candidates/border", 40))
    assert np.array_equal(scuff.corrupt(x, "pixelate", 5, suite=suite), scuff.corrupt(x, "cifar10-c/pixelate", 5))
