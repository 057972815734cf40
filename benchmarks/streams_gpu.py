r"""Images per second of streams, without a network: CCC's walks with two corruptions per image, and mixed corruptions.

    python benchmarks/streams_gpu.py [--images 7500000] [--sizes 224 32] [--streams ccc ccc-jpeg mixed] [--device cuda]

The source is synthetic, 50 000 images that lie on the device as bytes. The matrix of the walks is made up: accuracies
fall with both severities, so that the paths of ccc-easy are a dozen nodes long. A first part of each stream is run to
compile what there is to compile, and not counted. `images/s` is by the clock on the wall, from the first batch to the
last, which the device has finished then; memory is what torch has allocated, at most, in each quarter of the stream.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch

import scuff
from scuff.streams import load_recipe

BATCH = {224: 64, 32: 200}
WARM_UP = 40_000


def write_matrix(path: Path) -> None:
    names = load_recipe("ccc-easy").corruptions
    i, j = np.meshgrid(range(21), range(21), indexing="ij")
    severities = np.arange(21) / 4
    table = pd.DataFrame(75 * np.exp(-i / 10 - j / 8), columns=[f"{s:g}" for s in severities])
    pairs = [(a, b) for a in names for b in names if a != b]
    pd.concat([table.assign(first=a, second=b, severity=severities) for a, b in pairs]).to_csv(path, index=False)


def synthetic(count: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Smooth colours with edges and a little noise: `count` images of which every few hundred repeat."""
    rng = np.random.default_rng(0)
    i, j = np.meshgrid(np.arange(size) / size, np.arange(size) / size, indexing="ij")
    some = []
    for n in range(256):
        waves = 0.5 + 0.5 * np.sin(6.3 * (2 * i + 3 * n / 256 * j))[..., None] + np.array([0.0, 0.1, 0.2])
        edges = ((np.floor((i + n / 256) * 9) + np.floor(j * 7)) % 2)[..., None]
        some.append(np.clip(0.6 * waves + 0.25 * edges + 0.15 * rng.random((size, size, 3)), 0, 1))
    pixels = np.round(255 * np.stack(some)).astype(np.uint8)
    return pixels[np.arange(count) % 256], np.arange(count) % 1000 if size > 64 else np.arange(count) % 10


def memory(device: torch.device) -> float:
    if device.type != "cuda":
        return float("nan")
    most = torch.cuda.max_memory_allocated(device) / 2**30
    torch.cuda.reset_peak_memory_stats(device)
    return most


def run(stream: scuff.streams.Stream, size: int, images: int) -> None:
    device, total = stream.device, min(images, len(stream))
    for _ in stream.batches(BATCH.get(size, 64), stop=min(WARM_UP, total)):
        pass
    finish = (lambda: torch.cuda.synchronize(device)) if device.type == "cuda" else (lambda: None)
    finish()
    memory(device)
    started, quarters, seen, most = time.perf_counter(), 1, 0, []
    for batch in stream.batches(BATCH.get(size, 64), stop=total):
        seen += len(batch.images)
        if seen >= quarters * total / 4:
            most.append(memory(device))
            quarters += 1
    finish()
    seconds = time.perf_counter() - started
    steps = np.mean([np.mean(list(map(len, s.domains))) for s in stream.segments if s.start < total])
    rate, jpeg = seen / seconds, ", then JPEG" if stream.recipe.as_published else ""
    print(
        f"{size} px, {stream.recipe.name}: {seen} images, {steps:.2f} corruptions each{jpeg}: {seconds:.1f} s, "
        f"{rate:.0f} images/s; 7.5 million in {7.5e6 / rate:.0f} s; GiB by quarter {np.round(most, 2)}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=7_500_000)
    parser.add_argument("--source", type=int, default=50_000, help="images of the source")
    parser.add_argument("--sizes", type=int, nargs="+", default=[224, 32])
    parser.add_argument("--streams", nargs="+", default=["ccc"], choices=["ccc", "ccc-jpeg", "mixed"])
    parser.add_argument("--device")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        matrix = Path(folder, "matrix.csv")
        write_matrix(matrix)
        for size in options.sizes:
            images, labels = synthetic(options.source, size)
            source = scuff.data.array_source("synthetic", images, labels)
            for name in options.streams:
                if name == "mixed":
                    recipe = load_recipe("mixed_domains:together=2,visits=20")
                else:
                    recipe = load_recipe("ccc-easy").replace(matrix=str(matrix), as_published=name == "ccc-jpeg")
                run(scuff.stream(source, recipe, seed=43, device=options.device), size, options.images)
            if size == 224:
                seek(scuff.stream(source, recipe, seed=43, device=options.device))


def seek(stream: scuff.streams.Stream) -> None:
    """How long it takes to get to a position."""
    stream[0]
    for position in (1, len(stream) // 2, len(stream) - 1):
        started = time.perf_counter()
        stream[position].image.cpu()
        print(f"position {position}: {1000 * (time.perf_counter() - started):.1f} ms")


if __name__ == "__main__":
    main()
