"""Sheets of pictures: what a corruption, or a whole suite, does at every severity."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from math import ceil

from PIL import Image, ImageDraw, ImageFont

from scuff.corruptions import get
from scuff.corruptions.registry import draw_nothing
from scuff.door import corrupt
from scuff.pictures import fit_square
from scuff.sequences import sequence
from scuff.suites import Suite

Row = list[tuple[str, Image.Image]]  # captions and pictures

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
    """Draw one row per entry, as `entry_row` makes it, and the clean picture before them.

    The picture's centre is resized to the suite's image size, corrupted, and shown pixel by pixel: nothing is smoothed
    on the way to the sheet. Captions stand over the first row, and over every row whose captions are others. `progress`
    is called with each entry's name when its row is ready.
    """
    clean = fit_square(picture, suite.size)
    rows = []
    for entry in entries:
        rows.append(entry_row(suite, entry, clean, seed))
        if progress is not None:
            progress(entry)
    if len(entries) == 1:
        return _draw_sheet(f"{suite.name}/{entries[0]}", [], None, [""], [[("clean", clean), *rows[0]]])
    notes = [f"version {suite.version}, {suite.size} x {suite.size} pixels, seed {seed}"]
    notes += textwrap.wrap(suite.about, NOTE_WIDTH, max_lines=2, placeholder=" ...")  # what fits beside a tile
    return _draw_sheet(suite.name, notes, clean, [_label(suite, entry) for entry in entries], rows)


def entry_row(suite: Suite, entry: str, clean: Image.Image, seed: int = 0, all_levels: bool = True) -> Row:
    """Pictures that show what an entry does, with their captions: one per level, or five if not `all_levels`.

    A severity that is a range is shown at five places inside it, each as another image draws the rest. An entry without
    severities is shown by five draws, or once if it draws nothing; a sequence by five frames from its first to its
    last, at difficulty 1.
    """
    if get(suite.corruption(entry)).sequence:
        film = sequence(clean, entry, suite=suite, seed=seed)
        return [(f"frame {place}", film[place]) for place in _spread(range(len(film)))]
    views = _views(suite, entry)
    if not all_levels:
        views = _spread(views)
    return [(caption, corrupt(clean, entry, s, suite=suite, seed=seed, ids=[id_])) for caption, s, id_ in views]


def draw_strip(row: Row, text_size: int = TEXT_SIZE, captioned: bool = True) -> Image.Image:
    """The pictures of a row side by side, all of one size, each under its caption."""
    font, side = ImageFont.load_default(text_size), row[0][1].width
    top = text_size + GAP if captioned else 0
    strip = Image.new("RGB", (len(row) * (side + GAP) - GAP, top + side), "white")
    pen = ImageDraw.Draw(strip)
    for column, (caption, tile) in enumerate(row):
        left = column * (side + GAP)
        strip.paste(tile, (left, top))
        if captioned:
            pen.text((left + side // 2, text_size), caption, PALE_INK, font, anchor="ms")
    return strip


def enlarged(tile: Image.Image, smallest: int = SMALLEST_TILE) -> Image.Image:
    """Every pixel as a block of whole pixels, until the tile is large enough to look at."""
    factor = ceil(smallest / tile.width)
    return tile.resize((tile.width * factor, tile.height * factor), Image.Resampling.NEAREST)


def _views(suite: Suite, entry: str) -> list[tuple[str, float | None, int]]:
    """How to show an entry: (caption, severity, image id) for each picture."""
    if suite.levels(entry) != (None,):
        return [(f"severity {s}", s, 0) for s in suite.levels(entry)]
    between = suite.severity_range(entry)
    if between is not None:
        values = [between.low + (between.high - between.low) * k / (VIEWS - 1) for k in range(VIEWS)]
        if between.is_whole:
            values = list(dict.fromkeys(map(round, values)))  # a short range has fewer
        return [(f"severity {value:.4g}", value, id_) for id_, value in enumerate(values)]
    if get(suite.corruption(entry)).draw is draw_nothing:
        return [("always", None, 0)]
    return [(f"draw {k + 1}", None, k) for k in range(VIEWS)]


def _spread(items: Sequence) -> list:
    """At most five of them, from the first to the last."""
    return [items[k] for k in sorted({round(k * (len(items) - 1) / (VIEWS - 1)) for k in range(VIEWS)})]


def _label(suite: Suite, entry: str) -> str:
    note = "not scored" if entry in suite.validation else suite.category(entry)
    return (f"{entry}\n({note})" if note else entry).replace("_", " ")


def _draw_sheet(
    title: str, notes: Sequence[str], clean: Image.Image | None, labels: Sequence[str], rows: Sequence[Row]
) -> Image.Image:
    """Title and notes, beside the clean picture if it is given, and the rows under them, each after its label."""
    title_font, font = ImageFont.load_default(TITLE_SIZE), ImageFont.load_default(TEXT_SIZE)
    rows = [[(caption, enlarged(tile)) for caption, tile in row] for row in rows]
    captions = [[caption for caption, _ in row] for row in rows]
    strips = [draw_strip(r, captioned=k == 0 or captions[k] != captions[k - 1]) for k, r in enumerate(rows)]
    side = rows[0][0][1].width

    label_width = max(_width(label, font) for label in labels)
    left = MARGIN + (label_width + 2 * GAP if label_width else 0)
    title_left = left if clean is None else left + side + 2 * GAP
    right = max(
        left + max(strip.width for strip in strips),
        title_left + max(_width(title, title_font), *(_width(note, font) for note in notes), 0),
    )
    top = MARGIN + (TITLE_SIZE if clean is None else side) + 2 * GAP
    sheet = Image.new("RGB", (right + MARGIN, top + sum(s.height + GAP for s in strips) - GAP + MARGIN), "white")

    pen = ImageDraw.Draw(sheet)
    if clean is not None:
        sheet.paste(enlarged(clean), (left, MARGIN))
        pen.text((left - 2 * GAP, MARGIN + side // 2), "clean", INK, font, anchor="rm")
    pen.text((title_left, MARGIN), title, INK, title_font, anchor="lt")
    for number, note in enumerate(notes):
        down = MARGIN + TITLE_SIZE + GAP + number * (TEXT_SIZE + GAP)
        pen.text((title_left, down), note, PALE_INK, font, anchor="lt")
    for label, strip in zip(labels, strips, strict=True):
        middle = top + strip.height - side // 2
        pen.multiline_text((left - 2 * GAP, middle), label, INK, font, anchor="rm", align="right")
        sheet.paste(strip, (left, top))
        top += strip.height + GAP
    return sheet


def _width(text: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont) -> int:
    pen = ImageDraw.Draw(Image.new("RGB", (1, 1)))
    return ceil(pen.multiline_textbbox((0, 0), text, font)[2])
