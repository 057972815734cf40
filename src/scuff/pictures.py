"""Picture files: read them as the package wants them, and cut them to size as image classifiers do."""

from __future__ import annotations

import os
from importlib import resources

from PIL import Image, ImageOps

from scuff.images import ImageError

GREY = ("1", "L", "LA")
COLOUR = ("RGB", "RGBA", "RGBX", "RGBa", "P", "PA", "CMYK", "YCbCr", "LAB", "HSV")


def read_picture(path: str | os.PathLike[str]) -> Image.Image:
    """Read a picture as L (grey) or RGB (everything else), upright as its EXIF orientation says; alpha is dropped."""
    with Image.open(path) as image:
        image = ImageOps.exif_transpose(image)
        if image.mode in GREY:
            return image.convert("L")
        if image.mode not in COLOUR:
            raise ImageError(f"expected 8 bits per channel, got a picture of mode {image.mode}; convert it to 8 bits")
        if image.mode == "P":
            image = image.convert("RGBA")  # the way to RGB on which Pillow does not warn of transparent colours
        return image.convert("RGB")


def bundled_picture() -> Image.Image:
    """The cat that comes with the package: RGB, 224 x 224."""
    with (resources.files("scuff.assets") / "cat.png").open("rb") as file:
        return read_picture(file)


def resize_shorter_side(picture: Image.Image, size: int) -> Image.Image:
    """Give the shorter side `size` pixels: bilinear, rounding as torchvision's Resize does."""
    width, height = picture.size
    short = min(width, height)
    return picture.resize((int(size * width / short), int(size * height / short)), Image.Resampling.BILINEAR)


def crop_centre(picture: Image.Image, size: int) -> Image.Image:
    """Cut out the middle `size` x `size` pixels, rounding as torchvision's CenterCrop does."""
    width, height = picture.size
    if min(width, height) < size:
        raise ImageError(f"{width} x {height} pixels are too few for a crop of {size}; resize to at least that first")
    left, top = round((width - size) / 2), round((height - size) / 2)
    return picture.crop((left, top, left + size, top + size))


def fit_square(picture: Image.Image, size: int) -> Image.Image:
    """The largest centred square of a picture, at `size` x `size` pixels, antialiased."""
    return picture if picture.size == (size, size) else ImageOps.fit(picture, (size, size), Image.Resampling.LANCZOS)
