"""Images keyed by their content, and modules called as pipelines call them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from golden.pictures import pictures_32
from PIL import Image
from torch.utils.data import DataLoader, Dataset

import scuff
from scuff.augment import RandomCorruption

NOISE = ("cifar10-c/gaussian_noise", 5)


class _Pictures(Dataset):
    """As people write them: one image after the other, corrupted by a call."""

    def __init__(self, change) -> None:
        self.change = change

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int):
        return self.change(torch.from_numpy(pictures_32()[index]).permute(2, 0, 1))


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.corrcoef(a.ravel(), b.ravel())[0, 1])


def test_single_images_of_a_dataset_do_not_share_their_noise() -> None:
    grey = [np.full((32, 32, 3), level, np.uint8) for level in (120, 121)]  # far from the ends, where noise is cut
    first, second = (scuff.corrupt(image, *NOISE).astype(float) for image in grey)
    # 3072 independent values: the correlation has a standard deviation of 0.018
    assert abs(_correlation(first, second)) < 0.09
    assert np.array_equal(scuff.corrupt(grey[0], *NOISE), first)
    batch = scuff.corrupt(np.stack(grey), *NOISE)
    assert np.array_equal(batch, scuff.corrupt(np.stack(grey), *NOISE, ids=[0, 1]))


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy, Image.fromarray])
def test_a_single_image_is_keyed_by_content_whatever_it_is(kind) -> None:
    image = pictures_32()[3]
    expected = scuff.corrupt(image[None], *NOISE, ids="content")[0]
    given = kind(image.transpose(2, 0, 1).copy() if kind is torch.from_numpy else image)
    corrupted = np.asarray(scuff.corrupt(given, *NOISE))
    assert np.array_equal(corrupted.transpose(1, 2, 0) if kind is torch.from_numpy else corrupted, expected)


def test_single_films_are_keyed_by_content_too() -> None:
    image = pictures_32()[3]
    expected = scuff.sequence(image[None], "cifar10-p/gaussian_noise", ids="content")[0]
    assert np.array_equal(scuff.sequence(image, "cifar10-p/gaussian_noise"), expected)


@pytest.mark.parametrize("module", [scuff.Corrupt(*NOISE), scuff.Augment("augmix").set_epoch(0)])
def test_labels_masks_and_dictionaries_pass_untouched(module) -> None:
    images, labels = torch.from_numpy(pictures_32()[:4]).permute(0, 3, 1, 2), torch.arange(4)
    changed = module(images)
    assert not torch.equal(changed, images)
    assert isinstance(both := module(images, labels), tuple)
    assert torch.equal(both[0], changed)
    assert both[1] is labels
    image, mask = pictures_32()[0], np.zeros((32, 32))
    named = module(image=image, mask=mask)
    assert named["mask"] is mask
    assert np.array_equal(named["image"], module({"image": image, "label": 3})["image"])
    assert np.array_equal(named["image"], module(image))


def test_what_is_no_call_of_a_pipeline_is_refused() -> None:
    module = scuff.Corrupt(*NOISE)
    for arguments, named in (((), {}), ((), {"mask": 1}), ((pictures_32(),), {"image": 1})):
        with pytest.raises(TypeError, match="expected images"):
            module(*arguments, **named)


def _epoch(loader: DataLoader) -> torch.Tensor:
    return torch.cat(list(loader))


def test_training_draws_anew_in_every_epoch_and_by_the_loaders_seed() -> None:
    def epochs(module: scuff.Augment, **options) -> list[torch.Tensor]:
        torch.manual_seed(7)
        loader = DataLoader(_Pictures(module), batch_size=4, **options)
        return [_epoch(loader), _epoch(loader)]

    make = lambda: scuff.Augment("corruption:cifar10-c,probability=0.9")  # noqa: E731
    make()(torch.from_numpy(pictures_32()).permute(0, 3, 1, 2))  # compiled code and threads exist before the fork
    for options in ({"num_workers": 0}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}):
        first, second = epochs(make(), **options)
        assert not torch.equal(first, second)
        assert all(map(torch.equal, (first, second), epochs(make(), **options)))


@pytest.mark.parametrize("persistent", [False, True])
def test_an_epoch_is_the_same_for_any_number_of_workers(persistent: bool) -> None:
    alone, shared = (scuff.Augment("corruption:cifar10-c") for _ in range(2))
    alone(torch.from_numpy(pictures_32()).permute(0, 3, 1, 2))
    loader = DataLoader(_Pictures(shared), batch_size=5, num_workers=2, persistent_workers=persistent)
    for epoch in (3, 4):
        alone.set_epoch(epoch), shared.set_epoch(epoch)
        assert torch.equal(_epoch(loader), _epoch(DataLoader(_Pictures(alone), batch_size=2)))


def test_images_draw_entries_and_severities_evenly() -> None:
    images = torch.full((3000, 3, 8, 8), 100, dtype=torch.uint8)
    scheme = RandomCorruption(("cifar10-c/brightness", "cifar10-c/contrast"), severities=(1, 5), probability=0.6)
    changed = scheme(images, torch.arange(3000))
    expected = [
        scuff.corrupt(images[:1], f"cifar10-c/{entry}", level)[0, 0, 0, 0].item()
        for entry in ("brightness", "contrast")
        for level in (1, 5)
    ]
    # contrast leaves a flat image alone, so three values remain; shares have standard deviations below 0.01
    shares = {value: (changed[:, 0, 0, 0] == value).float().mean().item() for value in {100, *expected}}
    assert shares == pytest.approx({100: 0.7, expected[0]: 0.15, expected[1]: 0.15}, abs=0.04)
    assert torch.equal(changed, scheme(images.flip(0), torch.arange(3000).flip(0)).flip(0))


def test_an_image_comes_out_as_at_the_cell_it_drew() -> None:
    images, ids = torch.from_numpy(pictures_32()).permute(0, 3, 1, 2), torch.arange(len(pictures_32()))
    changed = RandomCorruption("cifar10-c/fog")(images, ids, seed=5)
    cells = torch.stack([scuff.corrupt(images, "cifar10-c/fog", level, seed=5) for level in range(1, 6)])
    assert (cells == changed).flatten(2).all(2).any(0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"entries": ()}, "at least one entry"),
        ({"entries": "cifar10-c/fogg"}, "fog"),
        ({"entries": "cifar10-c", "severities": 6}, "6"),
        ({"entries": "cifar10-c", "probability": 1.5}, "from 0 to 1"),
        ({"entries": "cifar10-p/tilt"}, "sequence"),
        ({"entries": "fog"}, "suite/name"),
    ],
)
def test_wrong_random_corruptions_fail_at_once(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RandomCorruption(**options)


def test_a_random_corruption_has_an_address() -> None:
    from scuff.augment.schemes import open_scheme, scheme_address

    scheme = RandomCorruption(("imagenet-c", "cifar10-c/fog"), severities=(1, 3), probability=0.5)
    address = "corruption:imagenet-c+cifar10-c/fog,severities=1+3,probability=0.5"
    assert scheme_address(scheme) == address
    assert open_scheme(address) == scheme
    assert len(scheme.settings()["entries"]) == 16


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("entry", ["fog", "gaussian_noise", "jpeg_compression", "zoom_blur"])
def test_half_precision_means_the_level_it_stands_for(entry: str, dtype: torch.dtype) -> None:
    images = torch.from_numpy(pictures_32()).permute(0, 3, 1, 2)
    half = scuff.corrupt((images / 255).to(dtype), f"cifar10-c/{entry}", 3)
    assert half.dtype == dtype
    assert torch.equal(half, (scuff.corrupt(images, f"cifar10-c/{entry}", 3) / 255).to(dtype))


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (torch.zeros(2, 3, 8, 8, device="meta"), "dense tensor"),
        (torch.zeros(2, 3, 8, 8).to_sparse(), "dense tensor"),
        (torch.zeros(4, 8, 8), "transparency"),
        (np.zeros((8, 8, 4), np.uint8), "transparency"),
        (np.zeros((2, 8, 8, 4), np.uint8), "transparency"),
    ],
)
def test_what_holds_no_pixels_of_a_picture_is_explained(images, message: str) -> None:
    with pytest.raises(scuff.ImageError, match=message):
        scuff.corrupt(images, *NOISE)


def test_names_that_stand_for_many_are_explained() -> None:
    with pytest.raises(ValueError, match="call once for each"):
        scuff.corrupt(pictures_32(), ["cifar10-c/fog", "cifar10-c/snow"], 1)
    with pytest.raises(ValueError, match="cifar10-c is a suite; name one of its entries"):
        scuff.corrupt(pictures_32(), "cifar10-c", 1)
    with pytest.raises(ValueError, match="at most 64 bits"):
        scuff.corrupt(pictures_32()[:1], *NOISE, ids=[2**70])
