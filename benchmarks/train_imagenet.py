"""How fast a GPU trains ResNet-50 at 224 pixels: from memory, with half of every batch corrupted, and from JPEG files.

    python benchmarks/train_imagenet.py
    python benchmarks/train_imagenet.py --quick                # a smoke test of a minute on a processor
    python benchmarks/train_imagenet.py --make DIR 1281167     # only makes a folder as large as ImageNet, for --dry-run

Prints images per second once everything is compiled, all in one run; only ratios within one run count. Pictures are
made up: photos of 500 x 375 pixels have about 110 kB, and so have these; a folder holds links to a few hundred.
"""

from __future__ import annotations

import argparse
import io
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from scuff.ahead import count_processors
from scuff.data import open_source
from scuff.data.imagenet import wordnet_ids
from scuff.pictures import Cut
from scuff.training import Recipe, find_recipe
from scuff.training.fit import begin, blocks, fit
from scuff.training.images import TrainingImages, load_training_images, normalisation_of
from scuff.training.run import first_weights
from scuff.training.treatment import choose_treatment

CPU = torch.device("cpu")
SIZE, BYTES = (500, 375), 110_000
TREATMENTS = {
    "half corrupted by imagenet-c": {"suite": "imagenet-c"},
    "half corrupted by imagenet-noc": {"suite": "imagenet-noc"},
    "augmented by augmix": {"augment": "augmix"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few small images, on any device")
    parser.add_argument("--batch", type=int, nargs="*", default=[1024], help="sizes of batches; the last for files")
    parser.add_argument("--files", type=int, default=16_384, help="how many JPEG files are trained on")
    parser.add_argument("--make", nargs=2, metavar=("DIR", "N"), help="only make a folder of N files")
    options = parser.parse_args()
    if options.make:
        Path(options.make[0]).mkdir(parents=True)
        make_folder(Path(options.make[0]).resolve(), int(options.make[1]), 256)
        return
    quick, device = options.quick, torch.device("cuda" if torch.cuda.is_available() else "cpu")
    name = torch.cuda.get_device_name() if device.type == "cuda" else "processor"
    print(f"{name}, torch {torch.__version__}, {count_processors()} processes decode", flush=True)
    base = find_recipe("imagenet-resnet50")
    if quick:
        base, options.batch = replace(base, architecture="resnet18", sides=(64,), cut=Cut(72, 64)), [8]
    for batch in options.batch:
        from_memory(replace(base, batch_size=batch, crop_area=(), epochs=4 if quick else 3), device, quick)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        make_folder(Path(folder), 64 if quick else options.files, 16 if quick else 256)
        print(f"folder of JPEG files, made in {time.perf_counter() - began:.0f} s", flush=True)
        from_files(Path(folder), replace(base, batch_size=options.batch[-1]), device)


def from_memory(recipe: Recipe, device: torch.device, quick: bool) -> None:
    """Pixels that lie on the device: the step, and what treatments cost."""
    count, side = 4 * recipe.batch_size if quick else 24_576, recipe.sides[0]  # two blocks of an epoch on a GPU
    draw = torch.Generator(device).manual_seed(0)
    coarse = torch.rand((count, 3, 14, 14), generator=draw, device=device)
    pixels = torch.empty((count, 3, side, side), dtype=torch.uint8, device=device)
    for place in range(0, count, 256):
        smooth = torch.nn.functional.interpolate(coarse[place : place + 256], side, mode="bicubic")
        pixels[place : place + 256] = smooth.mul_(255).clamp_(0, 255).to(torch.uint8)
    labels = torch.randint(0, 1000, (count,), generator=draw, device=device)
    images = TrainingImages(pixels, labels, recipe.mean, recipe.std, wordnet_ids(), "made up", Cut(side, side))
    first = show(f"memory, batch {recipe.batch_size}", images, recipe, device)
    for words, options in TREATMENTS.items():
        treatment = choose_treatment(**options)
        speed = show(f"memory, batch {recipe.batch_size}, {words}", images, recipe, device, treatment, first)
        prepared = count / time_blocks(images, recipe, device, treatment)
        print(f"    {1e6 / speed:.0f} us per image, of which preparing it takes {1e6 / prepared:.0f}", flush=True)


def from_files(folder: Path, recipe: Recipe, device: torch.device) -> None:
    """Pictures that are decoded and cropped on the way."""
    source = open_source(f"folder:{folder}")
    for side in (160, recipe.sides[0]):
        recipe = replace(recipe, sides=(side,), epochs=2)
        images = load_training_images(source, recipe, device)
        speed = len(source) / time_blocks(images, recipe, device, None)
        print(f"JPEG files, {side} pixels: decoding and cropping alone: {speed:.0f} images/s", flush=True)
    show(f"JPEG files, {side} pixels", images, recipe, device)
    show(f"JPEG files, {side} pixels, half corrupted", images, recipe, device, choose_treatment(suite="imagenet-c"))
    few = replace(images.pixels, source=source.take(range(0, len(source), len(source) // 32)), workers=0)
    seconds = time_blocks(replace(images, pixels=few, part=None), replace(recipe, batch_size=2), CPU, None)
    print(f"one process decodes and crops {len(few) / seconds:.0f} images/s", flush=True)


def show(what, images, recipe, device, treatment=None, first=None) -> float:
    """Train, print the speed after the first blocks, which compile, and return it."""
    training = begin(first_weights(recipe, images, None, 0), recipe, device)
    seen: list[tuple[int, float]] = []
    skipped = 2

    def note(now) -> None:
        if len(seen) == skipped or now.step == last:
            wait(device)
        seen.append((now.step, time.perf_counter()))

    last = recipe.epochs * (len(images.labels) // recipe.batch_size)
    look = normalisation_of(images, recipe, device)
    options = {"normalisation": look, "treatment": treatment, "after_block": note, "part": images.part}
    fit(training, images.pixels, images.labels, recipe, **options)
    (from_step, start), (to_step, end) = seen[min(skipped, len(seen) - 2)], seen[-1]
    speed = (to_step - from_step) * recipe.batch_size / (end - start)
    ratio = "" if first is None else f", {speed / first:.3f} of the first line"
    print(f"{what}: {speed:.0f} images/s{ratio}", flush=True)
    return speed


def time_blocks(images: TrainingImages, recipe: Recipe, device: torch.device, treatment) -> float:
    """Seconds of an epoch without the network."""
    for epoch in range(2 if isinstance(images.pixels, torch.Tensor) else 1):  # kernels are compiled in the first
        wait(device)
        began = time.perf_counter()
        for _ in blocks(images.pixels, recipe, epoch, 0, device, treatment, part=images.part):
            pass
        wait(device)
    return time.perf_counter() - began


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


# --- pictures --------------------------------------------------------------------------------------------------------


def make_picture(number: int) -> bytes:
    """A JPEG file whose amplitudes fall with frequency, as those of photos do, of about the size that photos have."""
    chance, (width, height) = np.random.default_rng(number), SIZE
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None])
    frequency[0, 0] = np.inf
    planes = [
        np.fft.irfft2(np.exp(2j * np.pi * chance.random(frequency.shape)) / frequency**1.2, s=(height, width))
        for _ in range(3)
    ]
    grey, *colours = (plane / plane.std() for plane in planes)
    mixed = np.stack([grey, *(0.9 * grey + 0.3 * colour for colour in colours)], axis=-1)
    picture = Image.fromarray(np.clip(120 + 55 * mixed, 0, 255).astype(np.uint8))
    for quality in (96, 93, 90, 85, 80, 70):
        file = io.BytesIO()
        picture.save(file, "jpeg", quality=quality)
        if file.tell() <= BYTES * 1.1:
            break
    return file.getvalue()


def make_folder(root: Path, count: int, distinct: int) -> None:
    """Links to some pictures, in a folder for each class of ImageNet."""
    (root / ".pictures").mkdir()
    with ProcessPoolExecutor() as pool:
        for number, content in enumerate(pool.map(make_picture, range(distinct), chunksize=4)):
            (root / ".pictures" / f"{number}.jpg").write_bytes(content)
    sizes = [file.stat().st_size for file in (root / ".pictures").iterdir()]
    print(f"{distinct} pictures of {SIZE[0]} x {SIZE[1]} pixels, {sum(sizes) / len(sizes) / 1000:.0f} kB on average")
    classes = wordnet_ids()
    for number in range(count):
        place = root / classes[number % len(classes)]
        place.mkdir(exist_ok=True) if number < len(classes) else None
        os.symlink(root / ".pictures" / f"{number % distinct}.jpg", place / f"{number:07}.JPEG")


if __name__ == "__main__":
    main()
