"""What others offer for the corruptions of a suite, set to do about the same amount of the same work, on one thread.

A peer is a dictionary: for an entry a function of pictures (N, H, W, 3), uint8, and a severity, which returns their
corrupted versions. They take one picture at a time, as their libraries do.
"""

from __future__ import annotations

import importlib.util
import sys
import types
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

Peer = dict[str, Callable[[np.ndarray, "int | None"], list[np.ndarray]]]


def imagecorruptions() -> Peer:
    """Version 1.1.2, whose 15 corruptions are those of ImageNet-C.

    It does not import on current numpy, scikit-image or setuptools. This gives it back the three names that it misses,
    `pkg_resources`, `np.float_` and `gaussian(multichannel=...)`, and changes nothing else.
    """
    import cv2
    import skimage.filters

    found = importlib.util.find_spec("imagecorruptions")
    if found is None:
        raise ImportError("imagecorruptions is not installed")
    root = Path(found.origin).parent
    stand_in = types.ModuleType("pkg_resources")
    stand_in.resource_filename = lambda package, name: str(root / name)
    sys.modules["pkg_resources"] = stand_in
    setattr(np, "float_", np.float64)  # noqa: B010  (written so that linters do not "modernise" the name away)
    gaussian = skimage.filters.gaussian

    def gaussian_with_multichannel(*arguments, multichannel=None, **options):
        if multichannel is not None:
            options["channel_axis"] = -1 if multichannel else None
        return gaussian(*arguments, **options)

    skimage.filters.gaussian = gaussian_with_multichannel
    cv2.setNumThreads(1)
    warnings.simplefilter("ignore")
    from imagecorruptions import corrupt, get_corruption_names

    def each(images: np.ndarray, severity: int | None, name: str) -> list[np.ndarray]:
        some = images[:1] if name == "glass_blur" else images[:4]  # it takes seconds
        return [corrupt(image, severity, name) for image in some]

    return {name: partial(each, name=name) for name in get_corruption_names()}


def albumentations() -> Peer:
    """The nearest transform to each of Syn2Nat's candidates.

    The benchmark was made with an older version, whose behaviour and defaults were others.
    """
    import albumentations as A
    import cv2

    cv2.setNumThreads(1)
    mirror, edge = {"border_mode": cv2.BORDER_REFLECT_101, "p": 1}, {"border_mode": cv2.BORDER_REPLICATE, "p": 1}
    square = {"hole_height_range": (150, 150), "hole_width_range": (150, 150)}
    holes = {"hole_height_range": (8, 8), "hole_width_range": (8, 8)}
    transforms = {
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

    def each(images: np.ndarray, severity: int | None, transform: Callable) -> list[np.ndarray]:
        return [transform(image=image)["image"] for image in images]

    return {name: partial(each, transform=transform) for name, transform in transforms.items()}


PEERS: dict[str, Callable[[], Peer]] = {"imagenet-c": imagecorruptions, "syn2nat-candidates": albumentations}
