"""Seconds until the first prediction, and in all, of an evaluation of JPEG files: 50 000 of about 110 kB.

    python benchmarks/decode_gpu.py [--images 50000] [--folder DIR] [--model torchvision:resnet50@random]

Makes the files, of 500 x 375 pixels, if the folder does not hold them. Then evaluates clean pictures and one corruption
at one severity: without anything remembered; again, when digests are; with a cache, which is written and then mapped;
and with nvJPEG, whose pixels are held against Pillow's. The disk's own cache is warm throughout.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from scuff.data import load_pixels, open_source
from scuff.evaluation import plan_evaluation, run_plan
from scuff.pictures import Cut

WIDTH, HEIGHT, CLASSES = 500, 375, 1000
CUT = Cut(256, 224)


def make_picture(folder: str, number: int) -> int:
    """Smooth colours, edges and grain, about as hard to compress as a photograph; returns the bytes of the file."""
    chance = np.random.default_rng(number)
    small = Image.fromarray(chance.integers(0, 256, (12, 16, 3), dtype=np.uint8))
    smooth = np.asarray(small.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC), np.float32)
    picture = smooth + chance.normal(0, 22, (HEIGHT, WIDTH, 3)).astype(np.float32)
    file = io.BytesIO()
    Image.fromarray(picture.clip(0, 255).astype(np.uint8)).save(file, "jpeg", quality=91)
    place = Path(folder) / f"class{number % CLASSES:04d}" / f"{number:06d}.jpg"
    place.write_bytes(file.getvalue())
    return len(file.getvalue())


def make_folder(folder: Path, count: int) -> None:
    for number in range(CLASSES):
        (folder / f"class{number:04d}").mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    with ProcessPoolExecutor() as pool:
        sizes = list(pool.map(partial(make_picture, str(folder)), range(count), chunksize=64))
    seconds = time.perf_counter() - started
    print(f"made {count} files of {np.mean(sizes) / 1e3:.0f} kB on average in {seconds:.0f} s", flush=True)


def measure(what: str, folder: Path, model: str, **options) -> dict:
    """Seconds of one evaluation, from opening the data on."""
    first: list[float] = []
    started = time.perf_counter()

    def progress(doing: str, done: int, total: int) -> None:
        if doing.startswith("test") and done and not first:
            torch.cuda.synchronize()
            first.append(time.perf_counter() - started)

    with tempfile.TemporaryDirectory() as out:
        few = {"only": ["contrast"], "severities": [3], "precision": "bfloat16"}
        plan_options = {key: options.pop(key) for key in ("decoder",) if key in options}
        plan = plan_evaluation(model, "imagenet-c", f"folder:{folder}", out, **few, **plan_options)
        planned = time.perf_counter() - started
        timing = run_plan(plan, progress=progress, compile=False, **options)
    result = {"what": what, "planning_s": planned, "first_prediction_s": first[0], "in_all_s": planned + timing.seconds}
    result = {key: round(value, 1) if isinstance(value, float) else value for key, value in result.items()}
    print(json.dumps(result), flush=True)
    return result


def compare_decoders(folder: Path) -> None:
    """How far the pixels of nvJPEG are from Pillow's, and how fast each decodes."""
    source = open_source(f"folder:{folder}")
    source = source.take(range(min(len(source), 5000)))
    pixels = {}
    for decoder in ("pillow", "nvjpeg"):
        started = time.perf_counter()
        pixels[decoder] = load_pixels(source, CUT, "cuda", decoder=decoder).images
        torch.cuda.synchronize()
        print(f"{decoder}: {len(source) / (time.perf_counter() - started):.0f} pictures per second", flush=True)
    apart = (pixels["pillow"].int() - pixels["nvjpeg"].int()).abs()
    shares = {level: round((apart > level).float().mean().item(), 5) for level in (0, 1, 2, 4, 8)}
    print(f"values that differ by more than so many levels: {shares}; at most {apart.max().item()}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=50_000)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "scuff-jpegs")
    parser.add_argument("--model", default="torchvision:resnet50@random")
    options = parser.parse_args()
    if not options.folder.exists():
        make_folder(options.folder, options.images)
    print(f"{os.cpu_count()} processors, {torch.cuda.get_device_name()}", flush=True)
    with tempfile.TemporaryDirectory() as home:
        os.environ["XDG_CACHE_HOME"] = home
        cache = Path(home) / "pixels"
        measure("nothing remembered", options.folder, options.model)
        measure("digests remembered", options.folder, options.model)
        measure("writing the cache", options.folder, options.model, cache=cache)
        measure("mapping the cache", options.folder, options.model, cache=cache)
        shutil.rmtree(cache)
        measure("nvjpeg", options.folder, options.model, decoder="nvjpeg")
        compare_decoders(options.folder)


if __name__ == "__main__":
    main()
