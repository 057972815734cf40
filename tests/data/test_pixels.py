"""Pixels on the way to a model: the same from any process, kept anywhere or nowhere, in any batches."""

import errno
import io
import multiprocessing
import os
import signal
import sys
import types

import numpy as np
import pytest
import torch
from PIL import Image

from scuff.data import load_pixels, open_source
from scuff.data import pixels as module
from scuff.data.nvjpeg import GpuDecoder, cut_on_device
from scuff.images import ImageError
from scuff.memory import available_memory
from scuff.pictures import Cut

DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
GIB = 2**30


def gathered(pixels, size: int) -> torch.Tensor:
    """All batches in a row, each checked against its place."""
    batches, stop = [], 0
    for place, batch in pixels.batches(size):
        assert (place.start, place.stop) == (stop, stop + len(batch))
        assert len(batch) == min(size, len(pixels) - stop)
        assert batch.dtype == torch.uint8
        stop = place.stop
        batches.append(batch.cpu())
    return torch.cat(batches)


@pytest.fixture
def pictures(tmp_path):
    """37 pictures of several sizes and modes, which is no multiple of anything."""
    generator = np.random.default_rng(0)
    for k in range(37):
        height, width = 20 + k % 3, 24 - k % 5
        pixels = generator.integers(0, 256, (height, width) if k % 7 == 0 else (height, width, 3), dtype=np.uint8)
        path = tmp_path / f"class{k % 4}" / f"{k:02}.{'jpg' if k % 2 else 'png'}"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(pixels).save(path)
    return open_source(f"folder:{tmp_path}")


CUT = Cut(18, 16)


# --- arrays ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", [1000, 512, 10**6])
def test_an_array_comes_as_it_is(device, size):
    source = open_source("fashion")
    pixels = load_pixels(source, None, device)
    assert (len(pixels), pixels.shape) == (5000, (5000, 1, 28, 28))
    assert torch.equal(gathered(pixels, size)[:, 0], torch.from_numpy(source.images.array))
    assert next(pixels.batches(size))[1].device.type == device


@pytest.mark.parametrize("device", DEVICES)
def test_colour_arrays_have_their_channels_first(tmp_path, device):
    images = np.random.default_rng(0).integers(0, 256, (9, 6, 5, 3), dtype=np.uint8)
    np.savez(tmp_path / "a.npz", x=images, y=np.arange(9))
    pixels = load_pixels(open_source(f"npz:{tmp_path / 'a.npz'}"), device=device)
    assert torch.equal(gathered(pixels, 4), torch.from_numpy(images).permute(0, 3, 1, 2))


def test_an_array_is_not_copied():
    source = open_source("fashion")
    pixels = load_pixels(source)
    assert pixels.kept == "0.00 GiB in memory"
    for _, batch in pixels.batches(1024):
        assert np.shares_memory(batch.numpy(), source.images.array)


@pytest.mark.parametrize("device", DEVICES)
def test_a_mapped_array_stays_in_its_file(tmp_path, device, monkeypatch):
    monkeypatch.setattr(module, "available_on", lambda device: 0)
    images = np.random.default_rng(0).integers(0, 256, (50, 32, 32, 3), dtype=np.uint8)
    np.save(tmp_path / "fog.npy", images)
    np.save(tmp_path / "labels.npy", np.tile(np.arange(10), 5))
    pixels = load_pixels(open_source(f"cifar10-c:{tmp_path}").cell("fog", 2), device=device)
    assert pixels.kept == "0.00 GiB mapped from the file"
    assert torch.equal(gathered(pixels, 3), torch.from_numpy(images[10:20]).permute(0, 3, 1, 2))


def test_arrays_are_not_cut():
    with pytest.raises(ValueError, match="bring it to size itself"):
        load_pixels(open_source("fashion"), CUT)


# --- pictures -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kept", [True, False])
def test_pixels_depend_on_nothing_but_picture_and_cut(pictures, monkeypatch, device, workers, kept):
    if not kept:
        monkeypatch.setattr(module, "available_on", lambda device: 0)
        monkeypatch.setattr(module, "available_memory", lambda: 0)
    pixels = load_pixels(pictures, CUT, device, workers)
    assert pixels.shape == (37, 3, 16, 16)
    assert pixels.kept.startswith("0.00 GiB" if kept else "nowhere: 0.00 GiB do not fit")
    expected = pictures.read(range(37), CUT)
    for size in (10, 1, 37, 100) if kept or not workers else (10,):
        assert torch.equal(gathered(pixels, size), expected)
    assert torch.equal(gathered(pixels, 10), expected)  # a second pass


