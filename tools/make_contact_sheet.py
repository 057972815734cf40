"""Draw the picture of the README: every corruption of ImageNet-C at one severity, on the bundled photograph.

python tools/make_contact_sheet.py docs/corruptions.jpg
"""

from __future__ import annotations

import sys

from PIL import Image, ImageDraw, ImageFont

import scuff
from scuff.pictures import bundled_picture

COLUMNS, TILE, GAP, CAPTION, SEVERITY = 5, 176, 8, 22, 3


def main(path: str) -> None:
    picture = bundled_picture()
    names = list(scuff.load_suite("imagenet-c").entries)
    tiles = [("clean", picture)]
    tiles += [(name.replace("_", " "), scuff.corrupt(picture, f"imagenet-c/{name}", SEVERITY)) for name in names]
    rows = -(-len(tiles) // COLUMNS)
    step, down = TILE + GAP, TILE + CAPTION + GAP
    sheet = Image.new("RGB", (COLUMNS * step + GAP, rows * down + GAP), "white")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(14)
    for k, (name, tile) in enumerate(tiles):
        x, y = GAP + k % COLUMNS * step, GAP + k // COLUMNS * down
        sheet.paste(tile.resize((TILE, TILE), Image.Resampling.LANCZOS), (x, y))
        pen.text((x + TILE // 2, y + TILE + CAPTION // 2), name, (60, 60, 67), font, anchor="mm")
    sheet.save(path, quality=88, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
