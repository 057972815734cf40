"""How fast images are augmented: AugMix and its operations against Pillow on one core, and on a GPU.

    python benchmarks/augment.py [--rounds 5]

Every image has an operation and a value of its own. On the CPU all get the same: Pillow one image at a time, as it only
can, scuff as one batch with one thread; rounds of the two alternate, and the best of each counts. On a GPU the peer is
torchvision, if it is installed: given a batch, it draws one chain for all of its images, which is less than
augmentation needs; given one image at a time, it does what we do. Only ratios within one run count.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import time
from collections.abc import Callable

os.environ.update(OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import numpy as np
import PIL
import torch
from PIL import Image, ImageOps
from torch import Tensor

from scuff.augment import AugMix
from scuff.augment.augmix import Chains
from scuff.augment.operations import operate

SETTINGS = {32: (3.0, 512), 224: (1.0, 32)}  # severity and images of a batch on the CPU
GPU_BATCHES = {32: (512, 50_000), 224: (64, 1024)}


def make_images(count: int, side: int, device: str = "cpu") -> Tensor:
    """Smooth colours with noise over them."""
    i, j = torch.meshgrid(torch.arange(side) / side, torch.arange(side) / side, indexing="ij")
    phase = torch.rand(count, 3, 1, 1, generator=torch.Generator().manual_seed(0)).to(device)
    noise = torch.rand(count, 3, side, side, generator=torch.Generator(device).manual_seed(0), device=device)
    waves = torch.sin(6.3 * (i + 2 * j).to(device) + 6.3 * phase)
    return (127 + 90 * waves + 38 * (noise - 0.5)).round().to(torch.uint8)


# --- one core -------------------------------------------------------------------------------------------------------


def pillow_operation(picture: Image.Image, name: str, value: float) -> Image.Image:
    """What AugMix does with Pillow."""
    maps = {
        "shear_x": (1, value, 0, 0, 1, 0),
        "shear_y": (1, 0, 0, value, 1, 0),
        "translate_x": (1, 0, value, 0, 1, 0),
        "translate_y": (1, 0, 0, 0, 1, value),
    }
    if name in maps:
        return picture.transform(picture.size, Image.Transform.AFFINE, maps[name], Image.Resampling.BILINEAR)
    if name == "rotate":
        return picture.rotate(value, Image.Resampling.BILINEAR)
    if name in ("autocontrast", "equalize"):
        return getattr(ImageOps, name)(picture)
    return {"solarize": ImageOps.solarize, "posterize": ImageOps.posterize, "identity": lambda p, _: p}[name](
        picture, int(value)
    )


def pillow_mixture(picture: Image.Image, chains: Chains, k: int) -> np.ndarray:
    """Image k of AugMix, as the original code does it: chains of Pillow's operations, mixed by numpy."""
    share, mixed = float(chains.share[k]), 0.0
    drawn = (part[k].tolist() for part in (chains.which, chains.values, chains.weights))
    for which, values, weight in zip(*drawn, strict=True):
        end = picture
        for place, value in zip(which, values, strict=True):
            end = pillow_operation(end, chains.operations[place], value)
        mixed = mixed + np.float32(weight) * np.asarray(end, np.float32)
    return np.float32(1 - share) * np.asarray(picture, np.float32) + np.float32(share) * mixed


def best_of(rounds: int, *calls: Callable[[], object]) -> list[float]:
    """The shortest time of each call in seconds; they take turns, after one turn that does not count."""
    times = [[] for _ in calls]
    for turn in range(rounds + 1):
        for call, taken in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            if turn:
                taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]


def show_cpu(side: int, rounds: int) -> None:
    severity, count = SETTINGS[side]
    scheme, images, ids = AugMix(severity=severity), make_images(count, side), torch.arange(count)
    pictures = [Image.fromarray(image) for image in images.permute(0, 2, 3, 1).contiguous().numpy()]
    chains = AugMix(severity=severity, depth=1).draw(ids, (side, side))
    which, values = chains.which[:, 0, 0], chains.values[:, 0, 0]
    drawn = list(zip(pictures, which.tolist(), values.tolist(), strict=True))
    full = scheme.draw(ids, (side, side))

    def by_pillow() -> list[np.ndarray]:
        return [np.asarray(pillow_operation(p, chains.operations[k], value)) for p, k, value in drawn]

    ours = operate(images, chains.operations, which, values).permute(0, 2, 3, 1).numpy()
    theirs = np.stack(by_pillow())
    fast, slow = best_of(rounds, lambda: operate(images, chains.operations, which, values), by_pillow)
    print(f"{side} x {side}: operations/s {count / fast:,.0f}, Pillow {count / slow:,.0f}, ratio {slow / fast:.1f};"
          f" {100 * (ours == theirs).mean():.3f} % of bytes are equal")  # fmt: skip
    fast, slow = best_of(
        rounds, lambda: scheme(images, ids), lambda: [pillow_mixture(p, full, k) for k, p in enumerate(pictures)]
    )
    print(f"{side} x {side}: AugMix images/s {count / fast:,.0f}, Pillow and numpy {count / slow:,.0f}, "
          f"ratio {slow / fast:.1f}")  # fmt: skip


# --- a GPU ----------------------------------------------------------------------------------------------------------


def seconds(call: Callable[[], object], rounds: int) -> float:
    """Of the fastest of several calls, by the clock of the host, so that the time to start kernels counts too."""
    call(), call()
    taken = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        taken.append(time.perf_counter() - start)
    return min(taken)


def show_gpu(side: int, count: int, rounds: int) -> None:
    severity = SETTINGS[side][0]
    images, ids = make_images(count, side, "cuda"), torch.arange(count, device="cuda")
    chains = AugMix(severity=severity, depth=1).draw(ids, (side, side))
    which, values = chains.which[:, 0, 0].contiguous(), chains.values[:, 0, 0].contiguous()
    spent = seconds(lambda: operate(images, chains.operations, which, values), rounds)
    copied = seconds(images.clone, rounds)
    print(f"{side} x {side}, batch {count}: operations/s {count / spent:,.0f}, {spent / copied:.1f} x a copy")
    ours = seconds(lambda: AugMix(severity=severity)(images, ids), rounds)
    print(f"{side} x {side}, batch {count}: AugMix images/s {count / ours:,.0f}")
    if importlib.util.find_spec("torchvision") is None:
        print("torchvision is not installed: no peer")
        return
    from torchvision.transforms import v2

    peer = v2.AugMix(severity=int(severity), all_ops=False, interpolation=v2.InterpolationMode.BILINEAR)
    batch = seconds(lambda: peer(images), rounds)
    few = images[:32]
    single = seconds(lambda: [peer(image) for image in few], rounds) * count / len(few)
    print(f"    torchvision, one draw for all {count / batch:,.0f}, ratio {batch / ours:.1f}; "
          f"a draw for each {count / single:,.0f}, ratio {single / ours:,.0f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    print(f"{platform.machine()}, one core, torch {torch.__version__}, Pillow {PIL.__version__}")
    for side in SETTINGS:
        show_cpu(side, rounds)
    if torch.cuda.is_available():
        print(torch.cuda.get_device_name())
        for side, counts in GPU_BATCHES.items():
            for count in counts:
                show_gpu(side, count, rounds)


if __name__ == "__main__":
    main()
