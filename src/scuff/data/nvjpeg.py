"""JPEGs decoded and cut on a GPU, by NVIDIA's nvJPEG, which torchvision calls.

Another decoder than Pillow: its pixels differ by some levels, from the inverse cosine transform on, and resizing rounds
once in place of twice. What nvJPEG does not read as Pillow does (other formats, CMYK, pictures that lie on their side)
is left to Pillow.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional as F

from scuff.data.source import Source
from scuff.digests import READERS
from scuff.images import ImageError
from scuff.packages import need
from scuff.pictures import Cut

ORIENTATION = 0x0112  # among the tags of EXIF
GROUP = 16  # slices that are decoded together


class GpuDecoder:
    """Decodes pictures on a GPU and cuts them to (3, H, W), all of one size: that of the first."""

    def __init__(self, source: Source, cut: Cut | None, device: torch.device) -> None:
        need("the decoder nvjpeg", "torchvision")
        self.source, self.cut, self.device, self.total = source, cut, device, len(source)
        height, width, channels = source.images.decode(0, cut).shape
        self.shape = channels, height, width

    def run(self, places: list[slice], pinned: bool = False) -> Iterator[tuple[slice, Tensor]]:
        """The pictures of each slice, in order, on the GPU. Files of the next ones are read meanwhile."""
        groups = [places[k : k + GROUP] for k in range(0, len(places), GROUP)]
        with ThreadPoolExecutor(READERS) as pool:

            def begin(group: list[slice]) -> list[Future[bytes | None]]:
                return [pool.submit(self._content, k) for k in range(group[0].start, group[-1].stop)]

            coming = begin(groups[0])
            for group, following in zip(groups, [*groups[1:], None], strict=True):
                contents = [content.result() for content in coming]
                coming = begin(following) if following else []
                start = group[0].start
                pixels = self._decode(start, contents)
                yield from ((place, pixels[place.start - start : place.stop - start]) for place in group)

    def _content(self, position: int) -> bytes | None:
        """A picture as nvJPEG takes it; None if it is Pillow's."""
        try:
            content = self.source.images.content(position)
            with Image.open(io.BytesIO(content)) as header:
                plain = header.format == "JPEG" and header.mode in ("L", "RGB")
                is_upright = header.getexif().get(ORIENTATION, 1) == 1
        except Exception:  # which Pillow will explain when it decodes the picture
            return None
        return content if plain and is_upright and not getattr(self.source.images, "border", 0) else None

    def _decode(self, first: int, contents: list[bytes | None]) -> Tensor:
        from torchvision.io import ImageReadMode, decode_jpeg

        encoded = [torch.frombuffer(bytearray(content), dtype=torch.uint8) for content in contents if content]
        try:
            decoded = iter(decode_jpeg(encoded, ImageReadMode.RGB, self.device) if encoded else [])
        except RuntimeError:  # of one of them, and nobody knows of which
            contents, decoded = [None] * len(contents), iter(())
        pixels = torch.empty((len(contents), *self.shape), dtype=torch.uint8, device=self.device)
        for row, content in enumerate(contents):
            if content is None:
                plain = torch.from_numpy(self.source.images.decode(first + row, self.cut).copy()).permute(2, 0, 1)
            else:
                plain = next(decoded)
                plain = plain if self.cut is None else cut_on_device(plain, self.cut)
            if plain.shape != self.shape:
                name = self.source.image_name(first + row)
                raise ImageError(f"pictures must have one size, but {name} has another; use --resize and --crop")
            pixels[row] = plain
        return pixels


def cut_on_device(picture: Tensor, cut: Cut) -> Tensor:
    """uint8 (3, H, W) cut as `Cut` does with Pillow, but for rounding."""
    height, width = picture.shape[-2:]
    if cut.resize is not None:
        short = min(height, width)
        size = (cut.resize, cut.resize)
        if cut.keeps_ratio:
            size = (int(cut.resize * height / short), int(cut.resize * width / short))
        options = {"antialias": True, "align_corners": False} if cut.filter in ("bilinear", "bicubic") else {}
        resized = F.interpolate(picture[None].float(), size, mode=cut.filter, **options)[0]
        picture = resized.round_().clamp_(0, 255).to(torch.uint8)
        height, width = size
    if cut.crop is None:
        return picture
    if min(height, width) < cut.crop:
        raise ImageError(
            f"{width} x {height} pixels are too few for a crop of {cut.crop}; resize to at least that first"
        )
    top, left = round((height - cut.crop) / 2), round((width - cut.crop) / 2)
    return picture[:, top : top + cut.crop, left : left + cut.crop]