def test_grey_pictures_are_rgb(pictures):
    grey = [k for k in range(37) if pictures.image_name(k).endswith(("00.png", "14.png", "28.png"))]
    batch = gathered(load_pixels(pictures, CUT, workers=0), 37)[grey]
    assert len(grey) == 3
    assert torch.equal(batch[:, :1].expand(-1, 3, -1, -1), batch)
    assert batch.float().std() > 20


def test_the_cut_of_the_source_is_the_default(tmp_path):
    path = tmp_path / "fog" / "1" / "n01440764" / "a.png"
    path.parent.mkdir(parents=True)
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (230, 240, 3), dtype=np.uint8)).save(path)
    cell = open_source(f"imagenet-c:{tmp_path}").cell("fog", 1)
    assert load_pixels(cell).shape == (1, 3, 224, 224)
    assert load_pixels(cell, Cut(None, 100)).shape == (1, 3, 100, 100)
    assert load_pixels(cell, Cut()).shape == (1, 3, 230, 240)


def test_progress_ends_at_the_total(pictures):
    seen = []
    load_pixels(pictures, CUT, workers=0, progress=lambda *at: seen.append(at))
    assert seen[-1] == (37, 37)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("position", [1, 30])
def test_a_broken_picture_is_named_whoever_saw_it(pictures, workers, position):
    path = pictures.image_name(position)
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) // 2)
    with pytest.raises(ImageError, match=rf"{path}: .*; replace the file, or take it out") as caught:
        load_pixels(pictures, CUT, workers=workers)
    assert "Traceback" not in str(caught.value)
    assert not _children()  # though the error, which knows where it came from, is still held


def test_pictures_of_several_sizes_need_a_cut(pictures):
    with pytest.raises(ImageError, match=r"pictures must have one size, but .* and .*; .*--resize and --crop"):
        load_pixels(pictures, workers=0)


@pytest.mark.parametrize("workers", [0, 2])
def test_no_generator_is_moved(pictures, workers):
    before = torch.get_rng_state()
    gathered(load_pixels(pictures, CUT, workers=workers), 10)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_pass_may_be_given_up(pictures, monkeypatch):
    """Batches that nobody fetches leave no worker behind."""
    monkeypatch.setattr(module, "available_memory", lambda: 0)
    batches = load_pixels(pictures, CUT, workers=2).batches(5)
    next(batches)
    assert len(_children()) == 2
    del batches
    assert not _children()


def _children() -> set[int]:
    return {child.pid for child in multiprocessing.active_children()}


def test_workers_leave_interrupts_to_the_main_process(pictures, monkeypatch):
    monkeypatch.setattr(module, "available_memory", lambda: 0)
    batches = load_pixels(pictures, CUT, workers=2).batches(5)
    parts = [next(batches)[1]]
    for child in _children():
        os.kill(child, signal.SIGINT)
    parts += [batch for _, batch in batches]
    assert torch.equal(torch.cat(parts), pictures.read(range(37), CUT))


@pytest.mark.parametrize(("options", "words"), [({"workers": -1}, "at least 0"), ({}, "at least 1 image, got 0")])
def test_impossible_options_are_refused(pictures, options, words):
    with pytest.raises(ValueError, match=words):
        load_pixels(pictures, CUT, **options).batches(0)


def test_a_source_without_pictures_is_refused(pictures):
    with pytest.raises(ValueError, match="has no pictures"):
        load_pixels(pictures.take([]), CUT)


# --- kept on disk, decoded elsewhere --------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
def test_decoded_pictures_are_kept_for_the_next_run(pictures, tmp_path, monkeypatch, device):
    expected, cache, told = load_pixels(pictures, CUT, workers=0).images, tmp_path / "cache", []
    options = {"device": device, "workers": 0, "cache": cache}
    first = load_pixels(pictures, CUT, progress=lambda *at: told.append(at), **options)
    assert torch.equal(gathered(first, 10), expected)
    assert told[-1] == (37, 37)
    (file,) = cache.iterdir()
    monkeypatch.setattr(module._Decoder, "run", None)  # nobody decodes
    again = load_pixels(pictures, CUT, **options)
    assert torch.equal(gathered(again, 16), expected)
    assert again.kept.endswith("mapped from the file" if device == "cpu" else "on the GPU")
    monkeypatch.undo()
    load_pixels(pictures, Cut(16, 16), **options)
    load_pixels(pictures.take(range(5)), CUT, **options)
    assert len(list(cache.iterdir())) == 3  # another cut, other pictures: other files
    for damage in (b"", file.read_bytes()[:-1]):
        file.write_bytes(damage)
        assert torch.equal(gathered(load_pixels(pictures, CUT, **options), 37), expected)


