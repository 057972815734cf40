"""A stream as one picture: images along the way, and below them corruption, severity and expected accuracy."""

from __future__ import annotations

import colorsys

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from scuff.sheets import GAP, INK, MARGIN, PALE_INK, TEXT_SIZE, TITLE_SIZE, draw_strip, enlarged
from scuff.streams.segments import MIXED
from scuff.streams.stream import Stream

SMALLEST, LARGEST = 96, 128  # pixels of an image
PANEL = 160  # pixels of a plot
LINE = TEXT_SIZE + 6


def preview(stream: Stream, count: int = 12) -> Image.Image:
    """Draw it. Every column of the plots is the segment at its position; severities of two corruptions add up."""
    if count < 1:
        raise ValueError(f"a preview needs at least 1 picture, got {count}")
    positions = [int((k + 0.5) / count * len(stream)) for k in range(count)]
    strip = draw_strip([(_grouped(position), _tile(stream, position)) for position in positions])
    plots = [("severity", _severities(stream, strip.width))]
    if stream.segments[0].expected is not None:
        plots.append(("expected accuracy, 0 to 100 %", _accuracies(stream, strip.width)))
    names = [*_colours(stream)] or [MIXED]
    legend = _legend(_colours(stream), strip.width)
    height = 2 * MARGIN + TITLE_SIZE + 2 * LINE + strip.height + len(plots) * (PANEL + 2 * LINE) + legend.height
    sheet = Image.new("RGB", (strip.width + 2 * MARGIN, height), "white")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(TEXT_SIZE)
    top = MARGIN
    pen.text((MARGIN, top), stream.recipe.name, INK, ImageFont.load_default(TITLE_SIZE))
    top += TITLE_SIZE + GAP
    counted = f"{len(stream.segments)} segments" if len(stream.segments) > 1 else "1 segment"
    about = f"{_grouped(len(stream))} images in {counted}, {len(names)} corruptions of {stream.suite.name}"
    pen.text((MARGIN, top), f"{about}, seed {stream.seed}", PALE_INK, font)
    top += LINE + GAP
    sheet.paste(strip, (MARGIN, top))
    top += strip.height + GAP
    for label, plot in plots:
        pen.text((MARGIN, top), label, PALE_INK, font)
        sheet.paste(plot, (MARGIN, top + LINE))
        top += PANEL + LINE + GAP
    sheet.paste(legend, (MARGIN, top))
    return sheet


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _tile(stream: Stream, position: int) -> Image.Image:
    pixels = (stream[position].image.cpu() * 255).round().byte().permute(1, 2, 0).numpy()
    tile = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).convert("RGB")
    tile.thumbnail((LARGEST, LARGEST))
    return enlarged(tile, SMALLEST)


def _columns(stream: Stream, width: int) -> np.ndarray:
    """The segment that each column of a plot shows."""
    positions = ((np.arange(width) + 0.5) / width * len(stream)).astype(np.int64)
    return np.searchsorted([segment.start for segment in stream.segments], positions, side="right") - 1


def _colours(stream: Stream) -> dict[str, tuple[int, int, int]]:
    """A colour for each entry, in the order in which they come."""
    names = dict.fromkeys(entry for s in stream.segments for steps in s.domains for entry, _ in steps)
    wheel = [colorsys.hsv_to_rgb(k / max(1, len(names)), 0.45 + 0.3 * (k % 2), 0.85) for k in range(len(names))]
    return {n: (int(255 * r), int(255 * g), int(255 * b)) for n, (r, g, b) in zip(names, wheel, strict=True)}


def _severities(stream: Stream, width: int) -> Image.Image:
    colours, unit = _colours(stream), stream.segments[0].severity_unit
    plot = Image.new("RGB", (width, PANEL), (244, 244, 245))
    pen = ImageDraw.Draw(plot)
    heights = [sum(_height(level, unit) for _, level in steps) for s in stream.segments for steps in s.domains]
    scale = (PANEL - 4) / max(max(heights, default=1.0), 1.0)
    for x, number in enumerate(_columns(stream, width)):
        domains = stream.segments[number].domains
        bottom = float(PANEL)
        for entry, level in domains[x // 3 % len(domains)]:  # what is mixed shows in turn
            top = bottom - scale * _height(level, unit)
            pen.line((x, top, x, bottom), colours[entry])
            bottom = top
    return plot


def _height(level: float | None, unit: float) -> float:
    return 1.0 if level is None else level / unit


def _accuracies(stream: Stream, width: int) -> Image.Image:
    plot = Image.new("RGB", (width, PANEL), (244, 244, 245))
    expected = np.array([s.expected or 0.0 for s in stream.segments])[_columns(stream, width)]
    points = [(x, PANEL - 1 - (PANEL - 2) * float(accuracy) / 100) for x, accuracy in enumerate(expected)]
    ImageDraw.Draw(plot).line(points, INK)
    return plot


def _legend(colours: dict[str, tuple[int, int, int]], width: int) -> Image.Image:
    font = ImageFont.load_default(TEXT_SIZE)
    places, x, y = [], 0, 0
    for name, colour in colours.items():
        wide = int(font.getlength(name)) + 3 * TEXT_SIZE
        x, y = (0, y + LINE) if x + wide > width else (x, y)
        places.append((x, y, name, colour))
        x += wide
    legend = Image.new("RGB", (width, y + LINE), "white")
    pen = ImageDraw.Draw(legend)
    for x, y, name, colour in places:
        pen.rectangle((x, y + 4, x + TEXT_SIZE, y + TEXT_SIZE), colour)
        pen.text((x + TEXT_SIZE + GAP, y), name, INK, font)
    return legend
