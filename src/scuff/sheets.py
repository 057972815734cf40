"""Sheets of pictures: what a corruption, or a whole suite, does at every severity."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from math import ceil

from PIL import Image, ImageDraw, ImageFont

from scuff.corruptions import get
from scuff.door import corrupt
from scuff.pictures import fit_square
from scuff.sequences import sequence
from scuff.suites import Suite

SMALLEST_TILE = 112  # pixels on the sheet; smaller images are enlarged by a whole factor, so that every pixel shows
MARGIN, GAP = 28, 8
TITLE_SIZE, TEXT_SIZE = 30, 18
NOTE_WIDTH = 60  # characters
INK, PALE_INK = (24, 24, 27), (113, 113, 122)
VIEWS = 5  # how many pictures show a corruption that has no levels, or a sequence


def corruption_sheet(
    suite: Suite,
    entries: Sequence[str],
    picture: Image.Image,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Image.Image:
    """Draw one row per entry and one column per severity, with the clean picture before them.

    A severity that is a range is shown at five places inside it, an entry without severities by five draws, and a
    sequence by five frames from its first to its last, at difficulty 1. The picture's centre is resized to the suite's
    image size, corrupted, and shown pixel by pixel: nothing is smoothed on the way to the sheet. `progress` is called
    with each entry's name when its row is ready.
    """
    clean = fit_square(picture, suite.size)
    rows, captions = [], []
    for entry in entries:
        names, tiles = _row(suite, entry, clean, seed, alone=len(entries) == 1)
        rows.append(tiles)
        captions = max(captions, names, key=len)
        if progress is not None:
            progress(entry)
    if len(entries) == 1:
        return _draw_sheet(f"{suite.name}/{entries[0]}", [], None, ["clean", *captions], [""], [[clean, *rows[0]]])
    labels = [f"{entry}\n(validation)" if entry in suite.validation else entry for entry in entries]
    notes = [f"version {suite.version}, {suite.size} x {suite.size} pixels, seed {seed}"]
    notes += textwrap.wrap(suite.about, NOTE_WIDTH, max_lines=2, placeholder=" ...")  # what fits beside a tile
    return _draw_sheet(suite.name, notes, clean, captions, [label.replace("_", " ") for label in labels], rows)


def _row(suite: Suite, entry: str, clean: Image.Image, seed: int, alone: bool) -> tuple[list[str], list[Image.Image]]:
    """The captions and the pictures of an entry."""
    if not get(suite.corruption(entry)).sequence:
        views = _views(suite, entry)
        tiles = [corrupt(clean, entry, s, suite=suite, seed=seed, ids=[id_]) for _, s, id_ in views]
        return [caption for caption, _, _ in views], tiles
    film = sequence(clean, entry, suite=suite, seed=seed)
    places = [round(k * (len(film) - 1) / (VIEWS - 1)) for k in range(VIEWS)]
    captions = [f"frame {place}" for place in places]
    if not alone:  # films of one sheet differ in length
        captions = [f"{k}/{VIEWS - 1} of the way" for k in range(VIEWS)]
    return captions, [film[place] for place in places]


def _views(suite: Suite, entry: str) -> list[tuple[str, float | None, int]]:
    """How to show an entry: (caption, severity, image id) for each picture."""
    if suite.levels(entry) != (None,):
        return [(f"severity {s}", s, 0) for s in suite.levels(entry)]
    between = suite.severity_range(entry)
    if between is None:
        return [(f"draw {k + 1}", None, k) for k in range(VIEWS)]
    views = []
    for k in range(VIEWS):
        value = between.low + (between.high - between.low) * k / (VIEWS - 1)
        views.append((f"{k}/{VIEWS - 1} of the range", round(value) if between.is_whole else value, 0))
    return views


def _draw_sheet(
    title: str,
    notes: Sequence[str],
    clean: Image.Image | None,
    captions: Sequence[str],
    labels: Sequence[str],
    rows: Sequence[Sequence[Image.Image]],
) -> Image.Image:
    """Title and notes (beside the clean picture, if it is given), captions over the columns, labels before the rows."""
    title_font, font = ImageFont.load_default(TITLE_SIZE), ImageFont.load_default(TEXT_SIZE)
    pen = ImageDraw.Draw(Image.new("RGB", (1, 1)))
    label_width = max(ceil(pen.multiline_textbbox((0, 0), label, font)[2]) for label in labels)
    label_width += 2 * GAP if label_width else 0
    side = _enlarged(rows[0][0]).width
    step = side + GAP
    left = MARGIN + label_width
    head = MARGIN + (TITLE_SIZE if clean is None else side) + 2 * GAP
    top = head + TEXT_SIZE + GAP
    size = (left + step * len(captions) - GAP + MARGIN, top + step * len(rows) - GAP + MARGIN)

    sheet = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(sheet)
    title_left = left
    if clean is not None:
        sheet.paste(_enlarged(clean), (left, MARGIN))
        pen.text((left - 2 * GAP, MARGIN + side // 2), "clean", INK, font, anchor="rm")
        title_left = left + step + GAP
    pen.text((title_left, MARGIN), title, INK, title_font, anchor="lt")
    for number, note in enumerate(notes):
        pen.text(
            (title_left, MARGIN + TITLE_SIZE + GAP + number * (TEXT_SIZE + GAP)), note, PALE_INK, font, anchor="lt"
        )
    for column, caption in enumerate(captions):
        pen.text((left + step * column + side // 2, head + TEXT_SIZE), caption, PALE_INK, font, anchor="ms")
    for row, (label, tiles) in enumerate(zip(labels, rows, strict=True)):
        y = top + step * row
        pen.multiline_text((left - 2 * GAP, y + side // 2), label, INK, font, anchor="rm", align="right")
        for column, tile in enumerate(tiles):
            sheet.paste(_enlarged(tile), (left + step * column, y))
    return sheet


def _enlarged(tile: Image.Image) -> Image.Image:
    """Every pixel as a block of whole pixels, until the tile is large enough to look at."""
    factor = ceil(SMALLEST_TILE / tile.width)
    return tile.resize((tile.width * factor, tile.height * factor), Image.Resampling.NEAREST)
