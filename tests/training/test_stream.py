"""Training from files that are decoded on the way: the same weights by any workers, from any interruption."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from made_images import bars, make_folder
from PIL import Image
from typer.testing import CliRunner

import scuff
from scuff.cli import app
from scuff.data import open_source, pixels
from scuff.images import ImageError
from scuff.models import open_model, read_origin
from scuff.pictures import Cut, UnreadablePictures
from scuff.training import Recipe, fit, train
from scuff.training import run as run_module
from scuff.training.augment import epoch_seed
from scuff.training.fit import blocks
from scuff.training.images import load_training_images
from scuff.training.stream import Stream, draw_crops

CPU = torch.device("cpu")
CROPPED = Recipe(
    "cropped",
    "small_cnn",
    epochs=4,
    batch_size=8,
    learning_rate=0.1,
    optimiser="muon",
    flip=True,
    crop_area=(0.08, 1.0),
    sides=(12, 16),
    grows_at=(0.5,),
    mean=(0.485, 0.456, 0.406),
    std=(0.229, 0.224, 0.225),
    cut=Cut(20, 16),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_folder(tmp_path_factory.mktemp("pictures") / "train")


def weights(path):
    return open_model(str(path)).model.state_dict()


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.values(), other.values(), strict=True))


def stop_at(last):
    def progress(done, total):
        if done == last:
            raise KeyboardInterrupt

    return progress


# --- crops ------------------------------------------------------------------------------------------------------------


def test_crops_have_the_areas_ratios_and_places_of_the_papers():
    width, height, count = 500, 375, 4000
    crops = draw_crops(torch.arange(count), 0, (0.08, 1.0), 224)
    left, top, right, bottom = np.array([crops.box(k, width, height) for k in range(count)]).T
    assert left.min() == top.min() == 0
    assert (right.max(), bottom.max()) == (width, height)
    areas, ratios = (right - left) * (bottom - top) / (width * height), (right - left) / (bottom - top)
    assert 0.079 < areas.min() < 0.082
    assert areas.max() > 0.97
    assert 0.74 < ratios.min() < 0.76
    assert 1.32 < ratios.max() < 1.35
    # Ten tries, the first that fits: the mean of the share by a simulation with another generator.
    chance = np.random.default_rng(1)
    tried = chance.uniform(0.08, 1, (count, 10)), np.exp(chance.uniform(np.log(3 / 4), np.log(4 / 3), (count, 10)))
    w, h = np.sqrt(width * height * tried[0] * tried[1]), np.sqrt(width * height * tried[0] / tried[1])
    fits = (w <= width) & (h <= height)
    expected = tried[0][np.arange(count), fits.argmax(1)]
    # A mean is known to the deviation of one share, 0.26, over the square root of 4000; four times that of two.
    assert abs(areas.mean() - expected.mean()) < 4 * 0.26 * (2 / count) ** 0.5
    free = width - (right - left) > 50
    assert abs((left / (width - (right - left)))[free].mean() - 0.5) < 4 * 0.29 / free.sum() ** 0.5


@pytest.mark.parametrize(("size", "box"), [((1000, 10), (493, 0, 506, 10)), ((10, 1000), (0, 493, 10, 506))])
def test_of_a_strip_that_no_rectangle_fits_into_the_middle_is_taken(size, box):
    assert draw_crops(torch.arange(1), 0, (0.9, 1.0), 8).box(0, *size) == box
    assert draw_crops(torch.arange(1), 0, (0.08, 1.0), 8).box(0, 1, 1) == (0, 0, 1, 1)


def test_a_crop_depends_on_seed_and_id_alone():
    ids = torch.tensor([7, 2**61, 3])
    crops, alone = draw_crops(ids, 5, (0.08, 1.0), 8), draw_crops(ids[1:2], 5, (0.08, 1.0), 8)
    assert crops.box(1, 300, 200) == alone.box(0, 300, 200)
    others = {crops.box(0, 300, 200), crops.box(2, 300, 200), draw_crops(ids, 6, (0.08, 1.0), 8).box(1, 300, 200)}
    assert crops.box(1, 300, 200) not in others


def test_blocks_hold_the_crops_that_were_drawn(folder):
    source = open_source(f"folder:{folder}")
    images = load_training_images(source, CROPPED, CPU, workers=0)
    recipe = replace(CROPPED, flip=False)
    for epoch, side in ((0, 12), (2, 16)):
        (places, block), *_ = blocks(images.pixels, recipe, 3, 6 * epoch, CPU, None, part=images.part)
        assert block.shape[1:] == (3, side, side)
        crops = draw_crops(torch.from_numpy(source.ids), epoch_seed(3, epoch), CROPPED.crop_area, side)
        for place, pixel in zip(places[:6].tolist(), block, strict=False):
            with Image.open(source.image_name(place)) as picture:
                box = crops.box(place, *picture.size)
                expected = picture.convert("RGB").crop(box).resize((side, side), Image.Resampling.BILINEAR)
            assert np.array_equal(pixel.permute(1, 2, 0).numpy(), np.asarray(expected))


def test_a_picture_less_leaves_the_crops_of_the_others(folder):
    whole = open_source(f"folder:{folder}")
    seen = []
    for source in (whole, whole.take(range(1, len(whole)))):
        images = load_training_images(source, CROPPED, CPU, workers=0)
        found = {}
        for places, block in blocks(images.pixels, replace(CROPPED, batch_size=2), 0, 0, CPU, None, part=images.part):
            found |= dict(zip(source.ids[places.numpy()].tolist(), block, strict=True))
        seen.append(found)
    shared = seen[0].keys() & seen[1].keys()
    assert len(shared) >= 45
    assert all(torch.equal(seen[0][key], seen[1][key]) for key in shared)


# --- training ---------------------------------------------------------------------------------------------------------


def test_neither_workers_nor_interruptions_change_a_bit(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(run_module, "SECONDS_BETWEEN", 0.0)
    monkeypatch.setitem(fit.BLOCK, "cpu", 2 * 8 * 3 * 12 * 12)  # two batches of 12 pixels, one of 16: six in an epoch
    options = {"corruption": ["imagenet-c/contrast", "imagenet-c/brightness"], "seed": 3}
    recipe, data, out, seen = replace(CROPPED, epochs=2), f"folder:{folder}", tmp_path / "net.safetensors", []
    whole = weights(train(data, recipe, tmp_path / "whole.safetensors", workers=0, **options))
    for last in (4, 9):
        with pytest.raises(KeyboardInterrupt):
            train(data, recipe, out, workers=0, progress=stop_at(last), **options)
    train(data, recipe, out, workers=2, progress=lambda done, total: seen.append((done, total)), **options)
    assert seen[0] == (9, 12)  # the block before it was saved, in the middle of the last epoch
    assert same(weights(out), whole)


def test_it_learns_and_is_tested_on_the_middle_of_pictures(folder, tmp_path):
    path = train(f"folder:{folder}", replace(CROPPED, epochs=10), tmp_path / "net.safetensors", workers=0)
    test = make_folder(tmp_path / "test", seed=1)
    rows = scuff.evaluate(path, None, f"folder:{test}", device="cpu")
    assert scuff.metrics.accuracy(rows).value > 0.8  # tints are told apart by their means; chance is 0.25
    model, origin = open_model(str(path)), read_origin(path)["recipe"]
    assert (model.cut, model.mean) == (CROPPED.cut, CROPPED.mean)
    assert (origin["crop_area"], origin["sides"], origin["grows_at"]) == ([0.08, 1.0], [12, 16], [0.5])


def test_what_does_not_fit_into_memory_is_trained_on_all_the_same(folder, tmp_path, monkeypatch):
    recipe = replace(CROPPED, crop_area=(), sides=(224,), grows_at=(), crop=2, mean=(), std=(), epochs=2)
    data, options = f"folder:{folder}", {"augment": "augmix", "workers": 0}
    kept = train(data, recipe, tmp_path / "kept.safetensors", **options)
    for name in ("available_memory", "available_on"):
        monkeypatch.setattr(pixels, name, lambda *device: 0)
    assert isinstance(load_training_images(open_source(data), recipe, CPU, workers=0).pixels, Stream)
    streamed = train(data, recipe, tmp_path / "streamed.safetensors", **options)
    assert same(weights(kept), weights(streamed))
    assert open_model(str(kept)).mean == open_model(str(streamed)).mean  # measured on all pictures, exactly


@pytest.mark.parametrize("channels", [1, 3])
def test_arrays_can_be_cropped_too(channels):
    recipe = replace(CROPPED, mean=(), std=(), normalises=False, flip=False)
    images = load_training_images(bars(32, channels, side=24), recipe, CPU, workers=0)
    (_, block), *_ = blocks(images.pixels, recipe, 0, 0, CPU, None, part=images.part)
    assert block.shape[1:] == (channels, 12, 12)
    with pytest.raises(ValueError, match="the recipe has a mean of 3 channels, but images have 1"):
        load_training_images(bars(32), CROPPED, CPU, workers=0)


@pytest.mark.slow
def test_two_processes_train_from_one_folder(folder, tmp_path):
    """By the command, whatever decodes; what it leaves can be evaluated."""
    recipe = tmp_path / "mine.yaml"
    recipe.write_text(
        "{based_on: imagenet-fast, architecture: small_cnn, epochs: 2, batch_size: 8, sides: [12, 16], grows_at: [0.5],"
        " compile: false, initialisation: default, cut: {resize: 20, crop: 16}}"
    )
    command = [sys.executable, "-m", "scuff", "train", "--data", f"folder:{folder}", "--recipe", str(recipe)]
    command += ["--device", "cpu", "--nproc", "2", "--suite", "imagenet-noc"]
    made = [tmp_path / f"{workers}.safetensors" for workers in (0, 2)]
    for workers, out in zip((0, 2), made, strict=True):
        words = [*command, "--workers", str(workers), "--out", str(out)]
        done = subprocess.run(words, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert same(*map(weights, made))
    assert read_origin(made[0])["processes"] == 2


# --- pictures as they are ---------------------------------------------------------------------------------------------


@pytest.fixture
def messy(tmp_path):
    """Eight pictures that can be read, one of them CMYK, and four that cannot."""
    folder = make_folder(tmp_path / "mess", 8)
    whole = (folder / "blue" / "000.jpg").read_bytes()
    Image.open(folder / "blue" / "000.jpg").convert("CMYK").save(folder / "blue" / "000.jpg")
    (folder / "red" / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (folder / "red" / "empty.png").touch()
    (folder / "green" / "words.jpg").write_text("not a picture")
    Image.fromarray(np.full((40, 40), 40_000, np.uint16)).save(folder / "grey" / "deep.png")
    return folder


def test_unreadable_pictures_are_all_named_or_left_out_before_anything_starts(messy, tmp_path):
    recipe, names = replace(CROPPED, epochs=1), ["green/words.jpg", "grey/deep.png", "red/cut.jpg", "red/empty.png"]
    with pytest.raises(UnreadablePictures, match="4 of 12 pictures of mess cannot be read") as error:
        train(f"folder:{messy}", recipe, tmp_path / "net.safetensors", workers=0)
    assert sorted(error.value.failures) == names
    (tmp_path / "mine.yaml").write_text(
        "{based_on: imagenet-fast, architecture: small_cnn, batch_size: 8, initialisation: default, sides: [12, 16]}"
    )
    words = ["train", "--data", f"folder:{messy}", "--recipe", str(tmp_path / "mine.yaml"), "--epochs", "1"]
    words += ["--out", str(tmp_path / "told.safetensors"), "--device", "cpu", "--workers", "0"]
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code == 2
    told = CliRunner().invoke(app, [*words, "--skip-unreadable"])
    assert "Left out, because they cannot be read: 4 pictures" in told.output
    assert all(f"  {name}: " in refused.output and f"  {name}: " in told.output for name in names)
    left = train(f"folder:{messy}", recipe, tmp_path / "left.safetensors", workers=0, skip_unreadable=True)
    for name in names:
        (messy / name).unlink()
    assert same(weights(left), weights(train(f"folder:{messy}", recipe, tmp_path / "clean.safetensors", workers=0)))


def test_a_picture_that_breaks_on_the_way_is_named_and_nothing_is_lost(messy, tmp_path, monkeypatch):
    monkeypatch.setattr(run_module, "SECONDS_BETWEEN", 0.0)
    source = scuff.data.readable(open_source(f"folder:{messy}"), skip=True)
    recipe, broken = replace(CROPPED, epochs=3), messy / "blue" / "000.jpg"
    whole = train(source, recipe, tmp_path / "whole.safetensors", workers=0)
    content, out = broken.read_bytes(), tmp_path / "net.safetensors"

    def damage(done, total):
        if done == 2:
            broken.write_bytes(content[:200])

    with pytest.raises(ImageError, match=r"cannot use the picture .*blue/000.jpg: .*; replace the file"):
        train(source, recipe, out, workers=0, progress=damage)
    broken.write_bytes(content)
    seen = []
    train(source, recipe, out, workers=0, progress=lambda done, total: seen.append(done))
    assert seen == [3]
    assert same(weights(out), weights(whole))


# --- the command ------------------------------------------------------------------------------------------------------


def test_a_dry_run_counts_the_decoding_and_every_side(folder, tmp_path):
    recipe = tmp_path / "mine.yaml"
    recipe.write_text("{based_on: imagenet-fast, architecture: small_cnn, batch_size: 8, sides: [12, 16]}")
    words = ["train", "--data", f"folder:{folder}", "--recipe", str(recipe), "--out", str(tmp_path / "n.safetensors")]
    result = CliRunner().invoke(app, [*words, "--device", "cpu", "--dry-run"])
    assert result.exit_code == 0, result.output
    assert "On 1 processor: about" in result.output
    assert [file.name for file in tmp_path.iterdir()] == ["mine.yaml"]