def test_a_cache_without_room_says_so(pictures, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(ValueError, match=r"the disk of .*cache has no room for the decoded pictures, 0.00 GiB"):
        load_pixels(pictures, CUT, workers=0, cache=tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


@pytest.mark.parametrize("cut", [Cut(18, 16), Cut(40, None), Cut(18, 16, "bicubic"), Cut(16, 16, keeps_ratio=False)])
def test_cutting_on_the_gpu_is_that_of_pillow_but_for_rounding(cut):
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 256, (50, 37, 3), dtype=np.uint8))
    ours = cut_on_device(torch.from_numpy(np.asarray(picture).copy()).permute(2, 0, 1), cut).permute(1, 2, 0)
    theirs = torch.from_numpy(np.asarray(cut(picture)).copy())
    assert ours.shape == theirs.shape
    assert (ours.int() - theirs.int()).abs().max() <= 1


def test_what_nvjpeg_cannot_read_is_left_to_pillow(pictures, tmp_path, monkeypatch):
    """A stand-in for torchvision, which hands back what Pillow decodes, upright or not."""
    seen = []

    def decode_jpeg(contents, mode, device):
        seen.append(len(contents))
        decoded = [Image.open(io.BytesIO(content.numpy().tobytes())).convert("RGB") for content in contents]
        return [torch.from_numpy(np.asarray(one).copy()).permute(2, 0, 1) for one in decoded]

    io_module = types.SimpleNamespace(decode_jpeg=decode_jpeg, ImageReadMode=types.SimpleNamespace(RGB="RGB"))
    monkeypatch.setitem(sys.modules, "torchvision.io", io_module)
    monkeypatch.setattr("scuff.data.nvjpeg.need", lambda *_: None)
    exif = Image.Exif()
    exif[0x0112] = 6  # lies on its side
    Image.open(pictures.image_name(1)).save(tmp_path / "class0" / "side.jpg", exif=exif)
    Image.open(pictures.image_name(1)).convert("CMYK").save(tmp_path / "class0" / "cmyk.jpg")
    source = open_source(f"folder:{tmp_path}")
    decoder = GpuDecoder(source, CUT, torch.device("cpu"))
    places = module._split(0, len(source), 4)
    read = list(decoder.run(places))
    assert [place for place, _ in read] == places
    expected = load_pixels(source, CUT, workers=0).images
    assert (torch.cat([chunk for _, chunk in read]).int() - expected.int()).abs().max() <= 1
    assert sum(seen) == 18  # the JPEGs, but for two
    monkeypatch.setattr(io_module, "decode_jpeg", lambda *_: (_ for _ in ()).throw(RuntimeError("broken")))
    assert torch.equal(torch.cat([chunk for _, chunk in decoder.run(places)]), expected)


def test_other_decoders_are_refused(pictures):
    with pytest.raises(ValueError, match="the decoder must be one of pillow, nvjpeg"):
        load_pixels(pictures, CUT, decoder="opencv")
    with pytest.raises(ValueError, match="the decoder nvjpeg needs a GPU"):
        load_pixels(pictures, CUT, decoder="nvjpeg")


def test_memory_is_measured():
    assert GIB / 100 < available_memory() < 1 << 50  # some, and less than any machine has


# --- on a GPU -------------------------------------------------------------------------------------------------------

if "cuda" in DEVICES:

    def test_what_is_kept_on_the_gpu_stays_there(pictures):
        for pixels in (load_pixels(pictures, CUT, "cuda", 2), load_pixels(open_source("fashion"), None, "cuda")):
            assert pixels.kept == "0.00 GiB on the GPU"
            first = next(pixels.batches(8))[1]
            assert first.data_ptr() == next(pixels.batches(8))[1].data_ptr()
            assert first.is_contiguous()

    def test_batches_that_are_sent_ahead_are_whole_when_they_are_used(monkeypatch):
        """Work on each batch takes long, so that a copy which overtook it, or came too late, would show."""
        monkeypatch.setattr(module, "available_on", lambda device: 0)
        source = open_source("fashion")
        weight = torch.randn(784, 784, device="cuda")
        sums = []
        for _, batch in load_pixels(source, None, "cuda").batches(250):
            slow = weight
            for _ in range(20):
                slow = slow @ weight / 28
            sums.append(batch.flatten(1).long().sum(1))
        expected = source.images.array.reshape(5000, -1).astype(np.int64).sum(1)
        np.testing.assert_array_equal(torch.cat(sums).cpu(), expected)
