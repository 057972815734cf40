"""One core, 224 pixels: the Syn2Nat candidates against the nearest transforms of albumentations, in the same run.

    make bench        (installs the peers beside us, then runs this and its siblings)

Both get the same uint8 pictures: the peer one at a time, as it only can, scuff as one batch through its public door.
Both keep the results of all pictures until the call is over: throwing each away at once would spare the peer the
memory that a batch takes. Times are CPU times, the best of several rounds, rounds of the two alternate, and torch and
OpenCV may use one thread. Current albumentations is not the version that the benchmark was made with: behaviour and
defaults have changed since, so each transform below is set to do about the same amount of the same work.
"""

from __future__ import annotations

import os

os.environ.update(
    OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1", NO_ALBUMENTATIONS_UPDATE="1"
)  # fmt: skip

import argparse
import math
import platform
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np


def load_peer() -> dict[str, object]:
    """One transform of the peer for each candidate."""
    import albumentations as A
    import cv2

    cv2.setNumThreads(1)
    mirror, edge = {"border_mode": cv2.BORDER_REFLECT_101, "p": 1}, {"border_mode": cv2.BORDER_REPLICATE, "p": 1}
    square = {"hole_height_range": (150, 150), "hole_width_range": (150, 150)}
    holes = {"hole_height_range": (8, 8), "hole_width_range": (8, 8)}
    return {
        "affines": A.Affine(scale=(0.6, 0.8), keep_ratio=True, **mirror),
        "perspective": A.Perspective(scale=(0.1, 0.3), keep_size=True, p=1),
        "rotate": A.Rotate(limit=180, **mirror),
        "transpose": A.Affine(translate_percent=(-0.7, 0.7), **mirror),
        "flip": A.OneOf([A.HorizontalFlip(p=1), A.VerticalFlip(p=1)], p=1),
        # the elastic part of the original is an identity; what is left is an affine map
        "elastic_transform": A.Affine(scale=(0.7, 1.4), rotate=(-20, 20), shear=(-20, 20), **edge),
        "grid_distortion": A.GridDistortion(num_steps=5, distort_limit=(-0.9, 0.9), p=1),
        "optical_distortion": A.OpticalDistortion(distort_limit=(-0.9, 0.9), p=1),
        "random_grid_shuffle": A.RandomGridShuffle(grid=(4, 4), p=1),
        "border": A.Compose([A.CenterCrop(130, 130), A.PadIfNeeded(224, 224, border_mode=cv2.BORDER_CONSTANT)]),
        "cutout": A.CoarseDropout(num_holes_range=(1, 1), fill=0, **square, p=1),
        "coarse_dropout": A.CoarseDropout(num_holes_range=(16, 48), fill=0, **holes, p=1),
        "blur": A.Blur(blur_limit=(5, 9), p=1),
        "gaussian_blur": A.GaussianBlur(blur_limit=(9, 13), p=1),
        "median_blur": A.MedianBlur(blur_limit=(5, 11), p=1),
        "motion_blur": A.MotionBlur(blur_limit=(11, 17), p=1),
        "sharpen": A.Sharpen(alpha=(0.3, 0.6), lightness=(0.6, 1.0), p=1),
        "emboss": A.Emboss(alpha=(1.0, 1.0), strength=(0.2, 0.7), p=1),
        "downscale": A.Downscale(scale_range=(0.45, 0.45), p=1),
        "image_compression": A.ImageCompression(quality_range=(5, 15), p=1),
        "jpeg_compression": A.ImageCompression(quality_range=(5, 15), p=1),
        "gauss_noise": A.GaussNoise(std_range=(22.4 / 255, 31.6 / 255), p=1),
        "multiplicative_noise": A.MultiplicativeNoise(multiplier=(0.7, 1.3), elementwise=True, p=1),
        "iso_noise": A.ISONoise(color_shift=(0.2, 0.5), intensity=(0.5, 1.0), p=1),
        "random_brightness": A.RandomBrightnessContrast(brightness_limit=0.9, contrast_limit=0, p=1),
        "random_contrast": A.RandomBrightnessContrast(brightness_limit=0, contrast_limit=(-0.9, 1.5), p=1),
        "random_gamma": A.RandomGamma(gamma_limit=(300, 1000), p=1),
        "random_fog": A.RandomFog(fog_coef_range=(0.8, 1.0), alpha_coef=0.08, p=1),
        "random_rain": A.RandomRain(p=1),
        "random_shadow": A.RandomShadow(
            shadow_roi=(0, 0, 1, 1), num_shadows_limit=(2, 4), shadow_dimension=8, p=1
        ),
        "random_snow": A.RandomSnow(snow_point_range=(0.1, 0.3), method="bleach", p=1),
        "random_sun_flare": A.RandomSunFlare(src_radius=200, p=1),
        "channel_dropout": A.ChannelDropout(p=1),
        "color_jitter": A.ColorJitter(
            brightness=(0.3, 1.7), contrast=(0.3, 1.7), saturation=(0.3, 1.7), hue=(-0.5, 0.5), p=1
        ),
        "hue_saturation_value": A.HueSaturationValue(100, 150, 100, p=1),
        "rgb_shift": A.RGBShift(200, 200, 200, p=1),
        "invert_img": A.InvertImg(p=1),
        "posterize": A.Posterize(num_bits=2, p=1),
        "solarize": A.Solarize(threshold_range=(200 / 255, 200 / 255), p=1),
        "to_sepia": A.ToSepia(p=1),
    }  # fmt: skip


def pictures() -> np.ndarray:
    """A batch of 64: sixteen 224-pixel windows of scikit-image's and scikit-learn's pictures, four times over."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from golden.pictures import pictures_224

    return np.concatenate([pictures_224()] * 4)


def seconds(call) -> float:
    start = time.thread_time()
    call()
    return time.thread_time() - start


def each_alone(transform, images: np.ndarray) -> list[np.ndarray]:
    return [transform(image=image)["image"] for image in images]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", help="names with commas between them")
    options = parser.parse_args()

    import torch

    import scuff

    torch.set_num_threads(1)
    import albumentations

    x, ratios = pictures(), {}
    versions = f"albumentations {albumentations.__version__}, torch {torch.__version__}, numpy {np.__version__}"
    print(f"{platform.machine()}, Python {platform.python_version()}, {versions}")
    print(f"milliseconds per image, one core, best of {options.rounds} rounds\n")
    print(f"{'candidate':>22}{'albumentations':>16}{'scuff':>9}{'ratio':>8}")
    for name, transform in load_peer().items():
        if options.only and name not in options.only.split(","):
            continue
        calls = (
            partial(each_alone, transform, x),
            partial(scuff.corrupt, x, f"syn2nat-candidates/{name}"),
        )
        for call in calls:  # compile, fill caches
            call()
        rounds = [[seconds(call) for call in calls] for _ in range(options.rounds)]
        theirs, ours = (1e3 * min(column) / len(x) for column in zip(*rounds, strict=True))
        ratios[name] = theirs / ours
        print(f"{name:>22}{theirs:>16.3f}{ours:>9.3f}{ratios[name]:>8.2f}", flush=True)
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    losses = [f"{name} {ratio:.2f}" for name, ratio in sorted(ratios.items(), key=lambda item: item[1]) if ratio < 1]
    print(f"\ngeometric mean of the ratios: {mean:.2f}; losses: {', '.join(losses) or 'none'}")


if __name__ == "__main__":
    main()
