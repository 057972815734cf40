"""Picture files: read them as the package wants them, and cut them to size as image classifiers do."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import IO

from PIL import Image, ImageOps

from scuff.images import ImageError

GREY = ("1", "L", "LA")
COLOUR = ("RGB", "RGBA", "RGBX", "RGBa", "P", "PA", "CMYK", "YCbCr", "LAB", "HSV")
SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff", ".gif")


class UnreadablePictures(ImageError):
    """Pictures that cannot be read, by their names, each with the reason; the message lists them all."""

    def __init__(self, source: str, total: int, failures: Mapping[str, str]) -> None:
        self.failures = dict(failures)
        super().__init__(
            f"{len(failures)} of {total} pictures of {source} cannot be read:\n{list_unreadable(failures)}\n"
            "Replace them, take them out, or go on without them: --skip-unreadable (skip_unreadable=True in Python)"
        )


def list_unreadable(failures: Mapping[str, str]) -> str:
    """A line for each picture that cannot be read, with the reason."""
    return "\n".join(f"  {name}: {reason}" for name, reason in sorted(failures.items()))


def read_picture(
    path: str | os.PathLike[str] | IO[bytes], is_trial: bool = False, formats: tuple[str, ...] | None = None
) -> Image.Image:
    """Read a picture as L (grey) or RGB (everything else), upright as its EXIF orientation says; alpha is dropped.

    Of an animation the first frame is read. A trial reads the whole file, but makes a small picture of a large JPEG,
    which takes less time. `formats` are those of Pillow that are tried; by default all.
    """
    with Image.open(path, formats=formats) as file:
        if is_trial:
            file.draft(None, (1, 1))  # type: ignore[arg-type]
        image = ImageOps.exif_transpose(file)
        if image.mode in GREY:
            return image.convert("L")
        if image.mode not in COLOUR:
            raise ImageError(f"expected 8 bits per channel, got a picture of mode {image.mode}; convert it to 8 bits")
        if image.mode == "P":
            image = image.convert("RGBA")  # the way to RGB on which Pillow does not warn of transparent colours
        return image.convert("RGB")


def failure_reason(error: Exception) -> str:
    """Why a picture could not be read, in few words that leave out its path."""
    if isinstance(error, Image.UnidentifiedImageError):
        return "not a picture"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) if isinstance(error, (OSError, ImageError)) else f"{type(error).__name__}: {error}"


def find_pictures(source: Path) -> list[str]:
    """The pictures in a tree, as `list_pictures` has them; a tree without any is refused."""
    pictures = list_pictures(source)
    if not pictures:
        raise ValueError(f"there are no pictures in {source}; looked for {' '.join(SUFFIXES)} in it and below")
    return pictures


def list_pictures(source: Path) -> list[str]:
    """The pictures in a tree, as sorted paths relative to it; hidden files are left out, links are followed."""
    pictures, seen = [], set()
    for folder, subfolders, files in os.walk(source, followlinks=True, onerror=_refuse):
        real = os.path.realpath(folder)
        if real in seen:  # a link back to where we have been
            subfolders.clear()
            continue
        seen.add(real)
        subfolders[:] = [f for f in subfolders if not f.startswith(".")]
        below = Path(folder).relative_to(source).as_posix()
        start = "" if below == "." else f"{below}/"  # as text: a million paths as objects take ten seconds
        pictures += [start + f for f in files if f.lower().endswith(SUFFIXES) and not f.startswith(".")]
    return sorted(pictures)


def _refuse(error: OSError) -> None:
    raise error  # by default os.walk leaves out a folder that it cannot read, without a word


def bundled_picture() -> Image.Image:
    """The cat that comes with the package: RGB, 224 x 224."""
    with (resources.files("scuff.assets") / "cat.png").open("rb") as file:
        return read_picture(file)


@dataclass(frozen=True)
class Cut:
    """How pictures are brought to a classifier's size: the shorter side to `resize`, then the middle `crop` x `crop`.

    Either step may be None. `filter` is the name of one of Pillow's: "bilinear", "bicubic", "lanczos", "nearest".
    ImageNet-C was made from Cut(256, 224). Without `keeps_ratio` both sides are brought to `resize`, which squeezes
    pictures that are no squares.
    """

    resize: int | None = None
    crop: int | None = None
    filter: str = "bilinear"
    keeps_ratio: bool = True

    def __post_init__(self) -> None:
        for name, size in (("resize", self.resize), ("crop", self.crop)):
            if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
                raise ValueError(f"{name} must be a whole number of pixels, at least 1, got {size!r}")
        if self.resize is not None and self.crop is not None and self.crop > self.resize:
            raise ValueError(
                f"a crop of {self.crop} does not fit into a shorter side of {self.resize}; crop at most {self.resize}"
            )

    def __call__(self, picture: Image.Image) -> Image.Image:
        if self.resize is not None and self.keeps_ratio:
            picture = resize_shorter_side(picture, self.resize, self.filter)
        elif self.resize is not None:
            picture = picture.resize((self.resize, self.resize), Image.Resampling[self.filter.upper()])
        return picture if self.crop is None else crop_centre(picture, self.crop)


def resize_shorter_side(picture: Image.Image, size: int, filter: str = "bilinear") -> Image.Image:
    """Give the shorter side `size` pixels, antialiased, rounding as torchvision's Resize does."""
    width, height = picture.size
    short = min(width, height)
    return picture.resize((int(size * width / short), int(size * height / short)), Image.Resampling[filter.upper()])


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
